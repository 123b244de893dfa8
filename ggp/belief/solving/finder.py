"""Bags for paths for which sampling has no particle: windows further and further back, until one
has a path.

    earlier bags    5 turns back     10 turns back     20 turns back     the start
    window          no path          no path           20 witnesses
    bag             where chains begun in these end up

A window from a sampled bag may have no path though one exists: what the bag had lost does not come
back. A window from the start, or from a whole information set, then proves that the percepts
contradict the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ggp.belief.move_models import MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.segments import Segments, depleted_segments
from ggp.belief.solving.chains import sampled
from ggp.belief.solving.replay import Paths
from ggp.belief.solving.windows import MOST_STARTS, Spent, Window
from ggp.belief.turns.open_moves import MOST_COMPLETIONS
from ggp.belief.turns.walks import set_of
from ggp.machine.abilities import OnCircuit
from ggp.machine.base import IntArray, Machine

STEPS_BACK = (5, 10, 20, 40, 80)
"""Turns that windows go back, roughly; the last one begins where the set is known."""

WITNESSES, CHAIN_STEPS = 32, 30
"""Paths to solve for, and steps of chains, without a clock."""

MOST_MISSING = 10
"""Turns that may be added at once to a window opened in an earlier turn."""

MOST_CONFLICTS = 200_000
"""Solver conflicts for one bag without a clock."""


@dataclass(frozen=True, eq=False)
class Start:
    """A place where a window may begin.

    Attributes:
        back: turns before the end of the path.
        bag: one set.
    """

    back: int
    bag: Segments


@dataclass(frozen=True, eq=False)
class _Opened:
    """A window that stays open for later turns.

    Attributes:
        bag: what it begins with.
        past: `[B, 3]` the turns before its beginning, see `PathTree.last_turns`.
    """

    window: Window
    bag: Segments
    past: IntArray

    def belongs_to(self, role: int, turns: IntArray) -> bool:
        """Whether it belongs to this path of a role, and reaches nearly to its end."""
        known = np.concatenate([self.past, self.window.turns])
        missing = len(turns) - len(known)
        is_near = 0 <= missing <= MOST_MISSING and role == self.window.role
        return is_near and np.array_equal(known, turns[: len(known)])

    @property
    def depths(self) -> range:
        """The numbers of its turns."""
        return range(len(self.past), len(self.past) + len(self.window.turns))


class Solved:
    """Finds bags by solving.

    The last window stays open: later turns are added to it.

    Args:
        machine: see `is_solvable`.
        tree: names the paths.
        model: how the other roles are believed to move.
    """

    def __init__(self, machine: Machine, tree: PathTree, model: MoveModel) -> None:
        self._machine, self._tree, self._model = machine, tree, model
        self._opened: _Opened | None = None

    def find(
        self,
        role: int,
        path: int,
        starts: Sequence[Start],
        capacity: int,
        rng: np.random.Generator,
        stop: Callable[[], bool],
        *,
        timed: bool,
    ) -> Segments | None:
        """The bag of a path; None if none was found.

        Args:
            starts: where windows may begin, latest first; at last a whole information set.
            capacity: entries at most.
            stop: when true, the search is given up; what has been found by then counts.
            timed: whether only `stop` ends it.

        Returns:
            a bag; it is exact and empty if it is proved that there is no path.
        """
        budget = Spent(1 << 60 if timed else MOST_CONFLICTS, stop)
        nodes = np.array([node for (node,) in self._tree.beginnings(np.array([path]))[1:]])
        turns = self._tree.last_turns(nodes.astype(np.int64))
        for window, bag in self._windows(role, turns, starts, rng):
            if budget.is_over:
                return None
            before = budget.conflicts
            paths = self._paths(window, bag, turns, capacity, budget, rng)
            assert isinstance(self._machine, OnCircuit)
            # A conflict counts as a state visited.
            self._machine.states_visited += before - budget.conflicts
            if paths is not None:
                return self._bag(role, path, bag, paths)
            if window.is_empty and bag.exact[0]:
                return self._nothing(bag.views is not None)
            if window.is_too_large:
                self._close()
            if not window.is_empty:
                return None  # it takes longer than the time available: it is continued later
        return None

    def forget(self, depth: int) -> None:
        """Note that paths of `depth` turns have particles: close the window if it is old."""
        if self._opened is not None and depth > self._opened.depths.stop + MOST_MISSING:
            self._close()

    @property
    def views(self) -> IntArray:
        """Nodes that are referred to."""
        views = None if self._opened is None else self._opened.bag.views
        return np.zeros(0, dtype=np.int64) if views is None else views.ravel()

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        if self._opened is not None:
            bag = self._opened.bag.renumbered(numbers)
            self._opened = replace(self._opened, bag=bag)

    def _windows(
        self, role: int, turns: IntArray, starts: Sequence[Start], rng: np.random.Generator
    ) -> Iterator[tuple[Window, Segments]]:
        """Windows of a path, each with what it begins with: the open one first, and then, as long
        as they are empty, others further and further back."""
        opened = self._opened
        if opened is not None and not opened.belongs_to(role, turns):
            self._close()
        elif opened is not None and opened.depths.start <= len(turns) - starts[0].back:
            if not opened.window.is_empty:
                yield opened.window, opened.bag
            starts = [start for start in starts if len(turns) - start.back not in opened.depths]
        for start in _spread(starts):
            self._close()
            bag = start.bag.thinned(MOST_STARTS, rng)
            window = Window(self._machine, role, bag.states, self._model)
            self._opened = _Opened(window, bag, turns[: len(turns) - start.back])
            yield window, bag

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.window.close()
            self._opened = None

    def _paths(
        self,
        window: Window,
        bag: Segments,
        turns: IntArray,
        capacity: int,
        budget: Spent,
        rng: np.random.Generator,
    ) -> Paths | None:
        assert self._opened is not None
        since = turns[self._opened.depths.start :]
        if not window.open(since, budget):
            return None
        found = window.witnesses(WITNESSES, budget, rng)
        if found is None:
            return None
        return sampled(
            *(self._machine, window.role, found, bag.states, bag.log_weights, since),
            *(capacity, CHAIN_STEPS, rng, budget.stop, self._model),
        )

    def _bag(self, role: int, path: int, start: Segments, paths: Paths) -> Segments:
        """One set of the ends of paths, equal ends merged."""
        views = None
        if start.views is not None:
            views = start.views[paths.starts]
            for turn, states in enumerate(paths.states[:-1]):
                moves = paths.moves[:, turn]
                percepts = self._machine.step(states, moves).percepts
                self._tree.extend_views(views, moves, percepts, role, path)
        found = set_of(self._machine, paths.ends, np.zeros(len(paths)), views)
        # Their number is not known.
        return replace(found, sizes=np.full(1, MOST_COMPLETIONS))

    def _nothing(self, keep_views: bool) -> Segments:
        """The set of an impossible path."""
        none = depleted_segments(self._machine, 1, keep_views=keep_views)
        return replace(none, exact=np.ones(1, dtype=np.bool_), sizes=np.zeros(1))


def _spread(starts: Sequence[Start]) -> list[Start]:
    """Some of the places where windows may begin, close to the distances they should have."""
    chosen: list[Start] = []
    for back in STEPS_BACK:
        fitting = [s for s in starts if s.back >= back]
        if fitting and fitting[0] not in chosen:
            chosen.append(fitting[0])
    if starts and starts[-1] not in chosen:
        chosen.append(starts[-1])
    return chosen
