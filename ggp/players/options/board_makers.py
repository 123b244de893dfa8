"""The option `boards`: how boards are drawn when no history is found.

It names a TOML file beside a rulesheet, as `evaluation` does (`evaluations`), with a table `boards`
for this purpose: see `ggp.belief.samplers.board_maker`. `none` is the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ggp.belief import BoardMaker, DrawnPieces
from ggp.errors import ConfigError
from ggp.gdl.games import comes_with_games, find_companion
from ggp.machine.base import Machine
from ggp.players.options.evaluations import read_companion, read_terms, relation_of
from ggp.players.options.option_fields import words
from ggp.search.boards.board_values import BoardValues

NONE = "none"

_KEYS = {"again", "forget", "inner", "home", "promotions", "promoted"}


def boards_field() -> Any:
    """The field of a player's options."""

    def check(text: str) -> str:
        drawn_pieces_of(text)
        return text

    def names_file(text: str) -> bool:
        return text != NONE and not comes_with_games(text, ".toml")

    meaning = "how boards are drawn where no history is found, as a file declares it"

    def reads(text: str) -> str:
        return text if names_file(text) else ""

    return words(NONE, meaning, "none|FILE", check, names_file=names_file, reads=reads)


def drawn_pieces_of(name: str) -> DrawnPieces | None:
    """The description of boards that an option names; None if no boards are drawn.

    Raises:
        ConfigError: there is no such file, or it does not say how boards are drawn.
    """
    if name == NONE:
        return None
    path = find_companion(name, ".toml")
    data = read_companion(path)
    try:
        return _terms(data)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} does not say how boards are drawn: it needs fluent, pieces, and a table "
            f"boards of some of {', '.join(sorted(_KEYS))} ({type(error).__name__}: {error})"
        ) from error


def board_maker_of(name: str, machine: Machine) -> BoardMaker | None:
    """The `BoardMaker` that an option names; None if no boards are drawn.

    Raises:
        ConfigError: as for `drawn_pieces_of`, or it does not suit the game.
    """
    terms = drawn_pieces_of(name)
    if terms is None:
        return None
    values = BoardValues(machine, read_terms(find_companion(name, ".toml")))
    return BoardMaker(machine, terms, values.attacked)


def _terms(data: Mapping[str, Any]) -> DrawnPieces:
    boards, pieces = data["boards"], data["pieces"]
    if unknown := set(boards) - _KEYS:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    for name in (*boards.get("inner", ()), *boards.get("promotions", ())):
        if name not in pieces:
            raise ValueError(f"there is no piece {name}")
    return DrawnPieces(
        relation=relation_of(data),
        pieces=frozenset(pieces),
        kings=frozenset(name for name, piece in pieces.items() if piece.get("king")),
        inner=frozenset(boards.get("inner", ())),
        again=boards.get("again"),
        forget=tuple(tuple(each.strip("()").split()) for each in boards.get("forget", ())),
        home=float(boards.get("home", 0.0)),
        promotions=tuple(boards.get("promotions", ())),
        promoted=float(boards.get("promoted", 0.0)),
    )
