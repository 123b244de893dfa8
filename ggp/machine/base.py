"""The one central abstraction: a game machine that works on batches of states.

Shape letters of the whole project: L lanes (states side by side), R roles (including
`random`), M moves, N particles, T turns.

Moves, percepts and roles are small integers. Role `r` is an index into `roles`. Move ids and
percept ids are interned lazily by each machine: they mean nothing to another machine, and
their order means nothing at all. A percept id stands for the whole *set* of percepts of one
role in one turn; id 0 is the empty set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.program import RANDOM

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]

NO_PERCEPTS = 0
"""Id of the empty set of percepts."""

UNKNOWN = -1
"""Stands for a move or percept set that is not known."""

DEFAULT_MAX_STEPS = 1000
"""Steps after which a playout is cut off; strangers' games may not terminate."""


WAITING = "seconds of waiting"
"""Which limit is passed by what does not get the processor time it may use."""

PATIENCE = 4.0
"""How much longer than its processor time grounding may take by the clock."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one call into a reasoner may use.

    Attributes:
        inferences: logical inferences for one lane of a call (one step, or one state's
            legal moves); for a playout, for each of its steps.
        stack_bytes: size of the reasoner's stacks.
        table_bytes: size of its tables of intermediate results.
        setup_inferences: inferences for compiling a game.
        seconds: wall time of any one call into the reasoner; large batches are split into
            several calls.
        term_size: functions in one term (a fluent, move or percept, or the arguments of a
            relation that recurs).
        grounding_seconds: processor time for grounding the rules and building their circuit.
        grounding_wait_seconds: wall time for that; None for `PATIENCE` times as long, so that a
            busy computer does not change which rules can be ground.
        grounding_bytes: address space for that.
        threads: processors that a call of a machine, or a search on it, may use.
    """

    inferences: int = 20_000_000
    stack_bytes: int = 1 << 30
    table_bytes: int = 1 << 28
    setup_inferences: int = 100_000_000
    seconds: float = 300.0
    term_size: int = 2_000
    grounding_seconds: float = 60.0
    grounding_wait_seconds: float | None = None
    grounding_bytes: int = 4 << 30
    threads: int = 1

    @property
    def longest_grounding_s(self) -> float:
        """The wall time for grounding."""
        if self.grounding_wait_seconds is not None:
            return self.grounding_wait_seconds
        return PATIENCE * self.grounding_seconds


class Ragged(NamedTuple):
    """L lists of different lengths: lane i holds `values[offsets[i]:offsets[i + 1]]`."""

    offsets: IntArray
    values: IntArray

    @property
    def counts(self) -> IntArray:
        """`[L]` length of each list."""
        return np.diff(self.offsets)

    def __getitem__(self, lane: int) -> IntArray:  # type: ignore[override]
        return self.values[self.offsets[lane] : self.offsets[lane + 1]]


class Chance(NamedTuple):
    """What `random` may do in each lane: lists like `Ragged`, with probabilities.

    `probabilities` has the shape of `moves` and sums to 1 in every lane with moves.
    """

    offsets: IntArray
    moves: IntArray
    probabilities: FloatArray


class Stepped(NamedTuple):
    """Successor states, and `[L, R]` percept ids of each role."""

    states: States
    percepts: IntArray


class Playouts(NamedTuple):
    """How playouts ended.

    Attributes:
        goals: `[L, R]` goal values, 0 in lanes that did not finish. A value that is not a
            number counts as 0, with a warning: a player must not fail because of it.
        steps: `[L]` joint moves made.
        finished: `[L]` whether a terminal state was reached. A lane that was cut off by
            `max_steps`, or got stuck because a role had no legal move, is not finished.
    """

    goals: FloatArray
    steps: IntArray
    finished: BoolArray


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
class States(Protocol):
    """A batch of L states of one machine; a value: no operation changes it."""

    def __len__(self) -> int: ...

    def take(self, lanes: IntArray) -> States:
        """The lanes with these indices, in this order, repeats allowed."""
        ...


class Machine(Protocol):
    """A game: pure functions of states and joint moves, in batches.

    One state is a batch of one. Joint moves are `[L, R]` arrays of move ids in role order.
    Every method that reasons may raise `ReasonerLimitError`; the machine can be used again
    afterwards.
    """

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the roles in the order of the rulesheet, `random` among them."""
        ...

    @property
    def random_role(self) -> int | None:
        """Index of the role `random`, None if the game has none."""
        ...

    @property
    def goal_range(self) -> tuple[float, float]:
        """Bounds of goal values; (0, 100) in GDL."""
        ...

    @property
    def states_visited(self) -> int:
        """Lanes stepped since the machine was built, in `step` and in `playout`."""
        ...

    @property
    def backend(self) -> str:
        """Name of the backend, as `--backend` takes it."""
        ...

    def initial(self, num_lanes: int = 1) -> States:
        """The initial state, in `num_lanes` lanes."""
        ...

    def concatenate(self, batches: Sequence[States]) -> States:
        """The lanes of several batches of this machine, one after the other."""
        ...

    def groups(self, states: States) -> IntArray:
        """`[L]` numbers 0.. in order of first appearance: equal where states are equal."""
        ...

    def terminal(self, states: States) -> BoolArray:
        """`[L]` whether the game is over."""
        ...

    def goals(self, states: States) -> FloatArray:
        """`[L, R]` goal values; 0 for none, with a warning.

        Of several that of the first rule in the rulesheet counts, of several that one rule gives
        the highest, with a warning. Numbers outside `goal_range` are kept, with a warning.

        Raises:
            GoalError: the goal value that counts is not a number.
        """
        ...

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        """The legal moves of a role in each lane, in an order that depends on the state only.

        Terminal lanes have no moves.

        Raises:
            NoLegalMoveError: the role has no legal move in a lane that is not terminal,
                unless `allow_stuck`.
        """
        ...

    def chance(self, states: States) -> Chance:
        """The moves of `random` and their probabilities: uniform in GDL, not elsewhere.

        Lanes that are terminal or stuck, or of games without `random`, have no moves.
        """
        ...

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        """Play `joint_moves[L, R]`; terminal or illegal play is the caller's mistake."""
        ...

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
    ) -> Playouts:
        """Play uniformly random legal moves (`random`: by chance) from every lane to the end.

        Lanes that are not over after `max_steps` joint moves, or when `max_seconds` have
        passed, are not finished.
        """
        ...

    def move_id(self, move: str) -> int | None:
        """The id of a move given as KIF, or None if no rule could ever make such a term."""
        ...

    def move_text(self, move: int) -> str:
        """A move as canonical KIF."""
        ...

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        """The id of a set of percepts given as KIF terms, or None as for `move_id`."""
        ...

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        """The percepts of a set as canonical KIF, sorted."""
        ...

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        """The joint moves that percepts tell for certain, see `ggp.gdl.telling.told_by`.

        Args:
            percepts: `[L]` percept ids, `UNKNOWN` allowed.

        Returns:
            `[L, R]` move ids, `UNKNOWN` where they do not tell; None in games whose percepts
            never do.
        """
        ...

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        """The fluents of every lane as canonical KIF, sorted, without `true`."""
        ...

    def close(self) -> None:
        """Give back what the machine holds; it cannot be used afterwards."""
        ...


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
    ) -> PlayoutSums:
        """Try moves of a role: make them in their states, and play on randomly to the end.

        The others' moves are random from the first on; where the move is not legal, it is a
        random legal one.

        Args:
            cut_value: what playouts count as that do not finish.
            spread: also sum up squares and steps.
            max_steps, max_seconds: see `Machine.playout`.
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


def is_open(machine: Machine) -> bool:
    """Whether everybody knows everything: percepts tell all roles the joint moves."""
    return machine.told_moves(np.array([NO_PERCEPTS], dtype=np.int64)) is not None


def player_roles(machine: Machine) -> list[int]:
    """All roles but `random`."""
    return [role for role in range(len(machine.roles)) if role != machine.random_role]


def role_index(machine: Machine, name: str) -> int:
    """The index of a role.

    Raises:
        ConfigError: there is no such role; the message lists those there are.
    """
    from ggp.errors import ConfigError
    from ggp.gdl.nearest import unknown

    folded = name.lower()
    if folded not in machine.roles:
        possible = f"roles of this game: {', '.join(machine.roles)}"
        raise ConfigError(unknown("role", folded, machine.roles, possible))
    return machine.roles.index(folded)
