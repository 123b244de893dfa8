"""Rulesheets as games of OpenSpiel, for its algorithms.

    >>> import pyspiel
    >>> import ggp.openspiel
    >>> game = pyspiel.load_game("gdl(rules=kuhn_poker)")
    >>> game.new_initial_state().legal_actions()
    [0, 1, 2, 3, 4, 5]

Importing this package registers the game `gdl` with OpenSpiel. `rules` is the name of a game that
comes with ggp, or the path of a rulesheet. `docs/use/openspiel.md` describes how a rulesheet is
represented.

`sheet` numbers the moves of a game. `turns` splits joint moves into single choices (`Position`),
and draws histories. `game` has OpenSpiel's classes, which show the knowledge of players as tensors.
"""

from ggp.labs.openspiel.rulesheets.game import GdlGame, GdlState, register

__all__ = ["GdlGame", "GdlState"]

register()
