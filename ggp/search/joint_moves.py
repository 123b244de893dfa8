"""The joint moves of many states, in the order in which roles choose.

They are numbers in mixed radix, one digit for each role:

    us  other  random        we choose between 2, the other between 2, chance among 3
     0    0     0 1 2        chance averages three neighbours,
     0    1     0 1 2        the other takes the better of two,
     1    0     0 1 2        then we do
     1    1     0 1 2

So every choice is made among neighbours, and `reduceat` makes it in all states at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ggp.machine.arrays import joined, offsets_of
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.machine.compiling.jit import kernel
from ggp.search.anytime import Deadline, Pace

TIMED_LANES = 32
"""Lanes of the first batch before a look at the clock, if there is one."""

LANES_AT_ONCE = 1 << 16
"""Lanes stepped between two looks at the clock."""


@dataclass(frozen=True)
class JointMoves:
    """The joint moves of S states, in the order in which roles choose.

    Attributes:
        order: roles, the one whose digit changes slowest first.
        lists: moves of each role.
        probabilities: of the moves of `random`, as listed.
        stuck: `[S]` states in which some role has no move: they have no joint moves.
    """

    order: tuple[int, ...]
    lists: tuple[Ragged, ...]
    probabilities: FloatArray
    stuck: BoolArray

    @cached_property
    def counts(self) -> IntArray:
        """`[S, R]` moves of each role; 0 for all where one has none."""
        counts = np.stack([each.counts for each in self.lists], axis=1)
        return np.where(self.stuck[:, None], 0, counts)

    @cached_property
    def sole(self) -> IntArray:
        """`[S]` the only role with a choice; -1 if none or several have one."""
        choosing = self.counts > 1
        return np.where(choosing.sum(axis=1) == 1, np.argmax(choosing, axis=1), -1)

    @property
    def number(self) -> float:
        """Number of joint moves of all states; may exceed the range of integers."""
        return float(self.counts.astype(np.float64).prod(axis=1).sum())

    @cached_property
    def offsets(self) -> IntArray:
        """`[S + 1]` of the joint moves of each state."""
        return offsets_of(self.counts.prod(axis=1))

    def some(self, start: int, end: int) -> tuple[IntArray, IntArray]:
        """`[K]` state of each of some joint moves, and `[K, R]` these moves."""
        state, places = self.places(start, end)
        return state, self.at(places)

    def at(self, places: IntArray) -> IntArray:
        """`[K, R]` the joint moves at such places."""
        joint = np.empty_like(places)
        for role, moves in enumerate(self.lists):
            joint[:, role] = moves.values[places[:, role]]
        return joint

    def places(self, start: int, end: int) -> tuple[IntArray, IntArray]:
        """Like `some`, with the places of the moves in the lists instead of the moves."""
        first = int(np.searchsorted(self.offsets, start, side="right")) - 1
        last = int(np.searchsorted(self.offsets, end, side="left"))
        bounds = np.clip(self.offsets[first : last + 1], start, end)
        state = np.empty(end - start, dtype=np.int64)
        places = np.empty((end - start, len(self.lists)), dtype=np.int64)
        fill_places.for_steps(places.size)(
            bounds,
            first,
            self.offsets[first:last],
            np.stack([each.offsets for each in self.lists]),
            self.counts,
            np.array(self.order),
            np.empty(len(self.lists), dtype=np.int64),
            state,
            places,
        )
        return state, places

    def without(self, dropped: BoolArray) -> JointMoves:
        """The same without some joint moves, each made in a state where only one role has a choice.

        Args:
            dropped: `[J]` whether to drop each joint move; never all of a state.
        """
        state, places = self.places(0, len(dropped))
        chooser = np.argmax(self.counts, axis=1)[state]
        lists = []
        for role, moves in enumerate(self.lists):
            kept = np.ones(len(moves.values), dtype=np.bool_)
            mine = np.flatnonzero(dropped & (chooser == role))
            kept[places[mine, role]] = False
            ends = np.concatenate([[0], np.cumsum(kept)])
            lists.append(Ragged(ends[moves.offsets], moves.values[kept]))
        return replace(self, lists=tuple(lists))


def joint_moves(
    machine: Machine, states: States, role: int, deadline: Deadline | None = None
) -> JointMoves:
    """The joint moves of states, where a role chooses first and `random` last.

    Raises:
        OutOfTime: the deadline passed before they were listed.
    """
    chance_role = () if machine.random_role is None else (machine.random_role,)
    others = (r for r in range(len(machine.roles)) if r not in (role, *chance_role))
    parts: list[list[Ragged]] = []
    probabilities = [np.zeros(0)]
    for start, end in Pace(deadline, TIMED_LANES, LANES_AT_ONCE).batches(len(states)):
        some = states.take(np.arange(start, end))
        lists = []
        for each in range(len(machine.roles)):
            if each == machine.random_role:
                chance = machine.chance(some)
                lists.append(Ragged(chance.offsets, chance.moves))
                probabilities.append(chance.probabilities)
            else:
                lists.append(machine.legal(some, each, allow_stuck=True))
        parts.append(lists)
    none = [Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    every = tuple(joined([each[r] for each in parts] or none) for r in range(len(machine.roles)))
    stuck = np.zeros(len(states), dtype=np.bool_)
    for moves in every:
        stuck |= moves.counts == 0
    order = (role, *others, *chance_role)
    return JointMoves(order, every, np.concatenate(probabilities), stuck)


@kernel
def fill_places(
    bounds: IntArray,
    first: int,
    begins: IntArray,
    offsets: IntArray,
    counts: IntArray,
    order: IntArray,
    digits: IntArray,
    state: IntArray,
    places: IntArray,
) -> None:
    """List the joint moves of neighbouring states.

    Args:
        bounds: `[N + 1]` numbers of the joint moves of each that are listed.
        first: the first state.
        begins: `[N]` number of the first joint move of each.
        offsets: `[R, S + 1]` where the moves of each role in each state begin.
        counts, order: see `JointMoves`.
        digits: `[R]` scratch.
        state, places: `[K]`, `[K, R]` out, see `JointMoves.places`.
    """
    k = 0
    for n in range(len(begins)):
        at = first + n
        number = bounds[n] - begins[n]
        for place in range(len(order) - 1, -1, -1):
            role = order[place]
            size = max(counts[at, role], 1)
            digits[role] = number % size
            number //= size
        for _ in range(bounds[n], bounds[n + 1]):
            state[k] = at
            for role in range(len(order)):
                places[k, role] = offsets[role, at] + digits[role]
            k += 1
            for place in range(len(order) - 1, -1, -1):
                role = order[place]
                digits[role] += 1
                if digits[role] < counts[at, role]:
                    break
                digits[role] = 0
