"""The player `mcts`: Monte Carlo tree search where everybody knows everything."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from ggp.machine.base import is_open
from ggp.players.option_fields import whole
from ggp.players.player import Context
from ggp.players.tree_player import TreeOptions, TreePlayer
from ggp.search.kinds import INFORMED, TREES

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MCTSOptions(TreeOptions):
    """Options of `mcts`."""

    guided: int = whole(
        1,
        "1: the worth of moves guides walks and playouts, on circuits where all know all; 0: not",
        low=0,
        high=1,
    )


class MCTS(TreePlayer):
    """The best move of a tree search; where roles know different things, it plays as `ismcts`.

    Everybody knows everything in plain GDL, and where percepts tell all roles the whole joint move.
    Then there is one state, and a path is one node of every role's tree. Wins and losses are proved
    where roles take turns (Winands, Bjornsson & Saito, 2008).
    """

    Options = MCTSOptions
    options: MCTSOptions
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
    def guided(self) -> bool:
        return self._open and bool(self.options.guided)

    @property
    def outside(self) -> float:
        return 0.0 if self._open else super().outside
