"""`match-runner compare`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from ggp.cli.options import (
    backend_option,
    hint_at_warnings,
    json_option,
    seed_option,
    verbose_option,
)
from ggp.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    installed_version,
    print_json,
    print_rich,
    show_error,
)
from ggp.gdl.normalize import load
from match_runner.comparison.places import (
    jobs_option,
    match_seconds_option,
    open_executor,
    scheduler_option,
)
from match_runner.comparison.plan import Options, check_options, plan_measurements
from match_runner.comparison.report import show_comparison
from match_runner.comparison.runner import run_comparison, stored_budgets
from match_runner.comparison.store import PlayedMatch, Store, open_store
from match_runner.comparison.summary import Summary, scores_of, summarize
from match_runner.options import out_option
from match_runner.progress import progress

_SEVERAL = "--players"
_ONE = "--player"


class _SeveralPlayers(click.Command):
    """Reads `--players A B` as `--player A --player B`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        read: list[str] = []
        within = False
        for arg in args:
            if arg == _SEVERAL or arg.startswith(f"{_SEVERAL}="):
                within = True
                read += [_ONE, arg.partition("=")[2]] if "=" in arg else []
            elif arg.startswith("-"):
                within = False
                read.append(arg)
            else:
                read += [_ONE, arg] if within else [arg]
        return super().parse_args(ctx, read)


@click.command(cls=_SeveralPlayers)
@click.argument("game")
@click.option(
    _ONE,
    _SEVERAL,
    "players",
    multiple=True,
    metavar="SPEC...",
    help="Who is compared: --players SPEC SPEC, after GAME, or --player once for each.",
)
@click.option(
    "--roles",
    type=click.Choice(["rotate", "fixed"]),
    default="rotate",
    show_default=True,
    help="Whether players change roles, or play those of their place in the list.",
)
@click.option("--matches", type=click.IntRange(min=1), required=True, help="To play in all.")
@jobs_option()
@scheduler_option
@match_seconds_option
@seed_option("the whole comparison")
@click.option(
    "--equal-states",
    is_flag=True,
    help="Give the others as many states a decision as the first player visits.",
)
@out_option()
@backend_option
@json_option
@verbose_option
def compare(
    game: str,
    players: tuple[str, ...],
    roles: str,
    matches: int,
    jobs: int | None,
    scheduler: str | None,
    match_seconds: int,
    seed: int,
    equal_states: bool,
    folder: Path,
    backend: str,
    as_json: bool,
) -> int:
    """Play many matches of GAME between players, in processes of their own.

    Results are kept in DIR as they come. After an interrupt, the same command continues; after
    the last match, it prints the tables again.
    """
    program = load(game)
    options = Options(
        game=game,
        digest=program.digest,
        roles=program.roles,
        players=tuple(player.strip() for player in players),
        matches=matches,
        rotate=roles == "rotate",
        equal_states=equal_states,
        seed=seed,
        backend=backend,
        version=installed_version(),
    )
    check_options(options)
    if not as_json:
        hint_at_warnings(game, program.diagnostics)
    failures: tuple[str, ...] = ()
    interrupted = False
    with (
        open_executor(jobs, scheduler, match_seconds) as executor,
        open_store(folder, options) as store,
    ):
        try:
            with _progress(options, store) as watch:
                failures = run_comparison(options, store, executor, watch)
        except KeyboardInterrupt:
            interrupted = True
        summary = summarize(options, store.matches("play"), stored_budgets(options, store))
    _show(summary, as_json=as_json)
    if interrupted:
        click.echo(
            f"interrupted after {summary.played} of {matches} matches; the same command continues",
            err=True,
        )
        return EXIT_INTERRUPTED
    for failure in failures:
        show_error(f"{failure}; the same command tries again")
    return EXIT_FAILED if failures else 0


def _show(summary: Summary, *, as_json: bool) -> None:
    if as_json:
        print_json(summary.to_json())
    else:
        print_rich(*show_comparison(summary))


@contextmanager
def _progress(options: Options, store: Store) -> Iterator[Callable[[PlayedMatch], None]]:
    """A bar on standard error with the running means, if that is a terminal.

    Yields a function that is told of each match.
    """
    total = len(plan_measurements(options)) + options.matches
    ended = 0
    text = "measuring" if options.equal_states else "playing"
    goals = [_Running() for _ in options.players]
    with progress(total) as advance:

        def watch(match: PlayedMatch) -> None:
            nonlocal ended, text
            ended += 1
            if match.planned.kind == "play":
                for player, score in scores_of([match]).items():
                    goals[player].add(score)
                text = ", ".join(
                    f"{p} {m.total / m.count:.1f}"
                    for p, m in zip(options.players, goals, strict=True)
                    if m.count
                )
            advance(ended, text)

        for kind in ("measure", "play"):
            for match in store.matches(kind):
                watch(match)
        yield watch


@dataclass(slots=True)
class _Running:
    """A mean that grows."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1
