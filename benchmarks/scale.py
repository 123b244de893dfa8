"""What a second processor brings: one process with several threads against as many with one each.

Each is a process of its own, which builds its machine, gets ready and waits until all are. Then all
measure at the same time: states a second of playout batches, simulations a second of decisions of
`hyperplay2` against a clock. The same seeds are played, so that decisions are alike.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.decisions import player_at_first_decision
from ggp.gdl.normalize import load
from ggp.machine import Limits, build_machine
from ggp.players import Player
from ggp.players.hyperplay2 import HyperPlay2
from ggp.search.anytime import Deadline

GAMES = (
    "krieg_tic_tac_toe",
    "battleships_in_fog",
    "blind_breakthrough",
    "kriegspiel_king_rook",
    "mastermind",
    "kriegspiel_5x5",
)

LANES = 1 << 18
"""Of a playout batch."""

DECISIONS, CLOCK_S = 5, 2.0
"""How many are made, and the time for each."""


def measure_scale(game: str, threads: int, seconds: float) -> dict[str, Any]:
    """One row: what a process with so many threads reaches as a share of so many processes.

    Args:
        seconds: how long to play batches.
    """
    apart = _together(game, 1, threads, seconds)
    (shared,) = _together(game, threads, 1, seconds)
    row: dict[str, Any] = {"game": game}
    for what in ("states", "simulations"):
        alone = sum(each[what] for each in apart)
        row[f"{what} a second, processes"] = round(alone, 1)
        row[f"{what}, threads"] = round(shared[what], 1)
        row[f"share of {what}"] = round(shared[what] / alone, 3)
    return row


def _together(game: str, threads: int, processes: int, seconds: float) -> list[dict[str, float]]:
    """What processes measure that do it at the same time."""
    command = [sys.executable, "-m", "benchmarks.scale", game, str(threads), str(seconds)]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    pipes = [(child.stdin, child.stdout) for child in children]
    found: list[dict[str, float]] = [{} for _ in children]
    for _ in range(2):
        for _, answers in pipes:
            assert answers is not None
            answers.readline()  # it is ready
        for orders, _ in pipes:
            assert orders is not None
            orders.write("go\n")
            orders.flush()
        for each, (_, answers) in zip(found, pipes, strict=True):
            assert answers is not None
            each.update(json.loads(answers.readline()))
    for child in children:
        child.communicate()
    return found


def _measure(game: str, threads: int, seconds: float) -> None:
    """What a child does: say when it is ready, measure, say what it found; twice."""
    machine = build_machine(load(game), "propnet", Limits(threads=threads), ready=True)
    states = machine.initial(LANES)
    machine.playout(states, np.random.default_rng(0))
    _wait()
    rng, visited, began_s = np.random.default_rng(0), machine.states_visited, time.monotonic()
    while time.monotonic() - began_s < seconds:
        machine.playout(states, rng)
    took_s = time.monotonic() - began_s
    print(json.dumps({"states": (machine.states_visited - visited) / took_s}), flush=True)
    players = [player_at_first_decision(machine, 4, seed) for seed in range(1 + DECISIONS)]
    _simulate(players.pop())
    _wait()
    began_s = time.monotonic()
    made = sum(map(_simulate, players))
    took_s = time.monotonic() - began_s
    print(json.dumps({"simulations": made / took_s}), flush=True)


def _simulate(player: Player) -> int:
    """Simulations that are made in the time of a decision."""
    assert isinstance(player, HyperPlay2)
    deadline = Deadline(time.monotonic() + CLOCK_S, time.monotonic)
    found = player.values_of(player.search(player.tracker.bag, deadline), deadline)
    return int(found.visits.sum())


def _wait() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    _measure(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
