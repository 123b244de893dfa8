"""`ggp belief`: what may hold, how it was found, and how sure that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp import play_match
from tests.belief.solving.test_solving import coins
from tests.support.commands import error_line, json_file, json_of, run, text_file

pytestmark = pytest.mark.usefixtures("compiled")

CHOSE: dict[str, object] = {"move": "(choose 1)", "percepts": []}


def waited(number: int) -> list[object]:
    """The history of the seer of `coins` after so many turns, if all showed heads at last."""
    wait: dict[str, object] = {"move": "wait", "percepts": []}
    return [*[wait] * number, {"move": "wait", "percepts": ["all_heads"]}]


def test_a_set_that_is_small_is_exact() -> None:
    report = json_of("belief", "monty_hall", "--role", "candidate")
    assert report["how"] == "exact"
    assert report["sound"] is True
    assert report["entries"] == report["distinct"] == 1
    assert report["log_size"] == 0
    assert report["fluents"]["(round 1)"] == 1


def test_probabilities_are_those_of_fluents_that_were_asked_for(tmp_path: Path) -> None:
    path = json_file(tmp_path, [CHOSE])
    report = json_of(
        "belief",
        "monty_hall",
        "--role",
        "candidate",
        "--history",
        path,
        "--fluent",
        "(car 1)",
        "--fluent",
        "(car 3)",
    )
    assert report["how"] == "exact"
    assert report["entries"] == 3
    assert report["ess"] == 3
    assert report["fluents"] == pytest.approx({"(car 1)": 1 / 3, "(car 3)": 1 / 3})


@pytest.mark.verify
def test_a_history_that_sampling_misses_is_solved(tmp_path: Path) -> None:
    game = str(text_file(tmp_path, coins(40)))
    report = json_of("belief", game, "--role", "seer", "--history", json_file(tmp_path, waited(40)))
    assert report["how"] == "solved"
    assert report["sound"] is True
    assert report["fluents"] == {"(at 41)": 1}
    assert report["inexact_turns"] > 20


def test_an_impossible_history_ends_with_an_error(tmp_path: Path) -> None:
    game = str(text_file(tmp_path, coins(12)))
    path = json_file(tmp_path, waited(4))
    line = error_line("belief", game, "--role", "seer", "--history", path, code=1)
    assert "no complete path agrees" in line
    assert "this history contradicts the rules" in line


def test_the_belief_in_a_recorded_match(tmp_path: Path) -> None:
    record = play_match("kuhn_poker", {"player1": "random", "player2": "random"}, seed=1)
    path = Path(json_file(tmp_path, record.to_json()))
    report = json_of(
        "belief", "kuhn_poker", "--role", "player2", "--record", str(path), "--turn", "3"
    )
    assert report["how"] == "exact"
    assert report["entries"] == 2
    assert "--record FILE and --turn N" in error_line(
        "belief", "kuhn_poker", "--role", "player2", "--record", str(path)
    )


def test_a_table_says_how_sure_it_is() -> None:
    table = run("belief", "monty_hall", "--role", "candidate").output
    assert "(round 1)" in table
    assert "exact: 1 state, which is all there can be" in table
