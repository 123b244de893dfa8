"""`python -m benchmarks`: measure everything, print tables, write JSON.

python -m benchmarks --rulesheets FOLDER --out results.json
python -m benchmarks.compare before.json after.json

Rows of parts that `compare` knows say how many times as fast they are as in `STORED`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from benchmarks.circuits import measure_circuits, show_circuits
from benchmarks.compare import MEASURES, name_of
from benchmarks.loading import measure_loading, show_loading
from benchmarks.system import describe_system
from benchmarks.tables.boards import measure_boards
from benchmarks.tables.decisions import CASES as DECISIONS
from benchmarks.tables.decisions import measure_decision
from benchmarks.tables.environments import measure_environments
from benchmarks.tables.evaluation import measure_evaluation
from benchmarks.tables.fallback import measure_fallbacks
from benchmarks.tables.learning import measure_learning
from benchmarks.tables.operations import measure_operations
from benchmarks.tables.profile import measure_profile, vector_limit
from benchmarks.tables.scale import GAMES as SHARED
from benchmarks.tables.scale import measure_scale
from benchmarks.tables.speed import GAMES, measure_speed
from benchmarks.tables.start import measure_start
from ggp.cli.arguments import FiniteRange
from ggp.console import guarded, print_rich, spinner
from ggp.report import Table

Rows = list[dict[str, Any]]


class Wanted(NamedTuple):
    """What to measure, and how: the options."""

    rulesheets: Path | None
    seconds: float
    rounds: int
    size: int
    games: tuple[str, ...]


def _speed(options: Wanted) -> Rows:
    rows = []
    for game in GAMES:
        with spinner(f"random playouts of {game.name}"):
            rows.append(measure_speed(game, options.rulesheets, options.seconds, options.rounds))
    return [row for row in rows if row is not None]


def _profile(options: Wanted) -> Rows:
    limit = vector_limit()
    rows = [measure_profile(game, options.rulesheets, limit) for game in GAMES]
    return [row for row in rows if row is not None]


def _decisions(options: Wanted) -> Rows:
    rows = []
    for name, player in DECISIONS:
        with spinner(f"first decisions of {player} in {name}"):
            rows.append(measure_decision(name, player, options.rounds))
    return rows


def _scale(options: Wanted) -> Rows:
    """How well threads share work; nothing where there is one processor."""
    rows, threads = [], len(os.sched_getaffinity(0))
    for name in SHARED if threads > 1 else ():
        with spinner(f"{name} with {threads} threads, and as many processes"):
            rows.append(measure_scale(name, threads, options.seconds, options.rounds))
    return rows


def _circuits(options: Wanted) -> Rows:
    circuits = measure_circuits(options.rulesheets, seconds=options.seconds, rounds=options.rounds)
    show_circuits(circuits)
    return list(circuits["now"])


def _loading(options: Wanted) -> Rows:
    rows = measure_loading(options.rulesheets)
    show_loading(rows)
    return rows


def _at_once(label: str, measure: Callable[[Wanted], Any]) -> Callable[[Wanted], Any]:
    """Measured without a look in between."""

    def measured(options: Wanted) -> Any:
        with spinner(label):
            return measure(options)

    return measured


STORED = Path(__file__).resolve().parents[1] / "docs" / "measured" / "runs" / "performance.json"
"""A run of the build before, as `--out` writes it."""

PARTS: dict[str, tuple[str, Callable[[Wanted], Any]]] = {
    "speed": ("states a second", _speed),
    "profile": ("nanoseconds a state", _at_once("profile", _profile)),
    "decisions": ("first decisions", _decisions),
    "operations": (
        "microseconds a lane",
        _at_once("operations", lambda _: [measure_operations(lanes) for lanes in (1024, 128)]),
    ),
    "evaluation": (
        "first move",
        _at_once("both backends, for minutes", lambda options: measure_evaluation(options.size)),
    ),
    "boards": (
        "boards with pieces, CPU ms",
        _at_once(
            "boards with pieces",
            lambda options: list(measure_boards(options.seconds, options.rounds, options.games)),
        ),
    ),
    "start": ("starts, CPU seconds", _at_once("starts", lambda _: measure_start())),
    "scale": ("threads, as a share of processes", _scale),
    "circuits": ("", _circuits),
    "loading": ("", _loading),
    "fallback": (
        "states a CPU second without a circuit",
        _at_once(
            "rulesheets that do not ground",
            lambda options: measure_fallbacks(options.rulesheets, options.seconds, options.rounds),
        ),
    ),
    "env": (
        "steps a second of environments",
        _at_once(
            "environments", lambda options: measure_environments(options.seconds, options.rounds)
        ),
    ),
    "learning": (
        "decisions learnt from a CPU second",
        _at_once("learning", lambda options: measure_learning(options.seconds, options.rounds)),
    ),
}
"""The benchmarks by name: the title of each, empty where it shows itself, and its function."""


@click.command()
@click.option(
    "--rulesheets",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the rulesheets by others; without it only our own games are measured.",
)
@click.option(
    "--seconds",
    type=FiniteRange(min=0),
    default=3.0,
    show_default=True,
    help="How long to play each game.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often; the median counts.",
)
@click.option(
    "--n",
    "size",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="n of the hyperplay2 in `evaluation`.",
)
@click.option("--game", "games", multiple=True, help="Boards only: measure this game; or a path.")
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Measure only this.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="JSON file to write.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and no tables.")
def main(
    rulesheets: Path | None,
    seconds: float,
    rounds: int,
    size: int,
    games: tuple[str, ...],
    only: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure the backends against each other on this machine, one core."""
    options = Wanted(rulesheets, seconds, rounds, size, games)
    results: dict[str, Any] = {"system": describe_system()}
    for name, (title, measure) in PARTS.items():
        if only and name not in only:
            continue
        results[name] = with_ratios(name, measure(options))
        if title and not as_json:
            show(title, results[name] if isinstance(results[name], list) else [results[name]])
    if "profile" in results:
        results["vector_limit"] = vector_limit()
    if as_json:
        click.echo(json.dumps(results, indent=1))
    if out is not None:
        out.write_text(json.dumps(results, indent=1) + "\n")


def with_ratios(part: str, rows: Any) -> Any:
    """The rows, and how many times as fast each is as in the stored run of the build before."""
    stored = json.loads(STORED.read_text()).get(part, [])
    for _, speed in (measure for measure in MEASURES.values() if measure[0] == part):
        before = {name_of(row): speed(row) for row in stored}
        for row in rows:
            if before.get(name_of(row)) and speed(row):
                row["ratio"] = round(speed(row) / before[name_of(row)], 2)
        break
    return rows


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    if not rows:
        return
    print(title, file=sys.stdout)
    titles = [name if isinstance(value, str) else f"#{name}" for name, value in rows[0].items()]
    print_rich(Table(titles, [[_cell_text(value) for value in row.values()] for row in rows]))


def _cell_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    guarded(main)(standalone_mode=False)
