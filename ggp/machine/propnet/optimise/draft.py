"""A circuit while a pass changes it."""

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
# Kernels of passes over large circuits: `_Assembly` and `factoring` use them.

UNMADE = -1
"""In place of the literal of a net that has none yet."""

GATES, LITERALS, CIRCLE = range(3)
"""The counts of `emit`: gates and literals that were made; and a net that depends on itself."""

I64 = NDArray[np.int64]

_OPENED = -2
"""In `of`, marks a net whose inputs are being made."""


@kernel
def emit(  # noqa: C901
    offsets: I64,
    literals: Literals,
    becomes: Literals,
    of: Literals,
    roots: I64,
    first_made: int,
    stack: I64,
    gate: Literals,
    table: Literals,
    made_offsets: I64,
    made: Literals,
    counts: I64,
) -> None:
    """Make some nets and all that they depend on.

    Args:
        stack: room for every literal and net once.
        gate: room for the literals of the widest gate.
        table: gates made, by digest; its size is twice the greatest number of them, a power of 2.
        made_offsets: offsets of the gates that are made.
        made: their literals.
        counts: the counts, see `GATES`; written.
    """
    first = len(of) - (len(offsets) - 1)
    mask = len(table) - 1
    num_made = 0
    for root in roots:
        top = 0
        stack[0] = root
        while top >= 0:
            net = stack[top]
            if of[net] >= 0:
                top -= 1
                continue
            if becomes[net] >= 0:
                inner = becomes[net] >> 1
                if of[inner] < 0:
                    if of[net] == _OPENED:
                        counts[CIRCLE] = net
                        return
                    of[net] = _OPENED
                    top += 1
                    stack[top] = inner
                    continue
                of[net] = of[inner] ^ (becomes[net] & 1)
                top -= 1
                continue
            start, end = offsets[net - first], offsets[net - first + 1]
            below = top
            for place in range(start, end):
                inner = literals[place] >> 1
                if of[inner] < 0:
                    top += 1
                    stack[top] = inner
            if top > below:
                if of[net] == _OPENED:
                    counts[CIRCLE] = net
                    return
                of[net] = _OPENED
                continue
            top -= 1
            size = 0
            for place in range(start, end):
                gate[size] = of[literals[place] >> 1] ^ (literals[place] & 1)
                size += 1
            size, known = _folded(gate, size)
            if known >= 0:
                of[net] = known
                continue
            slot = _digest(gate, size) & mask
            while table[slot] >= 0 and not _equal(gate, size, made_offsets, made, table[slot]):
                slot = (slot + 1) & mask
            if table[slot] < 0:
                table[slot] = num_made
                begin = made_offsets[num_made]
                for place in range(size):
                    made[begin + place] = gate[place]
                num_made += 1
                made_offsets[num_made] = begin + size
            of[net] = 2 * (first_made + table[slot])
    counts[GATES] = num_made
    counts[LITERALS] = made_offsets[num_made]


@inlined
def _folded(gate: Literals, size: int) -> tuple[int, int]:
    """Number of literals left of a gate, sorted, and the literal it is equal to, or `UNMADE`."""
    # Shell sort; by insertion if there are few.
    step = 1
    while 3 * step < size:
        step = 3 * step + 1
    while step > 0:
        for place in range(step, size):
            literal = gate[place]
            before = place
            while before >= step and gate[before - step] > literal:
                gate[before] = gate[before - step]
                before -= step
            gate[before] = literal
        step //= 3
    left = 0
    for place in range(size):
        literal = gate[place]
        if literal != TRUE and (left == 0 or gate[left - 1] != literal):
            gate[left] = literal
            left += 1
    if left == 0:
        return 0, TRUE
    if left == 1:
        return 1, gate[0]
    if gate[0] == FALSE:
        return left, FALSE
    # Ascending: the two literals of a net are neighbours.
    for place in range(1, left):
        if gate[place - 1] ^ 1 == gate[place]:
            return left, FALSE
    return left, UNMADE


@inlined
def _digest(gate: Literals, size: int) -> int:
    digest = np.uint64(size)
    for place in range(size):
        digest = mixed_by(GOLDEN, digest, np.uint64(gate[place]))
    return int(np.int64(digest >> np.uint64(1)))


@inlined
def _equal(gate: Literals, size: int, made_offsets: I64, made: Literals, other: int) -> bool:
    begin = made_offsets[other]
    if made_offsets[other + 1] - begin != size:
        return False
    equal = 0
    while equal < size and made[begin + equal] == gate[equal]:
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
    """Find gates whose inner gates share a literal, or one of which may, when split, equal another.

    Args:
        may_be_split: `[G]` whether each gate is such a gate; set here.
        holder: for each literal, the last gate that was found to have it in an inner gate.
    """
    for gate in range(len(may_be_split)):
        found = False
        for place in range(offsets[gate], offsets[gate + 1]):
            inner = (literals[place] >> 1) - first_net
            if not literals[place] & 1 or inner < 0:
                continue
            found = found or may_be_split[inner]
            for below in range(offsets[inner], offsets[inner + 1]):
                shared = literals[below]
                found = found or holder[shared] == gate
                holder[shared] = gate
            if found:
                break
        may_be_split[gate] = found


# ------------------------------------------------------------------------

GATE_COST = 1.5
"""Cost of evaluating a gate besides its literals, each of which costs 1."""


class Draft:
    """The gates of a circuit as lists, for one pass to change and `finish`.

    A pass may replace the literals of any gate outside loops, add gates that others then use,
    and set what nets become; anything is allowed that leaves no circle of gates.

    Attributes:
        circuit: the circuit it started from.
        first_net: net of the first gate.
        gates: literals of each gate; change those outside loops only.
        becomes: literals that take the place of nets. A fluent that becomes constant is
            dropped, and so is a move that becomes false.
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
        """Whether a gate is in a loop, and must be left as it is."""
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
        """Give a gate other literals, which need not be distinct; there may be one or none."""
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
        used = np.fromiter(chain(chain.from_iterable(self.gates), self.roots), dtype=np.int64)
        counts = np.bincount(used >> 1, minlength=self.first_net + len(self.gates))
        result: list[int] = counts.tolist()
        return result

    def finish(self) -> Circuit:
        """The changed circuit: folded, hashed, in order, and without unused gates."""
        if not self._changed and not self.becomes:
            return self.circuit
        return _Assembly(self).circuit()


class _Assembly:
    """Makes the circuit of a draft."""

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
        kept = [1 + i for i in self._fluents]
        first = 1 + num_fluents
        for outputs in circuit.legal:
            nets = range(first, first + len(outputs.names))
            self._moves.append([net - first for net in nets if becomes.get(net) != FALSE])
            kept += [first + place for place in self._moves[-1]]
            first += len(outputs.names)
        self._builder = Builder(len(kept))
        places = {net: 2 * place for place, net in enumerate(kept, 1)}
        for net in range(1, draft.first_net):
            if net not in becomes:
                self._of[net] = places[net]

    def circuit(self) -> Circuit:
        old = self._old
        needed = self._emitted_at_once() if suits_kernels(old) else self._emitted()
        roots = [self._literal(root) for root in self._draft.roots]
        num_fluents = len(old.fluents)
        ends = np.cumsum([num_fluents, 1] + [len(o.names) for o in _outputs(old)]).tolist()
        groups = [roots[start:end] for start, end in pairwise(ends[1:])]
        next_literals = [roots[i] for i in self._fluents]
        names = [list(outputs.names) for outputs in _outputs(old)]
        for place, literals in enumerate(groups):
            if place < len(old.roles):
                kept = self._moves[place]
            else:
                kept = [i for i, literal in enumerate(literals) if literal != FALSE]
            names[place] = [names[place][i] for i in kept]
            groups[place] = [literals[i] for i in kept]
        terminal = roots[num_fluents]
        gates = needed([*next_literals, terminal, *(x for g in groups for x in g)])
        net_of = np.array(gates.net_of, dtype=np.int32)

        def moved(literals: list[int]) -> NDArray[np.int32]:
            array = np.array(literals, dtype=np.int32)
            result: NDArray[np.int32] = 2 * net_of[array >> 1] + (array & 1)
            return result

        made = [Outputs(tuple(n), moved(g)) for n, g in zip(names, groups, strict=True)]
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
            legal=tuple(made[:num_roles]),
            sees=tuple(made[num_roles : 2 * num_roles]),
            goals=tuple(made[2 * num_roles :]),
            terminal=int(moved([terminal])[0]),
        )

    def _emitted(self) -> Callable[[Iterable[int]], Gates]:
        """Make all gates; returns a function that gives the gates which some new literals need."""
        for root in self._draft.roots:
            self._emit(root >> 1)
        return self._builder.needed

    def _emitted_at_once(self) -> Callable[[Iterable[int]], Gates]:
        """Do the same by a kernel."""
        draft, first_made = self._draft, self._builder.first_net
        of = np.array(self._of, dtype=np.int32)
        becomes = np.full(len(of), UNMADE, dtype=np.int32)
        becomes[list(draft.becomes)] = list(draft.becomes.values())
        offsets, literals = assemble(draft.gates, becomes, of, draft.roots, first_made)
        self._of = of.tolist()
        return partial(needed_gates, first_made, offsets, literals, ())

    def _literal(self, literal: int) -> int:
        """The new literal of an old one whose net has been made."""
        return self._of[literal >> 1] ^ (literal & 1)

    def _emit(self, root: int) -> None:
        """Make a net and all that it depends on."""
        draft, of, opened = self._draft, self._of, self._opened
        becomes, gates, first_net = draft.becomes, draft.gates, draft.first_net
        pending = [root]
        while pending:
            net = pending[-1]
            if of[net] != UNMADE:
                pending.pop()
                continue
            loop = draft.loop_of(net)
            if net in becomes:
                literals: Sequence[int] = (becomes[net],)
            elif loop is None:
                literals = gates[net - first_net]
            else:
                literals = self._outside(loop)
            missing = [literal >> 1 for literal in literals if of[literal >> 1] == UNMADE]
            if missing:
                if net in opened:
                    raise ValueError(f"net {net} depends on itself")
                opened.add(net)
                pending += missing
                continue
            pending.pop()
            if net in becomes:
                of[net] = self._literal(becomes[net])
            elif loop is None:
                of[net] = self._builder.all_of([of[x >> 1] ^ (x & 1) for x in literals])
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
            place = (literal >> 1) - start
            if 0 <= place < size:
                return -2 * (1 + place) + (literal & 1)
            return self._literal(literal)

        made = self._builder.least_fixpoint(
            {
                -1 - place: [renamed(literal) for literal in gate]
                for place, gate in enumerate(self._draft.gates[loop.start : loop.end])
            },
            {-1 - place: bool(value) for place, value in enumerate(loop.initial)},
        )
        for net, literal in made.items():
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
# Makes the gates of a changed circuit by a kernel, where `_Assembly` goes one by one.
#
# Nets are emitted depth first, each after all that it depends on, constant-folded, and found again
# if an equal gate was made before. The kernel does it with arrays alone, in the same order, so that
# it gives the same gates.

FOR_KERNELS = 100_000
"""Number of literals from which passes use kernels for a circuit: loading numba takes half a
second, in which a hundred thousand literals go through a few passes."""


def suits_kernels(circuit: Circuit) -> bool:
    """Whether passes process a circuit by kernels, which cannot handle loops."""
    return circuit.num_literals >= FOR_KERNELS and not circuit.loops


def assemble(
    gates: Sequence[Gate],
    becomes: Literals,
    of: Literals,
    roots: Sequence[int],
    first_made: int,
) -> tuple[I64, Literals]:
    """The gates that `roots` depend on, as offsets and literals.

    Args:
        gates: literals of each gate, which are the last nets.
        becomes: `[nets]` literals that take the place of nets, or `UNMADE`.
        of: `[nets]` literals of nets already made, or `UNMADE`; those made here are added.
        roots: literals.
        first_made: net of the first gate that is made.

    Raises:
        ValueError: a net depends on itself.
    """
    sizes = np.fromiter(map(len, gates), dtype=np.int64, count=len(gates))
    offsets = offsets_of(sizes)
    literals = np.fromiter(chain.from_iterable(gates), dtype=np.int32, count=int(offsets[-1]))
    made_offsets = np.zeros(len(gates) + 1, dtype=np.int64)
    made = np.empty(len(literals), dtype=np.int32)
    counts = np.full(3, UNMADE, dtype=np.int64)
    emit(
        offsets,
        literals,
        becomes,
        of,
        np.array(roots, dtype=np.int64) >> 1,
        first_made,
        np.empty(len(literals) + len(of) + 1, dtype=np.int64),
        np.empty(int(sizes.max(initial=1)), dtype=np.int32),
        np.full(1 << (2 * len(gates)).bit_length(), UNMADE, dtype=np.int32),
        made_offsets,
        made,
        counts,
    )
    if counts[CIRCLE] != UNMADE:
        raise ValueError(f"net {counts[CIRCLE]} depends on itself")
    return made_offsets[: counts[GATES] + 1].copy(), made[: counts[LITERALS]].copy()
