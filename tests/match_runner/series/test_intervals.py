"""Intervals against known values, scipy, and their promise; `test_betting` has those by betting."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.intervals import CASES, misses_of
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.statistics import (
    BETTING,
    FIXED,
    FIXED_ROUNDS,
    UNBOUNDED,
    Interval,
    bounds_of,
    fixed_interval,
    mean_interval,
    mean_of_means,
    methods_text,
    sample_of,
    share_interval,
    student_interval,
)
from match_runner.match.referee import play_match
from match_runner.series.comparison import ComparisonSummary, summarize
from match_runner.series.holding import Snapshot
from match_runner.series.outcomes import Played
from match_runner.series.plan import Series, SeriesGame, plan_all
from match_runner.series.verdicts import DECIDED, UNDECIDED, settled
from tests.match_runner.support import arena_of


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    interval = share_interval(8, 10)
    assert interval.value == 0.8
    # Tables of Clopper-Pearson limits.
    assert interval.low == pytest.approx(0.35178, abs=1e-4)
    assert interval.high == pytest.approx(0.98915, abs=1e-4)
    none = share_interval(0, 20)
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(1 - 0.005 ** (1 / 20))
    assert share_interval(0, 0).value is None


def test_values_at_the_bounds_are_a_share() -> None:
    interval = mean_interval([0, 100, 100, 100] * 15, seed=0, fixed=True)
    share = share_interval(45, 60)
    assert share.low is not None
    assert interval.value == 75
    assert interval.low == pytest.approx(100 * share.low)


def test_other_values_are_resampled_in_units_of_their_error() -> None:
    """As a plain bootstrap-t does it, value by value."""
    values = np.random.default_rng(0).choice([0, 25, 75, 100], 60, p=[0.6, 0.2, 0.1, 0.1])
    interval = mean_interval(values.tolist(), seed=5, fixed=True)
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(3_000):
        sample = rng.choice(values, len(values))
        errors.append((sample.mean() - values.mean()) / sample.std())
    low, high = (np.quantile(errors, q) * values.std() for q in (0.003, 0.997))
    assert interval.low == pytest.approx(values.mean() - high, abs=2.0)
    assert interval.high == pytest.approx(values.mean() - low, abs=2.0)
    assert interval == mean_interval(values.tolist(), seed=5, fixed=True)


def test_where_nearly_all_are_equal_bets_are_used() -> None:
    interval = mean_interval([50.0] * 59 + [60.0], seed=0, fixed=True)
    assert interval.method == BETTING
    assert interval == mean_interval([50.0] * 59 + [60.0], seed=0, fixed=False)


@pytest.mark.verify
@pytest.mark.parametrize("case", CASES)
def test_many_fixed_rounds_miss_seldom(case: str) -> None:
    misses = misses_of(case, (50,), repeats=1, seed=8, resampled=2_000)
    assert misses.resampled[50] <= 0.02  # 1.5 %, and as much as 2,000 runs may be off


def test_equal_values_leave_doubt() -> None:
    interval = fixed_interval([90.0] * 20, seed=0, bounds=(0.0, 100.0))
    doubt = 1 - 0.005 ** (1 / 20)
    assert interval.value == 90
    assert interval.low == pytest.approx(90 - 90 * doubt)
    assert interval.high == pytest.approx(90 + 10 * doubt)


def test_only_many_rounds_that_were_fixed_are_resampled() -> None:
    values = np.random.default_rng(0).choice([0, 25, 75, 100], FIXED_ROUNDS).tolist()
    fixed = mean_interval(values, 0, fixed=True)
    assert fixed == fixed_interval(values, 0, (0.0, 100.0))
    fewer, open_ended = (
        mean_interval(values[1:], 0, fixed=True),
        mean_interval(values, 0, fixed=False),
    )
    assert (fixed.method, fewer.method, open_ended.method) == (FIXED, BETTING, BETTING)
    low, high = bounds_of(sample_of((0, 100), values), 0.01)
    assert open_ended == Interval(sum(values) / len(values), 100 * low, 100 * high, BETTING)
    assert len(methods_text([fixed, fewer, open_ended, Interval(1.0)])) == 2


def test_few_values_have_wide_intervals() -> None:
    assert mean_interval([], seed=0, fixed=False).value is None
    assert mean_interval([50], seed=0, fixed=False) == Interval(50.0)
    two = mean_interval([25, 50], seed=0, fixed=True)
    assert two.low is not None
    assert two.high is not None
    assert 0 < two.low < 5
    assert 95 < two.high < 100
    interval = mean_interval([100.0] * 3, seed=0, fixed=False)
    assert interval.low is not None
    assert (interval.low < 30, interval.value, interval.high) == (True, 100, 100)


def test_a_higher_level_is_wider() -> None:
    for fixed in (False, True):
        values = np.random.default_rng(1).choice([0, 25, 75, 100], FIXED_ROUNDS).tolist()
        usual = mean_interval(values, 0, fixed=fixed)
        wider = mean_interval(values, 0, fixed=fixed, level=0.999)
        assert wider.low is not None
        assert usual.low is not None
        assert wider.low < usual.low


def test_means_of_groups_count_equally() -> None:
    together = mean_of_means([[60.0, 40.0, 50.0], [80.0] * 30, []])
    assert together.value == pytest.approx(65)
    assert together.low is not None
    assert together.high is not None
    assert together.low < 65 < together.high
    assert mean_of_means([[], []]).value is None
    assert mean_of_means([[50.0], [60.0, 70.0]]).low is None


def test_equal_values_have_a_student_interval_of_one_point() -> None:
    interval = student_interval([90.0] * 3)
    assert (interval.value, interval.low, interval.high) == (90, 90, 90)


@pytest.mark.verify
def test_intervals_cover_the_mean_about_as_often_as_they_promise() -> None:
    rng = np.random.default_rng(1)
    goals, weights = [0, 25, 75, 100], [0.3, 0.2, 0.3, 0.2]
    mean = float(np.dot(goals, weights))
    covered = 0
    for number in range(60):
        interval = mean_interval(rng.choice(goals, 60, p=weights).tolist(), number, fixed=True)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= mean <= interval.high
    assert covered >= 56


LOTTERY = """
(role left) (role right) (role random) (init start)
(digit 0) (digit 1) (digit 2) (digit 3) (digit 4)
(digit 5) (digit 6) (digit 7) (digit 8) (digit 9) (half 0) (half 1) (half 2) (half 3)
(<= (legal ?p ?m) (player ?p) (move ?m)) (player left) (player right) (move wait) (move go)
(<= (legal random (draw ?a ?b)) (half ?a) (digit ?b))
(<= (next lucky) (does random (draw 0 0))) (next drawn)
(<= terminal (true drawn))
(prize 0) (prize 1000)
(<= (goal left ?n) (prize ?n) (true lucky) (distinct ?n 0))
(<= (goal left ?n) (prize ?n) (not (true lucky)) (distinct ?n 1000))
(<= (goal right 0) (true drawn)) (goal random -7)
"""
"""One ticket of forty pays 1000 to left."""


def lottery_series(rounds: int, rules: str = LOTTERY) -> Series:
    game = SeriesGame("lottery", normalize(parse(rules)), rounds)
    return Series({"a": "random", "b": "legal"}, (game,))


def summary_of(series: Series, wins: list[bool]) -> ComparisonSummary:
    """Of a series in which left wins in some matches."""
    blank = play_match(arena_of("kuhn_poker", "player1=legal", "player2=legal"), 0)
    matches = [
        Played(planned, replace(blank, goals={"left": 1000.0 * won, "right": 0.0, "random": -7.0}))
        for planned, won in zip(plan_all(series), wins, strict=True)
    ]
    return summarize(Snapshot(series, len(matches), matches, {}))


def test_bounds_are_the_goals_that_the_rules_can_pay() -> None:
    """59 series of 30 rounds, of which half see no win of either player."""
    series = lottery_series(30)
    rng = np.random.default_rng(59)
    covered = 0
    for _ in range(59):
        summary = summary_of(series, (rng.random(60) < 1 / 40).tolist())
        for player in summary.players:
            assert player.score.low is not None
            assert player.score.high is not None
            covered += player.score.low <= 12.5 <= player.score.high
        (difference,) = summary.differences
        assert difference.score.low is not None
        assert difference.score.low <= 0
        assert summary.verdict is not None
        assert summary.verdict.as_good
    assert covered >= 2 * 59 - 2


def test_a_series_says_that_bounds_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.gdl.formal.MAX_FLOWS", 0)
    series = lottery_series(5)
    assert series.goal_bounds is None
    assert series.span is None
    summary = summary_of(series, [True, False] * 5)
    assert [player.score.method for player in summary.players] == [UNBOUNDED, UNBOUNDED]
    assert summary.players[0].score.low is None
    verdict = summary.verdict
    assert verdict is not None
    assert verdict.margin is None
    assert not verdict.decided
    assert "the rules do not bound the scores" in verdict.forecast
    json.dumps(summary.to_json(), allow_nan=False)
    rounds = [{0: 1000.0, 1: 0.0}] * 99
    assert settled(rounds, 2, 1.0, None) == UNDECIDED
    assert settled(rounds, 2, 1.0, 1000.0) == DECIDED


def test_there_is_no_interval_where_bounds_are_not_known_or_wrong() -> None:
    for bounds, values in ((None, [0.0, 100.0]), ((0.0, 100.0), [0.0, 120.0]), (None, [0.0] * 60)):
        for fixed in (False, True):
            interval = mean_interval(values, 0, bounds, fixed=fixed)
            assert interval.value is not None
            assert (interval.low, interval.high, interval.method) == (None, None, UNBOUNDED)
            (method,) = methods_text([interval])
            assert "the rules do not bound the scores" in method
        assert mean_of_means([values, values], bounds).method == UNBOUNDED
    # A last digit is no value outside.
    assert mean_interval([100.00000000000001, 90.0], 0, fixed=False).method == BETTING
