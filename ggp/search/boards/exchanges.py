"""Captures made many at a time, with the captures that may follow: calls `exchange_kernels`."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.turns import WIDTH, CircuitTurns
from ggp.search.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.search.boards.board_values import Boards, BoardValues
from ggp.search.boards.captures import CaptureFinder, Captures
from ggp.search.boards.exchange_kernels import Made, make_captures


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
        return Sighted(*(each[:kept] for each in made[: len(Sighted._fields)]))

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
            Captures(places, found[:, 1], captures.squares[which][places], made.joint[:follow]),
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
        packed, squares = machine.packed_of(states), boards.codes.shape[1]
        try:
            block = self._scratch.pop()
        except IndexError:
            block = block_boards(squares, roles, WIDTH)
        written = number if whole else 0
        made = Made(
            np.empty(number, dtype=np.int64),
            np.empty(number),
            *np.empty((3, number), dtype=np.bool_),
            np.empty((written, packed.shape[1]), dtype=np.uint64),
            np.empty(written * squares, dtype=np.int16),
            np.empty(written, dtype=np.int64),
            np.empty((0, 3), dtype=np.int64),
            np.empty((0, roles), dtype=np.int64),
        )
        kept, follow = 0, 2 * written + 64
        while follow > len(made.found):
            made = made._replace(
                found=np.empty((follow, 3), dtype=np.int64),
                joint=np.empty((follow, roles), dtype=np.int64),
            )
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

    @cached_property
    def _ready(self) -> tuple[CircuitTurns, Query, BoardTables] | None:
        """None if it is not known which moves capture, or the machine makes no turns."""
        machine, moves = self._machine, self._finder.by_place
        if moves is None or not isinstance(machine, CircuitTurns):
            return None
        look = machine.looks_ahead
        return None if look is None else (machine, look, self._values.tables(self._role, moves))
