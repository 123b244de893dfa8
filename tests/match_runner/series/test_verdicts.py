"""Who is the best, and how many more rounds it would take to tell."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.intervals import wrong_choices
from match_runner.series.verdicts import (
    DECIDED,
    DIFFERENCES,
    MOST_ROUNDS,
    UNDECIDED,
    judge,
    rounds_to_tell,
    settled,
    verdict_text,
)
from tests.support.effort import examples


def rounds_of(*differences: float) -> list[dict[int, float]]:
    return [{0: 50 + each / 2, 1: 50 - each / 2} for each in differences]


def test_the_best_one_is_named_when_all_others_are_surely_worse() -> None:
    found = judge(["a", "b"], rounds_of(*[60.0] * 20), 0, fixed=False)
    assert found is not None
    assert (found.best, found.as_good, found.more_rounds, found.margin) == ("a", (), 0, 0)
    assert verdict_text(found, 2) == "a is better than the other (99 % confidence)"
    worse = judge(["a", "b"], rounds_of(*[-60.0] * 20), 0, fixed=False)
    assert worse is not None
    assert (worse.best, worse.decided) == ("b", True)
    assert judge(["a", "b"], [], 0, fixed=False) is None


def test_it_says_how_many_more_rounds_would_decide() -> None:
    differences = [60.0, 20.0, 60.0, 20.0]
    found = judge(["a", "b"], rounds_of(*differences), 0, fixed=False)
    assert found is not None
    assert not found.decided
    assert found.more_rounds is not None
    assert found.margin is not None
    assert 40 < found.margin <= 200
    more = found.more_rounds
    assert verdict_text(found, 2) == (
        "undecided: a scored most, but b may be as good; "
        f"about {more} more rounds would decide ({2 * more} matches)"
    )
    enough = (differences * 100)[: 4 + more + 2]
    assert settled(rounds_of(*enough), 2, 1.0) == DECIDED
    assert settled(rounds_of(*enough[:-4]), 2, 1.0) == UNDECIDED


def test_no_number_of_rounds_is_named_where_none_would_decide() -> None:
    found = judge(["a", "b"], rounds_of(60.0, -60.0, 0.0), 0, fixed=False)
    assert found is not None
    assert found.more_rounds is None
    assert f"at this rate, {MOST_ROUNDS:,} rounds would not decide" in verdict_text(found, 2)


def test_the_best_of_many_has_to_be_surer() -> None:
    differences = rounds_of(*[60.0] * 10)
    assert settled(rounds_of(*[100.0] * 10), 2, 1.0) == DECIDED
    of_five = [{**scores, 2: 0.0, 3: 0.0, 4: 0.0} for scores in rounds_of(*[100.0] * 10)]
    assert settled(of_five, 5, 1.0) == UNDECIDED
    assert settled([{**scores, 1: 0.0} for scores in of_five] * 2, 5, 1.0) == DECIDED
    found = judge(list("abc"), [{**scores, 2: 0.0} for scores in differences * 2], 0, fixed=False)
    assert found is not None
    assert verdict_text(found, 3).endswith(
        "is better than all others (99 % confidence, chosen among 3)"
    )


@pytest.mark.verify
def test_equal_players_are_hardly_ever_called_worse_than_the_best() -> None:
    found = wrong_choices(examples(160), 0, seed=1)
    assert found["betting, corrected"] <= 0.01


@pytest.mark.parametrize(("difference", "spread"), [(10, 30), (20, 60), (30, 90), (50, 1)])
def test_rounds_to_tell_a_difference_are_about_those_it_takes(
    difference: float, spread: float
) -> None:
    told = rounds_to_tell(difference, spread, 2)
    assert told is not None
    rng = np.random.default_rng(0)
    taken = []
    for _ in range(15):
        drawn = np.clip(rng.normal(difference, spread, 4 * told), *DIFFERENCES).tolist()
        rounds = rounds_of(*drawn)
        step = max(1, told // 10)
        ends = range(step, len(rounds), step)
        taken.append(next((n for n in ends if settled(rounds[:n], 2, 1.0) == DECIDED), 10**6))
    assert told / 2 < np.median(taken) < 2 * told
    more = rounds_to_tell(difference, spread, 5)
    assert more is not None
    assert more > told
    assert rounds_to_tell(0.5, 60, 2) is None
