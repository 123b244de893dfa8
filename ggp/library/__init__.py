"""The library that `import ggp` offers: strings at the edge, arrays inside.

Begin with `games`, which says what a game, its states and beliefs are. `loading` makes games of
texts, `seated` holds players, `matches` plays, `solved` has small games solved, and `learnt_seeds`
has policies learnt from several seeds.
"""

from ggp.library.games import Belief, Game, Playout, State, Step
from ggp.library.loading import load
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
