"""The option `boards`: from the name of a file to a `BoardMaker` for when no history is found.

The option names a TOML file beside a rulesheet, as `evaluation` does (`evaluations`). Its table
`boards` describes how to draw boards: see `ggp.belief.samplers.board_maker`. The default is `none`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from ggp.belief import BoardMaker, DrawnPieces
from ggp.errors import ConfigError
from ggp.gdl.games import comes_with_games, find_companion
from ggp.machine.base import BoolArray, Machine, States
from ggp.machine.boards import BoardRelation
from ggp.players.options.evaluations import evaluation_of
from ggp.players.options.option_fields import words
from ggp.run.whole_files import read_toml

NONE = "none"

_VARIABLES = ("?file", "?rank", "?role", "?piece")


@runtime_checkable
class KnowsAttacks(Protocol):
    """An `Evaluation` that knows the squares a role attacks: no king of another role is drawn
    there."""

    def attacked(self, states: States, role: int) -> BoolArray:
        """`[L, X, Y]` whether a role attacks each square, in each of L states."""
        ...


_KEYS = {"again", "forget", "inner", "home", "promotions", "promoted"}


def boards_field() -> Any:
    """The option `boards`."""

    def check(text: str) -> str:
        drawn_pieces_of(text)
        return text

    def names_file(text: str) -> bool:
        return text != NONE and not comes_with_games(text, ".toml")

    meaning = "a file that says how to draw boards when no history is found"

    def reads(text: str) -> str:
        return text if names_file(text) else ""

    return words(NONE, meaning, "none|FILE", check, names_file=names_file, reads=reads)


def drawn_pieces_of(name: str) -> DrawnPieces | None:
    """The description of boards in the file that an option names; None for `none`.

    Raises:
        ConfigError: there is no such file, or it does not describe boards.
    """
    if name == NONE:
        return None
    path = find_companion(name, ".toml")
    table = read_toml(path)
    try:
        return _terms(table)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} does not say how boards are drawn: it needs fluent, pieces, and a table "
            f"boards of some of {', '.join(sorted(_KEYS))} ({type(error).__name__}: {error})"
        ) from error


def board_maker_of(name: str, machine: Machine) -> BoardMaker | None:
    """The `BoardMaker` for the file that an option names; None for `none`.

    Raises:
        ConfigError: as for `drawn_pieces_of`, or the file does not suit the game.
    """
    terms = drawn_pieces_of(name)
    if terms is None:
        return None
    values = evaluation_of(name, machine)
    return BoardMaker(machine, terms, values.attacked if isinstance(values, KnowsAttacks) else None)


def _terms(table: Mapping[str, Any]) -> DrawnPieces:
    boards, pieces = table["boards"], table["pieces"]
    if unknown := set(boards) - _KEYS:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    for name in (*boards.get("inner", ()), *boards.get("promotions", ())):
        if name not in pieces:
            raise ValueError(f"there is no piece {name}")
    return DrawnPieces(
        relation=relation_of(table),
        pieces=frozenset(pieces),
        kings=frozenset(name for name, piece in pieces.items() if piece.get("king")),
        inner=frozenset(boards.get("inner", ())),
        again=boards.get("again"),
        forget=tuple(tuple(pattern.strip("()").split()) for pattern in boards.get("forget", ())),
        home=float(boards.get("home", 0.0)),
        promotions=tuple(boards.get("promotions", ())),
        promoted=float(boards.get("promoted", 0.0)),
    )


def relation_of(table: Mapping[str, Any]) -> BoardRelation:
    """The form of the fluents of a board, as declared in such a file.

    Raises:
        KeyError, ValueError, TypeError, AttributeError: it is not declared.
    """
    words = table["fluent"].strip("()").split()
    file, rank, role, piece = (words.index(variable) for variable in _VARIABLES)
    return BoardRelation(words[0], (file, rank, role, piece))
