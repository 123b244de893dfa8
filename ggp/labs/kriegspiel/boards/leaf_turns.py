"""Successors valued as they are made, and not written: calls `leaf_kernels`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, block_boards
from ggp.labs.kriegspiel.boards.leaf_kernels import value_turns
from ggp.machine.base import IntArray, Ragged, States
from ggp.machine.propnet.play.turns import CircuitTurns
from ggp.search.parts import ValuedTurns

WIDTH = (0, 0)
"""Lanes side by side, 1,024: last turns are many."""

_SEED = 0
"""Of the marks of fluents: any would do."""


class LeafTurns:
    """Makes turns, and values the boards after them.

    Args:
        role: for whom they are valued, and whose percepts are told.
        tables: of the boards of the machine's states, for this role.
        squares: number of those of a board.
    """

    def __init__(self, machine: CircuitTurns, role: int, tables: BoardTables, squares: int) -> None:
        self._machine, self._role = machine, role
        self._tables, self._squares = tables, squares
        self._spare: list[BlockBoards] = []
        words = machine.num_words
        random = np.random.default_rng(_SEED)
        self._marks = random.integers(0, 1 << 64, (64 * words, 2), dtype=np.uint64)

    def valued(
        self,
        states: States,
        codes: NDArray[np.int16],
        held: NDArray[np.uint64],
        lanes: IntArray,
        joint_moves: IntArray,
        before: Sequence[Ragged],
    ) -> ValuedTurns | None:
        """Make joint moves, see `TurnEvaluation`.

        Args:
            codes, held: `[L, S]`, `[L]` the boards of the states, and the squares with a piece.
        """
        machine, number = self._machine, len(lanes)
        values, keys = np.empty(number), np.empty((number, 2), dtype=np.uint64)
        try:
            block = self._spare.pop()
        except IndexError:
            block = block_boards(self._squares, len(machine.roles), machine.num_fluents, WIDTH)
        told = machine.told_by(
            value_turns,
            (
                self._tables,
                codes.ravel(),
                held,
                self._marks,
                block,
                values,
                keys,
                WIDTH,
            ),
            states,
            lanes,
            joint_moves,
            percepts=True,
            only=self._role,
            before=before,
            width=WIDTH,
        )
        self._spare.append(block)
        if told is None:
            return None
        percepts = told.percepts[:, self._role]
        return ValuedTurns(percepts, told.over, told.told, values, keys.view(np.int64))
