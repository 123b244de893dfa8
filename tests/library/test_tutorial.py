"""The page about writing a game: its rules play, and its messages are what one gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ggp.gdl.source import describe
from tests.support.commands import json_of, run
from tests.support.games import REPOSITORY

PAGE = (REPOSITORY / "docs" / "use" / "adding-a-game.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
BOXES = "\n".join(text for kind, text in BLOCKS if kind == "lisp")
SHOWN = [text for kind, text in BLOCKS if not kind]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changed(old: str, new: str) -> str:
    assert BOXES.count(old) == 1
    return BOXES.replace(old, new)


def test_rules_of_the_page_make_a_game_in_order(folder: Path) -> None:
    (folder / "boxes.gdl").write_text(BOXES)
    (report,) = json_of("validate", "boxes.gdl", "--strict", "--play", "100")
    assert report["diagnostics"] == report["play"]["troubles"] == []
    assert describe(BOXES).title == "Three boxes"


def test_a_misspelled_fluent_is_reported_as_the_page_shows(folder: Path) -> None:
    (folder / "boxes.gdl").write_text(changed("(not (true (opened", "(not (true (oppened"))
    assert run("validate", "boxes.gdl").stdout == SHOWN[0]


def test_moves_that_cannot_be_known_are_reported_as_the_page_shows(folder: Path) -> None:
    peeking = "(box ?box) (not (true (treasure ?box))) (not (true (opened"
    (folder / "boxes.gdl").write_text(changed("(box ?box) (not (true (opened", peeking))
    result = run("validate", "boxes.gdl", "--strict", "--play", "200")
    assert SHOWN[1] in result.stdout


def test_page_names_no_command_that_is_not_there() -> None:
    for command in set(re.findall(r"^ *ggp (\w+)", PAGE, re.MULTILINE)):
        assert run(command, "--help").exit_code == 0
