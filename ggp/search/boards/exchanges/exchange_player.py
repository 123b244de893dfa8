"""Exchanges played out on many boards at a time: calls `exchange_kernels`."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray, IntArray, Machine, States
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.turns import WIDTH, CircuitTurns
from ggp.search.anytime import Deadline, check
from ggp.search.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.search.boards.board_values import Boards, BoardValues
from ggp.search.boards.exchanges.captures import CaptureFinder, Captures
from ggp.search.boards.exchanges.exchange_kernels import (
    DONE,
    FOLLOW,
    KEPT,
    WAITING,
    Exchange,
    Reached,
    fold_back,
    play_captures,
)
from ggp.search.boards.exchanges.listing_kernels import Listed, first_captures

FIRST_ROOM = 8
"""Captures on a board for which there is room at first."""

ROOM = 4096
"""Captures that may follow others for which there is room at first, and twice as many as boards."""


class _Scratch(NamedTuple):
    """What kernels write on.

    Attributes:
        block: boards in lanes.
        reached, answers: boards from which captures go on, and these.
    """

    block: BlockBoards
    reached: Reached
    answers: Listed


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
        assert isinstance(self._machine, CircuitTurns)
        count = len(values)
        infinite, none = np.full(count, np.inf), np.zeros(0, dtype=np.int64)
        no_one = np.zeros(0, dtype=np.bool_)
        source = Reached(
            self._machine.packed_of(states),
            boards.codes.ravel(),
            boards.number,
            boards.held,
            values,
            -infinite,
            infinite,
            np.zeros(count, dtype=np.int64),
            none,
            no_one,
            no_one,
        )
        check(deadline)
        waiting, promise = self._played(source, captures, waits=True)
        # Those that waited are followed up together: few are better than what came first.
        ours = captures.found[1, waiting] == self._role
        best = values[captures.found[0, waiting]]
        left = waiting[np.where(ours, promise > best, promise < best)]
        if len(left):
            check(deadline)
            rest = Listed(np.ascontiguousarray(captures.found[:, left]), captures.joint[left])
            self._played(source, rest, waits=False)
        return values

    # ---------------------------------------------------------------- private

    def _first(self, states: States, boards: Boards, values: FloatArray) -> Listed | None:
        """The captures that are possible, see `first`; `values`: out, of the boards as they are."""
        if self._ready is None:
            return None
        machine, _, tables = self._ready
        look = machine.looks
        assert look is not None
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

    def _played(
        self, source: Reached, captures: Listed, *, waits: bool
    ) -> tuple[IntArray, FloatArray]:
        """Play captures on boards out, and note in the values what they are worth.

        Args:
            waits: whether all but the most promising one on each board wait.

        Returns:
            the captures that wait, and what the boards after them are worth.
        """
        assert self._ready is not None
        machine, look, tables = self._ready
        number = len(captures.joint)
        scratch = self._spare.pop()
        waiting, promise = np.empty(number, dtype=np.int64), np.empty(number)
        counts = np.zeros(4, dtype=np.int64)
        played = 0
        for again in (False, True):
            counts[DONE] = 0
            wanted = -1 if again else number
            while counts[DONE] < (counts[FOLLOW] if again else number):
                exchange = Exchange(
                    scratch.reached if again else source,
                    scratch.answers if again else captures,
                    again,
                    self._most,
                    waits and not again,
                    scratch.reached,
                    scratch.answers,
                    waiting,
                    promise,
                    counts,
                )
                before = counts[DONE]
                first = exchange.source.states[exchange.captures.found[0, 0]]
                with machine.turn_scratch(look) as (blank, rows, _, _):
                    play_captures.alike(
                        machine.turn_phases(first),
                        tables,
                        exchange,
                        wanted,
                        blank,
                        rows,
                        scratch.block,
                        WIDTH,
                    )
                played += counts[DONE] - before
                if counts[DONE] < (counts[FOLLOW] if again else number):
                    scratch = _enlarged(scratch)
        machine.states_visited += int(played)
        reached, kept = scratch.reached, int(counts[KEPT])
        ended = np.flatnonzero(reached.over[:kept])
        if len(ended):
            goals = self._machine.goals(machine.from_packed(reached.states[ended]))
            reached.values[ended] = goals[:, self._role]
        fold_back.alike(reached, kept, source.values)
        self._spare.append(scratch)
        return waiting[: counts[WAITING]], promise[: counts[WAITING]]

    def _taken(self, machine: CircuitTurns, boards: Boards) -> _Scratch:
        try:
            return self._spare.pop()
        except IndexError:
            squares, roles = boards.codes.shape[1], len(machine.roles)
            block = block_boards(squares, roles, machine.num_fluents, WIDTH)
            reached = _reached(ROOM // 2, machine.num_words, squares)
            return _Scratch(block, reached, _room_for(ROOM, roles))

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
    number, depth, before = np.empty((3, boards), dtype=np.int64)
    values, low, high = np.empty((3, boards))
    ours, over = np.empty((2, boards), dtype=np.bool_)
    return Reached(
        np.empty((boards, words), dtype=np.uint64),
        np.empty(boards * squares, dtype=np.int16),
        number,
        np.empty(boards, dtype=np.uint64),
        values,
        low,
        high,
        depth,
        before,
        ours,
        over,
    )


def _enlarged(scratch: _Scratch) -> _Scratch:
    """The same with twice the room."""

    def twice(array: NDArray[Any]) -> NDArray[Any]:
        larger = np.empty((2 * len(array), *array.shape[1:]), dtype=array.dtype)
        larger[: len(array)] = array
        return larger

    found = np.empty((4, 2 * scratch.answers.found.shape[1]), dtype=np.int64)
    found[:, : scratch.answers.found.shape[1]] = scratch.answers.found
    return _Scratch(
        scratch.block,
        Reached(*map(twice, scratch.reached)),
        Listed(found, twice(scratch.answers.joint)),
    )
