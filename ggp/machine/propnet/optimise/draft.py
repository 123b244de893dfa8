"""A circuit while a pass changes it: gates as lists, and the assembly of the changed circuit.

A pass makes a `Draft` of a circuit, changes gates or replaces nets, and calls `finish`, which emits
the gates that outputs need in topological order, constant-folded, and equal ones shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from ggp.machine.circuit import FALSE, TRUE, Circuit, Loop, Outputs, gates_of
from ggp.machine.propnet.compile.gates import Builder, Gate

UNMADE = -1
"""Stands for the literal of a net that has none yet."""

GATE_COST = 1.5
"""Cost of evaluating a gate besides its literals, each of which costs 1."""


class Draft:
    """The gates of a circuit as lists, for one pass to change and `finish`.

    A pass may replace the literals of any gate outside loops, add gates, and replace nets by
    literals (`becomes`), as long as no gate comes to depend on itself.

    Attributes:
        circuit: the original circuit.
        first_net: net of the first gate.
        gates: literals of each gate; only gates outside loops may be changed.
        becomes: literals that replace nets. A fluent that becomes constant is dropped, and so is a
            move that becomes false.
        roots: literals of all outputs: `next`, `terminal`, then each of `legal`, `sees`
            and `goals` role after role.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.first_net = 1 + circuit.num_inputs
        self.gates: list[Gate] = gates_of(circuit)
        self.becomes: dict[int, int] = {}
        self.roots = roots_of(circuit)
        self._changed = False
        self._loops = {
            self.first_net + gate: loop
            for loop in circuit.loops
            for gate in range(loop.start, loop.end)
        }

    def in_loop(self, net: int) -> bool:
        """Whether a gate is in a loop, and must not be changed."""
        return net in self._loops

    def loop_of(self, net: int) -> Loop | None:
        """The loop that a gate is in."""
        return self._loops.get(net)

    def free_gates(self) -> Iterable[int]:
        """The nets of all gates that may be changed, in order."""
        nets = range(self.first_net, self.first_net + len(self.gates))
        return [net for net in nets if net not in self._loops] if self._loops else nets

    def gate(self, net: int) -> Gate | None:
        """The literals of a net that is a gate outside loops; None for others."""
        if net < self.first_net or net in self._loops:
            return None
        return self.gates[net - self.first_net]

    def change(self, net: int, literals: Sequence[int]) -> None:
        """Replace the literals of a gate; they need not be distinct, and may be one or none."""
        gate = tuple(literals)
        if gate != self.gates[net - self.first_net]:
            self.gates[net - self.first_net] = gate
            self._changed = True

    def add(self, literals: Sequence[int]) -> int:
        """Add a gate; returns its literal."""
        self.gates.append(tuple(literals))
        return 2 * (self.first_net + len(self.gates) - 1)

    def fan_out(self) -> list[int]:
        """Number of uses of each net by gates and outputs."""
        literals = np.fromiter(chain(chain.from_iterable(self.gates), self.roots), dtype=np.int64)
        counts = np.bincount(literals >> 1, minlength=self.first_net + len(self.gates))
        uses: list[int] = counts.tolist()
        return uses

    def finish(self) -> Circuit:
        """The changed circuit: folded, equal gates shared, in order, without unused gates."""
        if not self._changed and not self.becomes:
            return self.circuit
        return _Assembly(self).circuit()


class _Assembly:
    """Assembles the circuit of a draft."""

    def __init__(self, draft: Draft) -> None:
        circuit = draft.circuit
        self._draft = draft
        self._old = circuit
        self._of = [UNMADE] * (draft.first_net + len(draft.gates))
        self._of[0] = FALSE
        self._opened: set[int] = set()
        becomes = draft.becomes
        num_fluents = len(circuit.fluents)
        fluents = range(1, 1 + num_fluents)
        self._fluents = [i - 1 for i in fluents if becomes.get(i) not in (FALSE, TRUE)]
        self._moves: list[list[int]] = []
        inputs = [1 + i for i in self._fluents]
        first = 1 + num_fluents
        for outputs in circuit.legal:
            nets = range(first, first + len(outputs.names))
            self._moves.append([net - first for net in nets if becomes.get(net) != FALSE])
            inputs += [first + index for index in self._moves[-1]]
            first += len(outputs.names)
        self._builder = Builder(len(inputs))
        literals = {net: 2 * index for index, net in enumerate(inputs, 1)}
        for net in range(1, draft.first_net):
            if net not in becomes:
                self._of[net] = literals[net]

    def circuit(self) -> Circuit:
        old = self._old
        for root in self._draft.roots:
            self._emit(root >> 1)
        roots = [self._literal(root) for root in self._draft.roots]
        num_fluents = len(old.fluents)
        ends = np.cumsum([num_fluents, 1] + [len(o.names) for o in _outputs(old)]).tolist()
        groups = [roots[start:end] for start, end in pairwise(ends[1:])]
        next_literals = [roots[i] for i in self._fluents]
        names = [list(outputs.names) for outputs in _outputs(old)]
        for index, literals in enumerate(groups):
            if index < len(old.roles):
                indices = self._moves[index]
            else:
                indices = [i for i, literal in enumerate(literals) if literal != FALSE]
            names[index] = [names[index][i] for i in indices]
            groups[index] = [literals[i] for i in indices]
        terminal = roots[num_fluents]
        gates = self._builder.gates_for([*next_literals, terminal, *(x for g in groups for x in g)])
        net_of = np.array(gates.net_of, dtype=np.int32)

        def moved(literals: list[int]) -> NDArray[np.int32]:
            array = np.array(literals, dtype=np.int32)
            moved_literals: NDArray[np.int32] = 2 * net_of[array >> 1] + (array & 1)
            return moved_literals

        output_groups = [Outputs(tuple(n), moved(g)) for n, g in zip(names, groups, strict=True)]
        num_roles = len(old.roles)
        always = [
            old.fluents[net - 1]
            for net, literal in self._draft.becomes.items()
            if net <= num_fluents and literal == TRUE
        ]
        return replace(
            old,
            fluents=tuple(old.fluents[i] for i in self._fluents),
            initial=old.initial[self._fluents],
            constant=tuple(sorted((*old.constant, *always))),
            offsets=gates.offsets,
            literals=gates.literals,
            loops=gates.loops,
            next=moved(next_literals),
            legal=tuple(output_groups[:num_roles]),
            sees=tuple(output_groups[num_roles : 2 * num_roles]),
            goals=tuple(output_groups[2 * num_roles :]),
            terminal=int(moved([terminal])[0]),
        )

    def _literal(self, literal: int) -> int:
        """The new literal of an old one whose net has been emitted."""
        return self._of[literal >> 1] ^ (literal & 1)

    def _emit(self, root: int) -> None:
        """Emit a net and all nets that it depends on, by depth-first search without recursion."""
        draft, new, opened = self._draft, self._of, self._opened
        becomes, gates, first_net = draft.becomes, draft.gates, draft.first_net
        pending = [root]
        while pending:
            net = pending[-1]
            if new[net] != UNMADE:
                pending.pop()
                continue
            loop = draft.loop_of(net)
            if net in becomes:
                literals: Sequence[int] = (becomes[net],)
            elif loop is None:
                literals = gates[net - first_net]
            else:
                literals = self._outside(loop)
            missing = [literal >> 1 for literal in literals if new[literal >> 1] == UNMADE]
            if missing:
                if net in opened:
                    raise ValueError(f"net {net} depends on itself")
                opened.add(net)
                pending += missing
                continue
            pending.pop()
            if net in becomes:
                new[net] = self._literal(becomes[net])
            elif loop is None:
                new[net] = self._builder.all_of([new[x >> 1] ^ (x & 1) for x in literals])
            else:
                self._make_loop(loop)

    def _outside(self, loop: Loop) -> list[int]:
        """The literals that enter a loop from outside."""
        start, end = self._draft.first_net + loop.start, self._draft.first_net + loop.end
        return [
            literal
            for gate in self._draft.gates[loop.start : loop.end]
            for literal in gate
            if not start <= literal >> 1 < end
        ]

    def _make_loop(self, loop: Loop) -> None:
        start = self._draft.first_net + loop.start
        size = loop.end - loop.start

        def renamed(literal: int) -> int:
            index = (literal >> 1) - start
            if 0 <= index < size:
                return -2 * (1 + index) + (literal & 1)
            return self._literal(literal)

        loop_literals = self._builder.least_fixpoint(
            {
                -1 - index: [renamed(literal) for literal in gate]
                for index, gate in enumerate(self._draft.gates[loop.start : loop.end])
            },
            {-1 - index: bool(value) for index, value in enumerate(loop.initial)},
        )
        for net, literal in loop_literals.items():
            self._of[start - 1 - net] = literal


def roots_of(circuit: Circuit) -> list[int]:
    """Literals of all outputs: `next`, `terminal`, then `legal`, `sees` and `goals` by role."""
    literals = [int(x) for x in circuit.next]
    literals.append(circuit.terminal)
    for outputs in _outputs(circuit):
        literals += outputs.literals.tolist()
    return literals


def _outputs(circuit: Circuit) -> tuple[Outputs, ...]:
    return (*circuit.legal, *circuit.sees, *circuit.goals)
