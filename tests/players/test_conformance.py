"""Every player decides when it knows too little, whether it is ours or of a package."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.players import Player, make_player, parse_spec
from ggp.players.spec import PEERS, known_players
from tests.support.games import machine_of_game, machine_of_rules

NAMES = [name for name in known_players() if name not in PEERS]

STUCK = """
(role a) (init (at 0)) (<= (legal a go) (true (at 0)))
(<= (next (at 1)) (does a go)) (<= terminal (true (at 2))) (goal a 0)
(<= (sees a nothing) (true (at 5)))
"""


def player(name: str, machine: Machine) -> Player:
    return make_player(parse_spec(name), machine, 0, np.random.default_rng(0))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("puzzle", "learned")])
def test_player_without_any_particle_falls_back_and_says_so(name: str) -> None:
    thinker = player(name, machine_of_game("exploding_bomb", "propnet"))
    thinker.observe("noop", ["red"])
    decision = thinker.choose()
    assert decision.fault is not None
    # Only samplers that enumerate can prove it.
    assert "no complete path" in decision.fault
    assert decision.move in ("ask", "wait")  # what is legal a turn later


# `learned` is not made without the rules.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "learned"])
def test_player_stuck_in_every_particle_falls_back(name: str) -> None:
    thinker = player(name, machine_of_rules(STUCK, "propnet"))
    thinker.observe("go", [])
    decision = thinker.choose()
    assert decision.fault is not None
    assert decision.move == "go"
