"""OpenSpiel's own bots as players: `ggp.players.spiel_bot:OpenSpielBot`, to compare ours with.

The player keeps a belief as others do, and gives the bot one of its particles. A bot for games with
hidden information only uses what its role knows there, so it learns nothing that the player does
not know.

A bot measures wall time only. If CPU time counts, its budget is the same number of seconds of wall
time: it never uses more CPU time than it has, but on a busy machine it gets less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.machine.spiel.bots import Bots
from ggp.players.options.option_fields import whole
from ggp.players.parts.belief_player import BeliefPlayer
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates

_SPARE_S = 0.02
"""Time kept in reserve: a bot looks at its clock between simulations."""


@dataclass(frozen=True)
class OpenSpielBotOptions:
    """Options of `OpenSpielBot`."""

    simulations: int = whole(10_000, "simulations for a decision, without a clock", high=10**9)


class OpenSpielBot(BeliefPlayer):
    """The move of OpenSpiel's MCTS where everybody knows everything, else of its ISMCTS."""

    Options = OpenSpielBotOptions
    SOURCE = "OpenSpiel (Lanctot et al. 2019)"
    options: OpenSpielBotOptions

    def __init__(self, options: OpenSpielBotOptions, context: Context) -> None:
        self._bots = Bots(context.machine, context.rng)
        super().__init__(options, context)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        entry = int(self.rng.choice(len(bag.weights_of(0)), p=bag.weights_of(0)))
        state = bag.states_of(0).take(np.array([entry]))
        simulations: int | None = self.options.simulations
        seconds: float | None = None
        if deadline is not None:
            simulations, seconds = None, max(deadline.left_s() - _SPARE_S, _SPARE_S)
        move = self._bots.move(state, self.role, simulations, seconds)
        return move, self.unvalued(candidates(self.machine, bag).values.tolist())
