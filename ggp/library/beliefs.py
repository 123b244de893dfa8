"""How `Game.belief` follows a match: turn by turn, as a player does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ggp.belief import (
    MAX_ATTEMPTS,
    OWN_COMPLETIONS,
    Bags,
    HyperPlaySampler,
    PathTree,
    Quality,
    require_particles,
)
from ggp.errors import BeliefDepletedError, ConfigError
from ggp.machine.base import Machine
from ggp.players.tracker import Submission, Tracker
from ggp.search.anytime import Deadline


class FollowLimits(NamedTuple):
    """How a match is followed: see `Game.belief`."""

    particles: int
    exact: int
    attempts: int | None
    seconds: float | None


def followed(
    machine: Machine,
    role: int,
    history: Sequence[tuple[str | None, Sequence[str] | None]],
    limits: FollowLimits,
    rng: np.random.Generator,
) -> tuple[Bags, Quality]:
    """The bag of a role after what it did and saw, in terms that the rules know.

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
        deadline = None if limits.seconds is None else Deadline.after(limits.seconds)
        try:
            tracker.observe(move, percepts, Submission(), deadline)
        except BeliefDepletedError as error:
            if error.exhausted:
                raise
    require_particles(tracker.bag, tree, machine.states_visited - before)
    return tracker.bag, tracker.quality()


def checked_history(
    machine: Machine, history: Sequence[tuple[str | None, Sequence[str] | None]]
) -> None:
    """Check what a role did and saw.

    Raises:
        ConfigError: a term that the rules cannot make.
    """
    for move, percepts in history:
        if move is not None and machine.move_id(move) is None:
            raise ConfigError(f"{move} is no move of this game: its rules do not know the term")
        if percepts is not None and machine.percept_id(percepts) is None:
            raise ConfigError(f"{' '.join(percepts)} are no percepts of this game")
