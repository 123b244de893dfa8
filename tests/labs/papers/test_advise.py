"""`ggp advise`: which player suits a game, and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from ggp.labs.papers.advise_command import Reason, _advice
from ggp.library import compare
from ggp.search.parts import CLAIRVOYANT, INFORMED
from tests.support.commands import error_line, json_of, run

QUICK = ("--rounds", "3", "--seconds", "0.05")
BOTH = ("--player", "hyperplay", "--player", "hyperplay2")


def matches(*, sure: bool) -> dict[str, object]:
    """Two players of which the first scored more."""
    scores = {"pimc": 80.0, "hyperplay2": 40.0}
    as_good = [] if sure else ["hyperplay2"]
    return {
        "players": [
            {"player": name, "score": {"value": score, "low": 0.0, "high": 100.0}}
            for name, score in scores.items()
        ],
        "methods": [],
        "verdict": {"best": "pimc", "as_good": as_good, "more_rounds": 7 * (not sure)},
        "played": 10,
        "faulty": [],
    }


def test_it_says_which_player_and_why() -> None:
    advice = json_of("advise", "exploding_bomb", *BOTH, *QUICK)
    assert list(advice) == [
        *("game", "player", "sure", "more_rounds", "as_good", "reasons", "seconds"),
        *("matches", "faulty", "fault", "scores", "methods", "verdict"),
        *("clock", "seed", "backend", "properties", "auto"),
    ]
    assert (advice["clock"], advice["seed"], advice["backend"]) == ("wall", 0, "propnet")
    assert advice["player"] == "hyperplay2"
    assert advice["matches"] == 6
    assert set(advice["scores"]) == {"hyperplay", "hyperplay2"}
    (favours,) = [reason for reason in advice["reasons"] if reason["kind"] == INFORMED]
    assert favours["players"] == ["hyperplay2"]
    assert "worth" in favours["text"]
    assert set(advice["properties"]["roles"]) == {"agent"}
    assert advice["auto"]["agent"]["player"] == "solution"


def test_it_shows_a_table_the_reasons_and_the_advice() -> None:
    shown = run("advise", "exploding_bomb", *BOTH, *QUICK)
    lines = shown.stdout.splitlines()
    by_rules, by_figures, *_ = shown.stderr.splitlines()
    assert by_rules.startswith("advice by the rules alone: hyperplay2: one role plays")
    assert by_figures.startswith("advice before any match: the solution as agent: ")
    assert lines[0].startswith("advice: hyperplay2")
    assert lines[-1] == ("auto plays the solution as agent: the game is small enough to be solved")
    assert any(line.startswith("for hyperplay2: knowing the world") for line in lines)
    assert "6 matches, 0.05 s a decision" in lines
    assert "wall clock, seed 0, on propnet" in lines


def test_the_advice_is_refined_after_rounds_that_change_it() -> None:
    shown = run("advise", "exploding_bomb", *BOTH, *QUICK)
    said = re.findall(r"^advice after (\d+) matches: (.*)$", shown.stderr, re.M)
    assert [int(number) % 2 for number, _ in said] == [0] * len(said)
    assert all(player != later for (_, player), (_, later) in pairwise(said))
    assert shown.stdout.startswith(f"advice: {said[-1][1]}")


def test_an_interrupt_leaves_the_advice_of_the_rounds_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*args: Any, refine: Callable[[Any], None], **options: Any) -> None:
        def once(summary: Any) -> None:
            refine(summary)
            raise KeyboardInterrupt

        compare(*args, refine=once, **options)

    monkeypatch.setattr("ggp.labs.papers.advise_command.compare", interrupted)
    shown = run("advise", "exploding_bomb", *BOTH, "--matches", "6", "--seconds", "0.05")
    assert shown.exit_code == 130
    assert "2 of 6 matches, 0.05 s a decision" in shown.stdout.splitlines()


def test_without_a_round_there_is_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.labs.papers.advise_command.compare", lambda *args, **options: None)
    shown = run("advise", "exploding_bomb", *BOTH, *QUICK)
    assert shown.exit_code == 1
    line = shown.stderr.splitlines()[-1]
    assert line == "error: no round of matches was played to its end, so there is no advice"


def test_no_round_is_begun_when_the_minutes_are_over() -> None:
    lines = run("advise", "exploding_bomb", *BOTH, *QUICK, "--minutes", "0").stdout.splitlines()
    assert "2 of 6 matches, 0.05 s a decision" in lines
    assert "; undecided: the matches do not separate it from hyperplay" in lines[0]
    assert lines[0].endswith("; too few rounds for a forecast")


@pytest.mark.verify
def test_it_says_how_many_more_rounds_would_decide() -> None:
    args = ("advise", "tic_tac_toe", "--player", "legal", "--player", "random", "--rounds", "6")
    advice = json_of(*args)
    assert (advice["sure"], advice["verdict"]["rounds"]) == (False, 6)
    more_rounds = advice["more_rounds"]
    assert 0 < more_rounds < 100
    lines = run(*args).stdout.splitlines()
    assert lines[0].endswith(
        f"; about {more_rounds} more rounds would decide (--rounds {6 + more_rounds})"
    )
    (method,) = advice["methods"]
    assert method in lines
    assert "by betting" in method


def test_it_tells_of_matches_in_which_something_went_wrong() -> None:
    args = ("advise", "exploding_bomb", "--player", "legal", "--player", "random")
    assert "something went wrong" not in run(*args, "--rounds", "1").stdout
    output = run(*args, "--rounds", "1", "--seconds", "0.000001").stdout
    (line,) = (line for line in output.splitlines() if "something went wrong" in line)
    assert line.startswith("in 2 of them something went wrong, first this: turn 1, agent: answered")


def test_the_advice_is_auto_where_it_solves_the_game() -> None:
    quick = ("--rounds", "1", "--seconds", "0.001", "--minutes", "0")
    assert run("advise", "exploding_bomb", *quick).stdout.splitlines()[0] == (
        "advice: auto, which plays the solution"
    )


AGAINST = (Reason(CLAIRVOYANT, False, "why"), Reason(INFORMED, True, "why"))


@pytest.mark.parametrize(
    ("sure", "player"), [(True, "pimc"), (False, "hyperplay2")], ids=["matches", "reasons"]
)
def test_matches_decide_where_they_can_and_reasons_where_they_cannot(
    sure: bool, player: str
) -> None:
    advice = _advice("some", AGAINST, matches(sure=sure), 0.2)
    assert (advice["player"], advice["sure"]) == (player, sure)
    assert advice["as_good"] == ([] if sure else ["pimc"])
    assert advice["more_rounds"] == (0 if sure else 7)


@pytest.mark.parametrize("leans", ["pimc", "hyperplay2"])
def test_the_choice_of_auto_decides_where_matches_cannot(leans: str) -> None:
    assert _advice("some", AGAINST, matches(sure=False), 0.2, {leans})["player"] == leans
    assert _advice("some", AGAINST, matches(sure=True), 0.2, {leans})["player"] == "pimc"


def test_one_player_is_nothing_to_compare() -> None:
    line = error_line("advise", "kuhn_poker", "--player", "random")
    assert line == "error: give at least two players: --player SPEC --player SPEC"
