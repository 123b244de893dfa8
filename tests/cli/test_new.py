"""`ggp new` and `ggp validate --play`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ggp.cli.arguments import GameOptions
from ggp.cli.rulesheets import rehearsed
from ggp.errors import ReasonerLimitError
from ggp.gdl.program import Program
from ggp.study.rehearsal import Rehearsal
from tests.support.commands import error_line, json_of, run, text_file
from tests.support.disks import full_disk


@pytest.fixture
def game(tmp_path: Path) -> str:
    path = str(tmp_path / "my_game.gdl")
    assert run("new", path).exit_code == 0
    return path


def test_new_game_is_in_order_and_plays(game: str) -> None:
    (report,) = json_of("validate", game, "--strict", "--play", "60", "--seed", "3")
    assert (report["ok"], report["diagnostics"]) == (True, [])
    play = report["play"]
    assert play["troubles"] == []
    assert (play["matches"], play["ended"], play["longest"]) == (60, 60, 3)
    assert play["chance_moves"] == 1.0
    assert set(play["roles"]) == {"keeper", "guesser"}
    assert 0 < play["roles"]["guesser"]["mean"] < 100


def test_new_game_describes_itself(game: str) -> None:
    description = json_of("games", game)
    assert description["title"] == "My game"
    assert set(description["sections"]) == {"Moves", "Percepts", "Scores"}


def test_a_random_game_is_in_order_and_plays(tmp_path: Path) -> None:
    path, settings = str(tmp_path / "random.gdl"), ("--roles", "3", "--turns", "5", "--hidden", "1")
    assert run("new", path, "--random", "--seed", "7", *settings).exit_code == 0
    (report,) = json_of("validate", path, "--strict", "--play", "60")
    assert (report["ok"], report["diagnostics"]) == (True, [])
    play = report["play"]
    assert play["troubles"] == []
    assert (play["matches"], play["ended"], play["longest"]) == (60, 60, 5)
    means = [row["mean"] for row in play["roles"].values()]
    assert len(means) == 3
    assert sum(means) == pytest.approx(100)
    assert set(json_of("games", path)["sections"]) == {"Moves", "Percepts", "Scores"}


def test_settings_of_random_games_need_random(tmp_path: Path) -> None:
    path = tmp_path / "game.gdl"
    message = error_line("new", str(path), "--turns", "5")
    assert "--turns is about random games: add --random" in message
    assert not path.exists()


def test_new_game_never_overwrites(game: str, tmp_path: Path) -> None:
    Path(game).write_text("mine")
    assert "already exists; give the name of a new file" in error_line("new", game)
    assert Path(game).read_text() == "mine"
    (tmp_path / "link.gdl").symlink_to(tmp_path / "nowhere.gdl")
    assert "already exists" in error_line("new", str(tmp_path / "link.gdl"))


def test_new_game_on_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with full_disk():
        result = run("new", str(tmp_path / "game.gdl"))
    assert result.exit_code == 1
    assert result.stderr == f"error: cannot write {tmp_path}/game.gdl: File too large\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("game", "must end in .gdl or .kif"),
        ("nowhere/game.gdl", "No such file or directory"),
        ("", "the path is empty"),
    ],
)
def test_new_game_needs_a_place(name: str, message: str, tmp_path: Path) -> None:
    assert message in error_line("new", str(tmp_path / name) if name else "")


def test_validate_plays_and_says_what_goes_wrong(game: str) -> None:
    text = Path(game).read_text()
    Path(game).write_text(text.replace("(<= (legal guesser noop) (not (true (turn 3))))", ""))
    result = run("validate", game, "--play", "20")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == f"{game}: ok"
    stuck = "error: guesser: no legal move at turn 1, in the state (turn 1) (20 matches) [stuck]"
    assert lines[2] == f"{game}:34:1: {stuck}"
    assert lines[3].startswith("(<= (legal guesser (lift ?cup))")
    assert lines[4:6] == ["^", "    at the start"]
    assert f"{game}: 20 random matches, 0 ended" in result.stdout


FAULTY = """(role left) (role right) (role random) (init start) (init (cell 1)) (init (cell 2))
(legal random (flip 1)) (legal random (flip 2)) (legal left wait)
(<= (legal left (call ?c)) (true (coin ?c)))
(<= (next (coin ?c)) (does random (flip ?c)))
(goal left 1)
(<= (goal left ?c) (true (coin ?c)))
"""


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (
            "(legal right wait) (<= (next late) (not (true start))) (<= terminal (true late))",
            {
                "unknowable": ("left", 3, 1),
                "no-goal": ("right", 1, 13),
                "several-goals": ("left", 5, 1),
                "no-frame": (None, 1, 53),
            },
        ),
        (
            "(<= (legal right wait) (not (true (coin 1)))) (<= terminal (true (cell 3)))",
            {"stuck": ("right", 7, 1), "endless": (None, 7, 47)},
        ),
    ],
)
def test_what_goes_wrong_in_play_is_marked_in_the_rules(
    rules: str, found: dict[str, tuple[str | None, int, int]], tmp_path: Path
) -> None:
    game = text_file(tmp_path, FAULTY + rules)
    result = run("validate", game, "--play", "40", "--max-turns", "2", "--json")
    assert result.exit_code == ("stuck" in found)
    troubles = json.loads(result.stdout)[0]["play"]["troubles"]
    places = {t["kind"]: (t["role"], t["line"], t["column"]) for t in troubles}
    assert places.items() >= found.items()


@pytest.mark.verify
def test_validate_shows_two_histories_of_what_a_role_cannot_know(game: str) -> None:
    text = Path(game).read_text()
    peeking = "(<= (legal guesser peek) (true (turn 3)) (true (coin left)))"
    Path(game).write_text(text + peeking)
    result = run("validate", game, "--play", "50")
    assert result.exit_code == 0
    assert (
        "warning: guesser: what it did and saw before turn 3 does not tell its legal moves"
        in result.stdout
    )
    assert "  it knows its move / percepts of each turn:\n    1. noop / ()" in result.stdout
    assert result.stdout.count("    1. keeper noop, random (hide ") == 2
    assert "(lift right), peek; only here: peek" in result.stdout
    assert "error: guesser: what it" in run("validate", game, "--play", "50", "--strict").stdout
    strict = run("validate", game, "--play", "50", "--strict", "--json")
    assert strict.exit_code == 1
    (report,) = json.loads(strict.stdout)
    assert not report["ok"]
    (trouble,) = report["play"]["troubles"]
    assert (trouble["kind"], trouble["role"]) == ("unknowable", "guesser")
    first, second = trouble["histories"]
    assert ("peek" in first["legal"]) != ("peek" in second["legal"])
    assert first["joint_moves"][0]["guesser"] == "noop"


def test_validate_plays_on_the_backend_that_is_asked_for(game: str) -> None:
    result = run("validate", game, "--play", "3", "--backend", "prolog", "-v")
    assert result.exit_code == 0
    assert f"{game} runs on prolog" in result.stderr


def test_sheet_with_errors_is_not_played(tmp_path: Path) -> None:
    game = text_file(tmp_path, "(role a)")
    result = run("validate", game, "--play", "5", "--json")
    assert result.exit_code == 1
    (report,) = json.loads(result.stdout)
    assert "play" not in report


def test_sheet_that_cannot_be_played_out_does_not_keep_others_from_it(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loops(options: GameOptions, *arguments: Any) -> tuple[Rehearsal, Program]:
        if options.game == game:
            raise ReasonerLimitError("inferences", 5, "a step")
        return rehearsed(options, *arguments)

    monkeypatch.setattr("ggp.cli.rulesheets.rehearsed", loops)
    result = run("validate", game, "exploding_bomb", "--play", "3", "--json")
    assert result.exit_code == 1
    assert "error: a step passed the limit of 5 inferences" in result.stderr
    looping, bomb = json.loads(result.stdout)
    assert (looping["ok"], bomb["ok"]) == (False, True)
    assert "passed the limit" in looping["play"]["error"]
    assert bomb["play"]["matches"] == 3
