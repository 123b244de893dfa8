"""The player `over`: overconfident information-set search."""

from __future__ import annotations

from ggp.players.parts.information_set_player import InformationSetOptions, InformationSetPlayer
from ggp.search.kinds import INFORMED


class Over(InformationSetPlayer):
    """Searches information sets a few plies ahead, and assumes that others move at random."""

    Options = InformationSetOptions
    SOURCE = "Parker, Nau & Subrahmanian (AAAI 2006), overconfident play"
    KINDS = frozenset({INFORMED})
    paranoid = False
