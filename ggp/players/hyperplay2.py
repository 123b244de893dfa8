"""The player `hyperplay2` (paper 004, Definitions 8 and 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags, FollowsPaths, HyperPlaySampler, never
from ggp.errors import GGPError
from ggp.machine.base import FloatArray
from ggp.machine.on_circuit import on_circuit
from ggp.players.options.option_fields import whole
from ggp.players.parts.search_player import SearchOptions, SearchPlayer
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import candidates
from ggp.search.parts import INFORMED, SIMULATIONS
from ggp.search.playouts import HyperPlayPolicy, PlayoutSearch
from ggp.search.simulations import (
    MAX_SIMULATIONS,
    Observer,
    SimulationSearch,
    Simulator,
    combine,
)
from ggp.search.sure_wins import mean_at_once

QUICK_SHARE = 0.15
"""Share of the time that is spent on HyperPlay values, in case there is no time for more."""

ENDS_SHARE = 0.25
"""Most of the time that is spent on counting what moves are worth that end the match at once."""

TURN_SHARE = 0.05
"""Share of the available time that a step of all simulations side by side may take."""

NESTED_ATTEMPTS = 5_000
"""Lanes stepped in search of particles for one bag of a simulated role."""


GROW_FROM = 256
"""Simulations of each candidate after which the simulated roles make more playouts."""

MOST_GROWTH = 16
"""Most times by which the playouts of simulated roles are multiplied."""


def growth(visits: int) -> int:
    """Factor for the playouts of simulated roles after `visits` simulations.

    It doubles whenever simulations have quadrupled: the errors of their values then fall as fast
    as those of the values that simulated roles move by.

    Args:
        visits: simulations of each candidate so far.
    """
    if visits < GROW_FROM:
        return 1
    return int(min(2 << ((visits // GROW_FROM).bit_length() - 1) // 2, MOST_GROWTH))


@dataclass(frozen=True)
class HyperPlay2Options(SearchOptions):
    """Options of `hyperplay2`."""

    n: int = whole(4, "resource index: n particles, n^2 simulations a candidate", high=100)


class HyperPlay2(SearchPlayer):
    """The move with the best mean score in simulations where each role acts on what it knows."""

    Options = HyperPlay2Options
    SOURCE = "Schofield & Thielscher (AAAI 2015), Definitions 8 and 9"
    KINDS = frozenset({INFORMED, SIMULATIONS})
    options: HyperPlay2Options
    keep_views = True

    def __init__(self, options: HyperPlay2Options, context: Context) -> None:
        super().__init__(options, context)
        self._nested = HyperPlaySampler(
            self.machine,
            self.tracker.tree,
            capacity=options.n,
            exact=options.exact,
            keep_views=self.path_model is not None,
            max_attempts=NESTED_ATTEMPTS,
            model=self.model,
        )

    @property
    def capacity(self) -> int:
        return self.options.n

    @property
    def trials(self) -> int:
        return self.options.n**2

    def simulated(self) -> tuple[FollowsPaths, ...]:
        return (*super().simulated(), self._nested)

    def search(
        self, bag: Bags, deadline: Deadline | None, most: int = MAX_SIMULATIONS
    ) -> SimulationSearch:
        self._nested.stop = deadline.passed if deadline is not None else never
        policy = HyperPlayPolicy(self.machine, self.options.n**2, deadline)
        # With fewer than n simulations of a candidate, `decide` goes by HyperPlay values. Side by
        # side they take little longer than one; where lanes take time, they might end too late.
        first = 1
        if deadline is not None and on_circuit(self.machine):
            lanes = self.options.n * len(candidates(self.machine, bag).values)
            first = self.options.n if lanes <= self.machine.side_by_side else 1

        def grow(visits: int) -> None:
            wanted = self.options.n**2 * growth(visits)
            policy.playouts = max(policy.playouts, wanted)

        return SimulationSearch(
            Simulator(self.machine, self._nested, policy, deadline, self.model),
            bag,
            self.rng,
            max_lanes=most,
            before_round=grow if deadline is not None else None,
            first=first,
        )

    def play_on(
        self,
        entry: int,
        move: int,
        rng: np.random.Generator,
        told: Observer,
        deadline: Deadline,
    ) -> float:
        """The goal value of one simulation after a move, played as `search` does without a clock.

        Args:
            entry: the particle, as an index into the states of its bag's set.
            rng: for all draws.
            told: receives each joint move.
            deadline: ends the search for particles of simulated roles; `told` must take care of the
                rest. Nothing else depends on time.
        """
        search = self.search(self.tracker.bag, None)
        self._nested.stop = deadline.passed
        return search.play_on(entry, move, rng, told)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        if deadline is None:
            return super().decide(bag, None)
        # A few simulations of each candidate may take longer than the available time; HyperPlay
        # values are then better than none. Later they count as far as both kinds of values agree.
        ends = self._ends(bag, deadline.part(ENDS_SHARE))
        early = deadline.part(QUICK_SHARE)
        began_s, visited = deadline.clock(), self.machine.states_visited
        playouts = PlayoutSearch(self.machine, bag, self.rng, early, model=self.model)
        quick = self.values_of(playouts, early, QUICK_SHARE)
        took_s = max(deadline.clock() - began_s, 1e-3)
        states_a_second = (self.machine.states_visited - visited) / took_s
        at_once = max(1, int(TURN_SHARE * deadline.left_s() * states_a_second))
        enough = self.options.n
        estimates = self.values_of(self.search(bag, deadline, at_once), deadline, enough=enough)
        least, most = (np.where(np.isnan(ends), end, ends) for end in (-np.inf, np.inf))
        estimates, quick = (
            each.within(least, most, exact=bool(bag.exact[0])) for each in (estimates, quick)
        )
        if estimates.visits.min() < enough:
            return self.best(quick)
        return self.best(combine(estimates, quick, self.machine.goal_range))

    def _ends(self, bag: Bags, deadline: Deadline) -> FloatArray:
        """`[C]` values of the candidates that end the match at once, NaN for the others."""
        moves = candidates(self.machine, bag).values
        try:
            return mean_at_once(self.machine, bag, moves, self.model, deadline)
        except GGPError as error:  # the search is all that is known
            self._warn(error)
        except OutOfTime:
            pass
        return np.full(len(moves), np.nan)
