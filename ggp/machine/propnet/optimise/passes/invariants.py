"""Uses what holds in every reachable state: invariants that are guessed in matches and proved by
induction, moves of which exactly one is made, and constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ggp.machine.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.optimise.draft import GATE_COST, Draft
from ggp.machine.propnet.optimise.knowledge import (
    CircuitKnowledge,
    ExclusiveFluents,
    moves_of_roles,
)
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


# ------------------------------------------------------------------------
# Rewrites gates by what follows if exactly one of several nets holds.
#
# Of the moves m1 to m5 of a role exactly one is made, so `~m1 & ~m2 & ~m3 & ~m4` is `m5`. Frame
# rules, which say what stays as it was, are full of such gates: nothing was moved here, in any
# possible way.


def complement(circuit: Circuit, knowledge: CircuitKnowledge) -> Circuit:
    """Rewrite "none of these" as "one of the others" where these are fewer.

    Every role makes exactly one move, and there are groups of fluents of which exactly one
    holds. The only move that a role can ever have is always made.
    """
    draft = Draft(circuit)
    choices = _Choices(draft)
    for moves in moves_of_roles(circuit):
        if len(moves) == 1:
            draft.becomes[moves[0]] = TRUE
        choices.add(moves)
    for nets, exact in knowledge.groups_of_nets(circuit):
        if exact:
            choices.add(nets)
    for net in draft.free_gates():
        choices.shorten(net)
    return draft.finish()


class _Choices:
    """Sets of nets of which exactly one holds."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._choices: list[Sequence[int]] = []
        self._choices_of: dict[int, list[int]] = {}
        self._made: dict[tuple[int, ...], int] = {}

    def add(self, nets: Sequence[int]) -> None:
        for net in nets:
            self._choices_of.setdefault(net, []).append(len(self._choices))
        self._choices.append(nets)

    def shorten(self, net: int) -> None:
        """Rewrite a gate for as long as that makes it cheaper."""
        literals = list(self._draft.gates[net - self._draft.first_net])
        changed = False
        while True:
            left_out: dict[int, set[int]] = {}
            for literal in literals:
                if literal & 1:
                    for choice in self._choices_of.get(literal >> 1, ()):
                        left_out.setdefault(choice, set()).add(literal >> 1)
            gain, choice = max(
                ((self._gain(choice, nets), choice) for choice, nets in left_out.items()),
                default=(0.0, 0),
            )
            if gain <= 0:
                break
            nets = left_out[choice]
            literals = [x for x in literals if not (x & 1 and x >> 1 in nets)]
            literals.append(self._one_of_the_others(choice, nets))
            changed = True
        if changed:
            self._draft.change(net, literals)

    def _gain(self, choice: int, nets: set[int]) -> float:
        num_others = len(self._choices[choice]) - len(nets)
        return len(nets) - (num_others + 1 + GATE_COST if num_others > 1 else 1)

    def _one_of_the_others(self, choice: int, nets: set[int]) -> int:
        rest = tuple(2 * net + 1 for net in self._choices[choice] if net not in nets)
        if len(rest) < 2:
            return rest[0] ^ 1 if rest else FALSE
        if rest not in self._made:
            self._made[rest] = self._draft.add(rest) ^ 1
        return self._made[rest]


# ------------------------------------------------------------------------
# What never changes in a game, as far as a circuit says so at once.
#
# A fluent stays as it is initially if its next value is that constant, or itself; a move that is
# never legal is not made. What then becomes constant is found by looking again:
#
# next a = false, a is false initially      so a is false
#     legal m = a and b                         so m is never legal, and nobody makes it
#     next c = m and d, c is false initially    so c is false
#
# Fluents that only follow from each other are found by `invariants`.


def fold_constants(circuit: Circuit, _: CircuitKnowledge) -> Circuit:
    """Fluents that never change become constants, and moves that are never legal go."""
    while True:
        draft = Draft(circuit)
        draft.becomes.update(_constant(circuit))
        if not draft.becomes:
            return circuit
        circuit = draft.finish()


def _constant(circuit: Circuit) -> Iterator[tuple[int, int]]:
    """Inputs, and the constants that they are."""
    values = zip(circuit.initial.tolist(), circuit.next.tolist(), strict=True)
    for net, (initial, following) in enumerate(values, 1):
        value = TRUE if initial else FALSE
        if following in (value, 2 * net):
            yield net, value
    for outputs, nets in zip(circuit.legal, moves_of_roles(circuit), strict=True):
        for net, legal in zip(nets, outputs.literals.tolist(), strict=True):
            if legal == FALSE:
                yield net, FALSE


# ------------------------------------------------------------------------
# Flattens ANDs of ANDs into one.


def flatten(circuit: Circuit, _: CircuitKnowledge) -> Circuit:
    """Merge gates that only one other AND uses, not inverted, into that one."""
    draft = Draft(circuit)
    fan_out = draft.fan_out()
    # In order, so that merged gates have been flattened themselves.
    for net in draft.free_gates():
        literals: list[int] = []
        for literal in draft.gates[net - draft.first_net]:
            inner = None if literal & 1 or fan_out[literal >> 1] > 1 else draft.gate(literal >> 1)
            literals.extend((literal,) if inner is None else inner)
        draft.change(net, literals)
    return draft.finish()
