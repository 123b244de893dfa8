"""Several processors: the same decisions without a clock, more simulations with one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.players import Decision, make_player, parse_spec
from ggp.players.hyperplay2 import HyperPlay2
from ggp.search import parts, simulations
from ggp.search.anytime import Deadline
from tests.support.effort import rarely
from tests.support.games import machine_of_game


def machine_with(game: str, threads: int) -> PropnetMachine:
    machine = machine_of_game(game, "propnet")
    assert isinstance(machine, PropnetMachine)
    return PropnetMachine(machine.circuit, is_gdl2=True, threads=threads)


def first_player(machine: Machine, spec: str, seed: int) -> HyperPlay2:
    role = next(role for role in range(2) if role != machine.random_role)
    player = make_player(parse_spec(spec), machine, role, np.random.default_rng(seed))
    assert isinstance(player, HyperPlay2)
    return player


@pytest.mark.parametrize(
    ("game", "spec"),
    rarely(
        [
            ("krieg_tic_tac_toe", "hyperplay2:n=3"),
            ("krieg_tic_tac_toe", "hyperplay2:n=3,exact=0"),
            ("monty_hall", "hyperplay2:n=3"),
        ],
        {("krieg_tic_tac_toe", "hyperplay2:n=3,exact=0")},
    ),
)
def test_decisions_by_count_do_not_depend_on_the_processors(
    game: str, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulations, "MAX_SIMULATIONS", 20)  # else one piece is enough
    decisions: list[Decision] = []
    for threads in (1, 2, 3):
        machine = machine_with(game, threads)
        decisions.append(first_player(machine, spec, 5).choose())
    assert decisions[0].values == decisions[1].values == decisions[2].values
    assert decisions[0].move == decisions[1].move == decisions[2].move


@pytest.mark.verify
def test_copies_add_their_simulations_under_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LAST_WORDS_S", 30.0)  # other tests run
    machine = machine_with("krieg_tic_tac_toe", 2)
    player = first_player(machine, "hyperplay2:n=2", 1)
    player.choose()  # loads machine code
    reported: list[int] = []
    deadline = Deadline(time.monotonic() + 1.0, time.monotonic)
    search = player.search(player.tracker.bag, deadline)
    own_round: Any = search.round

    def counted(*args: Any) -> None:
        own_round(*args)
        reported.append(int(search.estimates().visits.sum()))

    search.round = counted  # type: ignore[assignment, method-assign]
    totals = player.values_of(search, deadline)
    assert reported
    assert totals.visits.sum() > reported[-1]
    assert np.isfinite(totals.stderrs).all()
