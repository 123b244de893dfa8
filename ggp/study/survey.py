"""Facts that hold in all matches of a game, found by visiting all its states.

Arrays of fixed shapes, and OpenSpiel, need facts about a game that a rulesheet does not state: how
long a match may be, whether the players' goals have a constant sum, whether two roles ever choose
in the same turn. If the game has few enough states, all of them are visited, layer by layer; equal
states of a layer are merged. So the results are certain. Nothing is claimed about larger games.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ggp.belief.turns.completions import LANES_AT_ONCE, never
from ggp.belief.turns.open_moves import Learnt, OpenMoves, open_moves
from ggp.machine.arrays import chunks, first_seen, offsets_of
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    UNKNOWN,
    FloatArray,
    IntArray,
    Machine,
    States,
    player_roles,
)

MOST_STATES = 100_000
"""Most states that are visited by default: a second or two."""

JOINT_MOVES_PER_STATE = 64
"""A turn may have this many times more joint moves to follow than states may be visited."""

SAME = 1e-9
"""Goal values, or sums of them, that are this close are equal."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts that hold in every match of a game of P players.

    Attributes:
        goals: `[K, P]` the distinct goal values of the players at ends of the game.
        simultaneous: whether two players ever have a choice in the same turn.
        most_decisions: choices of all players together in the longest match, not counting forced
            moves.
        most_chances: the same for `random`.
        most_turns: joint moves of the longest match.
        most_percepts: most percepts of a player in one turn.
    """

    goals: FloatArray
    simultaneous: bool
    most_decisions: int
    most_chances: int
    most_turns: int
    most_percepts: int

    @property
    def sum_of_goals(self) -> float | None:
        """The sum of all players' goal values if it is the same wherever the game ends."""
        sums = self.goals.sum(axis=1)
        return float(sums[0]) if len(sums) and np.ptp(sums) <= SAME * max(1.0, sums[0]) else None

    @property
    def is_common(self) -> bool:
        """Whether all players always have the same goal value."""
        return bool((np.ptp(self.goals, axis=1) <= SAME).all())


def survey(
    machine: Machine, most_states: int = MOST_STATES, stop: Callable[[], bool] = never
) -> Survey | None:
    """Visit all states of a game; None if there are more than `most_states`, or it may not end.

    When `stop` is true, which is asked before each batch of lanes, the result is None, too.

    Equal states of different turns are counted for each of them.

    Raises:
        NoLegalMoveError, ReasonerLimitError, GoalError: as the machine does.
    """
    players = player_roles(machine)
    found = _Found()
    layer = _Layer.first(machine)
    visited = 0
    for turn in range(DEFAULT_MAX_STEPS):
        found.most_turns = turn
        visited += len(layer)
        if visited > most_states:
            return None
        over = machine.terminal(layer.states)
        found.note(layer.take(np.flatnonzero(over)), machine, players)
        layer = layer.take(np.flatnonzero(~over))
        if not len(layer):
            return found.survey(machine)
        options = _all_moves(machine, layer.states)
        for role in range(len(machine.roles)):
            if (stuck := np.flatnonzero(options.moves[role].counts == 0)).size:
                machine.legal(layer.states.take(stuck), role)  # raises, and says where
        if options.counts.sum() > JOINT_MOVES_PER_STATE * most_states:
            return None
        chosen = np.sum([options.moves[role].counts > 1 for role in players], axis=0)
        found.simultaneous |= bool((chosen > 1).any())
        layer = layer.after_choices(chosen, _chance(machine, options, len(layer)))
        parts = list(_next(machine, layer, options, most_states, found, stop))
        if stop() or sum(map(len, parts)) > most_states:
            return None
        layer = _merged(machine, parts)
    return None


@dataclass(frozen=True, slots=True)
class _Layer:
    """Distinct states after a number of turns, with the most choices on a way to each."""

    states: States
    decisions: IntArray
    chances: IntArray

    def __len__(self) -> int:
        return len(self.decisions)

    @classmethod
    def first(cls, machine: Machine) -> _Layer:
        none = np.zeros(1, dtype=np.int64)
        return cls(machine.initial(1), none, none)

    def take(self, lanes: IntArray) -> _Layer:
        return _Layer(self.states.take(lanes), self.decisions[lanes], self.chances[lanes])

    def after_choices(self, decisions: IntArray, chances: IntArray) -> _Layer:
        return _Layer(self.states, self.decisions + decisions, self.chances + chances)


@dataclass(slots=True)
class _Found:
    """The facts found so far."""

    simultaneous: bool = False
    most_decisions: int = 0
    most_chances: int = 0
    most_turns: int = 0
    percepts: set[int] = field(default_factory=set)
    goals: list[FloatArray] = field(default_factory=list)

    def note(self, ends: _Layer, machine: Machine, players: list[int]) -> None:
        if len(ends):
            goals = machine.goals(ends.states)[:, players]
            self.goals.append(np.unique(goals, axis=0))
            self.most_decisions = max(self.most_decisions, int(ends.decisions.max()))
            self.most_chances = max(self.most_chances, int(ends.chances.max()))

    def survey(self, machine: Machine) -> Survey:
        return Survey(
            np.unique(np.concatenate(self.goals), axis=0),
            self.simultaneous,
            self.most_decisions,
            self.most_chances,
            self.most_turns,
            max((len(machine.percept_texts(each)) for each in self.percepts), default=0),
        )


def _all_moves(machine: Machine, states: States) -> OpenMoves:
    """The possible moves of every role in each lane: nothing is known of the turn."""
    unknown = np.full(len(states), UNKNOWN, dtype=np.int64)
    return open_moves(machine, player_roles(machine)[0], states, Learnt(unknown, unknown, unknown))


def _chance(machine: Machine, options: OpenMoves, num_lanes: int) -> IntArray:
    """`[L]` 1 where `random` has a choice."""
    if machine.random_role is None:
        return np.zeros(num_lanes, dtype=np.int64)
    return (options.moves[machine.random_role].counts > 1).astype(np.int64)


def _next(
    machine: Machine,
    layer: _Layer,
    options: OpenMoves,
    most_states: int,
    found: _Found,
    stop: Callable[[], bool],
) -> Iterator[_Layer]:
    """The successors by all joint moves, in parts; ends early if there are too many states, or when
    `stop` is true."""
    players = player_roles(machine)
    counts = options.counts.astype(np.int64)
    total = 0
    for start, end in chunks(counts, LANES_AT_ONCE):
        if stop():
            return
        sizes = counts[start:end]
        rows = np.repeat(np.arange(start, end), sizes)
        numbers = np.arange(len(rows)) - np.repeat(offsets_of(sizes)[:-1], sizes)
        joint_moves, _ = options.joint(rows, numbers)
        stepped = machine.step(layer.states.take(rows), joint_moves)
        found.percepts.update(np.unique(stepped.percepts[:, players]).tolist())
        after = _merged(
            machine, [_Layer(stepped.states, layer.decisions[rows], layer.chances[rows])]
        )
        total += len(after)
        yield after
        if total > JOINT_MOVES_PER_STATE * most_states:
            return


def _merged(machine: Machine, parts: list[_Layer]) -> _Layer:
    """The states of all parts, equal ones merged."""
    states = machine.concatenate([part.states for part in parts])
    first, group = first_seen(machine.groups(states))
    most = []
    for columns in ([p.decisions for p in parts], [p.chances for p in parts]):
        largest = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(largest, group, np.concatenate(columns))
        most.append(largest)
    return _Layer(states.take(first), *most)
