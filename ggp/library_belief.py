"""The result of `Game.belief`: the states that a role may be in, and how they were found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ggp.belief import (
    MAX_ATTEMPTS,
    OWN_COMPLETIONS,
    Bags,
    How,
    HyperPlaySampler,
    PathTree,
    Quality,
    require_particles,
)
from ggp.errors import BeliefDepletedError
from ggp.given import checked_fluent
from ggp.machine.base import FloatArray, Machine, States
from ggp.pickled import read, written
from ggp.players.tracker import Submission, Tracker
from ggp.search.anytime import Deadline

if TYPE_CHECKING:
    from ggp.library import Game, State


@dataclass(frozen=True, eq=False)
class Belief:
    """The states that a role may be in, with weights.

    Attributes:
        weights: `[N]` of the particles; they sum to 1.
        quality: how it was made, and how good it is.
    """

    _game: Game
    _machine: Machine
    _lanes: States
    weights: FloatArray
    quality: Quality

    @property
    def exact(self) -> bool:
        """Whether these are all states of the information set, with exact weights."""
        return self.quality.how is How.EXACT

    def __repr__(self) -> str:
        return f"<Belief in {self._game.name}: {len(self)} particles, {self.quality.how}>"

    def __len__(self) -> int:
        return len(self._lanes)

    def __reduce__(self) -> tuple[object, ...]:
        texts = written(self._machine, self._lanes)
        return _belief_again, (self._game, texts, self.weights, self.quality)

    @cached_property
    def particles(self) -> tuple[State, ...]:
        """The states, in the order of `weights`."""
        return tuple(
            self._game._state(self._machine, self._lanes.take(np.array([lane])))
            for lane in range(len(self))
        )

    @cached_property
    def fluents(self) -> tuple[str, ...]:
        """The fluents that hold in some particle, sorted: the order of `marginals`."""
        return tuple(sorted({fluent for held in self._held for fluent in held}))

    @cached_property
    def marginals(self) -> FloatArray:
        """`[F]` the probability that each of the `fluents` holds."""
        place = {fluent: number for number, fluent in enumerate(self.fluents)}
        found = np.zeros(len(place))
        for weight, held in zip(self.weights, self._held, strict=True):
            found[[place[fluent] for fluent in held]] += weight
        return found

    def probability(self, fluent: str) -> float:
        """The probability that a fluent, in KIF, holds.

        Raises:
            ConfigError: it is not a term, or no rule of the game can make it.
        """
        numbers: list[float] = self.marginals.tolist()
        found = dict(zip(self.fluents, numbers, strict=True))
        if not isinstance(fluent, str) or fluent not in found:
            fluent = checked_fluent(fluent, self._game._domains)
        return found.get(fluent, 0.0)

    @cached_property
    def _held(self) -> list[tuple[str, ...]]:
        return self._machine.fluents(self._lanes)


def _belief_again(
    game: Game, texts: list[tuple[str, ...]], weights: FloatArray, quality: Quality
) -> Belief:
    return Belief(game, game._machine, read(game._machine, texts), weights, quality)


class Following(NamedTuple):
    """Limits for following a match: see `Game.belief`."""

    particles: int
    exact: int
    attempts: int | None
    seconds: float | None


def followed(
    machine: Machine,
    role: int,
    history: Sequence[tuple[str | None, Sequence[str] | None]],
    limits: Following,
    rng: np.random.Generator,
) -> tuple[Bags, Quality]:
    """The bag of a role after its moves and percepts, in terms that the rules know.

    Raises:
        BeliefDepletedError: no complete path agrees, or none was found at the end.
    """
    tree = PathTree(machine)
    sampler = HyperPlaySampler(
        machine,
        tree,
        capacity=limits.particles,
        exact=limits.exact,
        max_attempts=MAX_ATTEMPTS if limits.attempts is None else limits.attempts,
        follows=True,
        completions=OWN_COMPLETIONS,
        solves=True,
    )
    tracker = Tracker(sampler, machine, role, rng)
    before = machine.states_visited
    for move, percepts in history:
        deadline = None
        if limits.seconds is not None:
            deadline = Deadline(time.monotonic() + limits.seconds, time.monotonic)
        try:
            tracker.observe(move, percepts, Submission(), deadline)
        except BeliefDepletedError as error:
            if error.exhausted:
                raise
    require_particles(tracker.bag, tree, machine.states_visited - before)
    return tracker.bag, tracker.quality()
