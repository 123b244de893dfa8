"""HyperPlay-II values: incomplete-information simulations (paper 004, Definitions 8 and 9).

A playout continues as if everybody saw everything, so it cannot value information. In a simulation
every role has its own bag, made from its own incomplete path along a particle. `SimulationSearch`
gives a player the values of its candidates.

The exploding bomb: red or blue is armed, unseen. The right wire wins 100, or 90 if we asked.

    particle   move   our percepts  simulated bag       we cut    value
    red        ask    red           red                 red       90
    red        wait   nothing       red, blue           either    50 on average

and likewise for the particle blue: asking is worth 90, waiting 50. Random playouts give 45 and 50,
because they cut at random whatever the percepts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ggp.belief import DRAWN, UNIFORM, Bags, MoveModel, PathModel, Sampler
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, States, player_roles
from ggp.machine.forks import shared
from ggp.search.anytime import Deadline, OutOfTime, check
from ggp.search.estimates import Estimates, Policy, Results, Tally, candidates, plan_round
from ggp.search.moves import drawn_places, executed_moves, random_moves

MAX_SIMULATIONS = 2048
"""Greatest number of simulations side by side: bounds memory."""

MAX_TURNS = 1000
"""Turns after which a simulation is cut off; it then counts as the middle of the goal range."""

Observer = Callable[[IntArray, IntArray], None]
"""Receives, each turn, the lanes that are still played, `[L]`, and their joint moves, `[L, R]`."""


class SimulationSearch:
    """HyperPlay-II values of the candidates of one bag, improved round by round.

    The value of a move is the weighted mean, over the particles, of simulations after that move
    and random moves of the others. In a simulation every role except `random` has its own bag, made
    from its own incomplete path along the particle, and moves by its policy.

    Args:
        bags: one bag whose entries have views.
        max_lanes: greatest number of simulations side by side, up to `MAX_SIMULATIONS`; fewer take
            less time a turn.
        before_round: called with the least number of simulations of any candidate of a round, so
            that it can improve the policy.
        first: simulations of each candidate in the first round against a clock. A small round costs
            nearly as much as a large one, so begin with the least useful number.

    Attributes:
        tally: of all simulations so far.
    """

    def __init__(
        self,
        simulator: Simulator,
        bags: Bags,
        rng: np.random.Generator,
        *,
        max_lanes: int = MAX_SIMULATIONS,
        before_round: Callable[[int], None] | None = None,
        first: int = 1,
    ) -> None:
        if bags.sets.views is None:
            raise ValueError("incomplete-information simulations need the entries' views")
        self._simulator, self._bags, self._rng = simulator, bags, rng
        self._views = bags.sets.views
        self.moves = candidates(simulator.machine, bags)
        self.tally = Tally(len(self.moves.values))
        self.side_by_side = first * len(self.moves.values)
        self._max_lanes = min(max_lanes, MAX_SIMULATIONS)
        self._before_round = before_round

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Make `count` more simulations of every candidate, or of a subset.

        Raises:
            OutOfTime: time was too short; only candidates with all their simulations count.
        """
        if self._before_round is not None:
            self._before_round(self.tally.least_visits(subset))
        trials = plan_round(self._bags, self.moves, count, self._rng, subset)
        results = Results(trials, sum(self._simulator.machine.goal_range) / 2)
        bounds = self._bounds(len(trials))
        rngs = self._rngs(len(bounds) - 1)

        def play(piece: int) -> tuple[FloatArray, IntArray] | None:
            strata, repeats = trials.part(bounds[piece], bounds[piece + 1])
            lanes = np.repeat(trials.lanes[strata], repeats)
            moves = np.repeat(trials.moves[strata], repeats)
            states, views = self._bags.sets.states.take(lanes), self._views[lanes]
            try:
                return self._simulator.run(states, views, self._bags.role, moves, rngs[piece])
            except OutOfTime:
                return None

        # With a deadline other processes run their own rounds, see `run_search`.
        machine = self._simulator.machine if self._simulator.deadline is None else None
        try:
            outcomes = shared(machine, play, len(rngs))
            for start, outcome in zip(bounds, outcomes, strict=False):
                if outcome is not None:
                    results.add(start, *outcome)
        finally:
            self.tally.add(results, count, exact=bool(self._bags.exact.all()))
        if None in outcomes:
            raise OutOfTime

    def _bounds(self, num: int) -> list[int]:
        """Bounds of pieces of about equal size."""
        pieces = -(-num // self._max_lanes)
        return [num * piece // max(pieces, 1) for piece in range(pieces + 1)]

    def _rngs(self, pieces: int) -> list[np.random.Generator]:
        """The random stream of each piece, independent of the process that plays it."""
        if pieces == 1:
            return [self._rng]
        return [np.random.default_rng(key) for key in self.keys(pieces)]

    def estimates(self) -> Estimates:
        """The values so far."""
        return self.tally.estimates(self.moves)

    def keys(self, num: int) -> list[int]:
        return [int(key) for key in self._rng.integers(1 << 63, size=num)]

    def begin_apart(self, key: int) -> None:
        self._rng = np.random.default_rng(key)
        self.tally = Tally(len(self.moves.values))

    def play_on(self, entry: int, move: int, rng: np.random.Generator, observer: Observer) -> float:
        """The goal value of one more simulation after a move, which no estimate includes.

        Args:
            entry: the particle, as an index into the states of the bag's set.
            rng: for all draws.
            observer: receives each joint move.
        """
        lane = np.array([entry])
        goals, _ = self._simulator.run(
            self._bags.sets.states.take(lane),
            self._views[lane],
            self._bags.role,
            np.array([move]),
            rng,
            observer,
        )
        return float(goals[0])


class Simulator:
    """Plays games on from particles as if these were true states; each role sees only its own path.

    Args:
        belief: makes the bags of the simulated roles.
        policy: chooses the moves of the simulated roles.
        deadline: checked between the turns of simulations.
        model: draws the others' first moves; a `PathModel` also draws their later moves as often as
            its trust says, and `policy` chooses the rest.
    """

    def __init__(
        self,
        machine: Machine,
        belief: Sampler,
        policy: Policy,
        deadline: Deadline | None = None,
        model: MoveModel = UNIFORM,
    ) -> None:
        self.machine, self.deadline = machine, deadline
        self._belief, self._policy, self._model = belief, policy, model
        self._players = player_roles(machine)

    def run(
        self,
        states: States,
        views: IntArray,
        role: int,
        moves: IntArray,
        rng: np.random.Generator,
        observer: Observer | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """One simulation from each lane: `[L]` goal values of `role`, `[L]` turns to the end.

        Args:
            states: L particles.
            views: `[L, R]` incomplete path of each role along each particle.
            role: the role whose move is evaluated.
            moves: `[L]` its move; the others' first moves are random.
            observer: receives each turn, for onlookers.
        """
        machine = self.machine
        submitted = {role: moves}
        for j in self._players:
            if j != role:
                # Random by the definition of the value; from the next turn on the others search.
                submitted[j] = random_moves(machine, states, j, rng, self._model, views[:, j])
        goals = np.full(len(states), sum(machine.goal_range) / 2)
        turns = np.full(len(states), MAX_TURNS)
        lanes = np.arange(len(states))
        bags: dict[int, Bags] = {}
        for turn in range(MAX_TURNS):
            check(self.deadline)
            joint_moves, refused = self._execute(states, submitted, rng)
            if observer is not None:
                observer(lanes, joint_moves)
            states, percepts = machine.step(states, joint_moves)
            over = machine.terminal(states)
            if over.any():
                ended = np.flatnonzero(over)
                goals[lanes[ended]] = machine.goals(states.take(ended))[:, role]
                turns[lanes[ended]] = turn + 1
                # Finished lanes are dropped, so that late turns are cheap.
                open_ = np.flatnonzero(~over)
                states, lanes, views = states.take(open_), lanes[open_], views[open_]
                joint_moves, percepts, refused = joint_moves[open_], percepts[open_], refused[open_]
                bags = {j: bag.select(open_) for j, bag in bags.items()}
            if not len(lanes):
                break
            for j in self._players:
                check(self.deadline)
                observation = joint_moves[:, j], percepts[:, j]
                # The first bags are made from whole paths, later ones from the last turn's bags.
                if turn:
                    bags[j] = self._belief.advance(bags[j], *observation, rng, refused[:, j])
                else:
                    paths = self._belief.tree.extend(views[:, j], *observation, refused[:, j])
                    bags[j] = self._belief.at(paths, j, rng)
                check(self.deadline)  # listing candidates takes as long as a turn of belief
                submitted[j] = self._decide(bags[j], rng)
                if j != role and isinstance(self._model, PathModel):
                    paths = bags[j].paths
                    submitted[j] = self._blend(self._model, j, states, paths, submitted[j], rng)
        return goals, turns

    def _blend(
        self,
        model: PathModel,
        role: int,
        states: States,
        paths: IntArray,
        moves: IntArray,
        rng: np.random.Generator,
    ) -> IntArray:
        """`[L]` moves of a role, where the model draws a share of them: its trust."""
        lists = self.machine.legal(states, role, allow_stuck=True)
        shares, trust = model.shares(role, paths, lists)
        by_model = np.flatnonzero((rng.random(len(paths)) < trust) & (lists.counts > 0))
        positions = drawn_places(lists, np.cumsum(shares), by_model, rng.random(len(by_model)))
        moves = moves.copy()
        moves[by_model] = lists.values[lists.offsets[by_model] + positions]
        return moves

    def _execute(
        self, states: States, submitted: dict[int, IntArray], rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """`[L, R]` executed moves, and `[L, R]` refused moves; `DRAWN` if none was submitted."""
        machine = self.machine
        executed = np.zeros((len(states), len(machine.roles)), dtype=np.int64)
        refused = np.full_like(executed, UNKNOWN)
        for j in range(len(machine.roles)):
            if j == machine.random_role:
                executed[:, j] = random_moves(machine, states, j, rng)
                continue
            moves = submitted[j]
            executed[:, j], legal = executed_moves(machine, states, j, moves, rng)
            refused[~legal, j] = np.where(moves == UNKNOWN, DRAWN, moves)[~legal]
        return executed, refused

    def _decide(self, bags: Bags, rng: np.random.Generator) -> IntArray:
        """`[L]` moves by the policy; `UNKNOWN` without particles, for a random move."""
        sound = np.flatnonzero(~bags.depleted)
        if len(sound) == len(bags):
            return self._policy(bags, rng)
        moves = np.full(len(bags), UNKNOWN, dtype=np.int64)
        if len(sound):
            moves[sound] = self._policy(bags.select(sound), rng)
        return moves


# ------------------------------------------------------------------------
# Two kinds of values of the same candidates, combined by how well they agree.
#
# HyperPlay values are precise, but biased wherever knowing or hiding something matters. Simulations
# have no such bias, but are costly, so their values are noisy. How far the precise values can be
# trusted differs from decision to decision. The differences over the candidates show it:
#
# precise     noisy          differences, less their mean     so
#     52 55 61    40 71 63 ±15   -10 18 0: no more than noise     precise values decide
#     50 45       50 90 ±1       -20 20: far more than noise      noisy values decide
#
# Both kinds are tried on the same entries of the bag, so the choice of entries blurs no difference.
#
# This is a random-effects meta-analysis. A difference that all candidates share is no reason to
# trust either method less: say, simulated opponents are better than random ones, and all values
# are lower. So playouts are compared after a shift: each moves by the same share s of its distance
# to the end of the goal range that simulations are nearer to. The noisy value of candidate c is
# shifted_c + u_c, plus an error of known variance v_c; u_c is the difference of the methods, with
# variance t^2, and shifted_c has an error of its own, of variance p_c. Given t^2 a value is the
# posterior mean, shifted_c + w_c (noisy_c - shifted_c) with w_c = (t^2 + p_c) / (t^2 + p_c + v_c):
# a mean of two values in the goal range, so that none leaves it. Its variance is w_c v_c, plus (1 -
# w_c)^2 times that of the shift. Mistaking a bias for noise is worse than the reverse, so t^2 is
# not the best guess, but the upper end of a one-sided interval of 75 %, by the Q-profile method
# (Viechtbauer 2007, Statistics in Medicine 26): the t^2 for which the weighted sum of squared
# differences is the lower quartile of its distribution, chi-squared with one degree of freedom less
# than there are candidates.

LOWER_QUARTILE = -0.6745
"""Lower quartile of the standard normal distribution."""

_HALVINGS = 60
_TINY = 1e-12


def combine(noisy: Estimates, precise: Estimates, goal_range: tuple[float, float]) -> Estimates:
    """The noisy estimates of one bag, shrunk towards the precise ones by how well both agree.

    Visits and promptness are the noisy ones. Exact values do not change and have no influence.

    Args:
        noisy: of all candidates.
        precise: of the same candidates; ignored unless all have been tried.
    """
    exact = np.zeros(len(noisy.values), dtype=np.bool_) if noisy.exact is None else noisy.exact
    inexact = np.flatnonzero(~exact)
    if len(inexact) < 2 or not precise.visits.all() or not noisy.visits.all():
        return noisy
    noise, error = (each.cautious_errors(goal_range)[inexact] ** 2 for each in (noisy, precise))
    values, precise_values = noisy.values[inexact], precise.values[inexact]
    differences, variances = values - precise_values, noise + error
    distances = _distances(differences, variances, precise_values, goal_range)
    between = between_variance(differences, variances, distances)
    weights = 1 / (variances + between)
    shifted_values = precise_values + _share(differences, weights, distances) * distances
    trust = (between + error) * weights
    error_of_shift = distances**2 / max(float(np.sum(weights * distances**2)), _TINY)
    # Both kinds share the error from the choice of entries. Only the rest shrinks: the error of
    # trials, which is at most that of trials that win or lose.
    total_squares = np.nan_to_num(noisy.stderrs[inexact]) ** 2
    of_trials = np.minimum(total_squares, (np.ptp(goal_range) / 2) ** 2 / noisy.visits[inexact])
    squares = total_squares - (1 - trust) * of_trials + (1 - trust) ** 2 * error_of_shift
    means, errors = noisy.values.copy(), noisy.stderrs.copy()
    means[inexact] = trust * values + (1 - trust) * shifted_values
    errors[inexact] = np.sqrt(squares)
    return replace(noisy, values=means, stderrs=errors)


def _distances(
    differences: FloatArray,
    variances: FloatArray,
    values: FloatArray,
    goal_range: tuple[float, float],
) -> FloatArray:
    """`[C]` distance of values to the end of the goal range that the noisy values are nearer to."""
    is_higher = np.average(differences, weights=1 / variances) > 0
    return goal_range[int(is_higher)] - values


def _share(differences: FloatArray, weights: FloatArray, distances: FloatArray) -> float:
    """The share of their distances, from 0 to 1, that explains differences best (least squares)."""
    whole = float(np.sum(weights * distances**2))
    return float(np.clip(np.sum(weights * distances * differences) / whole, 0, 1)) if whole else 0.0


def between_variance(differences: FloatArray, variances: FloatArray, shifts: FloatArray) -> float:
    """The largest variance between two methods that is consistent with their differences (75 %).

    Args:
        differences: `[C]` of the values of C candidates, C > 1.
        variances: `[C]` variances of the differences from noise alone; above 0.
        shifts: `[C]` greatest shifts of one method's values; all are shifted by the same share.
    """
    freedom = len(differences) - 1
    # The quantile of chi-squared by Wilson and Hilferty's approximation.
    cube = 2 / (9 * freedom)
    bound = freedom * float(1 - cube + LOWER_QUARTILE * cube**0.5) ** 3

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        residuals = differences - _share(differences, weights, shifts) * shifts
        return float(np.sum(weights * residuals**2)) - bound

    low, high = 0.0, float(np.sum(differences**2)) / bound
    if excess(low) <= 0:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
