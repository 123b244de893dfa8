"""What a machine asks a circuit, laid out for kernels when it is first asked.

A question needs only a part of the circuit, the cone of its literals: what is legal for a role does
not depend on the gates of percepts. So `legal`, `terminal`, `goals` and `step` have a tape and rows
each. Random playouts stay in one set of rows from the first step to the last:

    look    is it over, and what is legal?       each step
    judge   goals, from gates of `look`          when enough lanes have ended
    act     the next state, from gates of `look` and the moves just made     each step

and have no rows for fluents that neither `look` nor `judge` depends on, now or in a later state,
such as what a player has seen, which only `sees` rules read.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.program import RANDOM
from ggp.machine.goal_values import NO_NUMBER, number_or_nan
from ggp.machine.propnet.circuit import FALSE, Circuit, Literals, Outputs
from ggp.machine.propnet.play.blocks import PlayoutPlan
from ggp.machine.propnet.play.choice import GROUP
from ggp.machine.propnet.play.layout import Stage, cone, lay_out
from ggp.machine.propnet.play.packed import pack, words_for
from ggp.machine.propnet.play.tapes import I32, Query, Wires


class Queries:
    """The questions there are about one circuit."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self._legal: dict[int, Query] = {}
        self._num_fluents = len(circuit.fluents)
        ends = np.cumsum([0, *(len(outputs.names) for outputs in circuit.legal)])
        self.role_moves = ends.astype(np.int32)

    def legal(self, role: int) -> Query:
        """The legal moves of a role in one group, `terminal` in the next."""
        if role not in self._legal:
            outputs = self.circuit.legal[role].literals
            self._legal[role] = self._query([outputs, self._terminal])
        return self._legal[role]

    @cached_property
    def terminal(self) -> Query:
        """One group with `terminal`."""
        return self._query([self._terminal])

    @cached_property
    def goals(self) -> Query:
        """A group of goal values for each role."""
        return self._query([outputs.literals for outputs in self.circuit.goals])

    @cached_property
    def step(self) -> Query:
        """The next state, then a group of percepts for each role.

        Rows from `first_move_row` on are those of the moves, role after role.
        """
        sees = [outputs.literals for outputs in self.circuit.sees]
        return self._query([self.circuit.next, *sees], moves=True)

    @property
    def first_move_row(self) -> int:
        """Row of the first move of the first role in `step`."""
        return 1 + self._num_fluents

    @property
    def _terminal(self) -> Literals:
        return np.array([self.circuit.terminal], dtype=np.int32)

    def _query(self, groups: list[Literals], *, moves: bool = False) -> Query:
        circuit = self.circuit
        inputs = range(1, 1 + (circuit.num_inputs if moves else self._num_fluents))
        padded = []
        for group in groups:
            # Groups begin with a word, so that `part` is a slice.
            literals = np.full(64 * words_for(len(group)), FALSE, dtype=np.int32)
            literals[: len(group)] = group
            padded.append(literals)
        starts = np.cumsum([0, *(len(literals) // 64 for literals in padded)])
        row_of = np.arange(1, 1 + self._num_fluents, dtype=np.int32)
        laid = lay_out(circuit, inputs, [Stage(np.concatenate(padded))])
        return Query(
            row_of,
            1 + len(inputs),
            laid.tapes[0],
            laid.wires[0],
            laid.num_rows,
            starts.astype(np.int64),
        )

    @cached_property
    def playout(self) -> PlayoutPlan:
        """What random playouts need: only fluents that matter for how a game goes on."""
        circuit = self.circuit
        look = np.concatenate([self._terminal, *(outputs.literals for outputs in circuit.legal)])
        goals = np.concatenate([outputs.literals for outputs in circuit.goals])
        matter = _fluents_that_matter(circuit, np.concatenate([look, goals]))
        moves = np.arange(1 + self._num_fluents, 1 + circuit.num_inputs)
        following = circuit.next[matter]
        stages = [
            Stage(look),
            # Goals are judged now and then only, so moving on must not rely on gates of `judge`.
            Stage(goals, optional=True),
            # States are overwritten fluent by fluent. What a fluent takes over from another one is
            # copied first, or it might find the other's new value.
            Stage(following, apart=following >> 1 <= self._num_fluents),
        ]
        laid = lay_out(circuit, [*(1 + matter).tolist(), *moves.tolist()], stages)
        looking, judging, acting = laid.tapes
        seen, judged, after = laid.wires
        row_of = np.full(self._num_fluents, -1, dtype=np.int32)
        row_of[matter] = np.arange(1, 1 + len(matter))
        values = [number_or_nan(name) for outputs in circuit.goals for name in outputs.names]
        # Moves of a role are worked on in groups. What fills the last one up is never legal.
        num_moves = np.diff(self.role_moves)
        role_moves = np.concatenate([[0], np.cumsum(-(-num_moves // GROUP) * GROUP)])
        place = np.arange(len(moves)) + np.repeat(role_moves[:-1] - self.role_moves[:-1], num_moves)
        legal = Wires(
            np.zeros(role_moves[-1], dtype=np.int32), np.zeros(role_moves[-1], dtype=np.uint64)
        )
        legal.rows[place], legal.inverted[place] = seen.rows[1:], seen.inverted[1:]
        move_rows = np.full(role_moves[-1], laid.num_rows, dtype=np.int32)
        move_rows[place] = np.arange(1 + len(matter), 1 + len(matter) + len(moves))
        return PlayoutPlan(
            look=looking,
            act=acting,
            judge=judging,
            num_rows=laid.num_rows + 1,
            row_of=row_of,
            matter=pack(row_of >= 0),
            state_rows=row_of[matter],
            next=after,
            terminal=Wires(seen.rows[:1], seen.inverted[:1]),
            role_moves=role_moves.astype(np.int32),
            legal=legal,
            move_rows=move_rows,
            role_goals=_ends(circuit.goals),
            goals=judged,
            goal_values=np.nan_to_num(np.array(values, dtype=np.float64), nan=NO_NUMBER),
            turns=max(1, sum(role != RANDOM for role in circuit.roles)),
        )


def _ends(groups: tuple[Outputs, ...]) -> I32:
    return np.cumsum([0, *(len(outputs.names) for outputs in groups)]).astype(np.int32)


def _fluents_that_matter(circuit: Circuit, targets: Literals) -> NDArray[np.int64]:
    """The fluents that some literals depend on, in this state or through later ones."""
    reached = cone(circuit, targets, through_time=True)
    return np.flatnonzero(reached[1 : 1 + len(circuit.fluents)])
