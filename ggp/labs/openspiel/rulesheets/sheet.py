"""A rulesheet with the data that OpenSpiel needs: numbered actions, bounds on turns and utilities.

`Sheet` loads a rulesheet, builds its machine, and surveys its states for bounds; all states of the
game share it. Actions are numbered by the sorted texts of moves: the moves of all players together,
and the moves of `random` separately. So they have the same numbers in every process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from ggp.errors import ConfigError
from ggp.gdl.games import find_game, list_games
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.base import DEFAULT_MAX_STEPS, FloatArray, IntArray, Limits, is_open, player_roles
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.study.lengths import Survey, proved_turns, survey
from ggp.study.names import names_of

_LIMITS = Limits(grounding_seconds=120.0)
"""A long time for grounding: no match waits, and no other backend could take over."""

_NO_PATH = frozenset(",()=")
"""Characters that OpenSpiel cannot read in the names of games."""


class Actions:
    """Moves of a machine with their numbers in OpenSpiel.

    Attributes:
        texts: the moves as canonical KIF, by action.
    """

    def __init__(self, machine: PropnetMachine, roles: Sequence[int]) -> None:
        names = {name for role in roles for name in machine.circuit.legal[role].names}
        self.texts = tuple(sorted(names))
        moves = [machine.move_id(text) for text in self.texts]
        self._moves = [move for move in moves if move is not None]  # the machine knows all moves
        self._actions = {move: action for action, move in enumerate(self._moves)}

    def __len__(self) -> int:
        return len(self.texts)

    def of(self, moves: IntArray) -> list[int]:
        """The actions of moves, increasing."""
        return sorted(map(self.action, moves.tolist()))

    def action(self, move: int) -> int:
        """The action of a move."""
        return self._actions[move]

    def move(self, action: int) -> int:
        """The move of an action."""
        return self._moves[action]


class Sheet:
    """The data that all states of one game share.

    Attributes:
        rules: name of the game, or path of its rulesheet.
        verify_states: most states that the survey visits.
        max_turns: number of turns that tensors have room for; 0 if it was not given.
        names_of_indices: the meaning of the indices of tensors, as in environments.
        machine: the machine of the game.
        players: `[P]` all roles except `random`, in the order of the rulesheet.
        actions: the actions of the players.
        outcomes: the actions of chance.
        survey: properties of all matches; None if there are too many states.
    """

    def __init__(self, rules: str, verify_states: int, max_turns: int = 0) -> None:
        """The game of a rulesheet; without a survey if `verify_states` is 0.

        Args:
            max_turns: number of turns that tensors have room for; 0 for the proved bound.

        Raises:
            ConfigError: there is no such game, or only chance plays it.
            GDLError: the rules cannot be used.
            MachineError: the rules are too large for the circuit, the only backend that lists all
                moves in advance.
        """
        program = load(rules)
        machine = build_machine(program, "propnet", _LIMITS)
        assert on_circuit(machine)
        self.rules, self.verify_states, self.machine = rules, verify_states, machine
        self.max_turns = max_turns
        self.names_of_indices = names_of(program, machine)
        self.players = player_roles(machine)
        if not self.players:
            raise ConfigError(f"nobody plays {rules} but chance")
        self.actions = Actions(machine, self.players)
        chance = [] if machine.random_role is None else [machine.random_role]
        self.outcomes = Actions(machine, chance)
        self.survey: Survey | None = survey(machine, verify_states) if verify_states else None

    @property
    def names(self) -> list[str]:
        """`[P]` names of the players."""
        return [self.machine.roles[role] for role in self.players]

    @cached_property
    def most_turns(self) -> int | None:
        """Number of turns that tensors have room for; None if no bound is given or known."""
        if self.max_turns:
            return self.max_turns
        if self.survey is not None:
            return self.survey.most_turns
        return proved_turns(self.machine) if self.verify_states else None

    @cached_property
    def share(self) -> float:
        """The difference between goal values and utilities.

        It is a player's share of the sum of goals, if that is known to be constant, so that the
        game has zero sum; otherwise 0.
        """
        total = None if self.survey is None else self.survey.sum_of_goals
        return total / len(self.players) if total is not None and len(self.players) > 1 else 0.0

    @property
    def has_zero_sum(self) -> bool:
        """Whether the utilities of several players are known to sum to 0."""
        is_constant = self.survey is not None and self.survey.sum_of_goals is not None
        return is_constant and len(self.players) > 1

    @property
    def has_common_goal(self) -> bool:
        """Whether several players are known to have the same goal value in every match."""
        return self.survey is not None and len(self.players) > 1 and self.survey.is_common

    @property
    def is_open(self) -> bool:
        """Whether the game is known to have perfect information at every choice."""
        is_sequential = self.survey is not None and not self.survey.simultaneous
        return is_sequential and is_open(self.machine)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest utility."""
        if self.survey is None:
            return self.machine.goal_range
        goals = self.survey.goals - self.share
        return float(goals.min()), float(goals.max())

    @property
    def most_decisions(self) -> int:
        """Most choices of all players together in a match."""
        if self.survey is None:
            return DEFAULT_MAX_STEPS * len(self.players)
        return self.survey.most_decisions

    @property
    def has_chance(self) -> bool:
        """Whether `random` may have a choice."""
        return self.most_chances > 0

    @property
    def most_chances(self) -> int:
        """Most choices of `random` in a match."""
        if self.survey is None:
            return DEFAULT_MAX_STEPS if len(self.outcomes) > 1 else 0
        return self.survey.most_chances

    def utilities(self, goals: FloatArray) -> list[float]:
        """The utilities of the players, given the goal values of all roles."""
        utilities: list[float] = (goals[self.players] - self.share).tolist()
        return utilities


def canonical_name(rules: str) -> tuple[str, int]:
    """The name of a game that is valid in any folder, and the time of its file's last change.

    Args:
        rules: name of a game that comes with ggp, or path of a rulesheet.

    Raises:
        ConfigError: there is no such game, or its path has characters that OpenSpiel cannot read
            in the name of a game.
    """
    path = find_game(rules)
    name = rules
    if os.path.exists(rules) or rules not in list_games():
        name = os.path.abspath(rules)
    if _NO_PATH & set(name):
        raise ConfigError(
            f"OpenSpiel cannot read the path {name} in the name of a game; copy the rulesheet to "
            f"where its path has none of {' '.join(sorted(_NO_PATH))}"
        )
    return name, path.stat().st_mtime_ns
