"""`ggp games`: what there is, and its rules in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp.gdl.syntax.descriptions import describe
from tests.support.commands import error_line, json_of, run, text_file
from tests.support.games import GAMES


def test_every_game_is_listed_with_its_title_and_roles() -> None:
    found = json_of("games")
    assert [each["name"] for each in found] == sorted(GAMES)
    assert all(list(each) == ["name", "title", "roles"] for each in found)
    assert all(each["title"] and each["roles"] for each in found)
    shown = run("games")
    assert shown.exit_code == 0
    for each in found:
        (line,) = [row for row in shown.stdout.splitlines() if row.startswith(f"{each['name']} ")]
        assert each["title"] in line


@pytest.mark.parametrize("game", GAMES)
def test_the_rules_of_a_game_are_told_in_words(game: str) -> None:
    found = json_of("games", game)
    assert len(found["description"]) > 50
    assert {"Moves", "Percepts", "Scores"} & set(found["sections"])
    shown = run("games", game).stdout
    assert shown.startswith(f"{found['title']}\n\n")
    assert max(map(len, shown.splitlines()[:-1])) <= 90
    assert "; " not in shown.splitlines()[2][:2]


def test_a_rulesheet_of_ones_own_is_told_as_far_as_it_tells(tmp_path: Path) -> None:
    silent = text_file(tmp_path, "(role a) (legal a b) terminal (goal a 1)")
    assert "does not begin with a comment" in run("games", silent).stdout
    assert "unknown game 'nowhere'" in error_line("games", "nowhere")


def test_a_comment_block_is_read_as_it_is_set() -> None:
    found = describe(
        "; Title\n;\n; One sentence\n; goes on.\n;\n; Another one.\n;\n"
        "; Moves     a: b,\n;           or c\n; Scores    a: 1\n\n; not of it\n(role a)"
    )
    assert found.title == "Title"
    assert found.text == "One sentence goes on.\nAnother one."
    assert found.sections == {"Moves": ("a: b,", "or c"), "Scores": ("a: 1",)}
    assert describe("(role a)").title == ""
