"""Plays one match of a series; in a worker process, which keeps its machines for the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.machine import Limits, Machine
from match_runner.match.records import MatchRecord
from match_runner.match.referee import Conditions, play_match
from match_runner.match.seats import build_machines, set_up

_MOST_GAMES = 2
"""Games whose machines are kept: one is followed by the next."""


@dataclass(frozen=True, slots=True)
class MatchTask:
    """A match for a worker.

    Attributes:
        game: what to call the game.
        source: name of its rules in messages.
        rules: their text, so that a worker need not see the same files.
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


def play(task: MatchTask) -> MatchRecord:
    """Play a match; its record comes without the rules, which the caller has.

    Raises:
        MachineError: no machine can be built.
    """
    # Nothing is to be loaded or compiled while a clock runs.
    ready = task.conditions.play_clock_s is not None
    program, machines = _machines(task.source, task.rules, task.backend, task.limits, ready)
    arena = set_up(task.game, program, task.players, machines)
    return replace(play_match(arena, task.seed, task.conditions), rules="")


@lru_cache(maxsize=_MOST_GAMES)
def _machines(
    source: str, rules: str, backend: str, limits: Limits, ready: bool
) -> tuple[Program, tuple[Machine, ...]]:
    program = normalize(parse(rules, source))
    return program, build_machines(program, backend, limits, ready=ready)
