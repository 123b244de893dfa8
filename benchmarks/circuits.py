"""`python -m benchmarks.circuits`: how fast circuits of all sizes are, beside another version.

python -m benchmarks.circuits --rulesheets FOLDER --out now.json
python -m benchmarks.circuits --rulesheets FOLDER --against ../before

`--against` names the folder of another version, such as a worktree of git. Both take turns, game by
game and round by round, so that whatever else the machine does meets both; the least CPU time
counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.apart.circuit_speed import GENERATED
from benchmarks.children import HOME, Child
from benchmarks.options import against_option, out_option, rulesheets_option
from benchmarks.system import describe_system
from ggp.console import print_rich, spinner
from ggp.report import Table

GAMES = (
    *("exploding_bomb", "tic_tac_toe", "gdl2/montyhall.gdl", "gdl1/breakthrough.kif"),
    *("gdl2/mastermind.gdl", "gdl1/checkers.kif", "gdl1/speedChess.kif"),
    *("gdl2/sushi_go.kif", "gdl1/skirmishFinal1.kif", "gdl1/hex.kif", GENERATED),
)
"""Small to large."""


def path_of(game: str, rulesheets: Path | None) -> str | None:
    """The name or path of a game to load; None if the rulesheet is not there."""
    if "/" not in game:
        return game
    path = None if rulesheets is None else rulesheets / game
    return str(path) if path is not None and path.exists() else None


def _best(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each measure the best."""
    return {
        name: min(r[name] for r in rounds) if name == "single_us" else max(r[name] for r in rounds)
        for name in rounds[0]
    }


@click.command()
@rulesheets_option
@click.option("--game", "games", multiple=True, help="Measure only this; a name, path or file.")
@against_option
@click.option("--seconds", default=2.0, show_default=True, help="How long a round of a game is.")
@click.option("--rounds", default=3, show_default=True, help="How many; the best counts.")
@click.option("--grounding-seconds", default=600.0, show_default=True, help="To make circuits.")
@out_option
def main(
    rulesheets: Path | None,
    games: tuple[str, ...],
    against: Path | None,
    seconds: float,
    rounds: int,
    grounding_seconds: float,
    out: Path | None,
) -> None:
    """Measure playouts and single states, CPU time of one core."""
    rows = measure_circuits(rulesheets, games, against, seconds, rounds, grounding_seconds)
    show_circuits(rows)
    if out is not None:
        results: dict[str, Any] = {"system": describe_system(), "circuits": rows["now"]}
        if against is not None:
            results["circuits_before"] = rows["before"]
        out.write_text(json.dumps(results, indent=1) + "\n")


def measure_circuits(
    rulesheets: Path | None,
    games: Sequence[str] = (),
    against: Path | None = None,
    seconds: float = 2.0,
    rounds: int = 3,
    grounding_seconds: float = 600.0,
) -> dict[str, list[dict[str, Any]]]:
    """Rows of this version, `now`, and of another one, `before`; see the options of `main`."""
    versions = {"now": HOME} | ({} if against is None else {"before": against.resolve()})
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in versions}
    for game in games or GAMES:
        path = game if games else path_of(game, rulesheets)
        if path is None:
            continue
        with spinner(f"measuring {game}"):
            children = {
                name: Child(
                    "benchmarks.apart.circuit_speed",
                    path,
                    str(seconds),
                    str(grounding_seconds),
                    version=version,
                )
                for name, version in versions.items()
            }
            measured: dict[str, list[dict[str, Any]]] = {name: [] for name in versions}
            for seed in range(rounds):
                for name, child in children.items():
                    child.ask(str(seed))
                    measured[name].append(child.answer())
            for name, child in children.items():
                child.close()
                rows[name].append({"game": Path(game).stem} | _best(measured[name]))
    return rows


def show_circuits(rows_by_version: dict[str, list[dict[str, Any]]]) -> None:
    """Print them as a table."""
    titles = ["game", "#literals", "#states/s", "#literals/s", "#single, us"]
    rows = []
    earlier = rows_by_version.get("before", [])
    if earlier:
        titles += ["#before", "#ratio", "#single before", "#ratio"]
    for number, row in enumerate(rows_by_version["now"]):
        texts = [row["game"], f"{row['literals']:,}", f"{row['states_per_s']:,.0f}"]
        texts += [f"{row['literals_per_s']:.3g}", f"{row['single_us']:,.1f}"]
        if earlier:
            old = earlier[number]
            texts += [f"{old['states_per_s']:,.0f}"]
            texts += [f"{row['states_per_s'] / old['states_per_s']:.2f}"]
            texts += [f"{old['single_us']:,.1f}", f"{old['single_us'] / row['single_us']:.2f}"]
        rows.append(texts)
    print_rich(Table(titles, rows))


if __name__ == "__main__":
    main()
