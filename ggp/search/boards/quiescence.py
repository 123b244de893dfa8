"""Quiescence: exchanges are played out before a board is valued (paper 001).

In the middle of an exchange a board is not worth what its pieces say: the queen that has just taken
a pawn is taken back. So where a search stops, whoever is on turn may be content with the board as
it is, or go on with a *noisy* move: one onto a square of the other's that takes something. From
then on only what is on that square is taken, until nobody wants to. Which moves may be noisy, the
file beside the rulesheet says (`BoardTerms.noisy`). That something was taken is seen from the
number of pieces, so tries that are refused are no captures, wherever they go to.

To follow all captures is too much for whole bags of boards: after 20 tries of random kriegspiel,
137 boards come of one within 8 captures, but 4 where only the exchange is followed.

This is alpha-beta of two roles who want the opposite, but in batches: all boards that are as many
captures ahead are gone through together. A board is not gone through further if it is already worth
so much to the role on turn that the other would rather have kept the board before it.

    as it is: 50     white takes: 53     black takes back: 44
                     black may stop      beyond 53 black would not have taken back
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ggp.machine.arrays import take_segments
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.search.anytime import Deadline, check
from ggp.search.boards.board_values import Boards, BoardValues, MovePattern

LANES_AT_ONCE = 512
"""Boards that are begun with side by side, between two looks at the clock."""

_UNSEEN, _NOWHERE = -2, -1


class _Captures(NamedTuple):
    """Moves that may take something: of K boards, one each.

    Attributes:
        lanes: `[K]` the boards.
        movers: `[K]` who moves.
        squares: `[K]` number of the square that each goes to.
        joint: `[K, R]` the joint moves.
    """

    lanes: IntArray
    movers: IntArray
    squares: IntArray
    joint: IntArray


@dataclass
class _Ply:
    """Boards that are as many captures ahead.

    Attributes:
        states: L of them.
        boards: the same.
        before: `[L]` which board of the ply before each comes from.
        squares: `[L]` number of the square on which it is taken; `_NOWHERE` where none was yet.
        values: `[L]` what each is worth to us as it is, and later with what may come.
        low, high: `[L]` what we, and the other, can have on the way here.
        over: `[L]` whether the game is.
    """

    states: States
    boards: Boards
    before: IntArray
    squares: IntArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    over: BoolArray


class Quiescence:
    """The `Evaluation` of boards after the captures that are worth it.

    Both roles get what they are worth to `role`: the other as much as it lacks.

    Args:
        values: of boards as they are; its terms say which moves may be noisy.
        role: whose values count.
        most: captures in a row that are looked at.

    Attributes:
        role: the same.
    """

    certain = True

    def __init__(self, machine: Machine, values: BoardValues, role: int, most: int) -> None:
        self.role = role
        self._machine, self._values, self._most = machine, values, most
        self._targets = np.full(0, _UNSEEN, dtype=np.int64)

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` what states that are not over are worth to a role, and zeros: see `Evaluation`."""
        own = np.empty(len(states))
        for start in range(0, len(states), LANES_AT_ONCE):
            some = np.arange(start, min(start + LANES_AT_ONCE, len(states)))
            own[some] = self._played_out(states.take(some), deadline)
        found = own if role == self.role else sum(self._machine.goal_range) - own
        return found, np.zeros(len(states), dtype=np.int64)

    def floors(self, states: States) -> tuple[FloatArray, BoolArray]:
        """`[L]` what states are worth to us as they are; `[L]` whether we may leave it at that."""
        found, _ = self._values.values(states, self.role, np.random.default_rng(0))
        ours = np.ones(len(states), dtype=np.bool_)
        for role in range(self._num_roles):
            if role == self._machine.random_role:
                counts = np.diff(self._machine.chance(states).offsets)
            else:
                counts = self._machine.legal(states, role, allow_stuck=True).counts
            ours &= counts > 1 if role == self.role else counts == 1
        return found, ours

    @property
    def _num_roles(self) -> int:
        return len(self._machine.roles)

    def _played_out(self, states: States, deadline: Deadline | None) -> FloatArray:
        """`[L]` what states are worth to us."""
        count = len(states)
        boards = self._values.boards(states)
        infinite = np.full(count, np.inf)
        plies = [
            _Ply(
                states,
                boards,
                np.arange(count),
                np.full(count, _NOWHERE),
                self._values.worth(boards, self.role),
                -infinite,
                infinite,
                np.zeros(count, dtype=np.bool_),
            )
        ]
        movers: list[IntArray] = []
        while len(movers) < self._most:
            check(deadline)
            captures = self._captures(plies[-1])
            if not len(captures.lanes):
                break
            ply, movers_of = self._after(plies[-1], captures)
            plies.append(ply)
            movers.append(movers_of)
        for ply, before, ours in zip(
            reversed(plies[1:]), reversed(plies[:-1]), reversed(movers), strict=True
        ):
            mine = ours == self.role
            np.maximum.at(before.values, ply.before[mine], ply.values[mine])
            np.minimum.at(before.values, ply.before[~mine], ply.values[~mine])
        return plies[0].values

    def _captures(self, ply: _Ply) -> _Captures:
        """Moves onto squares of the other's, on boards where it is clear who is on turn.

        Notes in the ply what whoever moves can have if it stops here.
        """
        machine = self._machine
        roles = range(self._num_roles)
        lists = [
            machine.chance(ply.states)[:2]
            if role == machine.random_role
            else tuple(machine.legal(ply.states, role, allow_stuck=True))
            for role in roles
        ]
        counts = np.stack([np.diff(offsets) for offsets, _ in lists], axis=1)
        found: list[_Captures] = []
        for role in roles:
            if role == machine.random_role:
                continue
            # Whoever is not on turn has no choice.
            alone = (np.delete(counts, role, axis=1) == 1).all(axis=1) & ~ply.over
            worth = ply.values
            own = role == self.role
            alone &= worth < ply.high if own else worth > ply.low
            lanes = np.flatnonzero(alone)
            offsets, values = lists[role]
            taken, at = take_segments(offsets, lanes)
            owner, moves = np.repeat(lanes, np.diff(taken)), values[at]
            squares = self._target(moves)
            noisy = self._noisy(ply, role, owner, squares)
            owner, moves, squares = owner[noisy], moves[noisy], squares[noisy]
            joint = np.empty((len(owner), self._num_roles), dtype=np.int64)
            for other in roles:
                joint[:, other] = (
                    moves if other == role else lists[other][1][lists[other][0][owner]]
                )
            found.append(_Captures(owner, np.full(len(owner), role), squares, joint))
            if own:
                ply.low[owner] = np.maximum(ply.low[owner], worth[owner])
            else:
                ply.high[owner] = np.minimum(ply.high[owner], worth[owner])
        return _Captures(*(np.concatenate(list(each)) for each in zip(*found, strict=True)))

    def _noisy(self, ply: _Ply, role: int, lanes: IntArray, squares: IntArray) -> BoolArray:
        """`[K]` whether a move goes to where a piece of the other is that may be taken."""
        last = ply.squares[lanes]
        here = (squares != _NOWHERE) & ((last == _NOWHERE) | (last == squares))
        owners = ply.boards.owners(lanes, np.maximum(squares, 0))
        return np.asarray(here & (owners >= 0) & (owners != role))

    def _target(self, moves: IntArray) -> IntArray:
        """`[K]` number of the square to which each move goes, `_NOWHERE` for none."""
        if len(moves) and moves.max() >= len(self._targets):
            more = np.full(2 * int(moves.max()) + 1 - len(self._targets), _UNSEEN, dtype=np.int64)
            self._targets = np.concatenate([self._targets, more])
        target = self._targets[moves]
        if (target == _UNSEEN).any():
            for move in np.unique(moves[target == _UNSEEN]).tolist():
                self._targets[move] = self._target_of(self._machine.move_text(move).strip("()"))
            target = self._targets[moves]
        return target

    def _target_of(self, move: str) -> int:
        words = move.split()
        for pattern in self._values.terms.noisy:
            if _fits(pattern, words):
                squares = self._values.squares
                file, rank = words[pattern.file], words[pattern.rank]
                if file in squares.files and rank in squares.ranks:
                    return squares.files.index(file) * squares.size[1] + squares.ranks.index(rank)
        return _NOWHERE

    def _after(self, ply: _Ply, captures: _Captures) -> tuple[_Ply, IntArray]:
        """The boards after moves that do take something, and `[L]` whose moves these were."""
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


def _fits(pattern: MovePattern, words: list[str]) -> bool:
    return len(words) == pattern.size and words[0] == pattern.name
