"""The questions that a machine asks a circuit, laid out for kernels when they are first asked.

A question needs only a part of the circuit, the cone of its literals: what is legal for a role does
not depend on the gates of percepts. So `legal`, `terminal`, `goals` and `step` have a tape and rows
each. Random playouts have rows of their own (see `plans`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import IntArray
from ggp.machine.propnet.circuit import FALSE, Circuit, Literals
from ggp.machine.propnet.parts import parts_of
from ggp.machine.propnet.play.kernels.blocks import PlayoutPlan
from ggp.machine.propnet.play.kernels.packed import words_for
from ggp.machine.propnet.play.kernels.tapes import Query
from ggp.machine.propnet.play.layout.phases import MIN_LITERALS, within_phase
from ggp.machine.propnet.play.layout.plans import playout_plan
from ggp.machine.propnet.play.layout.tape_layout import Stage, lay_out
from ggp.machine.threads import made_once

DECIDING = 32
"""A fluent that is read by one of so many gates decides which others matter."""

MOST_DECIDING = 4


class Queries:
    """The questions about one circuit.

    Attributes:
        num_roles: number of roles of the game; the circuit may have more (see `Parts`).
        role_moves: place of the first move of each of its roles, and the end.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.num_roles = parts_of(circuit).num_roles
        self._legal: dict[int, Query] = {}
        self._num_fluents = len(circuit.fluents)
        ends = np.cumsum([0, *(len(outputs.names) for outputs in circuit.legal)])
        self.role_moves = ends.astype(np.int32)

    def legal(self, role: int) -> Query:
        """The legal moves of a role in one group, `terminal` in the next."""
        found = self._legal.get(role)
        if found is None:
            outputs = self.circuit.legal[role].literals
            found = self._legal.setdefault(role, self._query([outputs, self._terminal]))
        return found

    @made_once
    def terminal(self) -> Query:
        """One group with `terminal`."""
        return self._query([self._terminal])

    @made_once
    def moves(self) -> Query:
        """The legal moves of each role of the game, a group each."""
        return self._query(self._of_roles)

    @made_once
    def look(self) -> Query:
        """The same, then one group with `terminal`."""
        return self._query([*self._of_roles, self._terminal])

    @made_once
    def goals(self) -> Query:
        """A group of goal values for each role."""
        return self._query([outputs.literals for outputs in self.circuit.goals])

    @made_once
    def step(self) -> Query:
        """The next state, then a group of percepts for each role.

        Rows from `first_move_row` on are those of the moves, role after role.
        """
        sees = [outputs.literals for outputs in self.circuit.sees]
        return self._query([self.circuit.next, *sees], moves=True)

    @made_once
    def advance(self) -> Query:
        """The next state alone, with the rows of moves of `step`."""
        return self._query([self.circuit.next], moves=True)

    @made_once
    def deciding(self) -> IntArray:
        """Fluents that many gates read, such as whose turn it is; none in small circuits."""
        circuit = self.circuit
        if circuit.num_literals < MIN_LITERALS or circuit.loops:
            return np.zeros(0, dtype=np.int64)
        read = np.bincount(circuit.literals >> 1, minlength=1 + self._num_fluents)
        read = read[1 : 1 + self._num_fluents]
        most = np.argsort(-read, kind="stable")[:MOST_DECIDING]
        return np.sort(most[DECIDING * read[most] > circuit.num_gates])

    def where(self, holding: NDArray[np.bool_]) -> Queries:
        """The questions about a smaller circuit, which says the same where those of the `deciding`
        fluents hold, and legal moves are made."""
        return Queries(within_phase(self.circuit, self.deciding, holding))

    @made_once
    def fits(self) -> Query:
        """One group with whether a joint move fits (see `Parts`), with the rows of moves of
        `step`."""
        fits = np.array([parts_of(self.circuit).fits], dtype=np.int32)
        return self._query([fits], moves=True)

    @property
    def first_move_row(self) -> int:
        """Row of the first move of the first role in `step`."""
        return 1 + self._num_fluents

    @property
    def _of_roles(self) -> list[Literals]:
        return [outputs.literals for outputs in self.circuit.legal[: self.num_roles]]

    @property
    def _terminal(self) -> Literals:
        return np.array([self.circuit.terminal], dtype=np.int32)

    def _query(self, groups: list[Literals], *, moves: bool = False) -> Query:
        return query_of(self.circuit, groups, moves=moves)

    @made_once
    def playout(self) -> PlayoutPlan:
        """The plan of random playouts."""
        return playout_plan(self.circuit)

    def lay_out(self) -> None:
        """Lay out every question, so that no later call waits for that.

        Raises:
            IndexError, KeyError, ValueError: the circuit is not one of a game with these roles.
        """
        for role in range(self.num_roles):
            self.legal(role)
        _ = self.terminal, self.goals, self.step, self.playout

    def cones(self) -> list[dict[str, str | int]]:
        """Numbers of gates and literals of each cone that is evaluated as a whole, by name."""
        tapes = {
            "playout, every step: legal and terminal": self.playout.look,
            "playout, every step: next": self.playout.act,
            "playout, at the end: goals": self.playout.judge,
            "step: next and sees": self.step.tape,
        }
        return [
            {"name": name, "gates": len(tape.outputs), "literals": len(tape.inputs)}
            for name, tape in tapes.items()
        ]


def query_of(circuit: Circuit, groups: Sequence[Literals], *, moves: bool = False) -> Query:
    """Groups of literals, laid out to be asked together.

    Args:
        moves: whether they may depend on moves: these then have rows after those of the fluents, in
            the order of the circuit.
    """
    inputs = range(1, 1 + (circuit.num_inputs if moves else len(circuit.fluents)))
    padded = []
    for group in groups:
        # Groups begin at a word, so that `part` is a slice.
        literals = np.full(64 * words_for(len(group)), FALSE, dtype=np.int32)
        literals[: len(group)] = group
        padded.append(literals)
    starts = np.cumsum([0, *(len(literals) // 64 for literals in padded)])
    laid = lay_out(circuit, inputs, [Stage(np.concatenate(padded))])
    return Query(
        np.arange(1, 1 + len(circuit.fluents), dtype=np.int32),
        1 + len(inputs),
        laid.tapes[0],
        laid.wires[0],
        laid.num_rows,
        starts.astype(np.int64),
    )
