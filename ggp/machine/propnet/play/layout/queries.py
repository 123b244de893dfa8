"""The queries of a machine: groups of a circuit's literals, laid out as tapes when first needed.

In comes a `Circuit`, out go `Query`s and the `PlayoutPlan` for kernels. A query needs only the cone
of its literals: the legal moves of a role do not depend on the gates of percepts. So `legal`,
`terminal`, `goals` and `step` have a tape and rows each. Random playouts, which alternate between
several cones, have one set of rows for all of them (see `playout_plan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.program import RANDOM
from ggp.machine.arrays import offsets_of, pack, pack_rows, words_for
from ggp.machine.base import IntArray
from ggp.machine.circuit import FALSE, Circuit, Literals, cone
from ggp.machine.goal_values import NO_NUMBER, number_or_nan
from ggp.machine.propnet.play.kernels.blocks import PlayoutPlan
from ggp.machine.propnet.play.kernels.choice import GROUP, SPARSE, Groups
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Query, Tape, Wires
from ggp.machine.propnet.play.layout.phases import MIN_LITERALS, phases_of, within_phase
from ggp.machine.propnet.play.layout.tape_layout import Laid, Stage, lay_out
from ggp.machine.threads import made_once

DECIDING = 32
"""A fluent is deciding if more than one gate in so many reads it."""

MAX_DECIDING = 4
"""Greatest number of deciding fluents."""


class Queries:
    """The queries about one circuit.

    Attributes:
        role_moves: `[R + 1]` index of the first move of each of its roles, and the end.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self._legal: dict[int, Query] = {}
        self._num_fluents = len(circuit.fluents)
        ends = np.cumsum([0, *(len(outputs.names) for outputs in circuit.legal)])
        self.role_moves = ends.astype(np.int32)

    def legal(self, role: int) -> Query:
        """The legal moves of a role in one group, `terminal` in the next."""
        query = self._legal.get(role)
        if query is None:
            outputs = self.circuit.legal[role].literals
            query = self._legal.setdefault(role, self._query([outputs, self._terminal]))
        return query

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
        """The legal moves of each role, a group each, then one group with `terminal`."""
        return self._query([*self._of_roles, self._terminal])

    @made_once
    def goals(self) -> Query:
        """A group of goal values for each role."""
        return self._query([outputs.literals for outputs in self.circuit.goals])

    @made_once
    def step(self) -> Query:
        """The next state, then a group of percepts for each role.

        Moves have the rows from `first_move_row` on, role after role.
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
        most = np.argsort(-read, kind="stable")[:MAX_DECIDING]
        return np.sort(most[DECIDING * read[most] > circuit.num_gates])

    def in_phase(self, holding: NDArray[np.bool_]) -> Queries:
        """The queries about a smaller circuit, valid while exactly these of the `deciding` fluents
        hold and only legal moves are made."""
        return Queries(within_phase(self.circuit, self.deciding, holding))

    @property
    def first_move_row(self) -> int:
        """Row of the first move of the first role in `step`."""
        return 1 + self._num_fluents

    @property
    def _of_roles(self) -> list[Literals]:
        return [outputs.literals for outputs in self.circuit.legal]

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
        """Lay out every query, so that no later call waits for that.

        Raises:
            IndexError, KeyError, ValueError: the circuit is not one of a game with these roles.
        """
        for role in range(len(self.circuit.roles)):
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
    """Groups of literals, laid out to be evaluated together.

    Args:
        moves: whether the literals may depend on moves. Moves then have rows after those of the
            fluents, in the order of the circuit.
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


# ------------------------------------------------------------------------
# Lays out the tapes of random playouts.
#
# All stages share one set of rows, from the first step to the last:
#
#     look    terminal and legal moves             each step
#     judge   goals, from gates of `look`          when enough lanes have ended; in games with
#                                                  phases from the state alone, after `act`
#     act     the next state, from gates of `look` and the moves just made     each step
#
# A fluent has a row only if `look` or `judge` depends on it, now or in a later state: others, such
# as a memory of what a player saw, are read by `sees` rules alone. `look` and `act` come in several
# variants: one for any state, and one for each phase of a game (see `phases`).

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

_LOOK, _JUDGE, _ACT = range(3)
"""The stages of a circuit that is laid out, in their order."""


def playout_plan(circuit: Circuit) -> PlayoutPlan:
    """The plan of random playouts, with only the fluents that decide moves, ends and goals."""
    num_fluents = len(circuit.fluents)
    goals = np.concatenate([outputs.literals for outputs in circuit.goals])
    look = np.concatenate([[circuit.terminal], *(o.literals for o in circuit.legal), goals])
    phases = phases_of(circuit)
    # The fluents that literals depend on, in this state or through later ones, and the fluents that
    # identify the phase: perhaps nothing but percepts depends on these.
    roots = np.concatenate([look, 2 * (1 + phases.fluents)])
    reached = cone(circuit, roots.astype(np.int32), through_time=True)
    matter = np.flatnonzero(reached[1 : 1 + num_fluents])
    row_of = np.full(num_fluents, -1, dtype=np.int32)
    row_of[matter] = np.arange(1, 1 + len(matter))
    whole = _Variant.of(circuit, matter, None if phases.circuits else goals, every_move=True)
    smaller = [_Variant.of(phase, matter, None, every_move=False) for phase in phases.circuits]
    variants = [whole, *smaller]
    laid = [variant.laid for variant in variants]
    judge, goal_wires, num_rows = laid[0].tapes[_JUDGE], laid[0].wires[_JUDGE], laid[0].num_rows
    if smaller:
        # A phase's `look` does not evaluate all gates that goals need.
        judging = lay_out(circuit, whole.inputs, [Stage(goals)])
        judge, goal_wires, num_rows = judging.tapes[0], judging.wires[0], judging.num_rows
    num_rows = max(num_rows, *(layout.num_rows for layout in laid))
    move_rows = np.concatenate([variant.move_rows for variant in variants])
    move_rows[move_rows < 0] = num_rows
    legal = _together([variant.legal for variant in variants])
    always = _always_counted([variant.role_moves for variant in variants], move_rows, num_rows)
    values = [number_or_nan(name) for outputs in circuit.goals for name in outputs.names]
    ends = np.cumsum([0, *(int(variant.role_moves[-1]) for variant in variants)])
    return PlayoutPlan(
        look=_joined([layout.tapes[_LOOK] for layout in laid]),
        act=_joined([layout.tapes[_ACT] for layout in laid]),
        judge=judge,
        num_rows=num_rows + 1,
        row_of=row_of,
        matter=pack(row_of >= 0),
        state_rows=row_of[matter],
        excluded=_excluded_values(phases.possible, row_of >= 0),
        phase_rows=row_of[phases.fluents],
        # In this order, or playouts would be compiled for each order of its columns.
        phases=np.ascontiguousarray(np.where(phases.values, _ALL, np.uint64(0))),
        changed=np.concatenate([row_of[matter][variant.changed] for variant in variants]),
        change_ends=offsets_of(np.array([len(variant.changed) for variant in variants])),
        next=_together([variant.next for variant in variants]),
        terminal=_together([variant.terminal for variant in variants]),
        role_moves=np.stack(
            [variant.role_moves + end for variant, end in zip(variants, ends, strict=False)]
        ),
        legal=legal,
        move_rows=move_rows,
        always=always,
        role_goals=np.cumsum([0, *(len(o.names) for o in circuit.goals)]).astype(np.int32),
        goals=goal_wires,
        goal_values=np.nan_to_num(np.array(values, dtype=np.float64), nan=NO_NUMBER),
        turns=max(1, sum(role != RANDOM for role in circuit.roles)),
    )


class _Variant(NamedTuple):
    """One circuit of playouts, laid out, with wires as in `PlayoutPlan`.

    `inputs` are the nets that have the first rows. `move_rows` is -1 for fillers, and `changed`
    holds indices among the fluents that matter.
    """

    inputs: Sequence[int]
    laid: Laid
    changed: NDArray[np.int64]
    next: Wires
    terminal: Wires
    role_moves: NDArray[np.int64]
    legal: Wires
    move_rows: I32

    @classmethod
    def of(
        cls,
        circuit: Circuit,
        matter: NDArray[np.int64],
        goals: Literals | None,
        *,
        every_move: bool,
    ) -> _Variant:
        """Lay a circuit out.

        Args:
            matter: fluents that have rows.
            goals: literals to judge by, None for none.
            every_move: whether to list moves that can never be legal, too.
        """
        first_move = 1 + len(circuit.fluents)
        legal_literals = np.concatenate([outputs.literals for outputs in circuit.legal])
        role_of = np.repeat(
            np.arange(len(circuit.legal)), [len(outputs.names) for outputs in circuit.legal]
        )
        possible = np.flatnonzero((legal_literals != FALSE) | every_move)
        # In a phase, many fluents stay as they are.
        changed = np.flatnonzero(circuit.next[matter] != 2 * (1 + matter))
        following = circuit.next[matter][changed]
        net = following >> 1
        stages = [
            Stage(np.concatenate([[circuit.terminal], legal_literals[possible]]).astype(np.int32)),
            # Goals are judged only now and then, so moving on must not rely on gates of `judge`.
            Stage(legal_literals[:0] if goals is None else goals, optional=True),
            # A value that a fluent takes over from another one is copied first, or it might be the
            # other's new value.
            Stage(following, into=1 + matter[changed], copied=(net > 0) & (net < first_move)),
        ]
        inputs = [*(1 + matter).tolist(), *range(first_move, first_move + len(legal_literals))]
        laid = lay_out(circuit, inputs, stages)
        look, act = laid.wires[_LOOK], laid.wires[_ACT]
        copied = np.flatnonzero(~laid.straight[_ACT])
        # Kernels work on groups of moves. Each role's last group is filled up with moves that are
        # never legal.
        counts = np.bincount(role_of[possible], minlength=len(circuit.legal))
        role_moves = np.concatenate([[0], np.cumsum(-(-counts // GROUP) * GROUP)])
        indices = np.arange(len(possible)) + np.repeat(
            role_moves[:-1] - np.cumsum(counts) + counts, counts
        )
        legal = Wires(
            np.zeros(role_moves[-1], dtype=np.int32), np.zeros(role_moves[-1], dtype=np.uint64)
        )
        legal.rows[indices], legal.inverted[indices] = look.rows[1:], look.inverted[1:]
        move_rows = np.full(role_moves[-1], -1, dtype=np.int32)
        move_rows[indices] = 1 + len(matter) + possible
        return cls(
            inputs,
            laid,
            changed[copied],
            Wires(act.rows[copied], act.inverted[copied]),
            Wires(look.rows[:1], look.inverted[:1]),
            role_moves,
            legal,
            move_rows,
        )


def _excluded_values(possible: NDArray[np.bool_], matter: NDArray[np.bool_]) -> U64:
    """The value of `PlayoutPlan.excluded`: fluents that cannot hold, and that cannot be false."""
    steps, _, num_fluents = possible.shape
    outside = (~possible[:, ::-1] & matter).reshape(2 * steps, num_fluents)
    return pack_rows(outside).reshape(steps, 2, words_for(num_fluents))


def _always_counted(role_moves: Sequence[NDArray[np.int64]], move_rows: I32, unread: int) -> Groups:
    """The value of `PlayoutPlan.always`.

    Args:
        role_moves: for each variant, where the moves of each role begin.
        move_rows: the rows of all variants.
        unread: the row of fillers.
    """
    sizes = np.concatenate([np.diff(bounds) for bounds in role_moves])
    always = np.repeat(sizes < SPARSE, sizes)
    in_phases = move_rows[role_moves[0][-1] :]
    shared = np.bincount(in_phases, minlength=unread + 1) > 1
    shared[unread] = False
    always[role_moves[0][-1] :] |= shared[in_phases]
    return np.asarray(always.reshape(-1, GROUP).any(axis=1), dtype=np.uint8)


def _joined(tapes: Sequence[Tape]) -> Tape:
    """One tape with the parts of several."""
    segments, parts = [], []
    num_segments = num_gates = num_inputs = 0
    for tape in tapes:
        segments.append(tape.segments + np.array([num_gates] * 2 + [0] * 7))
        parts.append(tape.parts + np.array([num_segments, num_segments, num_inputs]))
        num_segments += len(tape.segments)
        num_gates += len(tape.outputs)
        num_inputs += len(tape.inputs)
    return Tape(
        np.concatenate(segments),
        np.concatenate(parts),
        *(np.concatenate([tape[field] for tape in tapes]) for field in range(2, len(Tape._fields))),
    )


def _together(wires: Sequence[Wires]) -> Wires:
    return Wires(
        np.concatenate([wire_set.rows for wire_set in wires]),
        np.concatenate([wire_set.inverted for wire_set in wires]),
    )
