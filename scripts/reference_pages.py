"""Writes the pages of commands, of the library and of other engines.

They come from the commands' help, from docstrings, and from tests/engines.

Where a text stands that is made here, a page has `<!-- NAME -->` and `<!-- /NAME -->`. The name is
that of a command, with all commands below it, or the path of a class, a function or a module, whose
own classes and functions follow one another.

    python scripts/reference_pages.py
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import ggp.cli
import match_runner.cli
from ggp.gdl.elsewhere import ENGINES, ROWS

PAGES = [
    Path(__file__).resolve().parents[1] / "docs" / "reference" / name
    for name in ("api.md", "commands.md", "other-engines.md")
]
SEEN = Path(__file__).resolve().parents[1] / "tests" / "engines"
COMMANDS = {"ggp": ggp.cli.main, "match-runner": match_runner.cli.main}
WIDTH = 90

PLACE = re.compile(r"<!-- ([\w.-]+) -->\n.*?<!-- /\1 -->", re.DOTALL)
_EXAMPLE = re.compile(r"^>>> (?:.+\n)+", re.MULTILINE)
_SECTION = re.compile(
    r"^(Args|Attributes|Returns|Yields|Raises):\n((?:    .*\n?|\n)+)", re.MULTILINE
)
_ENTRY = re.compile(r"^([^\s:][^:]*): ", re.MULTILINE)


@click.command()
def main() -> None:
    """Write the pages."""
    for page in PAGES:
        page.write_text(with_texts(page), encoding="utf-8")


def with_texts(page: Path) -> str:
    """The text of a page, with today's help and docstrings in their places."""

    def made(place: re.Match[str]) -> str:
        name = place[1]
        if name in COMMANDS:
            parts = _commands(COMMANDS[name], name)
        else:
            parts = TABLES[name]() if name in TABLES else _documented(name)
        return "\n\n".join([f"<!-- {name} -->", *parts, f"<!-- /{name} -->"])

    return PLACE.sub(made, page.read_text(encoding="utf-8"))


def _ways_to_write() -> Iterator[str]:
    """What GDL says of each way to write rules, and what each engine does."""
    rows = [
        (row.writing, _seen(name)["specification"], *map(row.engines.get, ENGINES), row.instead)
        for name, row in ROWS.items()
    ]
    yield _table(("written", "GDL", *ENGINES, "write instead"), rows)


def _goals() -> Iterator[str]:
    """What each engine makes of goal values."""
    rows = []
    for name in ("goal-two", "goal-none", "goal-zeros", "goal-plus", "goal-number"):
        seen = _seen(name)
        views = {engine.split(",")[0]: view for engine, view in reversed(seen["engines"].items())}
        answers = (views[engine].partition("; goal ") for engine in ENGINES)
        goals = [goal or ("not read" if "not" in answer else "50") for answer, _, goal in answers]
        rule = seen["rules"].strip().rpartition("\n")[2]
        ours = seen["ggp"].partition("; goal ")[2].removesuffix(".0") or "50"
        rows.append((f"`{rule}`", seen["specification"], ours, *goals))
    yield _table(("written", "GDL", "ggp", *ENGINES), rows)


def _answers() -> Iterator[str]:
    """What controllers make of answers to PLAY."""
    rows = []
    for seen in _seen("servers/answers")["answer"]:
        texts = ", ".join(f"`{text}`" for text in seen["texts"]).replace("\n", "⏎")
        where = f" where {seen['where']}" if "where" in seen else ""
        rows.append((texts + where, seen["gamecontroller"], seen["ggp-base"]))
    yield _table(("answer (⏎ ends a line)", "gamecontroller", "ggp-base"), rows)


TABLES = {"written": _ways_to_write, "goals": _goals, "answers": _answers}


def _seen(name: str) -> dict[str, Any]:
    return tomllib.loads((SEEN / f"{name}.toml").read_text(encoding="utf-8"))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str | None]]) -> str:
    lines = [f"| {' | '.join(cell or '' for cell in row)} |" for row in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


def _commands(command: click.Command, name: str, level: int = 2) -> Iterator[str]:
    """The help of a command and of those below it."""
    context = click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    yield f"{'#' * level} {name}"
    yield f"```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None and not found.hidden:
                yield from _commands(found, f"{name} {child}", level + 1)


def _documented(path: str, level: int = 3) -> Iterator[str]:
    """An object with a docstring, and its public parts."""
    item = pkgutil.resolve_name(path)
    name = path if isinstance(item, ModuleType) else path.rpartition(".")[2]
    yield f"{'#' * level} {name}"
    if not isinstance(item, ModuleType):
        yield f"```python\n{_signature(item, name)}\n```"
    yield _markdown(inspect.getdoc(item) or "")
    for child, value in vars(item).items() if isinstance(item, ModuleType | type) else ():
        if not child.startswith("_") and _is_part(value, item):
            yield from _documented(f"{path}.{child}", level + 1)


def _is_part(value: Any, owner: ModuleType | type) -> bool:
    """Whether a value is a documented part of a module or class, and not from elsewhere."""
    if isinstance(owner, ModuleType):
        is_own = getattr(value, "__module__", None) == owner.__name__
        return is_own and (inspect.isclass(value) or inspect.isfunction(value))
    # A property that is no function is an old name of another one.
    function = value.fget if isinstance(value, property) else value
    return inspect.isfunction(function) or isinstance(function, staticmethod | classmethod)


def _signature(item: Any, name: str) -> str:
    """The first line of a class, or how a function is called; for a property, its type."""
    if inspect.isclass(item):
        return f"class {name}"
    is_property = isinstance(item, property)
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(item.fget if is_property else item)))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    if is_property:
        return f"{name}: {ast.unparse(function.returns) if function.returns else name}"
    header = source.splitlines()[function.lineno - 1 : function.body[0].lineno - 1]
    return re.sub(r"\n    self,(?=\n)|(?<=\()self(, )?", "", "\n".join(header)).removesuffix(":")


def _markdown(text: str) -> str:
    """A docstring as Markdown: sections become lists, examples code."""

    def section(match: re.Match[str]) -> str:
        body = inspect.cleandoc("\n" + match[2])
        entries = body if match[1] in ("Returns", "Yields") else _ENTRY.sub(r"- `\1`: ", body)
        return f"*{match[1]}*\n\n{entries}\n\n"

    return _EXAMPLE.sub(r"```python\n\g<0>```\n", _SECTION.sub(section, text + "\n")).strip()


if __name__ == "__main__":
    main()
