"""The player `oos`: online outcome sampling, which plays mixed strategies.

It walks down trees from its particles, matches regrets, and draws its move from the mean strategy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.machine.base import FloatArray
from ggp.players.options.opponents import UNIFORM_MODEL
from ggp.players.options.option_fields import unused, whole
from ggp.players.parts.tree_player import TreeOptions, TreePlayer
from ggp.players.player import Choice
from ggp.search.anytime import Deadline
from ggp.search.parts import INFORMED, TREES
from ggp.search.trees.selection import ByRegret
from ggp.search.trees.tree_search import Matching, OutcomeSampling, TreeSearch

RARE = 0.01
"""Less likely moves are never played: they are a residue of exploration."""


@dataclass(frozen=True)
class OOSOptions(TreeOptions):
    """Options of `oos`."""

    trials: int = whole(100_000, "walks down the tree for a decision, without a clock")
    exploration: int = whole(40, "percent of the learning role's choices that are uniform")
    start: int = whole(10, "percent of walks from the start of the game", low=0, high=95)
    model: str = unused(UNIFORM_MODEL, "it learns how the others move: give no model")


class OOS(TreePlayer):
    """A move drawn from a strategy that approaches an equilibrium the longer it searches."""

    Options = OOSOptions
    SOURCE = "Lisy, Lanctot & Bowling (AAMAS 2015), Online Outcome Sampling"
    KINDS = frozenset({INFORMED, TREES})
    options: OOSOptions
    no_lanes = ByRegret(0.0, 0.0, np.zeros(0), np.zeros((0, 0)))

    def search(
        self, bag: Bags, deadline: Deadline | None, submitted: int | None = None
    ) -> OutcomeSampling:
        elsewhere = self.elsewhere(deadline)
        matching = Matching(self.options.exploration / 100, self.options.start / 100)
        return OutcomeSampling(self._tree, bag, self.rng, deadline, elsewhere, submitted, matching)

    def decided(self, bag: Bags, search: TreeSearch, low: FloatArray, high: FloatArray) -> Choice:
        estimates = search.estimates()
        if not estimates.visits.any():
            return self.safest(bag), self._values(estimates)  # there was no time for a wave
        assert isinstance(search, OutcomeSampling)
        shares = search.strategy(estimates)
        shares = np.where(shares < RARE, 0.0, shares)
        shares /= shares.sum()
        return self.mixed(estimates.moves.values, shares), self._values(estimates)
