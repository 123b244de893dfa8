"""Whole game trees, solved exactly: equilibria, best responses, a player's distance from both.

    solution = solve(machine)
    solution.profile.values      # {"player1": 48.61..., "player2": 51.38...}
    solution.profile.nash_conv   # 0, but for rounding

`build` makes the tree (`tree`), with subgames split off (`subgames`); `forest` evaluates
strategies; `linear` and `regret` find them; `solver` chooses. `sampling` and `exploitation`
evaluate players, `efg` writes files.
"""

from ggp.solve.build import MOST_STATES, build_tree
from ggp.solve.efg import efg_lines
from ggp.solve.exploitation import Exploitation, RoleResult, exploit, sample_until
from ggp.solve.sampling import Chooser, Samples, history_of, sample_policy
from ggp.solve.solver import Profile, Solution, solve, solve_tree
from ggp.solve.tree import GameTree

__all__ = [
    "MOST_STATES",
    "Chooser",
    "Exploitation",
    "GameTree",
    "Profile",
    "RoleResult",
    "Samples",
    "Solution",
    "build_tree",
    "efg_lines",
    "exploit",
    "history_of",
    "sample_policy",
    "sample_until",
    "solve",
    "solve_tree",
]
