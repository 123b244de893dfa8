"""A layer of a game: many states, their joint moves, and the states that these lead to.

Joint moves are numbers in mixed radix, one digit for each role:

    us  other  random        we choose between 2, the other between 2, chance among 3
     0    0     0 1 2        chance averages three neighbours,
     0    1     0 1 2        the other takes the better of two,
     1    0     0 1 2        then we do
     1    1     0 1 2

So joint moves are listed from any one to any other, and every choice is made among neighbours:
`reduceat` makes it in all states at once. What they lead to is collected batch by batch. Equal
states of a batch are merged at once and those of different batches at the end, so that what is kept
grows with the number of states and not with that of ways to them:

    moves = JointMoves.of(machine, states)
    successors = StateMerger(machine, states)
    for start, end in moves.batches(LANES_AT_ONCE):
        lanes, joint = moves.some(start, end)
        successors.add(machine.step(states.take(lanes), joint).states)
    layer = successors.merged()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import chunks, first_seen_columns, joined, offsets_of
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.machine.compiling.jit import kernel


@dataclass(frozen=True)
class JointMoves:
    """The joint moves of S states, in an order in which roles choose.

    Attributes:
        order: roles, the one whose digit changes slowest first.
        lists: moves of each role.
        probabilities: of the moves of `random`, as listed; none without that role.
    """

    order: tuple[int, ...]
    lists: tuple[Ragged, ...]
    probabilities: FloatArray

    @classmethod
    def of(
        cls,
        machine: Machine,
        states: States,
        order: Sequence[int] | None = None,
        batches: Iterable[tuple[int, int]] | None = None,
        *,
        allow_stuck: bool = True,
    ) -> JointMoves:
        """The joint moves of states.

        Args:
            order: see above; that of the rules by default.
            batches: start and end of consecutive runs of states whose moves are listed together;
                all at once by default.
            allow_stuck: whether a role may have no move in a state that is not terminal.

        Raises:
            NoLegalMoveError: it has none, and must have one.
        """
        roles = range(len(machine.roles))
        order = tuple(roles if order is None else order)
        parts: list[JointMoves] = []
        for start, end in ((0, len(states)),) if batches is None else batches:
            is_all = end - start == len(states)
            some = states if is_all else states.take(np.arange(start, end))
            lists, probabilities = [], np.zeros(0)
            for role in roles:
                if role == machine.random_role:
                    offsets, moves, probabilities = machine.chance(some)
                    lists.append(Ragged(offsets, moves))
                    if not allow_stuck and not lists[role].counts.all():
                        machine.legal(some, role)  # raises, and says where
                else:
                    lists.append(machine.legal(some, role, allow_stuck=allow_stuck))
            parts.append(cls(order, tuple(lists), probabilities))
        none = Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        return cls.joined(parts or [cls(order, tuple(none for _ in roles), np.zeros(0))])

    @classmethod
    def joined(cls, parts: Sequence[JointMoves]) -> JointMoves:
        """The joint moves of the states of several parts, at least one, in the same order."""
        if len(parts) == 1:
            return parts[0]
        lists = zip(*(part.lists for part in parts), strict=True)
        probabilities = np.concatenate([part.probabilities for part in parts])
        return cls(parts[0].order, tuple(map(joined, lists)), probabilities)

    @cached_property
    def counts(self) -> IntArray:
        """`[S, R]` moves of each role; 0 for all where one has none."""
        counts = np.stack([each.counts for each in self.lists], axis=1)
        counts[(counts == 0).any(axis=1)] = 0
        return counts

    @property
    def stuck(self) -> BoolArray:
        """`[S]` states in which some role has no move: they have no joint moves."""
        return np.asarray(self.counts[:, 0] == 0)

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

    def batches(self, most: int) -> Iterator[tuple[int, int]]:
        """Start and end of consecutive runs of joint moves: all of some states, at most so many
        unless they are of a single state."""
        for first, last in chunks(np.diff(self.offsets), most):
            yield int(self.offsets[first]), int(self.offsets[last])

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
        """The same without some joint moves, each made in a state where only one player has a
        choice.

        Args:
            dropped: `[J]` whether to drop each joint move; never all of a state.
        """
        state, places = self.places(0, len(dropped))
        chooser = np.argmax(self.counts, axis=1)[state]
        moves = self
        for role, listed in enumerate(self.lists):
            kept = np.ones(len(listed.values), dtype=np.bool_)
            kept[places[dropped & (chooser == role), role]] = False
            if not kept.all():
                moves = moves.only(role, kept)
        return moves

    def only(self, role: int, kept: BoolArray) -> JointMoves:
        """The same with some of the listed moves of a role; `probabilities` stay as they are.

        Args:
            kept: for each of its listed moves whether it stays.
        """
        listed, ends = self.lists[role], offsets_of(kept.astype(np.int64))
        lists = list(self.lists)
        lists[role] = Ragged(ends[listed.offsets], listed.values[kept])
        return replace(self, lists=tuple(lists))


KEY, SAME = "key", "same"
"""How `StateMerger` treats a column: states that differ in it are not equal, or equal states never
differ in it. Any other column is one of whole numbers, none of them negative, and a `ufunc` which
makes one of the numbers of equal states."""


class NextLayer(NamedTuple):
    """E distinct states, in the order of the first joint moves that lead to them.

    Attributes:
        states: the states.
        columns: `[E, ...]` what is known beside them, see `StateMerger`.
        first: `[E]` the first joint move that leads to each, counted from 0.
        after: `[J]` the state that each joint move leads to.
    """

    states: States
    columns: tuple[NDArray[Any], ...]
    first: IntArray
    after: IntArray


class StateMerger:
    """Collects the states that joint moves lead to, equal ones merged.

    Args:
        machine: the machine of the states.
        states: any states of it.
        columns: how each column beside the states is treated: `KEY`, `SAME`, `np.add` or
            `np.maximum`.

    Attributes:
        size: number of states kept so far: those of different batches are not merged yet.
    """

    def __init__(
        self, machine: Machine, states: States, columns: Sequence[str | np.ufunc] = ()
    ) -> None:
        self._machine, self._kinds = machine, columns
        self._none = states.take(np.zeros(0, dtype=np.int64))
        self._batches: list[NextLayer] = []
        self.size = self._num_joint = 0

    def add(self, states: States, *columns: NDArray[Any]) -> None:
        """Add the states that the next joint moves lead to, and their columns, `[K, ...]` each."""
        batch = self._merged(states, columns)
        # There may be many millions of joint moves: numbers of states are kept in four bytes each.
        self._batches.append(
            batch._replace(
                first=self._num_joint + batch.first,
                after=(self.size + batch.after).astype(np.int32),
            )
        )
        self.size += len(batch.first)
        self._num_joint += len(batch.after)

    def merged(self) -> NextLayer:
        """All states so far; nothing, and without columns, if none were added."""
        if not self._batches:
            none = np.zeros(0, dtype=np.int64)
            return NextLayer(self._none, (), none, none)
        if len(self._batches) > 1:
            states, columns, first, after = zip(*self._batches, strict=True)
            layer = self._merged(
                self._machine.concatenate(states),
                tuple(map(np.concatenate, zip(*columns, strict=True))),
            )
            self._batches = [
                layer._replace(
                    first=np.concatenate(first)[layer.first],
                    after=layer.after[np.concatenate(after)],
                )
            ]
            self.size = len(layer.first)
        return self._batches[0]._replace(after=self._batches[0].after.astype(np.int64, copy=False))

    def _merged(self, states: States, columns: tuple[NDArray[Any], ...]) -> NextLayer:
        keys = [self._machine.groups(states)]
        for kind, column in zip(self._kinds, columns, strict=True):
            keys += list(column.T) if kind is KEY else []
        first, group = first_seen_columns(keys) if len(keys) > 1 else (_first_of(keys[0]), keys[0])
        merged = []
        for kind, column in zip(self._kinds, columns, strict=True):
            if isinstance(kind, np.ufunc):
                values = np.zeros(len(first), dtype=column.dtype)
                kind.at(values, group, column)
            else:
                values = column[first]
            merged.append(values)
        return NextLayer(states.take(first), tuple(merged), first, group)


def _first_of(group: IntArray) -> IntArray:
    """`[G]` where each of the numbers 0 to G - 1 appears first."""
    first = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return first


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
