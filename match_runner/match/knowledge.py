"""What a role knows: what holds in every state that agrees with what it did and saw.

It is computed from the role's own path on a machine of its own, so nothing else can get into it.
Where there are too many states, some are sampled: then it says "in all of so many", which may be
more than is known for certain. The page says which of the two it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ggp.belief import HyperPlaySampler, PathTree
from ggp.errors import GGPError
from ggp.machine.abilities import Wordy
from ggp.machine.base import Machine, States
from ggp.players.tracker import Submission, Tracker
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal, random_moves

PARTICLES, EXACT, ATTEMPTS = 200, 2_000, 200_000
"""How many states are looked at: the game waits meanwhile."""

MOST_S = 1.0
"""What a turn may take."""


class Known(NamedTuple):
    """What a role knows at a moment.

    Attributes:
        shares: in which share of the states looked at a fluent holds; 1 where it is in all.
        states: how many were looked at; with 0 nothing is known.
        exact: whether these are all there can be.
        legal: moves that are legal in all of them.
        words: what the machine says of it besides terms, of one or several lines, in games that
            have words for it.
        called: what legal moves are called, likewise.
    """

    shares: Mapping[str, float]
    states: int
    exact: bool
    legal: frozenset[str]
    words: str = ""
    called: Mapping[str, str] = MappingProxyType({})

    def lines(self) -> list[str]:
        """What the machine says besides terms, a line each."""
        names = (f"{move}: {name}" for move, name in self.called.items() if name)
        return [*self.words.rstrip().splitlines(), *names]


NOTHING = Known({}, 0, False, frozenset())


class Knowledge:
    """Follows one match as one role.

    Args:
        machine: nobody else's.
        role: index of the role.
        seed: of what is sampled.
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
        most_s: float = MOST_S,
    ) -> None:
        """A turn is over; None is not known.

        Args:
            most_s: what finding states may take, `MOST_S` at most.
        """
        deadline = Deadline.after(min(most_s, MOST_S))
        try:
            self._tracker.observe(move, percepts, Submission(submitted, in_time), deadline)
            self._is_lost = False
        except GGPError:
            self._is_lost = True  # until a later turn finds states again

    def known(self) -> Known:
        """What is known now."""
        bag = self._tracker.bag
        if self._is_lost or bag.depleted[0]:
            return NOTHING
        states = bag.states_of(0)
        machine = self._machine
        num = len(states)
        legal = machine.legal(states, self._role, allow_stuck=True)
        moves, counts = np.unique(legal.values, return_counts=True)
        sure = moves[counts == num].tolist()
        one, words, called = states.take(np.zeros(1, dtype=np.int64)), "", {}
        if isinstance(machine, Wordy):  # what the role knows is the same in all of them
            words = machine.knowledge_words(one, self._role)
            called = {
                machine.move_text(move): machine.move_words(one, self._role, move)
                for move in machine.legal(one, self._role, allow_stuck=True).values.tolist()
            }
        return Known(
            self._shares(states),
            num,
            bool(bag.exact[0]),
            frozenset(map(machine.move_text, sure)),
            words,
            called,
        )

    def at_end(
        self, move: str | None, percepts: Sequence[str] | None
    ) -> tuple[Known, float | None]:
        """What is known after a last turn, and what the role has got if that is certain.

        A belief knows no states in which the game is over. So the turn is played at random from
        those before it, and what fits is kept.
        """
        machine, bag = self._machine, self._tracker.bag
        own = None if move is None else machine.move_id(move)
        seen = None if percepts is None else machine.percept_id(percepts)
        if self._is_lost or bag.depleted[0] or own is None or seen is None:
            return NOTHING, None
        states = bag.sets.states.take(bag.draw(0, EXACT, self._rng))
        legal = is_legal(machine, states, self._role, np.full(len(states), own))
        if not legal.any():
            return NOTHING, None
        states = states.take(np.flatnonzero(legal))
        each = range(len(machine.roles))
        joint = np.stack([random_moves(machine, states, r, self._rng) for r in each], axis=1)
        joint[:, self._role] = own
        states, told = machine.step(states, joint)
        fits = (told[:, self._role] == seen) & machine.terminal(states)
        if not fits.any():
            return NOTHING, None
        states = states.take(np.flatnonzero(fits))
        goals = np.unique(machine.goals(states)[:, self._role])
        num = int(machine.groups(states).max()) + 1
        known = Known(self._shares(states), num, False, frozenset())
        return known, float(goals[0]) if len(goals) == 1 else None

    def _shares(self, states: States) -> dict[str, float]:
        counts = Counter(fluent for held in self._machine.fluents(states) for fluent in held)
        return {fluent: count / len(states) for fluent, count in sorted(counts.items())}
