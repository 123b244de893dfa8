"""`python -m benchmarks`: measure decisions, starts and more, print tables, write JSON.

python -m benchmarks --rulesheets FOLDER --out results.json

Rows of `SPEEDS` say how many times as fast they are as in `STORED`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from benchmarks.options import out_option, rulesheets_option
from benchmarks.system import describe_system
from benchmarks.tables.boards import measure_boards
from benchmarks.tables.decisions import CASES as DECISIONS
from benchmarks.tables.decisions import measure_decision
from benchmarks.tables.environments import measure_environments
from benchmarks.tables.fallback import measure_fallbacks
from benchmarks.tables.scale import measure_scales
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
    games: tuple[str, ...]
    pgx: str | None = None


STORED = Path(__file__).resolve().parents[1] / "docs" / "measured" / "runs" / "performance.json"
"""A run of the build before, as `--out` writes it."""

SPEEDS: dict[str, Callable[[dict[str, Any]], float]] = {
    "decisions": lambda row: 1 / row["seconds"],
    "scale": lambda row: row["states, threads"],
    "env": lambda row: row["steps/CPU s"],
}
"""By part: the speed in a row of it."""

PARTS: dict[str, tuple[str, Callable[[Wanted], Rows]]] = {
    "decisions": (
        "first decisions",
        lambda wanted: [measure_decision(*case, wanted.rounds) for case in DECISIONS],
    ),
    "boards": (
        "boards with pieces, CPU ms",
        lambda wanted: list(measure_boards(wanted.seconds, wanted.rounds, wanted.games)),
    ),
    "start": ("starts, CPU seconds", lambda _: measure_start()),
    "scale": (
        "threads, as a share of processes",
        lambda wanted: measure_scales(wanted.seconds, wanted.rounds),
    ),
    "fallback": (
        "states a CPU second without a circuit",
        lambda wanted: measure_fallbacks(wanted.rulesheets, wanted.seconds, wanted.rounds),
    ),
    "env": (
        "steps a second of environments",
        lambda wanted: measure_environments(wanted.seconds, wanted.rounds, wanted.pgx),
    ),
}
"""The benchmarks by name: the title of each, and its function."""


def _name_of(row: dict[str, Any]) -> str:
    """What a row is about: its game, and its player, lanes and threads if it has any."""
    return " ".join(str(row[key]) for key in ("game", "player", "lanes", "threads") if key in row)


@click.command()
@rulesheets_option
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
@click.option("--game", "games", multiple=True, help="Boards only: measure this game; or a path.")
@click.option("--pgx", metavar="PYTHON", help="Environments: an interpreter that has Pgx.")
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Measure only this.")
@out_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON and no tables.")
def main(
    rulesheets: Path | None,
    seconds: float,
    rounds: int,
    games: tuple[str, ...],
    pgx: str | None,
    only: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure how fast this machine decides, starts and plays."""
    options = Wanted(rulesheets, seconds, rounds, games, pgx)
    results: dict[str, Any] = {"system": describe_system()}
    for name, (title, measure) in PARTS.items():
        if only and name not in only:
            continue
        with spinner(title):
            results[name] = with_ratios(name, measure(options))
        if not as_json:
            show(title, results[name])
    if as_json:
        click.echo(json.dumps(results, indent=1))
    if out is not None:
        out.write_text(json.dumps(results, indent=1) + "\n")


def with_ratios(part: str, rows: Rows) -> Rows:
    """The rows, and how many times as fast each is as in the stored run of the build before."""
    if part in SPEEDS:
        speed = SPEEDS[part]
        before = {_name_of(row): speed(row) for row in json.loads(STORED.read_text()).get(part, [])}
        for row in rows:
            if before.get(_name_of(row)) and speed(row):
                row["ratio"] = round(speed(row) / before[_name_of(row)], 2)
    return rows


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    if not rows:
        return
    print(title, file=sys.stdout)
    kinds = {name: value for row in reversed(rows) for name, value in row.items()}
    names = dict.fromkeys(name for row in rows for name in row)
    titles = [name if isinstance(kinds[name], str) else f"#{name}" for name in names]
    cells = [[_cell_text(row.get(name, "")) for name in names] for row in rows]
    print_rich(Table(titles, cells))


def _cell_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    guarded(main)(standalone_mode=False)
