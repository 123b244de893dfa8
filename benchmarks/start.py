"""How long it takes until a game can be played, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

GAME = "krieg_tic_tac_toe"

_PLAY = (
    "import time; started = time.perf_counter();"
    "import numpy as np; from ggp.gdl.normalize import load; from ggp.machine import build_machine;"
    f"m = build_machine(load({GAME!r}), 'propnet');"
    "m.step(m.initial(), np.array([[m.legal(m.initial(), r).values[0] for r in range(2)]]));"
    "m.playout(m.initial(100), np.random.default_rng(0));"
    "print(time.perf_counter() - started)"
)
_IMPORT = (
    "import time; started = time.perf_counter(); import ggp; print(time.perf_counter() - started)"
)


def measure_start() -> dict[str, Any]:
    """Seconds to import the package, and to the end of the first playouts of a game."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = {
            **os.environ,
            "NUMBA_CACHE_DIR": os.path.join(folder, "kernels"),
            "GGP_CACHE_DIR": os.path.join(folder, "circuits"),
        }
        first = _seconds(_PLAY, fresh)
        kernels = {**fresh, "GGP_CACHE_DIR": os.path.join(folder, "others")}
        new_game = _seconds(_PLAY, kernels)
        cached = min(_seconds(_PLAY, fresh) for _ in range(3))
    return {
        "import_s": round(min(_seconds(_IMPORT, dict(os.environ)) for _ in range(3)), 3),
        "first_ever_s": round(first, 2),
        "new_game_s": round(new_game, 2),
        "cached_game_s": round(cached, 2),
    }


def _seconds(code: str, environment: dict[str, str]) -> float:
    """Wall time of a process, the start of Python included."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    return time.perf_counter() - started
