"""Rulesheets as games of OpenSpiel, for its algorithms: importing this registers the game `gdl`.

    >>> import pyspiel
    >>> import ggp.openspiel
    >>> game = pyspiel.load_game("gdl(rules=kuhn_poker)")

The lab that they are in is `ggp.labs.openspiel.rulesheets`.
"""

from ggp.labs.openspiel.rulesheets import GdlGame, GdlState

__all__ = ["GdlGame", "GdlState"]
