"""The name that was probably meant."""

from __future__ import annotations

import time

import pytest

from ggp.gdl.nearest import did_you_mean, nearest, unknown


@pytest.mark.parametrize(
    ("name", "names", "nearest_name"),
    [
        ("fuond", ["bound", "found"], "found"),
        ("terminl", ["goal", "terminal"], "terminal"),
        ("whit", ["black", "white"], "white"),
        ("mrk", ["mark", "noop"], "mark"),
        ("hyper", ["legal", "hyperplay", "hyperplay2"], "hyperplay"),
        ("exploding_bom", ["exploding_bomb"], "exploding_bomb"),
        ("krieg_tic_tac", ["kriegspiel", "krieg_tic_tac_toe"], "krieg_tic_tac_toe"),
        ("found", ["found"], None),
        ("x", ["y", "xx"], None),
        ("wk", ["wq"], None),
        ("player3", ["player1", "player2"], None),
        ("god", ["los", "mcts"], None),
        ("", ["a"], None),
        ("elephant", ["monty_hall"], None),
    ],
)
def test_name_with_the_fewest_slips_is_meant(
    name: str, names: list[str], nearest_name: str | None
) -> None:
    assert nearest(name, names) == nearest_name


def test_question_is_asked_only_where_there_is_an_answer() -> None:
    assert did_you_mean("fuond", ["found"]) == "; did you mean `found`?"
    assert did_you_mean("fuond", []) == ""
    assert unknown("role", "whit", ["white"], "roles: white") == (
        "unknown role 'whit'; did you mean 'white'? roles: white"
    )
    assert unknown("role", "x", ["white"], "roles: white") == "unknown role 'x'; roles: white"


def test_long_and_many_names_take_no_time() -> None:
    started = time.perf_counter()
    assert nearest("a" * 1_000_000, ["a" * 999_999]) is None
    assert nearest("abcdefghij", ("abcdefgh" + "z" * 10_000 for _ in range(10_000))) is None
    assert nearest("abcdefghij", (f"klmnopq{i:03}" for i in range(1_000_000))) is None
    assert time.perf_counter() - started < 1.0
