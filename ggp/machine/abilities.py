"""What some machines can do beyond `Machine`, each a protocol of its own.

Callers ask with `isinstance`, and do without where a machine cannot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ggp.clocks import TellsTime
from ggp.gdl.program import RANDOM
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
    WordArray,
)
from ggp.machine.propnet.circuit import Circuit


class TrialBatch(NamedTuple):
    """E moves to be tried, each so many times in one state, and what to add up: U sums.

    Attributes:
        lanes: `[E]` state of each; those of one state had better be neighbours.
        moves: `[E]`.
        counts: `[E]` how often each is tried.
        into: `[E]` sum that its playouts count in, below U.
        weights: `[E]` by what each playout counts.
        num_sums: U.
    """

    lanes: IntArray
    moves: IntArray
    counts: IntArray
    into: IntArray
    weights: FloatArray
    num_sums: int


class PlayoutSums(NamedTuple):
    """Random playouts of trials, summed up; those that did not finish have a value given.

    Attributes:
        goals: `[U]` weighted sum of a role's goal values.
        finished: whether all finished, see `Playouts`.
        steps: `[U]` likewise of joint moves made, `[0]` where the spread was not asked for.
        squares: `[U]` likewise of squared goal values.
        goal_steps: `[U]` likewise of goal value times joint moves made.
    """

    goals: FloatArray
    finished: bool
    steps: FloatArray
    squares: FloatArray
    goal_steps: FloatArray


@runtime_checkable
class TrialPlayer(Protocol):
    """A machine that plays trials of moves out by itself, which saves making their first steps.

    Attributes:
        side_by_side: playouts that take about as long together as one alone.
    """

    side_by_side: int

    def playouts_after(
        self,
        states: States,
        role: int,
        trials: TrialBatch,
        rng: np.random.Generator,
        *,
        cut_value: float,
        spread: bool,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> PlayoutSums:
        """Try moves of a role: make them in their states, and play on randomly to the end.

        The others' moves are random from the first on; where the move is not legal, it is a
        random legal one.

        Args:
            cut_value: what playouts count as that do not finish.
            spread: also sum up squares and steps.
            max_steps, max_seconds, clock: see `Machine.playout`.
        """
        ...


@runtime_checkable
class Matcher(Protocol):
    """A machine that steps many lanes and keeps few, which saves telling what the others are."""

    def step_matching(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        percepts: IntArray,
    ) -> tuple[IntArray, States] | None:
        """Like `step`, for those joint moves after which a role sees what it is to see.

        Args:
            states: L states.
            lanes: `[K]` which of them each joint move is made in; neighbours had better be equal.
            joint_moves: `[K, R]`.
            percepts: `[L]` percept id that the role is to get, `UNKNOWN` if that may be any.

        Returns:
            the indices of the joint moves that match, increasing, and the successor states; None
            where the machine cannot do it better than `step`.
        """
        ...


@runtime_checkable
class Detective(Protocol):
    """A machine that tells which moves may be behind percepts, without trying them."""

    def legal_behind(
        self, states: States, mover: int, percepts: IntArray, role: int, more_than: int
    ) -> tuple[Ragged, IntArray] | None:
        """Legal moves of a role without those that cannot be behind what another role sees.

        Moves that are left may yet give other percepts.

        Args:
            states: L states; where the mover is stuck it has no moves.
            mover: whose moves.
            percepts: `[L]` id of what the other role sees after them, `UNKNOWN` if not known.
            role: who sees that.
            more_than: lanes with as few legal moves keep all.

        Returns:
            The moves, and `[L]` how many are legal; None where the mover never has more.
        """
        ...


@runtime_checkable
class OnCircuit(Protocol):
    """A machine that has the game as a circuit, for those who ask it other questions.

    Attributes:
        circuit: of the game. Where moves of `random` are made part by part (`InParts`), its roles
            are more than those of the game.
        states_visited: see `Machine.states_visited`; whoever asks other questions adds to it.
    """

    circuit: Circuit
    states_visited: int

    def circuit_moves(self, role: int) -> IntArray:
        """`[M]` ids of a role's moves, in the order of the circuit."""
        ...


@runtime_checkable
class InParts(Protocol):
    """A machine that makes moves of `random` part by part, because they are too many to list.

    `Machine.legal` and `Machine.chance` list them up to a bound, and raise `ReasonerLimitError`
    beyond it. A move is a *row* of 1 + K numbers here, of which not all that may be chosen fit
    together.
    """

    def draw_chance(self, states: States, rng: np.random.Generator) -> IntArray:
        """`[L]` a move of `random` in each lane, by chance; `UNKNOWN` where it has none."""
        ...

    def count_chance(self, states: States) -> FloatArray:
        """`[L]` how many moves `random` has: exact, or where that would take too long an estimate
        without bias; 0 only where there is none."""
        ...

    def is_legal_chance(self, states: States, moves: IntArray) -> BoolArray:
        """`[L]` whether a move is legal for `random` in each lane."""
        ...

    def fits(self, states: States, lanes: IntArray, joint_moves: IntArray) -> BoolArray:
        """`[K]` whether joint moves made of what may be chosen in some lanes fit together."""
        ...

    def chance_columns(self, states: States, percepts: IntArray, role: int) -> list[Ragged]:
        """For each place of a row what may be chosen there, and may be behind what a role sees.

        Args:
            percepts: `[L]` what the role sees after the move, `UNKNOWN` if that is not known.
        """
        ...

    def chance_rows(self, moves: IntArray) -> IntArray:
        """`[K, 1 + parts]` rows of moves of `random`."""
        ...

    def chance_moves(self, rows: IntArray) -> IntArray:
        """`[K]` the moves that have these rows."""
        ...


@runtime_checkable
class FluentBits(Protocol):
    """A machine that tells in batches which fluents hold."""

    @property
    def fluent_names(self) -> tuple[str, ...]:
        """The fluents that may hold, as canonical KIF."""
        ...

    def fluent_words(self, states: States) -> WordArray:
        """`[L, ceil(F / 64)]` which of them hold: bit f % 64 of word f // 64 is fluent f."""
        ...

    def fluent_bits(self, states: States) -> BoolArray:
        """`[L, F]` the same, unpacked."""
        ...


@runtime_checkable
class FluentSetter(Protocol):
    """A machine that makes states of fluents."""

    def from_fluent_bits(self, bits: BoolArray) -> States:
        """The states in which these hold, given as `FluentBits.fluent_bits` gives them.

        That there can be such states is up to the caller: what holds in all states that can be
        reached is taken for granted by machines.
        """
        ...


@runtime_checkable
class StateWriter(Protocol):
    """A machine whose states can be stored, and are found again on any machine of these rules."""

    def written(self, states: States) -> list[tuple[str, ...]]:
        """What to store of each state."""
        ...

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> States:
        """The states that were stored.

        Raises:
            MachineError: a state can be none of these rules.
        """
        ...


@runtime_checkable
class GoalTexts(Protocol):
    """A machine that tells goal values as the rules give them, before they are settled."""

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        """For each lane and role all goal values as canonical KIF, those that count first.

        A value that several rules give may be there several times.
        """
        ...


@runtime_checkable
class Prover(Protocol):
    """A machine that can tell some moves without finding all, of which there may be too many.

    Both take one state, and may raise `ReasonerLimitError`. Over games have no legal moves.
    """

    def some_legal(self, states: States, role: int, most: int) -> IntArray:
        """`[M]` legal moves of a role, at most so many; none only where there is none."""
        ...

    def is_legal(self, states: States, role: int, move: int) -> bool:
        """Whether a move is legal for a role."""
        ...


class Redrawn(NamedTuple):
    """Histories that agree with an incomplete path.

    Attributes:
        joint_moves: `[N, T, R]` for a path of T turns.
        states: `[N]` where they lead to.
    """

    joint_moves: IntArray
    states: States


class Redraws(Protocol):
    """Draws histories that agree with one incomplete path: see `Redrawer`."""

    def draw(self, states: States, count: int, stop: Callable[[], bool]) -> Redrawn:
        """Histories that agree with the path.

        They are drawn by their prior when the other roles move evenly, though one after the other
        is made by small changes: those that are drawn together are not independent.

        Args:
            states: ends of histories to begin with, the first one first; they need neither agree
                nor be as long.
            count: how many to draw at most.
            stop: asked now and then; when true, no more are drawn.
        """
        ...

    def unfinished(self) -> States | None:
        """The end of the history that was worked on when it was stopped, if it did not agree: one
        to begin with later, for this path or a longer one."""
        ...


@runtime_checkable
class Redrawer(Protocol):
    """A machine that knows the histories of states, and can change whole ones.

    It is for games in which much is decided before a role is told anything of it.
    """

    @property
    def redraws_histories(self) -> bool:
        """Whether it does so; else turn by turn is as good."""
        ...

    def redraws(self, role: int, turns: IntArray, rng: np.random.Generator) -> Redraws:
        """What draws histories for a path.

        Args:
            role: not `random`.
            turns: `[T, 3]` move, percepts and refused move of each turn: see `PathTree.extend`.
            rng: draws all that is drawn.
        """
        ...


@runtime_checkable
class HasUtilities(Protocol):
    """A machine whose goal values stand for utilities: bounds of one for bounds of the other."""

    @property
    def utility_range(self) -> tuple[float, float]:
        """The utilities that the bounds of `Machine.goal_range` stand for."""
        ...


@runtime_checkable
class Wordy(Protocol):
    """A machine that has words for what its terms only number; each method takes one state."""

    def move_words(self, states: States, role: int, move: int) -> str:
        """What a legal move is called; empty for the one move of those who have no choice."""
        ...

    def state_words(self, states: States) -> str:
        """The state for people, of one or several lines."""
        ...

    def knowledge_words(self, states: States, role: int) -> str:
        """What a role knows there, of one or several lines; may be empty."""
        ...


def utility_of(machine: Machine, goal: float) -> float | None:
    """The utility that a goal value stands for; None where goals are all there is."""
    if not isinstance(machine, HasUtilities):
        return None
    least, most = machine.goal_range
    low, high = machine.utility_range
    return low + (goal - least) / (most - least) * (high - low)


def utilities_of(machine: Machine, goals: Mapping[str, float]) -> dict[str, float]:
    """The utilities that goal values of roles stand for; empty where goals are all there is."""
    found = {role: utility_of(machine, goal) for role, goal in goals.items() if role != RANDOM}
    return {role: utility for role, utility in found.items() if utility is not None}
