"""Layers of states that worlds have in common, and values backed up through them.

Every turn makes a layer. Equal states of a layer are merged, whichever worlds and moves lead to
them, so that whole games of hundreds of thousands of states can be searched. `ggp.machine.layers`
finds them, and says how choices are made in all states at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from ggp.machine.abilities import MovesTold
from ggp.machine.arrays import first_seen, offsets_of, segment_ids, take_segments
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.layers import JointMoves, StateMerger
from ggp.search.anytime import Deadline, Pace
from ggp.search.estimates import TIE_TOLERANCE
from ggp.search.moves import LANES_AT_ONCE, TIMED_LANES, joint_moves
from ggp.search.refusals import refused_tries, turned

MADE_AT_ONCE = 2 * LANES_AT_ONCE
"""Joint moves made at once, at most. Where equal states of several batches have to be merged, a
board of kriegspiel at depth 2 takes a tenth longer (`python -m benchmarks --only boards`)."""


class Backed(NamedTuple):
    """Values of S states or moves.

    Attributes:
        values: `[R, S]` for every role: values gathered by role are gathered fast.
        variances: `[S]` of our role's value, from the noise of what was not solved.
    """

    values: FloatArray
    variances: FloatArray


@dataclass(frozen=True)
class _Layer:
    """The joint moves of the open states of a level, and where they lead.

    Attributes:
        moves: their joint moves.
        after: `[J]` state of the next level that each of these leads to.
    """

    moves: JointMoves
    after: IntArray


@dataclass
class _Level:
    """The states of a turn.

    Attributes:
        open: the states that are to be searched, or valued.
        places: `[O]` their indices among the states of the level.
        values: `[R, S]` goals of states that are over; undefined for the others.
        choices: `[O, R]` number of moves of each role in the open states, if it was found.
    """

    open: States
    places: IntArray
    values: FloatArray
    choices: IntArray | None = None

    @cached_property
    def place(self) -> IntArray:
        """`[S]` index of each state among the open ones; -1 if it is over."""
        found = np.full(self.values.shape[1], -1, dtype=np.int64)
        found[self.places] = np.arange(len(self.places))
        return found

    def take(self, states: IntArray) -> _Level:
        """Some of the states."""
        places = np.flatnonzero(self.place[states] >= 0)
        on = self.place[states[places]]
        choices = None if self.choices is None else self.choices.take(on, axis=0)
        return _Level(self.open.take(on), places, self.values.take(states, axis=1), choices)


class Layers:
    """The states that may occur, turn by turn, as far as they were searched.

    If a role has no legal move, a game cannot go on: its value is the middle of the goals.

    Args:
        states: distinct ones to begin with.
        role: the role that chooses first in every turn.
        skip_refused: leave out refused tries (`refusals`): a role that sees everything makes none,
            and in a search of a few turns they would be as good as passing.

    Attributes:
        layers: one for each turn that was searched.
    """

    def __init__(
        self, machine: Machine, states: States, role: int, *, skip_refused: bool = False
    ) -> None:
        self._machine, self.role, self._skip_refused = machine, role, skip_refused
        self.layers: list[_Layer] = []
        self._levels = [self._level(states, machine.terminal(states))]
        self._moves: JointMoves | None = None

    @property
    def open(self) -> States:
        """The states of the last level that are not over."""
        return self._levels[-1].open

    @property
    def choices(self) -> IntArray | None:
        """`[O, R]` number of moves of each role in these states, if it is known already."""
        return self._levels[-1].choices

    @property
    def num_states(self) -> int:
        """Number of states found, equal ones of a turn merged."""
        return sum(level.values.shape[1] for level in self._levels)

    def moves(self, deadline: Deadline | None = None) -> JointMoves:
        """The joint moves of the open states.

        Raises:
            OutOfTime: the deadline passed before they were listed.
        """
        if self._moves is None:
            self._moves = joint_moves(self._machine, self.open, self.role, deadline)
        return self._moves

    def grow(self, deadline: Deadline | None = None) -> None:
        """Try all joint moves of the open states: one more level.

        Raises:
            OutOfTime: the deadline passed; nothing has changed.
            GoalError: a goal value is not a number.
        """
        machine, moves = self._machine, self.moves(deadline)
        successors = StateMerger(machine, self.open)
        overs, parts = [np.zeros(0, dtype=np.bool_)], list[MovesTold]()
        before = moves.lists if self._skip_refused else ()
        pace = Pace(deadline, TIMED_LANES, MADE_AT_ONCE)
        for start, end in pace.batches(int(moves.offsets[-1])):
            state, joint = moves.some(start, end)
            made = turned(machine, self.open, state, joint, before=before)
            successors.add(made.states)
            overs.append(made.over)
            if made.told is not None:
                parts.append(made.told)
        states, _, first, after = successors.merged()
        over, told = np.concatenate(overs), MovesTold.joined(parts)
        level = self._level(states, over[first])
        if told is not None:
            level.choices = told.choices.take(first[level.places], axis=0)
        if self._skip_refused and told is not None:
            refused = refused_tries(machine, moves, segment_ids(moves.offsets), over, told)
            if refused.any():
                moves = moves.without(refused)
                kept = after[~refused]
                first, after = first_seen(kept)
                level = level.take(kept[first])
        self.layers.append(_Layer(moves, after))
        self._levels.append(level)
        self._moves = None

    def shrink(self) -> None:
        """Forget the last level."""
        self._moves = self.layers.pop().moves
        self._levels.pop()

    def reached(self, first: BoolArray) -> BoolArray:
        """`[O]` whether some of the joint moves of the first states lead to each open state.

        Args:
            first: `[J]` of the first layer.
        """
        marked = first
        for number, layer in enumerate(self.layers):
            level = self._levels[number + 1]
            states = np.zeros(level.values.shape[1], dtype=np.bool_)
            states[layer.after[marked]] = True
            states = states[level.places]
            if number + 1 == len(self.layers):
                return states
            marked = np.repeat(states, np.diff(self.layers[number + 1].moves.offsets))
        raise ValueError("no turn was gone through")

    def leading(self) -> tuple[IntArray, IntArray, IntArray]:
        """The joint moves of the last layer that lead to open states.

        Returns:
            `[J]` state in which each is made; `[J]` the only role with a choice there, -1 if none
            or several have one; and `[J]` index of the open state that it leads to.
        """
        layer = self.layers[-1]
        found = self._levels[-1].place[layer.after]
        on = np.flatnonzero(found >= 0)
        before = segment_ids(layer.moves.offsets)[on]
        return before, layer.moves.sole[before], found[on]

    def back_up(self, values: FloatArray, variances: FloatArray) -> Backed:
        """`[K]` values of our moves in the first states that are not over, in order.

        Args:
            values: `[R, O]` of the open states.
            variances: `[O]` of our role's.
        """
        backed = Backed(values, variances)
        for number in reversed(range(len(self.layers))):
            layer, level = self.layers[number], self._levels[number + 1]
            below = Backed(level.values.copy(), np.zeros(level.values.shape[1]))
            below.values[:, level.places], below.variances[level.places] = backed
            backed = _chosen(layer, below, self.role, self._machine.random_role, whole=number > 0)
            if number:
                middle = sum(self._machine.goal_range) / 2
                backed = _with_stuck(backed, layer.moves.stuck, middle)
        return backed

    def _level(self, states: States, over: BoolArray) -> _Level:
        machine = self._machine
        values = np.full((len(machine.roles), len(states)), np.nan)
        ended = np.flatnonzero(over)
        if len(ended):
            values[:, ended] = machine.goals(states.take(ended)).T
        places = np.flatnonzero(~over)
        return _Level(states.take(places), places, values)


def _chosen(
    layer: _Layer, below: Backed, role: int, random_role: int | None, *, whole: bool
) -> Backed:
    """Values of a layer's states, or, unless `whole`, of our moves in each of them, in order."""
    moves = layer.moves
    values = below.values.take(layer.after, axis=1)
    noisy = bool(below.variances.any())
    variances = below.variances[layer.after] if noisy else np.zeros(len(layer.after))
    runs = np.diff(moves.offsets)
    for chooser in reversed(moves.order):
        count = moves.counts[:, chooser]
        if chooser == role and not whole:
            break
        if count.max(initial=0) <= 1:
            continue
        runs = runs // np.maximum(count, 1)
        sizes = np.repeat(count, runs)
        starts = offsets_of(sizes)[:-1]
        if chooser == random_role:
            drawn = moves.lists[chooser].offsets
            _, at = take_segments(drawn, np.repeat(np.arange(len(runs)), runs))
            weights, total = moves.probabilities[at], np.ones(len(starts))
        else:
            own = values[chooser]
            best = np.maximum.reduceat(own, starts)
            least = best - TIE_TOLERANCE * np.maximum(np.abs(best), 1.0)
            weights = (own >= np.repeat(least, sizes)).astype(np.float64)
            total = np.add.reduceat(weights, starts)
        values = np.add.reduceat(weights * values, starts, axis=1) / total
        if noisy:
            variances = np.add.reduceat(weights**2 * variances, starts) / total**2
        else:
            variances = np.zeros(len(starts))
    return Backed(values, variances)


def _with_stuck(backed: Backed, stuck: BoolArray, value: float) -> Backed:
    """The same values, with `value` for states without joint moves."""
    if not stuck.any():
        return backed
    wider = Backed(np.full((len(backed.values), len(stuck)), value), np.zeros(len(stuck)))
    wider.values[:, ~stuck], wider.variances[~stuck] = backed
    return wider


# ------------------------------------------------------------------------
# Limits of the growth of layers: by count, or by the available time and states.
#
# A layer is begun if it surely fits, judging by the one before. Whether its states can also be
# valued is only known when they are found, since most joint moves of a large layer lead to the same
# states. If there are too many, the last layer is taken back: of many values from few playouts
# each, the best is far too high.

PLAYOUTS = 16
"""Random playouts of each state that is not searched further, by default."""

PLAYOUTS_A_STEP = 4
"""Total playouts of these states, for each joint move that may be tried."""

LEAST_PLAYOUTS = 8
"""Least playouts of each of these states, if time or states are limited: there must be room."""

GROW_SHARE = 0.6
"""Share of the budget that may be spent on finding states; the rest is for playouts."""

VALUE_SHARE = 0.8
"""Share of the rest into which the playouts must fit."""

CAUTION = 1.25
"""The joint moves of a layer may cost this many times as much as those of the one before."""

MOST_JOINT = 1 << 23
"""Joint moves of all layers: bounds memory."""


class Limit(Protocol):
    """A limit of the growth of layers."""

    def allows(self, num_joint: float) -> bool:
        """Whether this many joint moves may be tried in addition to earlier ones."""
        ...

    def tried(self, num_joint: int) -> None:
        """Record that this many were tried."""
        ...

    def can_value(self, num_states: int) -> bool:
        """Whether there is room for playouts of this many states."""
        ...


class CountLimit:
    """Limits the number of joint moves of all layers together."""

    def __init__(self, most_joint: int) -> None:
        self._most = most_joint
        self._left = most_joint

    def allows(self, num_joint: float) -> bool:
        return num_joint <= self._left

    def tried(self, num_joint: int) -> None:
        self._left -= num_joint

    def can_value(self, num_states: int) -> bool:
        return num_states * PLAYOUTS <= PLAYOUTS_A_STEP * self._most


class DepthLimit:
    """Limits the number of turns, within another limit.

    Args:
        limit: the other one.
        depth: most turns to search.
    """

    def __init__(self, limit: Limit, depth: int) -> None:
        self._limit, self._left = limit, depth

    def allows(self, num_joint: float) -> bool:
        return self._left > 0 and self._limit.allows(num_joint)

    def tried(self, num_joint: int) -> None:
        self._left -= 1
        self._limit.tried(num_joint)

    def can_value(self, num_states: int) -> bool:
        return self._limit.can_value(num_states)


class CostLimit:
    """Limits seconds, or states visited.

    Args:
        spent: returns what is spent so far, e.g. a clock.
        budget: what may be spent from now on.
        joint_cost: cost of a joint move, as far as known.
        playout_cost: cost of a playout.
    """

    def __init__(
        self, spent: Callable[[], float], budget: float, joint_cost: float, playout_cost: float
    ) -> None:
        self._spent, self._budget = spent, budget
        self._joint_cost, self._playout_cost = joint_cost, playout_cost
        self._began = self._looked = spent()
        self._left = MOST_JOINT

    def allows(self, num_joint: float) -> bool:
        left = GROW_SHARE * self._budget - (self._spent() - self._began)
        return num_joint <= self._left and CAUTION * num_joint * self._joint_cost <= left

    def tried(self, num_joint: int) -> None:
        now = self._spent()
        self._joint_cost = (now - self._looked) / max(num_joint, 1)
        self._looked = now
        self._left -= num_joint

    def can_value(self, num_states: int) -> bool:
        left = self._budget - (self._spent() - self._began)
        return LEAST_PLAYOUTS * num_states * self._playout_cost <= VALUE_SHARE * left
