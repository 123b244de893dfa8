"""The central abstraction: a game machine that works on batches of states.

Shape letters of the whole project: L lanes (states side by side), R roles (including
`random`), M moves, N particles, T turns.

Moves, percepts and roles are small integers. Role `r` is an index into `roles`. Move ids and
percept ids are interned lazily by each machine: they mean nothing to another machine, and
their order means nothing at all. A percept id stands for the whole *set* of percepts of one
role in one turn; id 0 is the empty set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ggp.run.clocks import TellsTime

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
"""Name of the limit that is passed by work that does not get the processor time it may use."""

GROUND_RULES = "ground rules"
"""Name of the limit that is passed by rules that become too many ground rules."""

PATIENCE = 4.0
"""Factor by which grounding may take longer by the clock than its processor time."""


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
        answer_size: words of all terms of a state, or of a role's moves or percepts: one for each
            function and each argument. Like `term_size`, only checked where terms may grow.
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
    answer_size: int = 400_000
    grounding_seconds: float = 60.0
    grounding_wait_seconds: float | None = None
    grounding_bytes: int = 4 << 30
    threads: int = 1

    @property
    def longest_grounding_s(self) -> float:
        """The greatest wall time for grounding, in seconds."""
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
    """The moves of `random` in each lane: lists like `Ragged`, with probabilities.

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
    """The results of playouts.

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


@runtime_checkable
class States(Protocol):
    """A batch of L states of one machine; a value: no operation changes it."""

    def __len__(self) -> int: ...

    def take(self, lanes: IntArray) -> States:
        """The lanes with these indices, in this order, repeats allowed."""
        ...


class ShownStates:
    """Shows a batch of states by what holds in the first."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        num = len(self)
        if not num:
            return "<no states>"
        first = " ".join(self.first_fluents()) or "nothing holds"
        return f"<state: {first}>" if num == 1 else f"<{num} states, the first: {first}>"

    def first_fluents(self) -> Sequence[str]:
        """The fluents of the first state; there is one."""
        raise NotImplementedError


class Machine(Protocol):
    """A game: pure functions of states and joint moves, in batches.

    One state is a batch of one. Joint moves are `[L, R]` arrays of move ids in role order. Several
    threads may call a machine at once. A copy (`copy.copy`) of it counts the states it visits for
    itself, and shares everything else.
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
        """`[L, R]` goal values; 0 where there is none, with a warning.

        Of several values, the one of the first rule in the rulesheet counts; of several from one
        rule, the highest; with a warning. Numbers outside `goal_range` are kept, with a warning.

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
        """The moves of `random` and their probabilities: uniform in GDL, but not in other games.

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
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        """Play uniformly random legal moves (`random`: by chance) from every lane to the end.

        Lanes that are not over after `max_steps` joint moves, or when `max_seconds` of a clock
        (`ggp.run.clocks`) have passed, are not finished.
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
        """The joint moves that percepts reveal for certain: see `joint_move_percepts` in `ggp.gdl`.

        Args:
            percepts: `[L]` percept ids, `UNKNOWN` allowed.

        Returns:
            `[L, R]` move ids, `UNKNOWN` where they do not; None in games whose percepts never do.
        """
        ...

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        """The fluents of every lane as canonical KIF, sorted, without `true`."""
        ...

    def close(self) -> None:
        """Release what the machine holds; it cannot be used afterwards."""
        ...


def even_chance(machine: Machine, states: States) -> Chance:
    """`Machine.chance` where all legal moves of `random` are equally likely, as in GDL-II."""
    if machine.random_role is None:
        none = np.zeros(0, dtype=np.int64)
        return Chance(np.zeros(len(states) + 1, dtype=np.int64), none, np.zeros(0))
    offsets, moves = machine.legal(states, machine.random_role, allow_stuck=True)
    counts = np.diff(offsets)
    return Chance(offsets, moves, np.repeat(1.0 / np.maximum(counts, 1), counts))


def is_open(machine: Machine) -> bool:
    """Whether the game has perfect information: percepts give all roles the joint moves."""
    return machine.told_moves(np.array([NO_PERCEPTS], dtype=np.int64)) is not None


def player_roles(machine: Machine) -> list[int]:
    """All roles except `random`."""
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
