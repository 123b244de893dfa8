"""Turns ground rules into a circuit: each rule is an AND, each atom the OR of its rules.

It turns a `GroundProgram` into a `Circuit`. Literal 2n is net n, and literal 2n + 1 its negation.
Gates are ANDs, so the OR of an atom is the negated AND of its negated rules. `RulesByAtom` orders
the atoms so that each comes after those it depends on; `Builder` makes the gates, and shares equal
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.analysis.dependencies import strong_components
from ggp.machine.arrays import distinct, first_seen, offsets_of, take_segments
from ggp.machine.base import IntArray
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, Loop, Outputs
from ggp.machine.propnet.compile.ground_rules.simplify import ALWAYS, GroundProgram, Named

_UNDEFINED = -1
"""Stands for the literal of an atom that has none yet."""


def build_circuit(program: GroundProgram) -> Circuit:
    """The circuit of a game: equal gates are shared, nothing else is optimised.

    A fluent missing from the circuit never holds, a missing move is never legal, and a missing
    percept or goal value never occurs.
    """
    next_atoms = dict(program.next)
    initial = frozenset(program.initial)
    fluents = [
        (name, atom)
        for name, atom in program.fluents
        if atom != ALWAYS and (name in initial or name in next_atoms)
    ]
    does = [dict(named) for named in program.does]
    moves: list[list[tuple[str, int | None]]] = [
        [(name, does[role].get(name)) for name, _ in legal]
        for role, legal in enumerate(program.legal)
    ]
    builder = Builder(len(fluents) + sum(map(len, moves)))
    literals = {ALWAYS: TRUE}
    inputs: list[int | None] = [atom for _, atom in fluents]
    inputs += [atom for role in moves for _, atom in role]
    for net, atom in enumerate(inputs, 1):
        if atom is not None:
            literals[atom] = 2 * net
    for named in program.does:
        for _, atom in named:
            literals.setdefault(atom, FALSE)
    defined = _define(program, literals, builder).tolist()

    def literal_of(atom: int | None) -> int:
        return FALSE if atom is None or atom >= len(defined) else int(defined[atom])

    next_literals = [literal_of(next_atoms.get(name)) for name, _ in fluents]
    terminal = literal_of(program.terminal)
    goals = []
    for named in program.goals:
        # If consecutive rules give the same value, this value counts once.
        runs = groupby(named, key=itemgetter(0))
        goals.append(
            [(name, builder.any_of([literal_of(atom) for _, atom in run])) for name, run in runs]
        )
    named_outputs = [*program.legal, *program.sees]
    roots = [*next_literals, terminal]
    roots += [literal_of(atom) for named in named_outputs for _, atom in named]
    roots += [literal for values in goals for _, literal in values]
    gates = builder.gates_for(roots)

    def renumbered(literal: int) -> int:
        return 2 * gates.net_of[literal >> 1] + (literal & 1)

    def outputs(named: Iterable[tuple[str, int]], *, keep_false: bool = False) -> Outputs:
        pairs = [(name, literal) for name, literal in named if keep_false or literal != FALSE]
        names = tuple(name for name, _ in pairs)
        return Outputs(names, np.array([renumbered(x) for _, x in pairs], dtype=np.int32))

    def literals_of(named: Named) -> list[tuple[str, int]]:
        return [(name, literal_of(atom)) for name, atom in named]

    return Circuit(
        roles=program.roles,
        fluents=tuple(name for name, _ in fluents),
        initial=np.array([name in initial for name, _ in fluents], dtype=np.bool_),
        constant=tuple(name for name, atom in program.fluents if atom == ALWAYS),
        offsets=gates.offsets,
        literals=gates.literals,
        loops=gates.loops,
        next=np.array([renumbered(literal) for literal in next_literals], dtype=np.int32),
        legal=tuple(outputs(literals_of(named), keep_false=True) for named in program.legal),
        sees=tuple(outputs(literals_of(named)) for named in program.sees),
        goals=tuple(map(outputs, goals)),
        terminal=renumbered(terminal),
    )


def _define(program: GroundProgram, known: Mapping[int, int], builder: Builder) -> Literals:
    """`[A]` literals of all atoms; adds their gates to `builder`. `known`: those set already."""
    parts = (program.heads, np.abs(program.conditions), np.array(list(known)))
    num_atoms = 1 + max(int(part.max()) for part in parts if len(part))
    literals = np.full(num_atoms, _UNDEFINED, dtype=np.int32)
    literals[list(known)] = list(known.values())
    rules = RulesByAtom(program, literals != _UNDEFINED)
    for atoms in rules.layers():
        num_rules, sizes, conditions = rules.of(atoms)
        bodies = builder.all_of_each(sizes, literals[np.abs(conditions)] ^ (conditions < 0))
        literals[atoms] = builder.all_of_each(num_rules, bodies ^ 1) ^ 1
    undefined = np.flatnonzero(literals == _UNDEFINED)
    if len(undefined):
        _define_rest(rules.bodies(undefined), literals, builder)
    return literals


def _define_rest(bodies: Bodies, literals: Literals, builder: Builder) -> None:
    """Set the `literals` of atoms in cycles of dependencies, and of atoms that depend on these."""
    conditions = {abs(c) for alternatives in bodies.values() for body in alternatives for c in body}
    literal_of = {atom: int(literals[atom]) for atom in conditions if atom not in bodies}
    edges = {
        atom: [abs(c) for body in alternatives for c in body if abs(c) in bodies]
        for atom, alternatives in bodies.items()
    }
    for component in strong_components(edges, 1 + max(bodies)):
        if component[0] not in bodies:
            continue
        if len(component) > 1:
            _define_together(sorted(component), bodies, literal_of, builder)
        else:
            ((atom,), alternatives) = component, bodies[component[0]]
            literal_of[atom] = builder.any_of(
                [builder.all_of(_literals(body, literal_of)) for body in alternatives]
            )
    literals[list(bodies)] = [literal_of[atom] for atom in bodies]


def _literals(body: list[int], literals: dict[int, int]) -> list[int]:
    return [literals[c] if c > 0 else literals[-c] ^ 1 for c in body]


def _define_together(
    atoms: list[int], bodies: Bodies, literals: dict[int, int], builder: Builder
) -> None:
    """Add atoms that depend on each other, as a loop whose initial values make all false."""
    # Each body is a gate, and an atom is `not all of (not body)`. So the gate of an atom is the
    # atom's negation, and starts as true. Gates have negative numbers: see `least_fixpoint`. They
    # are evaluated in that order, so what holds is passed on in the same round.
    literal_of, net_of, last = dict(literals), {}, 0
    for atom in _nearest_first(atoms, bodies):
        last -= len(bodies[atom]) + 1
        net_of[atom] = last
        literal_of[atom] = 2 * last + 1
    definitions: dict[int, list[int]] = {}
    for atom, net in net_of.items():
        nets = range(net + len(bodies[atom]), net, -1)
        for body_net, body in zip(nets, bodies[atom], strict=True):
            definitions[body_net] = _literals(body, literal_of)
        definitions[net] = [2 * body_net + 1 for body_net in nets]
    initial = dict.fromkeys(definitions, False) | dict.fromkeys(net_of.values(), True)
    gate_literals = builder.least_fixpoint(definitions, initial)
    literals.update((atom, gate_literals[net] ^ 1) for atom, net in net_of.items())


def _nearest_first(atoms: list[int], bodies: Bodies) -> list[int]:
    """Atoms that depend on each other, by the number of rules that lead to them from outside."""
    inside, readers = set(atoms), dict[int, list[int]]()
    for atom in atoms:
        for condition in {abs(c) for body in bodies[atom] for c in body} & inside:
            readers.setdefault(condition, []).append(atom)
    # Without a rule from outside no atom holds, and any order will do.
    order = [a for a in atoms if any(inside.isdisjoint(map(abs, body)) for body in bodies[a])]
    reached = set(order)
    for atom in order:
        new = [reader for reader in readers.get(atom, ()) if reader not in reached]
        reached.update(new)
        order += new
    return order + [atom for atom in atoms if atom not in reached]


# ------------------------------------------------------------------------
# Sorts atoms topologically, in layers, so that array operations define many at once.
#
# An atom belongs to the first layer if its rules have only known atoms as conditions, and to the
# layer after the last of its conditions otherwise. Even millions of rules form only a few layers.
# Atoms that depend on each other, and atoms that depend on these, are in no layer.

Bodies = dict[int, list[list[int]]]
"""The conditions of each rule of each atom."""


class RulesByAtom:
    """The rules of atoms with unknown literals, except rules that have their head as a condition.

    Args:
        program: ground rules.
        is_known: `[A]` whether the literal of each atom is known, so that its rules are ignored.
    """

    def __init__(self, program: GroundProgram, is_known: NDArray[np.bool_]) -> None:
        keep = ~is_known[program.heads]
        owners = np.repeat(np.arange(len(program.heads)), np.diff(program.offsets))
        keep[owners[program.conditions == program.heads[owners]]] = False
        rules = np.flatnonzero(keep)
        rules = rules[np.argsort(program.heads[rules], kind="stable")]
        self._is_known = is_known
        self._heads = program.heads[rules]
        self._offsets, indices = take_segments(program.offsets, rules)
        self._conditions = program.conditions[indices]
        self._starts = offsets_of(np.bincount(self._heads, minlength=len(is_known)))

    def layers(self) -> Iterator[IntArray]:
        """Layer by layer, the atoms that depend only on earlier layers, ascending."""
        readers = np.repeat(self._heads, np.diff(self._offsets))
        atoms = np.abs(self._conditions)
        unknown = ~self._is_known[atoms]
        readers, atoms = readers[unknown], atoms[unknown]
        missing = np.bincount(readers, minlength=len(self._is_known))
        readers = readers[np.argsort(atoms, kind="stable")]
        uses = offsets_of(np.bincount(atoms, minlength=len(self._is_known)))
        layer = np.flatnonzero((missing == 0) & ~self._is_known)
        while len(layer):
            yield layer
            waiting = readers[take_segments(uses, layer)[1]]
            np.subtract.at(missing, waiting, 1)
            layer = distinct(waiting[missing[waiting] == 0], len(missing))

    def of(self, atoms: IntArray) -> tuple[IntArray, IntArray, NDArray[np.int32]]:
        """How many rules each of K atoms has, the sizes of these rules, and their conditions."""
        starts, rules = take_segments(self._starts, atoms)
        ends, indices = take_segments(self._offsets, rules)
        return np.diff(starts), np.diff(ends), self._conditions[indices]

    def bodies(self, atoms: IntArray) -> Bodies:
        """The conditions of each rule of some atoms."""
        offsets, conditions = self._offsets.tolist(), self._conditions
        return {
            atom: [
                conditions[offsets[rule] : offsets[rule + 1]].tolist()
                for rule in range(self._starts[atom], self._starts[atom + 1])
            ]
            for atom in atoms.tolist()
        }


# ------------------------------------------------------------------------
# Makes gates: constants are folded, and equal gates are shared.

Gate = tuple[int, ...]
"""The literals of a gate, ascending."""


class Gates(NamedTuple):
    """The gates of a `Circuit`, and the new nets of a builder's gates.

    Attributes:
        offsets: as in `Circuit`.
        literals: as in `Circuit`.
        loops: as in `Circuit`.
        net_of: maps each net of the builder to its new net, or 0 if no root depends on it.
    """

    offsets: NDArray[np.int64]
    literals: Literals
    loops: tuple[Loop, ...]
    net_of: list[int]


MANY_GROUPS = 20_000
"""If more gates than this are added together, equal ones are found first, by a kernel."""


class Builder:
    """Gates on top of some inputs, in topological order.

    Outside loops, no gate has a constant, repeated or contradictory literal, or fewer than two
    literals, and no two gates are equal.

    >>> builder = Builder(num_inputs=2)
    >>> both = builder.all_of([2, 4])  # the literals of nets 1 and 2
    >>> builder.all_of([4, 2, TRUE]) == both, builder.all_of([2, 3]) == FALSE
    (True, True)

    Attributes:
        first_net: net of the first gate.
        gates: the literals of each gate.
        loops: gates that depend on each other.
    """

    def __init__(self, num_inputs: int) -> None:
        self.first_net = 1 + num_inputs
        self.gates: list[Gate] = []
        self.loops: list[Loop] = []
        self._nets: dict[Gate, int] = {}

    def all_of(self, literals: Iterable[int]) -> int:
        """The literal that holds where all of `literals` hold."""
        distinct = set(literals)
        distinct.discard(TRUE)
        if len(distinct) < 2:
            return distinct.pop() if distinct else TRUE
        if FALSE in distinct:
            return FALSE
        gate = tuple(sorted(distinct))
        net = self._nets.get(gate)
        if net is None:
            # The gate is sorted, so the two literals of a net are neighbours.
            for lower, upper in pairwise(gate):
                if lower ^ 1 == upper:
                    return FALSE
            net = self._append(gate)
            self._nets[gate] = net
        return 2 * net

    def all_of_each(self, sizes: IntArray, literals: Literals) -> Literals:
        """`[N]` literals, one for each group, which holds where all literals of the group hold.

        Args:
            sizes: `[N]` number of literals of each group.
            literals: the literals of all groups, one after the other.
        """
        offsets = offsets_of(sizes)
        # Where there are many, most are alike: for each, the first one with the same literals.
        first = np.arange(len(sizes))
        for size in np.unique(sizes[sizes > 0]).tolist() if len(sizes) > MANY_GROUPS else ():
            groups = np.flatnonzero(sizes == size)
            table = np.sort(literals[offsets[groups, None] + np.arange(size)], axis=1)
            firsts, numbers = first_seen(table.astype(np.int64))
            first[groups] = groups[firsts[numbers]]
        unique = np.flatnonzero(first == np.arange(len(sizes)))
        flat, bounds = literals.tolist(), offsets.tolist()
        gates = (self.all_of(flat[bounds[k] : bounds[k + 1]]) for k in unique.tolist())
        answers = np.empty(len(sizes), dtype=np.int32)
        answers[unique] = np.fromiter(gates, dtype=np.int32, count=len(unique))
        return answers[first]

    def any_of(self, literals: Iterable[int]) -> int:
        """The literal that holds where at least one of `literals` holds."""
        return self.all_of([literal ^ 1 for literal in literals]) ^ 1

    def least_fixpoint(
        self, definitions: Mapping[int, Sequence[int]], initial: Mapping[int, bool]
    ) -> dict[int, int]:
        """Add gates that may depend on each other.

        Args:
            definitions: the literals of each gate. The keys are the caller's negative numbers for
                the gates; -2n and -2n + 1 are the two literals of gate -n. Literals that are not
                negative belong to this builder.
            initial: initial value of each gate, from which iteration starts.

        Returns:
            The literal of this builder for each gate.
        """
        gates = {net: list(literals) for net, literals in definitions.items()}
        folded: dict[int, int] = {}
        _fold(gates, initial, folded)

        # Gate -1 is node 0, gate -2 node 1, and so on.
        edges = {
            -1 - net: [-1 - (literal >> 1) for literal in literals if literal < 0]
            for net, literals in gates.items()
        }
        for nodes in strong_components(edges, -min(definitions)):
            component = [-1 - node for node in sorted(nodes)]
            net = component[0]
            if net not in gates:
                continue
            if len(component) == 1 and nodes[0] not in edges[nodes[0]]:
                folded[net] = self.all_of([_resolve(literal, folded) for literal in gates[net]])
                continue
            start = len(self.gates)
            for index, net in enumerate(component):
                folded[net] = 2 * (self.first_net + start + index)
            for net in component:
                self._append(tuple(sorted({_resolve(literal, folded) for literal in gates[net]})))
            values = np.array([initial[net] for net in component], dtype=np.bool_)
            self.loops.append(Loop(start, len(self.gates), values))
        return {net: _resolve(2 * net, folded) for net in definitions}

    def gates_for(self, roots: Iterable[int]) -> Gates:
        """The gates that `roots` depend on, numbered without gaps."""
        sizes = np.fromiter(map(len, self.gates), dtype=np.int64, count=len(self.gates))
        offsets = offsets_of(sizes)
        flat = chain.from_iterable(self.gates)
        literals = np.fromiter(flat, dtype=np.int32, count=int(offsets[-1]))
        return needed_gates(self.first_net, offsets, literals, self.loops, roots)

    def _append(self, gate: Gate) -> int:
        self.gates.append(gate)
        return self.first_net + len(self.gates) - 1


def needed_gates(
    first: int, offsets: IntArray, literals: Literals, loops: Sequence[Loop], roots: Iterable[int]
) -> Gates:
    """The gates that `roots` depend on, numbered without gaps.

    Args:
        first: net of the first gate.
        offsets: `[G + 1]` of all gates, as in `Circuit`.
        literals: literals of all gates, as in `Circuit`.
        loops: loops of the gates, as in `Circuit`.
        roots: literals.
    """
    nets = np.fromiter(roots, dtype=np.int64) >> 1
    live = _live(first, nets, offsets, literals >> 1, loops)
    live_gates = np.flatnonzero(live[first:])
    net_of = np.zeros(len(live), dtype=np.int32)
    net_of[:first] = np.arange(first)
    net_of[first + live_gates] = first + np.arange(len(live_gates))
    live_offsets, indices = take_segments(offsets, live_gates)
    literals = literals[indices]
    return Gates(
        offsets=live_offsets,
        literals=2 * net_of[literals >> 1] + (literals & 1),
        loops=tuple(
            _moved(loop, int(net_of[first + loop.start]) - first)
            for loop in loops
            if live[first + loop.start]
        ),
        net_of=net_of.tolist(),
    )


def _live(
    first: int,
    roots: IntArray,
    offsets: IntArray,
    inputs: NDArray[np.int32],
    loops: Sequence[Loop],
) -> NDArray[np.bool_]:
    """`[nets]` whether `roots` depend on each net, directly or indirectly."""
    num_gates = len(offsets) - 1
    live = np.zeros(first + num_gates, dtype=np.bool_)
    loop_of = np.full(num_gates, -1, dtype=np.int64)
    for index, loop in enumerate(loops):
        loop_of[loop.start : loop.end] = index
    new = distinct(roots, len(live))
    while len(new):
        live[new] = True
        gates = new[new >= first] - first
        # If one gate of a loop is needed, all are.
        for index in np.unique(loop_of[gates]).tolist() if loops else ():
            if index >= 0:
                loop = loops[index]
                live[first + loop.start : first + loop.end] = True
                gates = np.union1d(gates, np.arange(loop.start, loop.end))
        input_nets = inputs[take_segments(offsets, gates)[1]]
        new = distinct(input_nets[~live[input_nets]], len(live))
    return live


def _moved(loop: Loop, start: int) -> Loop:
    return Loop(start, start + loop.end - loop.start, loop.initial)


def _resolve(literal: int, folded: Mapping[int, int]) -> int:
    """The literal that replaces a literal; a replacement may itself have been replaced."""
    while literal < 0 and literal >> 1 in folded:
        literal = folded[literal >> 1] ^ (literal & 1)
    return literal


def _fold(gates: dict[int, list[int]], initial: Mapping[int, bool], folded: dict[int, int]) -> None:
    """Move gates that are constant or equal to one literal from `gates` to `folded`.

    A gate whose only literal is itself keeps its initial value for ever, so it is that constant.
    """
    changed = True
    while changed:
        changed = False
        for net in list(gates):
            literals = {_resolve(literal, folded) for literal in gates[net]} - {TRUE}
            if FALSE in literals or any(x ^ 1 in literals for x in literals if x >= 0):
                folded[net] = FALSE
            elif not literals:
                folded[net] = TRUE
            elif literals == {2 * net}:
                folded[net] = TRUE if initial[net] else FALSE
            elif len(literals) == 1:
                folded[net] = literals.pop()
            else:
                gates[net] = sorted(literals)
                continue
            del gates[net]
            changed = True
