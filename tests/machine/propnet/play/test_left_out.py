"""What playouts leave out cannot matter."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine.arrays import unpack
from ggp.machine.base import States
from ggp.machine.propnet.play.layout import phases
from ggp.machine.propnet.play.layout.phases import phases_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import PropnetStates
from ggp.search.moves import random_moves
from tests.machine.propnet.circuits import circuit_of, dealing


@pytest.mark.parametrize("name", [None, "tic_tac_toe", "krieg_tic_tac_toe", "exploding_bomb"])
def test_states_of_random_matches_are_within_the_reachable_bounds(
    name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "MIN_REACH_LITERALS", 0)
    monkeypatch.setattr(phases, "WORTH", 1)
    circuit = dealing() if name is None else circuit_of(name)
    machine = PropnetMachine(circuit, is_gdl2=True)
    bounds = phases.reachable(circuit)
    assert len(bounds) > 0
    rng = np.random.default_rng(0)
    states: States = machine.initial(200)
    for step in range(20):
        assert isinstance(states, PropnetStates)
        bits = unpack(states.packed, len(circuit.fluents))
        fits = [(may[1] | ~bits) & (may[0] | bits) for may in bounds]
        assert np.any([fit.all(axis=1) for fit in fits], axis=0).all()
        if step < len(bounds):
            assert fits[step].all()
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        if not len(states):
            break
        role_moves = [
            random_moves(machine, states, role, rng) for role in range(len(machine.roles))
        ]
        states = machine.step(states, np.stack(role_moves, axis=1)).states


def test_cards_that_are_never_dealt_are_left_out() -> None:
    circuit = dealing()
    assert len(phases.reachable(circuit)) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases, "MIN_REACH_LITERALS", 0)
        bounds = phases.reachable(circuit)
        patch.setattr(phases, "MIN_LITERALS", 0)
        phases_found = phases_of(circuit)
    holds = bounds[:, 1].any(axis=0)
    hands = {circuit.fluents[f] for f in np.flatnonzero(holds)}
    assert "(hand red 4)" in hands
    assert "(hand red 5)" not in hands
    (smaller,) = phases_found.circuits
    assert phases_found.values.shape == (1, 0)
    assert smaller.num_literals < 0.6 * circuit.num_literals
