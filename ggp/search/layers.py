"""Layers of states that several worlds share, and backward induction through them.

`clairvoyant` grows the layers from the states of a bag, values the last one by playouts, and backs
values up to its moves. Every turn makes a layer, in which equal states are merged, whichever worlds
and moves lead to them: so games of hundreds of thousands of states can be searched completely.
`ggp.machine.layers` finds the states and their joint moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from ggp.machine.abilities import MoveFacts
from ggp.machine.arrays import first_seen, offsets_of, segment_ids, take_segments
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.layers import JointMoves, StateMerger
from ggp.search.anytime import Deadline, Pace
from ggp.search.estimates import TIE_TOLERANCE
from ggp.search.moves import LANES_AT_ONCE, TIMED_LANES, joint_moves, refused_tries, turned

MADE_AT_ONCE = 2 * LANES_AT_ONCE
"""Greatest number of joint moves in a batch. If equal states of several batches must be merged, a
board of kriegspiel at depth 2 takes a tenth longer (`python -m benchmarks --only boards`)."""


class Backed(NamedTuple):
    """Values of S states or moves.

    Attributes:
        values: `[R, S]` for every role; this order of axes makes gathering fast.
        variances: `[S]` of our role's value, from the noise of playouts.
    """

    values: FloatArray
    variances: FloatArray


@dataclass(frozen=True)
class _Layer:
    """The joint moves of the open states of a level, and the states they lead to.

    Attributes:
        moves: the joint moves.
        children: `[J]` state of the next level after each joint move.
    """

    moves: JointMoves
    children: IntArray


@dataclass
class _Level:
    """The states of a turn.

    Attributes:
        open: the states at which the game is not over.
        places: `[O]` their indices among the states of the level.
        values: `[R, S]` goals of terminal states; undefined for open ones.
        choices: `[O, R]` number of moves of each role in the open states, if known.
    """

    open: States
    places: IntArray
    values: FloatArray
    choices: IntArray | None = None

    @cached_property
    def place(self) -> IntArray:
        """`[S]` index of each state among the open ones; -1 if it is terminal."""
        index = np.full(self.values.shape[1], -1, dtype=np.int64)
        index[self.places] = np.arange(len(self.places))
        return index

    def take(self, states: IntArray) -> _Level:
        """Some of the states."""
        places = np.flatnonzero(self.place[states] >= 0)
        open_ids = self.place[states[places]]
        choices = None if self.choices is None else self.choices.take(open_ids, axis=0)
        return _Level(self.open.take(open_ids), places, self.values.take(states, axis=1), choices)


class Layers:
    """The states that may occur, turn by turn, to the depth of the search.

    A state in which a role has no legal move is worth the middle of the goals.

    Args:
        states: distinct states to begin with.
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
        """The states of the last level at which the game is not over."""
        return self._levels[-1].open

    @property
    def choices(self) -> IntArray | None:
        """`[O, R]` number of moves of each role in these states, if already known."""
        return self._levels[-1].choices

    @property
    def num_states(self) -> int:
        """Number of states so far; equal states of a turn count once."""
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
        overs, parts = [np.zeros(0, dtype=np.bool_)], list[MoveFacts]()
        lists_before = moves.lists if self._skip_refused else ()
        pace = Pace(deadline, TIMED_LANES, MADE_AT_ONCE)
        for start, end in pace.batches(int(moves.offsets[-1])):
            state, joint = moves.between(start, end)
            turn = turned(machine, self.open, state, joint, before=lists_before)
            successors.add(turn.states)
            overs.append(turn.over)
            if turn.move_facts is not None:
                parts.append(turn.move_facts)
        states, _, first, children = successors.merged()
        over, follow_ups = np.concatenate(overs), MoveFacts.joined(parts)
        level = self._level(states, over[first])
        if follow_ups is not None:
            level.choices = follow_ups.choices.take(first[level.places], axis=0)
        if self._skip_refused and follow_ups is not None:
            refused = refused_tries(machine, moves, segment_ids(moves.offsets), over, follow_ups)
            if refused.any():
                moves = moves.without(refused)
                remaining = children[~refused]
                first, children = first_seen(remaining)
                level = level.take(remaining[first])
        self.layers.append(_Layer(moves, children))
        self._levels.append(level)
        self._moves = None

    def shrink(self) -> None:
        """Forget the last level."""
        self._moves = self.layers.pop().moves
        self._levels.pop()

    def reached(self, first: BoolArray) -> BoolArray:
        """`[O]` whether some marked joint move of the first layer leads to each open state.

        Args:
            first: `[J]` marks of the joint moves.
        """
        marked = first
        for depth, layer in enumerate(self.layers):
            level = self._levels[depth + 1]
            states = np.zeros(level.values.shape[1], dtype=np.bool_)
            states[layer.children[marked]] = True
            states = states[level.places]
            if depth + 1 == len(self.layers):
                return states
            marked = np.repeat(states, np.diff(self.layers[depth + 1].moves.offsets))
        raise ValueError("no turn was gone through")

    def leading(self) -> tuple[IntArray, IntArray, IntArray]:
        """The joint moves of the last layer that lead to open states.

        Returns:
            `[J]` state before each; `[J]` the only role with a choice there, -1 if none or several
            have one; and `[J]` index of the open state after it.
        """
        layer = self.layers[-1]
        children = self._levels[-1].place[layer.children]
        rows = np.flatnonzero(children >= 0)
        parents = segment_ids(layer.moves.offsets)[rows]
        return parents, layer.moves.sole[parents], children[rows]

    def back_up(self, values: FloatArray, variances: FloatArray) -> Backed:
        """`[K]` values of our moves in the open first states, in order, by backward induction.

        Args:
            values: `[R, O]` of the open states.
            variances: `[O]` of our role's.
        """
        backed = Backed(values, variances)
        for depth in reversed(range(len(self.layers))):
            layer, level = self.layers[depth], self._levels[depth + 1]
            child = Backed(level.values.copy(), np.zeros(level.values.shape[1]))
            child.values[:, level.places], child.variances[level.places] = backed
            backed = _back_up(layer, child, self.role, self._machine.random_role, whole=depth > 0)
            if depth:
                middle = sum(self._machine.goal_range) / 2
                backed = _insert_stuck(backed, layer.moves.stuck, middle)
        return backed

    def _level(self, states: States, over: BoolArray) -> _Level:
        machine = self._machine
        values = np.full((len(machine.roles), len(states)), np.nan)
        ended = np.flatnonzero(over)
        if len(ended):
            values[:, ended] = machine.goals(states.take(ended)).T
        places = np.flatnonzero(~over)
        return _Level(states.take(places), places, values)


def _back_up(
    layer: _Layer, next_values: Backed, role: int, random_role: int | None, *, whole: bool
) -> Backed:
    """Values of a layer's states, or, unless `whole`, of our moves in each state, in order.

    Choices are undone from the last role to the first. Chance takes the mean. A role takes its
    best moves; moves that tie, up to `TIE_TOLERANCE`, count equally, so that their value to the
    others is the mean (max^n, Luckhardt & Irani, 1986). Variances are those of weighted means.
    """
    moves = layer.moves
    values = next_values.values.take(layer.children, axis=1)
    noisy = bool(next_values.variances.any())
    variances = next_values.variances[layer.children] if noisy else np.zeros(len(layer.children))
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
            chances = moves.lists[chooser].offsets
            _, indices = take_segments(chances, np.repeat(np.arange(len(runs)), runs))
            weights, total = moves.probabilities[indices], np.ones(len(starts))
        else:
            goals = values[chooser]
            best = np.maximum.reduceat(goals, starts)
            threshold = best - TIE_TOLERANCE * np.maximum(np.abs(best), 1.0)
            weights = (goals >= np.repeat(threshold, sizes)).astype(np.float64)
            total = np.add.reduceat(weights, starts)
        values = np.add.reduceat(weights * values, starts, axis=1) / total
        if noisy:
            variances = np.add.reduceat(weights**2 * variances, starts) / total**2
        else:
            variances = np.zeros(len(starts))
    return Backed(values, variances)


def _insert_stuck(backed: Backed, stuck: BoolArray, value: float) -> Backed:
    """The same values, with `value` inserted for states without joint moves."""
    if not stuck.any():
        return backed
    complete = Backed(np.full((len(backed.values), len(stuck)), value), np.zeros(len(stuck)))
    complete.values[:, ~stuck], complete.variances[~stuck] = backed
    return complete


# ------------------------------------------------------------------------
# Limits of the growth of layers: by count, or by the available time and states.
#
# A layer is begun if it surely fits, by the cost of the one before. Whether its states can also be
# valued is known only afterwards, since most joint moves of a large layer lead to the same states.
# If there are too many, the last layer is removed: the best of many values from few playouts each
# is far too high.

PLAYOUTS = 16
"""Default number of random playouts of each open state."""

PLAYOUTS_A_STEP = 4
"""Number of playouts in all, for each joint move of the budget."""

MIN_PLAYOUTS = 8
"""Least number of playouts of each open state that must fit into limited time or states."""

GROW_SHARE = 0.6
"""Share of the budget for finding states; the rest is for playouts."""

VALUE_SHARE = 0.8
"""Share of the rest into which the playouts must fit."""

CAUTION = 1.25
"""Factor by which the joint moves of a layer may cost more than those of the one before."""

MAX_JOINT = 1 << 23
"""Greatest number of joint moves of all layers: bounds memory."""


class Limit(Protocol):
    """A limit of the growth of layers."""

    def allows(self, num_joint: float) -> bool:
        """Whether this many joint moves may be tried in addition to earlier ones."""
        ...

    def record(self, num_joint: int) -> None:
        """Record that this many were tried."""
        ...

    def can_value(self, num_states: int) -> bool:
        """Whether there is room for playouts of this many states."""
        ...


class CountLimit:
    """Limits the number of joint moves of all layers together."""

    def __init__(self, most_joint: int) -> None:
        self._max_joint = most_joint
        self._remaining = most_joint

    def allows(self, num_joint: float) -> bool:
        return num_joint <= self._remaining

    def record(self, num_joint: int) -> None:
        self._remaining -= num_joint

    def can_value(self, num_states: int) -> bool:
        return num_states * PLAYOUTS <= PLAYOUTS_A_STEP * self._max_joint


class DepthLimit:
    """Limits the number of turns, within another limit.

    Args:
        limit: the other limit.
        depth: greatest number of turns to search.
    """

    def __init__(self, limit: Limit, depth: int) -> None:
        self._limit, self._remaining = limit, depth

    def allows(self, num_joint: float) -> bool:
        return self._remaining > 0 and self._limit.allows(num_joint)

    def record(self, num_joint: int) -> None:
        self._remaining -= 1
        self._limit.record(num_joint)

    def can_value(self, num_states: int) -> bool:
        return self._limit.can_value(num_states)


class CostLimit:
    """Limits seconds, or visited states.

    Args:
        spent: returns the cost so far, e.g. a clock.
        budget: limit of the cost from now on.
        joint_cost: expected cost of a joint move.
        playout_cost: expected cost of a playout.
    """

    def __init__(
        self, spent: Callable[[], float], budget: float, joint_cost: float, playout_cost: float
    ) -> None:
        self._spent, self._budget = spent, budget
        self._joint_cost, self._playout_cost = joint_cost, playout_cost
        self._first_spent = self._last_spent = spent()
        self._remaining = MAX_JOINT

    def allows(self, num_joint: float) -> bool:
        remaining = GROW_SHARE * self._budget - (self._spent() - self._first_spent)
        return num_joint <= self._remaining and CAUTION * num_joint * self._joint_cost <= remaining

    def record(self, num_joint: int) -> None:
        spent = self._spent()
        self._joint_cost = (spent - self._last_spent) / max(num_joint, 1)
        self._last_spent = spent
        self._remaining -= num_joint

    def can_value(self, num_states: int) -> bool:
        remaining = self._budget - (self._spent() - self._first_spent)
        return MIN_PLAYOUTS * num_states * self._playout_cost <= VALUE_SHARE * remaining
