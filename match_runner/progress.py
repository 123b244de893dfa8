"""Progress bar on standard error while matches are played."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ggp.console import console_on


@contextmanager
def progress(total: int) -> Iterator[Callable[[int, str], None]]:
    """Show a progress bar, if standard error is a terminal.

    Yields a function that takes the number of matches that are over, and a text to show.
    """
    screen = console_on(sys.stderr)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("playing", total=total)

        def advance(completed: int, text: str) -> None:
            bar.update(task, completed=completed, description=text)

        yield advance
