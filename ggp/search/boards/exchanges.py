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


class Followed(NamedTuple):
    """K captures that took a piece, and what follows.

    Attributes:
        which: `[K]` index of each among those that were made.
        values: `[K]` worth of the boards for our role.
        over: `[K]` whether the game is over.
        states, boards: after them; they mean nothing where it is known that no capture follows, and
            the game is not over.
        again: `[K]` whether the role that captured has a choice then; None: not known.
        captures: those that may follow on the same square, by board; None: not known.
    """

    which: IntArray
    values: FloatArray
    over: BoolArray
    states: States
    boards: Boards
    again: BoolArray | None = None
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
        block = self._block(machine, boards)
        made, follow = _room(0, boards, packed), FIRST_ROOM * (8 + len(packed))
        while follow > made.found.shape[1]:
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
        return _listed(made, follow)

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
        if self._ready is None:
            return None
        machine, look, tables = self._ready
        number, roles = captures.joint.shape
        packed = machine.packed_of(states)
        block = self._block(machine, boards)
        made = _room(number, boards, packed)
        kept, follow = 0, 2 * number + 64
        while follow > made.found.shape[1]:
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
                    blank,
                    rows,
                    block,
                    made,
                    WIDTH,
                )
        self._scratch.append(block)
        machine.states_visited += number
        codes = made.codes.reshape(-1, boards.codes.shape[1])
        return Followed(
            made.which[:kept],
            made.values[:kept],
            made.over[:kept],
            machine.from_packed(made.states[:kept]),
            Boards(codes[:kept], made.number[:kept], boards.sides),
            made.again[:kept],
            _listed(made, follow),
        )

    # ---------------------------------------------------------------- private

    def _block(self, machine: CircuitTurns, boards: Boards) -> BlockBoards:
        """Scratch."""
        try:
            return self._scratch.pop()
        except IndexError:
            squares, roles = boards.codes.shape[1], len(machine.roles)
            return block_boards(squares, roles, machine.num_fluents, WIDTH)

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


def _room(number: int, boards: Boards, packed: Packed) -> Made:
    """Room for so many captures, and what follows; none for those that may follow."""
    squares = boards.codes.shape[1]
    over, again = np.empty((2, number), dtype=np.bool_)
    return Made(
        np.empty(number, dtype=np.int64),
        np.empty(number),
        over,
        again,
        np.empty((number, packed.shape[1]), dtype=np.uint64),
        np.empty(number * squares, dtype=np.int16),
        np.empty(number, dtype=np.int64),
        np.empty((4, 0), dtype=np.int64),
        np.empty((0, 0), dtype=np.int64),
    )


def _with_room(made: Made, follow: int, roles: int) -> Made:
    """The same, with room for so many captures that may follow."""
    return made._replace(
        found=np.empty((4, follow), dtype=np.int64),
        joint=np.empty((follow, roles), dtype=np.int64),
    )


def _listed(made: Made, count: int) -> Captures:
    """The captures that a kernel has listed."""
    lanes, movers, _, squares = made.found[:, :count]
    return Captures(lanes, movers, squares, made.joint[:count])
