"""Finds equilibria of two players with constant sum, by a linear program on sequences.

With plans x and y, E x = e and F y = f mean that they are plans, and the first player gets x' A y
(Koller, Megiddo, von Stengel, "Efficient computation of equilibria for extensive two-person games",
1996). Its best plan solves

    maximise f' p   subject to   E x = e,   F' p <= A' x,   x >= 0

where p are the values of the second player's sets to the first. The dual values of the
inequalities are the second player's plan. Several subgames are blocks of one program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ggp.machine.base import FloatArray
from ggp.solve.forest import Forest
from ggp.solve.side import Side

if TYPE_CHECKING:
    from scipy.sparse import coo_array

MOST_LEAVES = 300_000
"""Greatest number of leaves and sequences of a program that is tried."""


def fits(forest: Forest) -> bool:
    """Whether a linear program can hold a forest."""
    sizes = sum(side.num_sequences for side in forest.sides)
    return len(forest.sequences) + sizes <= MOST_LEAVES


def equilibrium(forest: Forest, most_seconds: float) -> list[FloatArray] | None:
    """Equilibrium strategies of two players whose goals have a constant sum.

    At sets that a player never reaches because of its own earlier moves, it plays a
    best response.

    Returns:
        One strategy for each player, None if the solver finds no solution in time.
    """
    from scipy.optimize import linprog  # takes half a second, which most games have no use for
    from scipy.sparse import coo_array, hstack

    first, second = forest.sides
    payoffs = coo_array(
        (forest.worth[:, 0], (forest.sequences[:, 1], forest.sequences[:, 0])),
        (second.num_sequences, first.num_sequences),
    )
    own, others = _constraints(first), _constraints(second)
    num_roots, num_plan = first.num_roots, first.num_sequences
    objective = np.zeros(num_plan + others.shape[0])
    objective[num_plan : num_plan + num_roots] = -1
    bounds = np.full((len(objective), 2), np.inf)
    bounds[:, 0] = np.where(np.arange(len(objective)) < num_plan, 0, -np.inf)
    ones = np.zeros(own.shape[0])
    ones[:num_roots] = 1
    found = linprog(
        objective,
        A_ub=hstack([-payoffs, others.T]).tocsr(),
        b_ub=np.zeros(second.num_sequences),
        A_eq=hstack([own, coo_array((own.shape[0], others.shape[0]))]).tocsr(),
        b_eq=ones,
        bounds=bounds,
        method="highs",
        options={"time_limit": most_seconds},
    )
    if not found.success:
        return None
    plans = [_clean(found.x[:num_plan]), _clean(-found.ineqlin.marginals)]
    return [
        side.completed(plan, side.best_response(forest.gains(player, plans, worth)))
        for player, (side, plan, worth) in enumerate(
            zip(forest.sides, plans, forest.worth.T, strict=True)
        )
    ]


def _constraints(side: Side) -> coo_array:
    """`[G + I, S]` matrix whose product with any plan is 1 for empty sequences and 0 for sets."""
    from scipy.sparse import coo_array

    num_roots, num_sets = side.num_roots, len(side.sets)
    body = np.arange(num_roots, side.num_sequences)
    rows = np.concatenate([np.arange(num_roots), num_roots + side.owners[body]])
    after = np.arange(num_roots, num_roots + num_sets)
    return coo_array(
        (
            np.concatenate([np.ones(len(rows)), -np.ones(num_sets)]),
            (np.concatenate([rows, after]), np.concatenate([np.arange(len(rows)), side.parents])),
        ),
        (num_roots + num_sets, side.num_sequences),
    )


def _clean(plan: FloatArray) -> FloatArray:
    """A plan without the noise of the solver."""
    return np.where(plan < 1e-11, 0.0, plan)
