"""Turns ground rules into a circuit: a rule is an AND, an atom the OR of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.analysis.dependencies import strong_components
from ggp.machine.arrays import distinct, offsets_of, take_segments
from ggp.machine.base import IntArray
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, Loop, Outputs
from ggp.machine.propnet.compile.ground_rules.simplify import ALWAYS, GroundProgram, Named

_UNMADE = -1
"""In place of the literal of an atom that has none yet."""


def build_circuit(program: GroundProgram) -> Circuit:
    """The circuit of a game: equal gates are shared, nothing else is optimised.

    Fluents and moves that are left out never hold and can never be made; percepts and goal
    values that are left out never occur.
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
    made = _define(program, literals, builder).tolist()

    def literal_of(atom: int | None) -> int:
        return FALSE if atom is None or atom >= len(made) else int(made[atom])

    next_literals = [literal_of(next_atoms.get(name)) for name, _ in fluents]
    terminal = literal_of(program.terminal)
    goals = []
    for named in program.goals:
        # A value that several rules give one after the other counts once.
        runs = groupby(named, key=itemgetter(0))
        goals.append(
            [(name, builder.any_of([literal_of(atom) for _, atom in run])) for name, run in runs]
        )
    named_outputs = [*program.legal, *program.sees]
    roots = [*next_literals, terminal]
    roots += [literal_of(atom) for named in named_outputs for _, atom in named]
    roots += [literal for values in goals for _, literal in values]
    gates = builder.needed(roots)

    def moved(literal: int) -> int:
        return 2 * gates.net_of[literal >> 1] + (literal & 1)

    def outputs(named: Iterable[tuple[str, int]], *, keep_false: bool = False) -> Outputs:
        kept = [(name, literal) for name, literal in named if keep_false or literal != FALSE]
        names = tuple(name for name, _ in kept)
        return Outputs(names, np.array([moved(x) for _, x in kept], dtype=np.int32))

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
        next=np.array([moved(literal) for literal in next_literals], dtype=np.int32),
        legal=tuple(outputs(literals_of(named), keep_false=True) for named in program.legal),
        sees=tuple(outputs(literals_of(named)) for named in program.sees),
        goals=tuple(map(outputs, goals)),
        terminal=moved(terminal),
    )


def _define(program: GroundProgram, given: Mapping[int, int], builder: Builder) -> Literals:
    """`[A]` literals of all atoms; the gates of their rules are added to `builder`."""
    parts = (program.heads, np.abs(program.conditions), np.array(list(given)))
    num_atoms = 1 + max(int(part.max()) for part in parts if len(part))
    literals = np.full(num_atoms, _UNMADE, dtype=np.int32)
    literals[list(given)] = list(given.values())
    rules = RulesByAtom(program, literals != _UNMADE)
    for atoms in rules.layers():
        num_rules, sizes, conditions = rules.of(atoms)
        bodies = builder.all_of_each(sizes, literals[np.abs(conditions)] ^ (conditions < 0))
        literals[atoms] = builder.all_of_each(num_rules, bodies ^ 1) ^ 1
    left = np.flatnonzero(literals == _UNMADE)
    if len(left):
        _define_rest(rules.bodies(left), literals, builder)
    return literals


def _define_rest(bodies: Bodies, literals: Literals, builder: Builder) -> None:
    """Set the `literals` of atoms that depend on each other, and of those that need them."""
    needed = {abs(c) for alternatives in bodies.values() for body in alternatives for c in body}
    known = {atom: int(literals[atom]) for atom in needed if atom not in bodies}
    edges = {
        atom: [abs(c) for body in alternatives for c in body if abs(c) in bodies]
        for atom, alternatives in bodies.items()
    }
    for component in strong_components(edges, 1 + max(bodies)):
        if component[0] not in bodies:
            continue
        if len(component) > 1:
            _define_together(sorted(component), bodies, known, builder)
        else:
            ((atom,), alternatives) = component, bodies[component[0]]
            known[atom] = builder.any_of(
                [builder.all_of(_literals(body, known)) for body in alternatives]
            )
    literals[list(bodies)] = [known[atom] for atom in bodies]


def _literals(body: list[int], literals: dict[int, int]) -> list[int]:
    return [literals[c] if c > 0 else literals[-c] ^ 1 for c in body]


def _define_together(
    atoms: list[int], bodies: Bodies, literals: dict[int, int], builder: Builder
) -> None:
    """Add atoms that depend on each other; initially none holds."""
    # An atom is `not all of (not body)`, and each body a gate of its own.
    known = dict(literals)
    net_of = {atom: -1 - place for place, atom in enumerate(atoms)}
    known.update((atom, 2 * net + 1) for atom, net in net_of.items())
    definitions: dict[int, list[int]] = {}
    for atom in atoms:
        alternatives = []
        for body in bodies[atom]:
            net = -1 - len(atoms) - len(definitions)
            definitions[net] = _literals(body, known)
            alternatives.append(2 * net + 1)
        definitions[net_of[atom]] = alternatives
    initial = dict.fromkeys(definitions, False) | dict.fromkeys(net_of.values(), True)
    made = builder.least_fixpoint(definitions, initial)
    literals.update((atom, made[net] ^ 1) for atom, net in net_of.items())


# ------------------------------------------------------------------------
# Puts ground rules in an order in which atoms can be defined, many at a time.
#
# An atom belongs to the first layer if its rules need only given atoms, and to a later one if they
# need atoms of earlier layers too. Millions of rules have few layers, so arrays can do the work.
# Atoms that depend on each other, and those that need them, are in no layer.

Bodies = dict[int, list[list[int]]]
"""The conditions of each rule of each atom."""


class RulesByAtom:
    """The rules of atoms that are not given; rules that lead nowhere are left out.

    Args:
        program: ground rules.
        given: `[A]` whether each atom is given, so that its rules do not count.
    """

    def __init__(self, program: GroundProgram, given: NDArray[np.bool_]) -> None:
        keep = ~given[program.heads]
        owners = np.repeat(np.arange(len(program.heads)), np.diff(program.offsets))
        keep[owners[program.conditions == program.heads[owners]]] = False
        rules = np.flatnonzero(keep)
        rules = rules[np.argsort(program.heads[rules], kind="stable")]
        self._given = given
        self._heads = program.heads[rules]
        self._offsets, places = take_segments(program.offsets, rules)
        self._conditions = program.conditions[places]
        self._starts = offsets_of(np.bincount(self._heads, minlength=len(given)))

    def layers(self) -> Iterator[IntArray]:
        """Layer by layer, the atoms that need only those of earlier layers, ascending."""
        readers = np.repeat(self._heads, np.diff(self._offsets))
        atoms = np.abs(self._conditions)
        matter = ~self._given[atoms]
        readers, atoms = readers[matter], atoms[matter]
        missing = np.bincount(readers, minlength=len(self._given))
        readers = readers[np.argsort(atoms, kind="stable")]
        uses = offsets_of(np.bincount(atoms, minlength=len(self._given)))
        layer = np.flatnonzero((missing == 0) & ~self._given)
        while len(layer):
            yield layer
            found = readers[take_segments(uses, layer)[1]]
            np.subtract.at(missing, found, 1)
            layer = distinct(found[missing[found] == 0], len(missing))

    def of(self, atoms: IntArray) -> tuple[IntArray, IntArray, NDArray[np.int32]]:
        """The numbers of rules of K atoms and of conditions of each rule, and the conditions."""
        starts, rules = take_segments(self._starts, atoms)
        ends, places = take_segments(self._offsets, rules)
        return np.diff(starts), np.diff(ends), self._conditions[places]

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
# Makes gates: constants are folded, and no gate is made twice.

Gate = tuple[int, ...]
"""The literals of a gate, ascending."""


class Gates(NamedTuple):
    """The gates of a `Circuit`, and the new nets of a builder's gates.

    Attributes:
        offsets: as in `Circuit`.
        literals: as in `Circuit`.
        loops: as in `Circuit`.
        net_of: new net of each net of the builder, 0 for gates that were left out.
    """

    offsets: NDArray[np.int64]
    literals: Literals
    loops: tuple[Loop, ...]
    net_of: list[int]


class Builder:
    """Gates on top of some inputs, in an order in which they can be evaluated.

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
            # Ascending: the two literals of a net are neighbours.
            for lower, upper in pairwise(gate):
                if lower ^ 1 == upper:
                    return FALSE
            net = self._append(gate)
            self._nets[gate] = net
        return 2 * net

    def all_of_each(self, sizes: IntArray, literals: Literals) -> Literals:
        """`[N]` literals, each of which holds where all of its own hold (see `all_of`).

        Args:
            sizes: `[N]` number of literals of each.
            literals: the literals of all, one after the other.
        """
        made = np.full(len(sizes), TRUE, dtype=np.int32)
        # Sorted within each gate, because the owner's number comes first.
        owned = (np.repeat(np.arange(len(sizes)) << 32, sizes) | literals)[literals != TRUE]
        owned.sort()
        new = np.ones(len(owned), dtype=np.bool_)
        new[1:] = owned[1:] != owned[:-1]
        owned = owned[new]
        owners, literals = owned >> 32, owned.astype(np.int32)
        # Ascending: the two literals of a net are neighbours.
        opposite = (owned[1:] == owned[:-1] + 1) & (owned[1:] & 1 == 1)
        never = owners[literals == FALSE], owners[1:][opposite]
        counts = np.bincount(owners, minlength=len(sizes))
        ends = np.cumsum(counts)
        single = counts == 1
        made[single] = literals[ends[single] - 1]
        counts[np.concatenate(never)] = 0
        made[np.concatenate(never)] = FALSE
        several = np.flatnonzero(counts > 1)
        values = literals.tolist()
        nets, gates = self._nets, self.gates
        next_net = self.first_net + len(gates)
        found = []
        for end, count in zip(ends[several].tolist(), counts[several].tolist(), strict=True):
            gate = tuple(values[end - count : end])
            net = nets.setdefault(gate, next_net)
            if net == next_net:
                gates.append(gate)
                next_net += 1
            found.append(2 * net)
        made[several] = found
        return made

    def any_of(self, literals: Iterable[int]) -> int:
        """The literal that holds where one of `literals` holds."""
        return self.all_of([literal ^ 1 for literal in literals]) ^ 1

    def least_fixpoint(
        self, definitions: Mapping[int, Sequence[int]], initial: Mapping[int, bool]
    ) -> dict[int, int]:
        """Add gates that may depend on each other.

        Args:
            definitions: the literals of each gate. The keys are the caller's numbers for the gates,
                all negative; -2n and -2n + 1 are the two literals of gate -n, and literals from 0
                up are nets of this builder.
            initial: value of each gate where iteration starts.

        Returns:
            The literal that each gate has become.
        """
        gates = {net: list(literals) for net, literals in definitions.items()}
        known: dict[int, int] = {}
        _fold(gates, initial, known)

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
                known[net] = self.all_of([_known(literal, known) for literal in gates[net]])
                continue
            start = len(self.gates)
            for place, net in enumerate(component):
                known[net] = 2 * (self.first_net + start + place)
            for net in component:
                self._append(tuple(sorted({_known(literal, known) for literal in gates[net]})))
            values = np.array([initial[net] for net in component], dtype=np.bool_)
            self.loops.append(Loop(start, len(self.gates), values))
        return {net: _known(2 * net, known) for net in definitions}

    def needed(self, roots: Iterable[int]) -> Gates:
        """The gates that `roots` depend on."""
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
    """The gates that `roots` depend on, among given ones.

    Args:
        first: net of the first gate.
        offsets: `[G + 1]` of all gates, as in `Circuit`.
        literals: literals of all gates, as in `Circuit`.
        loops: loops of the gates, as in `Circuit`.
        roots: literals.
    """
    nets = np.fromiter(roots, dtype=np.int64) >> 1
    live = _live(first, nets, offsets, literals >> 1, loops)
    kept = np.flatnonzero(live[first:])
    net_of = np.zeros(len(live), dtype=np.int32)
    net_of[:first] = np.arange(first)
    net_of[first + kept] = first + np.arange(len(kept))
    kept_offsets, places = take_segments(offsets, kept)
    literals = literals[places]
    return Gates(
        offsets=kept_offsets,
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
    for number, loop in enumerate(loops):
        loop_of[loop.start : loop.end] = number
    new = distinct(roots, len(live))
    while len(new):
        live[new] = True
        gates = new[new >= first] - first
        # Gates of a loop are needed together.
        for number in np.unique(loop_of[gates]).tolist() if loops else ():
            if number >= 0:
                loop = loops[number]
                live[first + loop.start : first + loop.end] = True
                gates = np.union1d(gates, np.arange(loop.start, loop.end))
        found = inputs[take_segments(offsets, gates)[1]]
        new = distinct(found[~live[found]], len(live))
    return live


def _moved(loop: Loop, start: int) -> Loop:
    return Loop(start, start + loop.end - loop.start, loop.initial)


def _known(literal: int, known: Mapping[int, int]) -> int:
    """The literal that a literal has become, following gates that became others several times."""
    while literal < 0 and literal >> 1 in known:
        literal = known[literal >> 1] ^ (literal & 1)
    return literal


def _fold(gates: dict[int, list[int]], initial: Mapping[int, bool], known: dict[int, int]) -> None:
    """Move gates that are constant or equal to a literal from `gates` to `known`."""
    changed = True
    while changed:
        changed = False
        for net in list(gates):
            literals = {_known(literal, known) for literal in gates[net]} - {TRUE}
            if FALSE in literals or any(x ^ 1 in literals for x in literals if x >= 0):
                known[net] = FALSE
            elif not literals:
                known[net] = TRUE
            elif literals == {2 * net}:
                known[net] = TRUE if initial[net] else FALSE
            elif len(literals) == 1:
                known[net] = literals.pop()
            else:
                gates[net] = sorted(literals)
                continue
            del gates[net]
            changed = True
