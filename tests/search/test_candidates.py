"""Candidate moves of bags, and whether given moves are legal: kernels against lists of moves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ggp.machine.base import UNKNOWN, States
from ggp.machine.compiling import jit
from ggp.machine.on_circuit import on_circuit
from ggp.search.moves import is_legal, random_moves
from tests.support.games import machine_of_game


@pytest.mark.parametrize("game", ["krieg_tic_tac_toe", "leduc_poker", "blind_breakthrough"])
def test_moves_of_sets_and_legality_agree_with_the_lists_of_moves(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "SPARED_STEPS", -1)
    machine, rng = machine_of_game(game, "propnet"), np.random.default_rng(0)
    assert on_circuit(machine)
    states: States = machine.initial(120)
    for _ in range(4):
        drawn = [random_moves(machine, states, role, rng) for role in range(len(machine.roles))]
        states = machine.step(states, np.column_stack(drawn)).states
        states = states.take(np.flatnonzero(~machine.terminal(states)))
    ends = np.sort(rng.integers(0, len(states), 20))
    offsets = np.concatenate([[0], ends, [len(states)]])
    for role in range(len(machine.roles)):
        legal = machine.legal(states, role, allow_stuck=True)
        candidates = machine.candidates(states, role, offsets)
        assert candidates is not None
        for number, (start, end) in enumerate(pairwise(offsets.tolist())):
            lists = [move for lane in range(start, end) for move in legal[lane].tolist()]
            assert candidates[number].tolist() == list(dict.fromkeys(lists))
        moves = np.resize([*np.unique(legal.values), UNKNOWN], len(states))
        expected = [move in legal[lane] for lane, move in enumerate(moves)]
        assert is_legal(machine, states, role, moves).tolist() == expected
