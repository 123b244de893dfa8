"""Pages that show commands with what they print.

A block that begins with `$ COMMAND` shows one command of ours, and below it all it prints.
`python -m tests.library.pages` runs them and writes what they print into the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from ggp.cli import main as ggp
from match_runner.cli import main as match_runner
from tests.support.games import REPOSITORY

PAGES = [REPOSITORY / "docs" / "understand" / "strategy-fusion.md"]
TOOLS = {"ggp": ggp, "match-runner": match_runner}

_BLOCK = re.compile(r"```\n\$ (.*?)\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"`(\w+\.json)`:\n\n```json\n(.*?)```", re.DOTALL)


def commands_of(page: Path) -> Iterator[tuple[str, str]]:
    """Each command of a page, with its output according to the page."""
    yield from _BLOCK.findall(page.read_text(encoding="utf-8"))


def files_of(page: Path) -> dict[str, str]:
    """Files that the page shows, by name."""
    return dict(_FILE.findall(page.read_text(encoding="utf-8")))


def printed_by(command: str) -> str:
    """The output of a command on standard output; it must succeed."""
    tool, *args = command.split()
    result = CliRunner(catch_exceptions=False).invoke(TOOLS[tool], args, prog_name=tool)
    assert result.exit_code == 0, result.output
    return "".join(f"{line.rstrip()}\n" for line in result.stdout.splitlines())


def without_times(text: str) -> str:
    """The text without the seconds it took."""
    return re.sub(r"in \d+\.\d+ s\b", "in 0.00 s", text)


def main() -> None:
    for page in PAGES:
        for name, text in files_of(page).items():
            Path(name).write_text(text, encoding="utf-8")
        text = _BLOCK.sub(
            lambda command: f"```\n$ {command[1]}\n{printed_by(command[1])}```",
            page.read_text(encoding="utf-8"),
        )
        page.write_text(text, encoding="utf-8")
        for name in files_of(page):
            Path(name).unlink()


if __name__ == "__main__":
    main()
