"""`match-runner picture`: turns of a recorded match as pictures."""

from __future__ import annotations

from pathlib import Path

import click

from ggp.cli.arguments import FilePath, json_option, verbose_option
from ggp.console import example, print_json
from ggp.errors import ConfigError


@click.command(epilog=example("match-runner picture records/*.json --turn 1 --out board.svg"))
@click.argument("record", type=FilePath())
@click.option(
    "--turn",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw the state after turn N; 0 is the beginning.  [default: the last turn]",
)
@click.option("--all", "every", is_flag=True, help="Draw all turns, a file each.")
@click.option(
    "--out",
    type=FilePath(),
    metavar="FILE",
    required=True,
    help="Where to write it; its ending says in which format: .svg, .png or .pdf. With --all the "
    "number of the turn is added to the name.",
)
@json_option
@verbose_option
def picture(record: Path, turn: int | None, every: bool, out: Path, as_json: bool) -> None:
    """Draw the board of a recorded match after a turn, with its moves in words.

    The moves are played again by the rules in the record, which checks it too.
    """
    from match_runner.charts import check_ending
    from match_runner.match.frames import frames_of
    from match_runner.match.records import read_record
    from match_runner.pictures.side_file import side_file_for
    from match_runner.pictures.stills import still

    check_ending(out)
    if every and turn is not None:
        raise ConfigError("--all draws every turn: leave out --turn, or --all")
    played = read_record(record)
    last = len(played.turns)
    if turn is not None and turn > last:
        raise ConfigError(f"--turn {turn}: {record} has the turns 0 to {last}")
    wanted = range(last + 1) if every else [last if turn is None else turn]
    written = []
    digits = len(str(last))
    for number, frame in enumerate(frames_of(played, side_file_for(played.game, played.rules))):
        if number in wanted:
            numbered = out.with_stem(f"{out.stem}-{number:0{digits}}")
            path = numbered if every else out
            still(frame).save(path)
            written.append(str(path))
    if as_json:
        print_json(written)
    else:
        click.echo("\n".join(written))
