"""Plays a role's part in a game that was solved position by position.

Everybody is told the joint moves, so a match is followed from position to position by these.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.solve.positions.induction import PositionSolution


class PositionPart:
    """The part of one role; a `ggp.solve.following.RolePart`.

    Args:
        solution: a solved game.
        role: index of a role that is not `random`.
    """

    start = 0

    def __init__(self, solution: PositionSolution, role: int) -> None:
        self._graph = graph = solution.graph
        self._role = role
        self._plans = solution.plans[graph.players.index(role)]
        # The layer of each position, and its place there; -1 where the game is over.
        self._layers = np.full(graph.num_positions, -1)
        self._places = np.zeros(graph.num_positions, dtype=np.int64)
        for number, layer in enumerate(graph.layers):
            self._layers[layer.numbers] = number
            self._places[layer.numbers] = np.arange(len(layer.numbers))

    def after(self, path: int, move: int, percepts: int) -> int | None:
        """The next position; None if the percepts do not tell all moves, or they are not legal."""
        told = self._graph.machine.told_moves(np.array([percepts], dtype=np.int64))
        if told is None or self._layers[path] < 0:
            return None
        joint = told[0].copy()
        joint[self._role] = move
        layer, place = self._graph.layers[self._layers[path]], int(self._places[path])
        child = 0
        for legal, made in zip(layer.legal, joint.tolist(), strict=True):
            moves = legal[place]
            found = np.flatnonzero(moves == made)
            if not len(found):
                return None
            child = child * len(moves) + int(found[0])
        return int(layer.children[layer.starts[place] + child])

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of the role at a position and their probabilities."""
        number, place = int(self._layers[path]), int(self._places[path])
        if number < 0:
            return None
        legal = self._graph.layers[number].legal[self._role]
        start, end = legal.offsets[place : place + 2].tolist()
        if end - start < 2:
            return None
        return legal.values[start:end], self._plans[number][start:end]
