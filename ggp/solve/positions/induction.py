"""Solves a game position by position, from the last turn to the first.

Every position is a matrix game whose entries are the values of what may come (Shapley, "Stochastic
games", 1953, for games that end). What each player could gain by a best response is backed up
beside the values, so that the result says by itself how good it is, whatever rounding did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.errors import SolvingError
from ggp.machine.arrays import chunks
from ggp.machine.base import FloatArray, IntArray, Machine
from ggp.solve.positions.graph import (
    PositionBounds,
    PositionGraph,
    PositionLayer,
    find_positions,
)
from ggp.solve.positions.matrix_kernels import back_up
from ggp.solve.trees.tree import CONSTANT_SUM_TOLERANCE

JOINT_MOVES_AT_ONCE = 1 << 19
"""Number of joint moves whose values are backed up before the clock is looked at again."""


@dataclass(frozen=True)
class PositionSolution:
    """A solved game.

    Attributes:
        graph: its positions.
        values: `[2]` value of the game to each player.
        gains: `[2]` gain of each player by deviating alone.
        plans: for each player and layer, the probability of each of its moves in `legal`.
        is_at_once: whether both players have a choice in some position.
    """

    graph: PositionGraph
    values: tuple[float, float]
    gains: tuple[float, float]
    plans: tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]
    is_at_once: bool

    @property
    def nash_conv(self) -> float:
        """The sum of the gains; 0 in an equilibrium, but for rounding."""
        return sum(self.gains)

    @property
    def goal_spread(self) -> float:
        """The greatest difference between two goal values of one player; 1 if there is none."""
        return float(np.ptp(self.graph.goals[self.graph.is_end], axis=0).max()) or 1.0


def solve_positions(machine: Machine, bounds: PositionBounds) -> PositionSolution:
    """Solve a game that `suits`.

    Raises:
        SolvingError: see `find_positions`; or what one player wins the other does not lose.
    """
    graph = find_positions(machine, bounds)
    sums = graph.goals[graph.is_end].sum(axis=1)
    total = float(sums[0])
    if np.ptp(sums) > CONSTANT_SUM_TOLERANCE * max(1.0, abs(total)):
        raise SolvingError(
            "what one player wins the other does not lose, so that the game cannot be solved "
            "position by position"
        )
    values = np.repeat(graph.goals[None, :, 0], 3, axis=0)
    rows, columns = [], []
    at_once = False
    for layer in reversed(graph.layers):
        counts = layer.counts
        at_once |= bool((counts[:, list(graph.players)] > 1).all(axis=1).any())
        row_plan, column_plan = _solved(graph, layer, counts, values, bounds)
        rows.append(row_plan)
        columns.append(column_plan)
    value, best, least = values[:, 0].tolist()
    return PositionSolution(
        graph,
        (value, total - value),
        (max(best - value, 0.0), max(value - least, 0.0)),
        (tuple(rows[::-1]), tuple(columns[::-1])),
        at_once,
    )


def _solved(
    graph: PositionGraph,
    layer: PositionLayer,
    counts: IntArray,
    values: FloatArray,
    bounds: PositionBounds,
) -> tuple[FloatArray, FloatArray]:
    """Fill in the values of a layer; the plans of both players in it."""
    # Strides of roles in the order of the rules, of which the last one changes fastest.
    strides = np.ones_like(counts)
    strides[:, :-1] = np.cumprod(counts[:, :0:-1], axis=1)[:, ::-1]
    first, second = graph.players
    random = graph.machine.random_role
    none, one = np.zeros(len(counts), dtype=np.int64), np.ones(len(counts), dtype=np.int64)
    chosen = [layer.legal[first].offsets[:-1], layer.legal[second].offsets[:-1]]
    chosen.append(none if random is None else layer.legal[random].offsets[:-1])

    def columns(table: IntArray) -> IntArray:
        last = one if random is None else table[:, random]
        return np.stack([table[:, first], table[:, second], last], axis=1)

    row_plan = np.zeros(len(layer.legal[first].values))
    column_plan = np.zeros(len(layer.legal[second].values))
    most = int(counts[:, [first, second]].max()) + 1
    scratch = np.zeros((2, most, most))
    counted, strided, offsets = columns(counts), columns(strides), np.stack(chosen, axis=1)
    for start, end in chunks(np.prod(counts, axis=1), JOINT_MOVES_AT_ONCE):
        if bounds.is_over():
            raise SolvingError("time is up before the game is solved")
        back_up(
            counted[start:end],
            strided[start:end],
            layer.starts[start:end],
            layer.children,
            layer.numbers[start:end],
            layer.chances,
            offsets[start:end],
            values,
            row_plan,
            column_plan,
            scratch[0],
            scratch[1],
            np.zeros(2 * most, dtype=np.int64),
        )
    return row_plan, column_plan


# ------------------------------------------------------------------------
# Plays a role's part in a game that was solved position by position.
#
# Everybody is told the joint moves, so a match is followed from position to position by these.


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
