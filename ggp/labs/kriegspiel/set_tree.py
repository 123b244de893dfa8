"""The tree of information sets that a role may reach, and values backed up through it.

A node is an incomplete path of the role: an information set. An action is a move there. The role's
percepts after an action lead to other nodes; ends of the game are nodes too, one for each goal.

    wait ─▶ sees nothing ─▶ {red armed, blue armed}   cut red ─▶ end: 100, end: 0
    ask  ─▶ sees red     ─▶ {red armed}               cut red ─▶ end: 90
         └▶ sees blue    ─▶ {blue armed}              cut blue ─▶ end: 90

Histories are not kept. One that is folded in adds its probability to the mass of all nodes that it
may pass through. The value of an action is the mean of the nodes after it by mass (overconfident),
or their minimum (paranoid). Chance is averaged before that: paranoia takes the worst *mixture* of
nodes that may result from one history and one move of the others.

Shapes: N nodes, A actions, K lanes that are folded in.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import enlarged, first_seen_columns, offsets_of
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import kernel
from ggp.machine.mixing import START, ended, mixed_in
from ggp.machine.rows import RowTable
from ggp.search.estimates import TIE_TOLERANCE

# ------------------------------------------------------------------------
# Sums over leaves, in one go: calls of numpy for each of them would gather the same again and
# again.


@kernel
def merge_leaves(
    some: IntArray,
    nodes: IntArray,
    masses: FloatArray,
    keys: IntArray,
    slots: NDArray[np.int32],
    first: IntArray,
    merged: FloatArray,
) -> int:
    """Merge leaves of one node with equal keys, in order of first appearance.

    Args:
        some: `[N]` those of K leaves that are merged.
        nodes, masses, keys: `[K]`, `[K]`, `[K, 2]` of each.
        slots: all free (-1): a power of two of them, more than N.
        first, merged: `[N]` out: the first leaf of each, and their masses summed in order.

    Returns:
        the number of different ones.
    """
    mask, size = np.uint64(len(slots) - 1), 0
    for n in range(len(some)):
        k = some[n]
        slot = ended(mixed_in(mixed_in(START, np.uint64(nodes[k])), np.uint64(keys[k, 0]))) & mask
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = size
                first[size], merged[size] = k, masses[k]
                size += 1
                break
            known = first[number]
            if (
                nodes[known] == nodes[k]
                and keys[known, 0] == keys[k, 0]
                and keys[known, 1] == keys[k, 1]
            ):
                merged[number] += masses[k]
                break
            slot = (slot + np.uint64(1)) & mask
    return size


@kernel
def sum_leaves(
    nodes: IntArray,
    masses: FloatArray,
    values: FloatArray,
    promptness: FloatArray,
    sums: FloatArray,
    least: FloatArray,
) -> None:
    """Sum up leaves that were valued once.

    Args:
        nodes, masses, values, promptness: `[K]` of each.
        sums: `[5, N]` to add to, by node: masses, their squares, and what values, their squares and
            promptness are, times masses.
        least: `[N]` the smallest value of each node so far.
    """
    for k in range(len(nodes)):
        node, mass, value = nodes[k], masses[k], values[k]
        sums[0, node] += mass
        sums[1, node] += mass * mass
        sums[2, node] += mass * value
        sums[3, node] += mass * (value * value)
        sums[4, node] += mass * promptness[k]
        least[node] = min(least[node], value)


# ------------------------------------------------------------------------

# ------------------------------------------------------------------------
# Values of information sets, and how the states of a leaf determine the value of the leaf.

PRIOR_VALUES = 2
"""This many values of a leaf's states tell little of their spread: as many more are assumed to vary
like those of all leaves."""


class Leaf(StrEnum):
    """Value of an information set where the search stops: `MEAN` or `MIN` of its states."""

    MEAN = "mean"
    MIN = "min"


class Worth(NamedTuple):
    """Values of N nodes or actions.

    Attributes:
        values: `[N]` in goals.
        promptness: `[N]`, see `Estimates`.
        variances: `[N]` of the values, from the noise of the leaves: of the leaves that the best
            actions lead to, as if it were certain that these are the best.
    """

    values: FloatArray
    promptness: FloatArray
    variances: FloatArray

    @staticmethod
    def zeros(count: int) -> Worth:
        """All zeros: no values yet."""
        return Worth(np.zeros(count), np.zeros(count), np.zeros(count))

    def take(self, places: IntArray) -> Worth:
        """The values of some nodes."""
        return Worth(*(part[places] for part in self))

    def put(self, places: IntArray, found: Worth) -> None:
        """Set the values of some nodes, in place."""
        for part, new in zip(self, found, strict=True):
            part[places] = new

    def mean(self, groups: IntArray, weights: FloatArray, count: int) -> tuple[IntArray, Worth]:
        """Weighted means of groups.

        Args:
            groups: `[N]` numbers below `count`.
            weights: `[N]`.

        Returns:
            the groups whose weights are not all 0, increasing, and their values.
        """
        total = np.bincount(groups, weights, count)
        which = np.flatnonzero(total)
        each = [np.bincount(groups, weights * part, count)[which] for part in self[:2]]
        squares = np.bincount(groups, weights**2 * self.variances, count)[which]
        total = total[which]
        return which, Worth(each[0] / total, each[1] / total, squares / total**2)


class LeafSums:
    """Sums over the values of the states of leaves."""

    def __init__(self) -> None:
        self._mass = np.zeros(64)
        self._squares_of_mass = np.zeros(64)
        self._totals = np.zeros(64)
        self._squares = np.zeros(64)
        self._promptness = np.zeros(64)
        self._least = np.full(64, np.inf)

    def __len__(self) -> int:
        """Number of leaves that have values."""
        return int(np.count_nonzero(self._mass))

    def add(
        self,
        nodes: IntArray,
        masses: FloatArray,
        counts: IntArray,
        values: FloatArray,
        promptness: FloatArray,
    ) -> None:
        """Add the values of K states.

        Args:
            nodes, masses: `[K]` leaf and probability of each.
            counts: `[K]` number of evaluations of each.
            values, promptness: their results, state by state.
        """
        if not len(nodes):
            return
        self._reserve(1 + int(nodes.max()))
        size = len(self._mass)
        if counts.max() == 1:
            sums = np.zeros((5, size))
            adding = sum_leaves.for_steps(len(nodes))
            adding(nodes, masses, values, promptness, sums, self._least)
        else:
            lanes = np.repeat(np.arange(len(nodes)), counts)
            unit, total = masses / counts, np.bincount(lanes, values, len(nodes))
            sums = np.stack(
                [
                    np.bincount(nodes, masses, size),
                    np.bincount(nodes, masses * unit, size),
                    np.bincount(nodes, unit * total, size),
                    np.bincount(nodes[lanes], unit[lanes] * values**2, size),
                    np.bincount(nodes[lanes], unit[lanes] * promptness, size),
                ]
            )
            np.minimum.at(self._least, nodes, total / counts)
        self._mass += sums[0]
        self._squares_of_mass += sums[1]
        self._totals += sums[2]
        self._squares += sums[3]
        self._promptness += sums[4]

    def worth(self, kind: Leaf) -> tuple[IntArray, Worth]:
        """The leaves that have values, and these values; variances of means only."""
        nodes = np.flatnonzero(self._mass)
        mass = self._mass[nodes]
        means = self._totals[nodes] / mass
        promptness = self._promptness[nodes] / mass
        if kind is Leaf.MIN:
            return nodes, Worth(self._least[nodes], promptness, np.full(len(nodes), np.nan))
        spread = np.maximum(self._squares[nodes] - mass * means**2, 0.0)
        unit = self._squares_of_mass[nodes] / mass
        freedom = np.maximum(mass - unit, 0.0)
        total = float(freedom.sum())
        usual = float(spread.sum()) / total if total > 0 else np.nan
        spread += PRIOR_VALUES * unit * usual
        variances = spread / (freedom + PRIOR_VALUES * unit) * unit / mass
        return nodes, Worth(means, promptness, variances)

    def _reserve(self, size: int) -> None:
        self._mass = enlarged(self._mass, size, 0)
        self._squares_of_mass = enlarged(self._squares_of_mass, size, 0)
        self._totals = enlarged(self._totals, size, 0)
        self._squares = enlarged(self._squares, size, 0)
        self._promptness = enlarged(self._promptness, size, 0)
        least = np.full(len(self._mass), np.inf)
        least[: len(self._least)] = self._least
        self._least = least


_ROOT, _END = -1, -2
"""Stands in the place of percepts: the node is the root, or an end of the game."""


MOST_JOINT = 1 << 20
"""Joint moves of one turn of one history: with more, the search does not look so far ahead."""


class LookAhead(NamedTuple):
    """How information sets are searched.

    Attributes:
        depth: plies, at least 1.
        paranoid: whether the worst outcome of an action counts, or the mean.
        leaf: how the values of states are combined into that of a leaf.
        tries: refused tries in a row that cost no ply.
        most: most joint moves of one history and turn.
    """

    depth: int
    paranoid: bool
    leaf: Leaf = Leaf.MEAN
    tries: int = 0
    most: int = MOST_JOINT


class SetTree:
    """Information sets of one role, named by its paths from the root on."""

    def __init__(self, ahead: LookAhead, goal_range: tuple[float, float]) -> None:
        self._tries, self._paranoid, self._leaf = ahead.tries, ahead.paranoid, ahead.leaf
        self._middle = sum(goal_range) / 2
        self._nodes, self._actions = RowTable(3), RowTable(2)
        self._leaves, self._mixtures = LeafSums(), Mixtures()
        # For each node: turns since the root, plies left, free tries left, whether it is ever
        # certain to follow its action, and the mass of its histories.
        self._level = np.zeros(64, dtype=np.int64)
        self._depth = np.full(64, ahead.depth, dtype=np.int64)
        self._free = np.full(64, ahead.tries, dtype=np.int64)
        self._certain = np.zeros(64, dtype=np.bool_)
        self._mass = np.zeros(64)
        self._nodes.numbers(np.array([[_ROOT, _ROOT, 0]], dtype=np.int64).view(np.uint64))

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self._nodes)

    @property
    def num_leaves(self) -> int:
        """Number of nodes where the search stopped before the game did."""
        return len(self._leaves)

    def depths(self, nodes: IntArray) -> IntArray:
        """`[K]` plies left to search from nodes; 0 at leaves."""
        return self._depth[nodes]

    def free(self, nodes: IntArray) -> BoolArray:
        """`[K]` whether another refused try would cost no ply at each node."""
        return np.asarray(self._free[nodes] > 0)

    # ---------------------------------------------------------------- folding in

    def actions(self, nodes: IntArray, moves: IntArray) -> IntArray:
        """`[K]` the actions of moves at nodes."""
        return self._actions.numbers(_rows(nodes, moves))

    def reached(self, actions: IntArray, percepts: IntArray, refused: BoolArray) -> IntArray:
        """`[K]` the nodes reached by percepts after actions.

        A node's depth is fixed when it is first reached: one ply less than that of the node before,
        or the same, if some of its histories were refused tries and free tries are left.

        Args:
            refused: `[K]` whether the move of this lane was a refused try.
        """
        known = len(self)
        nodes = self._numbered(_rows(actions, percepts, 0))
        tried = np.zeros(len(self) - known, dtype=np.bool_)
        tried[nodes[(nodes >= known) & refused] - known] = True
        fresh, before = slice(known, len(self)), self._parents(known)
        free = tried & (self._free[before] > 0)
        self._depth[fresh] = self._depth[before] - ~free
        self._free[fresh] = np.where(free, self._free[before] - 1, self._tries)
        return nodes

    def ended(self, actions: IntArray, goals: FloatArray) -> IntArray:
        """`[K]` the terminal nodes with these goals, after actions."""
        bits = np.ascontiguousarray(goals).view(np.int64)
        return self._numbered(_rows(actions, _END, bits))

    def follow(
        self,
        actions: IntArray,
        nodes: IntArray,
        groups: IntArray | None = None,
        chances: FloatArray | None = None,
    ) -> None:
        """Record the nodes that may follow actions.

        Args:
            actions, nodes: `[K]` action, and the node it leads to.
            groups: `[K]` increasing: equal for outcomes of one history and the same moves of all
                roles but `random`; default: nothing is left to chance.
            chances: `[K]` probability of each; they sum to 1 in a group.
        """
        if self._paranoid:
            groups = np.arange(len(actions)) if groups is None else groups
            chances = np.ones(len(actions)) if chances is None else chances
            self._certain[self._mixtures.add(actions, nodes, groups, chances)] = True

    def add(self, nodes: IntArray, masses: FloatArray) -> None:
        """Fold in histories: add their masses to those of nodes."""
        self._mass[: len(self)] += np.bincount(nodes, masses, len(self))

    def add_leaves(
        self,
        nodes: IntArray,
        masses: FloatArray,
        counts: IntArray,
        values: FloatArray,
        turns: IntArray,
    ) -> None:
        """Fold in values of states where the search stops.

        Args:
            nodes, masses: `[K]` of each state.
            counts: `[K]` number of evaluations of each.
            values, turns: their results, state by state; see `Evaluation`.
        """
        level = self._level[nodes]
        turns = turns + (level if counts.max(initial=1) == 1 else np.repeat(level, counts))
        self._leaves.add(nodes, masses, counts, values, (self._middle - values) * turns)

    # ---------------------------------------------------------------- values

    def backed_up(self) -> tuple[IntArray, Worth]:
        """The moves tried at the root, and their values.

        A move that is legal in only some histories of a set counts in the others as a server would
        treat it, as a random legal move: with the mean of the set's actions, which paranoia takes
        only where it is worse. If a role has no move the value is the middle of the goals.
        """
        rows = self._nodes.rows.view(np.int64)
        into, mass = rows[:, 0], self._mass[: len(self)]
        is_end = rows[:, 1] == _END
        nodes, actions = Worth.zeros(len(self)), Worth.zeros(len(self._actions))
        ends = np.flatnonzero(is_end)
        goals = np.ascontiguousarray(rows[ends, 2]).view(np.float64)
        prompt = (self._middle - goals) * self._level[ends]
        nodes.put(ends, Worth(goals, prompt, np.zeros(len(ends))))
        nodes.put(*self._leaves.worth(self._leaf))
        for parents, children in self._levels(mass):
            inner = parents[~is_end[parents] & (self._depth[parents] > 0)]
            nodes.values[inner] = self._middle
            after = np.bincount(into[children], mass[children], len(actions.values)).astype(
                np.float64
            )
            actions.put(*self._followed(nodes, into, children, len(actions.values)))
            tried = np.flatnonzero(after)
            if len(tried):
                nodes.put(*self._chosen(actions, tried, after[tried]))
        at_root = np.flatnonzero((self._owner == 0) & self._tried(mass))
        return self._actions.rows.view(np.int64)[at_root, 1], actions.take(at_root)

    def _levels(self, mass: FloatArray) -> list[tuple[IntArray, IntArray]]:
        """Nodes with a mass at each level but the last, and those of the next level, bottom up."""
        level = self._level[: len(self)]
        order = np.argsort(level, kind="stable")
        order = order[mass[order] > 0]
        parts = np.split(order, np.cumsum(np.bincount(level[order])))[:-1]
        return list(zip(parts[-2::-1], parts[:0:-1], strict=True))

    def _tried(self, mass: FloatArray) -> BoolArray:
        """`[A]` whether some folded-in history went through the action."""
        into = self._nodes.rows.view(np.int64)[1:, 0]
        return np.bincount(into, mass[1:], len(self._actions)) > 0

    def _followed(
        self, nodes: Worth, into: IntArray, children: IntArray, size: int
    ) -> tuple[IntArray, Worth]:
        """Actions that lead to some nodes, and their values by these nodes."""
        if not self._paranoid:
            return nodes.take(children).mean(into[children], self._mass[children], size)
        certain = children[self._certain[children]]
        mixed_by, mixed = self._mixtures.worth(nodes, self._mass[: len(self)], children)
        by = np.concatenate([into[certain], mixed_by])
        both = zip(nodes.take(certain), mixed, strict=True)
        found = Worth(*(np.concatenate(parts) for parts in both))
        least = np.full(size, np.inf)
        np.minimum.at(least, by, found.values)
        slack = TIE_TOLERANCE * np.maximum(np.abs(least[by]), 1.0)
        return found.mean(by, (found.values <= least[by] + slack).astype(np.float64), size)

    def _chosen(
        self, actions: Worth, tried: IntArray, masses: FloatArray
    ) -> tuple[IntArray, Worth]:
        """Nodes, and the value of their best action, the promptest among equals.

        Args:
            actions: values of all actions; changed where a move is not legal in all histories.
            tried: the actions of these nodes.
            masses: of these actions: less than their node's if some history does not allow them.
        """
        owner = self._owner[tried]
        found = actions.take(tried)
        share = masses / self._mass[owner]
        some = np.flatnonzero(share < 1 - TIE_TOLERANCE)
        if len(some):
            which, means = found.mean(owner, np.ones(len(owner)), len(self))
            mean = means.take(np.searchsorted(which, owner[some]))
            if self._paranoid:
                worse = np.flatnonzero(mean.values < found.values[some])
                some, mean = some[worse], mean.take(worse)
                found.put(some, mean)
            else:
                parts = zip(found.take(some), mean, strict=True)
                s = share[some]
                found.put(some, Worth(*(s * own + (1 - s) * other for own, other in parts)))
            actions.put(tried, found)
        best = np.full(len(self), -np.inf)
        np.maximum.at(best, owner, found.values)
        slack = TIE_TOLERANCE * np.maximum(np.abs(best[owner]), 1.0)
        equal = np.flatnonzero(found.values >= best[owner] - slack)
        prompt = np.full(len(self), -np.inf)
        np.maximum.at(prompt, owner[equal], found.promptness[equal])
        chosen = equal[found.promptness[equal] >= prompt[owner[equal]]]
        return owner[chosen], found.take(chosen)

    # ---------------------------------------------------------------- private

    @property
    def _owner(self) -> IntArray:
        """`[A]` the node of each action."""
        return self._actions.rows.view(np.int64)[:, 0]

    def _parents(self, known: int) -> IntArray:
        """The parents of all nodes from a number on, none of which is the root."""
        return np.asarray(self._owner[self._nodes.rows.view(np.int64)[known:, 0]])

    def _numbered(self, rows: NDArray[np.uint64]) -> IntArray:
        known = len(self)
        nodes = self._nodes.numbers(rows)
        size = len(self)
        self._level = enlarged(self._level, size, 0)
        self._depth = enlarged(self._depth, size, 0)
        self._free = enlarged(self._free, size, 0)
        self._certain = enlarged(self._certain, size, 0)
        self._mass = enlarged(self._mass, size, 0)
        self._level[known:size] = 1 + self._level[self._parents(known)]
        return nodes


def _rows(first: IntArray, *others: IntArray | int) -> NDArray[np.uint64]:
    """Columns as rows."""
    rows = np.empty((len(first), 1 + len(others)), dtype=np.int64)
    rows[:, 0] = first
    for k, other in enumerate(others, 1):
        rows[:, k] = other
    return rows.view(np.uint64)


# ------------------------------------------------------------------------
# Mixtures: the chance outcomes of one history and given moves of all other roles.
#
# A mixture is a list of nodes with probabilities. Equal lists are one, whichever histories they
# come from: lists are paths of a tree, and a step of it is (previous steps, node, probability).

_NOTHING = -1
"""The step before the first one."""


class Mixtures:
    """The mixtures that actions may lead to."""

    def __init__(self) -> None:
        self._steps, self._mixtures = RowTable(3), RowTable(2)
        self._place = np.zeros(64, dtype=np.int64)

    def add(
        self, actions: IntArray, nodes: IntArray, groups: IntArray, chances: FloatArray
    ) -> IntArray:
        """Record mixtures.

        Args:
            actions, nodes: `[K]` action, and the node it leads to.
            groups: `[K]` increasing; all nodes of a mixture have the same number, and the same
                action.
            chances: `[K]` probabilities, which sum to 1 in a group.

        Returns:
            the nodes that are certain in some group: these are no mixtures.
        """
        first, same = first_seen_columns([groups, nodes])
        summed = np.bincount(same, chances, len(first))
        # In the order of nodes: the same nodes and chances are the same list.
        order = np.lexsort((nodes[first], groups[first]))
        first, summed = first[order], summed[order]
        starts = np.flatnonzero(np.diff(groups[first], prepend=-1))
        sizes = np.diff(np.append(starts, len(first)))
        bits = np.ascontiguousarray(summed).view(np.int64)
        last = np.full(len(starts), _NOTHING, dtype=np.int64)
        several = np.flatnonzero(sizes > 1)
        for place in range(int(sizes[several].max(initial=0))):
            some = several[sizes[several] > place]
            at = starts[some] + place
            last[some] = self._stepped(last[some], nodes[first[at]], bits[at], place)
        rows = np.column_stack([actions[first[starts[several]]], last[several]])
        self._mixtures.numbers(rows.view(np.uint64))
        return np.asarray(nodes[first[starts[sizes == 1]]])

    def worth(self, nodes: Worth, masses: FloatArray, level: IntArray) -> tuple[IntArray, Worth]:
        """Values of the mixtures of some nodes.

        Args:
            nodes: values of all nodes.
            masses: of all nodes; mixtures with nodes of mass 0 are left out.
            level: nodes; a mixture has all of its nodes among them, or none.

        Returns:
            the action that leads to each of these mixtures, and their values.
        """
        before, child, bits = self._steps.rows.view(np.int64).T
        wanted = np.zeros(len(masses), dtype=np.bool_)
        wanted[level] = masses[level] > 0
        chance = np.ascontiguousarray(bits).view(np.float64)
        found = Worth.zeros(len(child))
        alive = wanted[child]
        steps = np.flatnonzero(alive)
        places = self._place[steps]
        for some in np.split(
            steps[np.argsort(places, kind="stable")], offsets_of(np.bincount(places))[1:-1]
        ):
            own = nodes.take(child[some])
            p = chance[some]
            part = Worth(p * own.values, p * own.promptness, p**2 * own.variances)
            later = before[some] != _NOTHING
            for total, new in zip(found, part, strict=True):
                total[some] = new + np.where(later, total[before[some]], 0.0)
            alive[some] &= ~later | alive[before[some]]
        actions, last = self._mixtures.rows.view(np.int64).T
        which = np.flatnonzero(alive[last])
        return actions[which], found.take(last[which])

    def _stepped(self, before: IntArray, nodes: IntArray, bits: IntArray, place: int) -> IntArray:
        """Lists extended by one step."""
        known = len(self._steps)
        rows = np.column_stack([before, nodes, bits])
        steps = self._steps.numbers(rows.view(np.uint64))
        self._place = enlarged(self._place, len(self._steps), 0)
        self._place[known : len(self._steps)] = place
        return steps
