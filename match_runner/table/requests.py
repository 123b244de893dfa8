"""Requests of browsers, checked: whatever is wrong is a `ConfigError` with one line of text."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ggp.errors import ConfigError
from ggp.gdl.source import Source
from ggp.protocol.messages import MAX_CLOCK_S
from ggp.protocol.texts.forms import MessageLimits, too_deep_at
from match_runner.match.conditions import MAX_PAUSE_S
from match_runner.table.match_folder import MatchSetup
from match_runner.table.seats.seating import HUMAN

MOST_MATCHES = 100
"""Most matches in one request."""

MOST_RULES, MOST_TEXT = 2_000_000, 500
"""Most characters of a rulesheet, and of any other text."""

MOST_SEED = 2**48


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """A request for matches.

    Attributes:
        game: name of a game, or a name for the rules.
        rules: their text; None for those of that game.
        players: `human`, or what an offer names (see `offers`), by role.
        play_clock_s: play clock of players that are not people; None without one.
        human_clock_s: play clock of people; None without one.
        pause_s: wait before each turn.
        seed: seed of the first match; the others count on from it.
        matches: number of matches.
    """

    game: str
    rules: str | None
    players: Mapping[str, str]
    play_clock_s: float | None
    human_clock_s: float | None
    pause_s: float
    seed: int
    matches: int


def read_match(data: object) -> MatchRequest:
    """Read a request for matches from JSON.

    Raises:
        ConfigError: a field is missing or wrong.
    """
    fields = fields_of(data)
    players = fields.get("players")
    if not isinstance(players, dict) or not players:
        raise ConfigError("players must be an object with a player for every role")
    seats = {_text(role, "a role"): _text(each, "a player") for role, each in players.items()}
    matches = _whole(fields.get("matches", 1), "matches", 1, MOST_MATCHES)
    if HUMAN in seats.values() and matches > 1:
        raise ConfigError("people play one match at a time")
    rules = fields.get("rules")
    return MatchRequest(
        game=_text(fields.get("game"), "game"),
        rules=None if rules is None else rules_text(rules),
        players=seats,
        play_clock_s=_seconds(fields.get("play_clock_s"), "play_clock_s", MAX_CLOCK_S),
        human_clock_s=_seconds(fields.get("human_clock_s"), "human_clock_s", MAX_CLOCK_S),
        pause_s=_seconds(fields.get("pause_s"), "pause_s", MAX_PAUSE_S) or 0.0,
        seed=_whole(fields.get("seed", 0), "seed", 0, MOST_SEED),
        matches=matches,
    )


def read_again(data: object, setup: MatchSetup) -> MatchRequest:
    """Read a request for another match like one that was played: other players, another clock.

    Raises:
        ConfigError: a field is missing or wrong.
    """
    fields = fields_of(data)
    asked = {
        "game": setup.game,
        "players": fields.get("players"),
        "play_clock_s": fields.get("play_clock_s"),
        "human_clock_s": setup.human_clock_s,
        "pause_s": setup.pause_s,
        "seed": secrets.randbelow(MOST_SEED),
    }
    return read_match(asked)


def read_player(data: object) -> str:
    """Read a player that somebody typed."""
    return _text(fields_of(data).get("player"), "player")


def read_move(data: object) -> tuple[int, str]:
    """Read the turn and the move that a person sends."""
    fields = fields_of(data)
    move = fields.get("move")
    if not isinstance(move, str):
        raise ConfigError("move must be a string")
    return _whole(fields.get("turn"), "turn", 0, MOST_SEED), move


def rules_text(value: object) -> str:
    """Read the text of a rulesheet; whether its rules make sense is not checked."""
    if not isinstance(value, str) or len(value) > MOST_RULES:
        raise ConfigError(f"rules must be a string of at most {MOST_RULES:,} characters")
    offset = too_deep_at(value, MessageLimits().depth)
    if offset is not None:
        line, column = Source("rules", value).position(offset)
        raise ConfigError(
            f"rules:{line}:{column}: lists nest deeper than the limit of "
            f"{MessageLimits().depth} levels; close the parentheses before it"
        )
    return value


def fields_of(data: object) -> dict[str, Any]:
    """Read a JSON object."""
    if not isinstance(data, dict):
        raise ConfigError("an object was expected")
    return data


def number_of(text: str, name: str) -> int:
    """Read a whole number in a query."""
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise ConfigError(f"{name} must be a whole number")
    return int(text)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MOST_TEXT:
        raise ConfigError(f"{name} must be a text of 1 to {MOST_TEXT} characters")
    return value.strip()


def _whole(value: object, name: str, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}")
    return value


def _seconds(value: object, name: str, most: float) -> float | None:
    """Read a number of seconds; None if there is none, or if it is 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None:
        return None
    if not isinstance(value, int | float) or not is_number or not 0 <= value <= most:
        raise ConfigError(f"{name} must be a number of seconds up to {most:g}")
    return float(value) or None
