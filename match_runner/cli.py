"""`match-runner`: play matches, and show recorded ones."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ggp.cli.options import backend_option, json_option, verbose_option
from ggp.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    CommandGroup,
    installed_version,
    print_json,
    print_rich,
    show_diagnostics,
    show_error,
)
from ggp.errors import GGPError, MatchError
from ggp.gdl.normalize import load
from ggp.gdl.program import RANDOM, Program
from match_runner.comparison.cli import compare
from match_runner.records import (
    MatchRecord,
    MatchResult,
    make_folder,
    read_record,
    write_record,
)
from match_runner.referee import Conditions
from match_runner.replay import check_record
from match_runner.reproduce.cli import reproduce
from match_runner.seats import Arena, read_players, set_up
from match_runner.series import Summary, play_series, summarize
from match_runner.statistics import mean_of
from match_runner.views import console, show_record, show_summary

MOST_WARNINGS = 5
"""Warnings of a rulesheet that are shown before a match."""


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.version_option(installed_version(), message="%(prog)s %(version)s")
@verbose_option
@click.pass_context
def main(ctx: click.Context) -> None:
    """Play matches between players, and show recorded ones.

    Exit codes: 0 all is well, 1 something failed, 2 the input was wrong, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.command()
@click.argument("game")
@click.option(
    "--player",
    "players",
    multiple=True,
    metavar="ROLE=SPEC",
    help="Who plays a role, e.g. agent=hyperplay2:n=8. Others play random.",
)
@click.option("--matches", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--play-clock",
    "play_clock_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time for each decision. Without it the players' counts decide.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the first match; the others count on from it.",
)
@click.option(
    "--record",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a JSON file for every match.",
)
@backend_option
@json_option
@verbose_option
def play(
    game: str,
    players: tuple[str, ...],
    matches: int,
    play_clock_s: float | None,
    seed: int,
    folder: Path | None,
    backend: str,
    as_json: bool,
) -> int:
    """Play matches of GAME, the name of a game or the path of a rulesheet."""
    program = load(game)
    specs = read_players(players, program.roles)
    if folder is not None:
        make_folder(folder)
    if not as_json:
        _show_warnings(program)
    arena = set_up(game, program, specs, backend)
    results: list[MatchResult] = []
    interrupted = False
    try:
        with _each_warning_once(), _progress(matches) as advance:
            for record in play_series(arena, seed, matches, Conditions(play_clock_s)):
                if folder is not None:
                    write_record(record, folder)
                results.append(record.result)
                advance(results)
    except KeyboardInterrupt:
        interrupted = True
    summary = summarize(game, arena.machine.roles, results)
    if as_json:
        print_json(summary.to_json())
    else:
        _show_summary(summary, arena)
    if interrupted:
        click.echo(f"interrupted after {len(results)} of {matches} matches", err=True)
        return EXIT_INTERRUPTED
    return 0


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@verbose_option
def replay(file: Path, as_json: bool) -> int:
    """Show a recorded match again, checked against the rules of its game."""
    record = read_record(file)
    if as_json:
        print_json(record.to_json())
    else:
        print_rich(*show_record(record, sys.stdout.encoding))
    return _check(record)


main.add_command(compare)
main.add_command(reproduce)


def _check(record: MatchRecord) -> int:
    """Check a record as far as its rules are at hand; say on stderr what came of it."""
    try:
        program = load(record.game)
    except GGPError as error:
        click.echo(f"not checked against the rules: {error}", err=True)
        return 0
    try:
        check_record(record, program)
    except MatchError as error:
        show_error(str(error))
        return EXIT_FAILED
    except GGPError as error:
        click.echo(f"not checked against the rules: {error}", err=True)
    return 0


def _show_warnings(program: Program) -> None:
    show_diagnostics(program.diagnostics[:MOST_WARNINGS])
    if len(program.diagnostics) > MOST_WARNINGS:
        more = len(program.diagnostics) - MOST_WARNINGS
        click.echo(f"{more} more warnings; `ggp validate {program.source.name}`", err=True)


def _show_summary(summary: Summary, arena: Arena) -> None:
    players = arena.players
    listed = [(role, players.get(role, "by chance")) for role in arena.machine.roles]
    print_rich(*show_summary(summary, listed, sys.stdout.encoding))


@contextmanager
def _progress(num_matches: int) -> Iterator[Callable[[Sequence[MatchResult]], None]]:
    """A bar on standard error with the running means, if that is a terminal.

    Yields a function that is told the results so far.
    """
    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("playing", total=num_matches)

        def advance(results: Sequence[MatchResult]) -> None:
            means = (
                f"{role} {mean_of([result.goals[role] for result in results]).mean:.1f}"
                for role in results[-1].goals
                if role != RANDOM
            )
            bar.update(task, completed=len(results), description=", ".join(means))

        yield advance


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """Every machine of a match warns of the same rules; once is enough."""
    seen: set[tuple[str, str]] = set()

    def is_new(record: logging.LogRecord) -> bool:
        key = (record.name, record.getMessage())
        known = key in seen
        seen.add(key)
        return not known

    handlers = logging.getLogger("ggp").handlers
    for handler in handlers:
        handler.addFilter(is_new)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_new)
