"""Play a season, and say what went wrong: exit code 0 if nothing did, else 1."""

from __future__ import annotations

import click
import numpy as np

from tests.controllers.controller import Result
from tests.controllers.season import AT_ONCE, faults_of, plans, season, served, sheets


@click.command()
@click.option("--matches", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--player", default="hyperplay2", show_default=True)
@click.option("--start-clock", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--play-clock", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--log", help="Folder for the server's logs.")
def main(matches: int, player: str, start_clock: int, play_clock: int, log: str | None) -> None:
    """Matches of a server with controllers that do not forgive."""
    planned = list(plans(sheets(), matches, (start_clock, play_clock)))

    def tell(result: Result) -> None:
        plan = result.plan
        click.echo(
            f"{plan.match:6} {plan.sheet.name:30} {plan.kind.value:13} {plan.renaming.value:23} "
            f"{plan.end.value:20} {result.moves:3} moves {sum(result.faults.values()):3} faults"
        )
        for line in result.said:
            click.echo(f"    {line}")

    options = ["--player", player, "--matches", str(AT_ONCE), *(("--log", log) if log else ())]
    with served(*options) as server:
        results = season(planned, server.port, tell)
    faults = faults_of(results)
    seconds = [second for result in results for second in result.seconds]
    click.echo(
        f"{len(results)} matches, {sum(r.moves for r in results)} moves; answers after "
        f"{np.median(seconds):.2f} s (median), {max(seconds):.2f} s at most; "
        + (", ".join(f"{number} {kind}" for kind, number in faults.items()) or "no faults")
    )
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
