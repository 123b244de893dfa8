"""Plays one match of a series; in a worker process, which keeps its machines for the next."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ggp.machine import Limits, Machine
from ggp.machine.base import player_roles
from ggp.machine.definition import GameDefinition
from ggp.machine.games import read_program
from ggp.search.moves import random_moves
from match_runner.match.apart import Patience
from match_runner.match.apart_worker import MachineOrder
from match_runner.match.conditions import Conditions
from match_runner.match.records import MatchRecord
from match_runner.match.referee import play_match
from match_runner.match.seats import Arena, build_machines, set_up
from match_runner.remote.remote_players import DEFAULT_START_CLOCK_S, RemoteConditions
from match_runner.workers.idle import num_kept

_MOST_GAMES = 2
"""Games whose machines are kept: one is followed by the next."""

REHEARSED_TURNS, REHEARSED_S = 6, 0.05
"""Turns of a match before the first one with a clock, and seconds for each decision in it: what
players need is loaded or compiled when they first use it, and that may take longer than a clock."""

DEALT_TURNS, DEALT_S, LOOKED_S = 100, 0.3, 1.0
"""Where all have to wait at first, for cards that are dealt, these turns come after the first
choice of every role, if it comes within so many turns; and seconds for each decision then, as hands
have to be found. It is looked for that for so many seconds."""

_rehearsed: dict[tuple[object, ...], bool] = {}
"""Games and players that were rehearsed, and whether all players came through it."""


@dataclass(frozen=True, slots=True)
class MatchTask:
    """A match for a worker.

    Attributes:
        game: what to call the game.
        source: name of its rules in messages.
        rules: their text, or the game's name in OpenSpiel, so that a worker need not see the same
            files.
        backend, limits: of the machines.
        players: spec or address for every role but `random`.
        seed: of the match.
        conditions: of the match.
    """

    game: str
    source: str
    rules: str
    backend: str
    limits: Limits
    players: Mapping[str, str]
    seed: int
    conditions: Conditions


def play(task: MatchTask, own_process: bool = False) -> MatchRecord:
    """Play a match; its record comes without the rules, which the caller has.

    Args:
        own_process: see `rehearse`.

    Raises:
        MachineError: no machine can be built.
    """
    # Nothing is to be loaded or compiled while a clock runs.
    ready = task.conditions.play_clock_s is not None
    program, machines = machines_of(task.source, task.rules, task.backend, task.limits, ready)
    apart = order_of(task.conditions, program, machines, task.limits)
    arena = set_up(
        task.game, program, task.players, machines, task.conditions.clock.tells, apart=apart
    )
    if ready:
        rehearse(arena, task.rules, task.conditions.remote.start_clock_s, own_process=own_process)
    return replace(play_match(arena, task.seed, task.conditions), rules="")


def order_of(
    conditions: Conditions, program: GameDefinition, machines: Sequence[Machine], limits: Limits
) -> MachineOrder | None:
    """The machine of players in processes of their own; None where nobody has one."""
    if not conditions.keeps_apart:
        return None
    return MachineOrder.of(program, machines[0].backend, limits)


def rehearse(
    arena: Arena, rules: str, start_s: int = DEFAULT_START_CLOCK_S, *, own_process: bool
) -> None:
    """Play the beginning of a match that does not count; once with each game and players.

    It is done again where a player has lost its process since, but not with those that hang.

    Args:
        start_s: what players in processes of their own have until they are given up, to be made and
            again to make a first move.
        own_process: whether this process is ours, and plays matches only. Then what is loaded now
            stays out of the garbage collector's way; to a program that calls us, its objects and
            its collector are its own.
    """
    key = (rules, arena.machine.backend, *arena.players.values())
    if arena.remotes is not None or (key in _rehearsed and _is_warm(arena) >= _rehearsed[key]):
        return
    forced = _forced_turns(arena.machine)
    conditions = Conditions(
        play_clock_s=DEALT_S if forced else REHEARSED_S,
        max_turns=forced + REHEARSED_TURNS,
        remote=RemoteConditions(start_clock_s=start_s),
        patience=Patience(grace_s=start_s, lives=1),
    )
    play_match(arena, 0, conditions, counts=False)
    _rehearsed[key] = _is_warm(arena)
    if own_process:
        # What is loaded now stays: looking through it again and again delays answers.
        gc.collect()
        gc.freeze()


def _is_warm(arena: Arena) -> bool:
    """Whether processes are there for all players that need one."""
    names = [seat.apart for seat in arena.seats.values() if seat.apart is not None]
    return all(num_kept(name) >= names.count(name) for name in names)


def _forced_turns(machine: Machine) -> int:
    """Turns of a random match before every role but `random` has had a choice; 0 if one of them
    has it at once, or gets none for long."""
    rng, began_s = np.random.default_rng(0), time.process_time()
    waiting = set(player_roles(machine))
    state, num_roles = machine.initial(), len(waiting)
    for turn in range(DEALT_TURNS):
        if machine.terminal(state)[0] or time.process_time() - began_s > LOOKED_S:
            break
        waiting -= {role for role in waiting if len(machine.legal(state, role).values) > 1}
        if not waiting or (turn == 0 and len(waiting) < num_roles):
            return turn
        roles = range(len(machine.roles))
        moves = [int(random_moves(machine, state, role, rng)[0]) for role in roles]
        state = machine.step(state, np.array([moves])).states
    return 0


@lru_cache(maxsize=_MOST_GAMES)
def machines_of(
    source: str, rules: str, backend: str, limits: Limits, ready: bool
) -> tuple[GameDefinition, tuple[Machine, ...]]:
    """The rules of a game and machines as `set_up` takes them; kept for the next match."""
    # Whoever made the series has read it before, or refused it.
    program = read_program(rules, source, files=True)
    return program, build_machines(program, backend, limits, ready=ready)
