"""The player that follows the true state of a plain GDL game."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.machine import Machine
from ggp.players.follower import Follower
from tests.support.games import BACKENDS, machine_of_game


@pytest.fixture(params=BACKENDS)
def machine(request: pytest.FixtureRequest) -> Machine:
    return machine_of_game("tic_tac_toe", request.param)


def follower(machine: Machine) -> Follower:
    return Follower(machine, machine.roles.index("xplayer"), np.random.default_rng(0))


def test_follower_knows_its_legal_moves(machine: Machine) -> None:
    player = follower(machine)
    assert len(player.choose().values) == 9
    player.observe("(mark 2 2)", ["(did oplayer noop)", "(did xplayer (mark 2 2))"])
    assert player.choose().move == "noop"
    player.observe("noop", ["(did xplayer noop)", "(did oplayer (mark 1 1))"])
    moves = {value.move for value in player.choose().values}
    assert len(moves) == 7
    assert not moves & {"(mark 1 1)", "(mark 2 2)"}
    assert player.states_visited == 2


@pytest.mark.parametrize(
    "percepts",
    [
        None,
        [],
        ["(did xplayer (mark 2 2))"],
        ["(did xplayer (mark 2 2))", "(did oplayer (mark 1 1))"],
        ["(did xplayer (mark 9 9))", "(did oplayer noop)"],
        ["(did xplayer (mark 2 2))", "(did oplayer noop)", "(saw it)"],
        ["(did xplayer (mark 2 2)", "(did oplayer noop)"],
    ],
    ids=["unknown", "none", "missing", "illegal", "no-move", "more", "no-term"],
)
def test_follower_says_what_it_cannot_follow(machine: Machine, percepts: list[str] | None) -> None:
    player = follower(machine)
    with pytest.raises(MachineError, match="told"):
        player.observe(None, percepts)
    assert len(player.choose().values) == 9
