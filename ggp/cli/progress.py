"""A bar on standard error for what takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ggp.console import console_on


class Advance(Protocol):
    """Is called when so many parts are done, and how far the next is, if that is known."""

    def __call__(self, parts: int = 1, /, *, now: str = "") -> None: ...


@contextmanager
def bar_of(total: int, text: str) -> Iterator[Advance]:
    """Shown only if standard error is a terminal; yields what is called when a part is done."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    screen = console_on(sys.stderr)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(text, total=total)

        def advance(parts: int = 1, /, *, now: str = "") -> None:
            bar.update(task, advance=parts, description=f"{text}, {now}" if now else text)

        yield advance
