"""A circuit while a pass changes it: gates as lists, and the assembly of the changed circuit.

A pass makes a `Draft` of a circuit, changes gates or replaces nets, and calls `finish`, which emits
the gates that outputs need in topological order, constant-folded, and equal ones shared.
`_Assembly` does so in Python, and the kernel `emit` for large circuits; both give the same gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import offsets_of
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, Loop, Outputs, gates_of
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import GOLDEN, mixed_by
from ggp.machine.propnet.compile.gates import Builder, Gate, Gates, needed_gates

# ------------------------------------------------------------------------
# Kernels of passes over large circuits, for `_Assembly` and `passes.factor`.

UNMADE = -1
"""Stands for the literal of a net that has none yet."""

GATES, LITERALS, CIRCLE = range(3)
"""Indices of `counts` in `emit`: the gates and literals made, and a net that depends on itself."""

I64 = NDArray[np.int64]

_OPENED = -2
"""In `literal_of`, marks a net whose inputs are being emitted."""


@kernel
def emit(  # noqa: C901
    offsets: I64,
    literals: Literals,
    becomes: Literals,
    literal_of: Literals,
    roots: I64,
    first_gate: int,
    stack: I64,
    gate: Literals,
    table: Literals,
    new_offsets: I64,
    emitted: Literals,
    counts: I64,
) -> None:
    """Emit the gates that roots depend on, each after its inputs, folded, and equal ones once.

    A depth-first search without recursion: a net stays on the stack until all its inputs have
    literals. A net that comes up again with inputs missing, marked `_OPENED`, depends on itself.
    Equal gates are found in an open-addressing hash table; gates are compared literal by literal,
    so the digest only decides where the search begins.

    Args:
        offsets, literals, becomes, literal_of, roots, first_gate: see `assemble`; roots are nets.
        stack: room for every literal and net once.
        gate: room for the literals of the widest gate.
        table: indices of emitted gates, by digest; its size is a power of 2, at least twice their
            greatest number, so that some slots stay empty.
        new_offsets: offsets of the emitted gates, filled in.
        emitted: their literals, filled in.
        counts: filled in, see `GATES`.
    """
    first = len(literal_of) - (len(offsets) - 1)
    mask = len(table) - 1
    num_gates = 0
    for root in roots:
        top = 0
        stack[0] = root
        while top >= 0:
            net = stack[top]
            if literal_of[net] >= 0:
                top -= 1
                continue
            if becomes[net] >= 0:
                inner = becomes[net] >> 1
                if literal_of[inner] < 0:
                    if literal_of[net] == _OPENED:
                        counts[CIRCLE] = net
                        return
                    literal_of[net] = _OPENED
                    top += 1
                    stack[top] = inner
                    continue
                literal_of[net] = literal_of[inner] ^ (becomes[net] & 1)
                top -= 1
                continue
            start, end = offsets[net - first], offsets[net - first + 1]
            below = top
            for index in range(start, end):
                inner = literals[index] >> 1
                if literal_of[inner] < 0:
                    top += 1
                    stack[top] = inner
            if top > below:
                if literal_of[net] == _OPENED:
                    counts[CIRCLE] = net
                    return
                literal_of[net] = _OPENED
                continue
            top -= 1
            size = 0
            for index in range(start, end):
                gate[size] = literal_of[literals[index] >> 1] ^ (literals[index] & 1)
                size += 1
            size, equal_to = _folded(gate, size)
            if equal_to >= 0:
                literal_of[net] = equal_to
                continue
            slot = _digest(gate, size) & mask
            while table[slot] >= 0 and not _equal(gate, size, new_offsets, emitted, table[slot]):
                slot = (slot + 1) & mask
            if table[slot] < 0:
                table[slot] = num_gates
                begin = new_offsets[num_gates]
                for index in range(size):
                    emitted[begin + index] = gate[index]
                num_gates += 1
                new_offsets[num_gates] = begin + size
            literal_of[net] = 2 * (first_gate + table[slot])
    counts[GATES] = num_gates
    counts[LITERALS] = new_offsets[num_gates]


@inlined
def _folded(gate: Literals, size: int) -> tuple[int, int]:
    """Fold a gate, sorted: the number of its literals, and the literal it equals, or `UNMADE`."""
    # Shell sort, which is insertion sort for few literals.
    step = 1
    while 3 * step < size:
        step = 3 * step + 1
    while step > 0:
        for index in range(step, size):
            literal = gate[index]
            hole = index
            while hole >= step and gate[hole - step] > literal:
                gate[hole] = gate[hole - step]
                hole -= step
            gate[hole] = literal
        step //= 3
    size_left = 0
    for index in range(size):
        literal = gate[index]
        if literal != TRUE and (size_left == 0 or gate[size_left - 1] != literal):
            gate[size_left] = literal
            size_left += 1
    if size_left == 0:
        return 0, TRUE
    if size_left == 1:
        return 1, gate[0]
    if gate[0] == FALSE:
        return size_left, FALSE
    # Ascending: the two literals of a net are neighbours.
    for index in range(1, size_left):
        if gate[index - 1] ^ 1 == gate[index]:
            return size_left, FALSE
    return size_left, UNMADE


@inlined
def _digest(gate: Literals, size: int) -> int:
    digest = np.uint64(size)
    for index in range(size):
        digest = mixed_by(GOLDEN, digest, np.uint64(gate[index]))
    return int(np.int64(digest >> np.uint64(1)))


@inlined
def _equal(gate: Literals, size: int, new_offsets: I64, emitted: Literals, index: int) -> bool:
    begin = new_offsets[index]
    if new_offsets[index + 1] - begin != size:
        return False
    equal = 0
    while equal < size and emitted[begin + equal] == gate[equal]:
        equal += 1
    return equal == size


@kernel
def find_splittable(
    offsets: I64,
    literals: Literals,
    first_net: int,
    may_be_split: NDArray[np.bool_],
    holder: I64,
) -> None:
    """Find gates that `factor` may split: inner gates share a literal, or one may be split itself.

    Gates come in topological order, so the inner gates are decided first: one that may be split
    itself may then share literals that it does not have yet.

    Args:
        may_be_split: `[G]` whether each gate is such a gate; set here.
        holder: for each literal, the last gate with an inner gate that has it.
    """
    for gate in range(len(may_be_split)):
        is_splittable = False
        for index in range(offsets[gate], offsets[gate + 1]):
            inner = (literals[index] >> 1) - first_net
            if not literals[index] & 1 or inner < 0:
                continue
            is_splittable = is_splittable or may_be_split[inner]
            for below in range(offsets[inner], offsets[inner + 1]):
                shared = literals[below]
                is_splittable = is_splittable or holder[shared] == gate
                holder[shared] = gate
            if is_splittable:
                break
        may_be_split[gate] = is_splittable


# ------------------------------------------------------------------------

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
        gates_for = self._emitted_at_once() if suits_kernels(old) else self._emitted()
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
        gates = gates_for([*next_literals, terminal, *(x for g in groups for x in g)])
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

    def _emitted(self) -> Callable[[Iterable[int]], Gates]:
        """Emit all gates; returns a function from new literals to the gates that they need."""
        for root in self._draft.roots:
            self._emit(root >> 1)
        return self._builder.gates_for

    def _emitted_at_once(self) -> Callable[[Iterable[int]], Gates]:
        """The same as `_emitted`, by a kernel."""
        draft, first_gate = self._draft, self._builder.first_net
        literal_of = np.array(self._of, dtype=np.int32)
        becomes = np.full(len(literal_of), UNMADE, dtype=np.int32)
        becomes[list(draft.becomes)] = list(draft.becomes.values())
        offsets, literals = assemble(draft.gates, becomes, literal_of, draft.roots, first_gate)
        self._of = literal_of.tolist()
        return partial(needed_gates, first_gate, offsets, literals, ())

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


# ------------------------------------------------------------------------
# Emits the gates of a large circuit by a kernel.
#
# The kernel uses arrays alone, but emits nets in the same order as `_Assembly._emit`, so that it
# gives the same gates.

FOR_KERNELS = 100_000
"""Passes use kernels for circuits of at least this many literals: loading numba takes half a
second, in which smaller circuits pass through several passes."""


def suits_kernels(circuit: Circuit) -> bool:
    """Whether passes process a circuit by kernels, which cannot handle loops."""
    return circuit.num_literals >= FOR_KERNELS and not circuit.loops


def assemble(
    gates: Sequence[Gate],
    becomes: Literals,
    literal_of: Literals,
    roots: Sequence[int],
    first_gate: int,
) -> tuple[I64, Literals]:
    """The gates that `roots` depend on, as offsets and literals.

    Args:
        gates: literals of each gate, which are the last nets.
        becomes: `[nets]` literals that replace nets, or `UNMADE`.
        literal_of: `[nets]` new literals of nets, or `UNMADE`; filled in.
        roots: literals.
        first_gate: new net of the first gate.

    Raises:
        ValueError: a net depends on itself.
    """
    sizes = np.fromiter(map(len, gates), dtype=np.int64, count=len(gates))
    offsets = offsets_of(sizes)
    literals = np.fromiter(chain.from_iterable(gates), dtype=np.int32, count=int(offsets[-1]))
    new_offsets = np.zeros(len(gates) + 1, dtype=np.int64)
    emitted = np.empty(len(literals), dtype=np.int32)
    counts = np.full(3, UNMADE, dtype=np.int64)
    emit(
        offsets,
        literals,
        becomes,
        literal_of,
        np.array(roots, dtype=np.int64) >> 1,
        first_gate,
        np.empty(len(literals) + len(literal_of) + 1, dtype=np.int64),
        np.empty(int(sizes.max(initial=1)), dtype=np.int32),
        np.full(1 << (2 * len(gates)).bit_length(), UNMADE, dtype=np.int32),
        new_offsets,
        emitted,
        counts,
    )
    if counts[CIRCLE] != UNMADE:
        raise ValueError(f"net {counts[CIRCLE]} depends on itself")
    return new_offsets[: counts[GATES] + 1].copy(), emitted[: counts[LITERALS]].copy()
