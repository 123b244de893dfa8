"""States a second of random playouts, on both backends in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ggp.cli.bench import COMPARED, measure
from ggp.gdl.normalize import load
from ggp.machine import build_machine


@dataclass(frozen=True, slots=True)
class Game:
    """A game to measure.

    Attributes:
        name: of the game, or of the rulesheet by others in the folder given.
        plain_prolog: states a second of a plain compilation to SWI-Prolog with asserted state
            and playouts inside Prolog, one core at 2.5 GHz; None where nobody measured it.
    """

    name: str
    plain_prolog: int | None = None


GAMES = (
    Game("gdl1/ticTacToe.kif", 22_000),
    Game("gdl1/connectFour.kif", 13_000),
    Game("gdl1/breakthrough.kif", 4_600),
    Game("gdl2/montyhall.gdl", 28_000),
    Game("gdl2/kriegTTT_4x4.gdl", 11_000),
    Game("gdl2/blind_breakthrough_5x5.gdl", 3_000),
    Game("gdl2/transit.gdl", 44_000),
    Game("gdl2/mastermind.gdl", 4_500),
    Game("gdl2/vis_pacman3p.gdl", 7_400),
    Game("monty_hall"),
    Game("exploding_bomb"),
    Game("spy_vs_spy"),
    Game("tic_tac_toe"),
    Game("krieg_tic_tac_toe"),
    Game("kuhn_poker"),
)


def path_of(game: Game, rulesheets: Path | None) -> str | None:
    """What to load, None if the rulesheet is not there."""
    if "/" not in game.name:
        return game.name
    if rulesheets is None or not (rulesheets / game.name).exists():
        return None
    return str(rulesheets / game.name)


def measure_speed(
    game: Game, rulesheets: Path | None, seconds: float, rounds: int
) -> dict[str, Any] | None:
    """One row: medians of several rounds, in which the backends take turns.

    States a second by the wall clock; with `/CPU s`, by processor time.
    """
    path = path_of(game, rulesheets)
    if path is None:
        return None
    machines = {name: build_machine(load(path), name) for name in COMPARED}
    speeds: dict[str, list[float]] = {name: [] for name in COMPARED}
    cpu_speeds: dict[str, list[float]] = {name: [] for name in COMPARED}
    for seed in range(rounds):
        for name, machine in machines.items():
            speed = measure(machine, seconds, np.random.default_rng(seed))
            speeds[name].append(speed.states / speed.seconds)
            cpu_speeds[name].append(speed.states / speed.cpu_seconds)
    for machine in machines.values():
        machine.close()
    slow, fast = (median(speeds[name]) for name in COMPARED)
    row: dict[str, Any] = {"game": Path(game.name).stem}
    row.update({name: round(median(values)) for name, values in speeds.items()})
    row.update({f"{name}/CPU s": round(median(values)) for name, values in cpu_speeds.items()})
    row["ratio"] = round(fast / slow)
    row["to_plain_prolog"] = round(fast / game.plain_prolog) if game.plain_prolog else ""
    return row
