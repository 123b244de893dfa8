"""Options without effect are reported on standard error."""

from __future__ import annotations

import pytest

from tests.match_runner.test_cli import run

pytestmark = pytest.mark.usefixtures("compiled")

WITHOUT_CLOCK = "note: --start-clock has no effect without --play-clock"
LEARNING = "mcts:trials=9,learn=50"
LEARNS_NOTHING = f"note: {LEARNING} learns nothing: it needs a start clock and --play-clock"


def notes(player: str, *args: str) -> list[str]:
    players = ["--player", "player1=random", "--player", f"player2={player}"]
    result = run("play", "kuhn_poker", *players, *args)
    assert result.exit_code == 0, result.stderr
    return [line for line in result.stderr.splitlines() if line.startswith("note: ")]


def test_options_with_an_effect_or_not_given_are_not_reported() -> None:
    assert notes("mcts:trials=9") == []
    assert notes("mcts:trials=9,learn=0") == []
    assert notes("auto") == []


def test_a_start_clock_without_a_clock_is_told() -> None:
    assert notes("random", "--start-clock", "3") == [WITHOUT_CLOCK]


def test_learning_without_a_start_clock_is_told() -> None:
    assert notes(LEARNING) == [LEARNS_NOTHING]
    clocks = ["--play-clock", "5", "--start-clock", "0", "--clock", "cpu"]
    assert LEARNS_NOTHING in notes(LEARNING, *clocks)
