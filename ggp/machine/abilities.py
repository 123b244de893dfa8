"""Abilities that some machines have beyond `Machine`. Callers ask, and do without where one lacks.

A machine that has the game as a circuit has many at once (see `on_circuit`); each of the others is
a protocol of its own, which callers ask for with `isinstance`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.gdl.program import RANDOM
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    States,
)
from ggp.run.clocks import TellsTime


class MovesTold(NamedTuple):
    """What is told of the moves after K joint moves; it means nothing where the game is over.

    Attributes:
        choices: `[K, R]` number of moves of each role, 2 for more.
        news: `[K, R]` whether a role has a move that it did not have before.
        agains: `[K, R]` whether it still has the move that it made.
    """

    choices: IntArray
    news: BoolArray
    agains: BoolArray

    @classmethod
    def joined(cls, parts: Sequence[MovesTold]) -> MovesTold | None:
        """What was told in several batches; None if in none."""
        return cls(*map(np.concatenate, zip(*parts, strict=True))) if parts else None


class Turned(NamedTuple):
    """K successors.

    Attributes:
        states: these.
        percepts: `[K, R]` percept ids of each role; none if not wanted.
        over: `[K]` whether each is terminal.
        told: of the moves afterwards; None if not known.
    """

    states: States
    percepts: IntArray
    over: BoolArray
    told: MovesTold | None = None


class TrialBatch(NamedTuple):
    """E moves to be tried, each a number of times in one state, and the U sums to add up.

    Attributes:
        lanes: `[E]` state of each; those of one state had better be neighbours.
        moves: `[E]` move ids.
        counts: `[E]` number of times that each is tried.
        into: `[E]` the sum that its playouts are added to, below U.
        weights: `[E]` the weight of each of its playouts.
        num_sums: U.
    """

    lanes: IntArray
    moves: IntArray
    counts: IntArray
    into: IntArray
    weights: FloatArray
    num_sums: int


class PlayoutSums(NamedTuple):
    """Random playouts of trials, summed up; those that did not finish count as `cut_value`.

    Attributes:
        goals: `[U]` weighted sum of a role's goal values.
        finished: whether all finished, see `Playouts`.
        steps: `[U]` the same of joint moves made, `[0]` where the spread was not asked for.
        squares: `[U]` the same of squared goal values.
        goal_steps: `[U]` the same of goal value times joint moves made.
    """

    goals: FloatArray
    finished: bool
    steps: FloatArray
    squares: FloatArray
    goal_steps: FloatArray


class PlayoutLimits(NamedTuple):
    """When playouts are cut off.

    Attributes:
        max_steps: joint moves of one.
        max_seconds: of all of them together, by the clock; None for no such limit.
        clock: see `ggp.run.clocks`.
    """

    max_steps: int = DEFAULT_MAX_STEPS
    max_seconds: float | None = None
    clock: TellsTime = time.monotonic


MOST_SUM = (1 << 24) - 1
"""Greatest sum of the weights of a role's moves in playouts by weight."""

UNLIMITED = PlayoutLimits()
"""No clock: only the number of joint moves is limited."""


@runtime_checkable
class Matcher(Protocol):
    """A machine that steps many lanes and keeps few, which saves making states of the others."""

    def step_matching(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        percepts: IntArray,
    ) -> tuple[IntArray, States] | None:
        """Like `step`, but only for joint moves after which a role sees given percepts.

        Args:
            states: L states.
            lanes: `[K]` the state of each joint move; equal ones had better be neighbours.
            joint_moves: `[K, R]` move ids.
            percepts: `[L]` percept id that the role is to get, `UNKNOWN` if any will do.

        Returns:
            the indices of the joint moves that match, increasing, and the successor states; None
            where the machine can do no better than `step`.
        """
        ...


@runtime_checkable
class StateWriter(Protocol):
    """A machine whose states can be stored, and restored on any machine of the same rules."""

    def written(self, states: States) -> list[tuple[str, ...]]:
        """The texts to store for each state."""
        ...

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> States:
        """The states that such texts were stored of.

        Raises:
            MachineError: a text cannot be a state of these rules.
        """
        ...


@runtime_checkable
class GoalTexts(Protocol):
    """A machine that gives goal values as the rules do, before they are settled."""

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        """For each lane and role, all goal values as canonical KIF, the ones that count first.

        A value that several rules give may be there several times.
        """
        ...


@runtime_checkable
class Prover(Protocol):
    """A machine that can find some moves without finding all, of which there may be too many.

    Both methods take one state, and may raise `ReasonerLimitError`. There are no legal moves in
    terminal states.
    """

    def some_legal(self, states: States, role: int, most: int) -> IntArray:
        """`[M]` legal moves of a role, at most `most`; empty only where there is none."""
        ...

    def is_legal(self, states: States, role: int, move: int) -> bool:
        """Whether a move is legal for a role."""
        ...


class Redrawn(NamedTuple):
    """Histories that agree with an incomplete path.

    Attributes:
        joint_moves: `[N, T, R]` for a path of T turns.
        states: `[N]` the states that they lead to.
    """

    joint_moves: IntArray
    states: States


class Redraws(Protocol):
    """Draws histories that agree with one incomplete path: see `Redrawer`."""

    def draw(self, states: States, count: int, stop: Callable[[], bool]) -> Redrawn:
        """Histories that agree with the path.

        They are drawn from their prior, in which the other roles move uniformly at random. Each is
        made by small changes of the one before: those that are drawn together are not independent.

        Args:
            states: ends of histories to begin with, the first one first; they need neither agree
                nor be of the path's length.
            count: the greatest number to draw.
            stop: asked now and then; when it returns true, no more are drawn.
        """
        ...

    def unfinished(self) -> States | None:
        """The end of the history that was being changed when drawing stopped, if it did not agree:
        one to begin with later, for this path or a longer one."""
        ...


@runtime_checkable
class Redrawer(Protocol):
    """A machine that knows the histories of states, and can change whole ones.

    It is for games in which much is decided before a role gets any percepts of it.
    """

    @property
    def redraws_histories(self) -> bool:
        """Whether it does so; if not, drawing turn by turn is as good."""
        ...

    def redraws(self, role: int, turns: IntArray, rng: np.random.Generator) -> Redraws:
        """An object that draws histories for a path.

        Args:
            role: not `random`.
            turns: `[T, 3]` move, percepts and refused move of each turn: see `PathTree.extend`.
            rng: source of all that is drawn.
        """
        ...


@runtime_checkable
class HasUtilities(Protocol):
    """A machine whose goal values stand for utilities, with the bounds of each for the other's."""

    @property
    def utility_range(self) -> tuple[float, float]:
        """The utilities that the bounds of `Machine.goal_range` stand for."""
        ...


@runtime_checkable
class Wordy(Protocol):
    """A machine that has words for terms that are mere numbers; each method takes one state."""

    def move_words(self, states: States, role: int, move: int) -> str:
        """The name of a legal move; empty for the only move of a role that has no choice."""
        ...

    def state_words(self, states: States) -> str:
        """The state for people to read, in one or several lines."""
        ...

    def knowledge_words(self, states: States, role: int) -> str:
        """The knowledge of a role there, in one or several lines; may be empty."""
        ...


def utility_of(machine: Machine, goal: float) -> float | None:
    """The utility that a goal value stands for; None if the machine has none."""
    if not isinstance(machine, HasUtilities):
        return None
    least, most = machine.goal_range
    low, high = machine.utility_range
    return low + (goal - least) / (most - least) * (high - low)


def utilities_of(machine: Machine, goals: Mapping[str, float]) -> dict[str, float]:
    """The utilities that goal values of roles stand for; empty if the machine has none."""
    found = {role: utility_of(machine, goal) for role, goal in goals.items() if role != RANDOM}
    return {role: utility for role, utility in found.items() if utility is not None}
