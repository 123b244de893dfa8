"""`ggp advise`: which player suits a game, and why."""

from __future__ import annotations

import pytest

from ggp.cli.advise import _advice
from ggp.study.advice import CLAIRVOYANT, INFORMED, Reason
from tests.support.commands import error_line, json_of, run

QUICK = ("--rounds", "3", "--seconds", "0.05")
BOTH = ("--player", "hyperplay", "--player", "hyperplay2")


def matches(**scores: tuple[float, float, float]) -> dict[str, object]:
    """Two players with what the first scored more."""
    (first, one), (second, two) = scores.items()
    margin = one[0] - two[0]
    apart = one[1] > two[2] or two[1] > one[2]
    ends = (margin - 1, margin + 1) if apart else (margin - 99, margin + 99)
    return {
        "players": [
            {"player": name, "score": dict(zip(("value", "low", "high"), score, strict=True))}
            for name, score in scores.items()
        ],
        "differences": [
            {
                "player": first,
                "other": second,
                "score": {"value": margin, "low": ends[0], "high": ends[1]},
            }
        ],
        "played": 10,
        "faulty": [],
    }


def test_it_says_which_player_and_why() -> None:
    found = json_of("advise", "exploding_bomb", *BOTH, *QUICK)
    assert list(found) == [
        *("game", "player", "sure", "as_good", "reasons", "seconds"),
        *("matches", "faulty", "scores", "clock", "seed", "backend", "properties"),
    ]
    assert (found["clock"], found["seed"], found["backend"]) == ("wall", 0, "propnet")
    assert found["player"] == "hyperplay2"
    assert found["matches"] == 6
    assert set(found["scores"]) == {"hyperplay", "hyperplay2"}
    (favours,) = [each for each in found["reasons"] if each["kind"] == INFORMED]
    assert favours["players"] == ["hyperplay2"]
    assert "worth" in favours["text"]
    assert set(found["properties"]["roles"]) == {"agent"}


def test_it_shows_a_table_the_reasons_and_the_advice() -> None:
    lines = run("advise", "exploding_bomb", *BOTH, *QUICK).stdout.splitlines()
    assert lines[-1].startswith("advice: hyperplay2")
    assert any(line.startswith("for hyperplay2: knowing the world") for line in lines)
    assert "6 matches, 0.05 s a decision" in lines
    assert "wall clock, seed 0, on propnet" in lines


def test_no_round_is_begun_when_the_minutes_are_over() -> None:
    lines = run("advise", "exploding_bomb", *BOTH, *QUICK, "--minutes", "0").stdout.splitlines()
    assert "2 of 6 matches, 0.05 s a decision" in lines
    assert lines[-1].endswith("play more --minutes to know")


def test_it_tells_of_matches_in_which_something_went_wrong() -> None:
    args = ("advise", "exploding_bomb", "--player", "legal", "--player", "random")
    assert "something went wrong" not in run(*args, "--rounds", "1").stdout
    shown = run(*args, "--rounds", "1", "--seconds", "0.000001").stdout
    assert "in 2 of them something went wrong, such as a late move" in shown.splitlines()


AGAINST = (Reason(CLAIRVOYANT, False, "why"), Reason(INFORMED, True, "why"))


@pytest.mark.parametrize(
    ("low", "player", "sure"),
    [(70.0, "pimc", True), (30.0, "hyperplay2", False)],
    ids=["matches", "reasons"],
)
def test_matches_decide_where_they_can_and_reasons_where_they_cannot(
    low: float, player: str, sure: bool
) -> None:
    played = matches(pimc=(80, low, 90), hyperplay2=(40, 30, 50))
    found = _advice("some", AGAINST, played, 0.2)
    assert (found["player"], found["sure"]) == (player, sure)
    assert found["as_good"] == ([] if sure else ["pimc"])


def test_one_player_is_nothing_to_compare() -> None:
    line = error_line("advise", "kuhn_poker", "--player", "random")
    assert line == "error: give at least two players: --player SPEC --player SPEC"
