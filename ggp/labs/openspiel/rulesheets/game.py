"""Rulesheets as games of OpenSpiel: `gdl(rules=NAME_OR_PATH)`.

`GdlGame` and `GdlState` are OpenSpiel's game and state on a rulesheet (`sheet`, `turns`): actions
come in as numbers, and legal actions, utilities, and the players' knowledge as texts and tensors go
out. OpenSpiel holds these objects in C++ and calls their methods. It copies states often, so a
state has a single attribute, a `Position`, whose copy is the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ggp.errors import MachineError
from ggp.gdl import parse_term
from ggp.gdl.terms import Compound
from ggp.labs.openspiel.machine import games as spiel_games
from ggp.labs.openspiel.rulesheets.sheet import Sheet
from ggp.labs.openspiel.rulesheets.turns import (
    ChoiceTurn,
    Past,
    Position,
    playing,
    resampled,
    start,
    turns_of,
)
from ggp.machine.base import IntArray
from ggp.study.lengths import MAX_STATES
from ggp.study.names import Names

pyspiel: Any = spiel_games.pyspiel()

_Game: Any = pyspiel.Game
_State: Any = pyspiel.State

NAME = "gdl"

PARAMETERS = {"rules": "kuhn_poker", "verify_states": MAX_STATES, "max_turns": 0}
"""Parameters of the game `gdl`, with their default values."""

MAX_PLAYERS = 64
"""Number of players that OpenSpiel gets for rulesheets in general; each game gives its own."""


class GdlGame(_Game):  # type: ignore[misc]
    """A rulesheet as a game of OpenSpiel; made by `pyspiel.load_game`.

    Utilities are goal values, minus an equal share of their sum if that is known to be constant.

    Args:
        params: `rules`, the name of a game that comes with ggp or the path of a rulesheet;
            `verify_states`, see `ggp.study.lengths`, where 0 claims nothing; and `max_turns`, the
            number of turns that tensors have room for, 0 for the proved bound.

    Raises:
        ConfigError: there is no such game, or only chance plays it.
        GDLError: the rules cannot be used.
        MachineError: the rules are too large for a circuit.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        settings = {**PARAMETERS, **(params or {})}
        numbers = [int(settings[name]) for name in ("verify_states", "max_turns")]
        playing_ = playing(str(settings["rules"]), *numbers)
        sheet = playing_.sheet
        coder = Coder(sheet)
        # The name of the rules is valid in any folder, so the game can be loaded again anywhere.
        super().__init__(_type(sheet, coder), _info(sheet), {**settings, "rules": sheet.rules})
        self._playing, self._coder = playing_, coder

    @property
    def sheet(self) -> Sheet:
        """The data of the rulesheet: its machine, its actions, and their names."""
        return self._playing.sheet

    def new_initial_state(self) -> GdlState:
        """The initial state of the game."""
        return GdlState(self, start(self._playing))

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> PathObserver:
        """An observer of incomplete paths, or of observations, see `PathObserver`.

        Raises:
            ValueError: OpenSpiel requests the knowledge of all players, which is not available.
        """
        if iig_obs_type is None:
            return PathObserver(self._coder, recalls=False)
        private, kinds = iig_obs_type.private_info, pyspiel.PrivateInfoType
        if private == kinds.ALL_PLAYERS:
            raise ValueError("there are observations of single players only")
        shows = private == kinds.SINGLE_PLAYER
        return PathObserver(self._coder, recalls=iig_obs_type.perfect_recall, shows=shows)

    def max_chance_nodes_in_history(self) -> int:
        """Most choices of `random` in a match."""
        return self.sheet.most_chances


class GdlState(_State):  # type: ignore[misc]
    """A state of a rulesheet, with the player to choose."""

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
        """A random state that the player, who is to choose, cannot distinguish from this one.

        It is drawn by its probability if the other players move uniformly at random.

        Args:
            sampler: returns a uniform number from 0 to 1.

        Raises:
            BeliefDepletedError: no such state was found.
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
        self._position = self._position.child(action)

    def _action_to_string(self, player: int, action: int) -> str:
        sheet = self._position.turn.game.sheet
        names = sheet.outcomes if player == pyspiel.PlayerId.CHANCE else sheet.actions
        return names.texts[action]

    def __str__(self) -> str:
        return self._position.text()


def _type(sheet: Sheet | None = None, coder: Coder | None = None) -> Any:
    """OpenSpiel's type of a game; without a sheet, the type of rulesheets in general."""
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
        max_num_players=MAX_PLAYERS if sheet is None else len(sheet.players),
        min_num_players=1 if sheet is None else len(sheet.players),
        provides_information_state_string=True,
        provides_information_state_tensor=coder is None or coder.has_information_states,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=PARAMETERS,
    )


def _info(sheet: Sheet) -> Any:
    low, high = sheet.bounds
    return pyspiel.GameInfo(
        num_distinct_actions=len(sheet.actions),
        max_chance_outcomes=len(sheet.outcomes) if sheet.has_chance else 0,
        num_players=len(sheet.players),
        min_utility=low,
        max_utility=high,
        utility_sum=0.0 if sheet.has_zero_sum else None,
        max_game_length=sheet.most_decisions,
    )


def register() -> None:
    """Register the game `gdl` with OpenSpiel."""
    pyspiel.register_game(_type(), GdlGame)


# ------------------------------------------------------------------------
# Players' knowledge as tensors: OpenSpiel's `information_state_tensor` and `observation_tensor`.
#
# Both consist of *rows*, one for each turn, with ones for the player's move and percepts, by the
# indices of `ggp.study.names`. So an algorithm learns here from the same data as in our
# environments.
#
#     information state   the player [P] | every turn [T, A + S] | its choice in this turn [A]
#     observation         the player [P] | the last turn [A + S] | all before it, together [A + S]
#                         | its choice in this turn [A]
#
# for P players, at most T turns, A moves and S percepts. Two information states have equal tensors
# if and only if they have equal texts. Observations have earlier percepts as a set: they need not
# contain everything.

MAX_NUMBERS = 1 << 20
"""Largest size of an information state; games in which it is larger have only observations."""

MAX_REMEMBERED = 50_000
"""Number of turns whose rows are cached."""


class Coder:
    """The rows of turns of one game.

    Attributes:
        names: the meaning of the indices of a row: moves, then percepts.
        num_players: P.
        most_turns: most turns of a match; None if no bound is known.
    """

    def __init__(self, sheet: Sheet) -> None:
        self.names: Names = sheet.names_of_indices
        self.num_players, self.most_turns = len(sheet.players), sheet.most_turns
        self._sheet = sheet
        self._percepts: dict[int, list[int]] = {}
        self._places: dict[tuple[int, int], IntArray] = {}

    @property
    def width(self) -> int:
        """Length of a row."""
        return len(self.names.moves) + len(self.names.percepts)

    @property
    def has_information_states(self) -> bool:
        """Whether tensors of whole paths have a known size that is not too large."""
        return self.most_turns is not None and self.most_turns * self.width <= MAX_NUMBERS

    def places(self, turn: ChoiceTurn, player: int) -> IntArray:
        """Indices of the ones in the rows of the earlier turns, if the rows are one flat array.

        Raises:
            MachineError: there are more than `most_turns` turns.
        """
        key = (turn.number, player)
        places = self._places.get(key)
        if places is None:
            if len(self._places) >= MAX_REMEMBERED:
                self._places.clear()
            past = turns_of(turn.past)
            if self.most_turns is not None and len(past) > self.most_turns:
                raise MachineError(
                    f"a match of {self._sheet.rules} has more than {self.most_turns} turns, for "
                    "which tensors have room; give a larger max_turns"
                )
            rows = [self._row(past_turn, player) for past_turn in past]
            flat = [self.width * k + index for k, row in enumerate(rows) for index in row]
            places = self._places[key] = np.array(flat, dtype=np.int64)
        return places

    def _row(self, past: Past, player: int) -> list[int]:
        sheet = self._sheet
        role = sheet.players[player]
        percepts = past.percepts[role]
        seen = self._percepts.get(percepts)
        if seen is None:
            texts = sheet.machine.percept_texts(percepts)
            seen = self._percepts[percepts] = [
                len(self.names.moves) + self.names.percept(text) for text in texts
            ]
        # An action has the same number as its move: both are sorted by text.
        return [sheet.actions.action(past.joint_move[role]), *seen]


class PathObserver:
    """Shows a player's knowledge of a state, as text and as a tensor.

    Args:
        coder: the rows of the game.
        recalls: whether to show the whole information state, or an observation.
        shows: whether to show anything: there are no common observations of all players.

    Attributes:
        tensor: the numbers that were last shown; None if there are no tensors.
        dict: named parts of the tensor.
    """

    def __init__(self, coder: Coder, *, recalls: bool, shows: bool = True) -> None:
        self._coder, self._recalls, self._shows = coder, recalls, shows
        self.dict: dict[str, Any] = {}
        self.tensor: Any = None
        if not shows or (recalls and not coder.has_information_states):
            return
        moves, width = len(coder.names.moves), coder.width
        shapes: list[tuple[str, tuple[int, ...]]] = [("player", (coder.num_players,))]
        if recalls:
            assert coder.most_turns is not None
            shapes.append(("turns", (coder.most_turns, width)))
        else:
            shapes += [("last", (width,)), ("before", (width,))]
        shapes.append(("chosen", (moves,)))
        sizes = [int(np.prod(shape)) for _, shape in shapes]
        self.tensor = np.zeros(sum(sizes), dtype=np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        for (name, shape), part in zip(shapes, parts, strict=True):
            self.dict[name] = part.reshape(shape)

    def set_from(self, state: Any, player: int) -> None:
        """Show a state to a player."""
        if self.tensor is None:
            return
        position: Position = state.position
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        places = self._coder.places(position.turn, player)
        width = self._coder.width
        if self._recalls:
            self.dict["turns"].ravel()[places] = 1
        else:
            start = width * (position.turn.depth - 1)
            self.dict["last"][places[places >= start] - start] = 1
            self.dict["before"][places[places < start] % width] = 1
        action = position.choice(player)
        if action is not None:
            self.dict["chosen"][action] = 1

    def string_from(self, state: Any, player: int) -> str:
        """The player's name, and a line for each turn, or for the last one: move and percepts."""
        if not self._shows:
            return ""
        path: str = state.position.path(player)
        if self._recalls:
            return path
        name, *lines = path.split("\n")
        unfinished = bool(lines) and lines[-1].endswith("/ ?")
        tail = lines[-2:] if unfinished else lines[-1:]
        earlier = sorted(
            {part for line in lines[: len(lines) - len(tail)] for part in _parts(line)}
        )
        return "\n".join([name, f"before: {' '.join(earlier)}", *tail])


def _parts(line: str) -> list[str]:
    """The move and the percepts of a line of a path."""
    move, _, seen = line.partition(" / ")
    if seen == "()":
        return [move]
    percepts = parse_term(f"(seen {seen[1:-1]})")
    assert isinstance(percepts, Compound)
    return [move, *map(str, percepts.args)]
