"""The option `evaluation`: the value of states where a search stops.

`playouts` stands for random playouts. Any other value is a TOML file that declares the values of
pieces (`ggp.search.boards.board_values`), or the name of one that comes with the games:
`kriegspiel` stands for `kriegspiel.toml`, which also suits the smaller boards of that game.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.gdl.games import comes_with_games, find_companion
from ggp.machine.base import Machine
from ggp.machine.boards import BoardRelation
from ggp.players.options.option_fields import words
from ggp.search.boards.board_terms import BoardTerms, MovePattern, Piece
from ggp.search.boards.board_values import BoardValues
from ggp.search.boards.exchanges.quiescence import Quiescence
from ggp.search.parts import Evaluation

PLAYOUTS = "playouts"

_VARIABLES = ("?file", "?rank", "?role", "?piece")
_NUMBERS = ("scale", "protected", "threatened", "advance", "check")


def names_own_file(text: str) -> bool:
    """Whether a value of the option names a file that does not come with the games."""
    return text != PLAYOUTS and not comes_with_games(text, ".toml")


def evaluation_field(meaning: str) -> Any:
    """The field of an option that says what states are worth where a search stops."""

    def check(text: str) -> str:
        terms_of(text)
        return text

    return words(
        PLAYOUTS, meaning, "playouts|FILE", check, names_file=names_own_file, reads=own_file
    )


def own_file(text: str) -> str:
    """The file that a value of the option names, if it does not come with the games; else empty."""
    return text if names_own_file(text) else ""


def terms_of(name: str) -> BoardTerms | None:
    """The terms that an option names; None for random playouts.

    Raises:
        ConfigError: there is no such file, or its contents are wrong.
    """
    return None if name == PLAYOUTS else read_terms(find_companion(name, ".toml"))


def evaluation_of(name: str, machine: Machine, role: int = 0, quiet: int = 0) -> Evaluation | None:
    """The `Evaluation` that an option names; None for random playouts.

    Args:
        role: the role whose values count where captures are played out.
        quiet: most captures in a row that are played out, if the file says what they are.

    Raises:
        ConfigError: as for `terms_of`, or it does not suit the game.
    """
    terms = terms_of(name)
    if terms is None:
        return None
    try:
        values = BoardValues(machine, terms)
    except ConfigError as error:
        raise ConfigError(f"evaluation={name} does not suit this game: {error}") from error
    return Quiescence(machine, values, role, quiet) if quiet and terms.noisy else values


def read_terms(path: Path) -> BoardTerms:
    """The terms of the value of boards, from a file.

    Raises:
        ConfigError: it cannot be read, or its contents are wrong.
    """
    data = read_companion(path)
    try:
        return BoardTerms(
            relation=relation_of(data),
            pieces={name: _piece(each) for name, each in data["pieces"].items()},
            noisy=tuple(map(_pattern, data.get("noisy", ()))),
            **{name: float(data[name]) for name in _NUMBERS},
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} does not say what boards are worth: it needs fluent (with "
            f"{' '.join(_VARIABLES)}), {', '.join(_NUMBERS)}, and pieces with values "
            f"({type(error).__name__}: {error})"
        ) from error


def read_companion(path: Path) -> Mapping[str, Any]:
    """The contents of a file beside a rulesheet.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


def relation_of(data: Mapping[str, Any]) -> BoardRelation:
    """The form of the fluents of a board, as such a file declares it.

    Raises:
        KeyError, ValueError, TypeError, AttributeError: it is not declared.
    """
    words = data["fluent"].strip("()").split()
    file, rank, role, piece = (words.index(each) for each in _VARIABLES)
    return BoardRelation(words[0], (file, rank, role, piece))


def _piece(data: Mapping[str, Any]) -> Piece:
    unknown = set(data) - {each.name for each in fields(Piece)}
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    return Piece(
        value=float(data["value"]),
        steps=_steps(data.get("steps", ())),
        slides=_steps(data.get("slides", ())),
        takes={role: _steps(steps) for role, steps in data.get("takes", {}).items()},
        king=bool(data.get("king", False)),
    )


def _pattern(text: str) -> MovePattern:
    words = text.strip("()").split()
    told = "?from_file" in words or "?from_rank" in words
    origin = (words.index("?from_file"), words.index("?from_rank")) if told else None
    return MovePattern(words[0], len(words), words.index("?file"), words.index("?rank"), origin)


def _steps(data: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(x), int(y)) for x, y in data)
