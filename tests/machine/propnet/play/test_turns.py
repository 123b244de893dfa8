"""Turns made together with questions about what follows, against one question at a time."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.machine.base import States
from ggp.machine.layers import JointMoves
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.search.moves import joint_moves, random_moves
from tests.support.games import machine_of_game

GAMES = ("kriegspiel_5x5", "krieg_tic_tac_toe", "meier", "monty_hall")


def circuit_of(game: str) -> PropnetMachine:
    machine = machine_of_game(game, "propnet")
    assert isinstance(machine, PropnetMachine)
    return machine


def random_states(machine: PropnetMachine, turns: int, seed: int) -> States:
    """States of random play that are not over, of all lengths up to so many turns."""
    rng = np.random.default_rng(seed)
    states: States = machine.initial(60)
    batches = [states]
    for _ in range(turns):
        joint = [random_moves(machine, states, role, rng) for role in range(len(machine.roles))]
        states = machine.step(states, np.stack(joint, axis=1)).states
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        batches.append(states)
    joined = machine.concatenate(batches)
    return joined.take(np.sort(rng.permutation(len(joined))[:60]))


@pytest.mark.parametrize("game", GAMES)
def test_turns_are_those_of_single_questions(game: str) -> None:
    machine = circuit_of(game)
    states = random_states(machine, 20, 0)
    options = joint_moves(machine, states, 0)
    lanes, joint = options.between(0, min(1500, int(options.offsets[-1])))
    turned = machine.turned(states, lanes, joint, percepts=True, before=options.lists)
    plain = machine.step(states.take(lanes), joint)
    assert turned is not None
    assert turned.move_facts is not None
    assert (machine.fluent_words(turned.states) == machine.fluent_words(plain.states)).all()
    assert (turned.percepts == plain.percepts).all()
    over = machine.terminal(plain.states)
    assert (turned.over == over).all()
    on = np.flatnonzero(~over)
    options_after = JointMoves.of(machine, plain.states.take(on))
    assert (turned.move_facts.choices[on] == np.minimum(options_after.counts, 2)).all()
    for role, (list_before, list_after) in enumerate(
        zip(options_after.lists, options.lists, strict=True)
    ):
        for row, k in enumerate(on.tolist()):
            moves_after = set(
                list_before.values[list_before.offsets[row] : list_before.offsets[row + 1]].tolist()
            )
            state = lanes[k]
            moves_before = list_after.values[
                list_after.offsets[state] : list_after.offsets[state + 1]
            ].tolist()
            assert turned.move_facts.news[k, role] == bool(moves_after - set(moves_before))
            assert turned.move_facts.agains[k, role] == (joint[k, role] in moves_after)
    # The scratch is as it was: the same again, without what is not wanted.
    without_percepts = machine.turned(states, lanes, joint, percepts=False)
    assert without_percepts is not None
    assert without_percepts.move_facts is None
    assert not len(without_percepts.percepts)
    assert (
        machine.fluent_words(without_percepts.states) == machine.fluent_words(plain.states)
    ).all()
    assert (without_percepts.over == over).all()


@pytest.mark.parametrize("game", GAMES)
def test_moves_are_counted_as_they_are_listed(game: str) -> None:
    machine = circuit_of(game)
    states = random_states(machine, 20, 1)
    options_after = JointMoves.of(machine, states)
    counts = machine.choices(states)
    assert counts is not None
    assert (counts == np.minimum(options_after.counts, 2)).all()


def test_moves_that_do_not_exist_are_named() -> None:
    machine = circuit_of("krieg_tic_tac_toe")
    wrong = np.array([[0, 1 << 20]])
    with pytest.raises(MachineError, match="no move number 1048576"):
        machine.turned(machine.initial(1), np.zeros(1, dtype=np.int64), wrong, percepts=False)
