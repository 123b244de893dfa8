"""The samplers of papers 001 and 002, but for LOS, which the core needs: `last_observation`.

AOS    boards of random histories that agree with all observations
AOSP   a pool of such boards; each turn, their successors that agree are the next pool
HS     the same, filled up with boards that agree with the last observation only
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np

from ggp.belief.bags import Bags, Segments, one_set
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Sampler, Setting, Shared
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.by_name import POOL_LIMIT, SamplerSettings
from ggp.belief.samplers.last_observation import (
    OWN_PARTICLES,
    HistorySampler,
    LastObservation,
    ObservationSampler,
)
from ggp.belief.turns.completions import OpenTurn, Polling, completion_pairs
from ggp.belief.turns.one_turn import LIST_LIMIT, TurnLimits, advance, estimated_sizes
from ggp.belief.turns.open_moves import MOST_COMPLETIONS, Learnt, open_moves
from ggp.belief.turns.walks import WalkEvidence, united, walks
from ggp.machine.arrays import first_seen, first_seen_columns
from ggp.machine.base import IntArray, Machine, States

ROOM = 1 << 20
"""Successors that a pool may have before it is cut."""


class AllObservations(HistorySampler):
    """AOS: random histories, kept if all observations agree."""

    @property
    def views(self) -> IntArray:
        """Nodes that are referred to besides those of bags."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""

    def _new_boards(self, role: int, path: int, size: int, rng: np.random.Generator) -> Segments:
        evidence = WalkEvidence(role, path, last_only=False)
        return walks(self, evidence, size, self._max_attempts, rng)


class Pool(ObservationSampler):
    """AOSP: a pool of boards that agree with all observations, kept from turn to turn.

    All boards of the pool count the same, as in the paper: the likelihood of the others' replies
    does not matter. Once it has died there are no boards, except those that `grown` finds.
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
        """The bags of paths; unknown pools are made turn by turn.

        A pool that has died stays dead.
        """
        self._pools = {path: self._made(role, path, rng) for path in paths.tolist()}
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
            before = self._pools.get(int(bags.paths[bag]))
            if before is None:
                before = bags.sets.take(bags.segment[[bag]])
            pools[path] = self._followed(bags.role, before, path, rng)
        self._pools = pools
        return super().at(paths, bags.role, rng)

    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag, with a history found by depth-first search if that is a new one."""
        role, path = bags.role, int(bags.paths[0])
        if self.tree.depth(path) == 0:
            return bags
        found = depth_first(self, role, path, rng)
        if not len(found.states):
            return bags
        there_is = bags.sets.take(bags.segment)
        self._pools[path] = self._with(self._pools.get(path, there_is), found)
        return self._bags(role, bags.paths, [self._with(there_is, found)])

    def _boards_for(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        return self._pools[path]

    def _made(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        """The pool of a path, made from the last one known on the way."""
        steps = [int(node) for (node,) in self.tree.beginnings(np.array([path]))]
        known = max((at for at, node in enumerate(steps) if node in self._pools), default=0)
        pool = self._pools.get(steps[known])
        if pool is None:
            pool = self.beginning(1)
        for node in steps[known + 1 :]:
            pool = self._followed(role, pool, node, rng)
        return pool

    def _followed(self, role: int, pool: Segments, path: int, rng: np.random.Generator) -> Segments:
        """The successors of a pool in one turn."""
        if not len(pool.states):
            return pool
        grown = self._grown_pool(role, pool, np.array([path]), rng)
        if len(grown.states) > self._limit:
            grown = _alike(grown).thinned(self._limit // 2, rng)
        return _alike(grown)

    def _grown_pool(
        self, role: int, pool: Segments, node: IntArray, rng: np.random.Generator
    ) -> Segments:
        """The successors of a pool in the last turn of a path: more than its limit, or all."""
        if not self.keep_views:
            learnt = Learnt(*np.repeat(self.tree.last_turns(node).T, len(pool.states), axis=1))
            options = open_moves(self.machine, role, pool.states, learnt, self.model)
            if (options.counts <= LIST_LIMIT).all():
                turn = OpenTurn(self.machine, role, pool.states, options, learnt.percepts)
                polling = Polling(self.stop, self.lanes_at_once)
                states, parents, born = distinct_successors(turn, self._limit, rng, polling)
                total = min(pool.sizes[0] * born / len(pool.states), MOST_COMPLETIONS)
                sizes = estimated_sizes(parents, np.zeros_like(parents), np.full(1, total))
                return replace(one_set(states), sizes=np.maximum(sizes, len(states)))
        return advance(self, role, _alike(pool), node, TurnLimits(ROOM), rng).sets

    def _with(self, boards: Segments, others: Segments) -> Segments:
        """The boards of two sets, each once."""
        return _alike(united(self.machine, [_alike(boards), _alike(others)]))


class Hybrid(Pool):
    """HS: the pool, filled up to `capacity` with boards that agree with the last observation only.

    All boards count the same. Those of the last observation are not remembered.

    Attributes:
        num_last: number of boards in the bag made last that are not from the pool.
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
        """False if boards of the last observation had to be taken."""
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
        wanted = self.capacity - len(pool.states)
        if len(pool.states):
            few = pool.thinned(OWN_PARTICLES, rng)
            self._last.learn(Bags(role, np.array([path]), np.zeros(1, dtype=np.int64), few))
        if wanted <= 0:
            return pool
        self._last.stops_with(self)
        last = self._last.at(np.array([path]), role, rng).sets
        both = self._with(pool, last.thinned(wanted, rng))
        self.num_last = len(both.states) - len(pool.states)
        return both


def _alike(boards: Segments) -> Segments:
    """One set whose entries all have the same weight."""
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
# Possible moves of the others in a turn are tried in random order. Where nothing goes on, the
# search backtracks to the last turn in which something is left to try. (This is how timed AOSP
# finds boards, paper 002.)

CHILDREN = 1024
"""Of more ways to go on in a turn, this many are drawn."""

MOST_STEPS = 2_000
"""Turns visited before the search is given up."""


def depth_first(setting: Setting, role: int, path: int, rng: np.random.Generator) -> Segments:
    """One set of one entry, or of none if nothing was found."""
    steps = setting.tree.beginnings(np.array([path]))
    current = setting.beginning(1)
    waiting: list[tuple[Segments, list[int]]] = []
    for _ in range(MOST_STEPS):
        if len(waiting) == len(steps) - 1:
            return current
        if setting.stop():
            break
        node = steps[len(waiting) + 1]
        after = advance(setting, role, current, node, TurnLimits(CHILDREN), rng).sets
        waiting.append((after, rng.permutation(len(after.states)).tolist()))
        while waiting and not waiting[-1][1]:
            waiting.pop()
        if not waiting:
            break
        boards, order = waiting[-1]
        current = boards.entry(order.pop())
    return setting.nothing(1)


# ------------------------------------------------------------------------
# One turn of a pool: the different boards that follow, if nothing but their number matters.
#
# Of a pool that grows too large only some boards are kept. So its successors are made in random
# order, and no more of them once they are too many:
#
# pool of 10,000 boards    450,000 completions     32,768 of them    29,000 that agree
#                              in random order         are made          and differ: enough
#
# Which boards are found depends on the order alone, and one that is reached in several ways is
# found the sooner. As long as there are not too many, all of them are found.

FEWEST_AT_ONCE = 2048
"""Completions that are made together at least: fewer take about as long."""


def distinct_successors(
    turn: OpenTurn, most: int, rng: np.random.Generator, polling: Polling
) -> tuple[States, IntArray, float]:
    """Different states that follow in one turn, agree with what a role sees, and are not the end.

    Args:
        turn: of L different states.
        most: as soon as there are more states than this, no more are looked for.
        rng: draws the order, if they are not all made together.
        polling: when it stops, no more are looked for.

    Returns:
        K states, `[K]` from how many of the boards each was reached, and the sum of these numbers
        that all completions together would give, estimated.
    """

    def together() -> int:
        return min(polling.at_once(), max(2 * most, FEWEST_AT_ONCE))

    options = turn.options
    lanes = np.flatnonzero(options.counts > 0)
    counts = options.counts[lanes].astype(np.int64)
    found = turn.states.take(np.zeros(0, dtype=np.int64))
    reached: list[tuple[IntArray, IntArray]] = []
    tried = 0
    for at, numbers in completion_pairs(counts, together, rng):
        if tried and polling.stop():
            break
        rows = lanes[at]
        joint_moves, _ = options.joint(rows, numbers)
        matches, after = turn.matching(rows, joint_moves)
        found, numbers = _with_new(turn.machine, found, after)
        reached.append((rows[matches[numbers >= 0]], numbers[numbers >= 0]))
        tried += len(rows)
        if len(found) > most:
            break
    if not reached:
        return found, np.zeros(0, dtype=np.int64), 0.0
    origin, end = (np.concatenate(each) for each in zip(*reached, strict=True))
    first, pair = first_seen_columns([origin, end])
    total = len(end) * float(counts.sum()) / tried
    pairs = estimated_sizes(np.bincount(pair), np.zeros_like(first), np.full(1, total))
    return found, np.bincount(end[first], minlength=len(found)), float(pairs[0])


def _with_new(machine: Machine, found: States, after: States) -> tuple[States, IntArray]:
    """Different states with those of others that are new and not the end, and the number of each
    other one among them; -1 for the end."""
    if not len(after):
        return found, np.zeros(0, dtype=np.int64)
    both = machine.concatenate([found, after])
    first, group = first_seen(machine.groups(both))
    new = both.take(first[len(found) :])
    goes_on = ~machine.terminal(new)
    numbers = np.where(goes_on, len(found) - 1 + np.cumsum(goes_on), -1)
    numbers = np.concatenate([np.arange(len(found)), numbers])[group[len(found) :]]
    return machine.concatenate([found, new.take(np.flatnonzero(goes_on))]), numbers


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
