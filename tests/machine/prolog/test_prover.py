"""Machines that tell some legal moves without finding all."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine.abilities import Prover
from ggp.machine.base import States
from ggp.machine.prolog.prolog_machine import PrologMachine
from tests.support.games import GAMES, machine_of_game

MAX_STEPS = 4


@pytest.mark.parametrize("game", GAMES)
def test_each_of_some_legal_moves_is_legal(game: str) -> None:
    machine = machine_of_game(game)
    assert isinstance(machine, Prover)
    assert isinstance(machine, PrologMachine)
    rng = np.random.default_rng(1)
    states: States = machine.initial()
    for _ in range(MAX_STEPS):
        if machine.terminal(states)[0]:
            break
        joint = []
        for role in range(len(machine.roles)):
            legal = set(machine.legal(states, role)[0].tolist())
            assert set(machine.some_legal(states, role, 10**6).tolist()) == legal
            assert set(machine.some_legal(states, role, 2).tolist()) <= legal
            assert len(machine.some_legal(states, role, 1)) == 1
            candidates = set(machine.legal(states, 0)[0].tolist()) | legal
            assert {m for m in candidates if machine.is_legal(states, role, m)} == legal
            joint.append(int(rng.choice(sorted(legal, key=machine.move_text))))
        states = machine.step(states, np.array([joint], dtype=np.int64)).states


def test_nothing_is_legal_when_the_game_is_over() -> None:
    machine = machine_of_game("monty_hall")
    assert isinstance(machine, PrologMachine)
    states: States = machine.initial()
    move = int(machine.legal(states, 0)[0][0])
    while not machine.terminal(states)[0]:
        joint = [int(machine.legal(states, role)[0][0]) for role in range(len(machine.roles))]
        states = machine.step(states, np.array([joint], dtype=np.int64)).states
    for role in range(len(machine.roles)):
        assert not len(machine.some_legal(states, role, 9))
        assert not machine.is_legal(states, role, move)
