"""Solves for the bag of a path when sampling finds no particle.

A sampler passes in a path and bags of its earlier turns, and gets a bag back. Windows begin further
and further back, until one has a path; its witnesses start Markov chains, whose ends fill the bag.

    earlier bags    5 turns back     10 turns back     20 turns back     the start
    window          no path          no path           20 witnesses
    bag                                                              ends of chains

    A window from a sampled bag may have no path though one exists, because the bag had already lost
    the right states. But if a window from the start, or from a whole information set, has no path,
    then the percepts contradict the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.belief.bags import Bags, Segments, depleted_segments, extended, set_of
from ggp.belief.finding.earlier import BagHistory, PathStart
from ggp.belief.finding.exact import ExactSets
from ggp.belief.move_models import MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Finder, Setting
from ggp.belief.solving.unrolling import (
    MAX_STARTS,
    IncompletePath,
    Paths,
    Spent,
    TriedTurn,
    Window,
    is_solvable,
    try_turn,
)
from ggp.belief.turns.open_moves import MAX_COMPLETIONS
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.on_circuit import on_circuit

STEPS_BACK = (5, 10, 20, 40, 80)
"""Approximate lengths of windows in turns; the last window begins with a whole information set."""

WITNESSES, CHAIN_STEPS, WITNESS_SHARE = 32, 30, 0.5
"""Most paths to solve for, and most steps of each chain; a clock may end both earlier, and after
this share of the time one path is enough."""

MAX_MISSING = 10
"""Most turns that may be missing at the end of a window opened in an earlier turn."""

MAX_CONFLICTS = 200_000
"""Most solver conflicts for one bag without a clock."""


@dataclass(frozen=True, eq=False)
class _Opened:
    """A window that stays open for later turns.

    Attributes:
        bag: the set of states in which it begins.
        past: `[B, 3]` the turns before its beginning, see `PathTree.last_turns`.
    """

    window: Window
    bag: Segments
    past: IntArray

    def belongs_to(self, role: int, turns: IntArray) -> bool:
        """Whether its turns begin this path of a role, and few are missing at the end."""
        covered = np.concatenate([self.past, self.window.turns])
        missing = len(turns) - len(covered)
        is_near = 0 <= missing <= MAX_MISSING and role == self.window.role
        return is_near and np.array_equal(covered, turns[: len(covered)])

    @property
    def depths(self) -> range:
        """The indices of its turns in the path."""
        return range(len(self.past), len(self.past) + len(self.window.turns))


@dataclass(frozen=True, eq=False)
class CompletePaths:
    """Complete paths that agree with the last turns of an incomplete path.

    Attributes:
        bag: the set of states in which they begin.
        first: number of turns before these.
        turns: `[T, 3]` all turns of the role's path up to their ends; see `PathTree.last_turns`.
    """

    bag: Segments
    first: int
    turns: IntArray
    paths: Paths


class SolvedFinder:
    """Solves for bags of paths.

    The last window stays open, so that later turns are added to it.

    Args:
        machine: see `is_solvable`.
        tree: numbers the paths.
        model: predicts the moves of the other roles.

    Attributes:
        solution: the complete paths of the last bag; None if none was found.
    """

    def __init__(self, machine: Machine, tree: PathTree, model: MoveModel) -> None:
        self._machine, self._tree, self._model = machine, tree, model
        self._opened: _Opened | None = None
        self.solution: CompletePaths | None = None

    def find(
        self,
        role: int,
        path: int,
        starts: Sequence[PathStart],
        capacity: int,
        rng: np.random.Generator,
        budget: Spent,
        near: CompletePaths | None = None,
    ) -> Segments | None:
        """The bag of a path; None if no path was found.

        Args:
            starts: possible beginnings of windows, latest first; at last a whole information set.
            capacity: most entries.
            budget: when it is over, the search ends, with the paths found so far.
            near: paths of the first of these turns: guesses begin like them, so that solutions
                are found much sooner.

        Returns:
            a bag; it is exact and empty if it is proved that there is no path.
        """
        self.solution = None
        turns = self._tree.turns(path)
        for window, bag in self._windows(role, turns, starts, rng):
            if budget.is_over:
                return None
            old_conflicts = budget.conflicts
            paths = self._paths(window, bag, turns, capacity, budget, rng, near)
            assert on_circuit(self._machine)
            # A conflict counts as a state visited.
            self._machine.states_visited += old_conflicts - budget.conflicts
            if paths is not None:
                first = len(turns) - len(window.turns)
                self.solution = CompletePaths(bag, first, turns, paths)
                return self.bag_of(role, path, bag, paths)
            if window.is_empty and bag.exact[0]:
                return self._nothing(bag.views is not None)
            if window.is_too_large:
                self._close()
            if not window.is_empty:
                return None  # the time is up: a later call continues
        return None

    def forget(self, depth: int) -> None:
        """Close the window if it is too old for paths of `depth` turns, which have particles."""
        if self._opened is not None and depth > self._opened.depths.stop + MAX_MISSING:
            self._close()

    @property
    def views(self) -> IntArray:
        """Nodes in use."""
        views = None if self._opened is None else self._opened.bag.views
        return np.zeros(0, dtype=np.int64) if views is None else views.ravel()

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        if self._opened is not None:
            bag = self._opened.bag.renumbered(numbers)
            self._opened = replace(self._opened, bag=bag)

    def _windows(
        self, role: int, turns: IntArray, starts: Sequence[PathStart], rng: np.random.Generator
    ) -> Iterator[tuple[Window, Segments]]:
        """Windows of a path, with their first bags: the open window first, and then, while they are
        empty, new windows from further and further back."""
        opened = self._opened
        if opened is not None and not opened.belongs_to(role, turns):
            self._close()
        elif opened is not None and opened.depths.start <= len(turns) - starts[0].back:
            if not opened.window.is_empty:
                yield opened.window, opened.bag
            starts = [start for start in starts if len(turns) - start.back not in opened.depths]
        for start in _spread(starts):
            self._close()
            bag = start.bag.thinned(MAX_STARTS, rng)
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
        near: CompletePaths | None,
    ) -> Paths | None:
        assert self._opened is not None
        window_turns = turns[self._opened.depths.start :]
        if not window.open(window_turns, budget):
            return None
        if near is not None and len(near.turns) == len(turns):
            return None  # they need no help, but a later turn may
        is_near = near is not None and near.bag.states is bag.states
        guesses = near.paths if near is not None and is_near else None
        witnesses = window.witnesses(WITNESSES, budget, rng, guesses)
        if witnesses is None:
            return None
        return sampled(window.path, witnesses, bag, capacity, rng, budget.stop)

    def bag_of(self, role: int, path: int, start: Segments, paths: Paths) -> Segments:
        """The ends of paths as one set, equal ends merged."""
        views = None
        if start.views is not None:
            views = start.views[paths.starts]
            for turn, states in enumerate(paths.states[:-1]):
                moves = paths.moves[:, turn]
                percepts = self._machine.step(states, moves).percepts
                self._tree.extend_views(views, moves, percepts, role, path)
        ends = set_of(self._machine, paths.ends, np.zeros(len(paths)), views)
        # The size of the whole set is unknown.
        return replace(ends, sizes=np.full(1, MAX_COMPLETIONS))

    def _nothing(self, keep_views: bool) -> Segments:
        """The exact set of an impossible path: empty."""
        empty = depleted_segments(self._machine, 1, keep_views=keep_views)
        return replace(empty, exact=np.ones(1, dtype=np.bool_), sizes=np.zeros(1))


def _spread(starts: Sequence[PathStart]) -> list[PathStart]:
    """Some of these beginnings, at about the distances of `STEPS_BACK`."""
    selection: list[PathStart] = []
    for back in STEPS_BACK:
        fitting = [s for s in starts if s.back >= back]
        if fitting and fitting[0] not in selection:
            selection.append(fitting[0])
    if starts and starts[-1] not in selection:
        selection.append(starts[-1])
    return selection


# ------------------------------------------------------------------------
# Markov chains on complete paths: from witnesses to a sample of all paths that agree.
#
# Witnesses of a solver are possible, but no random sample: it finds some paths again and again,
# likely or not. So each witness starts a Markov chain on complete paths, whose distribution
# converges to their prior, given the role's moves and percepts (Metropolis-Hastings):
#
# a path       a1  b2  a3  c4  b5        the others' moves in five turns
#     proposed     a1  b2  c3  a4  b5        redrawn in some turns, the rest replayed
#     accepted     if the percepts agree, with the ratio of the priors of the replayed turns
#
# N chains make each step together: they are lanes of the machine.

_T = TypeVar("_T", bound=np.generic)

LONGER = 0.5
"""Probability that one more turn is redrawn."""


def step_chains(
    path: IncompletePath,
    paths: Paths,
    bag: Segments,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> Paths:
    """The paths after one step of each chain.

    Args:
        path: the incomplete path with which all of them agree.
        bag: one set: the states in which paths may begin.
        stop: called each turn; when true, no chain moves.
    """
    machine, count, num_turns = path.machine, len(paths), len(path.turns)
    # In one of T + 1 steps the path gets a new first state.
    first = rng.integers(-1, num_turns, count)
    last = first + rng.geometric(1 - LONGER, count)
    first[first < 0] = 0
    last[last > num_turns] = num_turns
    new_start = last <= first
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
        # A chain joins at the turn where its proposal begins to differ.
        joining = np.flatnonzero(first == turn)
        is_new = new_start[joining]
        parts = [states, paths.states[turn].take(joining[~is_new])]
        parts.append(bag.states.take(starts[joining[is_new]]))
        states = machine.concatenate(parts)
        alive = np.concatenate([alive, joining[~is_new], joining[is_new]])
        trail.append((alive, states))
        is_redrawn = (turn >= first[alive]) & (turn < last[alive])
        turn_moves = np.where(is_redrawn[:, None], UNKNOWN, paths.moves[alive, turn])
        tried_turn = try_turn(path, turn, states, turn_moves, rng)
        alive, states = alive[tried_turn.lanes], tried_turn.states
        moves[alive, turn] = tried_turn.moves
        priors[alive, turn], counts[alive, turn] = tried_turn.log_priors, tried_turn.log_counts
    trail.append((alive, states))
    turns = np.arange(num_turns)
    redrawn = (turns >= first[:, None]) & (turns < last[:, None])
    # Metropolis-Hastings: the ratio of priors over the ratio of proposal probabilities. A redrawn
    # turn is uniform among its completions, so its probability is 1 / count.
    gain = (priors - paths.log_priors).sum(axis=1)
    gain += ((counts - paths.log_counts) * redrawn).sum(axis=1)
    accepted = np.zeros(count, dtype=np.bool_)
    accepted[alive] = np.log(rng.random(len(alive))) < gain[alive]
    return _accept(machine, paths, Paths(starts, moves, (), priors, counts), trail, accepted)


def _accept(
    machine: Machine,
    old: Paths,
    new: Paths,
    trail: list[tuple[IntArray, States]],
    accepted: BoolArray,
) -> Paths:
    """New paths where the proposal is accepted, old ones elsewhere."""
    states = []
    for old_array, (lanes, new_states) in zip(old.states, trail, strict=True):
        sources = np.arange(len(old))
        positions = np.flatnonzero(accepted[lanes])
        sources[lanes[positions]] = len(old) + positions
        states.append(machine.concatenate([old_array, new_states]).take(sources))

    def select(old_array: NDArray[_T], new_array: NDArray[_T]) -> NDArray[_T]:
        return np.where(accepted.reshape(-1, *(1,) * (old_array.ndim - 1)), new_array, old_array)

    return Paths(
        select(old.starts, new.starts),
        select(old.moves, new.moves),
        tuple(states),
        select(old.log_priors, new.log_priors),
        select(old.log_counts, new.log_counts),
    )


def sampled(
    path: IncompletePath,
    witnesses: Paths,
    bag: Segments,
    count: int,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> Paths:
    """`count` paths that agree: chains from witnesses drawn by prior, after `CHAIN_STEPS` steps.

    Args:
        path, bag: see `step_chains`.
        witnesses: paths that agree.
        stop: when true, the chains stop moving.
    """
    logs = witnesses.log_priors.sum(axis=1) + bag.log_weights[witnesses.starts]
    first = _distinct(witnesses)
    paths = witnesses.take(first[_systematic_sample(logs[first], count, rng)])
    for _ in range(CHAIN_STEPS):
        if stop():
            break
        paths = step_chains(path, paths, bag, rng, stop)
    return paths


def _systematic_sample(logs: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """`[count]` indices, a systematic sample by weight."""
    weights = np.exp(logs - logs.max())
    upto = np.cumsum(weights / weights.sum())
    points = (rng.random() + np.arange(count)) / count
    return np.minimum(np.searchsorted(upto, points), len(upto) - 1)


def _distinct(paths: Paths) -> IntArray:
    """Indices of the distinct paths."""
    flat = np.column_stack([paths.starts, paths.moves.reshape(len(paths), -1)])
    return np.sort(np.unique(flat, axis=0, return_index=True)[1])


# ------------------------------------------------------------------------
# Gaps: turns of which the role knows nothing, because their messages were lost.
#
# After a gap, what the role sees and does tells where its own pieces are, turn by turn, and bags of
# states, which cannot change their minds about the gap, die. So complete paths are followed from
# the last bag before the gap: each turn lengthens those that agree, and chains then move them all,
# in the gap as well (resample-move; Gilks & Berzuini, J. R. Statist. Soc. B 63, 2001).
#
# turn         7         8 to 13     14                15                16
# known        (a b)     nothing     our move          our move, a check
# paths        begin     all go on   some agree, are   fewer agree,      ...
#                                    copied and moved  more steps

FOLLOWED = 2_048
"""Most paths that are followed through a gap. Few turns after it, one in a hundred of a few hundred
would agree, and the same few states would be left."""

LOOKS = 16
"""Time for one turn of all these paths, in times between two looks at the clock."""

LENGTHENED, MOVED, RETRIED = 32, 10, 10
"""Most draws of a turn for each path; most steps of each chain before the next turn; and most
attempts, each after as many steps, at a turn with which none agrees, if it cannot be solved."""


def _beginning(machine: Machine, bag: Segments, count: int, rng: np.random.Generator) -> Paths:
    """Paths without turns from states of a bag, drawn by weight."""
    starts = _systematic_sample(bag.log_weights, count, rng)
    nothing = np.zeros((count, 0))
    moves = np.zeros((count, 0, len(machine.roles)), dtype=np.int64)
    return Paths(starts, moves, (bag.states.take(starts),), nothing, nothing)


def _longer(
    path: IncompletePath,
    paths: Paths,
    count: int,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> Paths:
    """`count` paths one turn longer, drawn by weight; none if no path agrees.

    Args:
        path: one turn longer than the paths.
        stop: when true, no more draws are made than the first ones.
    """
    turn = len(path.turns) - 1
    any_move = np.full((len(paths), len(path.machine.roles)), UNKNOWN)
    tries: list[TriedTurn] = []
    while len(tries) < LENGTHENED and sum(len(attempt.lanes) for attempt in tries) < count:
        tries.append(try_turn(path, turn, paths.ends, any_move, rng))
        if stop():
            break
    lanes, moves, priors, counts = (
        np.concatenate([columns[k] for columns in tries]) for k in (0, 1, 3, 4)
    )
    if not len(lanes):
        return paths.take(lanes)
    # A turn was drawn evenly among its completions: its weight is its prior times their number.
    rows = _systematic_sample(priors + counts, count, rng)
    old = paths.take(lanes[rows])
    ends = path.machine.concatenate([attempt.states for attempt in tries])
    return Paths(
        old.starts,
        np.concatenate([old.moves, moves[rows, None]], axis=1),
        (*old.states, ends.take(rows)),
        np.column_stack([old.log_priors, priors[rows]]),
        np.column_stack([old.log_counts, counts[rows]]),
    )


# ------------------------------------------------------------------------
# `Solving`: particles for the bag of a match.
#
# If no particle is left, windows begin in the bags of earlier turns, and at last in an exact set.
# A bag that is likely to die gets more particles in the same way, while there is time: unlike
# samples, solutions are no harder to find when few particles are left.

RICHER, MAX_ADDED = 2, 1_000
"""A bag with particles left gets more from earlier bags with at least this times as many. No bag
gets more than the second number, since more chains could not be interrupted at any time."""


class Solving(Finder):
    """A `Finder` that solves for complete paths, and follows them through gaps on any machine.

    Args:
        setting: of any machine; it solves only if that can be unrolled, see `is_solvable`.
        trail: bags of earlier turns.

    Attributes:
        solved_path: the last path that was solved; -1 for none.
    """

    def __init__(self, setting: Setting, exact: ExactSets, trail: BagHistory) -> None:
        self._setting, self._stored, self._trail = setting, exact.stored, trail
        self._solver = SolvedFinder(setting.machine, setting.tree, setting.model)
        self._solves = is_solvable(setting.machine)
        self._followed: CompletePaths | None = None
        self._lost_at = -1  # the turn with which none of them agreed
        self.solved_path = -1

    def helps(self, bags: Bags) -> BoolArray:
        if len(bags) != 1:
            return np.zeros(len(bags), dtype=np.bool_)
        if self._setting.tree.has_gap(int(bags.paths[0])):
            return self._setting.lacking(bags.sets)
        return np.asarray((bags.sets.counts == 0) & self._solves)

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        for _ in range(1 if self._solves else RETRIED):
            followed = self._follow(bags, rng)
            if followed is not None:
                return followed
            if self._setting.stop():
                break
        if len(bags.sets.states) or not self._solves:
            return bags.sets
        room = min(self._setting.most_entries, MAX_ADDED)
        solved = self._solve(bags, self._starts(int(bags.paths[0])), room, rng)
        return bags.sets if solved is None else solved

    def adds(self, paths: IntArray) -> bool:
        """Whether to solve: once for a path, if there is a clock and the bag is likely to die; and
        after a gap, whenever there is a clock."""
        if len(paths) != 1 or not self._setting.timed:
            return False
        is_new = self._solves and self.solved_path != int(paths[0])
        return self._setting.tree.has_gap(int(paths[0])) or (self._setting.at_risk and is_new)

    def add_sample(self, bags: Bags, size: int, rng: np.random.Generator) -> Segments | None:
        followed = self._follow(bags, rng)
        if not self._solves or self.solved_path == int(bags.paths[0]):
            return followed
        bags = bags if followed is None else replace(bags, sets=followed)
        # Only larger bags of earlier turns contain states that this bag has lost.
        *earlier, last = self._starts(int(bags.paths[0]))
        min_count = RICHER * len(bags.sets.states) if self._followed is None else 0
        rich = [start for start in earlier if start.bag.counts[0] >= min_count]
        size_limit = min(self._setting.most_entries, MAX_ADDED)
        solved = self._solve(bags, [*rich, last], size_limit, rng)
        if solved is None or not len(solved.states):
            return followed
        union = extended(self._setting.machine, bags.sets, solved)
        return union.thinned(self._setting.most_entries, rng)

    def _follow(self, bags: Bags, rng: np.random.Generator) -> Segments | None:
        """One bag with the ends of followed paths added, if there is a gap, and any path agrees."""
        setting, path = self._setting, int(bags.paths[0])
        if not setting.tree.has_gap(path):
            self._followed = None
            return None
        turns = setting.tree.turns(path)
        followed, stop = self._followed, setting.stop
        covered = turns[:0] if followed is None else turns[: len(followed.turns)]
        if followed is None or not np.array_equal(followed.turns, covered):
            self._followed, self._lost_at = None, -1
            start = self._starts(path)[0]
            first = len(turns) - start.back
            bag = start.bag.thinned(MAX_STARTS, rng)
            paths = _beginning(setting.machine, bag, self._num_paths, rng)
            followed = CompletePaths(bag, first, turns[:first], paths)
        if self._solves and len(followed.turns) == self._lost_at < len(turns):
            return None  # to solve is faster than to move on the chains
        is_retried = len(followed.turns) in (self._lost_at, len(turns))
        steps = MOVED if is_retried else 0
        while True:
            followed_turns = followed.turns[followed.first :]
            part = IncompletePath(setting.machine, bags.role, followed_turns, setting.model)
            paths = followed.paths
            for _ in range(steps):
                paths = step_chains(part, paths, followed.bag, rng, stop)
            self._followed = followed = replace(followed, paths=paths)
            if len(followed.turns) == len(turns):
                ends = self._solver.bag_of(bags.role, path, followed.bag, paths)
                if not len(bags.sets.states):
                    return ends
                return extended(setting.machine, bags.sets, ends).thinned(setting.most_entries, rng)
            turn = len(followed.turns)
            part = part._replace(turns=turns[followed.first : turn + 1])
            paths = _longer(part, paths, max(len(paths), self._num_paths), rng, stop)
            if not len(paths):
                self._lost_at = turn
                return None
            followed = replace(followed, turns=turns[: turn + 1], paths=paths)
            if stop():  # a later call continues
                self._followed = followed
                return None
            share = len(np.unique(setting.machine.groups(paths.ends))) / len(paths)
            steps = int(np.ceil(MOVED * (1 - share)))

    @property
    def _num_paths(self) -> int:
        """Number of paths to follow: fewer on a slow machine, that some turns fit into the time."""
        return min(FOLLOWED, LOOKS * self._setting.lanes_at_once())

    def learn(self, path: int, sets: Segments) -> None:
        self._solver.forget(self._setting.tree.depth(path))

    @property
    def views(self) -> IntArray:
        starts = None if self._followed is None else self._followed.bag.views
        followed = np.zeros(0, dtype=np.int64) if starts is None else starts.ravel()
        return np.concatenate([self._solver.views, followed])

    def renumber(self, numbers: IntArray) -> None:
        self._solver.renumber(numbers)
        if self._followed is not None:
            bag = self._followed.bag.renumbered(numbers)
            self._followed = replace(self._followed, bag=bag)
        self.solved_path = int(numbers[self.solved_path]) if self.solved_path >= 0 else -1

    def _solve(
        self, bags: Bags, starts: list[PathStart], capacity: int, rng: np.random.Generator
    ) -> Segments | None:
        setting, path = self._setting, int(bags.paths[0])
        most = 1 << 60 if setting.timed else MAX_CONFLICTS
        budget = Spent(most, setting.stop, lambda: setting.is_past(WITNESS_SHARE))
        solved = self._solver.find(bags.role, path, starts, capacity, rng, budget, self._followed)
        if solved is not None:
            self.solved_path = path
        solution, self._solver.solution = self._solver.solution, None
        if solution is not None and self._followed is not None:
            indices = np.linspace(0, len(solution.paths) - 1, FOLLOWED).astype(np.int64)
            self._followed = replace(solution, paths=solution.paths.take(indices))
            self._lost_at = -1
        return solved

    def _starts(self, path: int) -> list[PathStart]:
        """Bags of earlier turns; then the last exact set with room in a window, or the initial
        state."""
        nodes = self._setting.tree.beginnings(np.array([path]))[::-1]
        exact = next((back for back, node in enumerate(nodes) if self._is_whole(node)), None)
        trail = self._trail.starts(self._setting.tree, path)
        starts = [start for start in trail if exact is None or start.back < exact]
        beginning = PathStart(len(nodes) - 1, self._setting.beginning(1))
        whole = beginning if exact is None else PathStart(exact, self._stored.get(nodes[exact]))
        starts.append(whole)
        if self._followed is not None:
            back = len(nodes) - 1 - self._followed.first
            further = [start for start in starts if start.back > back]
            starts = [PathStart(back, self._followed.bag), *further]
        return starts

    def _is_whole(self, node: IntArray) -> bool:
        """Whether the exact set of a path is stored, and windows may begin in all of it."""
        return bool(self._stored.holds(node)[0]) and self._stored.get(node).counts[0] <= MAX_STARTS
