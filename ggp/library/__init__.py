"""The library that `import ggp` offers: strings at the edge, arrays inside.

Begin with `games`, which says what a game, its states and beliefs are. `seated` holds players,
`matches` is what the match runner does for this package, `solved` has small games solved, and
`learnt_seeds` has policies learnt from several seeds.
"""

from ggp.library.games import Belief, Game, Playout, State, Step, load
from ggp.library.matches import compare, play_match, read_record, tournament
from ggp.library.seated import Seated
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
