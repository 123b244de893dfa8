"""Turns ground rules into a circuit: a rule is an AND, an atom the OR of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.analysis.dependencies import strong_components
from ggp.machine.arrays import distinct, offsets_of, take_segments
from ggp.machine.base import IntArray
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, Outputs
from ggp.machine.propnet.compile.builder import Builder
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
