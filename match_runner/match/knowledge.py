"""A role's knowledge: the facts that hold in every state of its information set.

It comes from the role's own path, followed on a separate machine, so nothing else can leak into it.
Where there are too many states, only a sample is examined: a fact that holds in the whole sample
may then still be false. The terminal and the table's page say which of the two they show.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ggp.belief import HyperPlaySampler, PathTree
from ggp.errors import GGPError
from ggp.machine.abilities import Wordy
from ggp.machine.base import FloatArray, Machine
from ggp.players.parts.tracker import Submission, Tracker
from ggp.run.clocks import TellsTime
from ggp.search.anytime import Deadline

PARTICLES, EXACT, ATTEMPTS = 200, 2_000, 200_000
"""Number of particles, most states of an exact set, and most attempts to sample: small, because the
match waits meanwhile."""

MAX_S = 1.0
"""Most seconds that following one turn may take."""


class KnownFacts(NamedTuple):
    """Knowledge of a role at one moment.

    Attributes:
        shares: for each fluent, the share of the examined states in which it holds, up to 1.
        states: number of states examined; if 0, nothing is known.
        exact: whether these are all the states of the information set.
        legal: moves that are legal in all of them.
        likely: the probability of each fluent, by the belief.
        words: the machine's description of the role's knowledge, in one or several lines; empty for
            games without one.
        move_words: the legal moves in words, likewise.
    """

    shares: Mapping[str, float]
    states: int
    exact: bool
    legal: frozenset[str]
    likely: Mapping[str, float] = MappingProxyType({})
    words: str = ""
    move_words: Mapping[str, str] = MappingProxyType({})

    def lines(self) -> list[str]:
        """Lines of `words`."""
        names = (f"{move}: {name}" for move, name in self.move_words.items() if name)
        return [*self.words.rstrip().splitlines(), *names]


NOTHING = KnownFacts({}, 0, False, frozenset())


class Knowledge:
    """Follows one match as one role sees it.

    Args:
        machine: a machine that nobody else uses.
        role: index of the role.
        seed: seed of the sampling.
    """

    def __init__(self, machine: Machine, role: int, seed: int) -> None:
        self._machine, self._role = machine, role
        belief = HyperPlaySampler(
            machine, PathTree(machine), capacity=PARTICLES, exact=EXACT, max_attempts=ATTEMPTS
        )
        self._rng = np.random.default_rng(seed)
        self._tracker = Tracker(belief, machine, role, self._rng)
        self._is_lost = False

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        submitted: str | None,
        *,
        in_time: bool,
        most_s: float = MAX_S,
        clock: TellsTime = time.monotonic,
    ) -> None:
        """Take in a turn that is over; None stands for an unknown move or unknown percepts.

        Args:
            most_s: most seconds of `clock` that finding states may take, at most `MAX_S`.
        """
        deadline = Deadline(clock() + min(most_s, MAX_S), clock)
        try:
            self._tracker.observe(move, percepts, Submission(submitted, in_time), deadline)
            self._is_lost = False
        except GGPError:
            self._is_lost = True  # until a later turn finds states again

    def facts(self) -> KnownFacts:
        """The role's knowledge now."""
        bag = self._tracker.bag
        if self._is_lost or bag.depleted[0]:
            return NOTHING
        states = bag.states_of(0)
        machine = self._machine
        num, fluent_sets = len(states), machine.fluents(states)
        legal = machine.legal(states, self._role, allow_stuck=True)
        moves, counts = np.unique(legal.values, return_counts=True)
        certain = moves[counts == num].tolist()
        example, words, move_words = states.take(np.zeros(1, dtype=np.int64)), "", {}
        if isinstance(machine, Wordy):  # these words are the same in the whole information set
            words = machine.knowledge_words(example, self._role)
            move_words = {
                machine.move_text(move): machine.move_words(example, self._role, move)
                for move in machine.legal(example, self._role, allow_stuck=True).values.tolist()
            }
        return KnownFacts(
            _shares(fluent_sets),
            num,
            bool(bag.exact[0]),
            frozenset(map(machine.move_text, certain)),
            marginals(fluent_sets, bag.weights_of(0)),
            words,
            move_words,
        )

    def at_end(
        self, move: str | None, percepts: Sequence[str] | None
    ) -> tuple[KnownFacts, float | None]:
        """The role's knowledge after the last turn, and its goal value if that is certain.

        See `Tracker.ended`.
        """
        machine = self._machine
        states = None if self._is_lost else self._tracker.ended(move, percepts, EXACT)
        if states is None:
            return NOTHING, None
        goals = np.unique(machine.goals(states)[:, self._role])
        num = int(machine.groups(states).max()) + 1
        facts = KnownFacts(_shares(machine.fluents(states)), num, False, frozenset())
        return facts, float(goals[0]) if len(goals) == 1 else None


def _shares(fluent_sets: Sequence[Sequence[str]]) -> dict[str, float]:
    counts = Counter(fluent for fluents in fluent_sets for fluent in fluents)
    return {fluent: count / len(fluent_sets) for fluent, count in sorted(counts.items())}


def marginals(fluent_sets: Iterable[Iterable[str]], weights: FloatArray) -> dict[str, float]:
    """The probability of each fluent.

    Args:
        fluent_sets: the fluents of some states.
        weights: the probability of each state; they sum to 1.
    """
    probabilities: dict[str, float] = {}
    for weight, fluents in zip(weights.tolist(), fluent_sets, strict=True):
        for fluent in fluents:
            probabilities[fluent] = probabilities.get(fluent, 0.0) + weight
    return {fluent: min(share, 1.0) for fluent, share in sorted(probabilities.items())}
