"""The protocol of game machines, which compute legal moves, successors and playouts in batches.

Every backend implements `Machine`; players, beliefs, solvers and servers play through it. Shape
letters of the whole project: L lanes (states side by side), R roles (including `random`), M moves,
N particles, T turns.

Moves, percepts and roles are small integers. Role `r` is an index into `roles`. Each machine gives
out move ids and percept ids when it first meets a move or percept: they mean nothing to another
machine, and their order means nothing. A percept id stands for the whole *set* of percepts of one
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
"""In place of the id of an unknown move or set of percepts."""

DEFAULT_MAX_STEPS = 1000
"""Joint moves after which a playout is cut off, since games may not terminate."""


WAITING = "seconds of waiting"
"""Name of the limit on wall time, for work that gets too little processor time."""

GROUND_RULES = "ground rules"
"""Name of the limit on the number of ground rules."""

PATIENCE = 4.0
"""Ratio of wall time to processor time that grounding may take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the time and memory of one call into a reasoner.

    Attributes:
        inferences: logical inferences for one lane of a call (one step, or the legal moves in one
            state); for a playout, for each of its steps.
        stack_bytes: size of the reasoner's stacks.
        table_bytes: size of its tables of intermediate answers.
        setup_inferences: inferences for compiling a game.
        seconds: wall time of a call into the reasoner; large batches are split into several calls.
        term_size: functions in one term (a fluent, move or percept, or the arguments of a
            recursive relation).
        answer_size: words of all terms of a state, or of a role's moves or percepts: one for each
            function and each argument. Like `term_size`, checked only where terms may grow.
        grounding_seconds: processor time for grounding the rules and building their circuit.
        grounding_wait_seconds: wall time for the same; None for `PATIENCE` times as long, so that a
            busy computer does not change which rules can be ground.
        grounding_bytes: address space for the same.
        threads: processors that a call of a machine, or a search on it, may use.

    >>> Limits(grounding_seconds=10).longest_grounding_s
    40.0
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
    """L lists of different lengths: lane i holds `values[offsets[i]:offsets[i + 1]]`.

    >>> lists = Ragged(np.array([0, 2, 3]), np.array([5, 7, 9]))
    >>> lists[0], lists.counts
    (array([5, 7]), array([2, 1]))
    """

    offsets: IntArray
    values: IntArray

    @property
    def counts(self) -> IntArray:
        """`[L]` length of each list."""
        return self.offsets[1:] - self.offsets[:-1]

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
    """The ends of L playouts.

    Attributes:
        goals: `[L, R]` goal values; 0 in lanes that are not finished. A value that is not a number
            counts as 0, with a warning: a player must not fail because of it.
        steps: `[L]` number of joint moves.
        finished: `[L]` whether a terminal state was reached. A lane that was cut off by
            `max_steps`, or in which a role had no legal move, is not finished.
    """

    goals: FloatArray
    steps: IntArray
    finished: BoolArray


@runtime_checkable
class States(Protocol):
    """A batch of L states of one machine; an immutable value."""

    def __len__(self) -> int: ...

    def take(self, lanes: IntArray) -> States:
        """The lanes with these indices, in this order, repeats allowed."""
        ...


class ShownStates:
    """Mixin whose `repr` of a batch of states shows the fluents of the first."""

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
        """The fluents of the first state of a batch that is not empty."""
        raise NotImplementedError


class Machine(Protocol):
    """A game: pure functions of states and joint moves, in batches.

    A single state is a batch of one. Joint moves are `[L, R]` arrays of move ids in role order.
    Several threads may call a machine at the same time. A copy (`copy.copy`) counts its visited
    states separately, and shares everything else. Every method that evaluates rules may raise
    `ReasonerLimitError`; the machine can be used again afterwards.

    >>> from ggp.gdl import parse
    >>> from ggp.gdl.normalize import normalize
    >>> from ggp.machine import build_machine
    >>> rules = "role(chooser). legal(chooser, left) :- not true(won). legal(chooser, right)."
    >>> rules += "next(won) :- does(chooser, left). terminal :- true(won). goal(chooser, 100)."
    >>> machine = build_machine(normalize(parse(rules)), backend="prolog")
    >>> states = machine.initial()
    >>> moves = machine.legal(states, role=0)
    >>> sorted(map(machine.move_text, moves[0].tolist()))
    ['left', 'right']
    >>> left = machine.move_id("left")
    >>> stepped = machine.step(states, np.array([[left]]))
    >>> machine.fluents(stepped.states), machine.terminal(stepped.states).tolist()
    ([('won',)], [True])
    >>> playouts = machine.playout(machine.initial(num_lanes=3), np.random.default_rng(1))
    >>> playouts.finished.tolist(), playouts.goals.tolist()
    ([True, True, True], [[100.0], [100.0], [100.0]])
    """

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the roles, including `random`, in the order of the rulesheet."""
        ...

    @property
    def random_role(self) -> int | None:
        """Index of the role `random`, None if the game has none."""
        ...

    @property
    def goal_range(self) -> tuple[float, float]:
        """Bounds on goal values; (0, 100) in GDL."""
        ...

    @property
    def states_visited(self) -> int:
        """Number of lanes stepped since the machine was built, in `step` and in `playout`."""
        ...

    @property
    def backend(self) -> str:
        """Name of the backend, as `--backend` takes it."""
        ...

    def initial(self, num_lanes: int = 1) -> States:
        """A batch of `num_lanes` initial states."""
        ...

    def concatenate(self, batches: Sequence[States]) -> States:
        """The lanes of several batches of this machine, one after the other."""
        ...

    def groups(self, states: States) -> IntArray:
        """`[L]` group numbers from 0, in order of appearance; equal states have equal numbers."""
        ...

    def terminal(self, states: States) -> BoolArray:
        """`[L]` whether the game is over."""
        ...

    def goals(self, states: States) -> FloatArray:
        """`[L, R]` goal values; 0 if there is none, with a warning.

        Of several values, the one from the first rule in the rulesheet counts; of several from one
        rule, the highest; with a warning. Numbers outside `goal_range` are kept, with a warning.

        Raises:
            GoalError: the goal value that counts is not a number.
        """
        ...

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        """The legal moves of a role in each lane, in an order that depends only on the state.

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
        """Play `joint_moves[L, R]`; states must not be terminal, and moves must be legal."""
        ...

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        """Play uniformly random legal moves (`random`: see `chance`) from every lane to the end.

        A lane is cut off after `max_steps` joint moves, or when `max_seconds` of the clock
        (`ggp.run.clocks`) have passed.
        """
        ...

    def move_id(self, move: str) -> int | None:
        """The id of a move in KIF; None if the rules can never make such a term."""
        ...

    def move_text(self, move: int) -> str:
        """A move as canonical KIF."""
        ...

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        """The id of a set of percepts in KIF; None as for `move_id`."""
        ...

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        """The percepts of a set as canonical KIF, sorted."""
        ...

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        """The joint moves that percepts reveal: see `ggp.gdl.analysis.told_moves`.

        Args:
            percepts: `[L]` percept ids, or `UNKNOWN`.

        Returns:
            `[L, R]` move ids, `UNKNOWN` for moves that are not revealed; None if the percepts of
            the game never reveal joint moves.
        """
        ...

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        """The fluents of each lane as canonical KIF, sorted, without `true`."""
        ...

    def close(self) -> None:
        """Release all resources; the machine cannot be used afterwards."""
        ...


def even_chance(machine: Machine, states: States) -> Chance:
    """Implements `Machine.chance` with equal probabilities for the legal moves, as in GDL-II."""
    if machine.random_role is None:
        none = np.zeros(0, dtype=np.int64)
        return Chance(np.zeros(len(states) + 1, dtype=np.int64), none, np.zeros(0))
    offsets, moves = machine.legal(states, machine.random_role, allow_stuck=True)
    counts = np.diff(offsets)
    return Chance(offsets, moves, np.repeat(1.0 / np.maximum(counts, 1), counts))


def is_open(machine: Machine) -> bool:
    """Whether the game has perfect information: percepts show all roles the joint moves."""
    return machine.told_moves(np.array([NO_PERCEPTS], dtype=np.int64)) is not None


def replace_lanes(machine: Machine, states: States, lanes: IntArray, by: States) -> States:
    """`[L]` the states, with the K states `by` in the lanes `lanes[K]`, which are distinct."""
    order = np.arange(len(states))
    order[lanes] = len(states) + np.arange(len(lanes))
    return machine.concatenate([states, by]).take(order)


def player_roles(machine: Machine) -> list[int]:
    """All roles except `random`."""
    return [role for role in range(len(machine.roles)) if role != machine.random_role]


def role_index(machine: Machine, name: str) -> int:
    """The index of a role.

    Raises:
        ConfigError: there is no such role; the message lists the roles.
    """
    from ggp.errors import ConfigError
    from ggp.gdl.nearest import unknown

    folded = name.lower()
    if folded not in machine.roles:
        possible = f"roles of this game: {', '.join(machine.roles)}"
        raise ConfigError(unknown("role", folded, machine.roles, possible))
    return machine.roles.index(folded)
