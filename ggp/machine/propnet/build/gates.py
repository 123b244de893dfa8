"""From ground rules to a circuit: a rule is an AND, an atom the OR of its rules."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import numpy as np

from ggp.gdl.dependencies import strong_components
from ggp.machine.propnet.build.builder import Builder
from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit, Outputs
from ggp.machine.propnet.build.ground_program import ALWAYS, GroundProgram, Named

Bodies = dict[int, list[list[int]]]
"""The conditions of each rule of each atom."""


def build_circuit(program: GroundProgram) -> Circuit:
    """The circuit of a game: equal gates are shared, nothing else is optimised.

    Fluents and moves that are left out never hold, and never can be made; percepts and goal
    values that are left out can never be had.
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
    _define(_bodies(program, literals), literals, builder)

    def literal_of(atom: int | None) -> int:
        return FALSE if atom is None else literals.get(atom, FALSE)

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


def _bodies(program: GroundProgram, inputs: dict[int, int]) -> Bodies:
    """The rules of every atom that has any; rules that lead nowhere are left out."""
    offsets = program.offsets.tolist()
    conditions = program.conditions.tolist()
    heads = program.heads.tolist()
    bodies: Bodies = {}
    for head, start, end in zip(heads, offsets, offsets[1:], strict=False):
        body = conditions[start:end]
        if head not in inputs and head not in body:
            bodies.setdefault(head, []).append(body)
    return bodies


def _define(bodies: Bodies, literals: dict[int, int], builder: Builder) -> None:
    """Add all atoms that have rules to `builder`, and their literals to `literals`."""
    edges = {
        atom: [abs(c) for body in alternatives for c in body if abs(c) not in literals]
        for atom, alternatives in bodies.items()
    }
    size = 1 + max((max(atom, max(found, default=0)) for atom, found in edges.items()), default=0)
    for component in strong_components(edges, size):
        if len(component) > 1:
            _define_together(sorted(component), bodies, literals, builder)
            continue
        atom = component[0]
        if atom not in literals:
            # Most rules of large games have one condition.
            alternatives = [
                builder.all_of(_literals(body, literals))
                if len(body) > 1
                else _literals(body, literals)[0]
                for body in bodies.get(atom, ())
            ]
            is_one = len(alternatives) == 1
            literals[atom] = alternatives[0] if is_one else builder.any_of(alternatives)


def _literals(body: list[int], literals: dict[int, int]) -> list[int]:
    return [literals[c] if c > 0 else literals[-c] ^ 1 for c in body]


def _define_together(
    atoms: list[int], bodies: Bodies, literals: dict[int, int], builder: Builder
) -> None:
    """Add atoms that depend on each other: none holds to begin with."""
    # An atom is `not all of (not body)`, and a body a gate of its own.
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
