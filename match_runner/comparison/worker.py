"""Plays one planned match; runs in a worker process, which keeps its machines for the next."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial

from ggp.errors import MatchError
from ggp.gdl.normalize import load
from ggp.machine import Machine, build_machine
from ggp.players import make_player, parse_spec
from match_runner.records import MatchRecord
from match_runner.referee import play_match
from match_runner.seats import Arena, Seat


@dataclass(frozen=True, slots=True)
class Task:
    """A match for a worker.

    Attributes:
        game: name or path of the rulesheet.
        digest: of the program it must be.
        backend: of the machines.
        players: spec of every role but `random`.
        seed: of the match.
    """

    game: str
    digest: str
    backend: str
    players: Mapping[str, str]
    seed: int


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision.

    Attributes:
        turn: from 0.
        role: who decided.
        move: what it submitted.
        candidates: moves it had to choose from; 0 if it could not tell.
        particles: entries of its bag.
        exact: whether these were its whole information set.
        states: visited, belief updates before it included.
        seconds: wall time of that.
        fault: why the move was a fallback, else None.
    """

    turn: int
    role: str
    move: str
    candidates: int
    particles: int
    exact: bool
    states: int
    seconds: float
    fault: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a match.

    Attributes:
        backend: of the machines.
        goals: of every role but `random`.
        turns: joint moves made.
        errors: faults of players and what ended the match early, one line each.
        states: visited by all players.
        seconds: wall time of the match.
        decisions: by turn, then in role order.
    """

    backend: str
    goals: Mapping[str, float]
    turns: int
    errors: tuple[str, ...]
    states: int
    seconds: float
    decisions: tuple[DecisionRow, ...]


def play(task: Task) -> Outcome:
    """Play a match.

    Raises:
        MatchError: the rulesheet is not the one the comparison was begun with.
        MachineError: no machine can be built.
    """
    with warnings_told_by_parent():
        return _play(task)


@contextmanager
def warnings_told_by_parent() -> Iterator[None]:
    """The parent has shown the warnings of a game, or will show an error instead."""
    logger = logging.getLogger("ggp")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _play(task: Task) -> Outcome:
    machines = _machines(task.game, task.digest, task.backend)
    machine = machines[0]
    seats = {
        role: Seat(
            task.players[name],
            partial(make_player, parse_spec(task.players[name]), machines[1 + role], role),
        )
        for role, name in enumerate(machine.roles)
        if role != machine.random_role
    }
    started = time.monotonic()
    record = play_match(Arena(task.game, task.digest, machine, seats), task.seed)
    return _outcome(record, time.monotonic() - started)


@lru_cache(maxsize=2)  # one game is followed by the next
def _machines(game: str, digest: str, backend: str) -> tuple[Machine, ...]:
    """The referee's machine, and one for each role, shared with nobody."""
    program = load(game)
    if program.digest != digest:
        raise MatchError(f"{game} was changed while its players were compared")
    return tuple(build_machine(program, backend) for _ in range(1 + len(program.roles)))


def _outcome(record: MatchRecord, seconds: float) -> Outcome:
    decisions = tuple(
        DecisionRow(
            turn=number,
            role=role,
            move=turn.decisions[role].move,
            candidates=len(turn.decisions[role].values),
            particles=turn.decisions[role].particles,
            exact=turn.decisions[role].exact,
            states=turn.decisions[role].states_visited,
            seconds=turn.decisions[role].seconds,
            fault=turn.decisions[role].fault,
        )
        for number, turn in enumerate(record.turns)
        for role in record.roles
        if role in turn.decisions
    )
    return Outcome(
        backend=record.backend,
        goals={role: record.goals[role] for role in record.players},
        turns=len(record.turns),
        errors=record.result.errors,
        states=sum(record.states_visited.values()),
        seconds=seconds,
        decisions=decisions,
    )
