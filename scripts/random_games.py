"""Plays a game at random on the fast backend: how it ends, and how many games a CPU second.

    python scripts/random_games.py kriegspiel --games 10000

Prints how often each joint score occurs, with 95 % intervals, the joint moves of a game, and games
and joint moves a CPU second of one core, without the time that starting takes. In kriegspiel a
joint move is a try.
"""

from __future__ import annotations

import time
from collections import Counter

import click
import numpy as np
from scipy.stats import binomtest

from ggp.console import guarded, print_rich
from ggp.errors import MachineError
from ggp.gdl.normalize import load
from ggp.machine import Limits, build_machine
from ggp.report import Table

_LIMITS = Limits(grounding_seconds=120)


@click.command()
@click.argument("game")
@click.option("--games", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
def main(game: str, games: int, seed: int) -> None:
    """Play GAME at random, and show how it ends and how fast that was."""
    machine = build_machine(load(game), "propnet", _LIMITS, ready=True)
    started = time.process_time()
    played = machine.playout(machine.initial(games), np.random.default_rng(seed))
    took = time.process_time() - started
    if not played.finished.all():
        raise MachineError(f"{int((~played.finished).sum())} games of {game} did not end")
    counts = Counter(map(tuple, played.goals.astype(int).tolist()))
    rows = []
    for scores, count in sorted(counts.items(), reverse=True):
        low, high = binomtest(count, games).proportion_ci(method="wilson")
        share = f"{100 * count / games:.2f} ({100 * low:.2f} to {100 * high:.2f})"
        rows.append([*map(str, scores), f"{count:,}", share])
    print_rich(Table([*(f"#{role}" for role in machine.roles), "#games", "#%"], rows))
    steps = played.steps
    click.echo(f"joint moves a game: mean {steps.mean():.1f}, {steps.min()} to {steps.max()}")
    click.echo(
        f"{took:.2f} CPU s: {games / took:,.0f} games, {steps.sum() / took:,.0f} joint moves"
    )
    machine.close()


if __name__ == "__main__":
    guarded(main)()
