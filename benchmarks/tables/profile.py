"""Where the time of random playouts goes, and how close they come to the limits of a core."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables.speed import Game, path_of
from ggp.cli.bench import measure
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.compiling.jit import kernel
from ggp.machine.compiling.vectors import WIDTH, aligned_words, band, store, words_of
from ggp.machine.compiling.vectors import load as load_vector
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.block_playouts import move_lanes, play
from ggp.machine.propnet.play.kernels.blocks import Block, PlayoutPlan, Queue, begin, new_block
from ggp.machine.propnet.play.kernels.tapes import U64, Tape
from ggp.machine.propnet.play.propnet_machine import PropnetMachine

LANES = 64 * words_of(WIDTH)


@kernel
def _ands(rows: U64, count: int, times: int, width: tuple[int, ...]) -> None:
    words = words_of(width)
    for _ in range(times):
        value = load_vector(rows, 0, width)
        for k in range(count):
            value = band(value, load_vector(rows, k * words, width))
        store(rows, 0, value)


def repeat_tape(tape: Tape, rows: U64, times: int, width: tuple[int, ...]) -> None:
    """Run the first part of a tape several times."""
    for _ in range(times):
        run_tape(tape, 0, rows, rows, width)


_repeat = kernel(repeat_tape)


@kernel
def _repeat_move(
    plan: PlayoutPlan, queue: Queue, block: Block, times: int, width: tuple[int, ...]
) -> None:
    for _ in range(times):
        move_lanes(plan, queue, block, 0, width)


@cache
def vector_limit() -> float:
    """Literals times lanes that one core can AND a second, from its nearest cache, in 1e9."""
    rows = aligned_words(64 * words_of(WIDTH))
    took = _seconds(lambda times: _ands(rows, 64, times, WIDTH))
    return round(64 * LANES / took / 1e9, 1)


def measure_profile(game: Game, rulesheets: Path | None, limit: float) -> dict[str, Any] | None:
    """One row: nanoseconds a state for each part of a step.

    `share_of_limit`: literals evaluated in playouts, times states a second, as a share of what
    the vector unit could AND (`vector_limit`).
    """
    path = path_of(game, rulesheets)
    if path is None:
        return None
    machine = build_machine(load(path), "propnet")
    assert isinstance(machine, PropnetMachine)
    plan = machine.playout_plan
    queue = machine.queue_of(machine.initial(LANES))
    block = new_block(plan, WIDTH)
    begin(block, (0, LANES), (1,))
    play(plan, queue, block, 1000, 1, WIDTH)
    look = _seconds(_evaluating(plan.look, block.rows))
    act = _seconds(_evaluating(plan.act, block.rows))
    moving = _seconds(lambda times: _repeat_move(plan, queue, block, times, WIDTH))
    speed = measure(machine, 1.0, np.random.default_rng(0))
    states_per_s = speed.states / speed.seconds
    literals = len(plan.look.inputs) + len(plan.act.inputs)
    nanoseconds = {"look": look, "act": act, "choose and move": max(moving - act, 0.0)}
    row: dict[str, Any] = {"game": Path(game.name).stem, "literals_per_step": literals}
    row.update({name: round(1e9 * took / LANES, 2) for name, took in nanoseconds.items()})
    total = 1e9 / states_per_s
    row["begin and end"] = round(max(total - sum(row[name] for name in nanoseconds), 0.0), 2)
    row["all"] = round(total, 2)
    row["share_of_limit"] = round(literals * states_per_s / (limit * 1e9), 3)
    return row


def _evaluating(tape: Tape, rows: NDArray[np.uint64]) -> Callable[[int], None]:
    return lambda times: _repeat(tape, rows, times, WIDTH)


def _seconds(run: Callable[[int], None]) -> float:
    """Seconds that one of many repetitions takes; the best of three."""
    run(1)
    times, took = 1, 0.0
    while took < 0.05:
        times *= 4
        started = time.perf_counter()
        run(times)
        took = time.perf_counter() - started
    best = took
    for _ in range(2):
        started = time.perf_counter()
        run(times)
        best = min(best, time.perf_counter() - started)
    return best / times
