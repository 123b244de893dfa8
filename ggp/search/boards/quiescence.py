"""Quiescence search: exchanges are played out before a board is valued (paper 001).

In the middle of an exchange a board's value is not what its pieces say: the queen that has just
taken a pawn is recaptured. So where a search stops, the role to move may stand pat, that is, accept
the board as it is, or play a *noisy* move: a capture on a square of the other's. From then on only
captures on that square are played, until nobody wants to. Which moves may be noisy is declared in
the file beside the rulesheet (`BoardTerms.noisy`). A capture is recognised by the number of pieces,
so refused tries are no captures, wherever they go.

Following all captures is too much for whole bags of boards: after 20 tries of random kriegspiel,
one board leads to 137 within 8 captures, but to 4 if only the exchange is followed.

This is alpha-beta of two opposed roles, but in batches: all boards at the same number of captures
are processed together. A board is not searched further if it is already worth so much to the role
to move that the other would rather have stood pat on the board before it.

    stand pat: 50     white takes: 53     black takes back: 44
                      black may stop      beyond 53 black would not have taken back
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import (
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    States,
    player_roles,
)
from ggp.search.anytime import Deadline, check
from ggp.search.boards.board_kernels import EMPTY
from ggp.search.boards.board_values import Boards, BoardValues, MovePattern
from ggp.search.boards.lower_bounds import WAVE_GROWTH, first_open
from ggp.search.refusals import moves_after

LANES_AT_ONCE = 8192
"""Boards to begin with side by side: bounds memory. A search against a clock asks for fewer."""

_UNSEEN, _NOWHERE = -2, EMPTY


class _Captures(NamedTuple):
    """Possible captures: one move on each of K boards.

    Attributes:
        lanes: `[K]` the boards.
        movers: `[K]` the role that moves.
        squares: `[K]` number of the square of the capture.
        joint: `[K, R]` the joint moves.
    """

    lanes: IntArray
    movers: IntArray
    squares: IntArray
    joint: IntArray


@dataclass
class _Ply:
    """Boards at the same number of captures.

    Attributes:
        states: L of them.
        boards: the same states as boards.
        before: `[L]` the board of the previous ply that each comes from.
        squares: `[L]` number of the square of the exchange; `_NOWHERE` before the first capture.
        values: `[L]` value to us by standing pat, later including captures.
        low, high: `[L]` alpha and beta: what we, and the other role, can already have.
        over: `[L]` whether the game is over.
    """

    states: States
    boards: Boards
    before: IntArray
    squares: IntArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    over: BoolArray

    def take(self, lanes: IntArray) -> _Ply:
        """Some of the boards."""
        return _Ply(
            self.states.take(lanes),
            self.boards.take(lanes),
            self.before[lanes],
            self.squares[lanes],
            self.values[lanes],
            self.low[lanes],
            self.high[lanes],
            self.over[lanes],
        )


class Quiescence:
    """The `Evaluation` of boards after the captures that are worthwhile.

    Values are those for `role`; the other role gets the complement.

    Args:
        values: of boards as they are; its terms say which moves may be noisy.
        role: the role whose values count.
        most: longest sequence of captures that is searched.

    Attributes:
        role: the same.
    """

    certain = True

    def __init__(self, machine: Machine, values: BoardValues, role: int, most: int) -> None:
        self.role = role
        self._machine, self._values, self._most = machine, values, most
        self._players = player_roles(machine)
        self._places = np.full((0, 2), _UNSEEN, dtype=np.int32)

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` values of states that are not over for a role, and zeros: see `Evaluation`."""
        own = np.empty(len(states))
        for start in range(0, len(states), LANES_AT_ONCE):
            some = np.arange(start, min(start + LANES_AT_ONCE, len(states)))
            own[some] = self._played_out(states.take(some), deadline)
        found = own if role == self.role else sum(self._machine.goal_range) - own
        return found, np.zeros(len(states), dtype=np.int64)

    def floors(
        self, states: States, choices: IntArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """`[L]` stand-pat values of states for us, and `[L]` whether we may stand pat there; see
        `FloorEvaluation`."""
        found, _ = self._values.values(states, self.role, np.random.default_rng(0))
        counts = moves_after(self._machine, states).counts if choices is None else choices
        others = np.delete(counts, self.role, axis=1)
        return found, (counts[:, self.role] > 1) & (others == 1).all(axis=1)

    def _played_out(self, states: States, deadline: Deadline | None) -> FloatArray:
        """`[L]` values of states for us, with captures played out."""
        count = len(states)
        boards = self._values.boards(states)
        infinite = np.full(count, np.inf)
        root = _Ply(
            states,
            boards,
            np.arange(count),
            np.full(count, _NOWHERE),
            self._values.worth(boards, self.role),
            -infinite,
            infinite,
            np.zeros(count, dtype=np.bool_),
        )
        check(deadline)
        captures = self._captures(root)
        if len(captures.lanes):
            self._by_promise(root, *self._after(root, captures), deadline)
        return root.values

    def _by_promise(
        self, root: _Ply, ply: _Ply, movers: IntArray, deadline: Deadline | None
    ) -> None:
        """Value the boards before first captures, those that look best played out first.

        What follows can only make a capture worse for the role that made it, unless it moves again:
        others are left out as soon as they are not better than the best so far.
        """
        over = np.flatnonzero(ply.over)
        _fold(ply.take(over), root, movers[over] == self.role)
        may_gain = self._may_gain(ply, movers)
        # From here on larger is better for the role that captured.
        sign = np.where(movers == self.role, 1.0, -1.0)
        order = np.lexsort((-sign * ply.values, ply.before))
        open_ = ~ply.over[order]
        size = 1
        while True:
            better = sign * (ply.values - root.values[ply.before]) > 0
            open_ &= (may_gain | better)[order]
            chosen = order[first_open(ply.before[order], open_, size)]
            if not len(chosen):
                return
            part, mine = ply.take(chosen), movers[chosen] == self.role
            best = root.values[part.before]
            part.low = np.where(mine, np.maximum(part.low, best), part.low)
            part.high = np.where(mine, part.high, np.minimum(part.high, best))
            self._follow(part, self._most - 1, deadline)
            _fold(part, root, mine)
            open_[np.isin(order, chosen)] = False
            size *= WAVE_GROWTH

    def _may_gain(self, ply: _Ply, movers: IntArray) -> BoolArray:
        """`[L]` whether the role that made the last capture might make the next one."""
        found = np.zeros(len(movers), dtype=np.bool_)
        for role in self._players:
            rows = np.flatnonzero((movers == role) & ~ply.over)
            if len(rows):
                legal = self._machine.legal(ply.states.take(rows), role, allow_stuck=True)
                found[rows] = legal.counts > 1
        return found

    def _follow(self, ply: _Ply, most: int, deadline: Deadline | None) -> None:
        """Value boards by at most so many more captures."""
        plies = [ply]
        movers: list[IntArray] = []
        while len(movers) < most:
            check(deadline)
            captures = self._captures(plies[-1])
            if not len(captures.lanes):
                break
            after, movers_of = self._after(plies[-1], captures)
            plies.append(after)
            movers.append(movers_of)
        for after, before, ours in zip(
            reversed(plies[1:]), reversed(plies[:-1]), reversed(movers), strict=True
        ):
            _fold(after, before, ours == self.role)

    def _captures(self, ply: _Ply) -> _Captures:
        """Captures on squares of the other role, on boards where it is clear which role is to move.

        Records in the ply what the role to move gets by standing pat.
        """
        counts, lists = moves_after(self._machine, ply.states)
        found: list[_Captures] = []
        for role in self._players:
            # The role that is not to move has no choice.
            alone = (np.delete(counts, role, axis=1) == 1).all(axis=1) & ~ply.over
            worth = ply.values
            own = role == self.role
            alone &= worth < ply.high if own else worth > ply.low
            legal = lists[role]
            places = self._places_of(legal.values)
            taking = self._values.captures(ply.boards, role, legal, alone, places, ply.squares)
            owner, moves, squares = (np.ascontiguousarray(column) for column in taking.T)
            joint = np.empty((len(owner), len(lists)), dtype=np.int64)
            for other, choices in enumerate(lists):
                joint[:, other] = moves if other == role else choices.values[choices.offsets[owner]]
            found.append(_Captures(owner, np.full(len(owner), role), squares, joint))
            if own:
                ply.low[owner] = np.maximum(ply.low[owner], worth[owner])
            else:
                ply.high[owner] = np.minimum(ply.high[owner], worth[owner])
        return _Captures(*(np.concatenate(list(each)) for each in zip(*found, strict=True)))

    def _places_of(self, moves: IntArray) -> NDArray[np.int32]:
        """`[M, 2]` the squares that each move of the game goes to and comes from, `_NOWHERE` for
        none; those of the given ones are known."""
        if len(moves) and moves.max() >= len(self._places):
            more = 2 * int(moves.max()) + 1 - len(self._places)
            new = np.full((more, 2), _UNSEEN, dtype=np.int32)
            self._places = np.concatenate([self._places, new])
        unseen = self._places[moves, 0] == _UNSEEN
        for move in np.unique(moves[unseen]).tolist() if unseen.any() else ():
            words = self._machine.move_text(move).strip("()").split()
            self._places[move] = self._places_in(words)
        return self._places

    def _places_in(self, words: list[str]) -> tuple[int, int]:
        for pattern in self._values.terms.noisy:
            if _fits(pattern, words):
                target = self._square(words[pattern.file], words[pattern.rank])
                if target != _NOWHERE:
                    origin = pattern.origin
                    return target, (
                        _NOWHERE if origin is None else self._square(*(words[k] for k in origin))
                    )
        return _NOWHERE, _NOWHERE

    def _square(self, file: str, rank: str) -> int:
        """The number of a square, `_NOWHERE` if it is not on the board."""
        squares = self._values.squares
        if file not in squares.files or rank not in squares.ranks:
            return _NOWHERE
        return squares.files.index(file) * squares.size[1] + squares.ranks.index(rank)

    def _after(self, ply: _Ply, captures: _Captures) -> tuple[_Ply, IntArray]:
        """The boards after moves that do capture, and `[L]` the roles that made these moves."""
        machine = self._machine
        lanes = captures.lanes
        states = machine.step(ply.states.take(lanes), captures.joint).states
        boards = self._values.boards(states)
        taking = np.flatnonzero(boards.number < ply.boards.number[lanes])
        states, lanes = states.take(taking), lanes[taking]
        boards = boards.take(taking)
        over = machine.terminal(states)
        values = self._values.worth(boards, self.role)
        ended = np.flatnonzero(over)
        if len(ended):
            values[ended] = machine.goals(states.take(ended))[:, self.role]
        after = _Ply(
            states,
            boards,
            lanes,
            captures.squares[taking],
            values,
            ply.low[lanes],
            ply.high[lanes],
            over,
        )
        return after, captures.movers[taking]


def _fold(ply: _Ply, before: _Ply, mine: BoolArray) -> None:
    """Count what boards are worth to the role that captured: `[L]` whether that was us."""
    np.maximum.at(before.values, ply.before[mine], ply.values[mine])
    np.minimum.at(before.values, ply.before[~mine], ply.values[~mine])


def _fits(pattern: MovePattern, words: list[str]) -> bool:
    return len(words) == pattern.size and words[0] == pattern.name
