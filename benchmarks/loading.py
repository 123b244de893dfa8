"""`python -m benchmarks.loading`: CPU seconds from rules to a circuit that can be played, by phase.

python -m benchmarks.loading --rulesheets FOLDER --out now.json
python -m benchmarks.loading --rulesheets FOLDER --against ../before

Every sheet has a process of its own, in which nothing has been loaded before and no circuit is
cached. `--against` names the folder of another version; both take turns, sheet by sheet.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import click

from benchmarks.children import HOME, command_of
from benchmarks.options import against_option, out_option, rulesheets_option
from benchmarks.sheets import SHEETS
from benchmarks.system import describe_system
from ggp.console import print_rich, spinner
from ggp.report import Table

SHOWN = 20
"""The slowest sheets, which are shown."""

PHASES = (
    "import",
    "read",
    "split",
    "translate",
    "ground",
    "simplify",
    "build",
    "passes",
    "bytes",
)
"""And `layout`; *ground* is gringo, and reading what it writes."""

_SUFFIXES = (".gdl", ".kif")


def sheets_in(*folders: Path) -> list[Path]:
    """The rulesheets in some folders and those inside them; folders may be missing."""
    paths = (path for folder in folders for path in folder.rglob("*") if path.suffix in _SUFFIXES)
    return sorted(paths)


def sheets_of(rulesheets: Path | None) -> list[Path]:
    """The project's own benchmark sheets that become circuits, and the rulesheets in a folder."""
    return sorted([*SHEETS, *(sheets_in(rulesheets) if rulesheets else ())])


def measure_sheet(path: Path, version: Path = HOME) -> dict[str, Any]:
    """What `apart.load_phases` says of a sheet, or that it failed."""
    process = subprocess.run(
        command_of("benchmarks.apart.load_phases", str(path.resolve()), version=version),
        capture_output=True,
        text=True,
        cwd=version,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    if process.returncode:
        errors = process.stderr.strip().splitlines()[-1:] or ["it was killed"]
        return {"sheet": path.stem, "failed": errors[0]}
    return {"sheet": path.stem, **json.loads(process.stdout)}


def show_loading(rows: Sequence[dict[str, Any]]) -> None:
    """Print how long loading takes, the slowest sheets by phase, and what passes are worth."""
    good = [row for row in rows if "failed" not in row]
    for row in rows:
        if "failed" in row:
            print(f"{row['sheet']}: {row['failed']}")
    if not good:
        return
    print(_summary(row["cpu_s"] for row in good))
    good.sort(key=lambda row: -row["cpu_s"])
    titles = ["sheet", "#CPU s", *(f"#{phase}" for phase in (*PHASES, "layout")), "#literals"]
    table = [
        [
            row["sheet"],
            f"{row['cpu_s']:.2f}",
            *(f"{row['phases'].get(phase, 0.0):.2f}" for phase in (*PHASES, "layout")),
            f"{row['literals']:,}",
        ]
        for row in good[:SHOWN]
    ]
    print_rich(Table(titles, table))
    print_rich(Table(["pass", "#CPU s", "#literals saved", "#helped"], _passes(good)))


def _summary(seconds: Iterable[float]) -> str:
    values = sorted(seconds)
    slow = quantiles(values, n=10, method="inclusive")[-1] if len(values) > 1 else values[0]
    return (
        f"{len(values)} sheets, CPU seconds: median {median(values):.2f}, "
        f"90th percentile {slow:.2f}, worst {values[-1]:.2f}"
    )


def _passes(rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Seconds, literals saved and circuits made smaller, pass by pass in their order."""
    most: list[Any] = max((row["passes"] for row in rows), key=len, default=[])
    table = []
    for place, (name, _, _) in enumerate(most):
        ran = [row["passes"][place] for row in rows if len(row["passes"]) > place]
        saved = [literals for _, literals, _ in ran]
        table.append(
            [
                name,
                f"{sum(seconds for _, _, seconds in ran):.1f}",
                f"{sum(saved):,}",
                str(sum(literals > 0 for literals in saved)),
            ]
        )
    return table


@click.command()
@rulesheets_option
@against_option
@out_option
def main(rulesheets: Path | None, against: Path | None, out: Path | None) -> None:
    """Measure how long it takes from rules to a circuit that can be played."""
    versions = {"now": HOME} | ({"against": against.resolve()} if against else {})
    rows_by_version: dict[str, list[dict[str, Any]]] = {name: [] for name in versions}
    for path in sheets_of(rulesheets):
        for name, version in versions.items():
            with spinner(f"loading {path.stem}, {name}"):
                rows_by_version[name].append(measure_sheet(path, version))
        if out is not None:
            out.write_text(
                json.dumps({"system": describe_system(), **rows_by_version}, indent=1) + "\n"
            )
    for name, rows in rows_by_version.items():
        print(name)
        show_loading(rows)


if __name__ == "__main__":
    main()
