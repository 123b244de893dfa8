"""Values that players tell: in the goal range, exact where nothing is estimated, honest errors."""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.machine.base import Machine
from ggp.players import Decision, make_player, parse_spec
from ggp.search.anytime import Deadline
from ggp.search.playouts import PlayoutSearch
from ggp.search.simulations import SimulationSearch, Simulator, combine
from tests.random_games.cases import MANY, Case, exact_bag, odd_case, role_of, some_games
from tests.random_games.reference import hyperplay_values, posterior
from tests.random_games.simulations import Simulations
from tests.random_games.test_values import Enumerated, is_clear
from tests.support.effort import rarely
from tests.support.games import machine_of_rules

SECONDS_A_STATE, SECONDS_A_LOOK = 1e-6, 1e-5

GOALS = (0.0, 100.0)

PUZZLE = """
(role us) (init (at 0)) (succ 0 1) (succ 1 2)
(<= (legal us left) (true (at ?n))) (<= (legal us right) (true (at ?n)))
(<= (next (at ?m)) (true (at ?n)) (succ ?n ?m))
(<= (next good) (does us right) (true (at 0))) (<= (next good) (true good))
(<= terminal (true (at 2)))
(<= (goal us 80) (true good)) (<= (goal us 30) (not (true good)))
"""

PLAYERS = (
    "hyperplay",
    "hyperplay2",
    "hyperplay2:n=1",
    "mcts",
    "ismcts",
    "resolve",
    "pimc",
    "over",
    "para",
    "auto",
)

ALIKE = {"hyperplay2:n=1", "mcts", "resolve", "auto"}
"""Players that value moves as others do, and take long to load."""


def clock_of(machine: Machine, seconds: float) -> Deadline:
    """A clock that ticks with the states visited, and when it is looked at."""
    visited_before, looks = machine.states_visited, count()

    def now_s() -> float:
        visited = machine.states_visited - visited_before
        return visited * SECONDS_A_STATE + next(looks) * SECONDS_A_LOOK

    return Deadline(seconds, now_s)


def decided(at: Case, spec: str, seed: int, seconds: float) -> Decision:
    rng = np.random.default_rng(seed)
    player = make_player(parse_spec(spec), at.machine, role_of(at), rng)
    for move, percepts, refused in at.path:
        player.observe(move, percepts, submitted=refused)
    return player.choose(clock_of(at.machine, seconds), value_forced=True)


def ends_of(at: Case) -> dict[str, Fraction]:
    """The value of each move that ends the match at once wherever the role may be."""
    states, game = posterior(at.game, at.role, at.path), at.game

    def ends(move: str) -> bool:
        return all(
            move in game.legal[state][at.role]
            and all(
                game.after[state, joint][0] in game.goals
                for joint in game.joint_moves(state)
                if joint[at.role] == move
            )
            for state in states
        )

    values = hyperplay_values(game, at.role, states)
    return {move: value for move, value in values.items() if ends(move)}


@pytest.mark.parametrize(
    "seeds",
    [range(4), pytest.param(range(4, MANY), marks=pytest.mark.verify)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("spec", rarely(PLAYERS, ALIKE))
def test_values_are_in_the_goal_range(spec: str, seeds: range) -> None:
    valued = 0
    for seed in seeds:
        decision = decided(odd_case(seed), spec, seed, 0.02)
        estimated = [value for value in decision.values if value.value is not None]
        assert all(0 <= value.value <= 100 for value in estimated if value.value is not None), seed
        assert all(value.stderr is None or value.stderr >= 0 for value in estimated), seed
        valued += len(estimated)
    assert valued > len(seeds)


def test_lines_of_a_puzzle_are_worth_their_goals() -> None:
    machine = machine_of_rules(PUZZLE, "propnet")
    player = make_player(parse_spec("puzzle"), machine, 0, np.random.default_rng(0))
    values = [value for value in player.choose().values if value.value is not None]
    assert [(value.value, value.stderr) for value in values] == [(80.0, 0.0)]


@pytest.mark.parametrize(
    "seeds",
    [range(4), pytest.param(range(4, MANY), marks=pytest.mark.verify)],
    ids=["few", "many"],
)
def test_only_moves_that_end_the_match_have_values_without_an_error(seeds: range) -> None:
    """Whether there is time for simulations, or for HyperPlay values only."""
    ends = 0
    for seed in seeds:
        at = odd_case(seed)
        expected = ends_of(at)
        for seconds in (0.001, 0.02, 0.1):
            for value in decided(at, "hyperplay2:n=3,exact=10000,risk=play", seed, seconds).values:
                if value.visits and value.move in expected:
                    assert value.value == pytest.approx(float(expected[value.move])), seed
                    assert value.stderr == 0
                    ends += 1
                elif value.visits > 1:
                    assert value.stderr is not None
                    assert value.stderr > 0, seed
    assert ends > len(seeds) // 2


def scores_of(
    at: Case, estimates: list[tuple[str, float, float]], reference: Simulations
) -> list[float]:
    """How many errors values that vary are off."""
    expected, varying = reference.values(at.path), reference.varying(at.path)
    return [
        (value - float(expected[move])) / error
        for move, value, error in estimates
        if move in varying and error
    ]


def assert_standard(scores: list[float], minimum: int) -> None:
    """Their deviation is 1 +- .1, as far as so many can tell, and their mean 0."""
    number = len(scores)
    assert number >= minimum
    assert abs(np.mean(scores)) < 3.5 / np.sqrt(number)
    assert np.std(scores) == pytest.approx(1, abs=0.1 + 2.5 / np.sqrt(2 * number))


@pytest.mark.verify
def test_hyperplay2_is_as_far_off_as_it_says() -> None:
    """Where choices are clear, so that simulated roles make them as they are defined."""
    scores, seeds = list[float](), range(160)
    for seed in seeds:
        at = odd_case(seed)
        reference = Simulations(at.game, at.role)
        if len(reference.values(at.path)) > 1 and is_clear(reference, 900):
            values = decided(at, "hyperplay2:n=30,exact=10000,risk=play", seed, 2.0).values
            estimates = [(v.move, v.value or 0.0, v.stderr or 0.0) for v in values if v.visits]
            scores += scores_of(at, estimates, reference)
    assert_standard(scores, len(seeds) // 4)


@pytest.mark.verify
@pytest.mark.parametrize("visits", [4, 16, 64, 400])
@some_games
def test_errors_hold_after_few_simulations(seeds: range, visits: int) -> None:
    """Of all games: simulated roles choose by exact values. Errors are rather too large."""
    scores = list[float]()
    for seed in seeds:
        at, rng = odd_case(seed), np.random.default_rng(seed)
        machine, tree = at.machine, PathTree(at.machine)
        bag = exact_bag(at, tree, keep_views=True)
        reference = Simulations(at.game, at.role)
        nested = HyperPlaySampler(machine, tree, capacity=1, exact=10_000)
        policy = Enumerated(at, tree, reference)
        simulations = SimulationSearch(Simulator(machine, nested, policy), bag, rng)
        playouts = PlayoutSearch(machine, bag, rng)
        simulations.round(visits)
        playouts.round(20 * visits)
        combined_estimates = combine(simulations.estimates(), playouts.estimates(), GOALS)
        texts = map(machine.move_text, combined_estimates.moves.values.tolist())
        estimates = zip(
            texts,
            combined_estimates.values.tolist(),
            combined_estimates.honest_errors(GOALS).tolist(),
            strict=True,
        )
        scores += scores_of(at, list(estimates), reference)
    assert len(scores) > len(seeds)
    # Values of one game share a shift, so that their errors are not independent.
    assert abs(np.mean(scores)) < 3.5 * np.sqrt(3 / len(scores))
    assert 0.7 < np.std(scores) < 1.1 + 2.5 / np.sqrt(2 * len(scores))
