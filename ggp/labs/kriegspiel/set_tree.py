"""The tree of information sets that a role may reach, with values backed up through it.

`set_search` folds histories of a bag into a tree, and reads the values of the moves at its root. A
node is an incomplete path of the role: an information set. An action is a move there. The role's
percepts after an action lead to other nodes; ends of the game are nodes too, one for each goal.

    wait ─▶ sees nothing ─▶ {red armed, blue armed}   cut red ─▶ end: 100, end: 0
    ask  ─▶ sees red     ─▶ {red armed}               cut red ─▶ end: 90
         └▶ sees blue    ─▶ {blue armed}              cut blue ─▶ end: 90

The tree stores no histories. Each adds its probability to the mass of all nodes that it may pass
through. The value of an action is the mean of the nodes after it, by mass (overconfident), or their
minimum (paranoid). Chance is averaged first: paranoia takes the worst *mixture* of nodes that may
result from one history and one move of each opponent.

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
# Sums over leaves in one pass: numpy would gather the same entries once for each sum.


@kernel
def merge_leaves(
    leaves: IntArray,
    nodes: IntArray,
    masses: FloatArray,
    keys: IntArray,
    slots: NDArray[np.int32],
    first: IntArray,
    merged: FloatArray,
) -> int:
    """Merge leaves with equal nodes and keys, in order of first appearance.

    An open-addressing hash table with linear probing. It ends because some slot stays free.

    Args:
        leaves: `[N]` indices of the leaves to merge, among K.
        nodes, masses, keys: `[K]`, `[K]`, `[K, 2]` of each leaf.
        slots: all free (-1): a power of two of them, more than N.
        first, merged: `[N]` out: the first leaf of each group, and the sum of its masses in order.

    Returns:
        the number of groups.
    """
    mask, size = np.uint64(len(slots) - 1), 0
    for n in range(len(leaves)):
        k = leaves[n]
        slot = ended(mixed_in(mixed_in(START, np.uint64(nodes[k])), np.uint64(keys[k, 0]))) & mask
        while True:
            entry = slots[slot]
            if entry < 0:
                slots[slot] = size
                first[size], merged[size] = k, masses[k]
                size += 1
                break
            # The leaf in a slot decides: equal hashes of different leaves go on to the next slot.
            earlier = first[entry]
            if (
                nodes[earlier] == nodes[k]
                and keys[earlier, 0] == keys[k, 0]
                and keys[earlier, 1] == keys[k, 1]
            ):
                merged[entry] += masses[k]
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
    lowest: FloatArray,
) -> None:
    """Add leaves that were valued once to the sums of their nodes.

    Args:
        nodes, masses, values, promptness: `[K]` of each leaf.
        sums: `[5, N]` in and out, by node: sums of masses, squared masses, and masses times values,
            squared values and promptness.
        lowest: `[N]` in and out: smallest value of each node.
    """
    for k in range(len(nodes)):
        node, mass, value = nodes[k], masses[k], values[k]
        sums[0, node] += mass
        sums[1, node] += mass * mass
        sums[2, node] += mass * value
        sums[3, node] += mass * (value * value)
        sums[4, node] += mass * promptness[k]
        lowest[node] = min(lowest[node], value)


# ------------------------------------------------------------------------

# ------------------------------------------------------------------------
# Values of information sets, and of leaves by their states.

PRIOR_VALUES = 2
"""Weight of the prior for the variance of a leaf: so many values with the spread of all leaves."""


class Leaf(StrEnum):
    """Value of an information set where the search stops: `MEAN` or `MIN` of its states."""

    MEAN = "mean"
    MIN = "min"


class Worth(NamedTuple):
    """Values of N nodes or actions.

    Attributes:
        values: `[N]` in goals.
        promptness: `[N]`, see `Estimates`.
        variances: `[N]` of the values, from the noise of the leaves that the best actions lead to,
            as if these actions were certainly the best.
    """

    values: FloatArray
    promptness: FloatArray
    variances: FloatArray

    @staticmethod
    def zeros(count: int) -> Worth:
        """All zeros."""
        return Worth(np.zeros(count), np.zeros(count), np.zeros(count))

    def take(self, indices: IntArray) -> Worth:
        """Values of these nodes."""
        return Worth(*(part[indices] for part in self))

    def assign(self, indices: IntArray, worth: Worth) -> None:
        """Set the values of these nodes, in place."""
        for part, new in zip(self, worth, strict=True):
            part[indices] = new

    def mean(self, groups: IntArray, weights: FloatArray, count: int) -> tuple[IntArray, Worth]:
        """Weighted means of groups.

        Args:
            groups: `[N]` indices below `count`.
            weights: `[N]`.

        Returns:
            the groups whose weights are not all 0, increasing, and their values.
        """
        # The variance of a weighted mean of independent values: sum(w**2 * var) / sum(w)**2.
        total = np.bincount(groups, weights, count)
        present = np.flatnonzero(total)
        sums = [np.bincount(groups, weights * part, count)[present] for part in self[:2]]
        squares = np.bincount(groups, weights**2 * self.variances, count)[present]
        total = total[present]
        return present, Worth(sums[0] / total, sums[1] / total, squares / total**2)


class LeafSums:
    """Sums over the values of the states of each leaf."""

    def __init__(self) -> None:
        # By node: sums of masses, squared masses, and masses times values, squares and promptness.
        self._sums = np.zeros((64, 5))
        self._lowest = np.full(64, np.inf)

    def __len__(self) -> int:
        """Number of leaves that have values."""
        return int(np.count_nonzero(self._sums[:, 0]))

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
            nodes, masses: `[K]` leaf and probability of each state.
            counts: `[K]` number of evaluations of each state.
            values, promptness: of each evaluation, state by state.
        """
        if not len(nodes):
            return
        self._reserve(1 + int(nodes.max()))
        size = len(self._sums)
        if counts.max() == 1:
            sums = np.zeros((5, size))
            adding = sum_leaves.for_steps(len(nodes))
            adding(nodes, masses, values, promptness, sums, self._lowest)
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
            np.minimum.at(self._lowest, nodes, total / counts)
        self._sums += sums.T

    def worth(self, kind: Leaf) -> tuple[IntArray, Worth]:
        """Leaves that have values, and their values; variances for means only."""
        nodes = np.flatnonzero(self._sums[:, 0])
        mass, squares_of_mass, totals, squares, prompt = self._sums[nodes].T
        means, promptness = totals / mass, prompt / mass
        if kind is Leaf.MIN:
            return nodes, Worth(self._lowest[nodes], promptness, np.full(len(nodes), np.nan))
        spread = np.maximum(squares - mass * means**2, 0.0)
        unit = squares_of_mass / mass
        freedom = np.maximum(mass - unit, 0.0)
        total = float(freedom.sum())
        # Shrink each leaf's variance towards that of all leaves, as few values are weak evidence.
        usual = float(spread.sum()) / total if total > 0 else np.nan
        spread += PRIOR_VALUES * unit * usual
        variances = spread / (freedom + PRIOR_VALUES * unit) * unit / mass
        return nodes, Worth(means, promptness, variances)

    def _reserve(self, size: int) -> None:
        self._sums = enlarged(self._sums, size, 0)
        lowest = np.full(len(self._sums), np.inf)
        lowest[: len(self._lowest)] = self._lowest
        self._lowest = lowest


_ROOT, _END = -1, -2
"""In place of percepts: the node is the root, or an end of the game."""


MAX_JOINT = 1 << 20
"""Most joint moves of one turn of one history: with more, the search looks fewer plies ahead."""


class LookAhead(NamedTuple):
    """How information sets are searched.

    Attributes:
        depth: plies, at least 1.
        paranoid: whether an action counts by its worst outcome; else by the mean.
        leaf: how the values of its states give the value of a leaf.
        tries: refused tries in a row that cost no ply.
        max_joint: most joint moves of one history and turn.
    """

    depth: int
    paranoid: bool
    leaf: Leaf = Leaf.MEAN
    tries: int = 0
    max_joint: int = MAX_JOINT


class SetTree:
    """Information sets of one role, identified by its paths from the root."""

    def __init__(self, settings: LookAhead, goal_range: tuple[float, float]) -> None:
        self._tries, self._paranoid, self._leaf = settings.tries, settings.paranoid, settings.leaf
        self._middle = sum(goal_range) / 2
        self._nodes, self._actions = RowTable(3), RowTable(2)
        self._leaves, self._mixtures = LeafSums(), Mixtures()
        # For each node: turns since the root, plies left, free tries left, whether it is the only
        # outcome of its action for some history, and the mass of its histories.
        self._level = np.zeros(64, dtype=np.int64)
        self._depth = np.full(64, settings.depth, dtype=np.int64)
        self._free = np.full(64, settings.tries, dtype=np.int64)
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
        """`[K]` actions of moves at nodes."""
        return self._actions.numbers(_rows(nodes, moves))

    def reached(self, actions: IntArray, percepts: IntArray, refused: BoolArray) -> IntArray:
        """`[K]` nodes reached by percepts after actions.

        A node's depth is fixed when it is first reached: one ply less than its parent's, or the
        same if one of its histories was a refused try and free tries are left.

        Args:
            refused: `[K]` whether the move of each lane was a refused try.
        """
        size = len(self)
        nodes = self._add_nodes(_rows(actions, percepts, 0))
        any_refused = np.zeros(len(self) - size, dtype=np.bool_)
        any_refused[nodes[(nodes >= size) & refused] - size] = True
        fresh, parents = slice(size, len(self)), self._parents(size)
        free = any_refused & (self._free[parents] > 0)
        self._depth[fresh] = self._depth[parents] - ~free
        self._free[fresh] = np.where(free, self._free[parents] - 1, self._tries)
        return nodes

    def ended(self, actions: IntArray, goals: FloatArray) -> IntArray:
        """`[K]` terminal nodes with these goals, after actions."""
        bits = np.ascontiguousarray(goals).view(np.int64)
        return self._add_nodes(_rows(actions, _END, bits))

    def follow(
        self,
        actions: IntArray,
        nodes: IntArray,
        groups: IntArray | None = None,
        chances: FloatArray | None = None,
    ) -> None:
        """Record the nodes that may follow actions.

        Args:
            actions, nodes: `[K]` action, and the node that it leads to.
            groups: `[K]` increasing; equal for outcomes of one history and the same moves of all
                roles except `random`; default: no chance.
            chances: `[K]` probability of each outcome; they sum to 1 in a group.
        """
        if self._paranoid:
            groups = np.arange(len(actions)) if groups is None else groups
            chances = np.ones(len(actions)) if chances is None else chances
            self._certain[self._mixtures.add(actions, nodes, groups, chances)] = True

    def add(self, nodes: IntArray, masses: FloatArray) -> None:
        """Fold in histories: add their masses to their nodes."""
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
            counts: `[K]` number of evaluations of each state.
            values, turns: of each evaluation, state by state; see `Evaluation`.
        """
        level = self._level[nodes]
        turns = turns + (level if counts.max(initial=1) == 1 else np.repeat(level, counts))
        self._leaves.add(nodes, masses, counts, values, (self._middle - values) * turns)

    # ---------------------------------------------------------------- values

    def root_values(self) -> tuple[IntArray, Worth]:
        """Moves that were tried at the root, and their values.

        In histories of a set where a move is illegal, a server would play a random legal move. So
        the move counts there with the mean of the set's actions; paranoia takes this mean only
        where it is worse. If a role has no move, the value is the middle of the goal range.
        """
        rows = self._nodes.rows.view(np.int64)
        into, mass = rows[:, 0], self._mass[: len(self)]
        is_end = rows[:, 1] == _END
        nodes, actions = Worth.zeros(len(self)), Worth.zeros(len(self._actions))
        ends = np.flatnonzero(is_end)
        goals = np.ascontiguousarray(rows[ends, 2]).view(np.float64)
        prompt = (self._middle - goals) * self._level[ends]
        nodes.assign(ends, Worth(goals, prompt, np.zeros(len(ends))))
        nodes.assign(*self._leaves.worth(self._leaf))
        for parents, children in self._levels(mass):
            inner = parents[~is_end[parents] & (self._depth[parents] > 0)]
            nodes.values[inner] = self._middle
            masses = np.bincount(into[children], mass[children], len(actions.values)).astype(
                np.float64
            )
            actions.assign(*self._action_values(nodes, into, children, len(actions.values)))
            visited = np.flatnonzero(masses)
            if len(visited):
                nodes.assign(*self._best_values(actions, visited, masses[visited]))
        at_root = np.flatnonzero((self._owner == 0) & self._is_visited(mass))
        return self._actions.rows.view(np.int64)[at_root, 1], actions.take(at_root)

    def _levels(self, mass: FloatArray) -> list[tuple[IntArray, IntArray]]:
        """Pairs of neighbouring levels, bottom up: nodes with a mass, and those one level below."""
        level = self._level[: len(self)]
        order = np.argsort(level, kind="stable")
        order = order[mass[order] > 0]
        parts = np.split(order, np.cumsum(np.bincount(level[order])))[:-1]
        return list(zip(parts[-2::-1], parts[:0:-1], strict=True))

    def _is_visited(self, mass: FloatArray) -> BoolArray:
        """`[A]` whether some folded-in history went through the action."""
        into = self._nodes.rows.view(np.int64)[1:, 0]
        return np.bincount(into, mass[1:], len(self._actions)) > 0

    def _action_values(
        self, nodes: Worth, into: IntArray, children: IntArray, size: int
    ) -> tuple[IntArray, Worth]:
        """Actions that lead to these children, and their values."""
        if not self._paranoid:
            return nodes.take(children).mean(into[children], self._mass[children], size)
        certain = children[self._certain[children]]
        mixed_by, mixed = self._mixtures.worth(nodes, self._mass[: len(self)], children)
        by = np.concatenate([into[certain], mixed_by])
        pairs = zip(nodes.take(certain), mixed, strict=True)
        worth = Worth(*(np.concatenate(parts) for parts in pairs))
        lowest = np.full(size, np.inf)
        np.minimum.at(lowest, by, worth.values)
        slack = TIE_TOLERANCE * np.maximum(np.abs(lowest[by]), 1.0)
        return worth.mean(by, (worth.values <= lowest[by] + slack).astype(np.float64), size)

    def _best_values(
        self, actions: Worth, visited: IntArray, masses: FloatArray
    ) -> tuple[IntArray, Worth]:
        """Nodes, and the values of their best actions; of equal actions, the promptest.

        Args:
            actions: values of all actions; changed where a move is not legal in all histories.
            visited: the actions of these nodes.
            masses: of `visited`; below the node's mass if the move is illegal in some history.
        """
        owner = self._owner[visited]
        worth = actions.take(visited)
        share = masses / self._mass[owner]
        partial = np.flatnonzero(share < 1 - TIE_TOLERANCE)
        if len(partial):
            nodes, means = worth.mean(owner, np.ones(len(owner)), len(self))
            mean = means.take(np.searchsorted(nodes, owner[partial]))
            if self._paranoid:
                worse = np.flatnonzero(mean.values < worth.values[partial])
                partial, mean = partial[worse], mean.take(worse)
                worth.assign(partial, mean)
            else:
                parts = zip(worth.take(partial), mean, strict=True)
                s = share[partial]
                worth.assign(partial, Worth(*(s * v + (1 - s) * m for v, m in parts)))
            actions.assign(visited, worth)
        best = np.full(len(self), -np.inf)
        np.maximum.at(best, owner, worth.values)
        slack = TIE_TOLERANCE * np.maximum(np.abs(best[owner]), 1.0)
        equal = np.flatnonzero(worth.values >= best[owner] - slack)
        prompt = np.full(len(self), -np.inf)
        np.maximum.at(prompt, owner[equal], worth.promptness[equal])
        picks = equal[worth.promptness[equal] >= prompt[owner[equal]]]
        return owner[picks], worth.take(picks)

    # ---------------------------------------------------------------- private

    @property
    def _owner(self) -> IntArray:
        """`[A]` the node of each action."""
        return self._actions.rows.view(np.int64)[:, 0]

    def _parents(self, start: int) -> IntArray:
        """Parents of all nodes from index `start` on, which is above the root's."""
        return np.asarray(self._owner[self._nodes.rows.view(np.int64)[start:, 0]])

    def _add_nodes(self, rows: NDArray[np.uint64]) -> IntArray:
        start = len(self)
        nodes = self._nodes.numbers(rows)
        size = len(self)
        self._level = enlarged(self._level, size, 0)
        self._depth = enlarged(self._depth, size, 0)
        self._free = enlarged(self._free, size, 0)
        self._certain = enlarged(self._certain, size, 0)
        self._mass = enlarged(self._mass, size, 0)
        self._level[start:size] = 1 + self._level[self._parents(start)]
        return nodes


def _rows(first: IntArray, *columns: IntArray | int) -> NDArray[np.uint64]:
    """Rows with these columns."""
    rows = np.empty((len(first), 1 + len(columns)), dtype=np.int64)
    rows[:, 0] = first
    for k, column in enumerate(columns, 1):
        rows[:, k] = column
    return rows.view(np.uint64)


# ------------------------------------------------------------------------
# Mixtures: chance outcomes of one history and given moves of all other roles.
#
# A mixture is a list of nodes with probabilities. Equal lists are stored once, whichever histories
# they come from: each list is a path in a tree of steps (previous step, node, probability).

_NOTHING = -1
"""In place of the step before the first."""


class Mixtures:
    """Mixtures that actions may lead to."""

    def __init__(self) -> None:
        self._steps, self._mixtures = RowTable(3), RowTable(2)
        self._position = np.zeros(64, dtype=np.int64)

    def add(
        self, actions: IntArray, nodes: IntArray, groups: IntArray, chances: FloatArray
    ) -> IntArray:
        """Record mixtures.

        Args:
            actions, nodes: `[K]` action, and the node that it leads to.
            groups: `[K]` increasing; the nodes of one mixture share a group and an action.
            chances: `[K]` probabilities, which sum to 1 in a group.

        Returns:
            nodes that are alone in their group: they are certain, not mixtures.
        """
        first, pair = first_seen_columns([groups, nodes])
        summed = np.bincount(pair, chances, len(first))
        # Sorted by node, so that the same nodes and chances give the same list.
        order = np.lexsort((nodes[first], groups[first]))
        first, summed = first[order], summed[order]
        starts = np.flatnonzero(np.diff(groups[first], prepend=-1))
        sizes = np.diff(np.append(starts, len(first)))
        bits = np.ascontiguousarray(summed).view(np.int64)
        last = np.full(len(starts), _NOTHING, dtype=np.int64)
        several = np.flatnonzero(sizes > 1)
        for step in range(int(sizes[several].max(initial=0))):
            longer = several[sizes[several] > step]
            at = starts[longer] + step
            last[longer] = self._extend(last[longer], nodes[first[at]], bits[at], step)
        rows = np.column_stack([actions[first[starts[several]]], last[several]])
        self._mixtures.numbers(rows.view(np.uint64))
        return np.asarray(nodes[first[starts[sizes == 1]]])

    def worth(self, nodes: Worth, masses: FloatArray, level: IntArray) -> tuple[IntArray, Worth]:
        """Values of the mixtures of these nodes.

        Args:
            nodes: values of all nodes.
            masses: of all nodes; mixtures with nodes of mass 0 are left out.
            level: nodes; a mixture has all its nodes among them, or none.

        Returns:
            the action that leads to each of these mixtures, and the mixture's value.
        """
        previous, child, bits = self._steps.rows.view(np.int64).T
        has_mass = np.zeros(len(masses), dtype=np.bool_)
        has_mass[level] = masses[level] > 0
        chance = np.ascontiguousarray(bits).view(np.float64)
        worth = Worth.zeros(len(child))
        alive = has_mass[child]
        steps = np.flatnonzero(alive)
        positions = self._position[steps]
        for layer in np.split(
            steps[np.argsort(positions, kind="stable")], offsets_of(np.bincount(positions))[1:-1]
        ):
            children = nodes.take(child[layer])
            p = chance[layer]
            part = Worth(p * children.values, p * children.promptness, p**2 * children.variances)
            later = previous[layer] != _NOTHING
            for total, new in zip(worth, part, strict=True):
                total[layer] = new + np.where(later, total[previous[layer]], 0.0)
            alive[layer] &= ~later | alive[previous[layer]]
        actions, last = self._mixtures.rows.view(np.int64).T
        complete = np.flatnonzero(alive[last])
        return actions[complete], worth.take(last[complete])

    def _extend(self, previous: IntArray, nodes: IntArray, bits: IntArray, step: int) -> IntArray:
        """Extend lists by one step, and return their last steps."""
        start = len(self._steps)
        rows = np.column_stack([previous, nodes, bits])
        steps = self._steps.numbers(rows.view(np.uint64))
        self._position = enlarged(self._position, len(self._steps), 0)
        self._position[start : len(self._steps)] = step
        return steps
