"""The gain of a second processor: one process with several threads against several with one.

All build their machines and get ready. Then the processes with one thread measure at the same
time, and the other one alone, in turns: states a second of playout batches, simulations a second
of `hyperplay2` against a clock. All play the same seeds, so that decisions are alike.
"""

from __future__ import annotations

import os
import sys
import time
from statistics import median
from typing import Any

import numpy as np

from benchmarks.children import Child
from benchmarks.tables.decisions import player_at_first_decision
from ggp.gdl.normalize import load
from ggp.machine import Limits, Machine, build_machine
from ggp.players import Player
from ggp.players.hyperplay2 import HyperPlay2
from ggp.search.anytime import Deadline

GAMES = (
    "krieg_tic_tac_toe",
    "battleships_in_fog",
    "blind_breakthrough",
    "kriegspiel_king_rook",
    "mastermind",
    "phantom_connect_four",
)

LANES = 1 << 18
"""Of a playout batch."""

DECISIONS, CLOCK_S = 3, 1.0
"""How many are made in a round, and the time for each."""

MEASURES = ("states", "simulations")


def measure_scales(seconds: float, rounds: int) -> list[dict[str, Any]]:
    """A row for each game, with as many threads as processors; none if there is one processor."""
    threads = len(os.sched_getaffinity(0))
    return [measure_scale(game, threads, seconds, rounds) for game in GAMES if threads > 1]


def measure_scale(game: str, threads: int, seconds: float, rounds: int) -> dict[str, Any]:
    """One row: what a process with so many threads reaches as a share of so many processes.

    Args:
        seconds: how long to play batches.
        rounds: of which the medians are told.
    """
    separate = [Child(__name__, game, "1", str(seconds)) for _ in range(threads)]
    shared = [Child(__name__, game, str(threads), str(seconds))]
    row: dict[str, Any] = {"game": game}
    for unit in MEASURES:
        turns = [
            [_together(children, unit) for children in (separate, shared)] for _ in range(rounds)
        ]
        separately, together = (median(rates) for rates in zip(*turns, strict=True))
        row[f"{unit} a second, processes"] = round(separately, 1)
        row[f"{unit}, threads"] = round(together, 1)
        row[f"share of {unit}"] = round(together / separately, 3) if separately else None
    for child in (*separate, *shared):
        child.close()
    return row


def _together(children: list[Child], unit: str) -> float:
    """The sum of what children measure at the same time."""
    for child in children:
        child.ask(unit)
    return sum(float(child.answer()) for child in children)


def main(game: str, threads: str, seconds: str) -> None:
    """The loop of a child: say that it is ready; then measure on command, and print the rate."""
    machine = build_machine(load(game), "propnet", Limits(threads=int(threads)), ready=True)
    machine.playout(machine.initial(LANES), np.random.default_rng(0))
    _simulations(machine, 0)
    print(0, flush=True)
    for number, line in enumerate(sys.stdin):
        if line.strip() == MEASURES[0]:
            rate = _states(machine, float(seconds))
        else:
            rate = _simulations(machine, number)
        print(rate, flush=True)


def _states(machine: Machine, seconds: float) -> float:
    """States a second of batches of playouts."""
    states, rng = machine.initial(LANES), np.random.default_rng(0)
    visited, began_s = machine.states_visited, time.monotonic()
    while time.monotonic() - began_s < seconds:
        machine.playout(states, rng)
    return (machine.states_visited - visited) / (time.monotonic() - began_s)


def _simulations(machine: Machine, number: int) -> float:
    """Simulations a second of first decisions."""
    players = [
        player_at_first_decision(machine, "hyperplay2:n=4", number + seed)
        for seed in range(DECISIONS)
    ]
    began_s = time.monotonic()
    num_simulations = sum(map(_simulate, players))
    return num_simulations / (time.monotonic() - began_s)


def _simulate(player: Player) -> int:
    """Simulations that are made in the time of a decision."""
    assert isinstance(player, HyperPlay2)
    deadline = Deadline.after(CLOCK_S)
    values = player.values_of(player.search(player.tracker.bag, deadline), deadline)
    return int(values.visits.sum())
