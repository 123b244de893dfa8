"""Steps a second of environments: ours, beside our playouts and other libraries, in one run.

A step is one turn in one lane: a uniformly random legal action of every role, and then masks and
observations, without paths. Pgx, in an interpreter of its own (`pip install pgx==2.6.0
jax==0.10.2`), is driven as its documentation shows: `vmap`, `jit`, ends that restart.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.apart.circuit_speed import machine_of, measure_circuit
from benchmarks.children import Child
from ggp.labs.learning.env import make
from ggp.labs.learning.jax_export import jax_module
from ggp.machine import build_machine
from ggp.machine.games import load_program

LANES = (1024, 8192)

JAX_LANES = 4096

JAX_GAMES = ("kuhn_poker", "phantom_connect_four")

GAMES = (
    *("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "krieg_tic_tac_toe"),
    *("battleships_in_fog", "othello"),
)

PGX = {
    "tic_tac_toe": "tic_tac_toe",
    "connect_four": "connect_four",
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_holdem",
}
"""What Pgx calls the games that it has, too."""

MAX_TURNS = {"othello": 130}
"""Where nothing proves how long a match may be."""


class Speed(NamedTuple):
    """Steps, and how long they took."""

    steps: int
    seconds: float
    cpu_seconds: float


def measure_environments(
    seconds: float, rounds: int, pgx: str | None = None
) -> list[dict[str, Any]]:
    """Rows of games, each the best of several rounds; 0 threads are as many as JAX likes.

    Args:
        pgx: an interpreter that can import Pgx; its games are then measured in turns with ours.
    """
    rows = []
    processors = len(os.sched_getaffinity(0))
    for game in GAMES:
        playouts = measure_circuit(machine_of(game, 120.0), seconds, 0)["states_per_s"]
        for lanes in LANES:
            theirs = Peer(pgx, PGX[game], lanes, seconds) if pgx and game in PGX else None
            for threads in sorted({1, processors}):
                row = {"game": game, "lanes": lanes, "threads": threads}
                row |= _best(partial(_ours, game, lanes, threads), seconds, rounds, theirs)
                rows.append(row | {"of playouts": row["steps/CPU s"] / playouts})
            if theirs is not None:
                theirs.close()
    for game in JAX_GAMES if find_spec("jax") else ():
        row = {"game": f"module of JAX {game}", "lanes": JAX_LANES, "threads": 0}
        rows.append(row | _best(partial(_jax, game), seconds, rounds))
    return rows


class Peer:
    """Pgx in another process, with its own interpreter."""

    def __init__(self, python: str, game: str, lanes: int, seconds: float) -> None:
        arguments = (game, str(lanes), str(seconds))
        self._child = Child("benchmarks.apart.pgx_speed", *arguments, python=python)

    def measure(self) -> float:
        """Steps a CPU second."""
        self._child.ask("")
        return float(self._child.answer())

    def close(self) -> None:
        """End the process."""
        self._child.close()


def _best(
    play: Callable[[], Iterator[int]], seconds: float, rounds: int, peer: Peer | None = None
) -> dict[str, Any]:
    speeds, theirs = [], []
    for _ in range(rounds):
        speeds.append(_timed(play(), seconds))
        if peer is not None:
            theirs.append(peer.measure())
    row: dict[str, Any] = {
        "steps/s": round(max(speed.steps / speed.seconds for speed in speeds)),
        "steps/CPU s": round(max(speed.steps / speed.cpu_seconds for speed in speeds)),
    }
    return row | ({"times Pgx": row["steps/CPU s"] / max(theirs)} if theirs else {})


def _timed(steps: Iterator[int], seconds: float) -> Speed:
    for _ in range(20):  # what is compiled or laid out first
        next(steps)
    started_s, cpu_s, num_steps = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - started_s < seconds:
        num_steps += next(steps)
    return Speed(num_steps, time.perf_counter() - started_s, time.process_time() - cpu_s)


def _ours(game: str, lanes: int, threads: int) -> Iterator[int]:
    env = make(game, lanes, paths=False, threads=threads, max_turns=MAX_TURNS.get(game))
    env.reset(seed=1)
    actions = np.full((lanes, len(env.roles)), -1)
    while True:
        turn = env.step(actions)
        _ = turn.masks, turn.observations
        yield lanes


def _jax(game: str) -> Iterator[int]:
    """Turns of a module that `ggp convert GAME --to jax` writes, sixteen in one call."""
    jax: Any = importlib.import_module("jax")
    program = load_program(game)
    game_module: Any = ModuleType(game)
    exec(jax_module(program, build_machine(program, "propnet")), game_module.__dict__)

    def step_one(state: Any, key: Any) -> Any:
        drawing, chance = jax.random.split(key)
        weights = jax.numpy.where(game_module.legal(state), 0.0, -jax.numpy.inf)
        successor = game_module.step(state, jax.random.categorical(drawing, weights), chance)
        over = game_module.ended(successor)
        outputs = (
            game_module.observe(successor),
            game_module.legal(successor),
            game_module.rewards(successor),
        )
        start = game_module.init()
        fields = [
            jax.numpy.where(over, old, new) for old, new in zip(start, successor, strict=True)
        ]
        return game_module.State(*fields), sum(output.sum() for output in outputs)

    @jax.jit  # type: ignore[untyped-decorator, unused-ignore]
    def turns(states: Any, key: Any) -> Any:
        def body(states: Any, key: Any) -> Any:
            return jax.vmap(step_one)(states, jax.random.split(key, JAX_LANES))

        return jax.lax.scan(body, states, jax.random.split(key, 16))

    states = jax.vmap(lambda _: game_module.init())(jax.numpy.arange(JAX_LANES))
    key = jax.random.key(1)
    while True:
        key, now = jax.random.split(key)
        states, sums = turns(states, now)
        jax.block_until_ready(sums)
        yield 16 * JAX_LANES
