"""What the operator of a server is told of each match."""

from __future__ import annotations

import re

import pytest

from ggp.gdl.games import find_game, list_games, read_rulesheet
from ggp.server import settings
from ggp.server.hosted_match import game_of
from ggp.server.settings import HostOptions
from tests.server.live import GUESSING, eventually, live_server, start

PICKING = """
(role me) (role you) (init (step 0)) (succ 0 1) (succ 1 2) (bit 0) (bit 1)
(<= (legal ?r (pick ?b)) (role ?r) (bit ?b))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next won) (does me (pick 1)) (true (step 1)))
(<= terminal (true (step 2)))
(<= (goal me 70) (true won)) (<= (goal me 30) (not (true won))) (goal you 0)
"""
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was told so far."""
    return [each.getMessage() for each in caplog.records if each.name == settings.__name__]


def test_each_match_is_told_when_it_begins_and_when_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", settings.__name__)
    names = ("told", "hidden", "broken")
    with live_server(HostOptions("legal", backend="prolog", matches=3)) as server:
        assert server.post(start("told", PICKING, "me")) == "ready"
        assert server.post("(PLAY told NIL)") == "(pick 0)"
        assert server.post("(PLAY told ((pick 1) (pick 0)))") == "(pick 0)"
        assert server.post("(STOP told ((pick 1) (pick 0)))") == "done"
        assert server.post(start("hidden")) == "ready"
        move = server.post("(PLAY hidden 0 NIL NIL)")
        move = server.post(f"(PLAY hidden 1 {move} ((hint 1)))")
        move = server.post(f"(PLAY hidden 2 {move} ((hint 0)))")
        assert server.post(f"(STOP hidden 3 {move} ((hint 1)))") == "done"
        eventually(lambda: len(lines_of(caplog)) == 4)
        assert server.post(start("broken")) == "ready"
        assert server.post("(ABORT broken)") == "aborted"
        eventually(lambda: len(lines_of(caplog)) == 6)
    told, hidden, broken = (
        [line for line in lines_of(caplog) if f"match {each}" in line] for each in names
    )
    size = len(" ".join(PICKING.split()))
    assert re.fullmatch(
        rf"{TIME} match told: other rules \({size} characters\), we are me, clocks 30 and 10 s, "
        r"from 127\.0\.0\.1, prolog",
        told[0],
    )
    assert told[1].endswith(" match told, me: stop after 2 turns, 2 faults, score 70, prolog")
    score = 100 if move == "(guess 0)" else 0
    assert hidden[1].endswith(f"guesser: stop after 3 turns, no faults, score {score}, prolog")
    assert broken[1].endswith(": abort after no turns, no faults, score unknown, prolog")


@pytest.mark.parametrize("game", list_games())
def test_games_that_come_with_ggp_are_recognised(game: str) -> None:
    rules = [str(rule).upper() for rule in read_rulesheet(game).rules]
    assert game_of("\n".join(reversed(rules))) == game
    assert game_of("\n".join(rules[1:])) == ""


def test_other_rules_are_not_recognised_however_long_or_deep() -> None:
    longest = max(find_game(game).stat().st_size for game in list_games())
    for rules in (GUESSING, "", "(" * 1000, "(role a)" * longest):
        assert game_of(rules) == ""
