"""How others move if they may be *late*: a server then makes the first legal move for them.

Some game servers replace a move that is late or illegal by the first legal one. A role is late with
a small probability, and then in most of its turns. Which it is stays open for the whole match, and
what the role did in a particle makes one or the other more likely there:

    P(late | path) : P(prompt | path) = P(late) : P(prompt)
                                        x product over moves of P(move | late) : P(move | prompt)

A prompt role is taken to move uniformly. So every first legal move in a row makes lateness more
credible, and one other move much less. In games that hide the others' moves this matters: four
first moves in a row are one path among thousands if everybody moves uniformly, and one in a few if
somebody may be late.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.belief.move_models import Known, PathModel
from ggp.belief.paths import PathTree
from ggp.machine.arrays import enlarged, segment_ids
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged

LATE = 0.2
"""Probability that a role is late."""

OFTEN = 0.8
"""Share of the turns in which such a role is; its other moves are uniform."""

Place = tuple[tuple[int, ...], str]
"""Of a move among all moves; smaller ones come first."""

_UNASKED, _NEW = -1, -2
"""Stand for the first move of a path that was not asked about, or not met at all."""


class LateMoves(PathModel):
    """Others may be late.

    Args:
        machine, tree, own: see `PathModel`.
        order: the place of a move, by its number, among all moves: of the legal moves in a state,
            the server takes the one with the least. No two moves have the same.
        late: probability that a role is late, greater than 0 and less than 1.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own: int,
        order: Callable[[int], Place],
        late: float = LATE,
    ) -> None:
        super().__init__(machine, tree, own)
        self._order, self._prior = order, float(np.log(late / (1 - late)))
        # By path: log odds that the role is late, its first legal move, how many it had.
        self._odds = np.zeros(0)
        self._first, self._count = np.zeros((2, 0), dtype=np.int64)
        # By move, and back.
        self._places: list[Place] = []
        self._ranks = self._by_rank = np.zeros(0, dtype=np.int64)

    def shares(self, role: int, paths: IntArray, moves: Ragged) -> tuple[FloatArray, FloatArray]:
        """See `PathModel`: the first move has all of the share, and trust is P(late now | path)."""
        counts = moves.counts
        if role == self._own or role == self._machine.random_role or not len(paths):
            owner = segment_ids(moves.offsets)
            return 1.0 / np.maximum(counts, 1)[owner], np.zeros(len(paths))
        firsts = self._firsts(moves)
        self._meet(paths)
        fresh = np.flatnonzero(self._first[paths] == _UNASKED)
        if len(fresh):
            unasked = paths[fresh]
            self._first[unasked], self._count[unasked] = firsts[fresh], counts[fresh]
        found = (moves.values == np.repeat(firsts, counts)).astype(np.float64)
        trust = OFTEN / (1.0 + np.exp(-self._odds[paths]))
        return found, np.where(counts > 1, trust, 0.0)

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        """Not needed: `shares` knows all paths at once."""
        return [None] * len(paths)

    def renumber(self, numbers: IntArray) -> None:
        kept = np.flatnonzero(numbers[: len(self._first)] >= 0)
        to = numbers[kept]
        odds, first, count = self._odds[kept], self._first[kept], self._count[kept]
        self._first[:] = _NEW
        self._odds[to], self._first[to], self._count[to] = odds, first, count

    def _meet(self, paths: IntArray) -> None:
        """Set the odds at paths that are new, and at their beginnings."""
        if len(self._tree) > len(self._first):
            size = len(self._tree)
            self._odds = enlarged(self._odds, size, 0)
            self._first = enlarged(self._first, size, _NEW)
            self._count = enlarged(self._count, size, 1)
        longer: list[IntArray] = []
        while len(paths := paths[self._first[paths] == _NEW]):
            is_empty = self._tree.depths(paths) == 0
            empty, paths = paths[is_empty], paths[~is_empty]
            self._odds[empty], self._first[empty] = self._prior, _UNASKED
            longer.append(paths)
            paths = self._tree.parents(paths)
        for paths in reversed(longer):
            parents = self._tree.parents(paths)
            first, count = self._first[parents], np.maximum(self._count[parents], 1)
            made = self._tree.last_turns(paths)[:, 0]
            # P(move | late) / P(move | prompt), where P(move | prompt) = 1 / count
            ratio = (1 - OFTEN) + np.where(made == first, OFTEN * count, 0.0)
            # Of a path that was never asked about, it is not known which move was the first.
            ratio[first < 0] = 1.0
            self._odds[paths] = self._odds[parents] + np.log(ratio)
            self._first[paths] = _UNASKED

    def _firsts(self, moves: Ragged) -> IntArray:
        """`[L]` the first of the legal moves of each lane; -1 where there is none."""
        known = int(moves.values.max(initial=-1)) + 1
        if known > len(self._ranks):
            self._places += map(self._order, range(len(self._places), known))
            by_rank = sorted(range(known), key=self._places.__getitem__)
            self._by_rank = np.array(by_rank, dtype=np.int64)
            self._ranks = np.argsort(self._by_rank)
        firsts = np.full(len(moves.counts), -1, dtype=np.int64)
        some = moves.counts > 0
        if some.any():
            least = np.minimum.reduceat(self._ranks[moves.values], moves.offsets[:-1][some])
            firsts[some] = self._by_rank[least]
        return firsts
