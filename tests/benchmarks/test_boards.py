"""The cost of board searches is measured for any game that declares the values of its pieces."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tables import boards
from ggp.errors import ConfigError


@pytest.mark.verify
def test_rows_say_what_was_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "BOARDS", {1: 4, 2: 1})
    monkeypatch.setattr(boards, "HISTORIES", {1: 2})
    rows = list(boards.measure_boards(0.0, 1, ["kriegspiel_5x5"]))
    assert [(row["searched"], row["plies"], row["side_by_side"]) for row in rows] == [
        ("board with exchanges", 1, 4),
        ("board with exchanges", 2, 1),
        ("history of over", 1, 2),
    ]
    assert all(row["game"] == "kriegspiel_5x5" and row["cpu_ms_each"] > 0 for row in rows)


def test_the_file_of_a_game_has_its_name_or_its_first_word(tmp_path: Path) -> None:
    assert boards.file_of("kriegspiel_5x5") == "kriegspiel"
    (tmp_path / "my_chess.toml").touch()
    assert boards.file_of(str(tmp_path / "my_chess.gdl")) == str(tmp_path / "my_chess.toml")


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("nosuch", "unknown game 'nosuch'"),
        ("tic_tac_toe", "no file says what pieces of tic_tac_toe are worth"),
        ("kriegspiel_5x5", "only 0 of 512 positions: after 400 random turns"),
    ],
)
def test_games_without_boards_to_search_are_refused(
    game: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "TURNS", 400)  # more than a game on five by five has
    monkeypatch.setattr(boards, "MAX_TRIES", 1)
    with pytest.raises(ConfigError, match=message):
        list(boards.measure_boards(0.0, 1, [game]))
