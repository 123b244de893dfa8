"""What playouts leave out cannot matter."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine.arrays import unpack
from ggp.machine.base import States
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.play.layout import phases
from ggp.machine.propnet.play.layout.phases import phases_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import PropnetStates
from ggp.search.moves import random_moves
from tests.machine.propnet.circuits import circuit_of, dealing

WRITING = """
(role a) (role random)
(init (line 1))
(succ 1 2) (succ 2 3) (succ 3 4)
(value 1) (value 2) (value 3) (value 4) (value 5) (value 6)
(<= writing (true (line ?n)))
(<= (legal a (write ?x)) (value ?x) writing)
(<= (legal a noop) (not writing))
(<= (legal random noop) writing)
(<= (legal random (draw ?x)) (value ?x) (not writing))
(<= (next (line ?m)) (true (line ?n)) (succ ?n ?m))
(<= (next (written ?n ?x)) (true (line ?n)) (does a (write ?x)))
(<= (next (written ?n ?x)) (true (written ?n ?x)))
(<= (next (drawn ?x)) (does random (draw ?x)))
(<= terminal (true (drawn ?x)) (true (written 2 ?x)))
(<= won (true (drawn ?x)) (true (written 1 ?x)))
(<= (goal a 100) won)
(<= (goal a 0) (not won))
"""
"""Four values are written, then some are drawn until the second is met."""


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
    assert phases_found.is_tested.tolist() == [True, False]
    assert phases_found.circuits[0].num_literals < 0.8 * phases_found.circuits[1].num_literals
    assert phases_found.circuits[1].num_literals < 0.6 * circuit.num_literals


def test_lanes_play_on_after_an_opening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(phases, "MIN_REACH_LITERALS", 0)
    monkeypatch.setattr(phases, "MIN_LITERALS", 0)
    circuit = build_circuit(ground(normalize(parse(WRITING))))
    machine = PropnetMachine(circuit, is_gdl2=False)
    plan = machine.playout_plan
    opening = phases_of(circuit).fluents
    assert {circuit.fluents[f] for f in opening} == {f"(line {n})" for n in range(1, 5)}
    assert plan.tested.all()
    size = 20_000
    playouts = machine.playout(machine.initial(size), np.random.default_rng(0))
    assert playouts.finished.all()
    assert (playouts.steps > 4).all()
    # After four steps, one of six ends it. What is drawn last was written first by one of six.
    assert abs(playouts.steps.mean() - 10) < 5 * np.sqrt(30 / size)
    assert abs((playouts.goals[:, 0] == 100).mean() - 1 / 6) < 5 * np.sqrt(5 / 36 / size)
