"""`python -m benchmarks`: measure everything, print tables, write JSON.

python -m benchmarks --rulesheets FOLDER --out results.json
python -m benchmarks.compare before.json after.json
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from benchmarks.circuits import measure_circuits, show_circuits
from benchmarks.decisions import GAMES as DECISIONS
from benchmarks.decisions import measure_decision
from benchmarks.evaluation import measure_evaluation
from benchmarks.fallback import measure_fallbacks
from benchmarks.loading import measure_loading, show_loading
from benchmarks.operations import measure_operations
from benchmarks.profile import measure_profile, vector_limit
from benchmarks.scale import GAMES as SHARED
from benchmarks.scale import measure_scale
from benchmarks.speed import GAMES, measure_speed
from benchmarks.start import measure_start
from benchmarks.system import describe_system
from ggp.console import print_rich, spinner, table_of

PARTS = (
    *("speed", "profile", "decisions", "operations", "evaluation", "start", "scale", "circuits"),
    *("loading", "fallback"),
)


def _scale(seconds: float, rounds: int) -> list[dict[str, Any]]:
    """How well threads share work; nothing where there is one processor."""
    rows, threads = [], len(os.sched_getaffinity(0))
    for name in SHARED if threads > 1 else ():
        with spinner(f"{name} with {threads} threads, and as many processes"):
            rows.append(measure_scale(name, threads, seconds, rounds))
    show(f"{threads} threads, as a share of {threads} processes", rows)
    return rows


@click.command()
@click.option(
    "--rulesheets",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the rulesheets by others; without it only our own games are measured.",
)
@click.option("--seconds", default=3.0, show_default=True, help="How long to play each game.")
@click.option("--rounds", default=3, show_default=True, help="How often; the median counts.")
@click.option("--n", "size", default=8, show_default=True, help="n of the hyperplay2 compared.")
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="Measure only this.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="JSON file to write.")
def main(
    rulesheets: Path | None,
    seconds: float,
    rounds: int,
    size: int,
    only: tuple[str, ...],
    out: Path | None,
) -> None:
    """Measure the backends against each other on this machine, one core."""
    wanted = only or PARTS
    results: dict[str, Any] = {"system": describe_system()}
    if "speed" in wanted:
        results["speed"] = []
        for game in GAMES:
            with spinner(f"random playouts of {game.name}"):
                row = measure_speed(game, rulesheets, seconds, rounds)
            if row is not None:
                results["speed"].append(row)
        show("states a second", results["speed"])
    if "profile" in wanted:
        with spinner("profile"):
            results["vector_limit"] = vector_limit()
            rows = [measure_profile(game, rulesheets, results["vector_limit"]) for game in GAMES]
        results["profile"] = [row for row in rows if row is not None]
        show("nanoseconds a state", results["profile"])
    if "decisions" in wanted:
        results["decisions"] = []
        for name in DECISIONS:
            with spinner(f"first decisions in {name}"):
                results["decisions"].append(measure_decision(name, size, rounds))
        show(f"first decision of hyperplay2:n={size}", results["decisions"])
    if "operations" in wanted:
        with spinner("operations"):
            results["operations"] = [measure_operations(lanes) for lanes in (1024, 128)]
        show("microseconds a lane", results["operations"])
    if "evaluation" in wanted:
        with spinner(f"hyperplay2:n={size} on both backends, which takes minutes"):
            results["evaluation"] = measure_evaluation(size)
        show("first move", [results["evaluation"]])
    if "start" in wanted:
        with spinner("starts"):
            results["start"] = measure_start()
        show("starts, CPU seconds", results["start"])
    if "scale" in wanted:
        results["scale"] = _scale(seconds, rounds)
    if "circuits" in wanted:
        found = measure_circuits(rulesheets, seconds=seconds, rounds=rounds)
        results["circuits"] = found["now"]
        show_circuits(found)
    if "loading" in wanted:
        results["loading"] = measure_loading(rulesheets)
        show_loading(results["loading"])
    if "fallback" in wanted:
        with spinner("rulesheets that do not ground"):
            results["fallback"] = measure_fallbacks(rulesheets, seconds, rounds)
        show("states a CPU second without a circuit", results["fallback"])
    if out is not None:
        out.write_text(json.dumps(results, indent=1) + "\n")


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    if not rows:
        return
    print(title, file=sys.stdout)
    titles = [name if isinstance(value, str) else f"#{name}" for name, value in rows[0].items()]
    print_rich(table_of(titles, [[_shown(value) for value in row.values()] for row in rows]))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    main()
