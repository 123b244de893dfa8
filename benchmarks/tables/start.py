"""The cost of a start until a game can be played, in separate processes.

CPU seconds (user and system, children included), the start of Python too: how long people wait
also depends on what else the computer does.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from typing import Any

GAME = "krieg_tic_tac_toe"
ROUNDS = 5

_EVALUATE = (
    *("-m", "ggp", "evaluate", "kuhn_poker"),
    *("--role", "player1", "--player", "hyperplay2:n=8"),
)
PLAYERS = ("--player", "xplayer=random", "--player", "oplayer=random")
COMMANDS = {
    "import numpy": ("-c", "import numpy"),
    "import numba": ("-c", "import numba"),
    "import ggp": ("-c", "import ggp"),
    "ggp --help": ("-m", "ggp", "--help"),
    "match-runner --help": ("-m", "match_runner", "--help"),
    "ggp info": ("-m", "ggp", "info", GAME),
    "ggp evaluate": _EVALUATE,
    "match-runner play": ("-m", "match_runner", "play", GAME, *PLAYERS),
}
"""The commands that are measured when everything is compiled and cached."""


def measure_start() -> list[dict[str, Any]]:
    """CPU seconds of commands, the best of some rounds."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, kernels, circuits in (
            ("first use ever", "kernels {}", "circuits {}"),
            ("a game never seen", "kernels 0", "others {}"),
        ):
            tries = [
                _cpu_seconds(
                    _EVALUATE,
                    NUMBA_CACHE_DIR=os.path.join(folder, kernels.format(number)),
                    GGP_CACHE_DIR=os.path.join(folder, circuits.format(number)),
                )
                for number in range(ROUNDS)
            ]
            rows.append({"what": f"ggp evaluate, {name}", "cpu_s": round(min(tries), 2)})
    for name, command in COMMANDS.items():
        # One more: the first may have to compile.
        best = min(_cpu_seconds(command) for _ in range(1 + ROUNDS))
        rows.append({"what": name, "cpu_s": round(best, 3)})
    return rows


def _cpu_seconds(command: tuple[str, ...], **environment: str) -> float:
    earlier_s = _children_s()
    subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )
    return _children_s() - earlier_s


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
