"""Circuits agree with the rules, and are well formed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Machine
from ggp.machine.circuit import Circuit, Outputs
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from tests.machine.propnet.circuits import circuit_of
from tests.machine.propnet.evaluate import Bits, evaluate, read
from tests.support.comparing.batches import live, mixed_states, random_joint_moves
from tests.support.games import (
    MODEST_GAMES,
    machine_of_game,
    machine_of_rules,
    machine_of_shared,
)

SHARED = (
    "gdl2/blind_breakthrough_5x5.gdl",
    "gdl2/kriegTTT_4x4.gdl",
    "gdl2/montyhall.gdl",
    "gdl2/transit.gdl",
    "gdl1/connectFour.kif",
    "gdl1/ticTacToe.kif",
)

REACH = """
(role walker)
(node a) (node b) (node c) (node d)
(init (edge a b)) (init (at a))
(<= (legal walker (join ?x ?y)) (node ?x) (node ?y) (distinct ?x ?y))
(<= (next (edge ?x ?y)) (does walker (join ?x ?y)))
(<= (next (edge ?x ?y)) (true (edge ?x ?y)))
(<= (next (at a)) (true (at a)))
(<= (reach ?x ?y) (true (edge ?x ?y)))
(<= (reach ?x ?z) (reach ?x ?y) (reach ?y ?z))
(<= (sees walker (reaches ?y)) (true (at ?x)) (reach ?x ?y))
(<= (cycle ?x) (reach ?x ?x))
(<= terminal (cycle ?x) (not (cycle d)))
(<= (goal walker 100) (reach a d))
(<= (goal walker 0) (not (reach a d)))
"""
"""Relations that depend on themselves."""


def fluents_of(circuit: Circuit, machine: Machine, texts: list[tuple[str, ...]]) -> Bits:
    """`[L, F]` states given as texts."""
    place = {name: i for i, name in enumerate(circuit.fluents)}
    states = np.zeros((len(texts), len(place)), dtype=np.bool_)
    for lane, fluents in enumerate(texts):
        assert set(circuit.constant) <= set(fluents)
        for fluent in fluents:
            if fluent not in circuit.constant:
                states[lane, place[fluent]] = True
    return states


def holding(outputs: Outputs, nets: Bits) -> list[tuple[str, ...]]:
    """The names of what holds in each lane, sorted."""
    values = read(nets, outputs.literals)
    return [tuple(sorted(outputs.names[i] for i in np.flatnonzero(lane))) for lane in values]


def assert_same(circuit: Circuit, machine: Machine, *, seed: int, depth: int = 14) -> None:
    """A circuit says of states of random matches what another machine says."""
    rng = np.random.default_rng(seed)
    states = mixed_states(machine, seed, lanes=3, depth=depth)
    lanes = fluents_of(circuit, machine, machine.fluents(states))
    num_moves = circuit.num_inputs - len(circuit.fluents)
    nets = evaluate(circuit, lanes, np.zeros((len(lanes), num_moves), dtype=np.bool_))
    over = machine.terminal(states)
    assert read(nets, np.array([circuit.terminal]))[:, 0].tolist() == over.tolist()
    for role, outputs in enumerate(circuit.goals):
        holds = read(nets, outputs.literals)
        goals = [next((outputs.names[k] for k in np.flatnonzero(lane)), "0") for lane in holds]
        assert list(map(float, goals)) == machine.goals(states)[:, role].tolist()
    playing = live(machine, states)
    for role, outputs in enumerate(circuit.legal):
        legal = machine.legal(playing, role)
        expected = [
            tuple(sorted(machine.move_text(move) for move in legal[lane].tolist()))
            for lane in range(len(playing))
        ]
        assert holding(outputs, nets[~over]) == expected

    joint = random_joint_moves(machine, playing, rng)
    stepped = machine.step(playing, joint)
    moves = np.zeros((len(playing), num_moves), dtype=np.bool_)
    first = 0
    for role, outputs in enumerate(circuit.legal):
        for lane, move in enumerate(joint[:, role].tolist()):
            moves[lane, first + outputs.names.index(machine.move_text(move))] = True
        first += len(outputs.names)
    nets = evaluate(circuit, lanes[~over], moves)
    next_fluents = fluents_of(circuit, machine, machine.fluents(stepped.states))
    assert (read(nets, circuit.next) == next_fluents).all()
    if any(len(outputs.names) for outputs in circuit.sees):
        for role, outputs in enumerate(circuit.sees):
            percepts = [machine.percept_texts(i) for i in stepped.percepts[:, role].tolist()]
            assert holding(outputs, nets) == percepts


def assert_well_made(circuit: Circuit) -> None:
    """The invariants that the docstring of `Circuit` promises."""
    first_net = 1 + circuit.num_inputs
    loop_of = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    assert [loop.start for loop in circuit.loops] == sorted(loop.start for loop in circuit.loops)
    seen = set()
    for gate in range(circuit.num_gates):
        literals = circuit.literals[circuit.offsets[gate] : circuit.offsets[gate + 1]].tolist()
        end = loop_of[gate].end if gate in loop_of else gate
        assert all(0 <= literal >> 1 < first_net + end for literal in literals)
        assert len({literal >> 1 for literal in literals}) == len(literals)
        if gate not in loop_of:
            assert len(literals) > 1
            assert min(literals) > 1
            assert tuple(literals) not in seen
            seen.add(tuple(literals))
    assert list(circuit.fluents) == sorted(circuit.fluents)
    assert list(circuit.constant) == sorted(circuit.constant)
    assert len(circuit.goals) == len(circuit.roles)
    for outputs in circuit.goals:
        assert all(name != next_one for name, next_one in pairwise(outputs.names))
    for group in (circuit.legal, circuit.sees):
        assert len(group) == len(circuit.roles)
        assert all(list(outputs.names) == sorted(outputs.names) for outputs in group)


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_circuits_of_our_games_agree_with_prolog(game: str) -> None:
    assert_well_made(circuit_of(game))
    assert_same(circuit_of(game), machine_of_game(game), seed=1)


@pytest.mark.parametrize("game", SHARED)
def test_circuits_of_real_rulesheets_agree_with_prolog(game: str) -> None:
    assert_well_made(circuit_of(game))
    assert_same(circuit_of(game), machine_of_shared(game), seed=2, depth=30)


def test_relations_that_depend_on_themselves_become_loops() -> None:
    circuit = build_circuit(ground(normalize(parse(REACH))))
    assert len(circuit.loops) == 1
    assert_well_made(circuit)
    assert_same(circuit, machine_of_rules(REACH), seed=3)


WIRE = """
(role fitter)
(after c b) (after b e) (after e a) (after a d)
(init (live c))
(<= (legal fitter (cut ?x ?y)) (after ?x ?y))
(<= (next (live c)) (true (live c)))
(<= (next (broken ?x ?y)) (does fitter (cut ?x ?y)))
(<= (lit ?x) (true (live ?x)))
(<= (lit ?y) (lit ?x) (after ?x ?y) (not (true (broken ?x ?y))))
(<= (lit ?x) (lit ?y) (after ?x ?y) (not (true (broken ?x ?y))))
(<= terminal (not (lit d)))
(<= (goal fitter 100) (not (lit d)))
(<= (goal fitter 0) (lit d))
"""


def test_what_holds_is_passed_along_a_whole_loop_in_one_round() -> None:
    circuit = build_circuit(ground(normalize(parse(WIRE))))
    (loop,) = circuit.loops
    fluents = np.array([[name == "(live c)" for name in circuit.fluents]])
    nets = evaluate(circuit, fluents, np.zeros((1, 4), dtype=np.bool_))[0]
    first = 1 + circuit.num_inputs
    settled = nets[first + loop.start : first + loop.end].copy()
    assert (settled != loop.initial).any()
    nets[first + loop.start : first + loop.end] = loop.initial
    gates = np.split(circuit.literals, circuit.offsets[1:-1])
    # The second round lets the rules that lead back know it.
    for gate in 2 * list(range(loop.start, loop.end)):
        nets[first + gate] = read(nets[None], gates[gate]).all()
    assert (nets[first + loop.start : first + loop.end] == settled).all()
