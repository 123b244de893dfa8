"""The player that guesses a legal move where all of them are too many to list."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Limits, Machine
from ggp.machine.abilities import Prover
from ggp.players.sampled_states import SampledStates
from tests.support.games import build_here, machine_of_game
from tests.support.sheets.programs import MANY_MOVES


def huge() -> Machine:
    limits = Limits(inferences=1_000_000, setup_inferences=100_000)
    return build_here(normalize(parse(MANY_MOVES)), "prolog", limits)


def test_guesser_needs_not_all_of_hundreds_of_billions_of_moves() -> None:
    machine = huge()
    assert isinstance(machine, Prover)
    with pytest.raises(ReasonerLimitError):
        machine.legal(machine.initial(), 0)
    player = SampledStates(machine, 0, np.random.default_rng(0))
    first = player.choose()
    assert first.is_sound
    assert first.fault is not None
    state = machine.initial()
    turns: list[tuple[str, list[str]]] = [("(hide 7)", ["(odd 7)"]), ("noop", []), ("", [])]
    for random_move, seen in turns:
        decision = player.choose()
        own = machine.move_id(decision.move)
        assert own is not None
        assert machine.is_legal(state, 0, own)
        if random_move:
            joint = np.array([[own, machine.move_id(random_move)]], dtype=np.int64)
            state = machine.step(state, joint).states
            player.observe(decision.move, seen)


def test_guesser_keeps_states_that_agree_with_what_it_sees() -> None:
    machine = machine_of_game("monty_hall")
    for seed in range(10):
        rng = random.Random(seed)
        player = SampledStates(
            machine, machine.roles.index("candidate"), np.random.default_rng(seed)
        )
        state = machine.initial()
        while not machine.terminal(state)[0]:
            decision = player.choose()
            assert decision.is_sound
            moves = []
            for role, name in enumerate(machine.roles):
                legal = machine.legal(state, role)[0].tolist()
                move = rng.choice(legal)
                if name == "candidate":
                    move = machine.move_id(decision.move)
                    assert move in legal
                moves.append(move)
            stepped = machine.step(state, np.array([moves]))
            state = stepped.states
            role = machine.roles.index("candidate")
            player.observe(decision.move, machine.percept_texts(int(stepped.percepts[0, role])))


def test_guesser_goes_on_where_nothing_agrees() -> None:
    machine = machine_of_game("monty_hall")
    player = SampledStates(machine, machine.roles.index("candidate"), np.random.default_rng(0))
    player.observe("noop", ["(never seen)"])
    assert not player.choose().is_sound
    assert player.choose().move.startswith("(choose")


def test_machine_that_finds_all_moves_or_none_is_refused() -> None:
    with pytest.raises(MachineError, match="all legal moves or none"):
        SampledStates(machine_of_game("monty_hall", "propnet"), 0, np.random.default_rng(0))
