"""Sampling with a pool (papers 001 and 002) of boards that agree with all observations.

AOSP   a pool of boards; each turn, their successors that agree are the next pool
HS     the same, filled up with boards that agree with the last observation only
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.finder import Shared
from ggp.belief.paths import PathTree
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.depth_first import depth_first
from ggp.belief.samplers.last_observation import OWN_PARTICLES, LastObservation
from ggp.belief.samplers.observation_samplers import ObservationSampler
from ggp.belief.segments import Segments, one_set
from ggp.belief.turns.distinct import distinct_successors
from ggp.belief.turns.one_turn import LIST_LIMIT
from ggp.belief.turns.open_moves import MOST_COMPLETIONS, Learnt, open_moves
from ggp.belief.turns.unseen import estimated_sizes
from ggp.belief.turns.walks import united
from ggp.machine.base import IntArray, Machine

POOL_LIMIT = 20_000
"""A pool of more boards than this is cut to half as many (paper 002)."""

ROOM = 1 << 20
"""Successors that a pool may have before it is cut."""


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

    def _found(self, role: int, path: int, rng: np.random.Generator) -> Segments:
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
                states, parents, born = distinct_successors(
                    *(self.machine, role, pool.states, options, learnt.percepts),
                    most=self._limit,
                    rng=rng,
                    stop=self.stop,
                    at_once=self.lanes_at_once,
                )
                total = min(pool.sizes[0] * born / len(pool.states), MOST_COMPLETIONS)
                sizes = estimated_sizes(parents, np.zeros_like(parents), np.full(1, total))
                return replace(one_set(states), sizes=np.maximum(sizes, len(states)))
        return self.one_turn_on(role, _alike(pool), node, ROOM, rng).sets

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

    def _found(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        pool = super()._found(role, path, rng)
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
