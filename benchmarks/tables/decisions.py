"""Whole decisions: how long the first one of `hyperplay2` takes, and where its time goes."""

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
from ggp.players import Player, make_player, parse_spec

GAMES = (
    "krieg_tic_tac_toe",
    "battleships_in_fog",
    "blind_breakthrough",
    "kriegspiel_king_rook",
    "mastermind",
    "meier",
)

_PARTS = (
    ("playout kernel", "ggp.machine.propnet.play.playouts", "play"),
    ("around it", "ggp.machine.propnet.play.propnet_machine", "PropnetMachine.playouts_after"),
    ("trials", "ggp.search.playouts", "plan_trials"),
    ("candidates", "ggp.search.playouts", "candidates"),
    ("best moves", "ggp.search.playouts", "best_moves"),
    ("belief", "ggp.belief.samplers.hyperplay_sampler", "HyperPlaySampler.at"),
    ("belief", "ggp.belief.samplers.hyperplay_sampler", "HyperPlaySampler.advance"),
    ("steps of belief", "ggp.machine.propnet.play.propnet_machine", "PropnetMachine.step_matching"),
    ("steps", "ggp.machine.propnet.play.propnet_machine", "PropnetMachine.step"),
    ("legal moves", "ggp.machine.propnet.play.propnet_machine", "PropnetMachine.legal"),
)
"""The timed parts: name, module, function. Time in a part within another is its own."""


def measure_decision(game: str, size: int, rounds: int) -> dict[str, Any]:
    """One row: seconds of CPU of the first decision there is in a match, without a clock.

    `seconds` is the least of several decisions of different seeds; the others are their shares in
    percent of the time, of one more decision.
    """
    program = load(game)
    machine = build_machine(program, "propnet")
    seconds, states = [], []
    for seed in range(1 + rounds):  # the first one also compiles and loads
        player = player_at_first_decision(machine, size, seed)
        visited, started = machine.states_visited, time.process_time()
        player.choose()
        seconds.append(time.process_time() - started)
        states.append(machine.states_visited - visited)
    row: dict[str, Any] = {
        "game": game,
        "seconds": round(min(seconds[1:]), 4),
        "median_s": round(median(seconds[1:]), 4),
        "states": int(median(states[1:])),
    }
    player = player_at_first_decision(machine, size, 1)
    with _timed_parts() as spent:
        started = time.perf_counter()
        player.choose()
        whole = time.perf_counter() - started
    row.update({part: round(100 * took / whole, 1) for part, took in spent.items()})
    row["rest"] = round(100 * (1 - sum(spent.values()) / whole), 1)
    return row


def player_at_first_decision(machine: Machine, size: int, seed: int) -> Player:
    """A player of whichever role first has more than one legal move in a random match."""
    rng = np.random.default_rng(seed)
    roles = [role for role in range(len(machine.roles)) if role != machine.random_role]
    spec = parse_spec(f"hyperplay2:n={size}")
    players = {
        role: make_player(spec, machine, role, np.random.default_rng(seed)) for role in roles
    }
    state = machine.initial()
    while True:
        legal = [machine.legal(state, role).values for role in range(len(machine.roles))]
        for role in roles:
            if len(legal[role]) > 1:
                return players[role]
        moves = np.array([[rng.choice(options) for options in legal]])
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
            started = time.perf_counter()
            stack.append(0.0)
            try:
                return function(*args, **options)
            finally:
                took = time.perf_counter() - started
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
        function = getattr(owner, name, None)
        if function is not None:  # there are versions without it
            replaced.append((owner, name, function))
            setattr(owner, name, timed(part, function))
    try:
        yield spent
    finally:
        for owner, name, function in replaced:
            setattr(owner, name, function)
