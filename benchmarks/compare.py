"""`python -m benchmarks.compare BEFORE AFTER`: how two results differ, game by game."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import click

from ggp.console import print_json, print_rich
from ggp.report import Table

MEASURES: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], float]]] = {
    "decisions": ("decisions", lambda row: 1 / row["seconds"]),
    "circuits": ("circuits", lambda row: row["states_per_s"]),
    "single": ("circuits", lambda row: 1e6 / row["single_us"]),
    "scale": ("scale", lambda row: row["states, threads"]),
    "env": ("env", lambda row: row["steps/CPU s"]),
}
"""By option: the part of a result, and the speed in a row of it."""


def name_of(row: Mapping[str, Any]) -> str:
    """What a row is about: its game, and its player, lanes and threads if it has any."""
    return " ".join(str(row[key]) for key in ("game", "player", "lanes", "threads") if key in row)


@click.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--decisions", "measure", flag_value="decisions", help="First decisions, decisions a second."
)
@click.option(
    "--circuits",
    "measure",
    flag_value="circuits",
    default=True,
    help="Playouts of `benchmarks.circuits`, states a second; the default.",
)
@click.option("--single", "measure", flag_value="single", help="Its single states, steps a second.")
@click.option("--scale", "measure", flag_value="scale", help="Playouts with several threads.")
@click.option("--env", "measure", flag_value="env", help="Steps of environments.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(before: Path, after: Path, measure: str, as_json: bool) -> None:
    """How many times as fast AFTER is as BEFORE, game by game, and the geometric mean."""
    part, speed = MEASURES[measure]
    old, new = (
        {name_of(row): speed(row) for row in json.loads(path.read_text()).get(part, [])}
        for path in (before, after)
    )
    ratios = {game: new[game] / old[game] for game in old if old[game] and new.get(game)}
    if not ratios:
        raise click.UsageError(f"the two have no game in common in {part}")
    mean = geometric_mean(ratios.values())
    if as_json:
        print_json({"ratios": ratios, "geometric_mean": mean})
        return
    rows = [
        [game, f"{old[game]:,.4g}", f"{new[game]:,.4g}", f"{r:.3f}"] for game, r in ratios.items()
    ]
    rows.append(["geometric mean", "", "", f"{mean:.3f}"])
    print_rich(Table(["game", "#before", "#after", "#ratio"], rows))


if __name__ == "__main__":
    main()
