"""The library that `import ggp` offers: strings at the edge, arrays inside.

Begin with `games`, which says what a game, its states and beliefs are. `matches` is what the match
runner does for this package, and `solved` has small games solved.
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
