"""The samplers AOS, AOSP and HS of papers 001 and 002, which keep beliefs about boards.

A role's moves and percepts come in, turn by turn; bags of boards go out, to the players of
`choose_move` and others with the option `sampler`. (LOS is in `ggp.belief.samplers`.)

AOS    boards of random histories that agree with all observations
AOSP   a pool of such boards; each turn, their successors that agree are the next pool
HS     a pool, filled up with boards that agree with the last observation only
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np

from ggp.belief.bags import Bags, Segments, one_set, united
from ggp.belief.paths import PathTree
from ggp.belief.sampler import POOL_LIMIT, Sampler, SamplerSettings, Setting, Shared
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.last_observation import (
    OWN_PARTICLES,
    HistorySampler,
    LastObservation,
    ObservationSampler,
    WalkEvidence,
    walks,
)
from ggp.belief.turns.completions import OpenTurn, Polling, completion_pairs
from ggp.belief.turns.one_turn import LIST_LIMIT, TurnLimits, advance, estimated_sizes
from ggp.belief.turns.open_moves import MAX_COMPLETIONS, Learnt, open_moves
from ggp.machine.arrays import first_seen, first_seen_columns
from ggp.machine.base import IntArray, Machine, States

ROOM = 1 << 20
"""Most successors of a pool before it is cut."""


class AllObservations(HistorySampler):
    """AOS: random histories that agree with all observations."""

    @property
    def views(self) -> IntArray:
        """Nodes of the path tree in use, except the nodes of bags."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""

    def _new_boards(self, role: int, path: int, size: int, rng: np.random.Generator) -> Segments:
        evidence = WalkEvidence(role, path, last_only=False)
        return walks(self, evidence, size, self._max_attempts, rng)


class Pool(ObservationSampler):
    """AOSP: a pool of boards that agree with all observations, updated each turn.

    All boards of the pool have the same weight, as in the paper: the likelihood of the opponents'
    moves does not matter. A pool that has lost all its boards stays empty, except for boards that
    `enlarge` finds.
    """

    def __init__(
        self, machine: Machine, tree: PathTree, *, pool: int = POOL_LIMIT, **shared: Unpack[Shared]
    ) -> None:
        super().__init__(machine, tree, **shared)
        self._limit = pool
        self._pools: dict[int, Segments] = {}

    @property
    def views(self) -> IntArray:
        views = [s.views.ravel() for s in self._pools.values() if s.views is not None]
        paths = np.array(list(self._pools), dtype=np.int64)
        return np.concatenate([paths, *views])

    def renumber(self, numbers: IntArray) -> None:
        self._pools = {
            int(numbers[path]): pool.renumbered(numbers) for path, pool in self._pools.items()
        }

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of paths; missing pools are made turn by turn, and empty ones stay empty."""
        self._pools = {path: self._make_pool(role, path, rng) for path in paths.tolist()}
        return super().at(paths, role, rng)

    def advance(
        self,
        bags: Bags,
        moves: IntArray,
        percepts: IntArray,
        rng: np.random.Generator,
        refused: IntArray | None = None,
    ) -> Bags:
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        pools = {}
        for bag, path in enumerate(paths.tolist()):
            pool = self._pools.get(int(bags.paths[bag]))
            if pool is None:
                pool = bags.sets.take(bags.segment[[bag]])
            pools[path] = self._next(bags.role, pool, path, rng)
        self._pools = pools
        return super().at(paths, bags.role, rng)

    def enlarge(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag, with the board of a history from depth-first search, if it is new."""
        role, path = bags.role, int(bags.paths[0])
        if self.tree.depth(path) == 0:
            return bags
        history = depth_first(self, role, path, rng)
        if not len(history.states):
            return bags
        boards = bags.sets.take(bags.segment)
        self._pools[path] = self._union(self._pools.get(path, boards), history)
        return self._bags(role, bags.paths, [self._union(boards, history)])

    def _boards_for(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        return self._pools[path]

    def _make_pool(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        """The pool of a path, made from the last pool on the way to it."""
        steps = [int(node) for (node,) in self.tree.beginnings(np.array([path]))]
        start = max((step for step, node in enumerate(steps) if node in self._pools), default=0)
        pool = self._pools.get(steps[start])
        if pool is None:
            pool = self.beginning(1)
        for node in steps[start + 1 :]:
            pool = self._next(role, pool, node, rng)
        return pool

    def _next(self, role: int, pool: Segments, path: int, rng: np.random.Generator) -> Segments:
        """The pool one turn later, cut to half its limit if it grew beyond it."""
        if not len(pool.states):
            return pool
        successors = self._successors(role, pool, np.array([path]), rng)
        if len(successors.states) > self._limit:
            successors = _unweighted(successors).thinned(self._limit // 2, rng)
        return _unweighted(successors)

    def _successors(
        self, role: int, pool: Segments, node: IntArray, rng: np.random.Generator
    ) -> Segments:
        """Successors of a pool in the last turn of a path: all, or more than the limit."""
        if not self.keep_views:
            learnt = Learnt(*np.repeat(self.tree.last_turns(node).T, len(pool.states), axis=1))
            options = open_moves(self.machine, role, pool.states, learnt, self.model)
            if (options.counts <= LIST_LIMIT).all():
                turn = OpenTurn(self.machine, role, pool.states, options, learnt.percepts)
                polling = Polling(self.stop, self.lanes_at_once)
                states, parents, born = distinct_successors(turn, self._limit, rng, polling)
                total = min(pool.sizes[0] * born / len(pool.states), MAX_COMPLETIONS)
                sizes = estimated_sizes(parents, np.zeros_like(parents), np.full(1, total))
                return replace(one_set(states), sizes=np.maximum(sizes, len(states)))
        return advance(self, role, _unweighted(pool), node, TurnLimits(ROOM), rng).sets

    def _union(self, boards: Segments, additions: Segments) -> Segments:
        """The distinct boards of two sets."""
        return _unweighted(united(self.machine, [_unweighted(boards), _unweighted(additions)]))


class Hybrid(Pool):
    """HS: a pool, filled up to `capacity` with boards that agree with the last observation only.

    All boards have the same weight. Boards of the last observation do not enter the pool.

    Attributes:
        num_last: number of boards in the latest bag that are not from the pool.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        *,
        pool: int = POOL_LIMIT,
        maker: BoardMaker | None = None,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(machine, tree, pool=pool, **shared)
        self._last = LastObservation(machine, tree, maker=maker, **shared)
        self.num_last = 0

    @property
    def sound(self) -> bool:
        """Whether the latest bag has boards of the pool only."""
        return self.num_last == 0

    def _num_guessed(self, sets: Segments) -> int:
        return self.num_last

    @property
    def views(self) -> IntArray:
        return np.concatenate([super().views, self._last.views])

    def renumber(self, numbers: IntArray) -> None:
        super().renumber(numbers)
        self._last.renumber(numbers)

    def _boards_for(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        pool = super()._boards_for(role, path, rng)
        self.num_last = 0
        missing = self.capacity - len(pool.states)
        if len(pool.states):
            sample = pool.thinned(OWN_PARTICLES, rng)
            self._last.learn(Bags(role, np.array([path]), np.zeros(1, dtype=np.int64), sample))
        if missing <= 0:
            return pool
        self._last.stops_with(self)
        last = self._last.at(np.array([path]), role, rng).sets
        boards = self._union(pool, last.thinned(missing, rng))
        self.num_last = len(boards.states) - len(pool.states)
        return boards


def _unweighted(boards: Segments) -> Segments:
    """The same set, with equal weights."""
    count = len(boards.states)
    return replace(
        boards,
        log_weights=np.full(count, -np.log(max(count, 1))),
        exact=np.zeros(1, dtype=np.bool_),
        log_masses=np.full(1, np.log(count) if count else -np.inf),
    )


# ------------------------------------------------------------------------
# Depth-first search for one complete path that agrees with an incomplete one.
#
# It tries possible moves of the opponents in random order. From a turn without agreeing successors
# it backtracks to the last turn with an untried one. (Timed AOSP does so in paper 002.)

CHILDREN = 1024
"""Most successors of a turn; of more, so many are drawn."""

MAX_STEPS = 2_000
"""Turns after which the search gives up."""


def depth_first(setting: Setting, role: int, path: int, rng: np.random.Generator) -> Segments:
    """A set with the last state of one complete path; without a state if the search gave up."""
    steps = setting.tree.beginnings(np.array([path]))
    current = setting.beginning(1)
    stack: list[tuple[Segments, list[int]]] = []
    for _ in range(MAX_STEPS):
        if len(stack) == len(steps) - 1:
            return current
        if setting.stop():
            break
        node = steps[len(stack) + 1]
        successors = advance(setting, role, current, node, TurnLimits(CHILDREN), rng).sets
        stack.append((successors, rng.permutation(len(successors.states)).tolist()))
        while stack and not stack[-1][1]:
            stack.pop()
        if not stack:
            break
        boards, order = stack[-1]
        current = boards.entry(order.pop())
    return setting.nothing(1)


# ------------------------------------------------------------------------
# One turn of a pool: distinct successors, where likelihoods do not matter.
#
# A pool that grows too large is cut. So its successors are made in random order, until there are
# too many:
#
# pool of 10,000 boards    450,000 completions     32,768 of them    29,000 agree and
#                              in random order         are made          differ: enough
#
# Rule: only the random order decides which boards are found, so a board that is reached in several
# ways is found sooner. Below the limit, all are found.

FEWEST_AT_ONCE = 2048
"""Fewest completions made together: fewer take about as long."""


def distinct_successors(
    turn: OpenTurn, limit: int, rng: np.random.Generator, polling: Polling
) -> tuple[States, IntArray, float]:
    """Distinct successors after one turn that agree with a role's percepts and are not terminal.

    Args:
        turn: of L distinct states.
        limit: the search ends with more states than this.
        rng: draws the order of completions, if they are not all made together.
        polling: ends the search when it stops.

    Returns:
        K states, `[K]` the number of boards from which each was reached, and an estimate of the sum
        of these numbers over all completions.
    """

    def together() -> int:
        return min(polling.at_once(), max(2 * limit, FEWEST_AT_ONCE))

    options = turn.options
    lanes = np.flatnonzero(options.counts > 0)
    counts = options.counts[lanes].astype(np.int64)
    states = turn.states.take(np.zeros(0, dtype=np.int64))
    reached: list[tuple[IntArray, IntArray]] = []
    num_made = 0
    for picks, numbers in completion_pairs(counts, together, rng):
        if num_made and polling.stop():
            break
        rows = lanes[picks]
        joint_moves, _ = options.joint(rows, numbers)
        matches, successors = turn.matching(rows, joint_moves)
        states, ids = _add_new(turn.machine, states, successors)
        reached.append((rows[matches[ids >= 0]], ids[ids >= 0]))
        num_made += len(rows)
        if len(states) > limit:
            break
    if not reached:
        return states, np.zeros(0, dtype=np.int64), 0.0
    origin, end = (np.concatenate(parts) for parts in zip(*reached, strict=True))
    first, pair = first_seen_columns([origin, end])
    total = len(end) * float(counts.sum()) / num_made
    pairs = estimated_sizes(np.bincount(pair), np.zeros_like(first), np.full(1, total))
    return states, np.bincount(end[first], minlength=len(states)), float(pairs[0])


def _add_new(machine: Machine, states: States, successors: States) -> tuple[States, IntArray]:
    """Distinct states and new successors that are not terminal, and the index of each successor
    among them; -1 for terminal ones."""
    if not len(successors):
        return states, np.zeros(0, dtype=np.int64)
    all_states = machine.concatenate([states, successors])
    first, group = first_seen(machine.groups(all_states))
    fresh = all_states.take(first[len(states) :])
    goes_on = ~machine.terminal(fresh)
    ids = np.where(goes_on, len(states) - 1 + np.cumsum(goes_on), -1)
    ids = np.concatenate([np.arange(len(states)), ids])[group[len(states) :]]
    return machine.concatenate([states, fresh.take(np.flatnonzero(goes_on))]), ids


def aos(
    machine: Machine, tree: PathTree, settings: SamplerSettings, **shared: Unpack[Shared]
) -> Sampler:
    """Boards of random histories that agree with all observations."""
    return AllObservations(machine, tree, **shared)


def aosp(
    machine: Machine, tree: PathTree, settings: SamplerSettings, **shared: Unpack[Shared]
) -> Sampler:
    """A pool of boards that agree with all observations."""
    return Pool(machine, tree, pool=settings.pool, **shared)


def hs(
    machine: Machine, tree: PathTree, settings: SamplerSettings, **shared: Unpack[Shared]
) -> Sampler:
    """The pool, filled up with boards that agree with the last observation."""
    return Hybrid(machine, tree, pool=settings.pool, maker=settings.maker, **shared)
