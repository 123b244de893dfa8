"""The player `hyperplay2` (paper 004, Definitions 8 and 9)."""

from __future__ import annotations

from dataclasses import dataclass

from ggp.belief import Bags, HyperPlaySampler, Sampler, never
from ggp.players.belief_player import Choice
from ggp.players.option_fields import whole
from ggp.players.player import Context
from ggp.players.search_player import SearchOptions, SearchPlayer
from ggp.search.anytime import Deadline
from ggp.search.combined import combine
from ggp.search.playouts import PlayoutSearch, hyperplay_policy
from ggp.search.simulations import MAX_SIMULATIONS, SimulationSearch

QUICK_SHARE = 0.15
"""Share of the time that is spent on HyperPlay values, in case it can do no more."""

TURN_SHARE = 0.05
"""Share of the time there is that a step of all simulations side by side may take."""

NESTED_ATTEMPTS = 5_000
"""Lanes stepped in search of particles for one bag of a simulated role."""


@dataclass(frozen=True)
class HyperPlay2Options(SearchOptions):
    """Options of `hyperplay2`."""

    n: int = whole(4, "resource index: n particles, n^2 simulations a candidate", high=100)


class HyperPlay2(SearchPlayer):
    """The move with the best mean score in simulations where roles know what they would know."""

    Options = HyperPlay2Options
    SOURCE = "Schofield & Thielscher (AAAI 2015), Definitions 8 and 9"
    options: HyperPlay2Options
    keep_views = True

    def __init__(self, options: HyperPlay2Options, context: Context) -> None:
        super().__init__(options, context)
        self._nested = HyperPlaySampler(
            self.machine,
            self.tracker.tree,
            capacity=options.n,
            exact=options.exact,
            max_attempts=NESTED_ATTEMPTS,
        )

    @property
    def capacity(self) -> int:
        return self.options.n

    @property
    def trials(self) -> int:
        return self.options.n**2

    def simulated(self) -> tuple[Sampler, ...]:
        return (self._nested,)

    def search(
        self, bag: Bags, deadline: Deadline | None, most: int = MAX_SIMULATIONS
    ) -> SimulationSearch:
        self._nested.stop = deadline.passed if deadline is not None else never
        policy = hyperplay_policy(self.machine, self.options.n**2, deadline)
        return SimulationSearch(
            self.machine, bag, self._nested, policy, self.rng, deadline, most=most
        )

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        if deadline is None:
            return super().decide(bag, None)
        # A few simulations of each candidate may take longer than there is time; HyperPlay values
        # are then better than none. Later they count as far as both kinds of values agree.
        early = deadline.part(QUICK_SHARE)
        began_s, visited = deadline.clock(), self.machine.states_visited
        playouts = PlayoutSearch(self.machine, bag, self.rng, early)
        quick = self.values_of(playouts, early, QUICK_SHARE)
        took_s = max(deadline.clock() - began_s, 1e-3)
        states_a_second = (self.machine.states_visited - visited) / took_s
        most = max(1, int(TURN_SHARE * deadline.left_s() * states_a_second))
        enough = self.options.n
        estimates = self.values_of(self.search(bag, deadline, most), deadline, enough=enough)
        if estimates.visits.min() < enough:
            return self.best(quick)
        return self.best(combine(estimates, quick, self.machine.goal_range))
