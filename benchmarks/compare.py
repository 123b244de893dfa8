"""`python -m benchmarks.compare BEFORE AFTER`: how two results differ, game by game."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import geometric_mean

import click

from ggp.console import print_json, print_rich
from ggp.report import Table


@click.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--backend", default="propnet", show_default=True, help="Whose speed to compare.")
@click.option("--decisions", is_flag=True, help="Compare first decisions, as decisions a second.")
@click.option(
    "--circuits", is_flag=True, help="Compare playouts of `python -m benchmarks.circuits`."
)
@click.option("--single", is_flag=True, help="Compare its single states, as steps a second.")
@click.option("--scale", is_flag=True, help="Compare playouts of a process with several threads.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    before: Path,
    after: Path,
    backend: str,
    decisions: bool,
    circuits: bool,
    single: bool,
    scale: bool,
    as_json: bool,
) -> None:
    """How many times as fast AFTER is as BEFORE: states a second, or, with `--decisions`, first
    decisions; and the geometric mean."""
    if scale:
        old, new = map(_scales, (before, after))
    elif circuits or single:
        old, new = (_circuits(p, single=single) for p in (before, after))
    else:
        old, new = (_decisions(p) if decisions else _speeds(p, backend) for p in (before, after))
    ratios = {game: new[game] / old[game] for game in old if game in new}
    if not ratios:
        raise click.UsageError(f"the two have no game in common on {backend}")
    mean = geometric_mean(ratios.values())
    if as_json:
        print_json({"ratios": ratios, "geometric_mean": mean})
        return
    rows = [
        [game, f"{old[game]:,.4g}", f"{new[game]:,.4g}", f"{r:.3f}"] for game, r in ratios.items()
    ]
    rows.append(["geometric mean", "", "", f"{mean:.3f}"])
    print_rich(Table(["game", "#before", "#after", "#ratio"], rows))


def _speeds(path: Path, backend: str) -> dict[str, float]:
    rows = json.loads(path.read_text()).get("speed", [])
    return {row["game"]: row[backend] for row in rows if backend in row}


def _decisions(path: Path) -> dict[str, float]:
    rows = json.loads(path.read_text()).get("decisions", [])
    return {row["game"]: 1 / row["seconds"] for row in rows}


def _scales(path: Path) -> dict[str, float]:
    rows = json.loads(path.read_text()).get("scale", [])
    return {row["game"]: row["states, threads"] for row in rows}


def _circuits(path: Path, *, single: bool) -> dict[str, float]:
    rows = json.loads(path.read_text()).get("circuits", [])
    if single:
        return {row["game"]: 1e6 / row["single_us"] for row in rows}
    return {row["game"]: row["states_per_s"] for row in rows}


if __name__ == "__main__":
    main()
