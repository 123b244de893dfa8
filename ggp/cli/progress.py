"""A progress bar on standard error for long work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ggp.console import console_on


class Advance(Protocol):
    """A callback with the number of parts done, and the progress of the next one, if known."""

    def __call__(self, parts: int = 1, /, *, now: str = "") -> None: ...


@contextmanager
def bar_of(total: int | None, text: str) -> Iterator[Advance]:
    """A bar, shown only if standard error is a terminal; yields the callback for finished parts.

    Args:
        total: the number of parts; None if it is not known.
        text: what is done.
    """
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
