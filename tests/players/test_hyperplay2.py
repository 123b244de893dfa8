"""`hyperplay2`: how the resources of simulated roles grow where there is a clock."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from ggp.machine.base import IntArray
from ggp.players import make_player, parse_spec
from ggp.players.hyperplay2 import HyperPlay2, growth
from ggp.search.anytime import Deadline
from ggp.search.playouts import HyperPlayPolicy
from ggp.search.simulations import SimulationSearch
from tests.support.games import machine_of_game

SECONDS_A_STATE = 1e-6


@pytest.mark.parametrize(
    ("visits", "times"),
    [(0, 1), (255, 1), (256, 2), (1023, 2), (1024, 4), (10**9, 16)],
)
def test_playouts_double_where_simulations_quadruple(visits: int, times: int) -> None:
    assert growth(visits) == times


def playouts_of_a_decision(seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The playouts of simulated roles, call by call."""
    counts: list[int] = []
    called = HyperPlayPolicy.__call__

    def call(self: HyperPlayPolicy, *args: object) -> object:
        counts.append(self.playouts)
        return called(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(HyperPlayPolicy, "__call__", call)
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    player = make_player(parse_spec("hyperplay2:n=2"), machine, 0, np.random.default_rng(0))
    assert isinstance(player, HyperPlay2)
    deadline = None
    if seconds is not None:
        # A clock that ticks with the states visited, and when it is looked at.
        started, looks = machine.states_visited, count()
        deadline = Deadline(
            seconds,
            lambda: (machine.states_visited - started) * SECONDS_A_STATE + 1e-5 * next(looks),
        )
    assert player.choose(deadline).fault is None
    return counts


def test_simulated_roles_make_more_playouts_the_more_simulations_there_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ggp.players.hyperplay2.GROW_FROM", 2)
    counts = playouts_of_a_decision(4.0, monkeypatch)
    assert counts == sorted(counts)
    assert counts[0] == 4
    assert counts[-1] in {16, 32, 64}


def test_simulated_roles_make_no_more_playouts_without_a_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ggp.players.hyperplay2.GROW_FROM", 2)
    assert set(playouts_of_a_decision(None, monkeypatch)) == {4}


def test_one_round_of_simulations_decides_if_there_is_no_time_for_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rounds that take a second, whatever their size."""
    now_s = [0.0]
    sizes: list[int] = []
    real_round = SimulationSearch.round

    def slow(self: SimulationSearch, count: int, subset: IntArray | None = None) -> None:
        sizes.append(count)
        real_round(self, count, subset)
        now_s[0] += 1.0

    monkeypatch.setattr(SimulationSearch, "round", slow)
    monkeypatch.setattr("ggp.players.hyperplay2.QUICK_SHARE", 0.0)
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    player = make_player(parse_spec("hyperplay2:n=3"), machine, 0, np.random.default_rng(0))
    decision = player.choose(Deadline(0.9, lambda: now_s[0]))
    assert sizes == [3]
    assert {value.visits for value in decision.values} == {3}
