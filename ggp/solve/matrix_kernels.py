"""Kernels that back up values through a layer of positions, each of which is a matrix game.

`positions` calls `back_up` for each layer, the last first; it fills in values and plans.

In a matrix game the row player gets `payoffs[i, j]`, and the column player loses it. After a shift
that makes all payoffs positive, the column player's plan y solves

    maximise sum(y)   subject to   payoffs y <= 1,   y >= 0

and is divided by that sum, which is the reciprocal of the value (Dantzig, "A proof of the
equivalence of the programming problem and the game problem", 1951). Dual values are the row
player's plan. The simplex method runs on a condensed tableau: a pivot exchanges the labels of a row
and a column, so it stores no unit columns. A matrix with a saddle point needs no program.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel

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
