"""Clairvoyant values by plain recursion, one state at a time: nothing shared with ggp.search."""

from __future__ import annotations

import numpy as np

from ggp.machine.base import Machine, States
from tests.support.plain.enumeration import lane_of

Goals = tuple[float, ...]
"""Of every role."""

TWO_AT_ONCE = """
(role left) (role right)
(init start)
(<= (legal ?r up) (role ?r) (true start))
(<= (legal ?r down) (role ?r) (true start))
(<= (legal ?r noop) (role ?r) (true wait))
(<= (next wait) (true start))
(<= (next same) (true start) (does left ?m) (does right ?m))
(<= (next same) (true same))
(<= (next over) (true wait))
(<= terminal (true over))
(<= (goal left 100) (true same))
(<= (goal left 0) (not (true same)))
(<= (goal right 50) (true over))
"""
"""Both choose at once; then there is a turn in which nobody has a choice."""


class Recursion:
    """Values of a game where everybody knows the state: our role, then the others, then chance."""

    def __init__(self, machine: Machine, role: int) -> None:
        self._machine, self._role = machine, role
        others_order = (
            r for r in range(len(machine.roles)) if r not in (role, machine.random_role)
        )
        self._order = (role, *others_order)
        self._memo: dict[tuple[str, ...], Goals] = {}

    def of_moves(self, state: States) -> dict[str, float]:
        """The worth of each of our moves in one state."""
        machine = self._machine
        return {
            machine.move_text(move): self._values_after(state, {self._role: move}, 1)[self._role]
            for move in machine.legal(state, self._role)[0].tolist()
        }

    def of_state(self, state: States) -> Goals:
        """What one state is worth to every role."""
        machine = self._machine
        if machine.terminal(state)[0]:
            return tuple(machine.goals(state)[0].tolist())
        key = machine.fluents(state)[0]
        if key not in self._memo:
            self._memo[key] = self._values_after(state, {}, 0)
        return self._memo[key]

    def _values_after(self, state: States, joint: dict[int, int], number: int) -> Goals:
        """Values where the first so many roles have chosen."""
        machine = self._machine
        if number == len(self._order):
            if machine.random_role is None:
                return self._step(state, joint)
            _, moves, chances = machine.chance(state)
            parts = [
                (p, self._step(state, {**joint, machine.random_role: m}))
                for m, p in zip(moves.tolist(), chances.tolist(), strict=True)
            ]
            return tuple(sum(p * goals[r] for p, goals in parts) for r in range(len(machine.roles)))
        mover = self._order[number]
        values = [
            self._values_after(state, {**joint, mover: move}, number + 1)
            for move in machine.legal(state, mover)[0].tolist()
        ]
        best = max(value[mover] for value in values)
        top = [value for value in values if value[mover] >= best - 1e-9]
        return tuple(sum(column) / len(top) for column in zip(*top, strict=True))

    def _step(self, state: States, moves: dict[int, int]) -> Goals:
        joint = np.array([[moves[r] for r in range(len(self._machine.roles))]])
        return self.of_state(self._machine.step(state, joint).states)


def reached(machine: Machine, turns: int, seed: int) -> States:
    """A state after random moves; the last one that is not over."""
    rng = np.random.default_rng(seed)
    state = machine.initial(1)
    for _ in range(turns):
        joint = [
            int(rng.choice(machine.legal(state, role)[0])) for role in range(len(machine.roles))
        ]
        successor = machine.step(state, np.array([joint])).states
        if machine.terminal(successor)[0]:
            break
        state = lane_of(machine, successor)
    return state
