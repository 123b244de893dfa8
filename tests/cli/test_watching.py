"""`ggp trace --watch`."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

import pytest

from ggp.cli import tracing
from ggp.cli.games import SKELETON
from ggp.cli.tracing import saves
from tests.support.commands import end_started, error_line, run, start

GAME = SKELETON.format(title="A game")


def test_saving_is_noticed_when_the_file_has_stopped_to_change(tmp_path: Path) -> None:
    file = tmp_path / "game.gdl"
    file.write_text("1")
    steps = iter(["", "", "12", "123", "123", None, None, "4", "4", "4"])
    seen: list[str] = []

    def sleep(_: float) -> None:
        text = next(steps, "end")
        if text == "end":
            raise KeyboardInterrupt
        if text is None:
            file.unlink(missing_ok=True)
        elif text and text != (file.read_text() if file.exists() else None):
            file.write_text(text)

    def watch() -> None:
        for _ in saves([file], sleep):
            seen.append(file.read_text() if file.exists() else "gone")

    with pytest.raises(KeyboardInterrupt):
        watch()
    assert seen == ["1", "123", "gone", "4"]


def test_trace_is_made_again_after_each_saving_and_errors_do_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "game.gdl"
    file.write_text(GAME)
    texts = iter([GAME.replace("(role keeper)", "(role keeper"), GAME + "(<= (nxt a) (true b))"])

    def sleep(seconds: float) -> None:
        if seconds == tracing.POLL_S:
            text = next(texts, None)
            if text is None:
                raise KeyboardInterrupt
            file.write_text(text)

    monkeypatch.setattr(tracing.keep_watching, "__defaults__", (sleep,))
    result = run("trace", "--watch", str(file), "--backend", "prolog", "--seed", "1")
    assert result.exit_code == 0
    assert result.stdout.count("--- ") == 3
    assert result.stdout.count("goals: ") == 2  # not of the one without its parenthesis
    assert "a parenthesis from here on is never closed, so" in result.stderr
    assert "nothing uses the relation `nxt`; did you mean `next`?" in result.stderr
    assert "^" in result.stderr


def test_rules_with_errors_are_shown_and_not_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "game.gdl"
    file.write_text(GAME.replace("(role random)", "(role random) (?x)"))

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tracing.keep_watching, "__defaults__", (sleep,))
    result = run("trace", "--watch", str(file))
    assert result.exit_code == 0
    assert "goals" not in result.stdout
    assert "error: the variable `?x` cannot be the name" in result.stderr


def test_ctrl_c_ends_watching_quietly(tmp_path: Path) -> None:
    file = tmp_path / "game.gdl"
    file.write_text(GAME)
    watcher = start("-m", "ggp", "trace", "--watch", str(file), "--backend", "prolog")
    try:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        output = ""
        until = time.monotonic() + 60
        while "goals: " not in output and time.monotonic() < until:
            if select.select([watcher.stdout], [], [], 1)[0]:
                output += os.read(watcher.stdout.fileno(), 10_000).decode()
        time.sleep(0.1)
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(20) == 0
        assert watcher.stderr.read() == ""
    finally:
        end_started()


def test_file_that_is_no_game_cannot_be_watched() -> None:
    assert "unknown game 'nowhere'" in error_line("trace", "--watch", "nowhere")
