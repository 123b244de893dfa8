"""Protocols for abilities that only some machines have, beyond `Machine`.

Searches and beliefs test for an ability with `isinstance`, and take a slower way without it.
Machines with a circuit have many further methods: see `on_circuit`.
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


class MoveFacts(NamedTuple):
    """A summary of the legal moves after K joint moves; undefined in terminal states.

    Attributes:
        choices: `[K, R]` number of legal moves of each role, at most 2.
        news: `[K, R]` whether a role has a move that it did not have before.
        agains: `[K, R]` whether a role still has the move that it just made.
    """

    choices: IntArray
    news: BoolArray
    agains: BoolArray

    @classmethod
    def joined(cls, parts: Sequence[MoveFacts]) -> MoveFacts | None:
        """The summaries of several batches, one after the other; None if there are none."""
        return cls(*map(np.concatenate, zip(*parts, strict=True))) if parts else None


class Turned(NamedTuple):
    """K successors.

    Attributes:
        states: the successors.
        percepts: `[K, R]` percept ids of each role; empty if the caller needs none.
        over: `[K]` whether each successor is terminal.
        move_facts: a summary of the legal moves in the successors; None if unknown.
    """

    states: States
    percepts: IntArray
    over: BoolArray
    move_facts: MoveFacts | None = None


class TrialBatch(NamedTuple):
    """E entries, each for a number of playouts after one move in one state.

    Attributes:
        lanes: `[E]` the state; faster if entries of the same state are neighbours.
        moves: `[E]` the move id.
        counts: `[E]` the number of playouts.
    """

    lanes: IntArray
    moves: IntArray
    counts: IntArray


class PlayoutSums(NamedTuple):
    """Sums over the random playouts of E entries; an unfinished one counts as `cut_value`.

    Attributes:
        goals: `[E]` sum of a role's goal values.
        finished: whether all playouts finished, see `Playouts`.
        steps: `[E]` sum of the numbers of joint moves; `[0]` if the caller needs no variance.
        squares: `[E]` sum of squared goal values.
        goal_steps: `[E]` sum of goal values times numbers of joint moves.
    """

    goals: FloatArray
    finished: bool
    steps: FloatArray
    squares: FloatArray
    goal_steps: FloatArray


class PlayoutLimits(NamedTuple):
    """Limits after which playouts are cut off.

    Attributes:
        max_steps: joint moves of one playout.
        max_seconds: seconds by the clock for all playouts together; None for no limit.
        clock: see `ggp.run.clocks`.
    """

    max_steps: int = DEFAULT_MAX_STEPS
    max_seconds: float | None = None
    clock: TellsTime = time.monotonic


MAX_SUM = (1 << 24) - 1
"""Greatest sum of the weights of a role's moves in playouts by weight."""

UNLIMITED = PlayoutLimits()
"""No limit on time, and the default limit on joint moves."""


@runtime_checkable
class Matcher(Protocol):
    """A machine that steps many lanes and makes states only for the few whose percepts match."""

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
            lanes: `[K]` the state of each joint move; faster if equal states are neighbours.
            joint_moves: `[K, R]` move ids.
            percepts: `[L]` percept id that the role must get; `UNKNOWN` for any.

        Returns:
            the indices of the joint moves that match, increasing, and the successor states; None
            if the machine is no faster than `step`.
        """
        ...


@runtime_checkable
class InfersMoves(Protocol):
    """A machine that infers from percepts which moves were not made."""

    def may_cause(self, moves: IntArray, mover: int, percepts: int, role: int) -> BoolArray | None:
        """Whether the percepts of a role may stem from moves of another, in any state.

        Args:
            moves: `[M]` move ids.
            percepts: percept id of the role after them.

        Returns:
            `[M]`; a move that may cause the percepts need not do so. None if any move may.
        """
        ...


@runtime_checkable
class StateWriter(Protocol):
    """A machine whose states can be stored, and restored by any machine of the same rules."""

    def written(self, states: States) -> list[tuple[str, ...]]:
        """For each state, the texts to store."""
        ...

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> States:
        """The states for stored texts.

        Raises:
            MachineError: a text cannot be a state of these rules.
        """
        ...


@runtime_checkable
class GoalTexts(Protocol):
    """A machine that lists all goal values that the rules give."""

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        """For each lane and role, all goal values as canonical KIF; the first one counts.

        A value from several rules may occur several times.
        """
        ...


@runtime_checkable
class Prover(Protocol):
    """A machine that can find some legal moves without finding all, which may be too many.

    Both methods take one state, and may raise `ReasonerLimitError`. Terminal states have no legal
    moves.
    """

    def some_legal(self, states: States, role: int, most: int) -> IntArray:
        """`[M]` at most `most` legal moves of a role; empty only if there is none."""
        ...

    def is_legal(self, states: States, role: int, move: int) -> bool:
        """Whether a move is legal for a role."""
        ...


class Redrawn(NamedTuple):
    """N complete paths that agree with an incomplete path.

    Attributes:
        joint_moves: `[N, T, R]` move ids, for T turns.
        states: `[N]` the states at their ends.
    """

    joint_moves: IntArray
    states: States


class Redraws(Protocol):
    """Draws complete paths that agree with one incomplete path: see `Redrawer`."""

    def draw(self, states: States, count: int, stop: Callable[[], bool]) -> Redrawn:
        """Draw complete paths that agree with the incomplete path.

        Their distribution is the prior, in which the other roles move uniformly at random. Each is
        a small change of the one before, so draws of one call are not independent.

        Args:
            states: ends of complete paths to start from, in order of preference; these need not
                agree, nor have the same length.
            count: the greatest number of draws.
            stop: called now and then; drawing ends when it returns true.
        """
        ...

    def unfinished(self) -> States | None:
        """The state at the end of the last complete path if it does not agree yet: a start for the
        next call, for this incomplete path or a longer one."""
        ...


@runtime_checkable
class Redrawer(Protocol):
    """A machine that knows the complete path to each state, and can change whole paths.

    This helps in games where much is decided before a role perceives anything of it.
    """

    @property
    def redraws_histories(self) -> bool:
        """Whether redrawing helps in this game; if not, drawing turn by turn is as good."""
        ...

    def redraws(self, role: int, turns: IntArray, rng: np.random.Generator) -> Redraws:
        """An object that draws complete paths for an incomplete path.

        Args:
            role: the role of the incomplete path; not `random`.
            turns: `[T, 3]` move, percepts and refused move of each turn: see `PathTree.extend`.
            rng: the source of randomness.
        """
        ...


@runtime_checkable
class HasUtilities(Protocol):
    """A machine whose goal values stand for utilities: one range is mapped to the other."""

    @property
    def utility_range(self) -> tuple[float, float]:
        """The utilities for the two bounds of `Machine.goal_range`."""
        ...


@runtime_checkable
class Wordy(Protocol):
    """A machine that can describe moves and states in words; each method takes one state."""

    def move_words(self, states: States, role: int, move: int) -> str:
        """The name of a legal move; empty for the only move of a role without a choice."""
        ...

    def state_words(self, states: States) -> str:
        """A description of the state, in one or several lines."""
        ...

    def knowledge_words(self, states: States, role: int) -> str:
        """A description of the role's knowledge, in one or several lines; may be empty."""
        ...


def utility_of(machine: Machine, goal: float) -> float | None:
    """The utility of a goal value; None if the machine has no utilities."""
    if not isinstance(machine, HasUtilities):
        return None
    min_goal, max_goal = machine.goal_range
    low, high = machine.utility_range
    return low + (goal - min_goal) / (max_goal - min_goal) * (high - low)


def utilities_of(machine: Machine, goals: Mapping[str, float]) -> dict[str, float]:
    """The utilities of goal values of players; empty if the machine has no utilities."""
    utilities = {role: utility_of(machine, goal) for role, goal in goals.items() if role != RANDOM}
    return {role: utility for role, utility in utilities.items() if utility is not None}
