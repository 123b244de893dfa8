"""Solves whole game trees exactly: equilibria, best responses, a player's distance from both.

    solution = solve(machine)
    solution.profile.values      # {"player1": 48.61..., "player2": 51.38...}
    solution.profile.nash_conv   # 0, except for rounding

In comes a machine, out go strategies and their values. Begin with `optimal`, which solves a game by
its positions or its tree, and `solver`, which chooses the method for each part of a tree. The room
`trees` makes it, and `forest` evaluates strategies on it, by the sequences of each side.
`regret` (with `regret_kernels`) finds strategies where linear programs would be too large,
`following` plays them; `sampling` and `exploitation` evaluate players, `efg` writes files. The room
`positions` solves games in which everybody knows the state, without a tree.
"""

from ggp.solve.efg import efg_lines
from ggp.solve.exploitation import Exploitation, RoleResult, exploit, sample_until
from ggp.solve.optimal import OptimalPlay, optimal_play
from ggp.solve.sampling import (
    Chooser,
    MakeChooser,
    Samples,
    has_told,
    history_of,
    sample_policy,
    turns_of,
)
from ggp.solve.solver import Profile, Solution, solve, solve_tree
from ggp.solve.trees.build import MOST_STATES, TreeBounds, build_tree
from ggp.solve.trees.tree import GameTree

__all__ = [
    "MOST_STATES",
    "Chooser",
    "Exploitation",
    "GameTree",
    "MakeChooser",
    "OptimalPlay",
    "Profile",
    "RoleResult",
    "Samples",
    "Solution",
    "TreeBounds",
    "build_tree",
    "efg_lines",
    "exploit",
    "has_told",
    "history_of",
    "optimal_play",
    "sample_policy",
    "sample_until",
    "solve",
    "solve_tree",
    "turns_of",
]
