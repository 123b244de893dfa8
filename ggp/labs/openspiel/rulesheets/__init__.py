"""Rulesheets as games of OpenSpiel, for its algorithms.

    >>> import pyspiel
    >>> import ggp.openspiel
    >>> game = pyspiel.load_game("gdl(rules=kuhn_poker)")
    >>> game.new_initial_state().legal_actions()
    [0, 1, 2, 3, 4, 5]

Importing this package registers the game `gdl` with OpenSpiel. `rules` is the name of a game that
comes with ggp, or the path of a rulesheet. `docs/use/openspiel.md` says how a rulesheet is
represented.

`sheet` numbers the moves of a game, `turns` draw histories and make single choices of joint
moves, in positions, and `game` has OpenSpiel's classes, which show what players know as tensors.
"""

from ggp.labs.openspiel.rulesheets.game import GdlGame, GdlState, register

__all__ = ["GdlGame", "GdlState"]

register()
