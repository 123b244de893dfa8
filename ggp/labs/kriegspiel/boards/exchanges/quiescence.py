"""Quiescence search: an `Evaluation` that plays exchanges out before it values boards (paper 001).

States come in from a search that stops there; their values after worthwhile captures go out. In the
middle of an exchange the pieces alone mislead: the queen that has just captured a pawn may be lost
next. So where a search stops, the role to move may stand pat, that is, accept the board as it is,
or play a *noisy* move: a capture. From then on only captures on the same square are played, until
a role stands pat. The file beside the rulesheet declares which moves may be noisy
(`BoardTerms.noisy`). A capture reduces the number of pieces, so a refused try is never one.

To follow all captures is too much for whole bags of boards: after 20 tries of random kriegspiel,
one board leads to 137 within 8 captures, but to 4 if only the exchange is followed.

This is alpha-beta of two opposed roles, in batches: all boards after the same number of captures
are processed together. A board is not searched further once it is worth so much to the role to move
that its opponent would rather have stood pat on the board before.

    stand pat: 50     white captures: 53     black recaptures: 44
                      black may stop         above 53 black would not have recaptured
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
from ggp.search.moves import turned

LANES_AT_ONCE = 8192
"""Boards played out side by side: bounds memory. A search against a clock asks for fewer."""


@dataclass
class _Ply:
    """L boards after the same number of captures.

    Attributes:
        states: of the boards.
        boards: the boards.
        parents: `[L]` index of the board of the previous ply that each comes from.
        squares: `[L]` the square of the exchange; `NOWHERE` before the first capture.
        values: `[L]` value for us by standing pat, later including captures.
        low, high: `[L]` alpha and beta: values that we, and the other role, can have instead.
        over: `[L]` whether the game is over.
    """

    states: States
    boards: Boards
    parents: IntArray
    squares: IntArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    over: BoolArray

    def take(self, lanes: IntArray) -> _Ply:
        """The boards of these lanes."""
        return _Ply(
            self.states.take(lanes),
            self.boards.take(lanes),
            self.parents[lanes],
            self.squares[lanes],
            self.values[lanes],
            self.low[lanes],
            self.high[lanes],
            self.over[lanes],
        )


class Quiescence:
    """The `Evaluation` of boards after worthwhile captures.

    Both roles play for the values of `role`; the other role gets the complement.

    Args:
        values: of boards that stand pat; its terms declare the noisy moves.
        role: the role whose values count.
        depth: longest sequence of captures that is searched.

    Attributes:
        role: the same.
    """

    certain = True

    def __init__(self, machine: Machine, values: BoardValues, role: int, depth: int) -> None:
        self.role = role
        self._machine, self._values, self._depth = machine, values, depth
        self._players = player_roles(machine)
        self._finder = CaptureFinder(machine, values)
        self._player = ExchangePlayer(machine, values, self._finder, role, depth)

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """`[L]` values for a role of states that are not terminal, and zeros: see `Evaluation`."""
        role_values = np.empty(len(states))
        for start in range(0, len(states), LANES_AT_ONCE):
            lanes = np.arange(start, min(start + LANES_AT_ONCE, len(states)))
            role_values[lanes] = self._play_out(states.take(lanes), deadline)
        values = role_values if role == self.role else sum(self._machine.goal_range) - role_values
        return values, np.zeros(len(states), dtype=np.int64)

    def floors(
        self, states: States, choices: IntArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """`[L]` stand-pat values of states for us, and `[L]` whether we may stand pat: see
        `FloorEvaluation`."""
        values, _ = self._values.values(states, self.role, np.random.default_rng(0))
        counts = self._finder.choices(states) if choices is None else choices
        opponents = np.delete(counts, self.role, axis=1)
        return values, (counts[:, self.role] > 1) & (opponents == 1).all(axis=1)

    def _play_out(self, states: States, deadline: Deadline | None) -> FloatArray:
        """`[L]` values of states for us after captures."""
        count, boards = len(states), self._values.boards(states)
        values = self._player.play_out(states, boards, deadline)
        if values is not None:
            return values
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
        captures = self._list_captures(root)
        captures = captures.take(np.argsort(captures.lanes, kind="stable"))
        if len(captures.lanes):
            self._play_by_promise(root, captures, deadline)
        return root.values

    def _play_by_promise(self, root: _Ply, captures: Captures, deadline: Deadline | None) -> None:
        """Value the roots by their first captures; the most promising are played out first.

        Rule: answers can only lower the value of a capture for the role that made it, unless it
        moves again. So a capture is dropped once it promises no more than the best so far.

        Args:
            captures: sorted by root.
        """
        first, movers = self._make_captures(root, captures)
        parents, repeats = first.parents, self._moves_again(first, movers)
        last = np.flatnonzero(first.over)
        _back_up(first.values[last], root.values, parents[last], movers[last] == self.role)
        # With this sign, larger is better for the role that captured.
        sign = np.where(movers == self.role, 1.0, -1.0)
        promise = sign * first.values
        pending = np.flatnonzero(~first.over)
        pending = pending[ordered(parents[pending], -promise[pending])]
        size = 1
        while True:
            better = promise[pending] > sign[pending] * root.values[parents[pending]]
            pending = pending[repeats[pending] | better]
            if not len(pending):
                return
            picks = first_open(parents[pending], size)
            part, ours = first.take(pending[picks]), movers[pending[picks]] == self.role
            best = root.values[part.parents]
            part.low = np.where(ours, np.maximum(part.low, best), part.low)
            part.high = np.where(ours, part.high, np.minimum(part.high, best))
            self._follow(part, self._depth - 1, deadline)
            _back_up(part.values, root.values, part.parents, ours)
            pending = np.delete(pending, picks)
            size *= WAVE_GROWTH

    def _moves_again(self, ply: _Ply, movers: IntArray) -> BoolArray:
        """`[L]` whether the role that made the last capture may also make the next."""
        may_repeat = np.zeros(len(movers), dtype=np.bool_)
        for role in self._players:
            rows = np.flatnonzero((movers == role) & ~ply.over)
            if len(rows):
                may_repeat[rows] = self._finder.choices(ply.states.take(rows))[:, role] > 1
        return may_repeat

    def _follow(self, ply: _Ply, num_captures: int, deadline: Deadline | None) -> None:
        """Value boards by at most `num_captures` further captures."""
        plies = [ply]
        movers: list[IntArray] = []
        while len(movers) < num_captures:
            check(deadline)
            captures = self._list_captures(plies[-1])
            if not len(captures.lanes):
                break
            next_ply, captors = self._make_captures(plies[-1], captures)
            plies.append(next_ply)
            movers.append(captors)
        for child, parent, captors in zip(
            reversed(plies[1:]), reversed(plies[:-1]), reversed(movers), strict=True
        ):
            _back_up(child.values, parent.values, child.parents, captors == self.role)

    def _list_captures(self, ply: _Ply) -> Captures:
        """List captures within the bounds, on boards where it is clear which role is to move.

        Its stand-pat value tightens the bounds there, see `_stand_pat`.
        """
        ours = ~ply.over & (ply.values < ply.high)
        theirs = ~ply.over & (ply.values > ply.low)
        masks = {role: ours if role == self.role else theirs for role in self._players}
        by_role = self._finder.listed(
            CaptureBoards(ply.states, ply.boards, ply.squares, masks)
        ).values()
        captures = Captures(*(np.concatenate(list(parts)) for parts in zip(*by_role, strict=True)))
        self._stand_pat(ply, captures)
        return captures

    def _stand_pat(self, ply: _Ply, captures: Captures) -> None:
        """Tighten the bounds: a role that may capture can stand pat instead."""
        is_ours = captures.movers == self.role
        ours, theirs = captures.lanes[is_ours], captures.lanes[~is_ours]
        ply.low[ours] = np.maximum(ply.low[ours], ply.values[ours])
        ply.high[theirs] = np.minimum(ply.high[theirs], ply.values[theirs])

    def _make_captures(self, ply: _Ply, captures: Captures) -> tuple[_Ply, IntArray]:
        """Boards after the moves that did capture, and the roles that made them."""
        machine = self._machine
        turns = turned(machine, ply.states, captures.lanes, captures.joint)
        boards = self._values.boards(turns.states)
        capturing = np.flatnonzero(boards.num_pieces < ply.boards.num_pieces[captures.lanes])
        lanes, over = captures.lanes[capturing], turns.over[capturing]
        boards, states = boards.take(capturing), turns.states.take(capturing)
        worth, terminal = self._values.worth(boards, self.role), np.flatnonzero(over)
        if len(terminal):
            worth[terminal] = machine.goals(states.take(terminal))[:, self.role]
        child = _Ply(
            states,
            boards,
            lanes,
            captures.squares[capturing],
            worth,
            ply.low[lanes],
            ply.high[lanes],
            over,
        )
        return child, captures.movers[capturing]


def _back_up(values: FloatArray, above: FloatArray, parents: IntArray, ours: BoolArray) -> None:
    """Back up values of boards to their parents, for the role that captured.

    Args:
        values, ours: `[L]` value of each board, and whether we captured.
        before: values of the boards before, changed in place.
        lanes: `[L]` index of each board's parent.
    """
    np.maximum.at(above, parents[ours], values[ours])
    np.minimum.at(above, parents[~ours], values[~ours])
