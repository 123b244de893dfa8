"""The games that come with ggp, recognised by the rules that a server sends."""

from __future__ import annotations

from functools import cache

from ggp.errors import GGPError
from ggp.gdl.games import find_game, list_games
from ggp.protocol.texts.forms import MessageLimits, split_items, squeezed

_LIMITS = MessageLimits()


def game_of(rules: str) -> str:
    """What a game is called whose rules a server has sent; empty if it is another one, or its names
    were changed. Order of rules, letter case and white space do not matter."""
    return "" if len(rules) > 2 * _longest() else _names().get(_canonical(rules), "")


def _canonical(rules: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(squeezed(rule).lower() for rule in split_items(rules, _LIMITS)))
    except GGPError:  # too long, or too deep
        return ()


@cache
def _names() -> dict[tuple[str, ...], str]:
    """Names by rules; made in some hundredths of a second."""
    return {_canonical(text): name for name, text in _texts().items()}


@cache
def _longest() -> int:
    return max(map(len, _texts().values()), default=0)


@cache
def _texts() -> dict[str, str]:
    return {name: find_game(name).read_text(encoding="utf-8") for name in list_games()}
