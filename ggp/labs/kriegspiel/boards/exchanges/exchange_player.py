"""Exchanges played out on many boards at a time: calls `exchange_kernels`."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.labs.kriegspiel.boards.board_kernels import EMPTY
from ggp.labs.kriegspiel.boards.board_values import Boards, BoardValues, MovePattern, MovesByPlace
from ggp.labs.kriegspiel.boards.exchanges.exchange_kernels import fold_back, play_captures
from ggp.labs.kriegspiel.boards.exchanges.listing_kernels import Listed, first_captures
from ggp.labs.kriegspiel.boards.exchanges.open_boards import (
    DONE,
    HEIGHT,
    KEPT,
    MADE,
    NUM_COUNTS,
    Exchange,
    Reached,
)
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States, player_roles
from ggp.machine.compiling.vectors import words_of
from ggp.machine.layers import JointMoves
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.turns import WIDTH
from ggp.search.anytime import Deadline, check

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

FIRST_ROOM = 8
"""Captures on a board for which there is room at first."""

ROOM = 4096
"""Captures that may follow others for which there is room at first, and twice as many as boards."""


class _Scratch(NamedTuple):
    """What kernels write on.

    Attributes:
        block: boards in lanes.
        reached, answers: boards from which captures go on, and these.
        picked, stacks: see `Exchange`.
    """

    block: BlockBoards
    reached: Reached
    answers: Listed
    picked: Listed
    stacks: IntArray


class ExchangePlayer:
    """Plays exchanges out.

    Args:
        values: of boards.
        finder: knows the moves that may capture.
        role: the one whose values count.
        most: longest sequence of captures.
    """

    def __init__(
        self, machine: Machine, values: BoardValues, finder: CaptureFinder, role: int, most: int
    ) -> None:
        assert on_circuit(machine)  # else there were no boards to value
        self._machine, self._values, self._finder = machine, values, finder
        self._role, self._most = role, most
        self._spare: list[_Scratch] = []

    def first(self, states: States, boards: Boards) -> Captures | None:
        """The captures that are possible on boards of states that are not over, board by board, by
        roles of which it is clear that they are to move; None if the machine cannot do so."""
        listed = self._first(states, boards, np.empty(len(states)))
        if listed is None:
            return None
        lanes, movers, _, squares = listed.found
        return Captures(lanes, movers, squares, listed.joint)

    def play_out(
        self,
        states: States,
        boards: Boards,
        deadline: Deadline | None = None,
    ) -> FloatArray | None:
        """`[L]` values of boards of states that are not over with captures played out; None if it
        cannot do so.

        Raises:
            OutOfTime: the deadline passed.
        """
        values = np.empty(len(states))
        captures = self._first(states, boards, values)
        if captures is None or _has_several_movers(captures):
            return None
        count, none = len(values), np.zeros(0, dtype=np.int64)
        no_one = np.zeros(0, dtype=np.bool_)
        first = Reached(
            self._machine.packed_of(states),
            boards.codes.ravel(),
            boards.number,
            boards.held,
            values,
            np.zeros(count, dtype=np.int64),
            none,
            no_one,
            no_one,
            none,
            none,
            none,
            none,
        )
        self._played(first, captures, deadline)
        return values

    # ---------------------------------------------------------------- private

    def _first(self, states: States, boards: Boards, values: FloatArray) -> Listed | None:
        """The captures that are possible, see `first`; `values`: out, of the boards as they are."""
        if self._ready is None:
            return None
        machine, _, tables = self._ready
        look = machine.looks
        packed, roles = machine.packed_of(states), len(machine.roles)
        scratch = self._taken(machine, boards)
        listed, count = _room_for(0, roles), FIRST_ROOM * (8 + len(packed))
        while count > listed.found.shape[1]:
            listed = _room_for(count, roles)
            with machine.turn_scratch(look) as (_, rows, _, square):
                count = first_captures.alike(
                    machine.moves_circuit(packed),
                    tables,
                    packed,
                    boards.codes.ravel(),
                    boards.held,
                    rows,
                    square,
                    scratch.block,
                    values,
                    listed,
                    WIDTH,
                )
        self._spare.append(scratch)
        return Listed(np.ascontiguousarray(listed.found[:, :count]), listed.joint[:count])

    def _played(self, first: Reached, captures: Listed, deadline: Deadline | None) -> None:
        """Play captures on first boards out, and note in their values what they are worth.

        Raises:
            OutOfTime: the deadline passed.
        """
        assert self._ready is not None
        machine, look, tables = self._ready
        scratch, counts = self._spare.pop(), np.zeros(NUM_COUNTS, dtype=np.int64)
        for follows in (False, True):
            while (on_top := _next(first, captures, scratch, follows, counts)) is not None:
                check(deadline)
                exchange = Exchange(
                    first,
                    captures,
                    self._most,
                    self._role,
                    scratch.reached,
                    scratch.answers,
                    scratch.picked,
                    scratch.stacks,
                    counts,
                )
                with machine.turn_scratch(look) as (blank, rows, _, _):
                    play_captures.alike(
                        machine.turn_phases(on_top),
                        tables,
                        exchange,
                        follows,
                        blank,
                        rows,
                        scratch.block,
                        WIDTH,
                    )
                if _next(first, captures, scratch, follows, counts) is not None:
                    scratch = _enlarged(scratch)
        machine.states_visited += int(counts[MADE])
        reached, kept = scratch.reached, int(counts[KEPT])
        ended = np.flatnonzero(reached.over[:kept])
        if len(ended):
            goals = self._machine.goals(machine.from_packed(reached.states[ended]))
            reached.values[ended] = goals[:, self._role]
        fold_back.alike(reached, kept, first.values)
        self._spare.append(scratch)

    def _taken(self, machine: OnCircuit, boards: Boards) -> _Scratch:
        try:
            return self._spare.pop()
        except IndexError:
            squares, roles = boards.codes.shape[1], len(machine.roles)
            block = block_boards(squares, roles, machine.num_fluents, WIDTH)
            reached = _reached(ROOM // 2, machine.num_words, squares)
            picked = _room_for(64 * words_of(WIDTH), roles)
            stacks = np.empty((2, ROOM // 2), dtype=np.int64)
            return _Scratch(block, reached, _room_for(ROOM, roles), picked, stacks)

    @cached_property
    def _ready(self) -> tuple[OnCircuit, Query, BoardTables] | None:
        """None if it is not known which moves capture."""
        machine, moves = self._machine, self._finder.by_place
        if moves is None:
            return None
        return machine, machine.looks_ahead, self._values.tables(machine, self._role, moves)


def _next(
    first: Reached, captures: Listed, scratch: _Scratch, follows: bool, counts: IntArray
) -> NDArray[np.uint64] | None:
    """A state in which a capture is to be made next, packed; None if there is none."""
    state: NDArray[np.uint64]
    if not follows:
        if counts[DONE] == len(captures.joint):
            return None
        state = first.states[captures.found[0, counts[DONE]]]
        return state
    side = int(counts[HEIGHT] == 0)
    if not counts[HEIGHT + side]:
        return None
    state = scratch.reached.states[scratch.stacks[side, counts[HEIGHT + side] - 1]]
    return state


def _has_several_movers(captures: Listed) -> bool:
    """Whether on some board several roles can capture: where none has a choice."""
    lanes, movers = captures.found[:2]
    return bool(((lanes[1:] == lanes[:-1]) & (movers[1:] != movers[:-1])).any())


def _room_for(captures: int, roles: int) -> Listed:
    return Listed(
        np.empty((4, captures), dtype=np.int64), np.empty((captures, roles), dtype=np.int64)
    )


def _reached(boards: int, words: int, squares: int) -> Reached:
    """Room for so many boards."""
    number, depth, before, begin, end, rank, waits = np.empty((7, boards), dtype=np.int64)
    ours, over = np.empty((2, boards), dtype=np.bool_)
    return Reached(
        np.empty((boards, words), dtype=np.uint64),
        np.empty(boards * squares, dtype=np.int16),
        number,
        np.empty(boards, dtype=np.uint64),
        np.empty(boards),
        depth,
        before,
        ours,
        over,
        begin,
        end,
        rank,
        waits,
    )


def _enlarged(scratch: _Scratch) -> _Scratch:
    """The same with twice the room."""

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
        reached=Reached(*map(twice, scratch.reached)),
        answers=Listed(wider(answers.found), twice(answers.joint)),
        stacks=wider(scratch.stacks),
    )


# ------------------------------------------------------------------------
# The captures that are possible on boards, each on squares that count.
#
# Which moves may take a piece is known from what pieces attack, and few of them are. So kernels
# (`listing_kernels`) test these alone. Where a file does not say where moves come from, or a
# machine makes no turns in blocks, the legal moves are listed here. Both find the same.

NOWHERE = EMPTY
"""No square."""

_UNSEEN = -2


class Captures(NamedTuple):
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

    def take(self, chosen: IntArray | BoolArray) -> Captures:
        """Some of them."""
        return Captures(*(each[chosen] for each in self))


class CaptureBoards(NamedTuple):
    """L boards on which captures are looked for.

    Attributes:
        states, boards: the states, and the same as boards.
        squares: `[L]` the only square that counts; `NOWHERE`: any.
        wanted: by role, `[L]` whether its captures count.
    """

    states: States
    boards: Boards
    squares: IntArray
    wanted: dict[int, BoolArray]


class CaptureFinder:
    """Finds captures by the moves that a file declares to be noisy.

    Args:
        values: of boards; their terms say which moves these are.
    """

    def __init__(self, machine: Machine, values: BoardValues) -> None:
        assert on_circuit(machine)  # else there were no boards to value
        self._machine, self._values = machine, values
        self._players = player_roles(machine)
        self._places = np.full((0, 2), _UNSEEN, dtype=np.int32)

    @cached_property
    def by_place(self) -> dict[int, MovesByPlace] | None:
        """The noisy moves of each role by their squares; None if these are not all declared, or
        boards are too large."""
        if not self._values.has_masks:
            return None
        squares, found = math.prod(self._values.squares.size), {}
        for role in self._players:
            moves = np.sort(self._machine.circuit_moves(role))
            places = self._places_of(moves)[moves]
            noisy = places[:, 0] != NOWHERE
            moves, (target, origin) = moves[noisy], places[noisy].T
            if (origin == NOWHERE).any():
                return None
            at = origin * squares + target
            order = np.argsort(at, kind="stable")
            ends = np.cumsum(np.bincount(at, minlength=squares * squares))
            first = np.concatenate([[0], ends]).astype(np.int32)
            found[role] = MovesByPlace(first, moves[order].astype(np.int32))
        return found

    def choices(self, states: States) -> IntArray:
        """`[L, R]` number of moves of each role; 2 may stand for more."""
        return self._machine.choices(states)

    def listed(self, position: CaptureBoards) -> dict[int, Captures]:
        """Captures of each role, by its legal moves, on boards where it is clear that it is to
        move: the role that is not has no choice."""
        after = JointMoves.of(self._machine, position.states)
        counts, lists = after.counts, after.lists
        found = {}
        for role in self._players:
            alone = (np.delete(counts, role, axis=1) == 1).all(axis=1) & position.wanted[role]
            legal = lists[role]
            places = self._places_of(legal.values)
            taking = self._values.captures(
                position.boards, role, legal, alone, places, position.squares
            )
            owner, moves, squares = (np.ascontiguousarray(column) for column in taking.T)
            joint = np.empty((len(owner), len(lists)), dtype=np.int64)
            for other, choices in enumerate(lists):
                joint[:, other] = moves if other == role else choices.values[choices.offsets[owner]]
            found[role] = Captures(owner, np.full(len(owner), role), squares, joint)
        return found

    # ---------------------------------------------------------------- private

    def _places_of(self, moves: IntArray) -> NDArray[np.int32]:
        """`[M, 2]` the squares that each move of the game goes to and comes from, `NOWHERE` for
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
                if target != NOWHERE:
                    origin = pattern.origin
                    return target, (
                        NOWHERE if origin is None else self._square(*(words[k] for k in origin))
                    )
        return NOWHERE, NOWHERE

    def _square(self, file: str, rank: str) -> int:
        """The number of a square, `NOWHERE` if it is not on the board."""
        squares = self._values.squares
        if file not in squares.files or rank not in squares.ranks:
            return NOWHERE
        return squares.files.index(file) * squares.size[1] + squares.ranks.index(rank)


def _fits(pattern: MovePattern, words: list[str]) -> bool:
    return len(words) == pattern.size and words[0] == pattern.name
