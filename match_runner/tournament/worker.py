"""Plays one match of a tournament; runs in a worker process, which keeps some machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ggp.errors import MatchError
from ggp.gdl.normalize import load
from match_runner.comparison.worker import warnings_told_by_parent
from match_runner.records import MatchRecord
from match_runner.referee import Conditions, play_match
from match_runner.seats import Arena, set_up

_MOST_ARENAS = 8


@dataclass(frozen=True, slots=True)
class Task:
    """A match for a worker.

    Attributes:
        game: name or path of the rulesheet.
        digest: of the program it must be.
        backend: of the machines.
        players: spec or address for every role but `random`.
        seed: of the match.
        conditions: of the match.
    """

    game: str
    digest: str
    backend: str
    players: Mapping[str, str]
    seed: int
    conditions: Conditions


def play(task: Task) -> MatchRecord:
    """Play a match.

    Raises:
        MatchError: the rulesheet is not the one the tournament was begun with.
        MachineError: no machine can be built.
    """
    with warnings_told_by_parent():
        arena = _arena(task.game, task.digest, task.backend, tuple(task.players.items()))
        return play_match(arena, task.seed, task.conditions)


@lru_cache(maxsize=_MOST_ARENAS)
def _arena(game: str, digest: str, backend: str, players: tuple[tuple[str, str], ...]) -> Arena:
    program = load(game)
    if program.digest != digest:
        raise MatchError(f"{game} was changed while the tournament went on")
    return set_up(game, program, dict(players), backend)
