"""Commands on files of Gambit's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.gambit.test_files import DRIVER, PATHS
from tests.support.commands import error_line, json_of, run, text_file

ONE_CARD = str(PATHS["one_card.efg"])


def test_solve_tells_values_in_the_payoffs_of_the_file() -> None:
    report = json_of("solve", ONE_CARD)
    assert report["values"] == pytest.approx({"ann": 1 / 3, "bob": -1 / 3})
    assert (report["states"], report["information_sets"]) == (11, {"ann": 2, "bob": 1})
    assert (report["nash_conv"], report["backend"]) == (pytest.approx(0, abs=1e-6), "tree")
    assert json_of("solve", str(PATHS["dilemma.nfg"]))["values"] == {"row": -2, "column": -2}


def test_evaluate_asks_about_what_a_role_is_told() -> None:
    report = json_of("evaluate", ONE_CARD, "--role", "bob", "--player", "hyperplay")
    assert (report["particles"], report["exact"]) == (2, True)
    assert {entry["move"]: entry["value"] for entry in report["moves"]} == {"call": 0, "fold": -1}


def test_files_are_validated_played_and_written_again(tmp_path: Path) -> None:
    result = run("validate", ONE_CARD, "--play", "20")
    assert result.exit_code == 0
    assert "20 random matches, 20 ended" in result.stdout
    converted = text_file(tmp_path, run("convert", ONE_CARD, "--to", "efg").stdout)
    assert json_of("solve", converted)["values"] == pytest.approx({"ann": 1 / 3, "bob": -1 / 3})
    assert "has no rulesheet to convert" in error_line("convert", ONE_CARD, "--to", "kif")


def test_unplayable_rules_are_reported_with_their_place(tmp_path: Path) -> None:
    driver = text_file(tmp_path, DRIVER)
    for result in (run("validate", driver), run("solve", driver)):
        assert result.exit_code != 0
        assert f'{driver}:4:1: error: information set 1 "crossing" of driver' in result.output


def test_the_backend_of_such_files_plays_no_rulesheets() -> None:
    assert "the backend tree plays files that begin with EFG" in error_line(
        "solve", "kuhn_poker", "--backend", "tree"
    )
