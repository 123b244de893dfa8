"""Commands on pages print the output that the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.library.pages import PAGES, commands_of, files_of, printed_by, without_times
from tests.support.effort import rarely

SHOWN = [(page, *command) for page in PAGES for command in commands_of(page)]


@pytest.mark.parametrize(
    ("page", "command", "block"),
    rarely(SHOWN, [command for command in SHOWN if "--samples" in command[1]]),
    ids=[f"{p.stem}: {command}" for p, command, _ in SHOWN],
)
def test_the_page_shows_what_the_command_prints(
    page: Path, command: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert without_times(printed_by(command)) == without_times(block)


def test_pages_have_commands() -> None:
    assert len(SHOWN) >= 4
