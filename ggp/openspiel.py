"""Rulesheets as games for OpenSpiel's algorithms. Importing this module registers the game `gdl`.

    >>> import pyspiel
    >>> import ggp.openspiel
    >>> game = pyspiel.load_game("gdl(rules=kuhn_poker)")

Everything here comes from the lab `ggp.labs.openspiel.rulesheets`.
"""

from ggp.labs.openspiel.rulesheets import GdlGame, GdlState

__all__ = ["GdlGame", "GdlState"]
