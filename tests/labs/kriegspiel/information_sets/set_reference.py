"""EU_d and PU_d as the formulas have them: one history at a time, nothing of ggp.search."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from ggp.machine.base import Machine, States

Fluents = tuple[str, ...]

History = tuple[Fluents, float]
"""A state, and a probability."""


class Kind(NamedTuple):
    """Which values are asked for."""

    paranoid: bool
    leaf_min: bool
    tries: int


class Rules:
    """A machine that answers about one state at a time, and remembers its answers."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._states: dict[Fluents, States] = {}
        self.legal = cache(self._legal)
        self.step = cache(self._step)
        self.end = cache(self._end)

    def named(self, state: States) -> Fluents:
        """The name of a state of one lane."""
        (name,) = self.machine.fluents(state)
        self._states.setdefault(name, state)
        return name

    def _legal(self, state: Fluents, role: int) -> list[int]:
        states = self._states[state]
        if role == self.machine.random_role:
            moves: list[int] = self.machine.chance(states).moves.tolist()
        else:
            moves = self.machine.legal(states, role, allow_stuck=True).values.tolist()
        return moves

    def _step(self, state: Fluents, row: tuple[int, ...]) -> tuple[Fluents, tuple[int, ...]]:
        stepped = self.machine.step(self._states[state], np.array([row], dtype=np.int64))
        return self.named(stepped.states), tuple(stepped.percepts[0].tolist())

    def _end(self, state: Fluents) -> tuple[float, ...] | None:
        states = self._states[state]
        if not self.machine.terminal(states)[0]:
            return None
        return tuple(self.machine.goals(states)[0].tolist())


class Reference:
    """Values of information sets of one role by plain recursion (paper 000, Equations 2 and 3)."""

    def __init__(
        self, rules: Rules, role: int, kind: Kind, evaluate: Callable[[Fluents], float]
    ) -> None:
        self._rules, self._role, self._evaluate = rules, role, evaluate
        self._num_roles = len(rules.machine.roles)
        self._chance = rules.machine.random_role
        self._paranoid, self._leaf_min, self._tries = kind

    def moves(self, histories: list[History], depth: int, free: int) -> dict[str, float]:
        """The value of each move in an information set."""
        names = {m for state, _ in histories for m in self._rules.legal(state, self._role)}
        return {
            self._rules.machine.move_text(move): self._value_after(histories, move, depth, free)
            for move in names
        }

    def value(self, histories: list[History], depth: int, free: int) -> float:
        """The value of an information set none of whose histories is over."""
        if depth == 0:
            values = [self._evaluate(state) for state, _ in histories]
            if self._leaf_min:
                return min(values)
            return float(np.average(values, weights=[weight for _, weight in histories]))
        return max(self.moves(histories, depth, free).values())

    def _value_after(self, histories: list[History], move: int, depth: int, free: int) -> float:
        """The mean or the least of what may follow a move, chance being averaged."""
        outcomes: list[tuple[float, list[tuple[float, float | int]]]] = []
        children: dict[int, list[History]] = {}
        refused: dict[int, bool] = {}
        for state, weight in histories:
            lists = [self._rules.legal(state, r) for r in range(self._num_roles)]
            lists[self._role] = [move]
            by_chance = [-1] if self._chance is None else lists[self._chance]
            choices = [[-1] if r == self._chance else legal for r, legal in enumerate(lists)]
            combinations = list(product(*choices))
            for joint in combinations:
                share = weight / len(combinations)
                p = 1 / len(by_chance)
                parts: list[tuple[float, float | int]] = []
                for outcome in by_chance:
                    row = tuple(outcome if r == self._chance else m for r, m in enumerate(joint))
                    successor, percepts = self._rules.step(state, row)
                    if (goals := self._rules.end(successor)) is not None:
                        parts.append((p, goals[self._role]))
                        continue
                    seen = percepts[self._role]
                    children.setdefault(seen, []).append((successor, share * p))
                    refused[seen] = refused.get(seen, False) or self._is_refused(
                        state, row, successor
                    )
                    parts.append((p, seen))
                outcomes.append((share, parts))
        worth = {}
        for seen, sets in children.items():
            costs_no_ply = refused[seen] and free > 0
            budget = (depth, free - 1) if costs_no_ply else (depth - 1, self._tries)
            worth[seen] = self.value(sets, *budget)
        values = [
            sum(p * (worth[part] if isinstance(part, int) else part) for p, part in parts)
            for _, parts in outcomes
        ]
        if self._paranoid:
            return min(values)
        return float(np.average(values, weights=[share for share, _ in outcomes]))

    def _is_refused(self, state: Fluents, row: tuple[int, ...], successor: Fluents) -> bool:
        legal = self._rules.legal
        choosing = [r for r in range(len(row)) if len(legal(state, r)) > 1]
        if not self._tries or len(choosing) != 1 or choosing[0] == self._chance:
            return False
        (mover,) = choosing
        moves = set(legal(state, mover))

        def same_turn(states: Fluents) -> bool:
            idle = all(len(legal(states, r)) <= 1 for r in range(len(row)) if r != mover)
            return idle and set(legal(states, mover)) <= moves

        if not same_turn(successor) or row[mover] in legal(successor, mover):
            return False
        for reply in moves:
            joint = tuple(reply if r == mover else m for r, m in enumerate(row))
            led, _ = self._rules.step(state, joint)
            if self._rules.end(led) is None and not same_turn(led):
                return True
        return False
