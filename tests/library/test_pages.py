"""Pages that show commands with what they print: they print it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.library.pages import PAGES, commands_of, files_of, printed_by, without_times
from tests.support.effort import rarely

SHOWN = [(page, *each) for page in PAGES for each in commands_of(page)]


@pytest.mark.parametrize(
    ("page", "command", "shown"),
    rarely(SHOWN, [each for each in SHOWN if "--samples" in each[1]]),
    ids=[f"{p.stem}: {command}" for p, command, _ in SHOWN],
)
def test_the_page_shows_what_the_command_prints(
    page: Path, command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert without_times(printed_by(command)) == without_times(shown)


def test_pages_have_commands() -> None:
    assert len(SHOWN) >= 4
