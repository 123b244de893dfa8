"""Particles made of whole histories, for games in which much is decided before a role learns of it.

Where chance deals ten cards before the role sees its hand, nothing drawn turn by turn agrees with
the percepts. Some machines draw whole histories for a path instead (`Redrawer`), in all of which
the role sees exactly what it saw.

    bag before the turn     what agrees     histories drawn for the path     the bag
    64 entries              5               59, beginning with those 5       64

Where none agrees, histories begin with the bag of the turn before, or else with the initial state.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.finder import Finder, Setting
from ggp.belief.finding.earlier import BagHistory
from ggp.belief.paths import PathTree
from ggp.belief.segments import Segments, one_set, with_more
from ggp.machine.abilities import Redrawer, Redraws
from ggp.machine.base import BoolArray, IntArray, Machine, States

FULL = 64
"""Bags are filled up with whole histories to this many entries."""

AT_ONCE = 8
"""Histories drawn between two looks at the bag, and for a bag that grows."""

MOST_FRUITLESS = 4
"""After this many draws in a row with nothing new, there are taken to be no more histories."""


class HistoryFinder(Finder):
    """A `Finder` that draws whole histories for the path of a player's own bag.

    Args:
        trail: bags of earlier turns.
    """

    def __init__(self, setting: Setting, trail: BagHistory) -> None:
        self._setting, self._trail = setting, trail
        # What draws for the last path for which anything was drawn: it has learnt how.
        self._last: tuple[int, Redraws] | None = None
        self._unfinished: States | None = None

    def helps(self, bags: Bags) -> BoolArray:
        return np.asarray(self.adds(bags.paths) & (2 * bags.sets.counts < self._wanted))

    def adds(self, paths: IntArray) -> bool:
        """Whether the machine draws histories for these paths: for a single path with a turn."""
        machine, tree = self._setting.machine, self._setting.tree
        if len(paths) != 1 or not tree.depth(int(paths[0])):
            return False
        return isinstance(machine, Redrawer) and machine.redraws_histories

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        return self._filled(bags, self._wanted, rng)

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        wanted = min(len(bags.sets.states) + AT_ONCE, self._setting.most_entries)
        return self._filled(bags, wanted, rng)

    def renumber(self, numbers: IntArray) -> None:
        self._last = None

    @property
    def _wanted(self) -> int:
        return max(self._setting.capacity, min(self._setting.room, FULL))

    def _filled(self, bags: Bags, wanted: int, rng: np.random.Generator) -> Segments:
        """The one bag of a path, filled up to `wanted` entries with histories drawn for it.

        Histories are drawn by their prior under uniform moves of the others, whatever a model says.
        """
        machine, tree = self._setting.machine, self._setting.tree
        role, path, sets = bags.role, int(bags.paths[0]), bags.sets
        if self._last is None or self._last[0] != path:
            self._last = path, redraws_of(machine, tree, role, path, rng)
        redraws = self._last[1]
        earlier = self._trail.starts(tree, path)
        starts = earlier[0][1].states if earlier else machine.initial(1)
        if self._unfinished is not None:
            starts = machine.concatenate([self._unfinished, starts])
        fruitless, stop = 0, self._setting.stop
        while len(sets.states) < wanted and fruitless < MOST_FRUITLESS and not stop():
            if len(sets.states):
                weights = np.exp(sets.log_weights)
                places = rng.choice(len(weights), AT_ONCE, p=weights / weights.sum())
                starts = sets.states.take(places)
            before = len(sets.states)
            drawn = redraws.draw(starts, min(wanted - before, AT_ONCE), stop)
            if len(drawn.states):
                views = None if sets.views is None else self._views(role, path, drawn.joint_moves)
                sets = with_more(machine, sets, replace(one_set(drawn.states), views=views))
            fruitless = 0 if len(sets.states) > before else fruitless + 1
        # What was begun for this path helps with its continuations.
        self._unfinished = None if len(sets.states) else redraws.unfinished()
        return sets

    def _views(self, role: int, path: int, joint_moves: IntArray) -> IntArray:
        """`[N, R]` incomplete path of every role along histories that agree with that of one."""
        machine, tree = self._setting.machine, self._setting.tree
        states = machine.initial(len(joint_moves))
        known = np.tile(np.arange(len(machine.roles), dtype=np.int64), (len(joint_moves), 1))
        for turn in range(joint_moves.shape[1]):
            rows = joint_moves[:, turn]
            states, percepts = machine.step(states, rows)
            tree.extend_views(known, rows, percepts, role, path)
        return known


def redraws_of(
    machine: Machine, tree: PathTree, role: int, path: int, rng: np.random.Generator
) -> Redraws:
    """The `Redraws` of histories for a path that is not empty, on a machine that draws some."""
    assert isinstance(machine, Redrawer)
    turns = [tree.last_turns(node)[0] for node in tree.beginnings(np.array([path]))[1:]]
    return machine.redraws(role, np.array(turns), rng)
