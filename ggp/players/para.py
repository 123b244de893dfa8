"""The player `para`: paranoid information-set search."""

from __future__ import annotations

from ggp.players.parts.information_set_player import InformationSetOptions, InformationSetPlayer
from ggp.search.kinds import INFORMED


class Para(InformationSetPlayer):
    """Searches information sets a few plies ahead, and assumes the worst of others."""

    Options = InformationSetOptions
    SOURCE = "Parker, Nau & Subrahmanian (AAAI 2006), paranoid play"
    KINDS = frozenset({INFORMED})
    paranoid = True
