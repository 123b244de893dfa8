"""Game trees by brute force: one history at a time, exact, nothing shared with `ggp.solve`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from ggp.machine import Machine, States

Known = tuple[tuple[str, tuple[str, ...]], ...]
"""The path of a role: move and percepts of each turn."""

Strategy = Mapping[Known, Mapping[str, Fraction]]
"""Probabilities of moves by the role's path."""


@dataclass(frozen=True)
class History:
    """One way through the game.

    Attributes:
        chance: probability that `random` plays its part.
        choices: of each role: its path and its move, wherever it had several moves.
        goals: of each role.
    """

    chance: Fraction
    choices: tuple[tuple[tuple[Known, str], ...], ...]
    goals: tuple[Fraction, ...]


class BruteForce:
    """All histories of a small game."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.players = [r for r in range(len(machine.roles)) if r != machine.random_role]
        self.moves: list[dict[Known, list[str]]] = [{} for _ in machine.roles]
        nothing: tuple[Known, ...] = tuple(() for _ in machine.roles)
        self.histories = list(
            self._from(machine.initial(1), Fraction(1), nothing, tuple([()] * len(machine.roles)))
        )

    def value(self, role: int, strategies: Mapping[int, Strategy]) -> Fraction:
        """The expected goal value of a role."""
        total = Fraction(0)
        for history in self.histories:
            weight = history.chance
            for player in self.players:
                for path, move in history.choices[player]:
                    weight *= strategies[player][path].get(move, Fraction(0))
            total += weight * history.goals[role]
        return total

    def best(self, role: int, strategies: Mapping[int, Strategy]) -> Fraction:
        """The value of the best pure strategy of a role, found by trying all of them."""
        sets = self.moves[role]
        # What happens without the role's own choices: weight by what it would have to choose.
        weights: dict[tuple[tuple[Known, str], ...], Fraction] = {}
        for history in self.histories:
            weight = history.chance * history.goals[role]
            for player in self.players:
                if player != role:
                    for path, move in history.choices[player]:
                        weight *= strategies[player][path].get(move, Fraction(0))
            sequence = history.choices[role]
            weights[sequence] = weights.get(sequence, Fraction(0)) + weight
        best: Fraction | None = None
        for moves in product(*sets.values()):
            assignment = dict(zip(sets, moves, strict=True))
            value = sum(
                (
                    weight
                    for sequence, weight in weights.items()
                    if all(assignment[path] == move for path, move in sequence)
                ),
                Fraction(0),
            )
            best = value if best is None else max(best, value)
        assert best is not None
        return best

    def _from(
        self,
        state: States,
        chance: Fraction,
        paths: tuple[Known, ...],
        choices: tuple[tuple[tuple[Known, str], ...], ...],
    ) -> Iterator[History]:
        machine = self.machine
        if machine.terminal(state)[0]:
            goals = tuple(map(Fraction, machine.goals(state)[0].tolist()))
            yield History(chance, choices, goals)
            return
        legal = [machine.legal(state, role).values.tolist() for role in range(len(machine.roles))]
        for role in self.players:
            if len(legal[role]) > 1:
                self.moves[role][paths[role]] = sorted(map(machine.move_text, legal[role]))
        for row in product(*legal):
            stepped = machine.step(state, np.array([row]))
            texts = [machine.move_text(move) for move in row]
            seen = [machine.percept_texts(p) for p in stepped.percepts[0].tolist()]
            weight = chance
            if machine.random_role is not None:
                weight /= len(legal[machine.random_role])
            yield from self._from(
                stepped.states,
                weight,
                tuple(
                    (*k, (text, tuple(saw)))
                    for k, text, saw in zip(paths, texts, seen, strict=True)
                ),
                tuple(
                    (*moves_made, (paths[role], texts[role]))
                    if len(legal[role]) > 1
                    else moves_made
                    for role, moves_made in enumerate(choices)
                ),
            )
