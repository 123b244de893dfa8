"""`python -m benchmarks.positions`: which of a hundred proven positions players get wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.positions.answers import Answer, ask, lost, to_json, wrong
from benchmarks.positions.boards import BOARDS
from benchmarks.positions.position_set import Puzzle, read_puzzles
from ggp.cli.arguments import FiniteRange
from ggp.console import bar_of, guarded, print_json, print_rich
from ggp.report import Table


@click.command()
@click.option("--player", "players", multiple=True, metavar="SPEC", help="Ask this player.")
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    help="For each answer; without it the counts of the player decide.",
)
@click.option("--seed", default=0, show_default=True, help="Of the players.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the wrong answers.")
@click.option(
    "--histories",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write each position as a file for `ggp evaluate --history` instead.",
)
@guarded
def main(
    players: tuple[str, ...],
    seconds: float | None,
    seed: int,
    as_json: bool,
    histories: Path | None,
) -> None:
    """Ask players for their moves in positions whose answers are proven by exhaustive search."""
    puzzles = read_puzzles()
    if histories is not None:
        _write(puzzles, histories)
        return
    if not players:
        raise click.UsageError("give --player SPEC, or --histories FOLDER")
    answers_of: dict[str, list[Answer]] = {}
    for player in dict.fromkeys(players):
        with bar_of(len(puzzles), f"asking {player}") as advance:
            answers_of[player] = ask(puzzles, player, seconds, seed, advance)
    if as_json:
        by_player = {player: to_json(answers) for player, answers in answers_of.items()}
        print_json({"seconds": seconds, "seed": seed, "players": by_player})
        return
    _show(answers_of)


def _show(answers_of: dict[str, list[Answer]]) -> None:
    rows = [
        [
            player,
            *(f"{sum(a.lost > 0 for a in part)} of {len(part)}" for part in _parts(answers)),
            format(wrong(answers).percent, ".1f"),
            format(lost(answers), ".1f"),
        ]
        for player, answers in answers_of.items()
    ]
    kinds = [f"#{game}" for game in BOARDS]
    titles = ["player", *kinds, "#misleading", "#% wrong [99 %]", "#points lost [99 %]"]
    print_rich(Table(titles, rows))


def _parts(answers: Sequence[Answer]) -> list[list[Answer]]:
    """The answers of each game, then the answers to positions that mislead random play."""
    games = [[a for a in answers if a.puzzle.game == game] for game in BOARDS]
    return [*games, [a for a in answers if a.puzzle.misleading]]


def _write(puzzles: Sequence[Puzzle], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for puzzle in puzzles:
        path = folder / f"{puzzle.name}-{puzzle.role}.json"
        path.write_text(json.dumps(puzzle.history()) + "\n", encoding="utf-8")
    click.echo(f"{len(puzzles)} files in {folder}")


if __name__ == "__main__":
    main()
