"""Two machines of one game played side by side, many random matches at a time."""

from __future__ import annotations

import numpy as np

from ggp.machine import Machine, States
from ggp.machine.base import IntArray


def play_both(
    first: Machine, second: Machine, *, matches: int, max_steps: int, seed: int = 0
) -> int:
    """Play random matches on both, and assert that they say the same at every step.

    Returns:
        The number of joint moves made.
    """
    rng = np.random.default_rng(seed)
    states, second_states = first.initial(matches), second.initial(matches)
    num_steps = 0
    for _ in range(max_steps):
        over = compare(first, states, second, second_states)
        running = np.flatnonzero(~over)
        states, second_states = states.take(running), second_states.take(running)
        joint = _legal_alike(first, states, second, second_states, rng)
        if joint is None:
            return num_steps
        moves, same_moves = joint
        stepped, also = first.step(states, moves), second.step(second_states, same_moves)
        _percepts_alike(first, stepped.percepts, second, also.percepts)
        states, second_states = stepped.states, also.states
        num_steps += len(states)
    compare(first, states, second, second_states)
    return num_steps


def compare(first: Machine, states: States, second: Machine, second_states: States) -> IntArray:
    """Assert that both see the same fluents, ends and goals; `[L]` which lanes are over."""
    assert first.fluents(states) == second.fluents(second_states)
    assert np.array_equal(first.groups(states), second.groups(second_states))
    over = first.terminal(states)
    assert np.array_equal(over, second.terminal(second_states))
    assert np.array_equal(first.goals(states), second.goals(second_states))
    return np.asarray(over)


def _legal_alike(
    first: Machine, states: States, second: Machine, second_states: States, rng: np.random.Generator
) -> tuple[IntArray, IntArray] | None:
    """A random joint move for every lane in the numbers of both; None where no lane goes on."""
    lanes = len(states)
    moves = np.zeros((lanes, len(first.roles)), dtype=np.int64)
    second_moves = moves.copy()
    stuck = np.zeros(lanes, dtype=np.bool_)
    for role in range(len(first.roles)):
        legal = first.legal(states, role, allow_stuck=True)
        also = second.legal(second_states, role, allow_stuck=True)
        for lane in range(lanes):
            names = {first.move_text(move): move for move in legal[lane].tolist()}
            twins = {second.move_text(move): move for move in also[lane].tolist()}
            assert names.keys() == twins.keys()
            if names:
                name = sorted(names)[rng.integers(len(names))]
                moves[lane, role], second_moves[lane, role] = names[name], twins[name]
            stuck[lane] |= not names
    # Matches that got stuck end both at the same step: nothing more can be compared.
    return None if not lanes or stuck.any() else (moves, second_moves)


def _percepts_alike(first: Machine, seen: IntArray, second: Machine, also: IntArray) -> None:
    for percept, second_percept in zip(seen.ravel().tolist(), also.ravel().tolist(), strict=True):
        assert first.percept_texts(percept) == second.percept_texts(second_percept)
