"""Decisions of self-play that policies learn from, a CPU second: played, judged and learnt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from ggp.labs.learning.env import make
from ggp.labs.learning.selfplay import Learner

GAMES = ("krieg_tic_tac_toe", "phantom_connect_four", "leduc_poker")
LANES = 4096
WARMING = 2
"""Updates that are not counted: the first compile, and matches have just begun."""


def measure_learning(
    seconds: float, rounds: int, games: Sequence[str] = GAMES, lanes: int = LANES
) -> list[dict[str, Any]]:
    """Rows: the game, lanes, updates, decisions learnt from, and how many a CPU second.

    All is counted from the first turn to the last gradient, with usual settings: each decision goes
    forward through the net when it is made, and forward and backward when it is learnt from.

    Args:
        seconds: CPU time after which no other update of a game is begun.
        rounds: least number of updates; their median counts.
    """
    return [_row(game, lanes, seconds, rounds) for game in games]


def _row(game: str, lanes: int, seconds: float, rounds: int) -> dict[str, Any]:
    learner = Learner(make(game, lanes=lanes, paths=False), seed=1)
    learner.learn(updates=WARMING)
    rates: list[float] = []
    decided, total = learner.decisions, 0.0
    while len(rates) < rounds or total < seconds:
        began, decided_before = time.process_time(), learner.decisions
        learner.learn(updates=1)
        took = time.process_time() - began
        rates.append((learner.decisions - decided_before) / took)
        total += took
    return {
        "game": game,
        "lanes": lanes,
        "updates": len(rates),
        "decisions": learner.decisions - decided,
        "per_cpu_second": median(rates),
    }
