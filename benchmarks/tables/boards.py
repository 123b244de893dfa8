"""CPU time of board search and of `over`, for games whose files declare what pieces are worth.

Positions come from random play, so that most pieces are still there. Boards are searched side by
side, as by `los`, and exchanges are played out where the search stops (`quiet` captures at most).
Histories are those of one information set made of the same boards, as `over` folds them in; a
refused try is a ply.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ggp.belief import Bags
from ggp.belief.bags import initial_segments
from ggp.errors import ConfigError
from ggp.gdl.games import comes_with_games
from ggp.labs.kriegspiel.boards.board_search import BoardLimits, BoardSearch
from ggp.labs.kriegspiel.choose_move import with_captures
from ggp.labs.kriegspiel.set_search import InformationSetSearch
from ggp.labs.kriegspiel.set_tree import LookAhead
from ggp.machine import Machine, build_machine
from ggp.machine.base import States
from ggp.machine.games import load_program
from ggp.players.options.evaluations import evaluation_of
from ggp.search.moves import random_moves

GAMES = ("kriegspiel_5x5", "kriegspiel")
"""Games that come with a file: of their name, or of its first word."""

TURNS = 40
"""Turns of random play before a board is searched; a refused try is a turn."""

QUIET = 8
BOARDS = {1: 512, 2: 64}
HISTORIES = {1: 256, 2: 16, 3: 1}
"""How many are searched, by depth."""

MAX_TRIES = 20
"""How often random play is begun for the positions of a game."""

STEPS = 1_000_000
"""More joint moves than a board has at these depths: nothing is cut."""


def measure_boards(
    seconds: float, rounds: int, games: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Rows: the game, what is searched, plies, how many side by side, and CPU ms of each.

    Args:
        seconds: rounds end after so many seconds of a row, the first one excepted.
        rounds: the median of so many counts.
        games: by name or path; default: `GAMES`.

    Raises:
        ConfigError: there is no file that says what pieces are worth, it does not suit the game, or
            random play has no choices left by then.
    """
    for game in games or GAMES:
        program, file = load_program(game), file_of(game)
        machine = build_machine(program, "propnet", ready=True)
        evaluation_of(file, machine)  # refuses a file for another game
        states = _positions(machine, max(BOARDS.values()), np.random.default_rng(0))
        for depth, number in sorted(BOARDS.items()):
            search = _board_search(machine, _bag(machine, states, number), depth, file)
            took_ms = _cpu_ms(search, seconds, rounds) / number
            yield _row(game, "board with exchanges", depth, number, took_ms)
        for depth, number in sorted(HISTORIES.items()):
            search = _over(machine, _bag(machine, states, number), depth, file)
            took_ms = _cpu_ms(search, seconds, rounds) / number
            yield _row(game, "history of over", depth, number, took_ms)


def file_of(game: str) -> str:
    """The file that says what pieces of a game are worth, as the option `evaluation` names it."""
    path = Path(game)
    options_file, of_games = path.with_suffix(".toml"), path.stem.split("_")[0]
    if options_file.is_file():
        return str(options_file)
    if comes_with_games(of_games, ".toml"):
        return of_games
    raise ConfigError(
        f"no file says what pieces of {game} are worth; write {options_file} beside it"
    )


def _row(game: str, searched: str, depth: int, number: int, took_ms: float) -> dict[str, Any]:
    return {
        "game": game,
        "searched": searched,
        "plies": depth,
        "side_by_side": number,
        "cpu_ms_each": took_ms,
    }


def _board_search(machine: Machine, bag: Bags, depth: int, file: str) -> Callable[[], None]:
    evaluation = with_captures(evaluation_of(file, machine, bag.role), machine, bag.role, QUIET)

    def once() -> None:
        rng = np.random.default_rng(0)
        search = BoardSearch(machine, bag, rng, BoardLimits(depth, STEPS), evaluation=evaluation)
        search.round(search.num_left)

    return once


def _over(machine: Machine, bag: Bags, depth: int, file: str) -> Callable[[], None]:
    evaluation = evaluation_of(file, machine, bag.role)

    def once() -> None:
        look_ahead, rng = LookAhead(depth, paranoid=False), np.random.default_rng(0)
        search = InformationSetSearch(machine, bag, rng, look_ahead, evaluation=evaluation)
        search.round(search.num_entries)

    return once


def _cpu_ms(once: Callable[[], None], seconds: float, rounds: int) -> float:
    """Median CPU milliseconds of a call, after one that is not counted."""
    once()
    took: list[float] = []
    while len(took) < rounds and (not took or sum(took) < seconds):
        began = time.process_time()
        once()
        took.append(time.process_time() - began)
    return 1000 * median(took)


def _positions(machine: Machine, number: int, rng: np.random.Generator) -> States:
    """States after random play in which the first role has a choice."""
    positions = _positions_of_a_try(machine, number, rng)
    for _ in range(MAX_TRIES):
        if len(positions) >= number:
            return positions.take(np.arange(number))
        positions = machine.concatenate([positions, _positions_of_a_try(machine, number, rng)])
    raise ConfigError(
        f"only {len(positions)} of {number} positions: after {TURNS} random turns the first role "
        "hardly ever has a choice; take a longer game"
    )


def _positions_of_a_try(machine: Machine, number: int, rng: np.random.Generator) -> States:
    states = machine.initial(4 * number)
    for _ in range(TURNS):
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        joint = [random_moves(machine, states, role, rng) for role in range(len(machine.roles))]
        states = machine.step(states, np.stack(joint, axis=1)).states
    states = states.take(np.flatnonzero(~machine.terminal(states)))
    return states.take(np.flatnonzero(machine.legal(states, 0).counts > 1))


def _bag(machine: Machine, states: States, number: int) -> Bags:
    """An information set of the first role: the first `number` states."""
    sets = replace(
        initial_segments(machine, 1, keep_views=False),
        offsets=np.array([0, number]),
        states=states.take(np.arange(number)),
        log_weights=np.full(number, -np.log(number)),
        exact=np.zeros(1, dtype=np.bool_),
    )
    return Bags(0, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), sets)
