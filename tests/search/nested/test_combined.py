"""Two kinds of values count as far as they agree."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine.base import Ragged
from ggp.search.estimates import Estimates
from ggp.search.simulations import between_variance, combine

RANGE = (0.0, 100.0)


def estimates_of(values: list[float], error: float, visits: int) -> Estimates:
    number = len(values)
    return Estimates(
        Ragged(np.array([0, number]), np.arange(number)),
        np.array(values, dtype=np.float64),
        np.full(number, error),
        np.full(number, visits),
        np.zeros(number),
    )


PLAYOUTS = estimates_of([52, 55, 61, 57, 50, 48, 53, 51], 0.1, 100_000)


def test_values_that_differ_by_noise_alone_are_those_of_playouts() -> None:
    noisy = PLAYOUTS.values + 10 * np.array([1, -1, -0.9, 0.2, 0.8, -0.4, 0.1, 0.2])
    simulations = estimates_of(list(noisy), 12.0, 16)
    assert simulations.values.argmax() != 2
    combined = combine(simulations, PLAYOUTS, RANGE)
    assert combined.values.argmax() == 2
    assert (combined.visits == 16).all()


def test_values_that_disagree_are_those_of_simulations() -> None:
    # The exploding bomb: random playouts do not know what asking is worth.
    playouts = estimates_of([50, 45], 0.1, 100_000)
    combined = combine(estimates_of([50, 90], 1.0, 2_500), playouts, RANGE)
    assert combined.values == pytest.approx([50, 90], abs=0.2)
    assert combined.stderrs == pytest.approx([1, 1], abs=0.1)


def test_one_candidate_of_many_that_disagrees_keeps_its_value() -> None:
    values = PLAYOUTS.values.copy()
    values[5] = 90
    combined = combine(estimates_of(list(values), 8.0, 36), PLAYOUTS, RANGE)
    assert combined.values.argmax() == 5


@pytest.mark.parametrize("end", RANGE)
def test_a_shift_of_all_values_is_no_disagreement(end: float) -> None:
    shifted = PLAYOUTS.values + 0.4 * (end - PLAYOUTS.values)
    combined = combine(estimates_of(list(shifted), 5.0, 100), PLAYOUTS, RANGE)
    assert combined.values == pytest.approx(shifted)
    noisy = estimates_of(list(shifted + 5 * np.array([1, -1, 0, 0, 1, -1, 0, 0])), 5.0, 100)
    assert combine(noisy, PLAYOUTS, RANGE).values == pytest.approx(shifted, abs=1)


def test_no_value_leaves_the_goal_range() -> None:
    # A move that wins, and many that are worth twice what playouts say: battleships, ship seen.
    values, playouts = [100.0, 95, 90, 97, 92, 96], [100.0, 48, 45, 50, 47, 52]
    for visits in (4, 16, 50):
        combined = combine(
            estimates_of(values, 5.0, visits), estimates_of(playouts, 0.1, 9999), RANGE
        )
        assert combined.values[0] == 100
        assert (combined.values[1:] < 100).all()
    rng = np.random.default_rng(2)
    for _ in range(200):
        size = int(rng.integers(2, 9))
        samples = [rng.choice([0.0, 25, 100], size) for _ in range(2)]
        noisy = estimates_of(list(samples[0]), float(rng.integers(20)), int(rng.integers(1, 40)))
        combined = combine(noisy, estimates_of(list(samples[1]), 0.1, 9999), RANGE)
        assert combined.values.min() >= 0
        assert combined.values.max() <= 100


def test_no_error_is_none_where_precise_values_decide() -> None:
    values = estimates_of(list(PLAYOUTS.values), 0.0, 4)
    assert (combine(values, PLAYOUTS, RANGE).honest_errors(RANGE) > 5).all()


def test_exact_values_stay_and_say_nothing_of_others() -> None:
    values = PLAYOUTS.values - 20
    values[2] = 100.0
    exact = np.full(8, np.nan)
    exact[2] = 100.0
    lower, most = (np.where(np.isnan(exact), end, exact) for end in (-np.inf, np.inf))
    noisy = estimates_of(list(values), 5.0, 100).within(lower, most, exact=True)
    combined = combine(noisy, PLAYOUTS, RANGE)
    assert combined.values[2] == 100.0
    errors = combined.honest_errors(RANGE)
    assert np.flatnonzero(errors == 0).tolist() == [2]
    unknown = np.arange(8) != 2
    assert combined.values[unknown] == pytest.approx(values[unknown], abs=3)


def test_values_without_playouts_of_all_candidates_stay_as_they_are() -> None:
    simulations = estimates_of([50, 90], 1.0, 2_500)
    playouts = estimates_of([50, 45], 0.1, 1)
    playouts.visits[1] = 0
    assert combine(simulations, playouts, RANGE) is simulations


@pytest.mark.verify
def test_the_variance_between_methods_is_rarely_too_small() -> None:
    rng = np.random.default_rng(0)
    truth, noise = 10.0, np.linspace(3, 12, 8) ** 2
    way = np.full(8, 1_000.0)
    samples = rng.normal(500, np.sqrt(truth**2 + noise), (2_000, 8))
    estimates = np.array([between_variance(differences, noise, way) for differences in samples])
    assert (estimates >= truth**2).mean() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(("bias", "most"), [(0.0, 0.4), (3.0, 0.6), (10.0, 0.95), (40.0, 1.1)])
def test_combined_values_are_better_the_less_playouts_are_biased(bias: float, most: float) -> None:
    rng = np.random.default_rng(1)
    of_simulations = of_both = 0.0
    for _ in range(300):
        truth = rng.normal(50, 8, 8)
        playouts = estimates_of(list(truth + rng.normal(0, bias, 8)), 0.1, 100_000)
        simulations = estimates_of(list(truth + rng.normal(0, 8, 8)), 8.0, 36)
        combined = combine(simulations, playouts, RANGE)
        of_simulations += float(np.var(simulations.values - truth))
        of_both += float(np.var(combined.values - truth))
    assert of_both < most * of_simulations
