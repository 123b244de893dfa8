"""Trials of many bags at once against one bag at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.belief import Bags
from ggp.belief.bags import Segments, initial_segments
from ggp.machine import Machine
from ggp.machine.arrays import offsets_of, ragged
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Ragged
from ggp.search.estimates import (
    TIE_TOLERANCE,
    Estimates,
    Results,
    Tally,
    Ties,
    Trials,
    best_moves,
    plan_trials,
)
from tests.support.games import machine_of_game


def weighted_bags(machine: Machine, sets: list[list[float]], segment: list[int]) -> Bags:
    counts = np.array([len(s) for s in sets])
    offsets = offsets_of(counts)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([np.log(np.array(s) / sum(s)) for s in sets])
    states = initial_segments(machine, int(offsets[-1]), keep_views=False).states
    exact = np.ones(len(sets), dtype=np.bool_)
    return Bags(
        0,
        np.zeros(len(segment), dtype=np.int64),
        np.array(segment),
        Segments(offsets, states, logs, exact, counts.astype(np.float64), np.zeros(len(sets))),
    )


def random_bags(seed: int) -> tuple[Bags, Ragged]:
    rng = np.random.default_rng(seed)
    sets = [
        np.where(rng.random(n) < 0.2, 0.0, rng.integers(1, 5, n)).tolist()
        for n in rng.integers(1, 12, 6)
    ]
    sets = [s if sum(s) else [1.0] for s in sets]
    segment = rng.integers(0, 6, 9).tolist()
    moves = ragged([rng.integers(0, 50, n) for n in rng.integers(0, 4, 9)])
    return weighted_bags(machine_of_game("krieg_tic_tac_toe"), sets, segment), moves


def random_goals(seed: int, count: int) -> FloatArray:
    goals = np.random.default_rng(seed).integers(0, 5, count) * 25
    return goals.astype(np.float64)


def allocate_one(weights: FloatArray, count: int, start: float) -> IntArray:
    """The definition, for one bag."""

    def systematic(weights: FloatArray, count: int) -> IntArray:
        ends = np.cumsum(weights)
        points = (start + np.arange(count)) * (ends[-1] / count)
        at = np.minimum(np.searchsorted(ends, points, side="right"), len(weights) - 1)
        return np.bincount(at, minlength=len(weights))

    if count < len(weights):
        return systematic(weights, count)
    trials = np.ones(len(weights), dtype=np.int64)
    if count > len(weights):
        missing = np.maximum(weights * count - 1.0, 0.0)
        trials += systematic(missing, count - len(weights))
    return trials


@pytest.mark.parametrize("count", [1, 3, 8, 40])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("by_entry", [False, True])
def test_plans_of_many_bags_are_plans_of_each(count: int, seed: int, by_entry: bool) -> None:
    bags, moves = random_bags(seed)
    subset = np.flatnonzero(np.arange(len(bags)) % 3 != 1)
    rng = np.random.default_rng(seed)
    trials = plan_trials(bags, moves, count, rng, subset, by_entry=by_entry)
    starts = np.random.default_rng(seed).random(len(subset))
    expected = []
    for bag, start in zip(subset.tolist(), starts, strict=True):
        weights = bags.weights_of(bag)
        repeats = allocate_one(weights, count, start)
        first = bags.sets.offsets[bags.segment[bag]]
        pairs = [
            (candidate, entry)
            for candidate in range(moves.offsets[bag], moves.offsets[bag + 1])
            for entry in np.flatnonzero(repeats).tolist()
        ]
        for candidate, entry in sorted(pairs, key=lambda p: p[1]) if by_entry else pairs:
            share = repeats[entry] / count if len(weights) > count else weights[entry]
            expected.append(
                (candidate, moves.values[candidate], first + entry, repeats[entry], share)
            )
    columns = [trials.candidate, trials.moves, trials.lanes, trials.counts, trials.share]
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    assert rows == [pytest.approx(row) for row in expected]
    assert len(trials) == sum(row[3] for row in expected)


def planned(seed: int, count: int) -> tuple[Trials, int]:
    bags, moves = random_bags(seed)
    return plan_trials(bags, moves, count, np.random.default_rng(seed)), len(moves.values)


@pytest.mark.parametrize("size", [1, 4, 7, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_results_added_in_parts_are_the_same(size: int, seed: int) -> None:
    trials, num_candidates = planned(seed, 9)
    goals = random_goals(seed, len(trials))
    turns = np.random.default_rng(seed + 1).integers(1, 9, len(trials))
    results = Results(trials, 50.0)
    for start in range(0, len(trials), size):
        assert not results.complete(num_candidates)[trials.candidate[-1]]
        results.add(start, goals[start : start + size], turns[start : start + size])
    stratum = np.repeat(np.arange(len(trials.counts)), trials.counts)
    assert results.counts.tolist() == trials.counts.tolist()
    assert results.totals.tolist() == np.bincount(stratum, goals).tolist()
    prompt = np.bincount(stratum, (50.0 - goals) * turns)
    assert results.promptness.tolist() == prompt.tolist()
    assert results.squares.tolist() == np.bincount(stratum, goals**2).tolist()
    assert results.complete(num_candidates).sum() == len(set(trials.candidate.tolist()))
    weights = np.repeat(trials.share / trials.counts, trials.counts)
    values = np.bincount(trials.candidate[stratum], weights * goals, num_candidates)
    assert results.values(num_candidates) == pytest.approx(values)


def variance_one(trials: Trials, goals: FloatArray, candidate: int, *, exact: bool) -> float:
    """The definition, for one candidate."""
    strata = np.flatnonzero(trials.candidate == candidate)
    parts = [goals[trials.offsets[s] : trials.offsets[s + 1]] for s in strata]
    share = trials.share[strata]
    mean = np.array([p.mean() for p in parts])
    value = float(share @ mean)
    together = np.concatenate(parts)
    freedom = len(together) - len(parts)
    variance_within = sum(float(((p - p.mean()) ** 2).sum()) for p in parts)
    pooled = (
        variance_within / freedom
        if freedom
        else ((together - value) ** 2).sum() / max(len(together) - 1, 1)
    )
    variances = np.array([p.var(ddof=1) if len(p) > 1 else pooled for p in parts])
    by_playouts = float((share**2 * variances / [len(p) for p in parts]).sum())
    if exact:
        return by_playouts
    spread = float(((share * (mean - value)) ** 2).sum())
    return max(by_playouts, spread * len(parts) / max(len(parts) - 1, 1))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("count", [1, 2, 9, 60])
def test_errors_are_those_of_each_candidate(count: int, exact: bool) -> None:
    bags, moves = random_bags(count)
    trials = plan_trials(bags, moves, count, np.random.default_rng(0))
    goals = random_goals(1, len(trials))
    results = Results(trials, 50.0)
    results.add(0, goals, np.ones(len(goals), dtype=np.int64))
    tally = Tally(len(moves.values))
    tally.add(results, count, exact=exact)
    estimates = tally.estimates(moves)
    assert np.isnan(estimates.stderrs).all() == (count == 1)
    for candidate in range(len(moves.values) if count > 1 else 0):
        variance = variance_one(trials, goals, candidate, exact=exact)
        assert estimates.stderrs[candidate] == pytest.approx(np.sqrt(variance))
        assert estimates.visits[candidate] == count


def test_a_round_cut_short_counts_for_candidates_that_are_complete() -> None:
    bags, moves = random_bags(3)
    tally = Tally(len(moves.values))
    trials = plan_trials(bags, moves, 6, np.random.default_rng(0))
    whole = Results(trials, 50.0)
    whole.add(0, np.full(len(trials), 100.0), np.ones(len(trials), dtype=np.int64))
    tally.add(whole, 6, exact=True)
    part = Results(trials, 50.0)
    part.add(0, np.full(6 * 4 + 1, 40.0), np.ones(6 * 4 + 1, dtype=np.int64))
    tally.add(part, 6, exact=True)
    estimates = tally.estimates(moves)
    assert estimates.visits.tolist() == [12] * 4 + [6] * (len(moves.values) - 4)
    assert estimates.values == pytest.approx([70.0] * 4 + [100.0] * (len(moves.values) - 4))


VALUES = st.lists(
    st.lists(st.sampled_from([0.0, 50.0, 50.0 * (1 + 1e-10), 50.1, -3.0, 1e9]), max_size=5),
    max_size=6,
)


@given(VALUES, st.integers(0, 100))
def test_best_moves_are_among_the_ties_of_each_bag(values: list[list[float]], seed: int) -> None:
    moves = Ragged(
        offsets_of(np.array([len(v) for v in values], dtype=np.int64)),
        np.arange(sum(map(len, values))),
    )
    flat = np.array([v for of_bag in values for v in of_bag])
    best = best_moves(moves, flat, np.random.default_rng(seed))
    assert len(best) == len(values)
    for b, of_bag in enumerate(values):
        if not of_bag:
            assert best[b] == UNKNOWN
            continue
        at = best[b] - moves.offsets[b]
        scale = max(map(abs, of_bag))
        assert of_bag[at] >= max(of_bag) - TIE_TOLERANCE * scale


def test_ties_are_broken_evenly() -> None:
    bags = 30_000
    values = np.tile([1.0, 2.0, 2.0, 2.0 - 1e-12], bags)
    moves = Ragged(4 * np.arange(bags + 1), np.tile(np.arange(4), bags))
    best = best_moves(moves, values, np.random.default_rng(0))
    shares = np.bincount(best, minlength=4) / bags
    assert shares == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=0.02)


def test_candidates_that_were_tried_come_first() -> None:
    moves = ragged([np.array([7, 8, 9])])
    values, visits = np.array([0.0, -5.0, 0.0]), np.array([0, 3, 0])
    estimates = Estimates(moves, values, np.zeros(3), visits, np.zeros(3))
    assert estimates.choose(np.random.default_rng(0), Ties.RANDOM).tolist() == [8]


def test_among_equal_values_the_promptest_is_chosen_if_that_is_wanted() -> None:
    moves = ragged([np.array([3, 4, 5, 6]), np.array([7]), np.array([8, 9])])
    values = np.array([90.0, 100.0, 100.0, 100.0, 0.0, 0.0, 0.0])
    promptness = np.array([0.0, -250.0, -50.0, -50.0, 0.0, 50.0, 150.0])
    estimates = Estimates(moves, values, np.zeros(7), np.full(7, 2), promptness)
    by_lot = np.array(
        [estimates.choose(np.random.default_rng(seed), Ties.RANDOM) for seed in range(200)]
    )
    assert [{*column.tolist()} for column in by_lot.T] == [{4, 5, 6}, {7}, {8, 9}]
    assert np.count_nonzero(by_lot[:, 0] == 4) == pytest.approx(200 / 3, abs=30)
    best = np.array(
        [estimates.choose(np.random.default_rng(seed), Ties.PROMPT) for seed in range(200)]
    )
    assert {5, 6} == set(best[:, 0].tolist())
    assert 60 <= np.count_nonzero(best[:, 0] == 5) <= 140
    assert set(best[:, 1].tolist()) == {7}
    assert set(best[:, 2].tolist()) == {9}


def test_a_single_trial_is_too_little_for_promptness() -> None:
    moves = ragged([np.array([3, 4])])
    promptness = np.array([-250.0, -50.0])
    estimates = Estimates(moves, np.full(2, 100.0), np.zeros(2), np.ones(2, np.int64), promptness)
    generators = map(np.random.default_rng, range(50))
    promptest = {int(estimates.choose(rng, Ties.PROMPT)[0]) for rng in generators}
    assert promptest == {3, 4}


def tally_of(rounds: list[list[float]]) -> Estimates:
    """The tally of rounds of goal values of one candidate on a bag of one entry."""
    bags = weighted_bags(machine_of_game("krieg_tic_tac_toe"), [[1.0]], [0])
    moves = ragged([np.array([3])])
    tally = Tally(1)
    for goals in rounds:
        results = Results(plan_trials(bags, moves, len(goals), np.random.default_rng(0)), 50.0)
        results.add(0, np.array(goals), np.ones(len(goals), dtype=np.int64))
        tally.add(results, len(goals), exact=True)
    return tally.estimates(moves)


class TestErrorsOfRounds:
    def test_a_single_trial_tells_no_error(self) -> None:
        estimates = tally_of([[100.0]])
        assert estimates.values.tolist() == [100.0]
        assert np.isnan(estimates.stderrs).all()

    def test_rounds_of_one_trial_tell_it_together(self) -> None:
        goals = [100.0, 0.0, 100.0, 100.0, 50.0]
        estimates = tally_of([[goal] for goal in goals])
        assert estimates.visits.tolist() == [5]
        assert estimates.stderrs == pytest.approx([np.std(goals, ddof=1) / np.sqrt(5)])

    def test_a_single_trial_varies_like_the_others(self) -> None:
        estimates = tally_of([[0.0], [0.0, 100.0, 100.0, 100.0]])
        variance = np.var([0.0, 100.0, 100.0, 100.0], ddof=1)
        assert estimates.values == pytest.approx([60.0])
        assert estimates.stderrs == pytest.approx([np.sqrt(variance / 5)])

    @pytest.mark.parametrize("goal", [100 / 3, 0.0, 71.0])
    def test_equal_trials_leave_no_error(self, goal: float) -> None:
        assert tally_of([[goal]] * 7).stderrs.tolist() == [0.0]
        assert tally_of([[goal], [goal] * 4]).stderrs == pytest.approx([0.0], abs=1e-6)

    @pytest.mark.verify
    def test_errors_are_right_on_average_however_rounds_are_cut(self) -> None:
        rng = np.random.default_rng(0)
        variances, means = [], []
        for _ in range(2_000):
            goals = rng.choice([0.0, 0.0, 50.0, 100.0], 10).tolist()
            estimates = tally_of([goals[:1], goals[1:2], goals[2:3], goals[3:5], goals[5:]])
            variances.append(estimates.stderrs[0] ** 2)
            means.append(estimates.values[0])
        assert np.mean(variances) == pytest.approx(np.var(means), rel=0.1)
