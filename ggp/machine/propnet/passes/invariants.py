"""What holds in every reachable state: guessed from random matches, proved by induction.

Guesses are that a fluent is constant or equal to another, and that of a group of fluents such
as `(cell 1 1 ?)` at most one holds, or at least one. All are assumed of one state, and
the solver looks for a legal joint move after which one of them fails; those are dropped, and
so on until none is found. What is left holds initially, and is kept by every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl import parse_term
from ggp.gdl.terms import Compound, Term
from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.passes.draft import Draft
from ggp.machine.propnet.passes.knowledge import Group, Knowledge, moves_of_roles
from ggp.machine.propnet.passes.simulate import Samples, sample
from ggp.machine.propnet.passes.solver import Additions, Solver

MAX_VARIED = 3
"""Arguments in which fluents of a group differ, unless they differ in all but so many."""

MAX_ARGUMENTS = 8
"""Fluents with more constants are in no group."""

MAX_DEPTH = 3
"""Functions below this depth are taken for constants."""

NUM_STEPS = 60
NUM_WORDS = 4
"""Random matches to guess from, 64 a word."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


class Invariants(NamedTuple):
    """What holds in every reachable state of a circuit.

    Attributes:
        becomes: literals that fluents (as nets) are equal to.
        groups: fluents that exclude each other; no group is part of another.
    """

    becomes: dict[int, int]
    groups: tuple[Group, ...]


class _Guess(NamedTuple):
    """What may never be: that `least` or more of some literals of fluents hold.

    With `least` 0, that none of them holds.
    """

    least: int
    literals: tuple[int, ...]


def use_invariants(circuit: Circuit, knowledge: Knowledge) -> Circuit:
    """Fluents that are constant or equal to others become that; groups go to `knowledge`."""
    samples = sample(circuit, num_words=NUM_WORDS, num_steps=NUM_STEPS, seed=0)
    found = find_invariants(circuit, samples, knowledge.until_s)
    if found.groups:
        knowledge.groups = found.groups
    draft = Draft(circuit)
    draft.becomes.update(found.becomes)
    return draft.finish()


def find_invariants(circuit: Circuit, samples: Samples, until_s: float) -> Invariants:
    """The invariants of a circuit that can be found and proved in time.

    Args:
        circuit: of a game.
        samples: random matches of the circuit.
        until_s: monotonic time at which to give up.
    """
    becomes = _equal_fluents(circuit, samples)
    meant = {net: _unequal(net, literal) for net, literal in becomes.items()}
    guesses = [guess for pair in meant.values() for guess in pair]
    guesses += _guessed_groups(circuit, samples)
    proved = frozenset(_prove(circuit, guesses, until_s))
    return Invariants(
        {net: becomes[net] for net, pair in meant.items() if proved.issuperset(pair)},
        _groups(circuit, [guess for guess in guesses if guess in proved]),
    )


def _equal_fluents(circuit: Circuit, samples: Samples) -> dict[int, int]:
    """For fluents (as nets) that were always equal to an earlier one, the literal of that one."""
    becomes = {}
    first: dict[bytes, int] = {}
    for net in range(1 + len(circuit.fluents)):
        values = samples.values[net]
        inverted = int(values[0, 0] & np.uint64(1))
        key = (values ^ _ONES if inverted else values).tobytes()
        literal = first.setdefault(key, 2 * net + inverted)
        if literal >> 1 != net:
            becomes[net] = literal ^ inverted
    return becomes


def _unequal(net: int, literal: int) -> list[_Guess]:
    if literal in (FALSE, TRUE):
        return [_Guess(1, (2 * net + literal,))]
    return [_Guess(2, (2 * net, literal ^ 1)), _Guess(2, (2 * net + 1, literal))]


def _guessed_groups(circuit: Circuit, samples: Samples) -> list[_Guess]:
    """Fluents that differ in some arguments only: at most one and at least one of them held."""
    members: dict[tuple[object, ...], list[int]] = {}
    for net, fluent in enumerate(circuit.fluents, 1):
        shape, leaves = _shape(parse_term(fluent))
        for varied in _varied(len(leaves)):
            kept = tuple(None if i in varied else leaf for i, leaf in enumerate(leaves))
            members.setdefault((shape, kept), []).append(net)
    guesses: dict[_Guess, None] = {}
    for nets in members.values():
        if len(nets) < 2:
            continue
        values = samples.values[nets]
        if _at_most_once(values):
            guesses[_Guess(2, tuple(2 * net for net in nets))] = None
        if (np.bitwise_or.reduce(values, axis=0) == _ONES).all():
            guesses[_Guess(0, tuple(2 * net for net in nets))] = None
    return list(guesses)


def _at_most_once(values: NDArray[np.uint64]) -> bool:
    seen = np.zeros_like(values[0])
    for each in values:
        if (seen & each).any():
            return False
        seen |= each
    return True


def _shape(term: Term) -> tuple[str, list[str]]:
    """A term without its constants, and these from left to right."""
    leaves: list[str] = []

    def walk(inner: Term, depth: int) -> str:
        if isinstance(inner, Compound) and depth:
            return f"({inner.name} {' '.join(walk(arg, depth - 1) for arg in inner.args)})"
        leaves.append(str(inner))
        return "_"

    return walk(term, MAX_DEPTH), leaves


def _varied(num_leaves: int) -> list[tuple[int, ...]]:
    """The sets of arguments that may differ within a group."""
    sizes = {size for size in range(1, num_leaves + 1) if size <= MAX_VARIED}
    sizes |= {size for size in (num_leaves - 1, num_leaves) if size > 0}
    found = [each for size in sorted(sizes) for each in combinations(range(num_leaves), size)]
    return found if num_leaves <= MAX_ARGUMENTS else []


def _prove(circuit: Circuit, guesses: Sequence[_Guess], until_s: float) -> list[_Guess]:
    """The guesses that hold together in the initial state and after every step."""
    initial = [0, *circuit.initial.tolist()]
    guesses = [
        guess
        for guess in guesses
        if _may_be(guess, sum(initial[x >> 1] ^ (x & 1) for x in guess.literals))
    ]
    if not guesses:
        return []
    solver = Solver(circuit)
    with solver.add() as add:
        assume_legal_moves(circuit, solver, add)
        checks = []
        for guess in guesses:
            believed = add.free()
            add.forbid([believed, _sign(guess, [solver.sign(x) for x in guess.literals], add)])
            after = [solver.sign(int(circuit.next[(x >> 1) - 1]) ^ (x & 1)) for x in guess.literals]
            checks.append((believed, _sign(guess, after, add)))
        add.forbid([-add.any_of([add.all_of(check) for check in checks])])
    left = list(range(len(guesses)))
    while left:
        failed = _find_failing(solver, checks, frozenset(left))
        if failed is None or time.monotonic() > until_s:
            break
        if not failed:
            return [guesses[place] for place in left]
        left = [place for place in left if place not in failed]
    return []


def _find_failing(
    solver: Solver, checks: Sequence[tuple[int, int]], believed: frozenset[int]
) -> frozenset[int] | None:
    """Guesses that fail in an example after a step from where all believed ones hold."""
    assumed = [sign if place in believed else -sign for place, (sign, _) in enumerate(checks)]
    failed: list[int] = []

    def collect(holds: Callable[[int], bool]) -> None:
        failed.extend(place for place in believed if holds(checks[place][1]))

    return None if solver.find(assumed, collect) is None else frozenset(failed)


def _may_be(guess: _Guess, num_true: int) -> bool:
    return num_true < guess.least if guess.least else num_true > 0


def _sign(guess: _Guess, signs: Sequence[int], add: Additions) -> int:
    """The sign of a guess being wrong."""
    if guess.least == 0:
        return add.all_of([-sign for sign in signs])
    return add.all_of(signs) if guess.least == len(signs) else add.two_of(signs)


def assume_legal_moves(
    circuit: Circuit, solver: Solver, add: Additions, running: int | None = None
) -> None:
    """Every role makes exactly one legal move, and the game is not over.

    `running`: only where this sign holds.
    """
    condition = [] if running is None else [running]
    add.forbid([*condition, solver.sign(circuit.terminal)])
    for outputs, nets in zip(circuit.legal, moves_of_roles(circuit), strict=True):
        moves = [solver.sign(2 * net) for net in nets]
        add.forbid([*condition, add.two_of(moves)])
        add.forbid([*condition, *(-move for move in moves)])
        for move, legal in zip(moves, outputs.literals.tolist(), strict=True):
            add.forbid([*condition, move, -solver.sign(legal)])


def _groups(circuit: Circuit, proved: Sequence[_Guess]) -> tuple[Group, ...]:
    """The largest groups that exclude each other."""
    at_least_one = {frozenset(guess.literals) for guess in proved if guess.least == 0}
    sets = [frozenset(guess.literals) for guess in proved if guess.least == 2]
    sets = [each for each in sets if not any(x & 1 for x in each)]
    sets.sort(key=lambda each: (-len(each), sorted(each)))
    holders: dict[int, list[frozenset[int]]] = {}
    groups = []
    for each in sets:
        exact = each in at_least_one
        if not exact and any(each < other for other in holders.get(min(each), ())):
            continue
        for literal in each:
            holders.setdefault(literal, []).append(each)
        names = tuple(circuit.fluents[(literal >> 1) - 1] for literal in sorted(each))
        groups.append(Group(names, exact))
    return tuple(groups)
