"""Who is the best, and how many more rounds it would take to tell."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.intervals import wrong_choices
from match_runner.series.verdicts import (
    DECIDED,
    DIFFERENCES,
    MAX_ROUNDS,
    UNDECIDED,
    judge,
    rounds_to_tell,
    settled,
    verdict_text,
)
from tests.support.effort import examples


def rounds_of(*differences: float) -> list[dict[int, float]]:
    return [{0: 50 + difference / 2, 1: 50 - difference / 2} for difference in differences]


def test_the_best_one_is_named_when_all_others_are_surely_worse() -> None:
    verdict = judge(["a", "b"], rounds_of(*[60.0] * 20), 0, fixed=False)
    assert verdict is not None
    assert (verdict.best, verdict.as_good, verdict.more_rounds, verdict.margin) == ("a", (), 0, 0)
    assert verdict_text(verdict, 2) == "a is better than the other (99 % confidence)"
    worse = judge(["a", "b"], rounds_of(*[-60.0] * 20), 0, fixed=False)
    assert worse is not None
    assert (worse.best, worse.decided) == ("b", True)
    assert judge(["a", "b"], [], 0, fixed=False) is None


def test_it_says_how_many_more_rounds_would_decide() -> None:
    differences = [60.0, 20.0, 60.0, 20.0]
    verdict = judge(["a", "b"], rounds_of(*differences), 0, fixed=False)
    assert verdict is not None
    assert not verdict.decided
    assert verdict.more_rounds is not None
    assert verdict.margin is not None
    assert 40 < verdict.margin <= 200
    num_more = verdict.more_rounds
    assert verdict_text(verdict, 2) == (
        "undecided: a scored most, but b may be as good; "
        f"about {num_more} more rounds would decide ({2 * num_more} matches)"
    )
    enough = (differences * 100)[: 4 + num_more + 2]
    assert settled(rounds_of(*enough), 2, 1.0) == DECIDED
    assert settled(rounds_of(*enough[:-4]), 2, 1.0) == UNDECIDED


def test_no_number_of_rounds_is_named_where_none_would_decide() -> None:
    verdict = judge(["a", "b"], rounds_of(60.0, -60.0, 0.0), 0, fixed=False)
    assert verdict is not None
    assert verdict.more_rounds is None
    assert f"at this rate, {MAX_ROUNDS:,} rounds would not decide" in verdict_text(verdict, 2)


def test_the_best_of_many_has_to_be_surer() -> None:
    differences = rounds_of(*[60.0] * 10)
    assert settled(rounds_of(*[100.0] * 10), 2, 1.0) == DECIDED
    of_five = [{**scores, 2: 0.0, 3: 0.0, 4: 0.0} for scores in rounds_of(*[100.0] * 10)]
    assert settled(of_five, 5, 1.0) == UNDECIDED
    assert settled([{**scores, 1: 0.0} for scores in of_five] * 2, 5, 1.0) == DECIDED
    verdict = judge(list("abc"), [{**scores, 2: 0.0} for scores in differences * 2], 0, fixed=False)
    assert verdict is not None
    assert verdict_text(verdict, 3).endswith(
        "is better than all others (99 % confidence, chosen among 3)"
    )


@pytest.mark.verify
def test_equal_players_are_hardly_ever_called_worse_than_the_best() -> None:
    wrong = wrong_choices(examples(160), 0, seed=1)
    assert wrong["betting, corrected"] <= 0.01


@pytest.mark.parametrize(("difference", "spread"), [(10, 30), (20, 60), (30, 90), (50, 1)])
def test_rounds_to_tell_a_difference_are_about_those_it_takes(
    difference: float, spread: float
) -> None:
    num_rounds = rounds_to_tell(difference, spread, 2)
    assert num_rounds is not None
    rng = np.random.default_rng(0)
    rounds_taken = []
    for _ in range(15):
        differences = np.clip(rng.normal(difference, spread, 4 * num_rounds), *DIFFERENCES).tolist()
        rounds = rounds_of(*differences)
        step = max(1, num_rounds // 10)
        ends = range(step, len(rounds), step)
        rounds_taken.append(
            next((n for n in ends if settled(rounds[:n], 2, 1.0) == DECIDED), 10**6)
        )
    assert num_rounds / 2 < np.median(rounds_taken) < 2 * num_rounds
    corrected_rounds = rounds_to_tell(difference, spread, 5)
    assert corrected_rounds is not None
    assert corrected_rounds > num_rounds
    assert rounds_to_tell(0.5, 60, 2) is None
