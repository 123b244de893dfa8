"""The player `pimc`: perfect information Monte Carlo search (paper 003).

Each world of its bag is solved as if everybody knew it, and the move with the best mean over the
worlds is played. Such values tie very often, and then promptness is the wrong guide: to a
clairvoyant all ways to the goal are equally good. HyperPlay values break these ties.

Worlds that are too large to solve are searched as far as time allows, and then played out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.errors import ConfigError, GGPError
from ggp.machine.base import IntArray
from ggp.players.options.option_fields import choice, whole
from ggp.players.parts.search_player import SearchOptions, SearchPlayer
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline, part_of
from ggp.search.clairvoyant import WorldSearch
from ggp.search.estimates import Estimates, Ties, equally_best
from ggp.search.layers import PLAYOUTS, CostLimit, CountLimit, Limit
from ggp.search.parts import CLAIRVOYANT
from ggp.search.playouts import PlayoutSearch

DEFAULT_STEPS = 100_000

QUICK_SHARE = 0.15
"""Share of the time or states for HyperPlay values: they break ties, and decide if there is no
time for more."""

HYPERPLAY_PLAYOUTS = 4096
"""Playouts of each candidate for its HyperPlay value, without a clock or a budget of states."""


@dataclass(frozen=True)
class PimcOptions(SearchOptions):
    """Options of `pimc`."""

    worlds: int = whole(64, "worlds that are drawn from a set that is not enumerated", high=10_000)
    steps: int | None = whole(
        None,
        "joint moves tried to solve the worlds; states beyond are valued by playouts",
        high=10**7,
        usual=str(DEFAULT_STEPS),
    )
    ties: Ties = choice(
        Ties.HYPERPLAY,
        "choice of equal moves: hyperplay (by their HyperPlay values), or random (by lot)",
        (Ties.RANDOM, Ties.HYPERPLAY),
    )

    def __post_init__(self) -> None:
        if self.states and self.steps is not None:
            raise ConfigError("give either steps or states")


class Pimc(SearchPlayer):
    """The move with the best mean over worlds, each solved as if everybody knew it."""

    Options = PimcOptions
    SOURCE = "Long, Sturtevant, Buro & Furtak (AAAI 2010)"
    KINDS = frozenset({CLAIRVOYANT})
    options: PimcOptions

    def __init__(self, options: PimcOptions, context: Context) -> None:
        super().__init__(options, context)
        self._hyperplay: Estimates | None = None

    @property
    def capacity(self) -> int:
        return self.options.worlds

    @property
    def trials(self) -> int:
        return HYPERPLAY_PLAYOUTS

    def search(self, bag: Bags, deadline: Deadline | None) -> PlayoutSearch:
        """A search of HyperPlay values; `decide` uses them to break ties."""
        return PlayoutSearch(self.machine, bag, self.rng, deadline, model=self.model)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        self._hyperplay = None
        if deadline is None and not self.options.states:
            limit: Limit = CountLimit(self.options.steps or DEFAULT_STEPS)
        else:
            limit = self._cost_limit(bag, deadline)
        try:
            estimates = self._clairvoyant(bag, limit, deadline)
        except GGPError as error:
            self._warn(error)
            estimates = None
        if estimates is None or not estimates.visits.all():
            # Some world could not be solved in time: HyperPlay values decide.
            estimates = self._hyperplay or self.values_of(self.search(bag, None), None)
        elif self._hyperplay is None and self.options.ties is Ties.HYPERPLAY:
            self._hyperplay = self._hyperplay_values(bag, equally_best(estimates.values))
        return self.best(estimates)

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        self._hyperplay = None
        return super().rescue(bag, deadline)

    def best(self, estimates: Estimates) -> Choice:
        best = super().best(estimates)
        tied = self._tied(estimates)
        if len(tied) > 1:
            texts = map(self.machine.move_text, estimates.moves.values[tied].tolist())
            self.probabilities = dict.fromkeys(texts, 1 / len(tied))
        return best

    def pick(self, estimates: Estimates, rng: np.random.Generator) -> int:
        tied = self._tied(estimates)
        return int(estimates.moves.values[tied[int(rng.integers(len(tied)))]])

    def _tied(self, estimates: Estimates) -> IntArray:
        """Indices of the moves among which the rng decides."""
        visited = np.flatnonzero(estimates.visits)
        if not len(visited):
            return np.arange(len(estimates.values))
        tied = visited[equally_best(estimates.values[visited])]
        quick = self._hyperplay
        if self.options.ties is Ties.RANDOM or quick is None or not quick.visits[tied].all():
            return tied
        return tied[equally_best(quick.values[tied])]

    def _cost_limit(self, bag: Bags, deadline: Deadline | None) -> CostLimit:
        """The limit of the search of worlds, from the measured costs of HyperPlay values."""
        budgets = self.options.states
        spent: Callable[[], float] = self._visited
        budget = 0.0
        if budgets:
            budget = budgets[min(self.turn, len(budgets) - 1)] - self.visited_since_decision
        elif deadline is not None:
            spent, budget = deadline.clock, deadline.left_s()
        early = part_of(deadline, QUICK_SHARE)
        began, visited = spent(), self._visited()
        self._hyperplay = self.values_of(self.search(bag, early), early, QUICK_SHARE)
        took = spent() - began
        return CostLimit(
            spent,
            budget - took,
            joint_cost=took / max(self._visited() - visited, 1),
            playout_cost=took / max(int(self._hyperplay.visits.sum()), 1),
        )

    def _hyperplay_values(self, bag: Bags, places: IntArray) -> Estimates:
        """HyperPlay values of some candidates; a single candidate needs none."""
        search = self.search(bag, None)
        if len(places) > 1:
            search.round(HYPERPLAY_PLAYOUTS, places)
        return search.estimates()

    def _visited(self) -> float:
        return float(self.machine.states_visited)

    def _clairvoyant(self, bag: Bags, limit: Limit, deadline: Deadline | None) -> Estimates:
        search = WorldSearch(
            self.machine, bag, self.rng, limit, deadline, most_worlds=self.options.worlds
        )
        if search.solved:
            return search.estimates()
        if deadline is None and not self.options.states:
            search.round(PLAYOUTS if search.looks_ahead else HYPERPLAY_PLAYOUTS)
            return search.estimates()
        # The maximum over fewer playouts looks better, so all moves get the same number.
        return self.values_of(search, deadline, race=not search.looks_ahead)
