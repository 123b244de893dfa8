"""Whole decisions: how long the first one of a match takes, and where its time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np

from ggp.gdl.normalize import load
from ggp.machine import Machine, build_machine
from ggp.machine.compiling.jit import Kernel
from ggp.players import Player, make_player, parse_spec
from ggp.study.matches import LaneTurn

CASES = (
    ("krieg_tic_tac_toe", "hyperplay2:n=4"),
    ("krieg_tic_tac_toe", "hyperplay2:n=8"),
    ("krieg_tic_tac_toe", "ismcts"),
    ("battleships_in_fog", "hyperplay2:n=8"),
    ("blind_breakthrough", "hyperplay2:n=8"),
    ("kuhn_poker", "hyperplay2:n=8"),
    ("meier", "hyperplay2:n=8"),
)
"""Games and players."""

_PARTS = (
    ("kernels", "ggp.machine.compiling.jit", "Kernel.__call__"),
    ("kernels", "ggp.machine.compiling.jit", "Kernel.unchecked"),
    ("bags", "ggp.belief.samplers.hyperplay_sampler", "HyperPlaySampler.at"),
    ("bags", "ggp.belief.samplers.hyperplay_sampler", "HyperPlaySampler.advance"),
    ("candidates and trials", "ggp.search.playouts", "HyperPlayPolicy.__call__"),
    (
        "around playouts",
        "ggp.machine.propnet.play.propnet_machine",
        "PropnetMachine.playouts_after",
    ),
    ("waves", "ggp.search.trees.paths_tree", "PathsTree.wave"),
    ("turns", "ggp.search.simulations", "Simulator.run"),
    ("combining", "ggp.search.estimates", "Tally.add"),
    ("combining", "ggp.search.estimates", "Tally.estimates"),
)
"""The timed parts: name, module, function. Time in a part within another is its own."""


def measure_decision(game: str, spec: str, rounds: int) -> dict[str, Any]:
    """One row: seconds of CPU of the first decision there is in a match, without a clock.

    `seconds` is the least of several decisions of different seeds; the others are their shares in
    percent of the time, of more decisions. What is not in kernels is Python and numpy.
    """
    program = load(game)
    machine = build_machine(program, "propnet")
    seconds, states = [], []
    for seed in range(1 + rounds):  # the first one also compiles and loads
        player = player_at_first_decision(machine, spec, seed)
        visited, started = machine.states_visited, time.process_time()
        player.choose()
        seconds.append(time.process_time() - started)
        states.append(machine.states_visited - visited)
    row: dict[str, Any] = {
        "game": game,
        "player": spec,
        "seconds": round(min(seconds[1:]), 4),
        "median_s": round(median(seconds[1:]), 4),
        "states": int(median(states[1:])),
    }
    with _timed_parts() as spent:
        machine = build_machine(program, "propnet")  # it takes kernels that are timed
        player_at_first_decision(machine, spec, 1).choose()
        spent.update(dict.fromkeys(spent, 0.0))
        players = [player_at_first_decision(machine, spec, seed) for seed in range(1, 1 + rounds)]
        started = time.thread_time()
        for player in players:
            player.choose()
        whole = time.thread_time() - started
    row.update({part: round(100 * took / whole, 1) for part, took in spent.items()})
    row["rest"] = round(100 * (1 - sum(spent.values()) / whole), 1)
    return row


def player_at_first_decision(machine: Machine, spec: str, seed: int) -> Player:
    """A player of whichever role first has more than one legal move in a random match."""
    rng = np.random.default_rng(seed)
    roles = [role for role in range(len(machine.roles)) if role != machine.random_role]
    players = {
        role: make_player(parse_spec(spec), machine, role, np.random.default_rng(seed))
        for role in roles
    }
    state = machine.initial()
    while True:
        turn = LaneTurn(machine, state)
        if turn.decides.any():
            return players[int(turn.decides[0].argmax())]
        moves = turn.random(rng)
        state, percepts = machine.step(state, moves)
        for role in roles:
            seen = machine.percept_texts(int(percepts[0, role]))
            players[role].observe(machine.move_text(int(moves[0, role])), seen)


@contextmanager
def _timed_parts() -> Iterator[dict[str, float]]:
    """Seconds spent in each part, without the parts inside it."""
    spent: dict[str, float] = {part: 0.0 for part, _, _ in _PARTS}
    stack: list[float] = []

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            started = time.thread_time()
            stack.append(0.0)
            try:
                return function(*args, **options)
            finally:
                took = time.thread_time() - started
                spent[part] += took - stack.pop()
                if stack:
                    stack[-1] += took

        return run

    replaced = []
    for part, module, path in _PARTS:
        owner: Any = import_module(module)
        *outer, name = path.split(".")
        for attribute in outer:
            owner = getattr(owner, attribute)
        replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, timed(part, getattr(owner, name)))
    code_for = Kernel.code_for
    replaced.append((Kernel, "code_for", code_for))

    def timed_code(*args: Any) -> Callable[..., Any]:
        return timed("kernels", code_for(*args))

    setattr(Kernel, "code_for", timed_code)  # noqa: B010  # callers that keep code keep it timed
    try:
        yield spent
    finally:
        for owner, name, function in replaced:
            setattr(owner, name, function)
