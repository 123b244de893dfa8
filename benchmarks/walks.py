"""The worth of a walk under a clock: `mcts` in turns against itself with as many walks, counted.

python -m benchmarks.walks breakthrough --seconds 0.12 --pairs 30

Each pair of matches has the same seed, and the clocked player has the other role. The counted one
gets the mean of the clocked one's last two decisions.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean
from typing import Any

import click
import numpy as np

from ggp.gdl.normalize import load
from ggp.machine import Machine, build_machine
from ggp.machine.base import player_roles
from ggp.players import Player, make_player, parse_spec
from ggp.search.anytime import Deadline
from ggp.search.trees.tree_search import TreeSearch

FIRST_WALKS = 1000
"""Walks of a counted player that decides before the clocked one has."""


def measure_walks(game: str, seconds: float, pairs: int, seed: int) -> Iterator[dict[str, Any]]:
    """A row for each match: goal value of the clocked player, and its mean walks a decision."""
    machine = build_machine(load(game), "propnet")
    roles = player_roles(machine)
    if len(roles) != 2 or machine.random_role is not None:
        raise click.ClickException(f"{game} is not played by two roles without chance")
    for match in range(2 * pairs):
        clocked = roles[match % 2]
        players: dict[int, Any] = {
            role: make_player(
                parse_spec("mcts"),
                machine,
                role,
                np.random.default_rng([seed, match // 2, role]),
                clock=time.process_time,
            )
            for role in roles
        }
        goals, walks = _play(machine, players, clocked, seconds)
        yield {"match": match, "points": float(goals[clocked]), "walks": fmean(walks or [0])}


def _play(
    machine: Machine, players: dict[int, Any], clocked: int, seconds: float
) -> tuple[list[float], list[int]]:
    """Goals of the roles, and walks of the clocked player in each decision that had any."""
    walks: list[int] = []
    state = machine.initial()
    with counted_walks() as sizes:
        while not machine.terminal(state)[0]:
            moves: list[str] = []
            for role, player in players.items():
                sizes[0] = 0
                if role == clocked:
                    until = Deadline(time.process_time() + seconds, time.process_time)
                    moves.append(player.choose(until).move)
                    walks += sizes[:1] if sizes[0] else []
                else:
                    trials = round(fmean(walks[-2:] or [FIRST_WALKS]))
                    player.options = dataclasses.replace(player.options, trials=trials)
                    moves.append(player.choose().move)
            ids = np.array([[machine.move_id(text) for text in moves]])
            state, percepts = machine.step(state, ids)
            if not machine.terminal(state)[0]:
                _tell(machine, players, moves, percepts)
    return [float(goal) for goal in machine.goals(state)[0]], walks


def _tell(machine: Machine, players: dict[int, Player], moves: list[str], percepts: Any) -> None:
    for (role, player), move in zip(players.items(), moves, strict=True):
        player.observe(move, machine.percept_texts(int(percepts[0, role])))


@contextmanager
def counted_walks() -> Iterator[list[int]]:
    """One number, to which walks that are sent inside are added."""
    sizes = [0]
    wave = TreeSearch._wave

    def counting(search: TreeSearch, size: int) -> None:
        wave(search, size)
        sizes[0] += size

    owner: Any = TreeSearch
    owner._wave = counting
    try:
        yield sizes
    finally:
        owner._wave = wave


@click.command()
@click.argument("game", default="breakthrough")
@click.option("--seconds", default=0.12, show_default=True, help="CPU time of a clocked decision.")
@click.option("--pairs", default=30, show_default=True, help="Half of the number of matches.")
@click.option("--seed", default=0, show_default=True)
def main(game: str, seconds: float, pairs: int, seed: int) -> None:
    """Play and print the clocked player's score so far."""
    points: list[float] = []
    for row in measure_walks(game, seconds, pairs, seed):
        points.append(row["points"])
        print(f"{row['match']} {row['points']:.0f} {row['walks']:,.0f} walks", flush=True)
    print(f"{fmean(points):.1f} points in {len(points)} matches", flush=True)


if __name__ == "__main__":
    main()
