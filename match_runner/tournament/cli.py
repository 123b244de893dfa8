"""`match-runner tournament`."""

from __future__ import annotations

from pathlib import Path

import click

from ggp.cli.options import json_option, verbose_option
from ggp.console import EXIT_FAILED, EXIT_INTERRUPTED, print_json, print_rich, show_error
from match_runner.comparison.places import (
    jobs_option,
    match_seconds_option,
    open_executor,
    scheduler_option,
)
from match_runner.options import out_option, record_option
from match_runner.progress import progress
from match_runner.records import make_folder, write_record
from match_runner.tournament.plan import read_tournament
from match_runner.tournament.report import show_tournament
from match_runner.tournament.runner import run_tournament
from match_runner.tournament.store import Played, open_store
from match_runner.tournament.summary import summarize


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@jobs_option()
@scheduler_option
@match_seconds_option
@out_option("FILE without .toml")
@record_option
@json_option
@verbose_option
def tournament(
    file: Path,
    jobs: int | None,
    scheduler: str | None,
    match_seconds: int,
    folder: Path | None,
    records: Path | None,
    as_json: bool,
) -> int:
    """Play the tournament that FILE describes in TOML, and say who is best.

    Results are kept in DIR as they come: beside FILE, unless --out says where. After an
    interrupt, the same command continues; after the last match, it prints the tables again.
    Rounds can be added.
    """
    plan = read_tournament(file)
    folder = folder or _beside(file)
    if records is not None:
        make_folder(records)
    failures: tuple[str, ...] = ()
    interrupted = False
    with (
        open_executor(jobs, scheduler, match_seconds) as executor,
        open_store(folder, plan) as store,
    ):
        try:
            total = len(plan.planned())
            ended = len(store.matches())
            with progress(total) as advance:
                advance(ended, "playing")

                def watch(match: Played) -> None:
                    nonlocal ended
                    ended += 1
                    advance(ended, match.planned.kind)

                failures = run_tournament(plan, store, executor, watch)
        except KeyboardInterrupt:
            interrupted = True
        matches = store.matches()
    summary = summarize(plan, matches)
    if records is not None:
        for match in matches:
            write_record(match.record, records)
    if as_json:
        print_json(summary.to_json())
    else:
        print_rich(*show_tournament(summary))
    if interrupted:
        click.echo(
            f"interrupted after {summary.played} of {summary.planned} matches; the same command "
            "continues",
            err=True,
        )
        return EXIT_INTERRUPTED
    for failure in failures:
        show_error(f"{failure}; the same command tries again")
    return EXIT_FAILED if failures else 0


def _beside(file: Path) -> Path:
    """The folder of results that belongs to a file."""
    return file.with_suffix("") if file.suffix else file.with_name(f"{file.name}.results")
