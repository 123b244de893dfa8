"""`match-runner replay` and `match-runner export`: recorded matches."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ggp.cli.arguments import FilePath, import_option, json_option, verbose_option
from ggp.console import EXIT_BAD_INPUT, EXIT_FAILED, example, print_json, print_rich, show_error
from ggp.errors import ConfigError, GGPError, MatchError
from ggp.run.whole_files import write_whole
from match_runner.log_views import is_log, read_log, show_log
from match_runner.match.exports import EXPORTS
from match_runner.match.record_files import read_record
from match_runner.match.records import MatchRecord
from match_runner.match.replay import check_record, rules_of
from match_runner.match.views import show_record


@click.command(epilog=example("match-runner replay records/*.json"))
@click.argument("files", metavar="FILE...", nargs=-1, type=FilePath(), required=True)
@json_option
@import_option
@verbose_option
def replay(files: tuple[Path, ...], as_json: bool) -> int:
    """Show recorded matches, and check them against the rules of their games.

    A FILE is a record that match-runner wrote, or a log that `ggp serve --log` kept. With --json,
    several of them become a list. If one cannot be shown, the others still are.
    """
    found: list[object] = []
    code = 0
    for number, file in enumerate(files):
        if number and not as_json:
            click.echo()
        try:
            code = max(code, _replay(file, found, as_json=as_json))
        except ConfigError as error:
            show_error(str(error))
            code = EXIT_BAD_INPUT
    if as_json and found:
        print_json(found if len(files) > 1 else found[0])
    return code


def _replay(file: Path, found: list[object], *, as_json: bool) -> int:
    """Show one file, or for JSON add its contents to `found`; 1 if it contradicts the rules."""
    if is_log(file):
        events = read_log(file)
        found.append(events)
        if not as_json:
            print_rich(*show_log(events, sys.stdout.encoding))
        return 0
    record = read_record(file)
    found.append(record.to_json())
    if not as_json:
        print_rich(*show_record(record, sys.stdout.encoding))
    return _check(record)


@click.command(
    epilog=example("match-runner export records/*.json --to tiltyard-json --out match.json")
)
@click.argument("file", type=FilePath())
@click.option(
    "--to",
    "target",
    type=click.Choice(list(EXPORTS)),
    required=True,
    help="The format: that of the Dresden GameController, or that of ggp-base and Tiltyard.",
)
@click.option(
    "--out",
    type=FilePath(),
    metavar="FILE",
    help="Where to write it; the default is standard output.",
)
@import_option
@verbose_option
def export(file: Path, target: str, out: Path | None) -> None:
    """Write a recorded match in the format of another program.

    Other formats hold states. These are computed from the rules in the record, which checks the
    record too. Old records have no rules; for these the game must be available.
    """
    record = read_record(file)
    rules = rules_of(record)
    states = check_record(record, rules)
    text = EXPORTS[target](record, states, rules.as_program().spelling)
    if out is None:
        click.echo(text, nl=False)
        return
    write_whole(out, text)


def _check(record: MatchRecord) -> int:
    """Check a record if its rules are available, and report on stderr; returns the exit code."""
    try:
        check_record(record, rules_of(record))
    except MatchError as error:
        show_error(str(error))
        return EXIT_FAILED
    except GGPError as error:
        click.echo(f"not checked against the rules: {error}", err=True)
    return 0
