"""OpenSpiel's own bots as players, for comparison: `ggp.players.spiel_bot:OpenSpielBot`.

The player keeps a belief as others do, passes the state of one particle to the bot, and plays the
bot's move. In games of imperfect information the bot (ISMCTS) uses only the knowledge of its role
in that state; so it learns nothing that the player does not know.

A bot measures wall time only. If CPU time counts, the bot gets the same number of seconds of wall
time: it never exceeds its CPU time, but on a busy machine it gets less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from ggp.belief import Bags
from ggp.errors import ConfigError, MachineError
from ggp.labs.openspiel.machine.games import PREFIX, is_open, load_game, pyspiel, unprinted
from ggp.labs.openspiel.machine.nodes import Node, SpielStates
from ggp.labs.openspiel.machine.spiel_machine import SpielMachine
from ggp.machine.base import Machine, States
from ggp.machine.definition import GameDefinition
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
    """Plays OpenSpiel's MCTS in games of perfect information, its ISMCTS in others."""

    Options = OpenSpielBotOptions
    SOURCE = "OpenSpiel (Lanctot et al. 2019)"
    options: OpenSpielBotOptions

    @classmethod
    def check_game(cls, name: str, program: GameDefinition) -> None:
        """Check that a bot of OpenSpiel can play a game.

        Args:
            name: name of the player in messages.

        Raises:
            ConfigError: none can; the message says why.
        """
        if program.prefix != PREFIX:
            raise ConfigError(f"{name} plays only games named {PREFIX}NAME")
        refuse_without_bot(load_game(program.source.text), Random(0).random)

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


# ------------------------------------------------------------------------
# OpenSpiel's own search bots, asked for a move in one state.
#
# They get a state that the role cannot distinguish from the true one. Monte Carlo tree search
# treats it as known. Information-set search (ISMCTS) uses only the role's information state: it
# draws the states that it searches, which OpenSpiel can do only in some games.

UCT_C = 2.0
"""The UCT constant of OpenSpiel's examples, for utilities from -1 to 1."""

_MAX_SIMULATIONS = 1 << 30
_MAX_SEED = 1 << 30
_MEMORY_MB = 1000


class Bots:
    """Bots for one machine.

    Args:
        machine: the machine of a game of OpenSpiel.
        rng: source of all their random draws.

    Raises:
        ConfigError: the machine is not OpenSpiel's, or no bot of OpenSpiel can play the game.
    """

    def __init__(self, machine: Machine, rng: np.random.Generator) -> None:
        if not isinstance(machine, SpielMachine):
            raise ConfigError(f"OpenSpiel's bots play only games named {PREFIX}NAME")
        self._library, self._rng = pyspiel(), rng
        game = machine.initial().nodes[0].state.get_game()
        self._is_open = is_open(game)
        low, high = machine.utility_range
        self._uct_c = UCT_C * (high - low) / 2
        refuse_without_bot(game, rng.random)

    def move(
        self, states: States, role: int, simulations: int | None, seconds: float | None
    ) -> int:
        """The move of a role in one state, after a number of simulations or seconds.

        Raises:
            MachineError: OpenSpiel fails.
        """
        assert isinstance(states, SpielStates)
        (node,) = states.nodes
        bot = self._bot(node, simulations or _MAX_SIMULATIONS, -1.0 if seconds is None else seconds)
        try:
            return int(bot.step(node.state)) + 1
        except self._library.SpielError as error:
            raise MachineError(f"OpenSpiel's bot fails: {error}") from error

    def _bot(self, node: Node, simulations: int, seconds: float) -> Any:
        seed = int(self._rng.integers(_MAX_SEED))
        evaluator = self._library.RandomRolloutEvaluator(1, seed)
        if self._is_open:
            return self._library.MCTSBot(
                node.state.get_game(),
                evaluator,
                self._uct_c,
                simulations,
                _MEMORY_MB,
                True,
                seed,
                False,
                max_wall_clock_time=seconds,
            )
        return self._library.ISMCTSBot(
            seed,
            evaluator,
            self._uct_c,
            simulations,
            final_policy_type=self._library.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
            max_wall_clock_time=seconds,
        )


def refuse_without_bot(game: Any, draw: Callable[[], float]) -> None:
    """Refuse a `pyspiel.Game` that no search bot of OpenSpiel can play.

    Args:
        draw: returns a random number from 0 to 1, to try whether states can be drawn.

    Raises:
        ConfigError: players move at once, or OpenSpiel cannot draw a state of an information set.
    """
    kind = game.get_type()
    name = kind.short_name
    if kind.dynamics != pyspiel().GameType.Dynamics.SEQUENTIAL:
        raise ConfigError(f"OpenSpiel's bots cannot play {name}: players move at once")
    if is_open(game):
        return
    state, lots = game.new_initial_state(), Random(0)
    while state.is_chance_node():  # if the first outcome always came, crazy_eights would not begin
        state.apply_action(lots.choice(state.chance_outcomes())[0])
    try:
        with unprinted():
            state.resample_from_infostate(state.current_player(), draw)
    except pyspiel().SpielError as error:
        raise ConfigError(
            f"OpenSpiel's ISMCTS cannot play {name}: OpenSpiel does not say how to draw a "
            "state from what a player knows"
        ) from error
