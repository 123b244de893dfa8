"""`ggp bench`: how fast a machine plays at random."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    FiniteRange,
    backend_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    threads_option,
    verbose_option,
)
from ggp.console import print_json, print_rich, spinner, table_of

if TYPE_CHECKING:
    import numpy as np

    from ggp.machine import Limits, Machine

COMPARED = ("prolog", "propnet")
"""Backends that `--compare` measures, the reference first."""

_MAX_STEPS = 1000
_MAX_LANES = 1 << 20
_WARM_UP_SHARE = 0.05
_BATCH_SHARE = 0.1
"""Shares of the time that the warm-up, and at most one batch, may take."""


@click.command()
@click.argument("game")
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="How long to play.",
)
@click.option("--compare", is_flag=True, help="Measure both backends, and print the ratio.")
@threads_option()
@seed_option()
@backend_option
@limits_option
@json_option
@verbose_option
def bench(
    game: str,
    seconds: float,
    compare: bool,
    threads: int | None,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Measure random playouts from the initial state."""
    limits = replace(limits, threads=threads or 1)
    if not compare:
        result = _measured(game, seconds, seed, backend, limits)
        if as_json:
            print_json(result)
        else:
            _print_table([result])
        return
    results = [_measured(game, seconds, seed, name, limits) for name in COMPARED]
    slow, fast = (result["states_per_s"] for result in results)
    ratio = round(fast / slow, 2) if slow else None
    if as_json:
        print_json({"game": game, "results": results, "ratio": ratio})
    else:
        _print_table(results)
        if ratio is None:
            click.echo(f"{COMPARED[0]} made no move, so there is nothing to compare")
            return
        click.echo(f"{COMPARED[1]} plays {ratio:,} times as many states a second as {COMPARED[0]}")


def _measured(game: str, seconds: float, seed: int, backend: str, limits: Limits) -> dict[str, Any]:
    """One row of the table."""
    opened = open_game(game, backend, limits)
    import numpy as np

    with spinner(f"playing on {opened.machine.backend} for {seconds:g} s"):
        speed = measure(opened.machine, seconds, np.random.default_rng(seed))
    opened.machine.close()
    return {
        "backend": opened.machine.backend,
        "build_s": round(opened.build_s, 4),
        "playouts": speed.playouts,
        "states_per_s": round(speed.states / speed.seconds, 1),
        "playouts_per_s": round(speed.playouts / speed.seconds, 3),
        "finished": round(speed.finished / speed.playouts, 4),
    }


def _print_table(results: list[dict[str, Any]]) -> None:
    rows = [
        [f"{x:,}" if isinstance(x, float | int) else x for x in result.values()]
        for result in results
    ]
    titles = ["backend", "#build s", "#playouts", "#states/s", "#playouts/s", "#finished"]
    print_rich(table_of(titles, rows))


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured.

    Attributes:
        playouts: started from the initial state.
        finished: those that reached a terminal state; the others were cut off.
        states: joint moves made in all of them.
        seconds: what that took.
    """

    playouts: int
    finished: int
    states: int
    seconds: float


def measure(
    machine: Machine,
    seconds: float,
    rng: np.random.Generator,
    clock: Callable[[], float] = time.perf_counter,
) -> Speed:
    """Play at random for about this long, but at least one playout.

    Batches are as large as a tenth of the time allows. Where not even one playout fits, it is
    cut off.
    """
    rate = _warm_up(machine, _WARM_UP_SHARE * seconds, rng, clock)
    playouts = finished = states = 0
    started = clock()
    spent = 0.0
    while spent < seconds:
        left = seconds - spent
        lanes, max_steps = 1, _MAX_STEPS
        if playouts:
            rate = states / spent
            affordable = int(min(left, _BATCH_SHARE * seconds) * playouts / spent)
            lanes = min(max(affordable, 1), 2 * playouts, _MAX_LANES)
            if left < spent / playouts:
                break
        if not playouts or finished < playouts:
            max_steps = min(max(int(rate * left), 1), _MAX_STEPS)
        played = machine.playout(machine.initial(lanes), rng, max_steps)
        playouts += lanes
        finished += int(played.finished.sum())
        states += int(played.steps.sum())
        spent = clock() - started
    return Speed(playouts, finished, states, spent)


def _warm_up(
    machine: Machine, seconds: float, rng: np.random.Generator, clock: Callable[[], float]
) -> float:
    """States a second, from ever longer playouts of one lane that take about this long."""
    max_steps = 1
    machine.playout(machine.initial(), rng, max_steps)
    while True:
        started = clock()
        played = machine.playout(machine.initial(), rng, max_steps)
        took = max(clock() - started, 1e-9)
        if took > seconds / 2 or max_steps == _MAX_STEPS:
            return float(played.steps.sum()) / took
        max_steps = min(2 * max_steps, _MAX_STEPS)
