"""The child that measures Pgx, with an interpreter that has it and nothing of ours.

A step is what its documentation shows: a random legal action, `step` with restarts, all of it in
`vmap` and `jit`, one call for each turn. The state that it returns holds masks and observations.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main(game: str, lanes: str, seconds: str) -> None:
    """Print steps a CPU second, once for every line of standard input."""
    import jax
    import pgx  # type: ignore[import-not-found,unused-ignore]
    from pgx.experimental import auto_reset  # type: ignore[import-not-found,unused-ignore]

    num, env = int(lanes), pgx.make(game)
    step_one = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit  # type: ignore[untyped-decorator, unused-ignore]
    def step(states: Any, key: Any) -> tuple[Any, Any]:
        key, drawing, chance = jax.random.split(key, 3)
        logits = jax.numpy.where(states.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(drawing, logits, axis=-1)
        return step_one(states, actions, jax.random.split(chance, num)), key

    key = jax.random.key(1)
    states = jax.jit(jax.vmap(env.init))(jax.random.split(key, num))
    for _ in range(20):
        states, key = jax.block_until_ready(step(states, key))
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        started_s, cpu_s, steps = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - started_s < float(seconds):
            states, key = jax.block_until_ready(step(states, key))
            steps += num
        print(json.dumps(steps / (time.process_time() - cpu_s)), flush=True)
