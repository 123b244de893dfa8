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

Where a circuit makes turns, `ExchangePlayer` does so many times as fast, by `exchange_kernels`.
`CaptureFinder` says which moves may capture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.labs.kriegspiel.boards.board_kernels import EMPTY
from ggp.labs.kriegspiel.boards.board_search import WAVE_GROWTH, first_open, ordered
from ggp.labs.kriegspiel.boards.board_values import Boards, BoardValues, MovePattern, MovesBySquares
from ggp.labs.kriegspiel.boards.exchanges.exchange_kernels import back_up_values, play_captures
from ggp.labs.kriegspiel.boards.exchanges.listing_kernels import CaptureList, first_captures
from ggp.labs.kriegspiel.boards.exchanges.open_boards import (
    FROM_ROOTS,
    HEIGHT,
    MADE,
    NODES,
    NUM_COUNTS,
    Exchange,
    OpenBoards,
)
from ggp.machine.base import (
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    States,
    player_roles,
)
from ggp.machine.compiling.vectors import words_of
from ggp.machine.layers import JointMoves
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.turns import WIDTH
from ggp.search.anytime import Deadline, check
from ggp.search.moves import turned

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

FIRST_ROOM = 8
"""Captures for which there is room on each board at first."""

ROOM = 4096
"""Answers for which there is room at first; for half as many nodes."""


class _Scratch(NamedTuple):
    """Arrays that kernels write.

    Attributes:
        block: boards in lanes.
        nodes, answers, batch, stacks: see `Exchange`.
    """

    block: BlockBoards
    nodes: OpenBoards
    answers: CaptureList
    batch: CaptureList
    stacks: IntArray


class ExchangePlayer:
    """Plays exchanges out on a circuit.

    Args:
        values: of boards.
        finder: of the moves that may capture.
        role: the role whose values count.
        depth: longest sequence of captures.
    """

    def __init__(
        self, machine: Machine, values: BoardValues, finder: CaptureFinder, role: int, depth: int
    ) -> None:
        assert on_circuit(machine)  # else there were no boards to value
        self._machine, self._values, self._finder = machine, values, finder
        self._role, self._depth = role, depth
        self._spare: list[_Scratch] = []

    def first_captures(self, states: States, boards: Boards) -> Captures | None:
        """Possible captures on boards of states that are not terminal, board by board.

        Only roles that are clearly to move may capture. None if the machine lists no captures.
        """
        listed = self._list_first(states, boards, np.empty(len(states)))
        if listed is None:
            return None
        lanes, movers, _, squares = listed.entries
        return Captures(lanes, movers, squares, listed.joint)

    def play_out(
        self,
        states: States,
        boards: Boards,
        deadline: Deadline | None = None,
    ) -> FloatArray | None:
        """`[L]` values after captures of boards of states that are not terminal.

        None if the machine lists no captures, or several roles can capture on one board.

        Raises:
            OutOfTime: the deadline passed.
        """
        values = np.empty(len(states))
        captures = self._list_first(states, boards, values)
        if captures is None or _has_several_movers(captures):
            return None
        count, unused = len(values), np.zeros(0, dtype=np.int64)
        no_flags = np.zeros(0, dtype=np.bool_)
        roots = OpenBoards(
            self._machine.packed_of(states),
            boards.codes.ravel(),
            boards.num_pieces,
            boards.occupancy,
            values,
            np.zeros(count, dtype=np.int64),
            unused,
            no_flags,
            no_flags,
            unused,
            unused,
            unused,
            unused,
        )
        self._play_all(roots, captures, deadline)
        return values

    # ---------------------------------------------------------------- private

    def _list_first(self, states: States, boards: Boards, values: FloatArray) -> CaptureList | None:
        """Possible captures, see `first_captures`; `values`: out, standing pat."""
        if self._kernel_tables is None:
            return None
        machine, _, tables = self._kernel_tables
        look = machine.looks
        packed, roles = machine.packed_of(states), len(machine.roles)
        scratch = self._take_scratch(machine, boards)
        listed, count = _room_for_captures(0, roles), FIRST_ROOM * (8 + len(packed))
        while count > listed.entries.shape[1]:
            listed = _room_for_captures(count, roles)
            with machine.turn_scratch(look) as (_, rows, _, square):
                count = first_captures.unchecked(
                    machine.moves_circuit(packed),
                    tables,
                    packed,
                    boards.codes.ravel(),
                    boards.occupancy,
                    rows,
                    square,
                    scratch.block,
                    values,
                    listed,
                    WIDTH,
                )
        self._spare.append(scratch)
        return CaptureList(np.ascontiguousarray(listed.entries[:, :count]), listed.joint[:count])

    def _play_all(
        self, roots: OpenBoards, captures: CaptureList, deadline: Deadline | None
    ) -> None:
        """Play captures out, and write the values of the roots.

        Raises:
            OutOfTime: the deadline passed.
        """
        assert self._kernel_tables is not None
        machine, look, tables = self._kernel_tables
        scratch, counts = self._spare.pop(), np.zeros(NUM_COUNTS, dtype=np.int64)
        for follows in (False, True):
            while (state := _next(roots, captures, scratch, follows, counts)) is not None:
                check(deadline)
                exchange = Exchange(
                    roots,
                    captures,
                    self._depth,
                    self._role,
                    scratch.nodes,
                    scratch.answers,
                    scratch.batch,
                    scratch.stacks,
                    counts,
                )
                with machine.turn_scratch(look) as (blank, rows, _, _):
                    play_captures.unchecked(
                        machine.turn_phases(state),
                        tables,
                        exchange,
                        follows,
                        blank,
                        rows,
                        scratch.block,
                        WIDTH,
                    )
                if _next(roots, captures, scratch, follows, counts) is not None:
                    scratch = _enlarged(scratch)
        machine.states_visited += int(counts[MADE])
        nodes, count = scratch.nodes, int(counts[NODES])
        ended = np.flatnonzero(nodes.over[:count])
        if len(ended):
            goals = self._machine.goals(machine.from_packed(nodes.states[ended]))
            nodes.values[ended] = goals[:, self._role]
        back_up_values.unchecked(nodes, count, roots.values)
        self._spare.append(scratch)

    def _take_scratch(self, machine: OnCircuit, boards: Boards) -> _Scratch:
        """Spare scratch, or new."""
        try:
            return self._spare.pop()
        except IndexError:
            squares, roles = boards.codes.shape[1], len(machine.roles)
            block = block_boards(squares, roles, machine.num_fluents, WIDTH)
            nodes = _room_for_nodes(ROOM // 2, machine.num_words, squares)
            batch = _room_for_captures(64 * words_of(WIDTH), roles)
            stacks = np.empty((2, ROOM // 2), dtype=np.int64)
            return _Scratch(block, nodes, _room_for_captures(ROOM, roles), batch, stacks)

    @cached_property
    def _kernel_tables(self) -> tuple[OnCircuit, Query, BoardTables] | None:
        """Machine, query and tables for the kernels; None if the squares of moves are not known."""
        machine, moves = self._machine, self._finder.moves_by_squares
        if moves is None:
            return None
        return machine, machine.looks_ahead, self._values.tables(machine, self._role, moves)


def _next(
    roots: OpenBoards, captures: CaptureList, scratch: _Scratch, follows: bool, counts: IntArray
) -> NDArray[np.uint64] | None:
    """A packed state in which the next capture is to be made; None if none is left."""
    state: NDArray[np.uint64]
    if not follows:
        if counts[FROM_ROOTS] == len(captures.joint):
            return None
        state = roots.states[captures.entries[0, counts[FROM_ROOTS]]]
        return state
    side = int(counts[HEIGHT] == 0)
    if not counts[HEIGHT + side]:
        return None
    state = scratch.nodes.states[scratch.stacks[side, counts[HEIGHT + side] - 1]]
    return state


def _has_several_movers(captures: CaptureList) -> bool:
    """Whether several roles can capture on some board: neither has a choice there."""
    lanes, movers = captures.entries[:2]
    return bool(((lanes[1:] == lanes[:-1]) & (movers[1:] != movers[:-1])).any())


def _room_for_captures(captures: int, roles: int) -> CaptureList:
    return CaptureList(
        np.empty((4, captures), dtype=np.int64), np.empty((captures, roles), dtype=np.int64)
    )


def _room_for_nodes(boards: int, words: int, squares: int) -> OpenBoards:
    """Room for so many nodes."""
    num_pieces, depth, parent, begin, end, rank, unresolved = np.empty((7, boards), dtype=np.int64)
    ours, over = np.empty((2, boards), dtype=np.bool_)
    return OpenBoards(
        np.empty((boards, words), dtype=np.uint64),
        np.empty(boards * squares, dtype=np.int16),
        num_pieces,
        np.empty(boards, dtype=np.uint64),
        np.empty(boards),
        depth,
        parent,
        ours,
        over,
        begin,
        end,
        rank,
        unresolved,
    )


def _enlarged(scratch: _Scratch) -> _Scratch:
    """The same scratch with twice the room, and its contents."""

    def twice(array: NDArray[Any]) -> NDArray[Any]:
        larger = np.empty((2 * len(array), *array.shape[1:]), dtype=array.dtype)
        larger[: len(array)] = array
        return larger

    def wider(array: IntArray) -> IntArray:
        larger = np.empty((len(array), 2 * array.shape[1]), dtype=np.int64)
        larger[:, : array.shape[1]] = array
        return larger

    answers = scratch.answers
    return scratch._replace(
        nodes=OpenBoards(*map(twice, scratch.nodes)),
        answers=CaptureList(wider(answers.entries), twice(answers.joint)),
        stacks=wider(scratch.stacks),
    )


# ------------------------------------------------------------------------
# Possible captures on boards, on squares that count.
#
# The attacks of pieces say which moves may capture, and few do. So kernels (`listing_kernels`) test
# only these. If the file declares no origins of moves, or boards are large, `CaptureFinder` lists
# the legal moves instead. Both ways give the same captures.

NOWHERE = EMPTY
"""No square."""

_UNREAD = -2


class Captures(NamedTuple):
    """Possible captures: one move on each of K boards.

    Attributes:
        lanes: `[K]` the boards.
        movers: `[K]` the role that moves.
        squares: `[K]` the square of the capture.
        joint: `[K, R]` the joint moves.
    """

    lanes: IntArray
    movers: IntArray
    squares: IntArray
    joint: IntArray

    def take(self, selected: IntArray | BoolArray) -> Captures:
        """The selected captures."""
        return Captures(*(field[selected] for field in self))


class CaptureBoards(NamedTuple):
    """L boards whose captures are to be listed.

    Attributes:
        states, boards: states and their boards.
        squares: `[L]` the only square that counts; `NOWHERE`: any.
        masks: by role, `[L]` whether its captures count.
    """

    states: States
    boards: Boards
    squares: IntArray
    masks: dict[int, BoolArray]


class CaptureFinder:
    """Finds captures among the moves that a file declares to be noisy.

    Args:
        values: of boards; their terms declare the noisy moves.
    """

    def __init__(self, machine: Machine, values: BoardValues) -> None:
        assert on_circuit(machine)  # else there were no boards to value
        self._machine, self._values = machine, values
        self._players = player_roles(machine)
        self._move_squares = np.full((0, 2), _UNREAD, dtype=np.int32)

    @cached_property
    def moves_by_squares(self) -> dict[int, MovesBySquares] | None:
        """Noisy moves of each role; None if a form declares no origin, or boards are too large."""
        if not self._values.has_masks:
            return None
        squares, by_role = math.prod(self._values.squares.size), {}
        for role in self._players:
            moves = np.sort(self._machine.circuit_moves(role))
            move_squares = self._squares_of(moves)[moves]
            noisy = move_squares[:, 0] != NOWHERE
            moves, (target, origin) = moves[noisy], move_squares[noisy].T
            if (origin == NOWHERE).any():
                return None
            at = origin * squares + target
            order = np.argsort(at, kind="stable")
            ends = np.cumsum(np.bincount(at, minlength=squares * squares))
            offsets = np.concatenate([[0], ends]).astype(np.int32)
            by_role[role] = MovesBySquares(offsets, moves[order].astype(np.int32))
        return by_role

    def choices(self, states: States) -> IntArray:
        """`[L, R]` number of moves of each role; 2 may mean more."""
        return self._machine.choices(states)

    def listed(self, position: CaptureBoards) -> dict[int, Captures]:
        """Captures of each role by its legal moves, on boards where no other role has a choice."""
        turns = JointMoves.of(self._machine, position.states)
        counts, lists = turns.counts, turns.lists
        by_role = {}
        for role in self._players:
            mask = (np.delete(counts, role, axis=1) == 1).all(axis=1) & position.masks[role]
            legal = lists[role]
            move_squares = self._squares_of(legal.values)
            captures = self._values.captures(
                position.boards, role, legal, mask, move_squares, position.squares
            )
            owner, moves, squares = (np.ascontiguousarray(column) for column in captures.T)
            joint = np.empty((len(owner), len(lists)), dtype=np.int64)
            for seat, choices in enumerate(lists):
                joint[:, seat] = moves if seat == role else choices.values[choices.offsets[owner]]
            by_role[role] = Captures(owner, np.full(len(owner), role), squares, joint)
        return by_role

    # ---------------------------------------------------------------- private

    def _squares_of(self, moves: IntArray) -> NDArray[np.int32]:
        """`[M, 2]` target and origin of each move of the game, `NOWHERE` for none.

        Valid at least for `moves`: texts of moves are parsed when they are first asked for.
        """
        if len(moves) and moves.max() >= len(self._move_squares):
            missing = 2 * int(moves.max()) + 1 - len(self._move_squares)
            new = np.full((missing, 2), _UNREAD, dtype=np.int32)
            self._move_squares = np.concatenate([self._move_squares, new])
        unseen = self._move_squares[moves, 0] == _UNREAD
        for move in np.unique(moves[unseen]).tolist() if unseen.any() else ():
            words = self._machine.move_text(move).strip("()").split()
            self._move_squares[move] = self._squares_in(words)
        return self._move_squares

    def _squares_in(self, words: list[str]) -> tuple[int, int]:
        for pattern in self._values.terms.noisy:
            if _fits(pattern, words):
                target = self._square(words[pattern.file], words[pattern.rank])
                if target != NOWHERE:
                    origin = pattern.origin
                    return target, (
                        NOWHERE if origin is None else self._square(*(words[k] for k in origin))
                    )
        return NOWHERE, NOWHERE

    def _square(self, file: str, rank: str) -> int:
        """Index of a square, `NOWHERE` if it is not on the board."""
        squares = self._values.squares
        if file not in squares.files or rank not in squares.ranks:
            return NOWHERE
        return squares.files.index(file) * squares.size[1] + squares.ranks.index(rank)


def _fits(pattern: MovePattern, words: list[str]) -> bool:
    return len(words) == pattern.size and words[0] == pattern.name


LANES_AT_ONCE = 8192
"""Boards played out side by side: bounds memory. A search against a clock asks for fewer."""


# ------------------------------------------------------------------------
# The evaluation.


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
