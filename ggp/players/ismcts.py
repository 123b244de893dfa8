"""The player `ismcts`: Monte Carlo tree search where roles know different things."""

from __future__ import annotations

from ggp.players.tree_player import GuidedOptions, TreePlayer
from ggp.search.kinds import INFORMED, TREES


class ISMCTS(TreePlayer):
    """The best move of a tree search in which every role moves by what it knows."""

    Options = GuidedOptions
    SOURCE = "Cowling, Powley & Whitehouse (2012), multiple-observer ISMCTS"
    KINDS = frozenset({INFORMED, TREES})
