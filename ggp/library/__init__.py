"""The library that `import ggp` offers: strings outside, arrays inside.

Begin with `games`, which defines games, their states and beliefs. `matches` plays matches with the
match runner, and `solved` solves small games and measures players against the solution.
"""

from ggp.library.games import Belief, Game, Playout, Seated, State, Step, load
from ggp.library.matches import compare, play_match, read_record, tournament
from ggp.library.solved import Exploited, Solved, exploit, solve

__all__ = [
    "Belief",
    "Exploited",
    "Game",
    "Playout",
    "Seated",
    "Solved",
    "State",
    "Step",
    "compare",
    "exploit",
    "load",
    "play_match",
    "read_record",
    "solve",
    "tournament",
]
