"""Games that exist both as our rulesheets and in OpenSpiel, with a table of moves: `twins.toml`.

`find_twin` takes a game, and returns its `Twin`, which translates our moves into OpenSpiel's
actions. A twin is the same game: the role to move has the same moves, matches have the same
outcomes, and states that a role cannot distinguish here cannot be distinguished there. A test plays
both.

    >>> from ggp.machine.games import load_program
    >>> twin = find_twin(load_program("connect_four"))
    >>> twin.actions("first", "(drop 3)")
    [(2,)]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

from ggp.errors import MachineError
from ggp.gdl import normalize
from ggp.labs.openspiel.machine.games import is_open, pyspiel
from ggp.machine.definition import GameDefinition

WAITING = "noop"
"""The move of a role that is not to move; OpenSpiel has no action for it."""

MIDDLE = 50.0
"""The goal value of utility 0."""

_SUMMAND = re.compile(r"([+-]?)\s*(?:(\d+)\s*\*\s*)?(\?\w+|\d+)\s*")

Options = tuple[int, ...]
"""Alternative actions, one of which is legal."""


@dataclass(frozen=True)
class Sum:
    """An action as a sum over the values of a move's variables.

    Attributes:
        constant: the constant summand.
        factors: the factor of each variable.
    """

    constant: int
    factors: Mapping[str, int]

    @classmethod
    def read(cls, text: str) -> Sum:
        """A sum such as `?x + 3 * ?y - 4`.

        Raises:
            ValueError: the text is not such a sum.
        """
        constant, factors, at = 0, dict[str, int](), 0
        while at < len(text):
            match = _SUMMAND.match(text, at)
            if match is None or (at and not match[1]):
                raise ValueError(f"no sum: {text!r}")
            factor = int(match[2] or 1) * (-1 if match[1] == "-" else 1)
            if match[3].startswith("?"):
                factors[match[3]] = factors.get(match[3], 0) + factor
            else:
                constant += factor * int(match[3])
            at = match.end()
        return cls(constant, factors)

    def of(self, values: Mapping[str, int]) -> int:
        """The value of the sum for these values of the variables."""
        return self.constant + sum(f * values[name] for name, f in self.factors.items())


@dataclass(frozen=True)
class Pattern:
    """A pattern of moves of the same form, and their actions.

    Attributes:
        role: the role that has these moves; None for all roles.
        words: the words of the move, without brackets.
        actions: the actions of the move in order, each as sums, one of which is legal.
    """

    role: str | None
    words: tuple[str, ...]
    actions: tuple[tuple[Sum, ...], ...]

    def of(self, role: str, words: Sequence[str], names: Mapping[str, int]) -> list[Options] | None:
        """The actions of a move; None if the pattern does not match it."""
        if self.role not in (None, role) or len(words) != len(self.words):
            return None
        values: dict[str, int] = {}
        for expected, word in zip(self.words, words, strict=True):
            if expected.startswith("?"):
                values[expected] = names[word] if word in names else int(word)
            elif expected != word:
                return None
        return [tuple(option.of(values) for option in options) for options in self.actions]


@dataclass(frozen=True)
class Twin:
    """A game of ours that OpenSpiel has.

    Attributes:
        name: name of our rulesheet.
        title: OpenSpiel's name of the game, with its parameters.
        roles: our roles, in the order of its players 0, 1, ...
        points: goal points for one unit of utility.
        draws: whether OpenSpiel can draw a state from a player's information state.
        names: numbers that stand for names in moves.
        patterns: patterns of moves.
    """

    name: str
    title: str
    roles: tuple[str, ...]
    points: float
    draws: bool
    names: Mapping[str, int]
    patterns: tuple[Pattern, ...]

    @cached_property
    def game(self) -> Any:
        """OpenSpiel's game, a `pyspiel.Game`.

        Raises:
            BackendUnavailableError: OpenSpiel is not installed.
        """
        return pyspiel().load_game(self.title)

    @property
    def hides(self) -> bool:
        """Whether the game has imperfect information."""
        return not is_open(self.game)

    def actions(self, role: str, move: str) -> list[Options]:
        """OpenSpiel's actions for a move of ours, none for waiting.

        Args:
            role: whose move it is.
            move: canonical KIF.

        Raises:
            MachineError: the table does not have this move.
        """
        if move == WAITING:
            return []
        words = move.strip("()").split()
        for pattern in self.patterns:
            actions = pattern.of(role, words, self.names)
            if actions is not None:
                return actions
        raise MachineError(f"the twin of {self.name} does not know the move {move} of {role}")

    def play(self, state: Any, actions: Iterable[Options]) -> None:
        """Make a move, given by its actions, in a state of OpenSpiel.

        Raises:
            MachineError: the move is illegal there.
        """
        for options in actions:
            state.apply_action(self.legal(state, options))

    def legal(self, state: Any, options: Options) -> int:
        """The legal action among alternatives in a state of OpenSpiel.

        Raises:
            MachineError: none is legal.
        """
        legal = state.legal_actions()
        for action in options:
            if action in legal:
                return action
        raise MachineError(f"{self.title} and {self.name} differ: {options} in {legal}")

    def goal(self, utility: float) -> float:
        """Our goal value for a player's utility there."""
        return MIDDLE + self.points * utility


@cache
def twins() -> Mapping[str, Twin]:
    """All twins by the names of our rulesheets."""
    text = resources.files(__package__).joinpath("twins.toml").read_text(encoding="utf-8")
    return {name: _read(name, entry) for name, entry in tomllib.loads(text).items()}


def find_twin(program: GameDefinition) -> Twin | None:
    """The twin of a game, found by its rules, not its name; None if there is none."""
    for twin in twins().values():
        if set(twin.roles) <= set(program.roles) and _digest(twin.name) == program.digest:
            return twin
    return None


@cache
def _digest(name: str) -> str:
    return normalize.load(name).digest


def _read(name: str, entry: Mapping[str, Any]) -> Twin:
    return Twin(
        name,
        entry["game"],
        tuple(entry["roles"]),
        entry["points"],
        entry.get("draws", False),
        entry.get("names", {}),
        tuple(_pattern(text, actions) for text, actions in entry["moves"].items()),
    )


def _pattern(text: str, actions: Sequence[str]) -> Pattern:
    role, bracket, rest = text.partition("(")
    words = (bracket + rest or role).strip("()").split()
    sums = (tuple(Sum.read(part.strip()) for part in action.split("|")) for action in actions)
    return Pattern(role.strip() or None if bracket else None, tuple(words), tuple(sums))
