"""The player `mcts`: Monte Carlo tree search where everybody knows everything."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ggp.errors import GGPError
from ggp.machine.base import Machine, is_open, player_roles
from ggp.players.ismcts import ISMCTS
from ggp.players.options.evaluations import (
    learner_of_values,
    learnt_form,
    policies_field,
    state_values_of,
)
from ggp.players.options.option_fields import whole
from ggp.players.parts.duels import Maker, decisions_of_a_match, duels
from ggp.players.parts.tree_player import GuidedOptions
from ggp.players.player import Context
from ggp.search.anytime import Deadline
from ggp.search.kinds import INFORMED, TREES
from ggp.search.leaf_values import StateValues

_log = logging.getLogger(__name__)


DUELS, LEAST_DUELS, ENOUGH = 8, 4, 0.6
"""Matches between what was learnt and playouts, how many of them there must be time for, and the
share of points from which on that is used."""

LEARNING_SHARE = 0.8
"""Share of the time for learning that is over when duels begin."""

DECISION_S = 0.015
"""What a decision in a duel takes at the least, with all that is done around it. Where so short
ones leave no time for enough duels, nothing is learnt, since it could not be used: in connect_four
with less than 8 s, in breakthrough with less than 10 s, and in othello with less than 20 s."""


def learn_field(usual: int) -> Any:
    """The field `learn` of a player's options."""
    meaning = "percent of the start clock in which it learns what leaves are worth; 0: not"
    return whole(usual, meaning, low=0, high=95)


@dataclass(frozen=True)
class MCTSOptions(GuidedOptions):
    """Options of `mcts`."""

    values: str = policies_field(
        "policies that `ggp learn` wrote: their critic values leaves, instead of playouts"
    )
    learn: int = learn_field(0)


class MCTS(ISMCTS):
    """The best move of a tree search; where roles know different things, it plays as `ismcts`.

    Everybody knows everything in plain GDL, and where percepts tell all roles the whole joint move.
    Then there is one state, and a path is one node of every role's tree. Wins and losses are proved
    where roles take turns (Winands, Bjornsson & Saito, 2008).
    """

    Options = MCTSOptions
    SOURCE = "Kocsis & Szepesvari (2006), UCT; Finnsson & Bjornsson (2008), MAST"
    KINDS = frozenset({INFORMED, TREES})
    options: MCTSOptions

    def __init__(self, options: Any, context: Context) -> None:
        self._open = is_open(context.machine)
        super().__init__(options, context)
        self._context = context
        if self.options.values:
            self.values = state_values_of(self.options.values, self.machine, context.program)
        if self.options.learn:
            learnt_form()  # refuses what is not installed
        if not self._open:
            _log.info("%s: roles know different things here; it plays as ismcts", context.name)

    def prepare(self, deadline: Deadline) -> None:
        """See `Preparing`: learn what states are worth, then let the tree grow from the start.

        Both only where everybody knows everything. Elsewhere growth showed no gain: a role's first
        moves then rest on how the others seemed to play before they had moved.
        """
        if self._open and self.options.learn and self.values is None:
            self._learn(deadline.part(self.options.learn / 100), deadline)
        super().prepare(deadline)
        if self._open:
            self.think_ahead(deadline)

    @property
    def proves(self) -> bool:
        return self._open

    @property
    def outside(self) -> float:
        return 0.0 if self._open else super().outside

    def _learn(self, until: Deadline, deadline: Deadline) -> None:
        """Learn what states are worth, and use that if it wins duels against playouts."""
        machine, context, learner = self.machine, self._context, learner_of_values()
        if learner is None or context.program is None or len(player_roles(machine)) != 2:
            return
        if not learner.is_learnt_in_time(machine):
            return
        learning, seed = until.part(LEARNING_SHARE), int(self.rng.integers(1 << 62))
        duels_s = (1 - LEARNING_SHARE) * until.left_s()
        try:
            if duels_s < LEAST_DUELS * DECISION_S * decisions_of_a_match(machine, self.rng):
                return
            learnt = learner.learnt(machine, context.program, seed, learning, deadline)
            if learnt is None:
                return
            score = duels(machine, (self._maker(learnt), self._maker(None)), DUELS, self.rng, until)
        except GGPError as error:  # playouts need nothing that was learnt
            self._warn(error)
            return
        _log.info("%s: %g points of %d in duels", context.name, score.points, score.matches)
        if score.matches >= LEAST_DUELS and score.points >= ENOUGH * score.matches:
            self.values = learnt

    def _maker(self, values: StateValues | None) -> Maker:
        """Makes players like this one, who value leaves so."""

        def made(machine: Machine, role: int, rng: np.random.Generator) -> MCTS:
            context = Context(
                machine, role, rng, self._context.clock, program=self._context.program
            )
            player = type(self)(replace(self.options, values="", learn=0), context)
            player.values = values
            return player

        return made
