"""Quiescence search: an `Evaluation` that plays exchanges out before it values boards (paper 001).

States come in from a search that stops there; their values after worthwhile captures go out. In the
middle of an exchange the pieces alone mislead: the queen that has just captured a pawn may be lost
next. So where a search stops, the role to move may stand pat, that is, accept the board as it is,
or play a *noisy* move: a capture. From then on only captures on the same square are played, until
a role stands pat. The file beside the rulesheet declares which moves may be noisy
(`BoardTerms.noisy`). A capture reduces the number of pieces, so a refused try is never one.

To follow all captures is too much for whole bags of boards: after 20 tries of random kriegspiel,
one board leads to 137 within 8 captures, but to 4 if only the exchange is followed.

This is alpha-beta of two opposed roles. A board is not searched further once it is worth so much to
the role to move that its opponent would rather have stood pat on the board before.

    stand pat: 50     white captures: 53     black recaptures: 44
                      black may stop         above 53 black would not have recaptured

The attacks of pieces say which moves may capture, and few do, so kernels (`listing_kernels`) test
only these. `exchange_kernels` makes the turns in the lanes of a circuit.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.labs.kriegspiel.boards.board_values import Boards, BoardValues, MovesBySquares
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
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.turns import WIDTH
from ggp.search.anytime import Deadline, check

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

LANES_AT_ONCE = 8192
"""Boards played out side by side: bounds memory. A search against a clock asks for fewer."""

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


class Quiescence:
    """The `Evaluation` of boards after worthwhile captures, on a circuit.

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
        assert on_circuit(machine)  # else there were no boards to value
        self.role = role
        self._machine, self._values, self._depth = machine, values, depth
        self._spare: list[_Scratch] = []

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
        counts = self._machine.choices(states) if choices is None else choices
        opponents = np.delete(counts, self.role, axis=1)
        return values, (counts[:, self.role] > 1) & (opponents == 1).all(axis=1)

    # ---------------------------------------------------------------- private

    def _play_out(self, states: States, deadline: Deadline | None) -> FloatArray:
        """`[L]` values of states for us after captures.

        Only roles that are clearly to move may capture.

        Raises:
            OutOfTime: the deadline passed.
        """
        boards, values = self._values.boards(states), np.empty(len(states))
        captures = _of_one_mover(self._list_first(states, boards, values))
        roots = _room_for_nodes(0, 0, 0)._replace(
            states=self._machine.packed_of(states),
            codes=boards.codes.ravel(),
            num_pieces=boards.num_pieces,
            occupancy=boards.occupancy,
            values=values,
            depth=np.zeros(len(values), dtype=np.int64),
        )
        self._play_all(roots, captures, deadline)
        return values

    def _list_first(self, states: States, boards: Boards, values: FloatArray) -> CaptureList:
        """Possible captures, board by board; `values`: out, standing pat."""
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
        machine, look, tables = self._kernel_tables
        scratch, counts = self._spare.pop(), np.zeros(NUM_COUNTS, dtype=np.int64)
        for follows in (False, True):
            while (state := _next(roots, captures, scratch, follows, counts)) is not None:
                check(deadline)
                exchange = Exchange(
                    roots,
                    captures,
                    self._depth,
                    self.role,
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
            nodes.values[ended] = goals[:, self.role]
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
    def _kernel_tables(self) -> tuple[OnCircuit, Query, BoardTables]:
        """Machine, query and tables for the kernels."""
        machine, moves = self._machine, moves_by_squares(self._machine, self._values)
        return machine, machine.looks_ahead, self._values.tables(machine, self.role, moves)


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


def _of_one_mover(captures: CaptureList) -> CaptureList:
    """The captures on boards where only one role can capture; elsewhere all stand pat."""
    lanes, movers = captures.entries[:2]
    several = lanes[1:][(lanes[1:] == lanes[:-1]) & (movers[1:] != movers[:-1])]
    if not len(several):
        return captures
    alone = ~np.isin(lanes, several)
    return CaptureList(np.ascontiguousarray(captures.entries[:, alone]), captures.joint[alone])


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
# Moves that may capture.


def moves_by_squares(machine: OnCircuit, values: BoardValues) -> dict[int, MovesBySquares]:
    """Noisy moves of each role that a file declares, from squares of the board to others."""
    squares, by_role = math.prod(values.squares.size), {}
    for role in player_roles(machine):
        moves = np.sort(machine.circuit_moves(role))
        ways = [_way_of(machine.move_text(move), values) for move in moves.tolist()]
        at = np.array([-1 if way is None else way[0] * squares + way[1] for way in ways])
        moves, at = moves[at >= 0], at[at >= 0]
        order = np.argsort(at, kind="stable")
        ends = np.cumsum(np.bincount(at, minlength=squares * squares))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        by_role[role] = MovesBySquares(offsets, moves[order].astype(np.int32))
    return by_role


def _way_of(move: str, values: BoardValues) -> tuple[int, int] | None:
    """The squares from which and to which a noisy move goes; None if it is not noisy."""
    words, squares = move.strip("()").split(), values.squares
    for pattern in values.terms.noisy:
        if len(words) == pattern.size and words[0] == pattern.name:
            places = pattern.origin, pattern.target
            named = [(words[file], words[rank]) for file, rank in places]
            if all(file in squares.files and rank in squares.ranks for file, rank in named):
                origin, target = (
                    squares.files.index(file) * squares.size[1] + squares.ranks.index(rank)
                    for file, rank in named
                )
                return origin, target
    return None
