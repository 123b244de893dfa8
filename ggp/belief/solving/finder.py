"""Bags for paths of which sampling has no particle: windows further and further back, until one has
a path.

    earlier bags    5 turns back     10 turns back     20 turns back     the start
    window          no path          no path           20 witnesses
    bag             what chains that begin in these come to

A window from a sampled bag may have no path though there is one: what the bag had lost does not
come back. One from the start, or from a whole information set, proves that what was told
contradicts the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""Turns that windows go back, about; the last one begins where the set is known."""

WITNESSES, CHAIN_STEPS = 32, 30
"""Paths that are solved for, and steps of chains, without a clock."""

MOST_CONFLICTS = 200_000
"""Conflicts of the solver for one bag without a clock."""


@dataclass(frozen=True, eq=False)
class Start:
    """Where a window may begin.

    Attributes:
        back: turns before the end of the path.
        bag: one set.
    """

    back: int
    bag: Segments


class Solved:
    """Finds bags by solving.

    Args:
        machine: see `is_solvable`.
        tree: names the paths.
        model: how the other roles are believed to move.
    """

    def __init__(self, machine: Machine, tree: PathTree, model: MoveModel) -> None:
        self._machine, self._tree, self._model = machine, tree, model

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
        """The bag of a path; None where none was found.

        Args:
            starts: where windows may begin, the last one first; at last a whole information set.
            capacity: entries at most.
            stop: when true, the search is given up; what was found so far counts.
            timed: whether only `stop` ends it.

        Returns:
            a bag; one that is exact and empty where it is proved that there is no path.
        """
        budget = Spent(1 << 60 if timed else MOST_CONFLICTS, stop)
        for start in _spread(starts):
            if budget.is_over:
                return None
            bag = start.bag.thinned(MOST_STARTS, rng)
            nodes = [int(n) for (n,) in self._tree.beginnings(np.array([path]), start.back + 1)]
            turns = self._tree.last_turns(np.array(nodes[1:], dtype=np.int64))
            window = Window(self._machine, role, bag.states, turns, self._model)
            before = budget.conflicts
            try:
                paths = self._paths(window, bag, capacity, turns, budget, rng)
            finally:
                window.close()
            assert isinstance(self._machine, OnCircuit)
            # A conflict counts as a state visited.
            self._machine.states_visited += before - budget.conflicts
            if paths is not None:
                return self._bag(role, path, bag, paths)
            if window.is_empty and bag.exact[0]:
                return self._nothing(bag.views is not None)
            if not window.is_empty:
                return None  # it takes longer than there is time for
        return None

    def _paths(
        self,
        window: Window,
        bag: Segments,
        capacity: int,
        turns: IntArray,
        budget: Spent,
        rng: np.random.Generator,
    ) -> Paths | None:
        if not window.open(budget):
            return None
        found = window.witnesses(WITNESSES, budget, rng)
        if found is None:
            return None
        return sampled(
            *(self._machine, window.role, found, bag.states, bag.log_weights, turns),
            *(capacity, CHAIN_STEPS, rng, budget.stop, self._model),
        )

    def _bag(self, role: int, path: int, start: Segments, paths: Paths) -> Segments:
        """One set of where paths end, equal ends being one."""
        views = None
        if start.views is not None:
            views = start.views[paths.starts]
            for turn, states in enumerate(paths.states[:-1]):
                moves = paths.moves[:, turn]
                percepts = self._machine.step(states, moves).percepts
                self._tree.extend_views(views, moves, percepts, role, path)
        found = set_of(self._machine, paths.ends, np.zeros(len(paths)), views)
        # How many there are is not known.
        return replace(found, sizes=np.full(1, MOST_COMPLETIONS))

    def _nothing(self, keep_views: bool) -> Segments:
        """The set of a path that cannot be."""
        none = depleted_segments(self._machine, 1, keep_views=keep_views)
        return replace(none, exact=np.ones(1, dtype=np.bool_), sizes=np.zeros(1))


def _spread(starts: Sequence[Start]) -> list[Start]:
    """Some of the places where windows may begin, nearly as far back as they should."""
    chosen: list[Start] = []
    for back in STEPS_BACK:
        fitting = [s for s in starts if s.back >= back]
        if fitting and fitting[0] not in chosen:
            chosen.append(fitting[0])
    if starts and starts[-1] not in chosen:
        chosen.append(starts[-1])
    return chosen
