"""Captures made many at a time, with the captures that may follow: calls `exchange_kernels`."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.propnet.play.kernels.packed import Packed
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.turns import WIDTH, CircuitTurns
from ggp.search.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.search.boards.board_values import Boards, BoardValues
from ggp.search.boards.captures import CaptureFinder, Captures
from ggp.search.boards.exchange_kernels import Made, first_captures, make_captures

FIRST_ROOM = 8
"""Captures on a board for which there is room at first."""


class Sighted(NamedTuple):
    """K captures that took a piece.

    Attributes:
        which: `[K]` index of each among those that were made.
        values: `[K]` worth of the boards for our role.
        over: `[K]` whether the game is over.
        again: `[K]` whether the role that captured has a choice then.
        answered: `[K]` whether a capture may follow on the same square that matters.
    """

    which: IntArray
    values: FloatArray
    over: BoolArray
    again: BoolArray
    answered: BoolArray


class Followed(NamedTuple):
    """K captures that took a piece, and what follows.

    Attributes:
        which, values, over: as for `Sighted`.
        states, boards: after them; they mean nothing where no capture follows and the game is not
            over.
        captures: those that may follow on the same square, by board; None: not known.
    """

    which: IntArray
    values: FloatArray
    over: BoolArray
    states: States
    boards: Boards
    captures: Captures | None = None


class CaptureMaker:
    """Makes captures, and looks for those that follow.

    Args:
        values: of boards.
        finder: knows the moves that may capture.
        role: the one whose values count.
    """

    def __init__(
        self, machine: Machine, values: BoardValues, finder: CaptureFinder, role: int
    ) -> None:
        self._machine, self._values, self._finder, self._role = machine, values, finder, role
        self._scratch: list[BlockBoards] = []

    def first(self, states: States, boards: Boards) -> Captures | None:
        """The captures that are possible on boards of states that are not over, board by board, by
        roles of which it is clear that they are to move; None if the machine cannot do so."""
        if self._ready is None:
            return None
        machine, _, tables = self._ready
        look = machine.looks
        assert look is not None
        packed, roles = machine.packed_of(states), len(machine.roles)
        block = self._block(boards)
        made, follow = _room(0, 0, boards, packed), FIRST_ROOM * (8 + len(packed))
        while follow > len(made.found):
            made = _with_room(made, follow, roles)
            with machine.turn_scratch(look) as (_, rows, _, square):
                follow = first_captures(
                    machine.turn_circuit(look),
                    tables,
                    packed,
                    boards.codes.ravel(),
                    rows,
                    square,
                    block,
                    made,
                    WIDTH,
                )
        self._scratch.append(block)
        found = made.found[:follow]
        return Captures(found[:, 0], found[:, 1], found[:, 3], made.joint[:follow])

    def sighted(
        self,
        states: States,
        boards: Boards,
        captures: Captures,
        low: FloatArray,
        high: FloatArray,
    ) -> Sighted | None:
        """The captures of boards as they are at first sight; arguments as for `followed`."""
        done = self._made(states, boards, captures, low, high, whole=False)
        if done is None:
            return None
        _, made, kept, _ = done
        return Sighted(
            made.which[:kept],
            made.values[:kept],
            made.over[:kept],
            made.again[:kept],
            made.answered[:kept],
        )

    def followed(
        self,
        states: States,
        boards: Boards,
        captures: Captures,
        low: FloatArray,
        high: FloatArray,
    ) -> Followed | None:
        """The captures of boards, and what follows; None if the machine cannot do so.

        Args:
            low, high: `[K]` what our role, and the other one, can already have: captures that could
                matter only beyond these need not be found.
        """
        done = self._made(states, boards, captures, low, high, whole=True)
        if done is None:
            return None
        machine, made, kept, follow = done
        which, found = made.which[:kept], made.found[:follow]
        places = found[:, 0]
        return Followed(
            which,
            made.values[:kept],
            made.over[:kept],
            machine.from_packed(made.states[:kept]),
            Boards(
                made.codes.reshape(-1, boards.codes.shape[1])[:kept],
                made.number[:kept],
                boards.sides,
            ),
            Captures(places, found[:, 1], found[:, 3], made.joint[:follow]),
        )

    # ---------------------------------------------------------------- private

    def _made(
        self,
        states: States,
        boards: Boards,
        captures: Captures,
        low: FloatArray,
        high: FloatArray,
        *,
        whole: bool,
    ) -> tuple[CircuitTurns, Made, int, int] | None:
        """The machine, what the kernel writes, and returns; None if the machine cannot do so."""
        if self._ready is None:
            return None
        machine, look, tables = self._ready
        number, roles = captures.joint.shape
        packed, written = machine.packed_of(states), number if whole else 0
        block = self._block(boards)
        made = _room(number, written, boards, packed)
        kept, follow = 0, 2 * written + 64
        while follow > len(made.found):
            made = _with_room(made, follow, roles)
            with machine.turn_scratch(look) as (blank, rows, _, _):
                kept, follow = make_captures(
                    machine.turn_circuit(look),
                    tables,
                    packed,
                    boards.codes.ravel(),
                    boards.number,
                    captures.lanes,
                    captures.joint,
                    captures.movers,
                    captures.squares,
                    low,
                    high,
                    whole,
                    blank,
                    rows,
                    block,
                    made,
                    WIDTH,
                )
        self._scratch.append(block)
        machine.states_visited += number
        return machine, made, kept, follow

    def _block(self, boards: Boards) -> BlockBoards:
        """Scratch."""
        try:
            return self._scratch.pop()
        except IndexError:
            return block_boards(boards.codes.shape[1], len(self._machine.roles), WIDTH)

    @cached_property
    def _ready(self) -> tuple[CircuitTurns, Query, BoardTables] | None:
        """None if it is not known which moves capture, or the machine makes no turns."""
        machine, moves = self._machine, self._finder.by_place
        if moves is None or not isinstance(machine, CircuitTurns):
            return None
        look = machine.looks_ahead
        return (
            None
            if look is None
            else (machine, look, self._values.tables(machine, self._role, moves))
        )


def _room(number: int, written: int, boards: Boards, packed: Packed) -> Made:
    """Room for so many captures, and for what follows so many of them."""
    squares = boards.codes.shape[1]
    over, again, answered = np.empty((3, number), dtype=np.bool_)
    return Made(
        np.empty(number, dtype=np.int64),
        np.empty(number),
        over,
        again,
        answered,
        np.empty((written, packed.shape[1]), dtype=np.uint64),
        np.empty(written * squares, dtype=np.int16),
        np.empty(written, dtype=np.int64),
        np.empty((0, 4), dtype=np.int64),
        np.empty((0, 0), dtype=np.int64),
    )


def _with_room(made: Made, follow: int, roles: int) -> Made:
    """The same, with room for so many captures that may follow."""
    return made._replace(
        found=np.empty((follow, 4), dtype=np.int64),
        joint=np.empty((follow, roles), dtype=np.int64),
    )
