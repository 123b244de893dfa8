"""Plays many matches side by side, turn by turn, each role by a `Mover`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ggp.belief import PathTree
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
)
from ggp.respond.movers import Mover
from ggp.search.moves import random_moves


def play(
    machine: Machine,
    paths: PathTree,
    movers: Mapping[int, Mover],
    count: int,
    rng: np.random.Generator,
    max_turns: int = DEFAULT_MAX_STEPS,
) -> FloatArray:
    """`[L, R]` goals of `count` new matches; NaN in those that are not over after `max_turns`.

    Args:
        paths: names the paths of roles whose movers go by them.
        movers: of every role except `random`.
        rng: draws chance, and what is left of matches in which all roles move uniformly.

    Raises:
        NoLegalMoveError: a role has no legal move in a state that is not over.
        GoalError: a goal value is not a number.
    """
    goals = np.full((count, len(machine.roles)), np.nan)
    states, matches = machine.initial(count), np.arange(count)
    views = np.tile(np.arange(len(machine.roles)), (count, 1))
    for mover in movers.values():
        mover.begin(matches)
    told: tuple[IntArray, IntArray] | None = None
    for _ in range(max_turns):
        over = machine.terminal(states)
        goals[matches[over]] = machine.goals(states.take(np.flatnonzero(over)))
        going = ~over
        loose = going & _are_loose(movers, matches)
        if loose.any():
            ended = machine.playout(states.take(np.flatnonzero(loose)), rng, max_turns)
            goals[matches[loose]] = np.where(ended.finished[:, None], ended.goals, np.nan)
            going &= ~loose
        if not going.any():
            break
        if not going.all():
            states = states.take(np.flatnonzero(going))
            matches, views = matches[going], views[going]
        if told is not None:  # as in a match, nobody is asked about the last turn
            _tell(paths, movers, matches, views, *(each[going] for each in told))
        joint = _joint_moves(machine, movers, matches, states, views, rng)
        states, percepts = machine.step(states, joint)
        told = joint, percepts
    return goals


def _tell(
    paths: PathTree,
    movers: Mapping[int, Mover],
    matches: IntArray,
    views: IntArray,
    joint: IntArray,
    percepts: IntArray,
) -> None:
    """Tell movers of the turn before; `[L, R]` views are extended in place."""
    for role, mover in movers.items():
        if mover.needs_paths:
            views[:, role] = paths.extend(views[:, role], joint[:, role], percepts[:, role])
        mover.observe(matches, joint[:, role], percepts[:, role])


def _are_loose(movers: Mapping[int, Mover], matches: IntArray) -> BoolArray:
    found = np.ones(len(matches), dtype=np.bool_)
    for mover in movers.values():
        found &= mover.is_loose(matches)
    return found


def _joint_moves(
    machine: Machine,
    movers: Mapping[int, Mover],
    matches: IntArray,
    states: States,
    views: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    joint = np.empty((len(matches), len(machine.roles)), dtype=np.int64)
    for role in range(len(machine.roles)):
        if role == machine.random_role:
            joint[:, role] = random_moves(machine, states, role, rng)
        else:
            legal: Ragged = machine.legal(states, role)
            joint[:, role] = movers[role].moves(matches, views[:, role], legal)
    return joint
