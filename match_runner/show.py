"""`match-runner show`: the results of a stored series, shown, drawn and exported again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ggp.cli.arguments import FolderPath, json_option, verbose_option
from ggp.console import example
from match_runner.series import comparison
from match_runner.series.commands.comparison_tables import show_comparison
from match_runner.series.commands.until_options import course_options, read_course_files
from match_runner.series.holding import Held, printer
from match_runner.series.stored import read_series
from match_runner.tournament import summary
from match_runner.tournament.standing_tables import show_tournament


@click.command(epilog=example("match-runner show runs/kuhn --csv kuhn.csv --plot kuhn.png"))
@click.argument("folder", metavar="DIR", type=FolderPath())
@course_options
@json_option
@verbose_option
def show(folder: Path, as_json: bool, **asked: Any) -> None:
    """Show the results of a stored series again, and draw or export them.

    DIR is where compare, play or tournament kept them (--out); they may still be playing. A series
    of one game is shown as a comparison, one of several as a tournament. Nothing is played.
    """
    files = read_course_files(asked)
    held = read_series(folder)
    files.after(_printer(held, as_json=as_json))(held)


def _printer(held: Held, *, as_json: bool) -> Callable[[Held], None]:
    if len(held.series.games) == 1:
        return printer(comparison.summarize, show_comparison, as_json=as_json)
    return printer(summary.summarize, show_tournament, as_json=as_json)
