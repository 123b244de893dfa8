"""Which long tests run: some with the test command, all with `make verify`.

Cases of a test that take seconds, and teach what its other cases teach, are marked; properties are
tried with fewer examples. Games that are like others are played by tests of games and machines, not
by all that are run on every game.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.support.games import GAMES, REPOSITORY

THOROUGH = os.environ.get("GGP_THOROUGH") == "1"
"""Set by `make verify`."""


LIKE_OTHERS = {
    "banker_and_thief_sequential",
    "battleships_in_fog",
    "blind_breakthrough",
    "connect_four",
    "dark_chess",
    "dark_chess_4x4",
    "dark_hex",
    "dark_hex_5x5",
    "kriegspiel",
    "kriegspiel_5x5",
    "kriegspiel_king_rook",
    "leduc_poker",
    "mastermind",
    "number_guessing",
    "othello",
    "phantom_connect_four",
    "phantom_ttt",
}
"""Games whose matches are long, or have many states, and are made as another game of ours is."""

SHOWN_ON_ALL = {"breakthrough", "krieg_tic_tac_toe", "kuhn_poker", "meier", "tic_tac_toe"}
"""Games that the backend for large rulesheets also plays with the test command: with chance,
secrets, percepts, arithmetic and what is open to all."""

_OF_GAMES = {"game", "name"}
"""The name of the argument of tests that run on every game."""

_ABOUT_GAMES = (
    *("games/", "golden/", "openspiel/"),
    *("machine/test_agreement", "machine/test_perft", "machine/propnet/test_agreement"),
)
"""Tests that look at every game for its own sake."""


LISTED = frozenset(
    line
    for line in (REPOSITORY / "tests" / "long_cases.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
"""Ids of what takes long without a reason that could be given here."""


def is_rare(item: pytest.Item) -> bool:
    """Whether a test is listed, or a case of such a game and not about games."""
    if item.nodeid in LISTED or _is_of_many(item):
        return True
    if item.nodeid.removeprefix("tests/").startswith(_ABOUT_GAMES):
        return False
    cases = getattr(item, "callspec", None)
    if cases is None or _OF_GAMES.isdisjoint(cases.params):
        return False
    return any(isinstance(case, str) and case in LIKE_OTHERS for case in cases.params.values())


def _is_of_many(item: pytest.Item) -> bool:
    """Whether a test that is run on every game and backend is one of the backend that plays few."""
    cases = getattr(item, "callspec", None)
    if cases is None:
        return False
    values = [
        value
        for case in cases.params.values()
        for value in (case if isinstance(case, tuple) else (case,))
        if isinstance(value, str)
    ]
    games = {*values} & {*GAMES}
    return "relational" in values and bool(games) and not games & SHOWN_ON_ALL


def rarely(cases: Iterable[Any], long: Container[Any]) -> list[Any]:
    """Cases for `parametrize`, of which some are left to `make verify`.

    Args:
        cases: all of them; tuples where there are several arguments.
        long: those that take long.
    """
    return [_marked(case) if case in long else case for case in cases]


def examples(number: int) -> int:
    """How many examples Hypothesis tries: so many, or a quarter of them."""
    return number if THOROUGH else max(number // 4, 10)


def _marked(case: Any) -> ParameterSet:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.verify)
