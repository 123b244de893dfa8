"""The player `mcts`: Monte Carlo tree search where everybody knows everything."""

from __future__ import annotations

import logging
from typing import Any

from ggp.machine.base import is_open
from ggp.players.ismcts import ISMCTS
from ggp.players.parts.tree_player import GuidedOptions
from ggp.players.player import Context
from ggp.search.kinds import INFORMED, TREES

_log = logging.getLogger(__name__)


class MCTS(ISMCTS):
    """The best move of a tree search; where roles know different things, it plays as `ismcts`.

    Everybody knows everything in plain GDL, and where percepts tell all roles the whole joint move.
    Then there is one state, and a path is one node of every role's tree. Wins and losses are proved
    where roles take turns (Winands, Bjornsson & Saito, 2008).
    """

    Options = GuidedOptions
    SOURCE = "Kocsis & Szepesvari (2006), UCT; Finnsson & Bjornsson (2008), MAST"
    KINDS = frozenset({INFORMED, TREES})

    def __init__(self, options: Any, context: Context) -> None:
        self._open = is_open(context.machine)
        super().__init__(options, context)
        if not self._open:
            _log.info("%s: roles know different things here; it plays as ismcts", context.name)

    @property
    def proves(self) -> bool:
        return self._open

    @property
    def outside(self) -> float:
        return 0.0 if self._open else super().outside
