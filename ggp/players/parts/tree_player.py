"""The base class of players that search trees over incomplete paths.

It gets the bag of a decision, sends lanes from its particles down one tree for each role, and
returns the best move. The trees are kept from turn to turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ggp.belief import Bags, FollowsPaths, HyperPlaySampler
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.players.options.option_fields import whole
from ggp.players.parts.search_player import SearchOptions, SearchPlayer
from ggp.players.parts.tracker import BeliefWatch
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline, part_of
from ggp.search.estimates import Estimates, Ties, best_moves
from ggp.search.parts import JointEvaluation
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.tree_search import LANES_A_PATH, Elsewhere, TreeSearch
from ggp.search.trees.tree_tables import KEEP, MAX_WORLDS, LaneSettings

NESTED_ATTEMPTS = 5_000
"""Most lanes stepped in search of particles for one bag of another role."""

OTHERS_SHARE = 0.2
"""Share of the time for the bags of other roles."""

BOUNDS_SHARE = 0.2
"""Share of the remaining time for `bounds`."""

PROLOG_WORLDS = 50_000
"""Most worlds on Prolog, whose states take far more memory than a few words each."""

TIMED_PARTICLES, FOLLOWING_SHARE = 8_000, 0.6
"""Most particles of a bag with a clock, and the share of time for advancing them: more than in
players that simulate roles, because walks use every particle, and small bags die in long games."""

RESCUE_TRIALS = 1_000
"""Playouts of each candidate when no particle is left."""


@dataclass(frozen=True)
class TreeOptions(SearchOptions):
    """Options of players that search with trees."""

    trials: int = whole(20_000, "walks down the tree for a decision, without a clock")
    particles: int = whole(200, "particles in a bag that is sampled")
    exploration: int = whole(40, "in hundredths: the bonus of moves that were rarely tried", low=0)
    outside: int = whole(
        50, "percent of walks from states that others think possible", low=0, high=95
    )
    worlds: int = whole(MAX_WORLDS, "joint paths remembered in a decision: bounds memory")


@dataclass(frozen=True)
class GuidedOptions(TreeOptions):
    """Options of players whose trees may be guided by the values of moves in playouts."""

    guided: int = whole(
        1,
        "1: values of moves guide walks and playouts, on circuits; 0: off",
        low=0,
        high=1,
    )
    sure: int = whole(
        50_000, "joint moves looked at for a sure win, without a clock; 0: none", low=0
    )


class TreePlayer(SearchPlayer):
    """A player with a tree for each role, kept from turn to turn."""

    options: TreeOptions
    keep_views = True

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        worlds = self.options.worlds
        if self.machine.backend == "prolog":
            worlds = min(worlds, PROLOG_WORLDS)
        settings = LaneSettings(self.options.exploration / 100, worlds, self.proves, self.guided)
        self._tree = PathsTree(self.machine, self.tracker.tree, settings, self.path_model)
        self._tree.load_kernels()
        self._nested = HyperPlaySampler(
            self.machine,
            self.tracker.tree,
            capacity=LANES_A_PATH,
            exact=self.options.exact,
            keep_views=True,
            max_attempts=NESTED_ATTEMPTS,
            model=self.model,
        )
        self._watch = BeliefWatch(self.machine)
        self._nested.stop, self._nested.lanes_at_once = self._watch.is_over, self._watch.lanes

    @property
    def evaluation(self) -> JointEvaluation | None:
        """Values leaves; None for playouts."""
        return self._tree.leaves.evaluation

    @evaluation.setter
    def evaluation(self, evaluation: JointEvaluation | None) -> None:
        self._tree.leaves.evaluation = evaluation

    @property
    def capacity(self) -> int:
        return self.options.particles

    timed_particles, room_share = TIMED_PARTICLES, FOLLOWING_SHARE

    @property
    def trials(self) -> int:
        return RESCUE_TRIALS

    def simulated(self) -> tuple[FollowsPaths, ...]:
        return (*super().simulated(), self._tree, self._nested)

    def search(
        self, bag: Bags, deadline: Deadline | None, submitted: int | None = None
    ) -> TreeSearch:
        """A search of the candidates of one bag, or of the turns after a submitted move."""
        elsewhere = self.elsewhere(deadline)
        return TreeSearch(self._tree, bag, self.rng, deadline, elsewhere, submitted)

    def think_on(self, bag: Bags, deadline: Deadline, submitted: int | None) -> None:
        """See `ThinksOn`; not with a budget of states."""
        if not self.options.states:
            self.search(bag, deadline, submitted).wait(deadline)

    def elsewhere(self, deadline: Deadline | None) -> Elsewhere | None:
        """The start of lanes outside our particles; None if there are no such lanes."""
        self._watch.begin(part_of(deadline, OTHERS_SHARE))
        if not self.outside:
            return None
        return Elsewhere(self._nested, self.outside)

    @property
    def proves(self) -> bool:
        """Whether everybody knows the state, so that wins and losses can be proved."""
        return False

    @property
    def guided(self) -> bool:
        """Whether the values of moves in playouts guide walks and playouts."""
        return isinstance(self.options, GuidedOptions) and bool(self.options.guided)

    @property
    def outside(self) -> float:
        """Share of lanes that begin in states that others think possible."""
        return self.options.outside / 100

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        search = self.search(bag, deadline)
        # Bounds come first: the search takes all the remaining time.
        bounds = self.bounds(bag, search.moves.values, part_of(deadline, BOUNDS_SHARE))
        self.send(search, self.options.trials, deadline, self._report_values)
        return self.decided(bag, search, *bounds)

    def decided(self, bag: Bags, search: TreeSearch, low: FloatArray, high: FloatArray) -> Choice:
        """A move, from the estimates of a search and from bounds on the moves' values."""
        estimates, sure = search.estimates(), search.sure()
        if not estimates.visits.any():
            return self.safest(bag), self._values(estimates)  # there was no time for a wave
        sure |= low > estimates.values
        estimates = estimates.within(low, high, exact=bool(bag.exact[0]))
        return self._best(estimates, self.rng, sure), self._values(estimates)

    def bounds(
        self, bag: Bags, moves: IntArray, deadline: Deadline | None
    ) -> tuple[FloatArray, FloatArray]:
        """`[C]` lower and upper bounds on the values of moves, from knowledge besides the tree."""
        low, high = self.machine.goal_range
        return np.full(len(moves), low), np.full(len(moves), high)

    def best(self, estimates: Estimates) -> Choice:
        return self._best(estimates, self.rng), self._values(estimates)

    def _report_values(self, estimates: Estimates) -> None:
        """Report the values so far; draws nothing from the player's rng."""
        rng = np.random.default_rng(self.turn)
        self.report(self._best(estimates, rng), self._values(estimates))

    def _best(
        self, estimates: Estimates, rng: np.random.Generator, sure: BoolArray | None = None
    ) -> int:
        """The move of highest value with at least half the visits of the most visited move.

        A move with few visits may have been lucky; but equally good moves need not have equally
        many visits. Proved values count whatever the visits, and a proved win is always played.
        """
        low, high = self.machine.goal_range
        values = estimates.values
        if sure is None:
            sure = np.zeros(len(values), dtype=np.bool_)
        counts = sure | (2 * estimates.visits >= estimates.visits.max())
        if (wins := sure & (values >= high)).any():
            counts = wins
        if self.options.ties is Ties.PROMPT:
            values = values + (1 - KEEP) * estimates.promptness
        return int(best_moves(estimates.moves, np.where(counts, values, low - high - 1), rng)[0])
