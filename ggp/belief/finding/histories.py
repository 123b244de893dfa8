"""Particles made of whole histories, where much is decided before a role is told of it.

Where chance deals ten cards before the role sees its hand, nothing that is drawn turn by turn
agrees. Some machines draw whole histories for a path instead (`Redrawer`), in all of which the role
sees just what it saw.

    bag before the turn     what agrees     histories drawn for the path     the bag
    64 entries              5               59, beginning with those 5       64

Where none agrees, they begin with the bag of the turn before, and else with the start of the game.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.finder import Finder, Setting
from ggp.belief.finding.earlier import Trail
from ggp.belief.paths import PathTree
from ggp.belief.segments import Segments, one_set, with_more
from ggp.machine.abilities import Redrawer, Redraws
from ggp.machine.base import BoolArray, IntArray, Machine, States

FULL = 64
"""Entries that a bag is filled up to with whole histories."""

AT_ONCE = 8
"""Histories drawn between two looks at what there is, and for a bag that grows."""

MOST_FRUITLESS = 4
"""So many times in a row nothing new was drawn: that is all."""


class Histories(Finder):
    """Draws whole histories for the path that a player's own bag is at.

    Args:
        trail: bags of earlier turns.
    """

    def __init__(self, setting: Setting, trail: Trail) -> None:
        self._setting, self._trail = setting, trail
        # What draws for the last path that something was drawn for: it has learnt how.
        self._last: tuple[int, Redraws] | None = None
        self._unfinished: States | None = None

    def helps(self, bags: Bags) -> BoolArray:
        return np.asarray(self.adds(bags.paths) & (2 * bags.sets.counts < self._wanted))

    def adds(self, paths: IntArray) -> bool:
        """Whether the machine draws histories for these: for one path with a turn."""
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
        """The one bag of a path, filled up to so many entries with what is drawn for it.

        Histories are drawn by their prior when the others move evenly, whatever a model says.
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
        # What was begun for this path is of use for those that go on from it.
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
    """What draws histories for a path that is not empty, on a machine that draws some."""
    assert isinstance(machine, Redrawer)
    turns = [tree.last_turns(node)[0] for node in tree.beginnings(np.array([path]))[1:]]
    return machine.redraws(role, np.array(turns), rng)
