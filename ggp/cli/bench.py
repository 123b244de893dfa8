"""`ggp bench`: the speed of a machine in random playouts, once it is at full speed.

Before the measurement, batches of ever longer playouts load all machine code. Only full batches are
measured. If playouts run side by side, a batch is so large that the last ones hardly matter; if
they run one by one, a batch takes a fixed share of the time. A batch that has begun is finished,
and the first is played however long it takes, so the speed does not depend on the requested
seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np

from ggp.cli.arguments import GameOptions, amount_option, game_command, threads_option
from ggp.console import spinner
from ggp.machine import Machine
from ggp.machine.on_circuit import on_circuit
from ggp.report import Report, Table

COMPARED = ("prolog", "propnet")
"""Backends that `--compare` measures; the reference comes first."""

MAX_STEPS = 1000
"""Joint moves after which a playout is cut off."""

BLOCKS_A_BATCH = 16
"""Blocks in a full batch on a machine that plays side by side: with fewer, the wait for the longest
playout would distort the speed."""

_RAMP_SHARE = 0.1
_RAMP_FACTOR = 8
"""In the ramp-up, playouts grow by this factor until two batches have taken this share of the
time."""

_BATCH_SHARE = 0.1
"""Share of the time that a batch takes if playouts run one by one."""

_MIN_S = 1e-9
"""Shorter times cannot be distinguished from zero."""


@game_command("ggp bench tic_tac_toe --seconds 1")
@amount_option(
    "--seconds",
    default=5.0,
    help="Time to measure, after the ramp-up; a batch that has begun is finished.",
)
@click.option("--compare", is_flag=True, help="Measure both backends, and print the ratio.")
@threads_option()
def bench(options: GameOptions, seconds: float, compare: bool, threads: int | None) -> None:
    """Measure random playouts from the initial state, at full speed.

    Speeds are per second of wall time and of CPU time of all threads together, which other programs
    disturb less.
    """
    options = replace(options, limits=replace(options.limits, threads=threads or 1))
    if not compare:
        values = _measure_backend(options, seconds)
        options.show(Report(values, _parts([values], seconds)))
        return
    rows = [_measure_backend(replace(options, backend=name), seconds) for name in COMPARED]
    slow, fast = (row["states_per_s"] for row in rows)
    ratio = round(fast / slow, 2) if slow else None
    slower, faster = COMPARED
    end = (
        f"{slower} made no move, so there is nothing to compare"
        if ratio is None
        else f"{faster} visits {ratio:,} times as many states per second as {slower}"
    )
    values = {"game": options.game, "results": rows, "ratio": ratio}
    options.show(Report(values, [*_parts(rows, seconds), end]))


def _measure_backend(options: GameOptions, seconds: float) -> dict[str, Any]:
    """The measurements of one backend, as a row of the table."""
    opened = options.open()
    rng = np.random.default_rng(options.seed)
    with spinner(f"playing on {opened.machine.backend} for {seconds:g} s"):
        speed = measure(opened.machine, seconds, rng, options.limits.threads)
    opened.machine.close()
    return {
        "backend": opened.machine.backend,
        "build_s": round(opened.build_s, 4),
        "playouts": speed.playouts,
        "states_per_s": round(speed.states / speed.seconds, 1),
        "playouts_per_s": round(speed.playouts / speed.seconds, 3),
        "finished": round(speed.finished / speed.playouts, 4),
        "seconds": round(speed.seconds, 4),
        "cpu_seconds": round(speed.cpu_seconds, 4),
        "states_per_cpu_s": round(speed.states / max(speed.cpu_seconds, _MIN_S), 1),
        "batches": speed.batches,
    }


_WORDS = {
    "build_s": "seconds to build it",
    "states_per_s": "states a second",
    "playouts_per_s": "playouts a second",
    "finished": "share that ended",
    "cpu_seconds": "CPU seconds",
    "states_per_cpu_s": "states a CPU second",
}
"""What the table calls a measurement, if not by its name."""


def _parts(rows: list[dict[str, Any]], seconds: float) -> Iterator[Table | str]:
    measured = [name for name in rows[0] if name != "backend"]
    yield Table(
        ("", *(f"#{row['backend']}" for row in rows)),
        [(_WORDS.get(name, name), *(f"{row[name]:,}" for row in rows)) for name in measured],
    )
    for row in rows:
        if row["batches"] == 1 and row["seconds"] > seconds:
            yield (
                f"on {row['backend']} a full batch does not fit into {seconds:g} s: "
                f"one took {row['seconds']:.3g} s"
            )


@dataclass(frozen=True, slots=True)
class Speed:
    """The measurements, without the ramp-up.

    Attributes:
        playouts: started from the initial state.
        finished: playouts that reached a terminal state; the others were cut off.
        states: joint moves made in all playouts.
        seconds: wall time.
        cpu_seconds: CPU time of this process, all threads together.
        batches: number of full batches, at least one.
    """

    playouts: int
    finished: int
    states: int
    seconds: float
    cpu_seconds: float
    batches: int


def measure(
    machine: Machine,
    seconds: float,
    rng: np.random.Generator,
    threads: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    cpu_clock: Callable[[], float] = time.process_time,
) -> Speed:
    """Play full batches of random playouts for about this long, and at least one.

    Args:
        seconds: time to measure; the batch that ends nearest to it is the last.
        threads: number of threads of the machine.
    """
    full = _full_batch(machine, threads)
    _ramp_up(machine, seconds, rng, full or 1, clock)
    playouts = finished = states = batches = 0
    started, cpu_started = clock(), cpu_clock()
    spent = 0.0
    while not batches or seconds - spent > spent / batches / 2:
        lanes = full
        if lanes is None:
            target = _BATCH_SHARE * seconds * playouts / spent if playouts else 1.0
            lanes = max(1, int(target))
        batch = machine.playout(machine.initial(lanes), rng, MAX_STEPS)
        playouts += lanes
        finished += int(batch.finished.sum())
        states += int(batch.steps.sum())
        batches += 1
        spent = max(clock() - started, _MIN_S)
    return Speed(playouts, finished, states, spent, cpu_clock() - cpu_started, batches)


def _full_batch(machine: Machine, threads: int) -> int | None:
    """Lanes of a full batch; None if playouts run one by one."""
    if not on_circuit(machine):
        return None
    return BLOCKS_A_BATCH * machine.side_by_side * threads


def _ramp_up(
    machine: Machine,
    seconds: float,
    rng: np.random.Generator,
    lanes: int,
    clock: Callable[[], float],
) -> None:
    """Play ever longer playouts until batches spend their time on playing, not on loading code."""
    max_steps = 1
    slow = 0
    while slow < 2 and max_steps < _RAMP_FACTOR * MAX_STEPS:
        started = clock()
        machine.playout(machine.initial(lanes), rng, min(max_steps, MAX_STEPS))
        if clock() - started > _RAMP_SHARE * seconds:
            slow += 1
        else:
            max_steps *= _RAMP_FACTOR
