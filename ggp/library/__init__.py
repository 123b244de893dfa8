"""The library that `import ggp` offers: strings at the edge, arrays inside.

Begin with `games`, which says what a game, its states and beliefs are. `loading` makes games of
texts, `following` follows matches for beliefs, `seated` holds players, and `matches` plays.
"""

from ggp.library.games import Belief, Game, Playout, State, Step
from ggp.library.loading import load
from ggp.library.matches import compare, play_match
from ggp.library.seated import Seated

__all__ = [
    "Belief",
    "Game",
    "Playout",
    "Seated",
    "State",
    "Step",
    "compare",
    "load",
    "play_match",
]
