"""The best move so far, reported while a decision is being made."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ggp.machine import role_index
from ggp.players import Decision, make_player, parse_spec
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_game, machine_of_rules

# What is legal depends on a coin that the role does not see; `safe` nearly always is.
COIN = """
(role a) (role random) (init start) (side 1) (side 2) (side 3)
(<= (legal random (toss ?s)) (true start) (side ?s))
(<= (legal random wait) (not (true start)))
(<= (legal a wait) (true start))
(<= (legal a (call ?s)) (true (up ?s)))
(<= (legal a safe) (true (up ?s)) (distinct ?s 1))
(<= (sees a nothing) (true never))
(<= (next (up ?s)) (does random (toss ?s)))
(<= (next over) (not (true start)))
(<= terminal (true over))
(goal a 0) (goal random 0)
"""


def reports_of(
    spec: str, game: str, role: str, seconds: float | None
) -> tuple[list[Decision], Decision]:
    machine = machine_of_game(game, "propnet")
    reports: list[Decision] = []
    player = make_player(
        parse_spec(spec),
        machine,
        role_index(machine, role),
        np.random.default_rng(0),
        report=reports.append,
    )
    deadline = None if seconds is None else Deadline(time.monotonic() + seconds, time.monotonic)
    return reports, player.choose(deadline)


@pytest.mark.parametrize("spec", ["legal", "random", "hyperplay", "hyperplay2"])
def test_first_report_is_a_legal_move(spec: str) -> None:
    reports, decision = reports_of(spec, "monty_hall", "candidate", 0.2)
    assert reports[0].values == tuple(sorted(reports[0].values, key=lambda v: v.move))
    assert {value.value for value in reports[0].values} == {None}
    legal = {value.move for value in decision.values}
    assert {report.move for report in reports} <= legal
    assert reports[0].fault is None


@pytest.mark.verify
@pytest.mark.parametrize("spec", ["hyperplay", "hyperplay2"])
def test_reports_improve(spec: str) -> None:
    reports, decision = reports_of(spec, "tic_tac_toe", "xplayer", 1.0)
    visits = [min(value.visits for value in report.values) for report in reports]
    assert len(reports) > 2
    assert visits[-1] > 0
    assert all(value.visits for value in decision.values)


def test_reports_change_no_decision() -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    decisions = []
    for report in (None, lambda _: None):
        player = make_player(
            parse_spec("hyperplay2:n=2"), machine, 0, np.random.default_rng(3), report=report
        )
        decision = player.choose()
        decisions.append((decision.move, decision.values))
    assert decisions[0] == decisions[1]


def test_first_report_is_legal_in_most_particles() -> None:
    machine = machine_of_rules(COIN)
    reports: list[Decision] = []
    player = make_player(
        parse_spec("hyperplay:n=2"), machine, 0, np.random.default_rng(0), report=reports.append
    )
    player.observe("wait", [])
    player.choose()
    assert {value.move for value in reports[0].values} == {"safe", *(f"(call {n})" for n in "123")}
    assert reports[0].move == "safe"
