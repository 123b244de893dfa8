"""Plays one match of a series in a worker process, which keeps its machines for the next match.

A `MatchTask` comes in, a record goes out. Before the first match with a clock, the process plays a
rehearsal that does not count, so that nothing is loaded or compiled while a clock runs.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ggp.machine import Limits, Machine
from ggp.machine.base import player_roles
from ggp.machine.compiling import jit
from ggp.machine.definition import GameDefinition
from ggp.machine.games import check_first_turn, read_program
from ggp.search.moves import random_moves
from match_runner.match.apart import MachineOrder, Patience
from match_runner.match.conditions import Conditions
from match_runner.match.records import MatchRecord
from match_runner.match.referee import play_match
from match_runner.match.seats import Arena, build_machines, set_up
from match_runner.remote.remote_players import DEFAULT_START_CLOCK_S, RemoteConditions
from match_runner.workers.executor import num_kept

_MAX_GAMES = 2
"""Number of games whose machines we keep: a series plays one game after the other."""

REHEARSED_TURNS, REHEARSED_S = 6, 0.05
"""Turns of a rehearsal, and seconds for each decision in it: players load or compile code when they
first use it, and that may take longer than a clock."""

MAX_REHEARSALS = 6
"""Most rehearsals of a game: when a clock runs out during compilation, the rest of the decision,
which may need more machine code, was not reached. Such a rehearsal is repeated."""

DEALT_TURNS, DEALT_S, LOOKED_S = 100, 0.3, 1.0
"""For games that begin without choices, such as while cards are dealt: a rehearsal covers the turns
after every role's first choice, if these come within `DEALT_TURNS` turns. Each decision has
`DEALT_S` seconds, because hands have to be found; the search for that turn has `LOOKED_S`."""

_rehearsed: dict[tuple[object, ...], bool] = {}
"""Rehearsed games with their players, and whether all players survived the rehearsal."""


@dataclass(frozen=True, slots=True)
class MatchTask:
    """A match for a worker to play.

    Attributes:
        game: name of the game in the record.
        source: name of its rules in messages.
        rules: text of the rules, or the game's name in OpenSpiel: a worker may not see the same
            files.
        backend, limits: backend of the machines, and limits on building them.
        players: spec or address for every role but `random`.
        seed: seed of the match.
        conditions: conditions of the match.
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
    """Play a match.

    Args:
        own_process: see `rehearse`.

    Raises:
        MachineError: no machine can be built.
    """
    # Nothing may be loaded or compiled while a clock runs.
    ready = task.conditions.play_clock_s is not None
    program, machines = machines_of(task.source, task.rules, task.backend, task.limits, ready)
    order = order_of(task.conditions, program, machines, task.limits)
    arena = set_up(
        task.game, program, task.players, machines, task.conditions.clock.tells, order=order
    )
    if ready:
        rehearse(arena, task.rules, task.conditions.remote.start_clock_s, own_process=own_process)
    return play_match(arena, task.seed, task.conditions)


def order_of(
    conditions: Conditions, program: GameDefinition, machines: Sequence[Machine], limits: Limits
) -> MachineOrder | None:
    """Order for the machines of players in processes of their own; None if there are none."""
    if not conditions.keeps_apart:
        return None
    return MachineOrder.of(program, machines[0].backend, limits)


def rehearse(
    arena: Arena, rules: str, start_s: int = DEFAULT_START_CLOCK_S, *, own_process: bool
) -> None:
    """Play the beginning of a match that does not count, once for each game and its players.

    It is repeated if a player has lost its process since, but not for players that hang.

    Args:
        start_s: seconds after which we give up players in processes of their own, when they are
            made and again when they make their first move.
        own_process: whether this process is ours, and only plays matches. Then the garbage
            collector ignores all objects that are loaded by now; in somebody else's program we
            leave the collector alone.
    """
    key = (rules, arena.machine.backend, *arena.players.values())
    if arena.remotes or (key in _rehearsed and _is_warm(arena) >= _rehearsed[key]):
        return
    forced = _forced_turns(arena.machine)
    conditions = Conditions(
        play_clock_s=DEALT_S if forced else REHEARSED_S,
        max_turns=forced + REHEARSED_TURNS,
        remote=RemoteConditions(start_clock_s=start_s),
        patience=Patience(grace_s=start_s, lives=1),
    )
    for _ in range(MAX_REHEARSALS):
        loaded = jit.num_loaded()
        record = play_match(arena, 0, conditions, counts=False)
        if jit.num_loaded() == loaded or all(fault.kind != "late" for fault in record.faults):
            break
    _rehearsed[key] = _is_warm(arena)
    if own_process:
        # All objects loaded by now stay: collecting through them again and again delays answers.
        gc.collect()
        gc.freeze()


def _is_warm(arena: Arena) -> bool:
    """Whether all players that need a process have one."""
    names = [seat.process_name for seat in arena.seats.values() if seat.process_name]
    return all(num_kept(name) >= names.count(name) for name in names)


def _forced_turns(machine: Machine) -> int:
    """Number of turns of a random match until every role but `random` has had a choice; 0 if a role
    has a choice in the first turn, or if some get none for a long time."""
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


@lru_cache(maxsize=_MAX_GAMES)
def machines_of(
    source: str, rules: str, backend: str, limits: Limits, ready: bool
) -> tuple[GameDefinition, tuple[Machine, ...]]:
    """The rules of a game, and machines for `set_up`; cached for the next match."""
    # Reading files is safe: whoever made the series has checked the game already.
    program = read_program(rules, source, files=True)
    machines = build_machines(program, backend, limits, ready=ready)
    check_first_turn(machines[0])
    return program, machines
