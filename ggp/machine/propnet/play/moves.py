"""The moves of a circuit: their numbers, and the rows of a block that they drive."""

from __future__ import annotations

import numpy as np

from ggp.errors import MachineError
from ggp.gdl import canonical_term
from ggp.machine.base import IntArray
from ggp.machine.propnet.play.kernels.tapes import I32
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.threads import made_once


class MoveTable:
    """M moves of all roles, each with a number.

    Attributes:
        numbers: for each role, the numbers of its moves, in the order of the circuit.
    """

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        circuit = queries.circuit
        self._roles = circuit.roles
        self._texts = sorted({name for outputs in circuit.legal for name in outputs.names})
        self._ids = {name: i for i, name in enumerate(self._texts)}
        self.numbers = [
            np.array([self._ids[name] for name in outputs.names], dtype=np.int64)
            for outputs in circuit.legal
        ]

    def id(self, move: str) -> int | None:
        """The number of a move, None if there is no such move."""
        return self._ids.get(canonical_term(move))

    def text(self, move: int) -> str:
        """A move as canonical KIF.

        Raises:
            MachineError: no move has this number.
        """
        if not 0 <= move < len(self._texts):
            raise MachineError(f"there is no move number {move}")
        return self._texts[move]

    @made_once
    def rows(self) -> I32:
        """`[R, M]` row in `Queries.step` of each move of each role, -1 if it has no such move."""
        rows = np.full((len(self._roles), len(self._texts)), -1, dtype=np.int32)
        for role, numbers in enumerate(self.numbers):
            first = self._queries.first_move_row + self._queries.role_moves[role]
            rows[role, numbers] = np.arange(first, first + len(numbers))
        return rows

    @made_once
    def places(self) -> list[I32]:
        """For each role, `[M]` place of each move among its own, -1 if it has no such move."""
        first = self._queries.first_move_row + self._queries.role_moves[:-1, None]
        return list(np.where(self.rows < 0, -1, self.rows - first).astype(np.int32))

    def rows_of(self, joint_moves: IntArray, num_lanes: int) -> I32:
        """`[L, R]` row in `Queries.step` of each move of the circuit's roles.

        Raises:
            MachineError: they have another shape, or are not moves of these roles.
        """
        if joint_moves.shape != (num_lanes, len(self._roles)):
            raise MachineError(
                f"joint moves of shape {joint_moves.shape} for {num_lanes} lanes and "
                f"{len(self._roles)} roles"
            )
        if joint_moves.size and (joint_moves.min() < 0 or joint_moves.max() >= len(self._texts)):
            wrong = joint_moves[(joint_moves < 0) | (joint_moves >= len(self._texts))]
            raise MachineError(f"there is no move number {wrong[0]}")
        rows = self.rows[np.arange(len(self._roles)), joint_moves]
        if rows.size and rows.min() < 0:
            lane, role = np.argwhere(rows < 0)[0]
            move = self.text(int(joint_moves[lane, role]))
            raise MachineError(f"{self._roles[role]} never has the move {move}")
        return np.asarray(rows)
