"""Playouts inside kernels and matches step by step come to the same, and a difference is found."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from ggp.machine import Machine, States
from ggp.machine.base import Playouts
from tests.machine.playout_statistics import CHANCE, Plan, Start, compare_playouts, main
from tests.support.comparing.by_steps import play_by_steps, take_lanes
from tests.support.comparing.two_samples import Summary, summarize, table_p, z_score
from tests.support.games import machine_of_game, machine_of_rules

GAMES = ["krieg_tic_tac_toe", "kuhn_poker", "meier", "monty_hall", "tic_tac_toe"]

PLAN = Plan(matches=300, starts=5)

LINE = """
(role a) (init (at 0)) (legal a on)
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(<= terminal (true (at 3)))
(goal a 70)
"""
"""Three steps without a choice."""

DEAD_END = LINE.replace(
    "(legal a on)", "(<= (legal a on) (true (at ?x)) (step ?x))(step 0)(step 1)"
)
"""After two of these steps there is no move."""


def summary_of(starts: list[Start]) -> Summary:
    scores = [[difference.z for difference in start.differences] for start in starts]
    return summarize(scores, [start.p for start in starts if start.p is not None])


def test_playouts_come_to_what_steps_come_to() -> None:
    machines = [machine_of_game(name, "propnet") for name in GAMES]
    starts = [
        start
        for name, machine in zip(GAMES, machines, strict=True)
        for start in compare_playouts(machine, name, PLAN)
    ]
    summary = summary_of(starts)
    assert summary.num_scores >= 50
    assert summary.num_tables >= 30
    assert summary.stands_out(CHANCE) == []


def test_a_match_of_one_move_has_no_states_in_the_middle() -> None:
    rules = "(role a) (init p) (legal a 1) (legal a 2) (<= terminal (not (true p)))"
    rules += "(<= (next (got ?x)) (does a ?x)) (<= (goal a ?x) (true (got ?x)))"
    starts = compare_playouts(machine_of_rules(rules, "propnet"), "one", PLAN)
    assert [start.name for start in starts] == ["alone", "initial", "over"]
    assert [len(start.differences) for start in starts] == [1, 1, 0]


def test_lanes_that_are_mixed_up_stand_out(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    play = machine.playout

    def mixed_up(states: States, rng: np.random.Generator, max_steps: int) -> Playouts:
        """One of sixteen lanes gets what belongs to its neighbour."""
        playouts = play(states, rng, max_steps)
        lanes = np.arange(len(states))
        lanes[::16] = np.roll(lanes, 1)[::16]
        return take_lanes(playouts, lanes)

    monkeypatch.setattr(machine, "playout", mixed_up)
    summary = summary_of(compare_playouts(machine, "tic_tac_toe", Plan(matches=1000)))
    assert {"the largest z-score", "the smallest p-value"} <= {*summary.stands_out(CHANCE)}


@pytest.mark.parametrize(
    ("rules", "max_steps"),
    [(LINE, 10), (LINE, 2), (DEAD_END, 10)],
    ids=["over", "cut off", "stuck"],
)
def test_matches_by_steps_end_as_playouts_do(rules: str, max_steps: int) -> None:
    machine: Machine = machine_of_rules(rules, "propnet")
    states, rng = machine.initial(3), np.random.default_rng(0)
    playouts = machine.playout(states, rng, max_steps)
    for by_steps, by_playout in zip(
        play_by_steps(machine, states, rng, max_steps), playouts, strict=True
    ):
        assert np.array_equal(by_steps, by_playout)


def test_samples_alike_have_the_scores_that_are_expected() -> None:
    rng = np.random.default_rng(1)
    scores, tables = [], []
    for chance in rng.random(500) ** 4:  # many of them rare
        first, second = (rng.binomial(3, chance, 200) for _ in range(2))
        z, p = (
            z_score(first.astype(np.float64), second.astype(np.float64)),
            table_p(first, second, rng),
        )
        scores.append([] if z is None else [z, z])
        tables += [] if p is None else [p]
    summary = summarize(scores, tables)
    assert summary.stands_out(CHANCE) == []
    assert abs(summary.deviation - 1) < 0.1
    assert summary.num_scores > 700
    # The second of each pair says nothing new, and makes the mean no more certain.
    single = summarize([group[:1] for group in scores], tables)
    assert summary.mean_error == pytest.approx(single.mean_error, rel=0.1)


def test_small_differences_add_up() -> None:
    rng = np.random.default_rng(1)
    scores = [[z_score(rng.normal(0, 1, 99), rng.normal(0.06, 1, 99)) or 0.0] for _ in range(200)]
    summary = summarize(scores, [0.5])
    assert summary.largest_p > CHANCE
    assert summary.stands_out(CHANCE) == ["the mean of the z-scores"]


def test_two_scores_alike_are_no_evidence() -> None:
    assert summarize([[0.4, 0.5]], []).stands_out(CHANCE) == []


def test_a_table_with_one_cell_says_nothing() -> None:
    rng = np.random.default_rng(0)
    assert table_p(np.zeros(50, dtype=np.int64), np.zeros(50, dtype=np.int64), rng) is None
    assert z_score(np.ones(50), np.ones(50)) is None
    p = table_p(np.zeros(50, dtype=np.int64), np.ones(50, dtype=np.int64), rng)
    assert p is not None
    assert p < 1e-20


def test_the_command_gives_the_same_for_the_same_seed() -> None:
    command = ["--only", "monty", "--matches", "40", "--starts", "2", "--json"]
    first, second, reseeded = (
        CliRunner().invoke(main, [*command, "--seed", seed]).stdout for seed in ("1", "1", "2")
    )
    assert first == second != reseeded
    report = json.loads(first)
    assert report["rulesheets"]["monty_hall"][0]["name"] == "alone"
    assert report["summary"]["num_scores"] > 0
