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
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.belief.bags import Bags, Segments, depleted_segments, with_more
from ggp.belief.finding.earlier import BagHistory
from ggp.belief.finding.exact import ExactSets
from ggp.belief.move_models import MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Finder, Setting
from ggp.belief.solving.unrolling import (
    MOST_STARTS,
    IncompletePath,
    Paths,
    Spent,
    Window,
    tried_turn,
)
from ggp.belief.turns.open_moves import MOST_COMPLETIONS
from ggp.belief.turns.walks import set_of
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine, States
from ggp.machine.on_circuit import on_circuit

STEPS_BACK = (5, 10, 20, 40, 80)
"""Turns that windows go back, roughly; the last one begins where the set is known."""

WITNESSES, CHAIN_STEPS = 32, 30
"""Paths to solve for, and steps of chains, without a clock."""

MOST_MISSING = 10
"""Turns that may be added at once to a window opened in an earlier turn."""

MOST_CONFLICTS = 200_000
"""Solver conflicts for one bag without a clock."""


@dataclass(frozen=True, eq=False)
class WindowStart:
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


class SolvedFinder:
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
        starts: Sequence[WindowStart],
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
            assert on_circuit(self._machine)
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
        self, role: int, turns: IntArray, starts: Sequence[WindowStart], rng: np.random.Generator
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
        return sampled(window.path, found, bag, capacity, rng, budget.stop)

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


def _spread(starts: Sequence[WindowStart]) -> list[WindowStart]:
    """Some of the places where windows may begin, close to the distances they should have."""
    chosen: list[WindowStart] = []
    for back in STEPS_BACK:
        fitting = [s for s in starts if s.back >= back]
        if fitting and fitting[0] not in chosen:
            chosen.append(fitting[0])
    if starts and starts[-1] not in chosen:
        chosen.append(starts[-1])
    return chosen


# ------------------------------------------------------------------------
# Markov chains on complete paths, run until they are a sample of all paths that agree.
#
# What a solver finds is possible, but not a random sample: some paths are found again and again,
# likely or not. So each starts a Markov chain whose states are complete paths, and whose
# distribution converges to their prior, given what the role did and saw (Metropolis-Hastings):
#
# a path       a1  b2  a3  c4  b5        the others' moves in five turns
#     proposed     a1  b2  c3  a4  b5        in some turns drawn anew, the rest replayed
#     accepted     if all agrees, with the ratio of the priors of what is replayed
#
# N chains make each step at the same time: they are lanes of the machine.

_T = TypeVar("_T", bound=np.generic)

LONGER = 0.5
"""Probability that one more turn is drawn anew."""


def stepped_chains(
    path: IncompletePath,
    paths: Paths,
    bag: Segments,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> Paths:
    """The paths after one step of each chain.

    Args:
        path: what all of them agree with.
        bag: one set, in whose states paths may begin.
        stop: asked each turn; when true, the chains stay where they were.
    """
    machine, count, num_turns = path.machine, len(paths), len(path.turns)
    # In one of T + 1 steps the state in which the path begins is drawn anew.
    first = rng.integers(-1, num_turns, count)
    after = first + rng.geometric(1 - LONGER, count)
    first[first < 0] = 0
    after[after > num_turns] = num_turns
    new_start = after <= first
    starts = paths.starts.copy()
    weights = np.exp(bag.log_weights - bag.log_weights.max())
    starts[new_start] = rng.choice(len(weights), new_start.sum(), p=weights / weights.sum())
    moves = paths.moves.copy()
    priors, counts = paths.log_priors.copy(), paths.log_counts.copy()
    alive = np.zeros(0, dtype=np.int64)
    states = paths.ends.take(alive)
    trail: list[tuple[IntArray, States]] = []
    for turn in range(num_turns):
        if stop():
            return paths
        # Chains join in where they begin to differ.
        joining = np.flatnonzero(first == turn)
        anew = new_start[joining]
        joined = [states, paths.states[turn].take(joining[~anew])]
        joined.append(bag.states.take(starts[joining[anew]]))
        states = machine.concatenate(joined)
        alive = np.concatenate([alive, joining[~anew], joining[anew]])
        trail.append((alive, states))
        drawn = (turn >= first[alive]) & (turn < after[alive])
        wanted = np.where(drawn[:, None], UNKNOWN, paths.moves[alive, turn])
        tried = tried_turn(path, turn, states, wanted, rng)
        alive, states = alive[tried.lanes], tried.states
        moves[alive, turn] = tried.moves
        priors[alive, turn], counts[alive, turn] = tried.log_priors, tried.log_counts
    trail.append((alive, states))
    every = np.arange(num_turns)
    is_drawn = (every >= first[:, None]) & (every < after[:, None])
    # New moves are drawn uniformly from the open ones: they count by prior over that probability.
    gain = (priors - paths.log_priors).sum(axis=1)
    gain += ((counts - paths.log_counts) * is_drawn).sum(axis=1)
    taken = np.zeros(count, dtype=np.bool_)
    taken[alive] = np.log(rng.random(len(alive))) < gain[alive]
    return _merged(machine, paths, Paths(starts, moves, (), priors, counts), trail, taken)


def _merged(
    machine: Machine,
    old: Paths,
    new: Paths,
    trail: list[tuple[IntArray, States]],
    taken: BoolArray,
) -> Paths:
    """New paths where they are accepted, old ones elsewhere."""
    states = []
    for before, (lanes, there) in zip(old.states, trail, strict=True):
        place = np.arange(len(old))
        here = np.flatnonzero(taken[lanes])
        place[lanes[here]] = len(old) + here
        states.append(machine.concatenate([before, there]).take(place))

    def chosen(before: NDArray[_T], after: NDArray[_T]) -> NDArray[_T]:
        return np.where(taken.reshape(-1, *(1,) * (before.ndim - 1)), after, before)

    return Paths(
        chosen(old.starts, new.starts),
        chosen(old.moves, new.moves),
        tuple(states),
        chosen(old.log_priors, new.log_priors),
        chosen(old.log_counts, new.log_counts),
    )


def sampled(
    path: IncompletePath,
    found: Paths,
    bag: Segments,
    count: int,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> Paths:
    """`count` paths that agree: chains begun in found paths, drawn by prior, after `CHAIN_STEPS`.

    Args:
        path, bag: see `stepped_chains`.
        stop: when true, the chains stay where they are.
    """
    logs = found.log_priors.sum(axis=1) + bag.log_weights[found.starts]
    first = _distinct(found)
    weights = np.exp(logs[first] - logs[first].max())
    upto = np.cumsum(weights / weights.sum())
    points = (rng.random() + np.arange(count)) / count
    paths = found.take(first[np.minimum(np.searchsorted(upto, points), len(first) - 1)])
    for _ in range(CHAIN_STEPS):
        if stop():
            break
        paths = stepped_chains(path, paths, bag, rng, stop)
    return paths


def _distinct(paths: Paths) -> IntArray:
    """Indices of the distinct paths."""
    flat = np.column_stack([paths.starts, paths.moves.reshape(len(paths), -1)])
    return np.sort(np.unique(flat, axis=0, return_index=True)[1])


# ------------------------------------------------------------------------
# Particles by solving for complete paths (`ggp.belief.solving`), for a bag that is followed.
#
# Where no particle is left, windows begin in the bags of earlier turns, and at last where the set
# is known. A bag that is likely to die gets more particles in the same way, while there is time:
# unlike samples, solutions are no harder to find when few particles are left.

RICHER, MOST_ADDED = 2, 1_000
"""A bag that has some particles gets more from earlier bags with at least this times as many; and
at most this many, since chains of more could not be left at any time."""


class Solving(Finder):
    """A `Finder` that solves for complete paths; see the module.

    Args:
        setting: of a machine that can be unrolled, see `is_solvable`.
        trail: bags of earlier turns.

    Attributes:
        found_for: the path that particles were last found for; -1 for none.
    """

    def __init__(self, setting: Setting, exact: ExactSets, trail: BagHistory) -> None:
        self._setting, self._exact, self._trail = setting, exact, trail
        self._solved = SolvedFinder(setting.machine, setting.tree, setting.model)
        self.found_for = -1

    def helps(self, bags: Bags) -> BoolArray:
        return np.asarray((bags.sets.counts == 0) & (len(bags) == 1))

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        room = self._setting.most_entries
        found = self._find(bags, self._starts(int(bags.paths[0])), room, rng)
        return bags.sets if found is None else found

    def adds(self, paths: IntArray) -> bool:
        """Whether to solve: once for a path, if there is a clock and the bag is likely to die."""
        is_one = len(paths) == 1 and self._setting.timed and self._setting.at_risk
        return is_one and self.found_for != int(paths[0])

    def more(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        # What the bag has lost since it was larger cannot be found from what is left of it.
        *earlier, last = self._starts(int(bags.paths[0]))
        rich = [start for start in earlier if start.bag.counts[0] >= RICHER * len(bags.sets.states)]
        most = min(self._setting.most_entries, MOST_ADDED)
        found = self._find(bags, [*rich, last], most, rng)
        if found is None or not len(found.states):
            return None
        both = with_more(self._setting.machine, bags.sets, found)
        return both.thinned(self._setting.most_entries, rng)

    def learn(self, path: int, sets: Segments) -> None:
        self._solved.forget(self._setting.tree.depth(path))

    @property
    def views(self) -> IntArray:
        return self._solved.views

    def renumber(self, numbers: IntArray) -> None:
        self._solved.renumber(numbers)
        self.found_for = int(numbers[self.found_for]) if self.found_for >= 0 else -1

    def _find(
        self, bags: Bags, starts: list[WindowStart], most: int, rng: np.random.Generator
    ) -> Segments | None:
        setting, path = self._setting, int(bags.paths[0])
        found = self._solved.find(
            bags.role, path, starts, most, rng, setting.stop, timed=setting.timed
        )
        if found is not None:
            self.found_for = path
        return found

    def _starts(self, path: int) -> list[WindowStart]:
        """Bags of earlier turns; then the last set that is known, or the initial state."""
        nodes = self._setting.tree.beginnings(np.array([path]))[::-1]
        known = next((back for back, node in enumerate(nodes) if self._exact.holds(node)[0]), None)
        starts = [WindowStart(*each) for each in self._trail.starts(self._setting.tree, path)]
        starts = [start for start in starts if known is None or start.back < known]
        if known is not None:
            starts.append(WindowStart(known, self._exact.get(nodes[known])))
        if known is None or starts[-1].bag.counts[0] > MOST_STARTS:
            starts.append(WindowStart(len(nodes) - 1, self._setting.beginning(1)))
        return starts
