"""HyperPlay-II's first move in krieg_tic_tac_toe, on both backends."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ggp.cli.bench import COMPARED
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.players import make_player, parse_spec

GAME, ROLE = "krieg_tic_tac_toe", "xplayer"


def measure_evaluation(size: int) -> dict[str, Any]:
    """Seconds for one decision of `hyperplay2:n=size` without a clock, and how values differ.

    `largest_difference` is that of the values of a move, in standard errors of the difference.
    """
    seconds, values, states = {}, {}, {}
    for backend in reversed(COMPARED):
        machine = build_machine(load(GAME), backend)
        for seed in (0, 1):  # the first time also compiles and loads
            rng = np.random.default_rng(seed)
            player = make_player(
                parse_spec(f"hyperplay2:n={size}"), machine, machine.roles.index(ROLE), rng
            )
            visited, started = machine.states_visited, time.perf_counter()
            decision = player.choose(value_forced=True)
            seconds[backend] = time.perf_counter() - started
            states[backend] = machine.states_visited - visited
            values[backend] = {v.move: (v.value or 0.0, v.stderr or 0.0) for v in decision.values}
            if backend == "prolog":
                break
    slow, fast = COMPARED
    differences = [
        abs(values[fast][move][0] - value) / max(np.hypot(values[fast][move][1], error), 1e-9)
        for move, (value, error) in values[slow].items()
    ]
    return {
        "player": f"hyperplay2:n={size}",
        "prolog_s": round(seconds[slow], 2),
        "propnet_s": round(seconds[fast], 4),
        "ratio": round(seconds[slow] / seconds[fast]),
        "states": states[fast],
        "largest_difference": round(float(max(differences)), 2),
    }
