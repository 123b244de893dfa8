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
    states, others = first.initial(matches), second.initial(matches)
    made = 0
    for _ in range(max_steps):
        over = compare(first, states, second, others)
        running = np.flatnonzero(~over)
        states, others = states.take(running), others.take(running)
        joint = _legal_alike(first, states, second, others, rng)
        if joint is None:
            return made
        moves, same_moves = joint
        stepped, also = first.step(states, moves), second.step(others, same_moves)
        _percepts_alike(first, stepped.percepts, second, also.percepts)
        states, others = stepped.states, also.states
        made += len(states)
    compare(first, states, second, others)
    return made


def compare(first: Machine, states: States, second: Machine, others: States) -> IntArray:
    """Assert that both see the same fluents, ends and goals; `[L]` which lanes are over."""
    assert first.fluents(states) == second.fluents(others)
    assert np.array_equal(first.groups(states), second.groups(others))
    over = first.terminal(states)
    assert np.array_equal(over, second.terminal(others))
    assert np.array_equal(first.goals(states), second.goals(others))
    return np.asarray(over)


def _legal_alike(
    first: Machine, states: States, second: Machine, others: States, rng: np.random.Generator
) -> tuple[IntArray, IntArray] | None:
    """A random joint move for every lane in the numbers of both; None where no lane goes on."""
    lanes = len(states)
    moves = np.zeros((lanes, len(first.roles)), dtype=np.int64)
    same = moves.copy()
    stuck = np.zeros(lanes, dtype=np.bool_)
    for role in range(len(first.roles)):
        legal = first.legal(states, role, allow_stuck=True)
        also = second.legal(others, role, allow_stuck=True)
        for lane in range(lanes):
            names = {first.move_text(move): move for move in legal[lane].tolist()}
            twins = {second.move_text(move): move for move in also[lane].tolist()}
            assert names.keys() == twins.keys()
            if names:
                name = sorted(names)[rng.integers(len(names))]
                moves[lane, role], same[lane, role] = names[name], twins[name]
            stuck[lane] |= not names
    # Matches that got stuck end both at the same step: nothing more can be compared.
    return None if not lanes or stuck.any() else (moves, same)


def _percepts_alike(first: Machine, seen: IntArray, second: Machine, also: IntArray) -> None:
    for one, other in zip(seen.ravel().tolist(), also.ravel().tolist(), strict=True):
        assert first.percept_texts(one) == second.percept_texts(other)
