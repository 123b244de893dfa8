"""`ggp games`: what there is, and its rules in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp.gdl.source import describe
from tests.support.commands import error_line, json_of, run, text_file
from tests.support.games import GAMES


def test_every_game_is_listed_with_its_title_and_roles() -> None:
    games = json_of("games")
    assert [entry["name"] for entry in games] == sorted(GAMES)
    assert all(list(entry) == ["name", "title", "roles"] for entry in games)
    assert all(entry["title"] and entry["roles"] for entry in games)
    table = run("games")
    assert table.exit_code == 0
    for entry in games:
        (line,) = [row for row in table.stdout.splitlines() if row.startswith(f"{entry['name']} ")]
        assert entry["title"] in line


@pytest.mark.parametrize("game", GAMES)
def test_the_rules_of_a_game_are_told_in_words(game: str) -> None:
    report = json_of("games", game)
    assert len(report["description"]) > 50
    assert {"Moves", "Percepts", "Scores"} & set(report["sections"])
    page = run("games", game).stdout
    assert page.startswith(f"{report['title']}\n\n")
    assert max(map(len, page.splitlines()[:-1])) <= 90
    assert "; " not in page.splitlines()[2][:2]


def test_a_rulesheet_without_comments_has_no_description(tmp_path: Path) -> None:
    silent = text_file(tmp_path, "(role a) (legal a b) terminal (goal a 1)")
    assert "does not begin with a comment" in run("games", silent).stdout
    assert "unknown game 'nowhere'" in error_line("games", "nowhere")


def test_a_comment_block_is_read_as_it_is_set() -> None:
    description = describe(
        "; Title\n;\n; One sentence\n; goes on.\n;\n; Another one.\n;\n"
        "; Moves     a: b,\n;           or c\n; Scores    a: 1\n\n; not of it\n(role a)"
    )
    assert description.title == "Title"
    assert description.text == "One sentence goes on.\nAnother one."
    assert description.sections == {"Moves": ("a: b,", "or c"), "Scores": ("a: 1",)}
    assert describe("(role a)").title == ""
