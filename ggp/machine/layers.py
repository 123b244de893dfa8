"""Enumerates the joint moves of many states, and collects their successors: the next layer.

Solvers and exhaustive searches use this to go through all states of a game, turn by turn. Joint
moves are numbers in mixed radix, with one digit for each role:

    us  other  random        we choose between 2, the other between 2, chance among 3
     0    0     0 1 2        chance averages three neighbours,
     0    1     0 1 2        the other takes the better of two,
     1    0     0 1 2        then we do
     1    1     0 1 2

So any range of joint moves can be listed, and the alternatives of every choice are neighbours:
`reduceat` chooses in all states in one call. Successors are collected batch by batch. Equal states
are merged within each batch, and across batches at the end, so memory grows with the number of
states and not with the number of paths to them:

    moves = JointMoves.of(machine, states)
    successors = StateMerger(machine, states)
    for start, end in moves.batches(LANES_AT_ONCE):
        lanes, joint = moves.between(start, end)
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
    """The joint moves of S states, in lexicographic order.

    Attributes:
        order: roles in the order of their digits, the slowest first.
        lists: the moves of each role.
        probabilities: the probability of each listed move of `random`; empty without that role.
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
            order: see above; the order of `machine.roles` by default.
            batches: start and end of consecutive runs of states whose moves are listed in one call;
                all states by default.
            allow_stuck: whether a role may have no move in a state that is not terminal.

        Raises:
            NoLegalMoveError: a role has no move, and `allow_stuck` is false.
        """
        roles = range(len(machine.roles))
        order = tuple(roles if order is None else order)
        parts: list[JointMoves] = []
        for start, end in ((0, len(states)),) if batches is None else batches:
            is_all = end - start == len(states)
            batch = states if is_all else states.take(np.arange(start, end))
            lists, probabilities = [], np.zeros(0)
            for role in roles:
                if role == machine.random_role:
                    offsets, moves, probabilities = machine.chance(batch)
                    lists.append(Ragged(offsets, moves))
                    if not allow_stuck and not lists[role].counts.all():
                        machine.legal(batch, role)  # raises, and says where
                else:
                    lists.append(machine.legal(batch, role, allow_stuck=allow_stuck))
            parts.append(cls(order, tuple(lists), probabilities))
        none = Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        return cls.joined(parts or [cls(order, tuple(none for _ in roles), np.zeros(0))])

    @classmethod
    def joined(cls, parts: Sequence[JointMoves]) -> JointMoves:
        """The joint moves of one or more parts, one after the other; all have the same `order`."""
        if len(parts) == 1:
            return parts[0]
        lists = zip(*(part.lists for part in parts), strict=True)
        probabilities = np.concatenate([part.probabilities for part in parts])
        return cls(parts[0].order, tuple(map(joined, lists)), probabilities)

    @cached_property
    def counts(self) -> IntArray:
        """`[S, R]` number of moves of each role; 0 for all roles of a state if one has none."""
        counts = np.stack([listed.counts for listed in self.lists], axis=1)
        counts[(counts == 0).any(axis=1)] = 0
        return counts

    @property
    def stuck(self) -> BoolArray:
        """`[S]` whether some role has no move, so that there are no joint moves."""
        return np.asarray(self.counts[:, 0] == 0)

    @cached_property
    def sole(self) -> IntArray:
        """`[S]` the only role with a choice; -1 if none or several have one."""
        choosing = self.counts > 1
        return np.where(choosing.sum(axis=1) == 1, np.argmax(choosing, axis=1), -1)

    @property
    def number(self) -> float:
        """Number of joint moves of all states, as a float, since it may exceed integers."""
        return float(self.counts.astype(np.float64).prod(axis=1).sum())

    @cached_property
    def offsets(self) -> IntArray:
        """`[S + 1]` offsets of the joint moves of each state."""
        return offsets_of(self.counts.prod(axis=1))

    def batches(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield start and end of runs of at most `most` joint moves of whole states; a run of a
        single state may be longer."""
        for first, last in chunks(np.diff(self.offsets), most):
            yield int(self.offsets[first]), int(self.offsets[last])

    def between(self, start: int, end: int) -> tuple[IntArray, IntArray]:
        """`[K]` states and `[K, R]` moves of the joint moves from `start` to `end`."""
        state, places = self.places(start, end)
        return state, self.at(places)

    def at(self, places: IntArray) -> IntArray:
        """`[K, R]` the joint moves with these indices into `lists`."""
        joint = np.empty_like(places)
        for role, moves in enumerate(self.lists):
            joint[:, role] = moves.values[places[:, role]]
        return joint

    def places(self, start: int, end: int) -> tuple[IntArray, IntArray]:
        """Like `between`, with indices into `lists` instead of moves."""
        first = int(np.searchsorted(self.offsets, start, side="right")) - 1
        last = int(np.searchsorted(self.offsets, end, side="left"))
        bounds = np.clip(self.offsets[first : last + 1], start, end)
        state = np.empty(end - start, dtype=np.int64)
        places = np.empty((end - start, len(self.lists)), dtype=np.int64)
        fill_places.for_steps(places.size)(
            bounds,
            first,
            self.offsets[first:last],
            np.stack([listed.offsets for listed in self.lists]),
            self.counts,
            np.array(self.order),
            np.empty(len(self.lists), dtype=np.int64),
            state,
            places,
        )
        return state, places

    def without(self, dropped: BoolArray) -> JointMoves:
        """The joint moves without some of them, in states where only one player has a choice.

        Args:
            dropped: `[J]` whether to drop each joint move; never all of one state.
        """
        state, places = self.places(0, len(dropped))
        chooser = np.argmax(self.counts, axis=1)[state]
        moves = self
        for role, listed in enumerate(self.lists):
            keep = np.ones(len(listed.values), dtype=np.bool_)
            keep[places[dropped & (chooser == role), role]] = False
            if not keep.all():
                moves = moves.only(role, keep)
        return moves

    def only(self, role: int, keep: BoolArray) -> JointMoves:
        """The joint moves with a selection of one role's moves; `probabilities` do not change.

        Args:
            keep: whether to keep each listed move of the role.
        """
        listed, ends = self.lists[role], offsets_of(keep.astype(np.int64))
        lists = list(self.lists)
        lists[role] = Ragged(ends[listed.offsets], listed.values[keep])
        return replace(self, lists=tuple(lists))


KEY, SAME = "key", "same"
"""How `StateMerger` treats a column: as part of the state (`KEY`), or as a function of it (`SAME`).
Any other column has non-negative integers, and a `ufunc` that combines those of equal states."""


class NextLayer(NamedTuple):
    """E distinct states, in the order of the first joint moves that lead to them.

    Attributes:
        states: the states.
        columns: `[E, ...]` further values for each state, see `StateMerger`.
        first: `[E]` index of the first joint move that leads to each state.
        successors: `[J]` index of the state that each joint move leads to.
    """

    states: States
    columns: tuple[NDArray[Any], ...]
    first: IntArray
    successors: IntArray


class StateMerger:
    """Collects the states that joint moves lead to, and merges equal states.

    Args:
        machine: the machine of the states.
        states: any states of the machine.
        columns: the treatment of each column of further values: `KEY`, `SAME`, `np.add` or
            `np.maximum`.

    Attributes:
        size: number of states so far, merged within batches but not across them.
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
        # There may be many millions of joint moves, so indices of states take four bytes each.
        self._batches.append(
            batch._replace(
                first=self._num_joint + batch.first,
                successors=(self.size + batch.successors).astype(np.int32),
            )
        )
        self.size += len(batch.first)
        self._num_joint += len(batch.successors)

    def merged(self) -> NextLayer:
        """All states so far, merged; an empty layer without columns if none were added."""
        if not self._batches:
            none = np.zeros(0, dtype=np.int64)
            return NextLayer(self._none, (), none, none)
        if len(self._batches) > 1:
            states, columns, first, successors = zip(*self._batches, strict=True)
            layer = self._merged(
                self._machine.concatenate(states),
                tuple(map(np.concatenate, zip(*columns, strict=True))),
            )
            self._batches = [
                layer._replace(
                    first=np.concatenate(first)[layer.first],
                    successors=layer.successors[np.concatenate(successors)],
                )
            ]
            self.size = len(layer.first)
        layer = self._batches[0]
        return layer._replace(successors=layer.successors.astype(np.int64, copy=False))

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
    """`[G]` the first index of each of the numbers 0 to G - 1."""
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
    """List the joint moves of N neighbouring states.

    The digits of the first joint move of a state come from its number, by division; after that they
    count up like an odometer, with the digit of the last role in `order` turning fastest.

    Args:
        bounds: `[N + 1]` joint moves to list: state n has `bounds[n]` to `bounds[n + 1]`.
        first: the first state.
        begins: `[N]` number of the first joint move of each state.
        offsets: `[R, S + 1]` offsets of the moves of each role in each state.
        counts, order: see `JointMoves`.
        digits: `[R]` scratch.
        state, places: `[K]`, `[K, R]` filled in, see `JointMoves.places`.
    """
    k = 0
    for n in range(len(begins)):
        lane = first + n
        remainder = bounds[n] - begins[n]
        for digit in range(len(order) - 1, -1, -1):
            role = order[digit]
            size = max(counts[lane, role], 1)
            digits[role] = remainder % size
            remainder //= size
        for _ in range(bounds[n], bounds[n + 1]):
            state[k] = lane
            for role in range(len(order)):
                places[k, role] = offsets[role, lane] + digits[role]
            k += 1
            for digit in range(len(order) - 1, -1, -1):
                role = order[digit]
                digits[role] += 1
                if digits[role] < counts[lane, role]:
                    break
                digits[role] = 0
