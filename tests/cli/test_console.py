"""What commands print while a spinner or a bar stands on the screen."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from ggp.console import bar_of, setup_logging, show_error, spinner, tell

ERASED = "\x1b[2K"
"""What terminals read as: erase this line."""


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "progress",
    [partial(spinner, "thinking"), partial(bar_of, 3, "thinking")],
    ids=("spinner", "bar"),
)
@pytest.mark.parametrize(
    "say", [tell, show_error, logging.getLogger("ggp.a").warning], ids=("note", "error", "warning")
)
def test_notes_stand_above_what_shows_progress(
    progress: Callable[[], AbstractContextManager[object]],
    say: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stderr", Terminal(written, encoding="utf-8", write_through=True))
    monkeypatch.setenv("TERM", "xterm")
    setup_logging(0)
    with progress():
        say("the first")
        say("the second")
    before, said, after = written.getvalue().decode().partition("the second\n")
    assert said
    assert "thinking" in before.partition("the first\n")[2]
    assert "thinking" not in before.rpartition(ERASED)[2]
    assert "thinking" in after
