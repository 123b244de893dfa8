"""Those who learn to respond to a fixed player: `Responder`, and the one that searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from ggp.belief import PathTree
from ggp.labs.learning.respond.movers import AskedPlayer, Mover, PolicyTeller, Uniform, new_stream
from ggp.labs.learning.respond.response_tree import Follower, ResponseTree, Walker
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
)
from ggp.machine.definition import GameDefinition
from ggp.run.clocks import cpu_seconds
from ggp.search.moves import random_moves
from ggp.solve.sampling import MakeChooser

CHEAP_LANES, ASKED_LANES = (256, 4096), (8, 32)
"""Matches of the first update, and most matches of one, or side by side: where all moves are made
by tables, and where players are asked. Matches of one update learn nothing from each other."""

_GROWTH = 1.1
"""By which updates grow."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a responder that learns.

    Attributes:
        updates: number of updates; the same seed then gives the same responder.
        seconds: of CPU time, to judge it included; None if updates alone decide.
    """

    updates: int | None
    seconds: float | None

    def is_over(self, updates: int, seconds: float) -> bool:
        """Whether so many updates, or seconds, are all that there may be."""
        most = self.updates, self.seconds
        return updates == most[0] or (most[1] is not None and seconds >= most[1])


@dataclass(frozen=True)
class Rival:
    """The player that is measured, as it moves in matches.

    Attributes:
        machine: plays them.
        make: makes a player for a role, as it is in one match; None for uniform random moves.
        tells: whether it may tell its policy.
        program: the rules of the game; without them nobody learns by gradients.
        few: whether an update has as few matches as if it were asked in each of them: then the same
            updates are the same responder's whoever is measured.
        told: what it told so far, by role: that is asked for only once.
    """

    machine: Machine
    make: MakeChooser | None
    tells: bool = False
    program: GameDefinition | None = None
    few: bool = False
    told: dict[int, PolicyTeller] = field(init=False, default_factory=dict)

    @cached_property
    def paths(self) -> PathTree:
        """Names incomplete paths."""
        return PathTree(self.machine)

    def movers(self, responder: int, rng: np.random.Generator) -> dict[int, Mover]:
        """The player in every role except that of the responder, and `random`.

        Whoever plays matches that go on while others are played needs movers of its own.
        """
        roles = range(len(self.machine.roles))
        others = [role for role in roles if role not in (responder, self.machine.random_role)]
        return {role: self._mover(role, new_stream(rng)) for role in others}

    @property
    def is_cheap(self) -> bool:
        """Whether there may be many matches side by side: nobody has to be asked in each."""
        return not self.few and (self.make is None or self.tells)

    @property
    def lanes(self) -> tuple[int, int]:
        """Matches of the first update, and most matches side by side.

        Each match has players of its own to be asked, so there must not be many at a time.
        """
        return CHEAP_LANES if self.is_cheap else ASKED_LANES

    def _mover(self, role: int, rng: np.random.Generator) -> Mover:
        if self.make is None:
            return Uniform(rng)
        if self.tells:
            if role not in self.told:
                self.told[role] = PolicyTeller(self.machine, self.paths, role, self.make, rng)
            return self.told[role]
        return AskedPlayer(self.machine, role, self.make, rng)


class Responder(Protocol):
    """Learns to respond in one role.

    Attributes:
        name: one word for how it does so.
    """

    name: str

    def learn(self, budget: Budget, after: Callable[[int], None]) -> None:
        """Learn from matches, update by update.

        Args:
            after: called after each update with the number of matches that were learned from.
        """
        ...

    def mover(self) -> Mover:
        """Plays as well as the responder can now, without learning."""
        ...


MakeResponder = Callable[[Rival, int, np.random.Generator], Responder | None]
"""Makes a responder for a role; None if it cannot play the game."""


class Searched:
    """The responder with a tree of its own paths, see `response_tree`."""

    name = "searched"

    def __init__(self, rival: Rival, role: int, rng: np.random.Generator) -> None:
        self._rival, self._role, self._rng = rival, role, rng
        self._others = rival.movers(role, rng)
        self._tree = ResponseTree(rival.machine, rival.paths)
        self._walker = Walker(self._tree, rng)

    def learn(self, budget: Budget, after: Callable[[int], None]) -> None:
        first, most = self._rival.lanes
        rival, role, walker = self._rival, self._role, self._walker
        began_s, lanes, matches, updates = cpu_seconds(), float(first), 0, 0
        while not updates or not budget.is_over(updates, cpu_seconds() - began_s):
            walker.learn(scores(rival, role, self._others, walker, int(lanes), self._rng))
            matches += int(lanes)
            updates += 1
            lanes = min(_GROWTH * lanes, most)
            after(matches)

    def mover(self) -> Mover:
        return Follower(self._tree, Uniform(new_stream(self._rng)))


def scores(
    rival: Rival,
    role: int,
    others: Mapping[int, Mover],
    mover: Mover,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """`[L]` goal values of a role in `count` new matches; the least where one was not over."""
    goals = goals_of(rival, {**others, role: mover}, count, rng)[:, role]
    return np.nan_to_num(goals, nan=rival.machine.goal_range[0])


def goals_of(
    rival: Rival, movers: Mapping[int, Mover], count: int, rng: np.random.Generator
) -> FloatArray:
    """`[L, R]` goal values in `count` new matches, not too many of them side by side."""
    _, most = rival.lanes
    parts = [
        play(rival.machine, rival.paths, movers, min(most, count - start), rng)
        for start in range(0, count, most)
    ]
    return np.concatenate(parts)


# ------------------------------------------------------------------------
# Plays many matches side by side, turn by turn, each role by a `Mover`.


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
