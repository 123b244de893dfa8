"""The commands `match-runner tournament`, and `show`, which shows any stored series again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ggp.cli.arguments import (
    FilePath,
    FolderPath,
    clock_option,
    import_option,
    json_option,
)
from ggp.console import example, verbose_option
from ggp.run.clocks import Clock
from match_runner import tournament as summary
from match_runner.cli.options import (
    course_options,
    in_process_option,
    place_options,
    read_course_files,
    read_place,
)
from match_runner.series import comparison
from match_runner.series.holding import Snapshot, Summary, hold_series, printer, read_series
from match_runner.tournament import read_tournament


@click.command(epilog=example("match-runner tournament spring.toml --plot spring.png"))
@click.argument("file", type=FilePath())
@place_options(out="FILE without .toml")
@course_options
@in_process_option
@clock_option("local players in all games", "from FILE, else wall")
@json_option
@import_option
@verbose_option
def tournament(
    file: Path, as_json: bool, in_process: bool, clock: Clock | None, **options: Any
) -> int:
    """Play the tournament that FILE describes in TOML, and say who is best.

    DIR, by default beside FILE, keeps the results as matches end. After an interruption, the same
    command continues; after the last match, it prints the tables again. You can add rounds later.
    """
    place = read_place(options)
    files = read_course_files(options)
    if place.folder is None:
        place = replace(place, folder=_default_folder(file))

    series = read_tournament(file)
    games = (
        replace(
            game,
            conditions=replace(
                game.conditions,
                in_process=in_process,
                clock=clock or game.conditions.clock,
            ),
        )
        for game in series.games
    )
    series = replace(series, games=tuple(games))
    show = printer(summary.summarize, as_json=as_json)
    return hold_series(series, place, files.wrap(show))


def _default_folder(file: Path) -> Path:
    """Default folder for the results of a tournament file, beside the file."""
    return file.with_suffix("") if file.suffix else file.with_name(f"{file.name}.results")


# ------------------------------------------------------------------------
# `match-runner show`: the results of a stored series, shown, drawn and exported again.


@click.command(epilog=example("match-runner show runs/kuhn --csv kuhn.csv --plot kuhn.png"))
@click.argument("folder", metavar="DIR", type=FolderPath())
@course_options
@json_option
@verbose_option
def show(folder: Path, as_json: bool, **options: Any) -> None:
    """Show the results of a stored series again, and draw or export them.

    DIR is the --out of compare, play or tournament, which may still be running. A series of one
    game is shown as a comparison, a series of several games as a tournament. Nothing is played.
    """
    files = read_course_files(options)
    snapshot = read_series(folder)
    several = len(snapshot.series.games) > 1
    summarize: Callable[[Snapshot], Summary] = (summary if several else comparison).summarize
    files.wrap(printer(summarize, as_json=as_json))(snapshot)
