"""Particles made of whole histories, where much is decided before a role is told of it.

Where chance deals ten cards before the role sees its hand, nothing that is drawn turn by turn
agrees. Some machines draw whole histories for a path instead (`Redrawer`), in all of which the role
sees just what it saw.

    bag before the turn     what agrees     histories drawn for the path     the bag
    64 entries              5               59, beginning with those 5       64

Where none agrees, they begin with the bag of the turn before, and else with the start of the game.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.belief.open_moves import MOST_COMPLETIONS
from ggp.belief.paths import PathTree
from ggp.belief.resample import log_sums
from ggp.belief.segments import Segments
from ggp.belief.trail import Trail
from ggp.machine.abilities import Redrawer, Redraws
from ggp.machine.arrays import first_seen_columns, offsets_of
from ggp.machine.base import IntArray, Machine, States

AT_ONCE = 8
"""Histories drawn between two looks at what there is."""

MOST_FRUITLESS = 4
"""So many times in a row nothing new was drawn: that is all."""


class HistoryRedraws:
    """Draws whole histories for the path that a player's own bag is at.

    Args:
        machine: the game.
        tree: names the incomplete paths.
        trail: bags of earlier turns.
        stop: asked now and then; when true, no more are drawn.
    """

    def __init__(
        self, machine: Machine, tree: PathTree, trail: Trail, stop: Callable[[], bool]
    ) -> None:
        self._machine, self._tree, self._trail, self._stop = machine, tree, trail, stop
        # What draws for the last path that something was drawn for: it has learnt how.
        self._last: tuple[int, Redraws] | None = None
        self._unfinished: States | None = None

    def help_with(self, paths: IntArray) -> bool:
        """Whether the machine draws histories for these: for one path with a turn."""
        if len(paths) != 1 or not self._tree.depth(int(paths[0])):
            return False
        return isinstance(self._machine, Redrawer) and self._machine.redraws_histories

    def forget(self) -> None:
        """Paths have other numbers from now on."""
        self._last = None

    def filled(
        self, role: int, path: int, sets: Segments, wanted: int, rng: np.random.Generator
    ) -> Segments:
        """The one bag of a path, filled up to so many entries with what is drawn for it."""
        if self._last is None or self._last[0] != path:
            self._last = path, redraws_of(self._machine, self._tree, role, path, rng)
        redraws = self._last[1]
        earlier = self._trail.starts(self._tree, path)
        starts = earlier[0][1].states if earlier else self._machine.initial(1)
        if self._unfinished is not None:
            starts = self._machine.concatenate([self._unfinished, starts])
        sets = _redrawn(
            *(self._machine, self._tree, redraws, role, path, sets, starts, wanted),
            *(rng, self._stop),
        )
        # What was begun for this path is of use for those that go on from it.
        self._unfinished = None if len(sets.states) else redraws.unfinished()
        return sets


def redraws_of(
    machine: Machine, tree: PathTree, role: int, path: int, rng: np.random.Generator
) -> Redraws:
    """What draws histories for a path that is not empty, on a machine that draws some."""
    assert isinstance(machine, Redrawer)
    turns = [tree.last_turns(node)[0] for node in tree.beginnings(np.array([path]))[1:]]
    return machine.redraws(role, np.array(turns), rng)


def _redrawn(
    machine: Machine,
    tree: PathTree,
    redraws: Redraws,
    role: int,
    path: int,
    sets: Segments,
    starts: States,
    wanted: int,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> Segments:
    """A bag of a path with what was drawn for it.

    Entries weigh what they did, and each new one as much as they do on average: they are drawn by
    their prior when the others move evenly, whatever a model says of them. None is exact.

    Args:
        redraws: for this path.
        sets: the one bag of the path that there is, which may have no entries.
        starts: where histories begin if it has none.
        wanted: entries that the bag is to have.
        stop: asked now and then; when true, no more are drawn.
    """
    fruitless = 0
    while len(sets.states) < wanted and fruitless < MOST_FRUITLESS and not stop():
        if len(sets.states):
            weights = np.exp(sets.log_weights)
            places = rng.choice(len(weights), AT_ONCE, p=weights / weights.sum())
            starts = sets.states.take(places)
        missing = min(wanted - len(sets.states), AT_ONCE)
        drawn = redraws.draw(starts, missing, stop)
        before = len(sets.states)
        views = None
        if sets.views is not None:
            views = _views_of(machine, tree, role, path, drawn.joint_moves)
        sets = _with(machine, sets, drawn.states, views)
        fruitless = 0 if len(sets.states) > before else fruitless + 1
    return sets


def _views_of(
    machine: Machine, tree: PathTree, role: int, path: int, joint_moves: IntArray
) -> IntArray:
    """`[N, R]` incomplete path of every role along histories that agree with the path of one."""
    states = machine.initial(len(joint_moves))
    known = np.tile(np.arange(len(machine.roles), dtype=np.int64), (len(joint_moves), 1))
    for turn in range(joint_moves.shape[1]):
        rows = joint_moves[:, turn]
        states, percepts = machine.step(states, rows)
        tree.extend_views(known, rows, percepts, role, path)
    return known


def _with(machine: Machine, sets: Segments, new: States, views: IntArray | None) -> Segments:
    """One bag and new entries; those that are equal become one."""
    if not len(new):
        return sets
    before, count = len(sets.states), len(new)
    both = machine.concatenate([sets.states, new])
    all_views = None
    if sets.views is not None and views is not None:
        all_views = np.concatenate([sets.views, views])
    log_weights = np.concatenate([sets.log_weights + np.log(max(before, 1)), np.zeros(count)])
    keys = [machine.groups(both), *([] if all_views is None else all_views.T)]
    first, group = first_seen_columns(keys)
    summed = log_sums(log_weights, group, len(first))
    log_mass = sets.log_masses + np.log((before + count) / before) if before else np.zeros(1)
    return Segments(
        offsets_of(np.array([len(first)])),
        both.take(first),
        summed - np.log(before + count),
        np.zeros(1, dtype=np.bool_),
        np.maximum(sets.sizes, len(first)) if before else np.full(1, MOST_COMPLETIONS),
        log_mass,
        None if all_views is None else all_views[first],
    )
