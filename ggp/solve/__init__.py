"""Solves whole game trees exactly: equilibria, best responses, a player's distance from both.

>>> from ggp.machine.games import build_machine, load_program
>>> from ggp.solve import solve
>>> solution = solve(build_machine(load_program("kuhn_poker"), "prolog"))
>>> {name: round(value, 2) for name, value in solution.profile.values.items()}
{'player1': 48.61, 'player2': 51.39}
>>> round(solution.profile.nash_conv, 6)
0.0

A machine goes in; strategies and their values come out. Begin with `solver`, which chooses the
method for a game and for each part of it. `tree_builder` makes the `tree`, which can be written as
a file for other programs, and `forest` evaluates strategies on it. `positions`
solves games in which everybody knows the state, without a tree. `regret` finds
strategies where linear programs would be too large; `exploitation` evaluates players.
"""

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
from ggp.solve.tree import GameTree, efg_lines
from ggp.solve.tree_builder import MAX_STATES, TreeBounds, build_tree

__all__ = [
    "MAX_STATES",
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
