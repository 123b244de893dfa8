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
from ggp.labs.openspiel.machine.nodes import SpielStates
from ggp.labs.openspiel.machine.spiel_machine import SpielMachine
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
        machine = context.machine
        if not isinstance(machine, SpielMachine):
            raise ConfigError(f"OpenSpiel's bots play only games named {PREFIX}NAME")
        low, high = machine.utility_range
        self._uct_c = UCT_C * (high - low) / 2
        self._game = machine.initial().nodes[0].state.get_game()
        refuse_without_bot(self._game, context.rng.random)
        super().__init__(options, context)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        entry = int(self.rng.choice(len(bag.weights_of(0)), p=bag.weights_of(0)))
        states = bag.states_of(0).take(np.array([entry]))
        assert isinstance(states, SpielStates)
        simulations, seconds = self.options.simulations, NO_LIMIT
        if deadline is not None:
            simulations, seconds = _MAX_SIMULATIONS, max(deadline.left_s() - _SPARE_S, _SPARE_S)
        state = states.nodes[0].state
        action = searched(self._game, state, self._uct_c, simulations, seconds, self.rng)
        return action + 1, self.unvalued(candidates(self.machine, bag).values.tolist())


# ------------------------------------------------------------------------
# OpenSpiel's own search bots, asked for an action in one state; for `peers`, too.
#
# They get a state that the role cannot distinguish from the true one. Monte Carlo tree search
# treats it as known. Information-set search (ISMCTS) uses only the role's information state: it
# draws the states that it searches, which OpenSpiel can do only in some games.

UCT_C = 2.0
"""The UCT constant of OpenSpiel's examples, for utilities from -1 to 1."""

_MAX_SIMULATIONS = 1 << 30
_MAX_SEED = 1 << 30
_MEMORY_MB = 1000


NO_LIMIT = -1.0
"""Seconds of a search without a limit."""


def searched(
    game: Any,
    state: Any,
    uct_c: float,
    simulations: int,
    seconds: float,
    rng: np.random.Generator,
    *,
    solve: bool = True,
) -> int:
    """The action that a bot chooses in a `pyspiel.State`: by tree search where everybody knows
    everything, else by information-set search.

    Args:
        uct_c: the constant of UCT.
        seconds: most seconds of wall time, or `NO_LIMIT`.
        solve: whether wins and losses are proved; tree search only.

    Raises:
        MachineError: OpenSpiel fails.
    """
    library, seed = pyspiel(), int(rng.integers(_MAX_SEED))
    evaluator = library.RandomRolloutEvaluator(1, seed)
    if is_open(game):
        bot = library.MCTSBot(
            game,
            evaluator,
            uct_c,
            simulations,
            _MEMORY_MB,
            solve,
            seed,
            False,
            max_wall_clock_time=seconds,
        )
    else:
        bot = library.ISMCTSBot(
            seed,
            evaluator,
            uct_c,
            simulations,
            final_policy_type=library.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
            max_wall_clock_time=seconds,
        )
    try:
        return int(bot.step(state))
    except library.SpielError as error:
        raise MachineError(f"OpenSpiel's bot fails: {error}") from error


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
