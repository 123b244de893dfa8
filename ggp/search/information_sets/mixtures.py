"""Mixtures: the chance outcomes of one history and given moves of all other roles.

A mixture is a list of nodes with probabilities. Equal lists are one, whichever histories they come
from: lists are paths of a tree, and a step of it is (previous steps, node, probability).
"""

from __future__ import annotations

import numpy as np

from ggp.machine.arrays import enlarged, first_seen_columns, offsets_of
from ggp.machine.base import FloatArray, IntArray
from ggp.machine.rows import RowTable
from ggp.search.information_sets.set_values import Worth

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
