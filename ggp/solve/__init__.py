"""Solves whole game trees exactly: equilibria, best responses, a player's distance from both.

    solution = solve(machine)
    solution.profile.values      # {"player1": 48.61..., "player2": 51.38...}
    solution.profile.nash_conv   # 0, except for rounding

In comes a machine, out go strategies and their values. Begin with `solver`, which chooses the
method for a game and for each part of it. `tree_builder` makes its `tree`, and `forest` evaluates
strategies on that, by the sequences of each side. `positions` (with `matrix_kernels`) solves games
in which everybody knows the state, without a tree. `regret` finds strategies where linear programs
would be too large, `following` plays them; `exploitation` evaluates players, `efg` writes files.
"""

from ggp.solve.efg import efg_lines
from ggp.solve.exploitation import (
    Chooser,
    Exploitation,
    MakeChooser,
    RoleResult,
    Samples,
    exploit,
    has_told,
    history_of,
    sample_policy,
    sample_until,
    turns_of,
)
from ggp.solve.solver import OptimalPlay, Profile, Solution, optimal_play, solve, solve_tree
from ggp.solve.tree import GameTree
from ggp.solve.tree_builder import MOST_STATES, TreeBounds, build_tree

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
