"""States a second of random playouts on rulesheets that do not ground, on what plays them instead.

All backends that interpret rules play the same rulesheets, one after the other. They draw different
matches from the same seeds. The ratios are to Prolog, which is the reference.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.sheets import UNGROUNDED
from ggp.cli.bench import measure
from ggp.errors import ReasonerLimitError
from ggp.gdl.normalize import load
from ggp.machine import Machine, build_machine
from ggp.machine.build import BACKENDS

REFERENCE = "prolog"

INTERPRETERS = tuple(name for name in BACKENDS if name not in ("auto", "propnet"))
"""Backends that play a rulesheet without grounding it."""

OTHERS = ("chessAlex", "merrills", "sudoku", "laikLee_hex", "small_dominion")
"""Rulesheets by others of several kinds, measured where the folder has them."""


def measure_fallbacks(rulesheets: Path | None, seconds: float, rounds: int) -> list[dict[str, Any]]:
    """A row for each rulesheet that is there, see `measure_fallback`.

    Args:
        rulesheets: folder with rulesheets by others, searched with its folders; may be None.
        seconds: how long to play on one backend in one round.
        rounds: of which medians count.
    """
    paths = [*UNGROUNDED, *(_sheets_in(rulesheets) if rulesheets is not None else ())]
    return [measure_fallback(path, seconds, rounds) for path in paths]


def measure_fallback(path: Path, seconds: float, rounds: int) -> dict[str, Any]:
    """One row: states a CPU second on each backend, and the ratio of each to Prolog.

    Where a backend passes a limit, the row has nothing but an empty text for it.
    """
    program = load(str(path))
    speeds: dict[str, float] = {}
    machines = {name: build_machine(program, name, ready=True) for name in INTERPRETERS}
    for name, machine in machines.items():
        with suppress(ReasonerLimitError):
            speeds[name] = median(_speed(machine, seconds, seed) for seed in range(rounds))
        machine.close()
    row: dict[str, Any] = {"game": path.stem}
    row.update({name: round(speeds[name], 1) if name in speeds else "" for name in machines})
    for name in machines:
        if name != REFERENCE:
            has_ratio = name in speeds and REFERENCE in speeds
            ratio = round(speeds[name] / speeds[REFERENCE], 1) if has_ratio else ""
            row[f"{name}/{REFERENCE}"] = ratio
    return row


def _speed(machine: Machine, seconds: float, seed: int) -> float:
    """States a CPU second."""
    speed = measure(machine, seconds, np.random.default_rng(seed))
    return speed.states / speed.cpu_seconds


def _sheets_in(rulesheets: Path) -> list[Path]:
    """The rulesheets by others that are there; of several with one name, the first."""
    by_name = {path.stem: path for path in sorted(rulesheets.rglob("*.kif"), reverse=True)}
    return [by_name[name] for name in OTHERS if name in by_name]
