"""The pages of commands and of the library say what the commands and the docstrings say today."""

from __future__ import annotations

import runpy
from collections.abc import Iterator

import click
import pytest

import ggp.library
from tests.docs.all_pages import DOCS
from tests.support.games import REPOSITORY

SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "reference_pages.py"))
API, COMMANDS = ((DOCS / "reference" / f"{name}.md") for name in ("api", "commands"))


def letters_of(text: str) -> str:
    """The text without spaces and line breaks, which depend on the version of click."""
    return "".join(text.split())


def test_the_page_of_the_library_is_made_of_its_docstrings() -> None:
    assert API.read_text(encoding="utf-8") == SCRIPT["with_texts"](API), (
        "run `python scripts/reference_pages.py`"
    )


def test_the_page_names_all_of_the_library() -> None:
    page = API.read_text(encoding="utf-8")
    assert [
        name for name in ggp.library.__all__ if f"<!-- ggp.library.{name} -->" not in page
    ] == []


def commands_below(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for child in command.list_commands(context):
            below = command.get_command(context, child)
            assert below is not None
            if not below.hidden:
                yield from commands_below(below, f"{name} {child}")


@pytest.mark.parametrize(
    ("name", "command"),
    [below for name, main in SCRIPT["COMMANDS"].items() for below in commands_below(main, name)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_page_of_commands_says_what_the_help_says(name: str, command: click.Command) -> None:
    page = COMMANDS.read_text(encoding="utf-8")
    section = letters_of(page.split(f"# {name}\n")[1].split("\n```\n")[0])
    options = [
        each for each in command.params if isinstance(each, click.Option) and not each.hidden
    ]
    written = [command.help or "", *(each.help or "" for each in options)]
    paragraphs = [part for text in written for part in text.split("\n\n") if "\b" not in part]
    assert [text for text in paragraphs if letters_of(text) not in section] == []
    assert [each.name for each in options if each.opts[-1] not in section] == []
