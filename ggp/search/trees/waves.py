"""Sends lanes into trees, wave by wave: how many at a time, and where they begin."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray, Ragged
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.budgets import RoundCosts
from ggp.search.estimates import Estimates
from ggp.search.trees.paths_tree import PathsTree

FIRST_LANES, MOST_LANES = 8, 2048
"""Least and most lanes of a wave: much of the time of small ones is fixed cost."""

LANE_SHARE = 0.05
"""A wave has at most this share of the lanes before it: lanes of one wave learn little from each
other, and the more waves there are, the better lanes know where to go."""

MANY_WAVES, MOST_HASTE = 200, 8.0
"""If there is time for fewer waves than this, waves and their share are made larger, up to this
many times."""


GUIDED_LANES = 64
"""Lanes of the first waves of guided trees, and half of the most: more would leave each leaf few
playouts. The less time there is, the more it matters that lanes learn from each other."""

GUIDED_WAVES = 16
"""If lanes are counted, there are at least so many waves."""


class Roots(NamedTuple):
    """Where lanes may begin: worlds with weights.

    Attributes:
        worlds: `[N]`.
        weights: `[N]` in any unit.
        learns: `[N, R]` whether a role learns from lanes that begin there.
    """

    worlds: IntArray
    weights: FloatArray
    learns: BoolArray

    def draw(self, count: int, rng: np.random.Generator, among: IntArray | None = None) -> IntArray:
        """`[count]` indices, drawn systematically by weight, in random order.

        Args:
            among: the roots that may be drawn; default: all.
        """
        among = np.arange(len(self.worlds)) if among is None else among
        if len(among) == 1:
            return np.repeat(among, count)
        upto = np.cumsum(self.weights[among])
        points = (rng.random() + np.arange(count)) / count * upto[-1]
        return rng.permutation(among[np.searchsorted(upto[:-1], points, side="right")])


def joined(parts: Sequence[Roots]) -> Roots:
    """Several sets of roots as one."""
    return Roots(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class WaveSearch(ABC):
    """A `Search` of the candidates of one bag by waves of lanes through trees.

    Args:
        tree: is searched, and keeps the statistics.
        moves: the candidates.
        roots: where lanes begin.
        deadline: looked at within waves.

    Attributes:
        most_lanes: most lanes of a wave.
        longest_wave_s: time that a wave may take, as far as can be predicted.
    """

    most_lanes = MOST_LANES
    longest_wave_s = math.inf
    side_by_side = 1

    def __init__(
        self,
        tree: PathsTree,
        moves: Ragged,
        roots: Roots,
        rng: np.random.Generator,
        deadline: Deadline | None,
    ) -> None:
        self.moves = moves
        self._tree, self._roots, self._rng, self._deadline = tree, roots, rng, deadline
        self._lanes_done = 0
        self._guided_lanes = GUIDED_LANES
        self._costs = RoundCosts()
        self._wave_s = 0.0

    @abstractmethod
    def estimates(self) -> Estimates:
        """The values so far."""

    @abstractmethod
    def _is_settled(self) -> bool:
        """Whether nothing more can be learned."""

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Send `count` lanes for each candidate; the tree decides which moves they try.

        Raises:
            OutOfTime: not all could be sent; what the others found counts.
        """
        self.send(count * len(self.moves.values))

    def send(self, count: int) -> None:
        """Send `count` lanes.

        Raises:
            OutOfTime: not all could be sent; what the others found counts.
        """
        self._guided_lanes = max(FIRST_LANES, count // GUIDED_WAVES)
        while count > 0 and not self._is_settled():
            size = min(count, max(1, self._wave_size()))
            self._wave(size)
            count -= size

    def run(self, deadline: Deadline, report: Callable[[Estimates], None] | None = None) -> None:
        """Send lanes until the deadline.

        Args:
            report: receives the values so far, each time the number of lanes has doubled.
        """
        next_report = 2 * FIRST_LANES
        try:
            while not deadline.passed() and not self._is_settled():
                size = self._wave_size()
                if not size:
                    break
                self._wave(size)
                if report is not None and self._lanes_done >= next_report:
                    next_report = 2 * self._lanes_done
                    report(self.estimates())
        except OutOfTime:
            pass

    def _wave_size(self) -> int:
        """Lanes of the next wave; 0 if no wave fits into the remaining time.

        The clock alone never makes waves small: a wave is nearly all fixed cost, especially on a
        busy computer.
        """
        haste, fits = 1.0, MOST_LANES
        if self._deadline is not None:
            left_s = self._deadline.left_s()
            fits = self._costs.next_size(left_s, 1)
            if left_s > self.longest_wave_s:
                fits = min(fits, max(self._costs.next_size(self.longest_wave_s, 1), FIRST_LANES))
            waves = left_s / self._wave_s if self._wave_s else MANY_WAVES
            haste = min(max(MANY_WAVES / max(waves, 1.0), 1.0), MOST_HASTE)
        least, most = FIRST_LANES, self.most_lanes
        if self._tree.leaves.is_guided:
            haste, least, most = 1.0, min(GUIDED_LANES, self._guided_lanes), 2 * GUIDED_LANES
        size = int(min(haste * max(least, LANE_SHARE * self._lanes_done), most))
        return min(size, fits)

    def _wave(self, size: int) -> None:
        began_s = 0.0 if self._deadline is None else self._deadline.clock()
        self._send_wave(size)
        self._lanes_done += size
        if self._deadline is not None:
            self._wave_s = self._deadline.clock() - began_s
            self._costs.add(size, self._wave_s)

    def _send_wave(self, size: int) -> None:
        drawn = self._roots.draw(size, self._rng)
        self._tree.wave(
            self._roots.worlds[drawn], self._roots.learns[drawn], self._rng, self._deadline
        )
