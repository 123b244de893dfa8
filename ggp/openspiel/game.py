"""Rulesheets as games of OpenSpiel: `gdl(rules=NAME_OR_PATH)`.

OpenSpiel holds games and states in C++ and calls these classes for their content. It copies states
often, so a state has one attribute, whose copy is itself (`ggp.openspiel.positions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ggp.env.survey import MOST_STATES
from ggp.machine.spiel import games as spiel_games
from ggp.openspiel.observers import Coder, PathObserver, observer_of
from ggp.openspiel.positions import Position, resampled, start
from ggp.openspiel.sheet import Sheet
from ggp.openspiel.turns import playing

pyspiel: Any = spiel_games.pyspiel()

_Game: Any = pyspiel.Game
_State: Any = pyspiel.State

NAME = "gdl"

PARAMETERS = {"rules": "kuhn_poker", "verify_states": MOST_STATES, "max_turns": 0}
"""Parameters of the game `gdl`, with their default values."""

MOST_PLAYERS = 64
"""Number of players that OpenSpiel is given for rulesheets in general; each has its own number."""


class GdlGame(_Game):  # type: ignore[misc]
    """A rulesheet as a game of OpenSpiel; made by `pyspiel.load_game`.

    Utilities are goal values, minus an equal share of their sum if that is known to be constant.

    Args:
        params: `rules`, the name of a game that comes with ggp or the path of a rulesheet;
            `verify_states`, see `ggp.env.survey`, where 0 claims nothing; and `max_turns`, the
            number of turns that tensors have room for, 0 for as many as are proved.

    Raises:
        ConfigError: there is no such game, or only chance plays it.
        GDLError: the rules cannot be used.
        MachineError: the rules are too much for the fast backend.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {**PARAMETERS, **(params or {})}
        numbers = [int(given[name]) for name in ("verify_states", "max_turns")]
        playing_ = playing(str(given["rules"]), *numbers)
        sheet = playing_.sheet
        coder = Coder(sheet)
        # Names are the same wherever the game is loaded again.
        super().__init__(_type(sheet, coder), _info(sheet), {**given, "rules": sheet.rules})
        self._playing, self._coder = playing_, coder

    @property
    def sheet(self) -> Sheet:
        """The data of the rulesheet: its machine, its moves as actions, and their names."""
        return self._playing.sheet

    def new_initial_state(self) -> GdlState:
        """The initial state of the game."""
        return GdlState(self, start(self._playing))

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> PathObserver:
        """An observer of incomplete paths, or of observations, see `ggp.openspiel.observers`."""
        return observer_of(
            self._coder, len(self.sheet.players), iig_obs_type, pyspiel.PrivateInfoType
        )

    def max_chance_nodes_in_history(self) -> int:
        """Greatest number of choices of `random` in a match."""
        return self.sheet.most_chances


class GdlState(_State):  # type: ignore[misc]
    """A state of a rulesheet, and whose turn it is."""

    def __init__(self, game: GdlGame, position: Position) -> None:
        super().__init__(game)
        self._position = position

    @property
    def position(self) -> Position:
        """The position of the match."""
        return self._position

    def current_player(self) -> int:
        """The player that chooses next."""
        if self._position.turn.over:
            return int(pyspiel.PlayerId.TERMINAL)
        player = self._position.player
        return int(pyspiel.PlayerId.CHANCE) if player is None else player

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self._position.turn.over

    def returns(self) -> list[float]:
        """The utilities of the players, 0 before the end."""
        return self._position.turn.utilities

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The actions of chance, with probabilities."""
        return self._position.turn.outcomes

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> GdlState:
        """A state that the player, who is to choose, cannot tell from this one.

        It is drawn by its probability if the others' moves are uniformly random.

        Args:
            sampler: returns a uniform number from 0 to 1.

        Raises:
            BeliefDepletedError: none was found.
            ValueError: it is not this player's turn.
        """
        if player != self.current_player():
            raise ValueError(f"player {player} is not to choose here")
        rng = np.random.default_rng(int(sampler() * (1 << 53)))
        state: GdlState = self.get_game().new_initial_state()
        for action in resampled(self._position, rng):
            state.apply_action(action)
        return state

    def _legal_actions(self, player: int) -> list[int]:
        return self._position.actions()

    def _apply_action(self, action: int) -> None:
        self._position = self._position.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        sheet = self._position.turn.game.sheet
        names = sheet.outcomes if player == pyspiel.PlayerId.CHANCE else sheet.actions
        return names.texts[action]

    def __str__(self) -> str:
        return self._position.text()


def _type(sheet: Sheet | None = None, coder: Coder | None = None) -> Any:
    """OpenSpiel's type of a game; without a sheet, that of rulesheets in general."""
    kinds = pyspiel.GameType
    utility = kinds.Utility.GENERAL_SUM
    if sheet is not None and sheet.has_zero_sum:
        utility = kinds.Utility.ZERO_SUM
    elif sheet is not None and sheet.has_common_goal:
        utility = kinds.Utility.IDENTICAL
    by_chance = sheet is None or sheet.has_chance
    is_open = sheet is not None and sheet.is_open
    return kinds(
        short_name=NAME,
        long_name="Game Description Language",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC
        if by_chance
        else kinds.ChanceMode.DETERMINISTIC,
        information=kinds.Information.PERFECT_INFORMATION
        if is_open
        else kinds.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=MOST_PLAYERS if sheet is None else len(sheet.players),
        min_num_players=1 if sheet is None else len(sheet.players),
        provides_information_state_string=True,
        provides_information_state_tensor=coder is None or coder.has_information_states,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=PARAMETERS,
    )


def _info(sheet: Sheet) -> Any:
    least, most = sheet.bounds
    return pyspiel.GameInfo(
        num_distinct_actions=len(sheet.actions),
        max_chance_outcomes=len(sheet.outcomes) if sheet.has_chance else 0,
        num_players=len(sheet.players),
        min_utility=least,
        max_utility=most,
        utility_sum=0.0 if sheet.has_zero_sum else None,
        max_game_length=sheet.most_decisions,
    )


def register() -> None:
    """Register the game `gdl` with OpenSpiel."""
    pyspiel.register_game(_type(), GdlGame)
