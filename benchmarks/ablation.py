"""`python -m benchmarks.ablation`: what passes, tricks and special circuits are worth.

python -m benchmarks.ablation --rulesheets FOLDER --out ablation.json
python -m benchmarks.ablation --rulesheets FOLDER --without reach --without phases+reach

One part at a time is left out (`apart.ablation_parts` lists them), on every sheet that becomes a
circuit, our games included; with and without it take turns. A part pays if playouts or loading cost
more without it: by 3 % in the geometric mean, or by 15 % on some sheet. A run that is broken off
goes on where it stopped.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import gettempdir
from typing import Any, NamedTuple

import click

from benchmarks.apart.ablation import ALL
from benchmarks.apart.ablation_parts import APART, KERNELS, PARTS
from benchmarks.loading import sheets_of
from benchmarks.options import out_option, rulesheets_option
from benchmarks.system import describe_system
from ggp.console import print_json, print_rich, spinner
from ggp.gdl import find_game, list_games
from ggp.report import Table

MEAN, SOME = 1.03, 1.15
"""A part pays if something costs so many times as much without it: in the mean, on some sheet."""

AGAINST = "against "
"""Prefix of the name of a complete variant that runs in turns with one in its own process."""

APART_S = 120
"""Wall seconds that a process may take in which something is left out apart; beyond, it counts as
never ending."""

Row = dict[str, dict[str, float]]


class Effort(NamedTuple):
    """How long to measure, see `apart.ablation.measure`."""

    seconds: float
    rounds: int
    builds: int


def measure_sheet(path: Path, variants: Sequence[str], effort: Effort) -> Row | None:
    """The row of a sheet: of each variant `{build_s, literals, states_per_s}`; None if there is no
    circuit."""
    in_process = [variant for variant in variants if APART.keys().isdisjoint(variant.split("+"))]
    row = measure_in_child(path, in_process, "", effort)
    if row is None:
        return None
    for variant in variants:
        if variant not in in_process:
            row |= _measured_apart(path, variant, effort)
    return row


def _measured_apart(path: Path, variant: str, effort: Effort) -> Row:
    """Rows with and without something, from processes in turns."""
    speeds: dict[str, list[dict[str, float]]] = {AGAINST + variant: [], variant: []}
    for _ in range(effort.rounds):
        for name, part in ((AGAINST + variant, ""), (variant, variant)):
            row = measure_in_child(path, [], part, effort._replace(rounds=1))
            speeds[name].append(_NEVER if row is None else row[ALL])
    return {
        name: {
            "build_s": min(row["build_s"] for row in rows),
            "literals": rows[0]["literals"],
            "states_per_s": median(row["states_per_s"] for row in rows),
        }
        for name, rows in speeds.items()
    }


_NEVER = {"build_s": math.inf, "literals": math.inf, "states_per_s": math.nan}


def measure_in_child(path: Path, variants: Sequence[str], part: str, effort: Effort) -> Row | None:
    """The row that the child prints; None if it fails or does not end."""
    numbers = (",".join(variants), part, *map(str, effort))
    command = [sys.executable, "-m", "benchmarks.apart.ablation", str(path.resolve()), *numbers]
    environment = dict(os.environ)
    if not KERNELS.keys().isdisjoint(part.split("+")):
        folder = "-".join(re.findall(r"\w+", part))
        environment["NUMBA_CACHE_DIR"] = f"{gettempdir()}/ggp-ablation/{folder}"
    limit_s = APART_S if part else None
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return None
    row: Row | None = None if process.returncode else json.loads(process.stdout)
    return row


def costs(rows: Mapping[str, Row], variant: str) -> dict[str, dict[str, float]]:
    """`{"playouts" | "loading": {sheet: how many times as much it costs without}}`."""
    pairs = {
        sheet: (row.get(AGAINST + variant, row[ALL]), row[variant])
        for sheet, row in rows.items()
        if variant in row
    }
    return {
        "playouts": {
            sheet: complete["states_per_s"] / without["states_per_s"]
            for sheet, (complete, without) in pairs.items()
            if without["states_per_s"] > 0  # not of what never ended
        },
        "loading": {
            sheet: without["build_s"] / complete["build_s"]
            for sheet, (complete, without) in pairs.items()
        },
    }


def pays(ratios_by_measure: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether leaving something out costs enough, by `costs`."""
    return any(
        geometric_mean(ratios.values()) >= MEAN or max(ratios.values()) >= SOME
        for ratios in ratios_by_measure.values()
        if ratios
    )


def summary(rows: Mapping[str, Row], variant: str) -> dict[str, Any]:
    """What leaving something out costs, over all sheets."""
    ratios_by_measure = costs(rows, variant)
    report: dict[str, Any] = {"without": variant, "sheets": len(ratios_by_measure["playouts"])}
    for measure, ratios in ratios_by_measure.items():
        ratios = ratios or {"": 1.0}
        worst = max(ratios, key=lambda sheet: ratios[sheet])
        report[measure] = geometric_mean(ratios.values())
        report[f"{measure}_most"], report[f"{measure}_where"] = ratios[worst], worst
    return report | {"pays": pays(ratios_by_measure)}


@click.command()
@rulesheets_option
@click.option("--without", multiple=True, help="Leave this out; parts joined with + together.")
@click.option("--only", multiple=True, help="Only this sheet, by its name.")
@click.option("--seconds", default=0.3, show_default=True, help="Of playouts in a round.")
@click.option("--rounds", default=3, show_default=True, help="Of playouts; the median counts.")
@click.option("--builds", default=2, show_default=True, help="Of a circuit; the quickest counts.")
@out_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    rulesheets: Path | None,
    without: tuple[str, ...],
    only: tuple[str, ...],
    seconds: float,
    rounds: int,
    builds: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Leave out one part of the fast backend at a time, and measure what that costs."""
    variants = without or PARTS
    if unknown := {part for variant in variants for part in variant.split("+")} - {*PARTS}:
        raise click.UsageError(f"there is no {', '.join(unknown)}; parts: {', '.join(PARTS)}")
    saved = json.loads(out.read_text()) if out is not None and out.exists() else {}
    rows: dict[str, Row] = saved.get("rows", {})
    for path in [*sheets_of(rulesheets), *map(find_game, list_games())]:
        name = f"{path.parent.name}/{path.stem}"
        if only and path.stem not in only:
            continue
        if {*variants} <= {*rows.get(name, {})}:
            continue
        with spinner(f"{name}, {len(variants)} variants"):
            row = measure_sheet(path, variants, Effort(seconds, rounds, builds))
        if row is not None:
            rows[name] = row
        if out is not None:
            report = {"system": describe_system(), "rows": rows}
            out.write_text(json.dumps(report, indent=1) + "\n")
    if not rows:
        raise click.ClickException("there is no sheet that becomes a circuit")
    summaries = [summary(rows, variant) for variant in variants]
    if as_json:
        print_json({"rows": rows, "summary": summaries})
        return
    titles = [*("without", "#sheets", "#playouts cost", "#at most", "where"), "#loading costs"]
    table = [
        [
            variant["without"],
            str(variant["sheets"]),
            f"{variant['playouts']:.3f}",
            f"{variant['playouts_most']:.2f}",
            variant["playouts_where"],
            f"{variant['loading']:.3f}",
            f"{variant['loading_most']:.2f}",
            variant["loading_where"],
            "yes" if variant["pays"] else "no",
        ]
        for variant in summaries
    ]
    print_rich(Table([*titles, "#at most", "where", "pays"], table))


if __name__ == "__main__":
    main()
