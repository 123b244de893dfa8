"""The player `hyperplay2`: the best move by simulations in which every role has its own belief.

Each simulation starts from a particle of the bag; in every turn each role chooses by HyperPlay
values over a bag of its own incomplete path (paper 004, Definitions 8 and 9).
"""

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
"""Share of the time for HyperPlay values, in case there is no time for simulations."""

ENDS_SHARE = 0.25
"""Most share of the time for the exact values of moves that end the match immediately."""

TURN_SHARE = 0.05
"""Most share of the available time for one turn of all simulations side by side."""

NESTED_ATTEMPTS = 5_000
"""Most lanes stepped in search of particles for one bag of a simulated role."""


GROW_FROM = 256
"""Number of simulations of each candidate after which the simulated roles make more playouts."""

MAX_GROWTH = 16
"""Greatest factor for the playouts of simulated roles."""


def growth(visits: int) -> int:
    """Factor for the playouts of simulated roles after `visits` simulations.

    It doubles whenever the number of simulations quadruples: so errors fall equally fast in the
    values of simulations and in the values by which simulated roles move.

    Args:
        visits: simulations of each candidate so far.
    """
    if visits < GROW_FROM:
        return 1
    return int(min(2 << ((visits // GROW_FROM).bit_length() - 1) // 2, MAX_GROWTH))


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
        # With fewer than n simulations of a candidate, `decide` uses HyperPlay values. Side by
        # side, n take little longer than one; but if lanes are slow, they might end too late.
        first = 1
        if deadline is not None and on_circuit(self.machine):
            lanes = self.options.n * len(candidates(self.machine, bag).values)
            first = self.options.n if lanes <= self.machine.side_by_side else 1

        def grow(visits: int) -> None:
            playouts = self.options.n**2 * growth(visits)
            policy.playouts = max(policy.playouts, playouts)

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
        observer: Observer,
        deadline: Deadline,
    ) -> float:
        """The goal value of one simulation after a move, as in `search` without a clock.

        Args:
            entry: index of the particle in the states of its bag's set.
            rng: for all draws.
            observer: receives each joint move.
            deadline: ends the search for particles of simulated roles; `observer` must stop the
                rest. Nothing else depends on time.
        """
        search = self.search(self.tracker.bag, None)
        self._nested.stop = deadline.passed
        return search.play_on(entry, move, rng, observer)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        if deadline is None:
            return super().decide(bag, None)
        # Without time for a few simulations of each candidate, HyperPlay values decide. Otherwise
        # they are combined with the simulations, as far as both kinds of values agree.
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
        lower, upper = (np.where(np.isnan(ends), end, ends) for end in (-np.inf, np.inf))
        estimates, quick = (
            values.within(lower, upper, exact=bool(bag.exact[0])) for values in (estimates, quick)
        )
        if estimates.visits.min() < enough:
            return self.best(quick)
        return self.best(combine(estimates, quick, self.machine.goal_range))

    def _ends(self, bag: Bags, deadline: Deadline) -> FloatArray:
        """`[C]` values of candidates that end the match immediately, NaN for the others."""
        moves = candidates(self.machine, bag).values
        try:
            return mean_at_once(self.machine, bag, moves, self.model, deadline)
        except GGPError as error:  # the search must do
            self._warn(error)
        except OutOfTime:
            pass
        return np.full(len(moves), np.nan)
