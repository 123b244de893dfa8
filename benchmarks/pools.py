"""When pools of AOSP die on recorded paths, and how many boards agree by then.

A played series with the player `aosp` comes in, such as a cell of `match-runner reproduce
kriegspiel`. Pools of several limits follow the path of that player in every match, move by move; a
table says when they lost their last board. The size of the whole set is the largest pool's
estimate: a small pool that is about to die takes the set for small too.

    python -m benchmarks.pools runs/kriegspiel/matches/kriegspiel/kriegspiel/hundredth/aosp-random
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from ggp.belief import PathTree, SamplerSettings, make_sampler
from ggp.console import bar_of
from ggp.machine import Machine, build_machine
from ggp.report import Table
from match_runner.match.records import rules_of
from match_runner.series.holding import read_series
from match_runner.series.outcomes import Played

LIMITS = (200, 1_000, 20_000)
"""Limits of pools: a hundredth and a twentieth of the paper's, and the paper's."""


@click.command(help=__doc__.partition("\n")[0])
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--matches", type=click.IntRange(min=1), default=10, show_default=True)
def main(folder: Path, matches: int) -> None:
    played = read_series(folder).matches[:matches]
    machine = build_machine(rules_of(played[0].record))
    ends: dict[int, list[tuple[int, float]]] = {limit: [] for limit in LIMITS}
    with bar_of(len(played), "following") as advance:
        for match in played:
            sizes = {limit: list(digits_of(machine, match, limit)) for limit in LIMITS}
            whole = sizes[max(LIMITS)]
            for limit, digits in sizes.items():
                if digits[-1] is None:
                    turn = digits.index(None)
                    ends[limit].append((turn, whole[min(turn, len(whole) - 1) - 1] or 0.0))
            advance()
    rows = []
    for limit, dead in ends.items():
        medians = [f"{number:.1f}" for number in np.median(dead, axis=0)] if dead else ["", ""]
        rows.append((f"{limit:,}", str(len(played)), str(len(dead)), *medians))
    click.echo(
        Table(("#pool", "#games", "#dead in", "#after turns", "#log10 of the set"), rows).csv()
    )


def digits_of(machine: Machine, match: Played, limit: int) -> Iterator[float | None]:
    """Digits of the estimated size of the whole set after each turn; None, at the end, if the pool
    is dead."""
    (role,) = (role for role, player in match.planned.seating.items() if player == 0)
    settings = SamplerSettings(exact=0, pool=limit)
    sampler = make_sampler("aosp", machine, PathTree(machine), settings, capacity=1)
    bags, rng = sampler.start(machine.roles.index(role)), np.random.default_rng(0)
    for turn in match.record.turns[:-1]:
        move = machine.move_id(turn.joint_move[role])
        seen = machine.percept_id(turn.percepts[role])
        bags = sampler.advance(bags, np.array([move]), np.array([seen]), rng)
        if bags.depleted[0]:
            yield None
            return
        yield math.log10(max(float(bags.sets.sizes[bags.segment[0]]), 1.0))


if __name__ == "__main__":
    main()
