"""The players: legal, random, hyperplay, hyperplay2."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ggp.belief import Bags, Belief, never
from ggp.errors import GGPError, MachineError
from ggp.machine.base import Machine
from ggp.players.base import Decision, MoveValue, Player
from ggp.players.spec import PlayerSpec
from ggp.players.tracker import Answer, Tracker
from ggp.search.anytime import Deadline, OutOfTime, run_search
from ggp.search.estimates import TIE_TOLERANCE, Estimates, candidates
from ggp.search.playouts import PlayoutSearch, hyperplay_policy
from ggp.search.simulations import SimulationSearch

_log = logging.getLogger(__name__)

QUICK_SHARE = 0.15
"""Share of the time that hyperplay2 spends on HyperPlay values, in case it can do no more."""

TURN_SHARE = 0.05
"""Share of the time there is that a step of all simulations side by side may take."""

OBSERVE_SHARE = 0.5
"""Share of the time that a player may spend on finding particles."""

NESTED_ATTEMPTS = 5_000
"""Lanes stepped in search of particles for one bag of a simulated role."""

BUDGET_SHARE = 0.5
"""Rounds take this share of the states that are left, as far as the round before tells."""

Choice = tuple[int, tuple[MoveValue, ...]]


def make_player(
    spec: PlayerSpec,
    machine: Machine,
    role: int,
    rng: np.random.Generator,
    clock: Callable[[], float] = time.monotonic,
    report: Callable[[Decision], None] | None = None,
) -> Player:
    """A player for one match.

    Args:
        spec: which player, with which resources.
        machine: its own; a machine shared with somebody who knows more than the player does
            changes none of its decisions, but makes `states_visited` count both.
        role: index of its role.
        rng: all its random choices.
        clock: measures `Decision.seconds`.
        report: told the best decision so far while one is being made: at once a candidate
            that is legal in most particles, by weight, then what each round of search says.
    """
    return BeliefPlayer(spec, machine, role, rng, clock, report)


class BeliefPlayer:
    """A player with a bag of particles; what it does with them is in `_STRATEGIES`."""

    def __init__(
        self,
        spec: PlayerSpec,
        machine: Machine,
        role: int,
        rng: np.random.Generator,
        clock: Callable[[], float],
        report: Callable[[Decision], None] | None = None,
    ) -> None:
        self.spec = spec
        self._machine = machine
        self._role = role
        self._rng = rng
        self._clock = clock
        self._report = report
        self._started_s = 0.0
        self._visited_before = machine.states_visited
        self._decided_at = machine.states_visited
        self._observed_s = 0.0
        self._turn = 0
        self._fault: str | None = None
        self._candidates: list[int] = []
        self._tracker = Tracker(
            machine,
            role,
            capacity=spec.particles,
            exact=spec.exact,
            keep_views=spec.name == "hyperplay2",
            max_attempts=spec.max_attempts,
            rng=rng,
        )

        self._nested = Belief(
            machine,
            self._tracker.tree,
            capacity=spec.nested_particles,
            exact=spec.exact,
            max_attempts=NESTED_ATTEMPTS,
        )

    @property
    def states_visited(self) -> int:
        return self._machine.states_visited - self._visited_before

    @property
    def tracker(self) -> Tracker:
        """The player's belief, for tests and for tools that show it."""
        return self._tracker

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        started = self._clock()
        self._turn += 1
        answer = Answer(submitted, in_time)
        try:
            try:
                self._tracker.observe(move, percepts, answer, _part(deadline, OBSERVE_SHARE))
            finally:
                self._tracker.prune(self._nested)
            self._fault = None
        except GGPError as error:
            self._warn(error)
            self._fault = str(error)
        self._observed_s += self._clock() - started

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        self._started_s = self._clock()
        fault = self._fault
        move: int | None = None
        values: tuple[MoveValue, ...] = ()
        if fault is None:
            try:
                known = candidates(self._machine, self._tracker.bag).values.tolist()
                if not known:
                    raise MachineError("the role has no legal move in any particle")
                self._candidates = known
                if len(known) == 1 and not value_forced:
                    move, values = known[0], self._unvalued(known)
                else:
                    if self._report is not None:
                        own = self._tracker.bag
                        self._report(self._decision(self._safest(own), self._unvalued(known), own))
                    move, values = _STRATEGIES[self.spec.name](self, deadline)
            except GGPError as error:
                self._warn(error)
                fault = str(error)
        bag = self._tracker.bag
        if move is None and (spare := self._spare_bag(deadline)) is not None:
            bag = spare
            try:
                move, values = self._rescue(bag, deadline)
                fault = f"{fault}; decided in {bag.sets.counts[0]} states found anew"
            except GGPError as error:
                self._warn(error)
        if move is None:
            move = self._fallback()
        decision = self._decision(move, values, bag, fault)
        self._decided_at = self._machine.states_visited
        self._observed_s = 0.0
        return decision

    def _warn(self, error: GGPError) -> None:
        _log.warning("%s as %s: %s", self.spec.text, self._machine.roles[self._role], error)

    def _decision(
        self, move: int, values: tuple[MoveValue, ...], bag: Bags, fault: str | None = None
    ) -> Decision:
        """What is decided by a bag, with what was spent on it so far."""
        return Decision(
            move=self._machine.move_text(move),
            values=tuple(sorted(values, key=lambda v: v.move)),
            particles=int(bag.sets.counts[bag.segment[0]]),
            exact=bool(bag.exact[0]) and self.spec.exact > 0,
            states_visited=self._machine.states_visited - self._decided_at,
            seconds=self._clock() - self._started_s + self._observed_s,
            fault=fault,
        )

    def _report_values(self, enough: int, estimates: Estimates) -> None:
        """Tell whoever wants to know the best move so far; draws nothing from the player's rng."""
        if self._report is not None and estimates.visits.min() >= enough:
            move = int(estimates.choose(np.random.default_rng(self._turn), self.spec.ties)[0])
            self._report(self._decision(move, self._values(estimates), self._tracker.bag))

    def _safest(self, bag: Bags) -> int:
        """The candidate that is legal in most particles, by weight; the first by text of several.

        There must be particles.
        """
        legal = self._machine.legal(bag.states_of(0), self._role, allow_stuck=True)
        weights = np.repeat(bag.weights_of(0), legal.counts)
        moves, place = np.unique(legal.values, return_inverse=True)
        likely = np.bincount(place, weights)
        best = moves[likely >= likely.max() * (1 - TIE_TOLERANCE)].tolist()
        return int(min(best, key=self._machine.move_text))

    # ---------------------------------------------------------------- strategies

    def _first_legal(self, deadline: Deadline | None) -> Choice:
        """The first of the candidates in order of their text."""
        moves = candidates(self._machine, self._tracker.bag).values.tolist()
        return min(moves, key=self._machine.move_text), self._unvalued(moves)

    def _random_legal(self, deadline: Deadline | None) -> Choice:
        """A random legal move of a random particle."""
        bag = self._tracker.bag
        moves = candidates(self._machine, bag).values.tolist()
        entry = int(self._rng.choice(len(bag.weights_of(0)), p=bag.weights_of(0)))
        legal = self._machine.legal(
            bag.states_of(0).take(np.array([entry])), self._role, allow_stuck=True
        ).values
        pick = legal[self._rng.integers(len(legal))] if len(legal) else moves[0]
        return int(pick), self._unvalued(moves)

    def _hyperplay(self, deadline: Deadline | None) -> Choice:
        search = PlayoutSearch(self._machine, self._tracker.bag, self._rng, deadline)
        return self._best(self._values_of(search, deadline))

    def _hyperplay2(self, deadline: Deadline | None) -> Choice:
        machine, bag = self._machine, self._tracker.bag
        self._nested.stop = deadline.passed if deadline is not None else never
        policy = hyperplay_policy(machine, self.spec.nested_playouts, deadline)
        simulations = partial(
            SimulationSearch, machine, bag, self._nested, policy, self._rng, deadline
        )
        if deadline is None:
            return self._best(self._values_of(simulations(), None))
        # A few simulations of each candidate may take longer than there is time; HyperPlay values
        # are then better than none.
        early = Deadline(deadline.at_s - (1 - QUICK_SHARE) * deadline.left_s(), deadline.clock)
        began_s, visited = deadline.clock(), machine.states_visited
        quick = self._values_of(PlayoutSearch(machine, bag, self._rng, early), early, QUICK_SHARE)
        took_s = max(deadline.clock() - began_s, 1e-3)
        turn_states = TURN_SHARE * deadline.left_s() * (machine.states_visited - visited) / took_s
        search = simulations(most=max(1, int(turn_states)))
        enough = self.spec.nested_particles
        estimates = self._values_of(search, deadline, enough=enough)
        return self._best(estimates if estimates.visits.min() >= enough else quick)

    def _values_of(
        self,
        search: PlayoutSearch | SimulationSearch,
        deadline: Deadline | None,
        share: float = 1.0,
        enough: int = 1,
    ) -> Estimates:
        """Values by count, by clock, or within a share of the budget of states.

        Args:
            enough: trials of each candidate from which on values are worth reporting.
        """
        report = None if self._report is None else partial(self._report_values, enough)
        budgets = self.spec.states
        if not budgets:
            return run_search(search, self.spec.trials, deadline, report)
        budget = share * budgets[min(self._turn, len(budgets) - 1)]
        left = budget - (self._machine.states_visited - self._decided_at)
        return spend_states(search, self._machine, left, deadline)

    def _best(self, estimates: Estimates) -> Choice:
        move = int(estimates.choose(self._rng, self.spec.ties)[0])
        return move, self._values(estimates)

    def _values(self, estimates: Estimates) -> tuple[MoveValue, ...]:
        return tuple(
            MoveValue(
                self._machine.move_text(int(m)), float(v), None if np.isnan(e) else float(e), int(n)
            )
            if n
            else MoveValue(self._machine.move_text(int(m)), None, None, 0)
            for m, v, e, n in zip(
                estimates.moves.values,
                estimates.values,
                estimates.stderrs,
                estimates.visits,
                strict=True,
            )
        )

    def _unvalued(self, moves: Sequence[int]) -> tuple[MoveValue, ...]:
        return tuple(MoveValue(self._machine.move_text(m), None, None, 0) for m in moves)

    def _spare_bag(self, deadline: Deadline | None) -> Bags | None:
        """Another bag that agrees with the path, where no particle was left."""
        if not self._tracker.bag.depleted[0]:
            return None
        try:
            bag = self._tracker.spare_bag(_part(deadline, OBSERVE_SHARE))
            known = [] if bag is None else candidates(self._machine, bag).values.tolist()
        except GGPError as error:
            self._warn(error)
            return None
        self._candidates = known or self._candidates
        return bag if known else None

    def _rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """A move by HyperPlay values; players that do not search take the safest one."""
        if not self.spec.trials:
            return self._safest(bag), ()
        search = PlayoutSearch(self._machine, bag, self._rng, deadline)
        return self._best(run_search(search, self.spec.trials, deadline))

    def _fallback(self) -> int:
        """A move legal in the last known particles, else the last candidates, else at the start.

        Raises:
            MachineError: no legal move of the role was ever known.
        """
        tracker = self._tracker
        try:
            moves = candidates(self._machine, tracker.last_known).values.tolist()
        except GGPError:
            moves = []
        moves = moves or self._candidates
        if not moves:
            moves = candidates(self._machine, tracker.belief.start(self._role)).values.tolist()
        if not moves:
            raise MachineError(f"no legal move of {self._machine.roles[self._role]} is known")
        return int(moves[self._rng.integers(len(moves))])


def _part(deadline: Deadline | None, share: float) -> Deadline | None:
    """An earlier deadline: this share of the time that is left."""
    if deadline is None:
        return None
    return Deadline(deadline.clock() + share * deadline.left_s(), deadline.clock)


def spend_states(
    search: PlayoutSearch | SimulationSearch,
    machine: Machine,
    budget: float,
    deadline: Deadline | None = None,
) -> Estimates:
    """Values of rounds over all candidates that together visit about `budget` states.

    Each candidate is tried at least once. Rounds become smaller towards the end, and none is
    begun that would, going by the one before, pass the budget. A trial counts as one state
    at least, so that there is an end where trials cost nothing any more.

    Args:
        machine: counts the states that the search visits.
        budget: what is left of it; may be negative.
        deadline: the one of the search, which ends it early.
    """
    size = 1
    while True:
        before = machine.states_visited
        try:
            search.round(size)
        except OutOfTime:
            break
        spent = max(machine.states_visited - before, size * len(search.moves.values))
        budget -= spent
        if budget * size < spent:
            break
        size = max(1, int(BUDGET_SHARE * budget * size / spent))
    return search.estimates()


_STRATEGIES: dict[str, Callable[[BeliefPlayer, Deadline | None], Choice]] = {
    "legal": BeliefPlayer._first_legal,
    "random": BeliefPlayer._random_legal,
    "hyperplay": BeliefPlayer._hyperplay,
    "hyperplay2": BeliefPlayer._hyperplay2,
}
