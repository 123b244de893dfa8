"""Random matches played on a machine and on the reference side by side."""

from __future__ import annotations

import random

import numpy as np

from ggp.machine import Machine, States
from ggp.machine.base import IntArray
from tests.support.plain.reference import Reference, State


def walk_together(machine: Machine, reference: Reference, *, seed: int, max_steps: int) -> int:
    """Play one random match and assert that both say the same at every step.

    Returns:
        The number of joint moves made.
    """
    assert machine.roles == reference.roles
    rng = random.Random(seed)
    states = machine.initial(1)
    state = reference.initial()
    for step in range(max_steps + 1):
        moves = compare_state(machine, reference, states, state)
        if not moves or step == max_steps:
            return step
        joint = {role: rng.choice(moves[role]) for role in machine.roles}
        expected = reference.step(state, joint)
        stepped = machine.step(states, joint_move(machine, joint))
        for role, name in enumerate(machine.roles):
            seen = machine.percept_texts(int(stepped.percepts[0, role]))
            assert seen == expected.percepts[name], f"percepts of {name} after {joint}"
        states, state = stepped.states, expected.state
    raise AssertionError("unreachable")


def compare_state(
    machine: Machine, reference: Reference, states: States, state: State
) -> dict[str, tuple[str, ...]]:
    """Assert that both see one state alike; the legal moves, or {} where the game is over."""
    texts = reference.texts(state)
    assert machine.fluents(states) == [texts]
    goals = machine.goals(states)[0].tolist()
    assert goals == [reference.goal(state, role) for role in machine.roles], texts
    over = reference.terminal(state)
    assert machine.terminal(states).tolist() == [over], texts
    if over:
        return {}
    moves = {}
    for role, name in enumerate(machine.roles):
        legal = machine.legal(states, role)[0].tolist()
        moves[name] = tuple(sorted(machine.move_text(move) for move in legal))
        assert moves[name] == reference.legal(state, name), f"{name} in {texts}"
    return moves


def joint_move(machine: Machine, moves: dict[str, str]) -> IntArray:
    """A joint move given as KIF as an array for one lane."""
    ids = [machine.move_id(moves[role]) for role in machine.roles]
    assert None not in ids, moves
    return np.array([ids], dtype=np.int64)
