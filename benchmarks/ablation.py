"""`python -m benchmarks.ablation`: what passes, tricks and special circuits are worth.

python -m benchmarks.ablation --rulesheets FOLDER --out ablation.json
python -m benchmarks.ablation --rulesheets FOLDER --without reach --without phases+reach

One part at a time is left out, on every sheet that becomes a circuit, our games included; with and
without it take turns. A part pays if playouts or loading cost more without it: by 3 % in the
geometric mean, or by 15 % on some sheet. A run that is broken off goes on where it stopped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import click

from benchmarks.ablation_child import ALL, PARTS
from benchmarks.loading import sheets_of
from benchmarks.system import describe_system
from ggp.console import print_json, print_rich, spinner, table_of
from ggp.gdl import find_game, list_games

MEAN, SOME = 1.03, 1.15
"""A part pays if something costs so many times as much without it: in the mean, on some sheet."""

Row = dict[str, dict[str, float]]


def measure_sheet(path: Path, variants: Sequence[str], seconds: float, rounds: int) -> Row | None:
    """The row of a sheet, see `ablation_child.measure`; None if it cannot be measured."""
    numbers = (",".join(variants), str(seconds), str(rounds))
    command = [sys.executable, "-m", "benchmarks.ablation_child", str(path.resolve()), *numbers]
    done = subprocess.run(command, capture_output=True, text=True)
    found: Row | None = None if done.returncode else json.loads(done.stdout)
    return found


def costs(rows: Mapping[str, Row], variant: str) -> dict[str, dict[str, float]]:
    """`{"playouts" | "loading": {sheet: how many times as much it costs without}}`."""
    both = {sheet: (row[ALL], row[variant]) for sheet, row in rows.items() if variant in row}
    return {
        "playouts": {
            sheet: all_["states_per_s"] / without["states_per_s"]
            for sheet, (all_, without) in both.items()
        },
        "loading": {
            sheet: without["build_s"] / all_["build_s"] for sheet, (all_, without) in both.items()
        },
    }


def pays(found: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether leaving something out costs enough, by `costs`."""
    return any(
        geometric_mean(ratios.values()) >= MEAN or max(ratios.values()) >= SOME
        for ratios in found.values()
    )


def summary(rows: Mapping[str, Row], variant: str) -> dict[str, Any]:
    """What leaving something out costs, over all sheets."""
    found = costs(rows, variant)
    told: dict[str, Any] = {"without": variant, "sheets": len(found["playouts"])}
    for what, ratios in found.items():
        worst = max(ratios, key=lambda sheet: ratios[sheet])
        told[what] = geometric_mean(ratios.values())
        told[f"{what}_most"], told[f"{what}_where"] = ratios[worst], worst
    return told | {"pays": pays(found)}


@click.command()
@click.option(
    "--rulesheets",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with rulesheets, folders inside it included.",
)
@click.option("--without", multiple=True, help="Leave this out; parts joined with + together.")
@click.option("--seconds", default=0.3, show_default=True, help="Of playouts in a round.")
@click.option("--rounds", default=3, show_default=True, help="Of playouts; the median counts.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="JSON file to write.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    rulesheets: Path | None,
    without: tuple[str, ...],
    seconds: float,
    rounds: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Leave out one part of the fast backend at a time, and measure what that costs."""
    variants = without or PARTS
    if unknown := {part for each in variants for part in each.split("+")} - {*PARTS}:
        raise click.UsageError(f"there is no {', '.join(unknown)}; parts: {', '.join(PARTS)}")
    known = json.loads(out.read_text()) if out is not None and out.exists() else {}
    rows: dict[str, Row] = known.get("rows", {})
    for path in [*sheets_of(rulesheets), *map(find_game, list_games())]:
        name = f"{path.parent.name}/{path.stem}"
        if {*variants} <= {*rows.get(name, {})}:
            continue
        with spinner(f"{name} without {', '.join(variants)}"):
            row = measure_sheet(path, variants, seconds, rounds)
        if row is not None:
            rows[name] = row
        if out is not None:
            told = {"system": describe_system(), "rows": rows}
            out.write_text(json.dumps(told, indent=1) + "\n")
    if not rows:
        raise click.ClickException("there is no sheet that becomes a circuit")
    found = [summary(rows, each) for each in variants]
    if as_json:
        print_json({"rows": rows, "summary": found})
        return
    titles = [*("without", "#sheets", "#playouts cost", "#at most", "where"), "#loading costs"]
    table = [
        [
            each["without"],
            str(each["sheets"]),
            f"{each['playouts']:.3f}",
            f"{each['playouts_most']:.2f}",
            each["playouts_where"],
            f"{each['loading']:.3f}",
            f"{each['loading_most']:.2f}",
            each["loading_where"],
            "yes" if each["pays"] else "no",
        ]
        for each in found
    ]
    print_rich(table_of([*titles, "#at most", "where", "pays"], table))


if __name__ == "__main__":
    main()
