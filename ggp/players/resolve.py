"""The player `resolve`: it solves the rest of the game from where the roles may be now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ggp.belief import Bags
from ggp.machine.base import FloatArray
from ggp.players.options.opponents import UNIFORM_MODEL
from ggp.players.options.option_fields import unused, whole
from ggp.players.parts.tree_player import TreeOptions, TreePlayer
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline
from ggp.search.parts import INFORMED, TREES
from ggp.search.trees.resolving import Resolving, can_resolve, load_kernels
from ggp.search.trees.tree_search import TreeSearch

RARE, UNSURE = 0.01, 0.2
"""Less likely moves are never played: they are a residue of exploration. The second number is for
games that are not known whole, in which averages are far from an equilibrium."""


@dataclass(frozen=True)
class ResolveOptions(TreeOptions):
    """Options of `resolve`."""

    trials: int = whole(10_000, "walks down the tree for a decision, without a clock")
    exploration: int = whole(40, "percent of the exploring role's choices that are uniform")
    outside: int = whole(
        40, "percent of walks from states that others think possible", low=0, high=95
    )
    start: int = whole(40, "percent of walks from the start of the game, at first", low=0, high=95)
    model: str = unused(UNIFORM_MODEL, "it learns how the others move: give no model")


class Resolve(TreePlayer):
    """A move drawn from a strategy for the rest of the game, which is solved while it grows."""

    Options = ResolveOptions
    SOURCE = "after Schmid et al. (Science Advances, 2023) and Zhang & Sandholm (2025)"
    KINDS = frozenset({INFORMED, TREES})
    guided = True
    options: ResolveOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        from_start = self.options.start / 100
        self._tree.settings = self._tree.settings._replace(from_start=from_start)
        load_kernels(self._tree)

    def search(
        self, bag: Bags, deadline: Deadline | None, submitted: int | None = None
    ) -> TreeSearch:
        if not can_resolve(self._tree, bag):
            return super().search(bag, deadline, submitted)
        elsewhere = self.elsewhere(deadline)
        return Resolving(self._tree, bag, self.rng, deadline, elsewhere, submitted)

    def decided(self, bag: Bags, search: TreeSearch, low: FloatArray, high: FloatArray) -> Choice:
        estimates = search.estimates()
        if not isinstance(search, Resolving) or not estimates.visits.any():
            return super().decided(bag, search, low, high)
        shares = search.strategy()
        least = RARE if self._tree.is_whole else UNSURE
        shares = np.where(shares < min(least, shares.max()), 0.0, shares)
        shares /= shares.sum()
        return self.mixed(estimates.moves.values, shares), self._values(estimates)
