"""The player `pimc`: perfect information Monte Carlo search (paper 003).

Each world the role may be in is solved as if everybody knew it, and the move with the best mean
over the worlds is made. Such values tie very often, and then promptness is the wrong guide: to a
clairvoyant every road to the goal is as good as any other. HyperPlay values break these ties.

Worlds that are too large to solve are searched as far as time allows and then played out
(`search=layers`), or searched by a tree each (`search=trees`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np

from ggp.belief import Bags
from ggp.errors import ConfigError, GGPError
from ggp.machine.base import IntArray
from ggp.players.options.option_fields import choice, whole
from ggp.players.parts.search_player import SearchOptions, SearchPlayer
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline, part_of
from ggp.search.estimates import Estimates, Ties, equally_best
from ggp.search.parts import CLAIRVOYANT, TREES
from ggp.search.playouts import PlayoutSearch
from ggp.search.worlds.layers import PLAYOUTS, CostLimit, CountLimit, Limit
from ggp.search.worlds.world_search import WorldSearch, WorldTrees, WorldTreeSearch

DEFAULT_STEPS = 100_000

DEFAULT_TRIALS = 20_000

QUICK_SHARE = 0.15
"""Share of the time or states that is spent on HyperPlay values: they break ties, and decide if
there is not enough for more."""

HYPERPLAY_PLAYOUTS = 4096
"""Playouts of each candidate for its HyperPlay value, without a clock or a budget of states."""


SOLVE_SHARE = 0.2
"""Share of the time or states in which worlds must be solved before trees are used instead."""


class Looks(StrEnum):
    """Search of worlds that are too large to solve."""

    LAYERS = "layers"
    TREES = "trees"


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
    search: Looks = choice(
        Looks.LAYERS,
        "search of worlds too large to be solved: layers (turns, then playouts), or trees (UCT)",
        tuple(Looks),
    )
    trials: int = whole(
        DEFAULT_TRIALS, "walks down the trees for a decision, without a clock, with search=trees"
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
    KINDS = frozenset({CLAIRVOYANT, TREES})
    options: PimcOptions

    def __init__(self, options: PimcOptions, context: Context) -> None:
        super().__init__(options, context)
        self._hyperplay: Estimates | None = None
        self._trees: tuple[WorldTrees, int] | None = None  # and the turn in which they grew
        if options.search is Looks.TREES:
            WorldTrees(self.machine).load_kernels()

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
            # Worlds that cannot be solved, or not in time: HyperPlay values decide.
            estimates = self._hyperplay or self.values_of(self.search(bag, None), None)
        elif self._hyperplay is None and self.options.ties is Ties.HYPERPLAY:
            self._hyperplay = self._of_some(bag, equally_best(estimates.values))
        return self.best(estimates)

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        self._hyperplay = None
        return super().rescue(bag, deadline)

    def best(self, estimates: Estimates) -> Choice:
        found = super().best(estimates)
        tied = self._tied(estimates)
        if len(tied) > 1:
            texts = map(self.machine.move_text, estimates.moves.values[tied].tolist())
            self.probabilities = dict.fromkeys(texts, 1 / len(tied))
        return found

    def chosen(self, estimates: Estimates, rng: np.random.Generator) -> int:
        tied = self._tied(estimates)
        return int(estimates.moves.values[tied[int(rng.integers(len(tied)))]])

    def _tied(self, estimates: Estimates) -> IntArray:
        """Indices of the moves among which the lot decides."""
        tried = np.flatnonzero(estimates.visits)
        if not len(tried):
            return np.arange(len(estimates.values))
        tied = tried[equally_best(estimates.values[tried])]
        others = self._hyperplay
        if self.options.ties is Ties.RANDOM or others is None or not others.visits[tied].all():
            return tied
        return tied[equally_best(others.values[tied])]

    def _cost_limit(self, bag: Bags, deadline: Deadline | None) -> CostLimit:
        """The limit for searching worlds, set from the costs of the HyperPlay values before."""
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
            (SOLVE_SHARE if self._grows else 1.0) * (budget - took),
            joint_cost=took / max(self._visited() - visited, 1),
            playout_cost=took / max(int(self._hyperplay.visits.sum()), 1),
        )

    def _of_some(self, bag: Bags, places: IntArray) -> Estimates:
        """HyperPlay values of some candidates; a single candidate needs none."""
        search = self.search(bag, None)
        if len(places) > 1:
            search.round(HYPERPLAY_PLAYOUTS, places)
        return search.estimates()

    def _visited(self) -> float:
        return float(self.machine.states_visited)

    @property
    def _grows(self) -> bool:
        """Whether worlds are searched by trees."""
        return self.options.search is Looks.TREES

    def _clairvoyant(self, bag: Bags, limit: Limit, deadline: Deadline | None) -> Estimates:
        early = deadline
        if deadline is not None and self._grows:
            early = deadline.part(SOLVE_SHARE)
        search = WorldSearch(
            self.machine, bag, self.rng, limit, early, most_worlds=self.options.worlds
        )
        if search.solved:
            return search.estimates()
        if self._grows:
            return self._by_trees(bag, deadline)
        if deadline is None and not self.options.states:
            search.round(PLAYOUTS if search.looks_ahead else HYPERPLAY_PLAYOUTS)
            return search.estimates()
        # A best answer looks better the fewer its playouts: all moves get the same number.
        return self.values_of(search, deadline, race=not search.looks_ahead)

    def think_on(self, bag: Bags, deadline: Deadline, submitted: int | None) -> None:
        """See `ThinksOn`: trees grow, if it has some."""
        if self._grows and not self.options.states:
            self._tree_search(bag, deadline, submitted).wait(deadline)

    def _tree_search(
        self, bag: Bags, deadline: Deadline | None, submitted: int | None = None
    ) -> WorldTreeSearch:
        """A search that goes on with the trees of the turns before, if there is a clock."""
        trees, before = self._trees or (WorldTrees(self.machine), self.turn)
        self._trees = None if deadline is None else (trees, self.turn)
        return WorldTreeSearch(
            self.machine,
            bag,
            self.rng,
            deadline,
            self.options.worlds,
            (trees, self.turn - before),
            submitted,
        )

    def _by_trees(self, bag: Bags, deadline: Deadline | None) -> Estimates:
        search = self._tree_search(bag, deadline)
        self.send(search, self.options.trials, deadline, partial(self._report, 1))
        return search.estimates()
