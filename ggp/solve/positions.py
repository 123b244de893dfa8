"""Solves games of two players with constant sum in which everybody always knows the state.

A `Machine` goes in, a `PositionSolution` comes out: this module finds the positions layer by layer,
backs up their values from the last layer to the first, and follows a match by the joint moves.

Such a game may have chance and simultaneous moves, which players have to mix. But memory is of no
use: a strategy is a mixed move for each state. So each state needs only a matrix of values, where a
tree of sequences would have a leaf for each path through the game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import SolvingError
from ggp.machine.arrays import chunks
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    States,
    is_open,
    player_roles,
)
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.layers import JointMoves, StateMerger
from ggp.solve.tree import CONSTANT_SUM_TOLERANCE, LANES_AT_ONCE

MAX_JOINT_MOVES = 30_000_000
"""Greatest number of joint moves of all positions together: each takes four bytes, and temporarily
more."""

MAX_PAYOFFS = 1 << 17
"""Greatest number of joint moves of the two players in a position in which both have a choice.
Larger linear programs take long and cannot be stopped: 0.02 s with 200 moves of each, 0.5 s with
362, up to 1.6 s with 400, and 24 s with 800, where rounding errors made the result useless."""

LISTED_AT_ONCE = 4096
"""Number of states whose legal moves are listed before they are counted."""

JOINT_MOVES_AT_ONCE = 1 << 19
"""Number of joint moves whose values are backed up between two checks of the clock."""


class PositionBounds(NamedTuple):
    """Bounds on a game; larger games are refused.

    Attributes:
        positions: greatest number of positions.
        joint_moves: greatest number of joint moves of all of them together.
        turns: greatest number of turns.
        payoffs: see `MAX_PAYOFFS`.
        at_once_by: refuse a game if among this many positions there is none with simultaneous
            choices; 0 to accept all.
        is_over: whether to give up; called a few times a second.
        progress: called with the number of turns and of positions so far.
    """

    positions: int
    joint_moves: int = MAX_JOINT_MOVES
    turns: int = DEFAULT_MAX_STEPS
    payoffs: int = MAX_PAYOFFS
    at_once_by: int = 0
    is_over: Callable[[], bool] = lambda: False
    progress: Callable[[int, int], None] = lambda turns, positions: None


@dataclass(frozen=True, slots=True)
class PositionLayer:
    """The positions after a number of turns at which the game is not over, E of them.

    Attributes:
        numbers: `[E]` their numbers in the graph.
        moves: their joint moves, with those of `random` as `Machine.chance` lists them.
        children: the position after each joint move; there may be many millions.
    """

    numbers: IntArray
    moves: JointMoves
    children: NDArray[np.int32]


@dataclass(frozen=True)
class PositionGraph:
    """All N positions of a game of two players in which everybody knows the state.

    A position is only a state, so there are far fewer than nodes of a `GameTree`, which also have
    everybody's past. The graph stores the legal moves of each position and the position after each
    joint move, but no states: the joint moves of a match are enough to follow it.

    Attributes:
        machine: the machine of the game.
        players: the two roles that are not `random`.
        layers: positions and moves turn by turn; numbers grow from layer to layer.
        goals: `[N, 2]` goal values of the players where the game is over, else 0.
        is_end: `[N]` whether the game is over.
    """

    machine: Machine
    players: tuple[int, int]
    layers: tuple[PositionLayer, ...]
    goals: FloatArray
    is_end: BoolArray

    @property
    def num_positions(self) -> int:
        return len(self.goals)

    @property
    def choices(self) -> tuple[int, int]:
        """The number of positions in which each player has a choice."""
        first, second = (
            sum(int((layer.moves.counts[:, role] > 1).sum()) for layer in self.layers)
            for role in self.players
        )
        return first, second


@dataclass(frozen=True)
class PositionSolution:
    """A solved game.

    Attributes:
        graph: its positions.
        values: `[2]` value of the game to each player.
        gains: `[2]` gain of each player by deviating alone.
        plans: for each player and layer, the probability of each of its moves as listed.
        is_at_once: whether both players have a choice in some position.
    """

    graph: PositionGraph
    values: tuple[float, float]
    gains: tuple[float, float]
    plans: tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]
    is_at_once: bool

    @property
    def nash_conv(self) -> float:
        """The sum of the gains; 0 in an equilibrium, except for rounding."""
        return sum(self.gains)

    @property
    def goal_spread(self) -> float:
        """The greatest difference between two goal values of one player; 1 if there is none."""
        return float(np.ptp(self.graph.goals[self.graph.is_end], axis=0).max()) or 1.0


def suits(machine: Machine) -> bool:
    """Whether a game has two players, and everybody always knows the state."""
    return len(player_roles(machine)) == 2 and is_open(machine)


def find_positions(machine: Machine, bounds: PositionBounds) -> PositionGraph:
    """All positions of a game that `suits`.

    Raises:
        SolvingError: there are too many, or the game may not end, or time is up.
        NoLegalMoveError, ReasonerLimitError, GoalError: raised by the machine.
    """
    return _Finder(machine, bounds).find()


class _Finder:
    def __init__(self, machine: Machine, bounds: PositionBounds) -> None:
        self._machine, self._bounds = machine, bounds
        first, second = player_roles(machine)
        self._players = (first, second)
        self._num_positions = 1
        self._num_joint = 0
        self._turn = 0
        self._is_at_once = False

    def find(self) -> PositionGraph:
        states = self._machine.initial(1)
        layers: list[PositionLayer] = []
        goals: list[FloatArray] = []
        ends = []
        while len(states):
            over = self._machine.terminal(states)
            worth = np.zeros((len(states), 2))
            terminal, going = np.flatnonzero(over), np.flatnonzero(~over)
            if len(terminal):
                worth[terminal] = self._machine.goals(states.take(terminal))[:, list(self._players)]
            goals.append(worth)
            ends.append(over)
            numbers = self._num_positions - len(states) + going
            states = states.take(going)
            if len(states):
                layer, states = self._next(states, numbers)
                layers.append(layer)
        return PositionGraph(
            self._machine,
            self._players,
            tuple(layers),
            np.concatenate(goals),
            np.concatenate(ends),
        )

    def _next(self, states: States, numbers: IntArray) -> tuple[PositionLayer, States]:
        """A layer, and the states of the next one."""
        self._turn += 1
        if self._turn > self._bounds.turns:
            raise SolvingError(f"the game may not be over after {self._bounds.turns:,} turns")
        moves = self._moves(states)
        successors = StateMerger(self._machine, states)
        for start, end in moves.batches(LANES_AT_ONCE):
            self._refuse_if_large(successors.size)
            lanes, joint = moves.between(start, end)
            successors.add(self._machine.step(states.take(lanes), joint).states)
        merged = successors.merged()
        children = (self._num_positions + merged.successors).astype(np.int32)
        self._num_positions += len(merged.states)
        self._bounds.progress(self._turn, self._num_positions)
        self._refuse_if_large()
        return PositionLayer(numbers, moves, children), merged.states

    def _moves(self, states: States) -> JointMoves:
        """The joint moves, counted batch by batch, so that too many are refused early."""
        parts = []
        for start in range(0, len(states), LISTED_AT_ONCE):
            self._refuse_if_large()
            batch = states.take(np.arange(start, min(start + LISTED_AT_ONCE, len(states))))
            parts.append(JointMoves.of(self._machine, batch, allow_stuck=False))
            self._num_joint += int(parts[-1].number)
            self._note_choices(parts[-1].counts[:, self._players].astype(np.float64))
        self._refuse_if_large()
        return JointMoves.joined(parts)

    def _note_choices(self, counts: FloatArray) -> None:
        """Record the players' numbers of moves, `[E, 2]`, and refuse too large matrices."""
        payoffs = np.where((counts > 1).all(axis=1), counts.prod(axis=1), 0.0).max(initial=0.0)
        self._is_at_once |= bool(payoffs)
        if payoffs > self._bounds.payoffs:
            raise SolvingError(
                f"the players have {payoffs:,.0f} joint moves in a position after "
                f"{self._turn - 1} turns, more than {self._bounds.payoffs:,}: its linear program "
                "would take too long"
            )

    def _refuse_if_large(self, new_positions: int = 0) -> None:
        bounds = self._bounds
        if self._num_positions + new_positions / 4 > bounds.positions or (
            self._num_joint > bounds.joint_moves
        ):
            raise SolvingError(
                f"the game is too large: it has more than {bounds.positions:,} positions or "
                f"{bounds.joint_moves:,} joint moves after {self._turn} turns"
            )
        if not self._is_at_once and 0 < bounds.at_once_by <= self._num_positions:
            raise SolvingError(
                f"the players take turns in the first {self._num_positions:,} positions"
            )
        if bounds.is_over():
            raise SolvingError(
                "time is up before all positions of the game are found: there are "
                f"{self._num_positions:,} after {self._turn} turns"
            )


# ------------------------------------------------------------------------
# Backs up values position by position, from the last turn to the first.
#
# Every position is a matrix game whose entries are the values of its children (Shapley, "Stochastic
# games", 1953, for games that end). The values of best responses are backed up beside them, so the
# result includes its own error, even from rounding.


def solve_positions(machine: Machine, bounds: PositionBounds) -> PositionSolution:
    """Solve a game that `suits`.

    Raises:
        SolvingError: see `find_positions`; or the goals have no constant sum.
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
    simultaneous = False
    for layer in reversed(graph.layers):
        simultaneous |= bool((layer.moves.counts[:, list(graph.players)] > 1).all(axis=1).any())
        row_plan, column_plan = _solve_layer(graph, layer, values, bounds)
        rows.append(row_plan)
        columns.append(column_plan)
    value, best, worst = values[:, 0].tolist()
    return PositionSolution(
        graph,
        (value, total - value),
        (max(best - value, 0.0), max(value - worst, 0.0)),
        (tuple(rows[::-1]), tuple(columns[::-1])),
        simultaneous,
    )


def _solve_layer(
    graph: PositionGraph, layer: PositionLayer, values: FloatArray, bounds: PositionBounds
) -> tuple[FloatArray, FloatArray]:
    """Fill in the values of a layer; returns both players' plans in it."""
    moves, random = layer.moves, graph.machine.random_role
    counts = moves.counts
    # Strides of roles in the order of the rules; the last role changes fastest.
    strides = np.ones_like(counts)
    strides[:, :-1] = np.cumprod(counts[:, :0:-1], axis=1)[:, ::-1]
    # Without chance, its only move has probability 1.
    movers = [*graph.players, len(moves.lists) if random is None else random]
    empty, unit = np.zeros(len(counts), dtype=np.int64), np.ones(len(counts), dtype=np.int64)

    def of_movers(columns: Iterable[IntArray], otherwise: IntArray) -> IntArray:
        return np.ascontiguousarray(np.stack([*columns, otherwise], axis=1)[:, movers])

    counted, strided = of_movers(counts.T, unit), of_movers(strides.T, unit)
    offsets = of_movers([lists.offsets[:-1] for lists in moves.lists], empty)
    chances = np.ones(1) if random is None else moves.probabilities
    plans = [np.zeros(len(moves.lists[player].values)) for player in graph.players]
    size = int(counted[:, :2].max()) + 1
    scratch = np.zeros((2, size, size))
    for start, end in chunks(np.diff(moves.offsets), JOINT_MOVES_AT_ONCE):
        if bounds.is_over():
            raise SolvingError("time is up before the game is solved")
        back_up(
            counted[start:end],
            strided[start:end],
            moves.offsets[start:end],
            layer.children,
            layer.numbers[start:end],
            chances,
            offsets[start:end],
            values,
            plans[0],
            plans[1],
            scratch[0],
            scratch[1],
            np.zeros(2 * size, dtype=np.int64),
        )
    return plans[0], plans[1]


# ------------------------------------------------------------------------
# Plays a role's part in a game that was solved position by position.
#
# Everybody sees the joint moves, so these lead from position to position.


class PositionPart:
    """The part of one role; a `ggp.solve.solver.RolePart`.

    Args:
        solution: a solved game.
        role: index of a role that is not `random`.
    """

    start = 0

    def __init__(self, solution: PositionSolution, role: int) -> None:
        self._graph = graph = solution.graph
        self._role = role
        self._plans = solution.plans[graph.players.index(role)]
        # The layer of each position, -1 where the game is over, and its index there.
        self._layers = np.full(graph.num_positions, -1)
        self._places = np.zeros(graph.num_positions, dtype=np.int64)
        for depth, layer in enumerate(graph.layers):
            self._layers[layer.numbers] = depth
            self._places[layer.numbers] = np.arange(len(layer.numbers))

    def after(self, path: int, move: int, percepts: int) -> int | None:
        """The next position; None if percepts do not reveal all moves, or a move is illegal."""
        joint_moves = self._graph.machine.told_moves(np.array([percepts], dtype=np.int64))
        if joint_moves is None or self._layers[path] < 0:
            return None
        joint = joint_moves[0].copy()
        joint[self._role] = move
        layer, index = self._graph.layers[self._layers[path]], int(self._places[path])
        child = 0
        for legal, move_id in zip(layer.moves.lists, joint.tolist(), strict=True):
            moves = legal[index]
            indices = np.flatnonzero(moves == move_id)
            if not len(indices):
                return None
            child = child * len(moves) + int(indices[0])
        return int(layer.children[layer.moves.offsets[index] + child])

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of the role at a position and their probabilities."""
        depth, index = int(self._layers[path]), int(self._places[path])
        if depth < 0:
            return None
        legal = self._graph.layers[depth].moves.lists[self._role]
        start, end = legal.offsets[index : index + 2].tolist()
        if end - start < 2:
            return None
        return legal.values[start:end], self._plans[depth][start:end]


# ------------------------------------------------------------------------
# Kernels that back up values through a layer of positions, each of which is a matrix game.
#
# `positions` calls `back_up` for each layer, the last first; it fills in values and plans.
#
# In a matrix game the row player gets `payoffs[i, j]`, and the column player loses it. After a
# shift that makes all payoffs positive, the column player's plan y solves
#
#     maximise sum(y)   subject to   payoffs y <= 1,   y >= 0
#
# and is divided by that sum, which is the reciprocal of the value (Dantzig, "A proof of the
# equivalence of the programming problem and the game problem", 1951). Dual values are the row
# player's plan. The simplex method runs on a condensed tableau: a pivot exchanges the labels of a
# row and a column, so it stores no unit columns. A matrix with a saddle point needs no program.

_TINY = 1e-10
"""Smaller entries of a tableau are rounding errors."""

_GREEDY = 4
"""After this many pivots for each row and column, Bland's rule selects pivots: it cannot cycle."""

_MOST = 40
"""Greatest number of pivots for each row and column; then the current plans are used."""


@inlined
def _saddle(
    payoffs: FloatArray, rows: int, columns: int, row_plan: FloatArray, column_plan: FloatArray
) -> bool:
    """Fill in pure plans if there is a saddle point: maximin equals minimax."""
    best_row, best_column = 0, 0
    most = -1e300
    for i in range(rows):
        lowest = 1e300
        for j in range(columns):
            lowest = min(lowest, payoffs[i, j])
        if lowest > most:
            most, best_row = lowest, i
    lowest = 1e300
    for j in range(columns):
        greatest = -1e300
        for i in range(rows):
            greatest = max(greatest, payoffs[i, j])
        if greatest < lowest:
            lowest, best_column = greatest, j
    if most < lowest:
        return False
    for i in range(rows):
        row_plan[i] = 1.0 if i == best_row else 0.0
    for j in range(columns):
        column_plan[j] = 1.0 if j == best_column else 0.0
    return True


@inlined
def _fill(payoffs: FloatArray, rows: int, columns: int, tableau: FloatArray) -> None:
    """Fill in the first tableau, with payoffs scaled to the range from 1 to 2."""
    low, high = 1e300, -1e300
    for i in range(rows):
        for j in range(columns):
            low, high = min(low, payoffs[i, j]), max(high, payoffs[i, j])
    for i in range(rows):
        for j in range(columns):
            tableau[i, j] = 1.0 + (payoffs[i, j] - low) / (high - low)
        tableau[i, columns] = 1.0
    for j in range(columns):
        tableau[rows, j] = -1.0
    tableau[rows, columns] = 0.0


@inlined
def _entering(tableau: FloatArray, rows: int, columns: int, labels: IntArray, greedy: bool) -> int:
    """The entering column: of steepest gain, or of least label (Bland); -1 at the optimum."""
    best = -1
    for j in range(columns):
        if tableau[rows, j] < -_TINY and (
            best < 0
            or (greedy and tableau[rows, j] < tableau[rows, best])
            or (not greedy and labels[rows + j] < labels[rows + best])
        ):
            best = j
    return best


@inlined
def _leaving(tableau: FloatArray, rows: int, columns: int, labels: IntArray, column: int) -> int:
    """The leaving row: of least ratio, of several the one of least label; -1 if there is none."""
    best = -1
    lowest = 1e300
    for i in range(rows):
        if tableau[i, column] <= _TINY:
            continue
        ratio = tableau[i, columns] / tableau[i, column]
        if ratio < lowest - _TINY or (ratio <= lowest + _TINY and labels[i] < labels[best]):
            best, lowest = i, min(lowest, ratio)
    return best


@inlined
def _pivot(tableau: FloatArray, rows: int, columns: int, row: int, column: int) -> None:
    """Exchange a row and a column of a condensed tableau (Gauss-Jordan elimination)."""
    # The pivot p becomes 1 / p, its row a_rj / p, its column -a_ic / p; every other entry becomes
    # a_ij - a_ic a_rj / p.
    inverse = 1.0 / tableau[row, column]
    for j in range(columns + 1):
        if j != column:
            tableau[row, j] *= inverse
    for i in range(rows + 1):
        if i != row:
            factor = tableau[i, column]
            if factor != 0.0:
                for j in range(columns + 1):
                    if j != column:
                        tableau[i, j] -= factor * tableau[row, j]
                tableau[i, column] = -factor * inverse
    tableau[row, column] = inverse


@inlined
def _scaled(plan: FloatArray, size: int) -> None:
    """Scale a plan to sum 1; a plan of zeros becomes uniform."""
    total = 0.0
    for k in range(size):
        plan[k] = max(plan[k], 0.0)
        total += plan[k]
    for k in range(size):
        plan[k] = plan[k] / total if total > 0.0 else 1.0 / size


@inlined
def solve_matrix(
    payoffs: FloatArray,
    rows: int,
    columns: int,
    row_plan: FloatArray,
    column_plan: FloatArray,
    tableau: FloatArray,
    labels: IntArray,
) -> None:
    """Fill in equilibrium plans of a matrix game.

    Args:
        payoffs: `[>= rows, >= columns]` what the row player gets.
        row_plan, column_plan: `[>= rows]` and `[>= columns]` results.
        tableau: scratch `[> rows, > columns]`.
        labels: scratch `[>= rows + columns]`.
    """
    if _saddle(payoffs, rows, columns, row_plan, column_plan):
        return
    _fill(payoffs, rows, columns, tableau)
    # Labels of rows, then of columns: first the columns' variables, then the rows' slacks.
    for i in range(rows):
        labels[i] = columns + i
    for j in range(columns):
        labels[rows + j] = j
    for pivots in range(_MOST * (rows + columns)):
        column = _entering(tableau, rows, columns, labels, pivots < _GREEDY * (rows + columns))
        if column < 0:
            break
        row = _leaving(tableau, rows, columns, labels, column)
        if row < 0:
            break
        _pivot(tableau, rows, columns, row, column)
        labels[row], labels[rows + column] = labels[rows + column], labels[row]
    for i in range(rows):
        row_plan[i] = 0.0
    for j in range(columns):
        column_plan[j] = 0.0
    for i in range(rows):
        if labels[i] < columns:
            column_plan[labels[i]] = tableau[i, columns]
    for j in range(columns):
        if labels[rows + j] >= columns:
            row_plan[labels[rows + j] - columns] = tableau[rows, j]
    _scaled(row_plan, rows)
    _scaled(column_plan, columns)


@inlined
def _expected(
    values: FloatArray,
    children: NDArray[np.int32],
    first_child: int,
    stride: int,
    chances: FloatArray,
    first_chance: int,
    num_chances: int,
) -> float:
    """The mean of the values of positions over the moves of chance."""
    mean = 0.0
    for k in range(num_chances):
        mean += chances[first_chance + k] * values[children[first_child + k * stride]]
    return mean


@kernel
def back_up(
    counts: IntArray,
    strides: IntArray,
    starts: IntArray,
    children: NDArray[np.int32],
    numbers: IntArray,
    chances: FloatArray,
    offsets: IntArray,
    values: FloatArray,
    row_plans: FloatArray,
    column_plans: FloatArray,
    payoffs: FloatArray,
    tableau: FloatArray,
    labels: IntArray,
) -> None:
    """Solve the E positions of a layer; A is the greatest number of moves of anybody in it.

    Args:
        counts: `[E, 3]` number of moves of the row player, the column player and chance.
        strides: `[E, 3]` distance in `children` from one move of each to its next one.
        starts: `[E]` first child of each position.
        children: positions after joint moves.
        numbers: `[E]` the positions themselves.
        chances: probabilities of the moves of chance.
        offsets: `[E, 3]` first move of each in `row_plans`, `column_plans` and `chances`.
        values: `[3, N]` values of positions to the row player: with both plans, with its best
            response to the other's plan, and with the other's best response to its plan. Those of
            `numbers` are filled in.
        row_plans, column_plans: probabilities of moves, filled in.
        payoffs, tableau: scratch `[A + 1, A + 1]`.
        labels: scratch `[2 * A]`.
    """
    for e in range(len(numbers)):
        rows, columns, position = counts[e, 0], counts[e, 1], numbers[e]
        row_plan = row_plans[offsets[e, 0] : offsets[e, 0] + rows]
        column_plan = column_plans[offsets[e, 1] : offsets[e, 1] + columns]
        for kind in range(3):
            for i in range(rows):
                for j in range(columns):
                    first_child = starts[e] + i * strides[e, 0] + j * strides[e, 1]
                    payoffs[i, j] = _expected(
                        values[kind],
                        children,
                        first_child,
                        strides[e, 2],
                        chances,
                        offsets[e, 2],
                        counts[e, 2],
                    )
            if kind == 0:
                solve_matrix(payoffs, rows, columns, row_plan, column_plan, tableau, labels)
            values[kind, position] = _value(payoffs, rows, columns, row_plan, column_plan, kind)


@inlined
def _value(
    payoffs: FloatArray,
    rows: int,
    columns: int,
    row_plan: FloatArray,
    column_plan: FloatArray,
    kind: int,
) -> float:
    """The value of a matrix; `kind` is an index into `values` of `back_up`."""
    if kind == 2:
        lowest = 1e300
        for j in range(columns):
            mean = 0.0
            for i in range(rows):
                mean += row_plan[i] * payoffs[i, j]
            lowest = min(lowest, mean)
        return lowest
    greatest, total = -1e300, 0.0
    for i in range(rows):
        mean = 0.0
        for j in range(columns):
            mean += column_plan[j] * payoffs[i, j]
        greatest = max(greatest, mean)
        total += row_plan[i] * mean
    return greatest if kind == 1 else total
