"""`ggp properties`: the table, and the JSON."""

from __future__ import annotations

import pytest

from tests.support.commands import error_line, json_of, run


def test_json_of_kuhn_poker() -> None:
    report = json_of("properties", "kuhn_poker")
    assert list(report) == ["roles", "walks", "notes", "seed", "backend"]
    assert (report["seed"], report["backend"]) == (0, "propnet")
    assert report["walks"] == 2000
    assert set(report["roles"]) == {"player1", "player2"}
    for role in report["roles"].values():
        assert {"leaf_correlation", "bias", "disambiguation", "clairvoyance_gap", "ties"} <= set(
            role
        )
        assert role["leaf_correlation"] == pytest.approx(0.5, abs=0.05)
        assert role["bias"] == pytest.approx(0.5, abs=0.05)
        assert role["disambiguation"] == 0
    (note,) = report["notes"]
    assert note.startswith("disambiguation of player2 means nothing: it never decides twice")


def test_json_depends_on_the_seed_only() -> None:
    arguments = ("properties", "kuhn_poker", "--walks", "100", "--seed")
    assert json_of(*arguments, "1") == json_of(*arguments, "1")
    assert json_of(*arguments, "1") != json_of(*arguments, "2")


def test_table_and_notes() -> None:
    result = run("properties", "tic_tac_toe", "--walks", "20")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "leaf correlation" in lines[0]
    assert lines[2].split()[0] == "xplayer"
    assert lines[4] == "20 walks"
    assert lines[5].startswith("note: disambiguation of xplayer means nothing")


def test_misuse_is_one_line() -> None:
    assert "walks" in error_line("properties", "kuhn_poker", "--walks", "0")
    assert "no_such_game" in error_line("properties", "no_such_game")
