"""The command `match-runner reproduce`: runs experiments by name.

A name and options become experiments and `RunSettings`; their results are printed, and written as
files by `report`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ggp.cli.arguments import (
    FiniteRange,
    backend_option,
    clock_option,
    json_option,
    limits_option,
    seed_option,
)
from ggp.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    bar_of,
    example,
    installed_version,
    show_error,
    show_report,
    spinner,
    tell,
    verbose_option,
)
from ggp.errors import ConfigError, GGPError
from ggp.labs.papers.reproduce.clock import CLOCK
from ggp.labs.papers.reproduce.exploitability import EXPLOITABILITY
from ggp.labs.papers.reproduce.grid import DuelGrid
from ggp.labs.papers.reproduce.paper_003.figure6 import CardFigure
from ggp.labs.papers.reproduce.paper_003.kuhn_table import KuhnTable
from ggp.labs.papers.reproduce.paper_003.trees import TREE_FIGURES
from ggp.labs.papers.reproduce.paper_004.figure3 import FIGURE_3
from ggp.labs.papers.reproduce.paper_004.figure4 import FIGURE_4
from ggp.labs.papers.reproduce.paper_004.figure5 import FIGURE_5
from ggp.labs.papers.reproduce.paper_004.others import LARGER, LIMITATION
from ggp.labs.papers.reproduce.paper_004.tables import TABLE_1, TABLE_2
from ggp.labs.papers.reproduce.report import backends_text, begin_run, verdict, write_results
from ggp.labs.papers.reproduce.results import (
    Experiment,
    GridExperiment,
    Result,
    RunSettings,
    Tell,
)
from ggp.labs.papers.reproduce.strength import STRENGTH
from ggp.machine import Limits
from ggp.registry import Registry
from ggp.report import Report, Table
from ggp.run.clocks import Clock
from match_runner.cli.options import place_options, read_place, read_until, until_options
from match_runner.series.holding import open_executor
from match_runner.workers.executor import Executor

ALL, ALL_003, EVERYTHING = "all", "003", "everything"
EXPERIMENTS: Mapping[str, Experiment] = {
    e.name: e for e in (TABLE_1, TABLE_2, FIGURE_3, FIGURE_4, FIGURE_5, LIMITATION, LARGER)
}
CARDS = CardFigure()
"""Figure that needs OpenSpiel; groups of experiments skip it without."""

PAPER_003: Mapping[str, Experiment] = {e.name: e for e in (*TREE_FIGURES, KuhnTable(), CARDS)}
OFFERED: Mapping[str, Experiment] = Registry("match_runner.experiments", "experiment")
"""Experiments of other labs and packages; not part of `all`."""

DUELS = [grid for grid in (STRENGTH, CLOCK, *OFFERED.values()) if isinstance(grid, DuelGrid)]
GRIDS: Mapping[str, GridExperiment] = {
    **{grid.name: grid for grid in DUELS},
    EXPLOITABILITY.name: EXPLOITABILITY,
}
"""Grids, which can be played in part; not part of `all`."""

OTHERS: Mapping[str, Experiment] = {
    name: offered for name, offered in OFFERED.items() if not isinstance(offered, DuelGrid)
}

REPORT = "report"
"""Name of the report on all experiments of the first paper; others are named after the argument."""

RUNS = Path("runs")
"""Where results are kept, each under its name, unless `--out` says otherwise."""

MATCHES = 100
QUICK_MATCHES = 10
QUICK_GRID_MINUTES = 18.0
"""Minutes after which `--quick` starts no duel of a grid, unless `--minutes` says otherwise."""

CORE_HOURS = 4.0
"""Most core-hours of an experiment that tells them beforehand, unless `--core-hours` does."""


def _even(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value is not None and value % 2:
        raise click.BadParameter(f"{value} is odd; players take turns at the roles")
    return value


@click.command(epilog=example("match-runner reproduce table1 --quick"))
@click.argument(
    "what", type=click.Choice([*EXPERIMENTS, ALL, *PAPER_003, ALL_003, EVERYTHING, *GRIDS, *OTHERS])
)
@click.option(
    "--matches",
    type=click.IntRange(min=2),
    callback=_even,
    show_default=", ".join(
        (
            f"{MATCHES}, with --quick {QUICK_MATCHES}",
            *(f"{g.name} {g.matches} and {g.quick_matches}" for g in GRIDS.values()),
        )
    ),
    help="Matches for each point, decisions for each row of a table, synthetic trees for each "
    "cell of a heat map, answers at each information set.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Play few matches: all takes minutes, a grid 20 at most, and intervals are wide.",
)
@click.option("--long", is_flag=True, help="Add the points that take hours.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Of a grid (strength, clock, kriegspiel, exploitability), play only the duels of this "
    "game, player (such as 'over 2') or clock (such as 1s); of several players, their duels with "
    "each other; may be repeated. Earlier matches are shown too.",
)
@click.option(
    "--minutes",
    type=FiniteRange(min=0),
    help="Of a grid, start no duel after this many minutes; 0 only shows earlier matches.",
)
@click.option(
    "--core-hours",
    type=FiniteRange(min=0),
    show_default=f"{CORE_HOURS:g}",
    help="Of exploitability, do not begin if the forecast is higher and --minutes sets no end; the "
    "whole takes some 6.",
)
@until_options
@clock_option("players in a grid", f"{Clock.WALL}, {EXPLOITABILITY.name} {EXPLOITABILITY.clock}")
@place_options(out=str(RUNS / "WHAT"), jobs="all processors", records=False)
@seed_option("all matches")
@backend_option
@limits_option
@json_option
@verbose_option
def reproduce(
    what: str,
    matches: int | None,
    quick: bool,
    long: bool,
    only: tuple[str, ...],
    minutes: float | None,
    core_hours: float | None,
    clock: Clock | None,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
    **options: Any,
) -> int:
    """Reproduce the tables and figures of papers.

    WHAT is one experiment, or a whole paper. For the paper on HyperPlay-II that is all: table1,
    table2, figure3, figure4, figure5, the known limitation (cooperative spies), and larger games,
    for which the paper has no numbers. For the paper on perfect information Monte Carlo search it
    is 003: heat maps of synthetic trees, Kuhn's poker, and (with OpenSpiel) Skat and Hearts in
    003-figure6, with three deals of each kind for each of --matches. Each gives a CSV and a PNG in
    DIR; one report has the paper's numbers, ours, and whether they agree.

    For the papers on kriegspiel it is kriegspiel: their players against each other and ours. Three
    grids are in no paper: strength, which compares auto, simulations, trees and OpenSpiel's bots at
    0.3 s a move on our games; clock, HyperPlay-II against HyperPlay with 1 s and 3 s; and
    exploitability, what players lose to best responses in games that can be solved, with 0.03 s and
    0.3 s; it tells its core-hours first. With
    --until decided, each duel of a grid goes on until it is clear who is better. Then kriegspiel
    plays its cells in the order of what their verdicts cost, and says how many games and core-hours
    each takes; kriegspiel-cells.csv in DIR keeps them, with those that were played elsewhere.
    """
    place = read_place(options)
    folder = place.folder or RUNS / what
    grid = GRIDS.get(what)
    usual_number = matches is None and options["most"] is None
    until = read_until(options, matches)
    given = (minutes, clock, until, core_hours)
    for_grids = (only, *(value is not None for value in given))
    if grid is None and any(for_grids):
        raise ConfigError(
            "--only, --minutes, --core-hours, --clock and --until are for the grids: "
            + ", ".join(GRIDS)
        )
    if until is not None and grid is not None and not isinstance(grid, DuelGrid):
        raise ConfigError(f"--until is for grids of duels: {', '.join(g.name for g in DUELS)}")
    if until is not None and quick:
        raise ConfigError("--quick and --until decided exclude each other: give --most instead")
    if minutes is None:
        minutes = QUICK_GRID_MINUTES if quick and grid is not None else math.inf
    usual = (MATCHES, QUICK_MATCHES) if grid is None else (grid.matches, grid.quick_matches)
    most = None if until is None else until.most - until.most % 2
    settings = RunSettings(
        most or matches or usual[quick],
        long,
        seed,
        backend,
        folder,
        limits,
        only=only,
        seconds=60 * minutes,
        quick=quick and matches is None,
        until=until,
        clock=clock or (Clock.WALL if grid is None else grid.clock),
        usual=usual_number,
        core_hours=CORE_HOURS if core_hours is None else core_hours,
    )
    begin_run(settings)
    experiments = experiments_of(what)
    jobs = place.jobs
    if jobs is None and place.scheduler is None:
        jobs = len(os.sched_getaffinity(0))
    results: list[Result] = []
    interrupted = False
    failed: GGPError | None = None
    try:
        with open_executor(jobs, place.scheduler, place.match_seconds) as executor:
            _tell_costs(grid, settings, executor)
            with _progress(experiments, settings) as begin:
                for experiment in experiments:
                    results.append(experiment.run(settings, executor, begin(experiment)))
    except KeyboardInterrupt:
        interrupted = True
    except GGPError as error:
        failed = error  # the results so far are shown first
    name = REPORT if what == ALL else what
    if len(results) < len(experiments):
        name += ".partial"
    files = write_results(results, settings, installed_version(), name) if results else ()
    values = {"results": [asdict(result) for result in results], "files": [str(f) for f in files]}
    show_report(Report(values, _parts(results, files)), as_json=as_json)
    if interrupted:
        tell(f"interrupted after {len(results)} of {len(experiments)}; the same command continues")
        return EXIT_INTERRUPTED
    if failed is not None:
        raise failed
    failures = [failure for result in results for failure in result.failures]
    for failure in failures:
        show_error(f"{failure}; the same command tries again")
    return EXIT_FAILED if failures else 0


def _tell_costs(grid: GridExperiment | None, settings: RunSettings, executor: Executor) -> None:
    """Print a forecast of the cost of a grid on standard error, if there is one."""
    if grid is not None and not settings.quick and settings.seconds:
        with spinner("working out what it costs"):
            for line in grid.forecast(settings, executor):
                tell(line)


def experiments_of(name: str) -> list[Experiment]:
    """Experiments of a name, in order; of a group, only the ones that can run here."""
    groups = {
        ALL: EXPERIMENTS,
        ALL_003: PAPER_003,
        EVERYTHING: {**EXPERIMENTS, **PAPER_003},
    }
    if name in groups:
        playable = find_spec("pyspiel") is not None
        return [e for e in groups[name].values() if playable or e is not CARDS]
    return [{**groups[EVERYTHING], **GRIDS, **OTHERS}[name]]


def _parts(results: Sequence[Result], files: Sequence[Path]) -> Iterator[Table | str]:
    for result in results:
        on = f", on {backends_text(result.backends)}" if result.backends else ""
        clock = "" if result.clock is None else f", {result.clock.words}"
        yield f"{result.title}{on}{clock}"
        if result.claims:
            claims = [(c.text, c.expected, c.ours, verdict(c)) for c in result.claims]
            yield Table(("", "expected", "#ours", ""), claims)
        elif not result.points:
            yield "no matches yet"
        else:
            points = [(p.at, p.player, p.opponent, format(p.value, ".1f")) for p in result.points]
            yield Table(("", "player", "opponent", f"#{result.measure}"), points)
        for table in result.tables:
            yield ""
            yield table.title
            yield replace(table, title="")
    if files:
        yield f"report: {files[0]}"


@contextmanager
def _progress(
    experiments: Sequence[Experiment], settings: RunSettings
) -> Iterator[Callable[[Experiment], Tell]]:
    """Show a bar on standard error, if that is a terminal.

    Yields a function that begins an experiment, and returns a function to call for each match.
    """
    total = sum(experiment.size(settings) for experiment in experiments)
    with bar_of(total, "playing") as advance:
        yield lambda experiment: partial(advance, now=experiment.name)
