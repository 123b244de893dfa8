"""States a second of random playouts without a circuit: interpreted by kernels, and on Prolog.

python -m benchmarks.fallback [FILE]... [--seconds 3] [--rounds 3]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

from benchmarks.without_circuit import SHEETS
from ggp.cli.bench import measure
from ggp.console import print_json, print_rich, table_of
from ggp.gdl.normalize import load
from ggp.machine import build_machine

BACKENDS = ("prolog", "relational")
"""The reference first."""


def measure_fallback(path: Path, seconds: float, rounds: int) -> dict[str, Any]:
    """One row: medians of several rounds, in which the backends take turns, by processor time."""
    machines = {name: build_machine(load(str(path)), name, ready=True) for name in BACKENDS}
    speeds: dict[str, list[float]] = {name: [] for name in BACKENDS}
    for seed in range(rounds):
        for name, machine in machines.items():
            found = measure(machine, seconds, np.random.default_rng(seed))
            speeds[name].append(found.states / found.cpu_seconds)
    for machine in machines.values():
        machine.close()
    slow, fast = (median(speeds[name]) for name in BACKENDS)
    row: dict[str, Any] = {"game": path.stem}
    row.update({f"{name}/CPU s": round(median(values)) for name, values in speeds.items()})
    return {**row, "ratio": round(fast / slow, 1)}


def show_fallback(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as a table."""
    titles = [name if name == "game" else f"#{name}" for name in rows[0]]
    texts = [[x if isinstance(x, str) else f"{x:,}" for x in row.values()] for row in rows]
    print_rich(table_of(titles, texts))


@click.command()
@click.argument(
    "paths", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
)
@click.option("--seconds", default=3.0, show_default=True, help="How long to play each game.")
@click.option("--rounds", default=3, show_default=True, help="How often; the median counts.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
def main(paths: tuple[Path, ...], seconds: float, rounds: int, as_json: bool) -> None:
    """Measure what plays without a circuit, on rulesheets of our own or those that are given."""
    rows = [measure_fallback(path, seconds, rounds) for path in paths or SHEETS]
    if as_json:
        print_json(rows)
    else:
        show_fallback(rows)


if __name__ == "__main__":
    main()
