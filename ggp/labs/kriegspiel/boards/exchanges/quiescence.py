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

import numpy as np

from ggp.labs.kriegspiel.boards.board_search import WAVE_GROWTH, first_open, ordered
from ggp.labs.kriegspiel.boards.board_values import Boards, BoardValues
from ggp.labs.kriegspiel.boards.exchanges.exchange_player import (
    NOWHERE,
    CaptureBoards,
    CaptureFinder,
    Captures,
    ExchangePlayer,
)
from ggp.machine.base import (
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    States,
    player_roles,
)
from ggp.search.anytime import Deadline, check
from ggp.search.refusals import turned

LANES_AT_ONCE = 8192
"""Boards to begin with side by side: bounds memory. A search against a clock asks for fewer."""


@dataclass
class _Ply:
    """Boards at the same number of captures.

    Attributes:
        states: L of them.
        boards: the same states as boards.
        before: `[L]` the board of the previous ply that each comes from.
        squares: `[L]` number of the square of the exchange; `NOWHERE` before the first capture.
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
        self._finder = CaptureFinder(machine, values)
        self._player = ExchangePlayer(machine, values, self._finder, role, most)

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
        counts = self._finder.choices(states) if choices is None else choices
        others = np.delete(counts, self.role, axis=1)
        return found, (counts[:, self.role] > 1) & (others == 1).all(axis=1)

    def _played_out(self, states: States, deadline: Deadline | None) -> FloatArray:
        """`[L]` values of states for us, with captures played out."""
        count, boards = len(states), self._values.boards(states)
        found = self._player.play_out(states, boards, deadline)
        if found is not None:
            return found
        infinite = np.full(count, np.inf)
        root = _Ply(
            states,
            boards,
            np.arange(count),
            np.full(count, NOWHERE),
            self._values.worth(boards, self.role),
            -infinite,
            infinite,
            np.zeros(count, dtype=np.bool_),
        )
        captures = self._captures(root)
        captures = captures.take(np.argsort(captures.lanes, kind="stable"))
        if len(captures.lanes):
            self._by_promise(root, captures, deadline)
        return root.values

    def _by_promise(self, root: _Ply, captures: Captures, deadline: Deadline | None) -> None:
        """Value the boards before first captures, those that look best played out first.

        The captures come board by board. Many cannot be answered. What follows others can only make
        them worse for the role that made them, unless it moves again: these are left out as soon as
        they are not better than the best so far.
        """
        first, movers = self._after(root, captures)
        before, again = first.before, self._again(first, movers)
        last = np.flatnonzero(first.over)
        _fold(first.values[last], root.values, before[last], movers[last] == self.role)
        # From here on larger is better for the role that captured.
        sign = np.where(movers == self.role, 1.0, -1.0)
        promise = sign * first.values
        left = np.flatnonzero(~first.over)
        left = left[ordered(before[left], -promise[left])]
        size = 1
        while True:
            better = promise[left] > sign[left] * root.values[before[left]]
            left = left[again[left] | better]
            if not len(left):
                return
            at = first_open(before[left], size)
            part, mine = first.take(left[at]), movers[left[at]] == self.role
            best = root.values[part.before]
            part.low = np.where(mine, np.maximum(part.low, best), part.low)
            part.high = np.where(mine, part.high, np.minimum(part.high, best))
            self._follow(part, self._most - 1, deadline)
            _fold(part.values, root.values, part.before, mine)
            left = np.delete(left, at)
            size *= WAVE_GROWTH

    def _again(self, ply: _Ply, movers: IntArray) -> BoolArray:
        """`[L]` whether the role that made the last capture might make the next one."""
        found = np.zeros(len(movers), dtype=np.bool_)
        for role in self._players:
            rows = np.flatnonzero((movers == role) & ~ply.over)
            if len(rows):
                found[rows] = self._finder.choices(ply.states.take(rows))[:, role] > 1
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
            after, moved = self._after(plies[-1], captures)
            plies.append(after)
            movers.append(moved)
        for after, before, ours in zip(
            reversed(plies[1:]), reversed(plies[:-1]), reversed(movers), strict=True
        ):
            _fold(after.values, before.values, after.before, ours == self.role)

    def _captures(self, ply: _Ply) -> Captures:
        """Captures on squares of the other role, on boards where it is clear which role is to move.

        They stand pat there, see `_stand_pat`.
        """
        ours = ~ply.over & (ply.values < ply.high)
        others = ~ply.over & (ply.values > ply.low)
        wanted = {role: ours if role == self.role else others for role in self._players}
        every = self._finder.listed(
            CaptureBoards(ply.states, ply.boards, ply.squares, wanted)
        ).values()
        found = Captures(*(np.concatenate(list(each)) for each in zip(*every, strict=True)))
        self._stand_pat(ply, found)
        return found

    def _stand_pat(self, ply: _Ply, captures: Captures) -> None:
        """Record what the roles that may capture get if they do not."""
        mine = captures.movers == self.role
        owner, other = captures.lanes[mine], captures.lanes[~mine]
        ply.low[owner] = np.maximum(ply.low[owner], ply.values[owner])
        ply.high[other] = np.minimum(ply.high[other], ply.values[other])

    def _after(self, ply: _Ply, captures: Captures) -> tuple[_Ply, IntArray]:
        """The boards after moves that do capture, and the roles that made them."""
        machine = self._machine
        made = turned(machine, ply.states, captures.lanes, captures.joint)
        boards = self._values.boards(made.states)
        taking = np.flatnonzero(boards.number < ply.boards.number[captures.lanes])
        lanes, over = captures.lanes[taking], made.over[taking]
        boards, states = boards.take(taking), made.states.take(taking)
        worth, ended = self._values.worth(boards, self.role), np.flatnonzero(over)
        if len(ended):
            worth[ended] = machine.goals(states.take(ended))[:, self.role]
        after = _Ply(
            states,
            boards,
            lanes,
            captures.squares[taking],
            worth,
            ply.low[lanes],
            ply.high[lanes],
            over,
        )
        return after, captures.movers[taking]


def _fold(values: FloatArray, before: FloatArray, lanes: IntArray, mine: BoolArray) -> None:
    """Count what boards are worth to the role that captured.

    Args:
        values, mine: `[L]` of each board: its value, and whether we captured.
        before: values of the boards before, changed in place.
        lanes: `[L]` the one of each.
    """
    np.maximum.at(before, lanes[mine], values[mine])
    np.minimum.at(before, lanes[~mine], values[~mine])
