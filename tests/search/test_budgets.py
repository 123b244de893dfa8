"""How rounds fill the time there is, and which candidates they try."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.estimates import Estimates
from ggp.search.parts import RACE_FROM, RoundCosts, contenders, run_search
from ggp.search.playouts import PlayoutSearch
from tests.support.games import machine_of_game

RANGE = (0.0, 100.0)


def estimates_of(values: list[float], stderrs: list[float], visits: list[int]) -> Estimates:
    number = len(values)
    moves = Ragged(np.array([0, number]), np.arange(number))
    return Estimates(moves, np.array(values), np.array(stderrs), np.array(visits), np.zeros(number))


class ClockedSearch:
    """Trials that take `fixed` seconds a round and `each` a trial on a clock of its own.

    Values are those given, with the standard error of trials that win or lose.
    """

    def __init__(
        self, values: list[float], fixed: float, each_s: float, side_by_side: int = 1
    ) -> None:
        self.side_by_side = side_by_side
        self.now_s, self._fixed, self._trial_s = 0.0, fixed, each_s
        self._values = np.array(values)
        self.visits = np.zeros(len(values), dtype=np.int64)
        self.moves = Ragged(np.array([0, len(values)]), np.arange(len(values)))
        self.rounds: list[int] = []
        self.in_vain = 0
        self.deadline = Deadline(2.0, lambda: self.now_s)

    def round(self, count: int, chosen_candidates: IntArray | None = None) -> None:
        assert chosen_candidates is not None
        self.now_s += self._fixed + self._trial_s * count * len(chosen_candidates)
        if self.deadline.passed():
            self.in_vain += 1
            raise OutOfTime
        self.visits[chosen_candidates] += count
        self.rounds.append(count)

    def estimates(self) -> Estimates:
        errors: FloatArray = 50.0 / np.sqrt(np.maximum(self.visits, 1))
        return Estimates(self.moves, self._values, errors, self.visits.copy(), np.zeros(8))


@pytest.mark.parametrize(
    ("fixed", "each_s"), [(0.13, 0.001), (0.3, 0.0001), (1e-4, 1e-6), (0.0, 0.01), (0.02, 1e-5)]
)
def test_rounds_fill_the_time_and_none_is_begun_in_vain(fixed: float, each_s: float) -> None:
    machine = machine_of_game("tic_tac_toe")
    search = ClockedSearch([50.0] * 8, fixed, each_s)
    run_search(search, machine, 1, search.deadline)
    assert search.in_vain == 0
    assert search.now_s > 1.5
    # Had one round known all of it, it would have been so large.
    possible = (2.0 - fixed) / max(8 * each_s, 1e-9)
    assert search.visits.min() > min(possible, 1000) / 6


def test_a_round_nearly_all_fixed_cost_does_not_keep_rounds_small() -> None:
    # As simulations of connect four: 0.136 s for one of each candidate, 0.631 s for 64.
    search = ClockedSearch([50.0] * 8, 0.128, 0.00098)
    run_search(search, machine_of_game("tic_tac_toe"), 1, search.deadline)
    assert search.visits.min() >= 64


def test_time_goes_to_candidates_that_may_still_be_best() -> None:
    search = ClockedSearch([50.0, 50.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0], 0.01, 0.001)
    run_search(search, machine_of_game("tic_tac_toe"), 1, search.deadline)
    assert search.visits[:2].min() >= 4 * search.visits[2:].max()
    assert search.visits.min() >= RACE_FROM


def test_no_candidate_is_left_out_where_there_is_no_race() -> None:
    search = ClockedSearch([50.0, 50.0, 10.0, 10.0], 0.01, 0.001)
    run_search(search, machine_of_game("tic_tac_toe"), 1, search.deadline, race=False)
    assert search.visits.min() == search.visits.max() > RACE_FROM


@pytest.mark.verify
def test_every_candidate_is_tried_equally_often_without_a_clock() -> None:
    machine, bags = opening()
    search = PlayoutSearch(machine, bags, np.random.default_rng(0))
    estimates = run_search(search, machine, 500, None)
    assert set(estimates.visits.tolist()) == {500}


def test_the_first_round_has_as_many_trials_as_cost_no_more_than_one() -> None:
    search = ClockedSearch([50.0] * 8, 0.6, 0.0, side_by_side=100)
    run_search(search, machine_of_game("tic_tac_toe"), 1, search.deadline)
    assert search.rounds[0] == 12
    assert RoundCosts(first=4).next_size(1.0, 8) == 1


def test_a_fit_without_sense_takes_trials_for_dear() -> None:
    costs = RoundCosts()
    costs.add(8, 0.5)  # something was made ready in the first round
    costs.add(80, 0.2)
    assert costs.next_size(1.6, 8) == 40  # 0.8 s at 0.0025 s each
    assert costs.next_size(0.0, 8) == 0


class TestContenders:
    def test_a_candidate_that_is_surely_worse_is_no_contender(self) -> None:
        estimates = estimates_of([60, 58, 40], [1, 1, 1], [400, 400, 400])
        assert contenders(estimates, RANGE).tolist() == [0, 1]

    def test_all_candidates_are_contenders_until_each_was_tried_often(self) -> None:
        estimates = estimates_of([100, 0], [0, 0], [RACE_FROM, RACE_FROM - 1])
        assert contenders(estimates, RANGE).tolist() == [0, 1]

    def test_few_trials_with_equal_results_are_not_trusted(self) -> None:
        few_trials = estimates_of([100, 60], [0, 20], [8, 8])
        assert contenders(few_trials, RANGE).tolist() == [0, 1]
        many_trials = estimates_of([100, 60], [0, 2], [800, 800])
        assert contenders(many_trials, RANGE).tolist() == [0]

    def test_the_variance_from_choosing_entries_is_left_out(self) -> None:
        estimates = estimates_of([60, 50], [20, 20], [10_000, 10_000])
        assert estimates.cautious_errors(RANGE) == pytest.approx([0.5, 0.5])
        assert contenders(estimates, RANGE).tolist() == [0]

    def test_unknown_errors_are_large_ones(self) -> None:
        estimates = estimates_of([100, 0], [float("nan"), 0], [1, 0])
        assert estimates.cautious_errors(RANGE).tolist() == [50.0, float("inf")]


def opening() -> tuple[Machine, Bags]:
    machine = machine_of_game("tic_tac_toe")
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=4)
    return machine, sampler.start(0)


@pytest.mark.verify
def test_a_round_of_chosen_candidates_tries_no_other() -> None:
    machine, bags = opening()
    search = PlayoutSearch(machine, bags, np.random.default_rng(0))
    search.round(100)
    search.round(2000, np.array([0, 4]))
    estimates = search.estimates()
    assert estimates.visits.tolist() == [2100, 100, 100, 100, 2100, 100, 100, 100, 100]
    centre = [machine.move_text(int(move)) for move in estimates.moves.values].index("(mark 2 2)")
    assert centre == 4
    assert estimates.values[4] > estimates.values[0] + 3  # the centre wins most
