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
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.errors import BeliefDepletedError, ConfigError
from ggp.machine.base import UNKNOWN, Machine
from ggp.players.parts.tracker import Submission, Tracker
from ggp.search.anytime import Deadline

ENDS_TRIED = 1_000
"""Joint moves tried to find out whether a turn that no particle agrees with ended the match."""


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
        ConfigError: the match was over after one of the turns.
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
    for turn, (move, percepts) in enumerate(history, start=1):
        known = tracker.bag
        deadline = None if limits.seconds is None else Deadline.after(limits.seconds)
        try:
            tracker.observe(move, percepts, Submission(), deadline)
        except BeliefDepletedError as error:
            # Of a turn that others follow, particles that were not found may be found later.
            if error.exhausted or turn == len(history):
                _require_goes_on(machine, role, known, move, percepts, turn, rng)
            if error.exhausted:
                raise
    require_particles(tracker.bag, tree, machine.states_visited - before)
    return tracker.bag, tracker.quality()


def _require_goes_on(
    machine: Machine,
    role: int,
    known: Bags,
    move: str | None,
    percepts: Sequence[str] | None,
    turn: int,
    rng: np.random.Generator,
) -> None:
    """Check that a turn after which there is no particle did not end the match.

    Particles are states in which a move is still asked for. So after the last turn there are none,
    although what was told may well have happened.

    Args:
        known: the bag before the turn.

    Raises:
        ConfigError: the match was over after the turn.
    """
    if known.depleted[0]:
        return
    states = known.states_of(0)
    states = states.take(rng.integers(len(states), size=ENDS_TRIED))
    moved = UNKNOWN if move is None else machine.move_id(move)
    seen = UNKNOWN if percepts is None else machine.percept_id(percepts)
    told = np.tile(np.array([[moved], [seen], [UNKNOWN]]), len(states))
    options = open_moves(machine, role, states, Learnt(*told))
    lanes = np.flatnonzero(options.counts > 0)
    joint, _ = options.random(lanes, rng)
    stepped = machine.step(states.take(lanes), joint)
    ended = machine.terminal(stepped.states)
    if seen != UNKNOWN:
        ended &= stepped.percepts[:, role] == seen
    if ended.any():
        raise ConfigError(
            f"the match is over after turn {turn} of this history: a belief is about a match that "
            f"goes on; give the turns before it only"
        )


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
