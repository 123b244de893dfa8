"""Information sets by brute force: one state at a time, nothing shared with ggp.belief."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from weakref import WeakKeyDictionary

import numpy as np

from ggp.machine.base import Machine, States

Fluents = tuple[str, ...]
Path = list[tuple[str | None, tuple[str, ...] | None]]
"""Own executed move and sorted percepts of each turn, in KIF; None for unknown."""


def lane_of(machine: Machine, states: States, lane: int = 0) -> States:
    """A single lane of a batch."""
    return states.take(np.array([lane]))


def joint_moves(machine: Machine, state: States) -> list[tuple[tuple[int, ...], Fraction]]:
    """Every joint move of one state with its prior probability."""
    options = [machine.legal(state, r).values.tolist() for r in range(len(machine.roles))]
    prior = Fraction(1)
    for moves in options:
        prior /= len(moves)
    return [(row, prior) for row in product(*options)]


def complete_paths(
    machine: Machine, role: int, path: Path
) -> Iterator[tuple[States, Fraction, list[tuple[tuple[int, ...], tuple[int, ...]]]]]:
    """Every complete path that agrees with an incomplete one and has not ended the game.

    Yields the last state, the prior probability given the role's own known moves, and the
    joint moves with the percepts of every role.
    """

    def search(
        state: States, turn: int, weight: Fraction, turns: list[tuple[tuple[int, ...], ...]]
    ) -> Iterator[tuple[States, Fraction, list[tuple[tuple[int, ...], tuple[int, ...]]]]]:
        if machine.terminal(state)[0]:
            return
        if turn == len(path):
            yield state, weight, turns  # type: ignore[misc]
            return
        move, percepts = path[turn]
        own_legal = len(machine.legal(state, role).values)
        for row, prior in joint_moves(machine, state):
            if move is not None:
                if machine.move_text(row[role]) != move:
                    continue
                prior *= own_legal
            stepped = machine.step(state, np.array([row]))
            seen = machine.percept_texts(int(stepped.percepts[0, role]))
            if percepts is not None and seen != percepts:
                continue
            percept_ids = tuple(stepped.percepts[0].tolist())
            yield from search(
                stepped.states, turn + 1, weight * prior, [*turns, (row, percept_ids)]
            )

    yield from search(machine.initial(1), 0, Fraction(1), [])


_posteriors: WeakKeyDictionary[Machine, dict[object, dict[Fluents, float]]] = WeakKeyDictionary()


def posterior(machine: Machine, role: int, path: Path) -> dict[Fluents, float]:
    """Probability of each state of an information set; enumerated once for each machine."""
    by_path = _posteriors.setdefault(machine, {})
    key = role, tuple(path)
    if key not in by_path:
        by_path[key] = _posterior(machine, role, path)
    return dict(by_path[key])


def _posterior(machine: Machine, role: int, path: Path) -> dict[Fluents, float]:
    weights: dict[Fluents, Fraction] = {}
    for state, weight, _ in complete_paths(machine, role, path):
        fluents = machine.fluents(state)[0]
        weights[fluents] = weights.get(fluents, Fraction(0)) + weight
    total = sum(weights.values())
    return {state: float(weight / total) for state, weight in weights.items()}


def random_paths(machine: Machine, turns: int, seed: int) -> dict[int, Path]:
    """The incomplete path of every role along one random match, cut off after `turns`.

    The last turn is dropped if it ended the game.
    """
    rng = np.random.default_rng(seed)
    paths: dict[int, Path] = {role: [] for role in range(len(machine.roles))}
    state = machine.initial(1)
    for _ in range(turns):
        rows = joint_moves(machine, state)
        row, _ = rows[rng.integers(len(rows))]
        stepped = machine.step(state, np.array([row]))
        if machine.terminal(stepped.states)[0]:
            break
        state = stepped.states
        for role, path in paths.items():
            seen = machine.percept_texts(int(stepped.percepts[0, role]))
            path.append((machine.move_text(row[role]), seen))
    return paths


def distance(first: dict[Fluents, float], right: dict[Fluents, float]) -> float:
    """Total variation distance of two distributions."""
    keys: Sequence[Fluents] = sorted(set(first) | set(right))
    return sum(abs(first.get(k, 0.0) - right.get(k, 0.0)) for k in keys) / 2
