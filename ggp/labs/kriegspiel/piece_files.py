"""Files in TOML that declare what pieces are worth (`boards.board_values`), for the option
`evaluation`. `kriegspiel.toml`, which comes with the games, also suits the smaller boards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.labs.kriegspiel.boards.board_terms import BoardTerms, MovePattern, Piece
from ggp.labs.kriegspiel.boards.board_values import BoardValues
from ggp.labs.kriegspiel.boards.exchanges.quiescence import Quiescence
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.board_makers import read_companion, relation_of
from ggp.search.parts import Evaluation

_NUMBERS = ("scale", "protected", "threatened", "advance", "check")


class PieceFiles:
    """Files that declare pieces: see `ggp.players.options.evaluations.EvaluationForm`."""

    def check(self, file: str) -> None:
        read_terms(Path(file))

    def make(
        self, file: str, machine: Machine, role: int, program: GameDefinition | None
    ) -> BoardValues:
        terms = read_terms(Path(file))
        try:
            return BoardValues(machine, terms)
        except ConfigError as error:
            name = Path(file).stem
            raise ConfigError(f"evaluation={name} does not suit this game: {error}") from error


FORM = PieceFiles()


def with_captures(
    values: Evaluation | None, machine: Machine, role: int, quiet: int
) -> Evaluation | None:
    """The same, with captures played out first, if the file says what they are.

    Args:
        role: the role whose values count there.
        quiet: most captures in a row that are played out.
    """
    if quiet and isinstance(values, BoardValues) and values.terms.noisy:
        return Quiescence(machine, values, role, quiet)
    return values


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
            f"?file ?rank ?role ?piece), {', '.join(_NUMBERS)}, and pieces with values "
            f"({type(error).__name__}: {error})"
        ) from error


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
