"""The player that follows the true state of a plain GDL game."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Limits, Machine
from ggp.players.parts.without_belief import ENOUGH_KNOWN, KnownStatePlayer
from tests.support.games import BACKENDS, build_here, machine_of_game

NUMBERS = " ".join(f"(num {number})" for number in range(300))
HUGE = f"""
(role xplayer) (role oplayer) {NUMBERS} (init (step 0)) (succ 0 1) (succ 1 2)
(<= (legal xplayer (pick ?w ?x ?y ?z)) WHEN (num ?w) (num ?x) (num ?y) (num ?z))
(<= (legal oplayer (pick ?x)) (num ?x))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 2))) (goal xplayer 50) (goal oplayer 50)
"""
"""One role has 300^4 legal moves."""


@pytest.fixture(params=BACKENDS)
def machine(request: pytest.FixtureRequest) -> Machine:
    return machine_of_game("tic_tac_toe", request.param)


def follower(machine: Machine) -> KnownStatePlayer:
    return KnownStatePlayer(machine, machine.roles.index("xplayer"), np.random.default_rng(0))


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
def test_follower_rejects_percepts_that_do_not_fit(
    machine: Machine, percepts: list[str] | None
) -> None:
    player = follower(machine)
    with pytest.raises(MachineError, match=r"joint move|not legal"):
        player.observe(None, percepts)
    assert len(player.choose().values) == 9


@pytest.mark.parametrize("when", ["", "(true (step ?s))"], ids=["static", "in-a-state"])
def test_follower_lists_only_some_of_billions_of_moves(when: str) -> None:
    limits = Limits(inferences=1_000_000, setup_inferences=100_000)
    machine = build_here(normalize(parse(HUGE.replace("WHEN", when))), "prolog", limits)
    with pytest.raises(ReasonerLimitError):
        machine.legal(machine.initial(), 0)
    player = follower(machine)
    assert len(player.choose().values) == ENOUGH_KNOWN
    last = "(pick 299 299 299 299)"
    player.observe(last, [f"(did xplayer {last})", "(did oplayer (pick 7))"])
    move = player.choose().move
    player.observe(move, [f"(did xplayer {move})", "(did oplayer (pick 7))"])
    with pytest.raises(MachineError, match="over"):
        player.choose()
