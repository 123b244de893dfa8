"""Uses invariants, which hold in every reachable state: guessed in matches, proved by induction."""

from __future__ import annotations

from collections.abc import Iterable

from ggp.machine.circuit import Circuit
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.knowledge import CircuitKnowledge, ExclusiveFluents
from ggp.machine.propnet.optimise.proofs.induction import (
    Guess,
    equal_fluents,
    equality,
    exclusive_fluents,
    prove,
    strongest,
)
from ggp.machine.propnet.optimise.proofs.sampling import sample

NUM_WORDS = 4
"""Words of random matches to guess from, 64 matches each."""

MIN_QUESTIONS = 300
"""Least number of questions that the work for proofs must allow; with fewer, nothing is guessed at
all. A question costs as many steps as there are nets, and so few prove hardly anything."""

MAX_STEPS = 250
MIN_STEPS = 40
SHARE = 0.5
MAX_WORK = 3_500_000
"""How much of the work that is left may go into proofs, and how much at most."""

SAMPLED_WORDS = 40_000_000
"""Literals times words times turns to spend on random matches."""

WORDS_A_STEP = 160
"""Number of words of random matches that count as a step of work."""


def use_invariants(circuit: Circuit, knowledge: CircuitKnowledge) -> Circuit:
    """Replace fluents that are constant or equal to others; groups are added to `knowledge`."""
    work = knowledge.work
    until = work.until(SHARE, MAX_WORK)
    if (until - work.spent) // (1 + circuit.num_inputs + circuit.num_gates) < MIN_QUESTIONS:
        return circuit
    affordable = SAMPLED_WORDS // (NUM_WORDS * (1 + circuit.num_literals))
    steps = max(MIN_STEPS, min(MAX_STEPS, affordable))
    work.spend(NUM_WORDS * steps * circuit.num_literals // WORDS_A_STEP)
    values = sample(circuit, num_words=NUM_WORDS, num_steps=steps, seed=0)
    becomes = equal_fluents(circuit, values)
    meant = {net: equality(net, literal) for net, literal in becomes.items()}
    guesses = [guess for pair in meant.values() for guess in pair]
    groups = strongest(exclusive_fluents(circuit, values))
    proved = frozenset(prove(circuit, guesses + groups, work, until))
    if not proved:
        return circuit
    knowledge.groups += _groups(circuit, [guess for guess in groups if guess in proved])
    draft = Draft(circuit)
    for net, pair in meant.items():
        if all(guess in proved for guess in pair):
            draft.becomes[net] = becomes[net]
    return draft.finish()


def _groups(circuit: Circuit, proved: Iterable[Guess]) -> tuple[ExclusiveFluents, ...]:
    """Groups of fluents that exclude each other, and whether one of them always holds."""
    at_least_one: dict[int, list[frozenset[int]]] = {}
    groups_of: list[tuple[int, ...]] = []
    for guess in proved:
        if guess.least == 0:
            at_least_one.setdefault(guess.literals[0], []).append(frozenset(guess.literals))
        else:
            groups_of.append(guess.literals)
    groups_of.sort(key=lambda literals: (-len(literals), literals))
    groups = []
    for literals in groups_of:
        members = frozenset(literals)
        exact = any(each <= members for x in literals for each in at_least_one.get(x, ()))
        names = tuple(circuit.fluents[(literal >> 1) - 1] for literal in literals)
        groups.append(ExclusiveFluents(names, exact))
    return tuple(groups)
