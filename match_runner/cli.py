"""`match-runner`: play matches, and show recorded ones."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ggp.cli.options import backend_option, json_option, seed_option, verbose_option
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
from ggp.errors import ConfigError, GGPError, MatchError
from ggp.gdl.normalize import load
from ggp.gdl.program import RANDOM, Program
from match_runner.comparison.cli import compare
from match_runner.exports import EXPORTS
from match_runner.log_views import is_log, read_log, show_log
from match_runner.options import conditions_of, conditions_options, record_option
from match_runner.progress import progress
from match_runner.records import (
    MatchRecord,
    MatchResult,
    make_folder,
    read_record,
    write_record,
)
from match_runner.replay import check_record
from match_runner.reproduce.cli import reproduce
from match_runner.seats import Arena, read_players, set_up
from match_runner.series import Summary, play_series, summarize
from match_runner.statistics import mean_of
from match_runner.tournament.cli import tournament
from match_runner.views import show_record, show_summary

MOST_WARNINGS = 5
"""Warnings of a rulesheet that are shown before a match."""


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.version_option(installed_version(), message="%(prog)s %(version)s")
@verbose_option
@click.pass_context
def main(ctx: click.Context) -> None:
    """Play matches between players, and show recorded ones."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.command()
@click.argument("game")
@click.option(
    "--player",
    "players",
    multiple=True,
    metavar="ROLE=SPEC",
    help="Who plays a role, e.g. agent=hyperplay2:n=8 or agent=http://localhost:9147. "
    "Others play random.",
)
@click.option("--matches", type=click.IntRange(min=1), default=1, show_default=True)
@conditions_options
@seed_option("the first match; the others count on from it")
@record_option
@backend_option
@json_option
@verbose_option
def play(
    game: str,
    players: tuple[str, ...],
    matches: int,
    seed: int,
    records: Path | None,
    backend: str,
    as_json: bool,
    **asked: Any,
) -> int:
    """Play matches of GAME, the name of a game or the path of a rulesheet.

    A player with an address is remote: a program that speaks the protocol of game servers.
    --play-clock, --replacement and --pause are for all players, the other options about
    clocks and messages for remote ones.
    """
    program = load(game)
    specs = read_players(players, program.roles)
    if records is not None:
        make_folder(records)
    if not as_json:
        _show_warnings(program)
    arena = set_up(game, program, specs, backend)
    conditions = conditions_of(has_remote=arena.remotes is not None, **asked)
    results: list[MatchResult] = []
    interrupted = False
    try:
        with _each_warning_once(), progress(matches) as advance:
            for record in play_series(arena, seed, matches, conditions):
                if records is not None:
                    write_record(record, records)
                results.append(record.result)
                advance(len(results), _means(results))
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
@click.argument(
    "files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path), required=True
)
@json_option
@verbose_option
def replay(files: tuple[Path, ...], as_json: bool) -> int:
    """Show recorded matches again, checked against the rules of their games.

    A FILE is a record of this program, or a log that `ggp serve --log` kept. With --json,
    several are a list.
    """
    found: list[object] = []
    code = 0
    for number, file in enumerate(files):
        if number and not as_json:
            click.echo()
        record = None if is_log(file) else read_record(file)
        if record is None:
            events = read_log(file)
            found.append(events)
            shown = show_log(events, sys.stdout.encoding)
        else:
            found.append(record.to_json())
            shown = show_record(record, sys.stdout.encoding)
        if not as_json:
            print_rich(*shown)
        if record is not None:
            code = max(code, _check(record))
    if as_json:
        print_json(found if len(files) > 1 else found[0])
    return code


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Choice(list(EXPORTS)),
    required=True,
    help="The format: of the Dresden GameController, or of ggp-base and Tiltyard.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write it; without it, to standard output.",
)
@verbose_option
def export(file: Path, target: str, out: Path | None) -> None:
    """Write a recorded match in the format of another program.

    The rules of its game must be at hand: other formats hold states, records do not.
    """
    record = read_record(file)
    text = EXPORTS[target](record, check_record(record, load(record.game)))
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {out}: {error.strerror or error}") from error


main.add_command(compare)
main.add_command(tournament)
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


def _means(results: Sequence[MatchResult]) -> str:
    """The mean score of every player so far."""
    return ", ".join(
        f"{role} {mean_of([result.goals[role] for result in results]).mean:.1f}"
        for role in results[-1].goals
        if role != RANDOM
    )


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
