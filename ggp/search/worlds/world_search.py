"""The `Search` that solves worlds: perfect information Monte Carlo (paper 003).

The value of a move is its mean clairvoyant value over the worlds of a bag: all of an exact set, by
weight, or those of a sample. If all of these are solved nothing is left to do. Otherwise every
round makes playouts of the states that were not searched, and backs their means up.
"""

from __future__ import annotations

import numpy as np

from ggp.belief import Bags
from ggp.machine.arrays import segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine
from ggp.search.anytime import Deadline, check, part_of
from ggp.search.estimates import Estimates, candidates
from ggp.search.parts import Evaluation
from ggp.search.playouts import PlayoutSearch
from ggp.search.worlds.clairvoyant import SharedWorlds, table_of
from ggp.search.worlds.layers import GROW_SHARE, Limit

BACKUP_SHARE = 0.5
"""Share of the time for finding the layers that backing up values is assumed to take, until it was
done once."""

BACKUP_CAUTION = 1.3
"""Backing up may take this many times as long as before."""


class WorldSearch:
    """Clairvoyant values of every candidate of one bag, improved round by round.

    A trial of a candidate is one playout of every state that was not searched, in every world. If
    not even one turn fits into the limit, the values are HyperPlay values.

    Args:
        bags: one bag, not depleted.
        limit: how far states are searched, which is done at once.
        deadline: looked at all the time; states are found until `GROW_SHARE` of the time is gone.
        evaluation: of the states that were not searched; default: random playouts.
        most_worlds: number of worlds drawn from the bag if it is a sample of more.

    Raises:
        GoalError: a goal value is not a number.
    """

    side_by_side = 1

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        limit: Limit,
        deadline: Deadline | None = None,
        evaluation: Evaluation | None = None,
        most_worlds: int = 1 << 30,
    ) -> None:
        self._machine, self._rng, self._deadline = machine, rng, deadline
        self._exact = bool(bags.exact[0])
        lanes, self._weights = drawn_worlds(bags, most_worlds, rng)
        self.moves = candidates(machine, bags)
        self.worlds = SharedWorlds(machine, bags.sets.states.take(lanes), bags.role, evaluation)
        began_s = 0.0 if deadline is None else deadline.clock()
        self.worlds.grow(limit, part_of(deadline, GROW_SHARE))
        self._backup_s = 0.0 if deadline is None else BACKUP_SHARE * (deadline.clock() - began_s)
        self._visits = np.zeros(len(self.moves.values), dtype=np.int64)
        self._table = np.zeros((len(lanes), len(self.moves.values)))
        self._noise = np.zeros_like(self._table)
        self._playouts: PlayoutSearch | None = None
        if self.solved:
            self._visits += len(lanes)
            self._back_up()
        elif not self.worlds.layers.layers:
            self._playouts = PlayoutSearch(machine, bags, rng, deadline, evaluation)
            self.moves = self._playouts.moves

    @property
    def solved(self) -> bool:
        """Whether the values are final: no playout is needed."""
        return self.worlds.solved

    @property
    def looks_ahead(self) -> bool:
        """Whether at least one turn was searched."""
        return self._playouts is None

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Make `count` more playouts of all states below the candidates, or the chosen ones.

        Raises:
            OutOfTime: not all could be made; those that were made count.
        """
        if self._playouts is not None:
            self._playouts.round(count, chosen)
            return
        if self.solved:
            return
        deadline = self._deadline
        if deadline is not None:
            margin_s = BACKUP_CAUTION * self._backup_s
            deadline = Deadline(deadline.at_s - margin_s, deadline.clock)
        check(deadline)
        try:
            self.worlds.play_out(count, self._rng, deadline, self._wanted(chosen))
            self._visits[chosen if chosen is not None else slice(None)] += count * len(self._table)
        finally:
            if self._visits.any():
                self._back_up()

    def estimates(self) -> Estimates:
        """The values so far; candidates never tried have value 0."""
        if self._playouts is not None:
            return self._playouts.estimates()
        weights, visits = self._weights, self._visits.copy()
        values, variances = weights @ self._table, weights**2 @ self._noise
        if not self._exact:
            # Worlds are a sample: the spread between them includes the noise of their values.
            number = len(weights)
            spread = weights**2 @ (self._table - values) ** 2
            spread = spread * number / (number - 1) if number > 1 else np.full_like(spread, np.nan)
            variances = np.maximum(variances, spread)
        solved = np.full(len(visits), self.solved and self._exact)
        zeros = np.zeros_like(values)
        return Estimates(self.moves, values, np.sqrt(variances), visits, zeros, solved)

    def _wanted(self, chosen: IntArray | None) -> BoolArray | None:
        """`[O]` whether each open state counts for the chosen candidates; None for all."""
        if chosen is None or len(chosen) == len(self.moves.values):
            return None
        legal = self.worlds.moves
        world = segment_ids(legal.offsets)
        wanted = np.isin(legal.values, self.moves.values[chosen])
        # Where one of them is illegal, it counts as the mean of all moves.
        every = np.bincount(world[wanted], minlength=len(legal.counts)) < len(chosen)
        return self.worlds.below(wanted | every[world])

    def _back_up(self) -> None:
        deadline = self._deadline
        began_s = 0.0 if deadline is None else deadline.clock()
        seen = self.worlds.values()
        middle = sum(self._machine.goal_range) / 2
        self._table, self._noise = table_of(seen, self.moves.values, middle)
        if deadline is not None:
            self._backup_s = deadline.clock() - began_s


def drawn_worlds(bags: Bags, most: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """`[N]` lanes of the worlds of a bag, and `[N]` their weights, which sum to 1."""
    lanes, weights = bags.lanes_of(0), bags.weights_of(0)
    if bags.exact[0] or len(lanes) <= most:
        return lanes, weights
    points = (rng.random() + np.arange(most)) / most
    at = np.minimum(np.searchsorted(np.cumsum(weights), points, side="right"), len(lanes) - 1)
    number = np.bincount(at, minlength=len(lanes))
    return lanes[number > 0], number[number > 0] / most
