"""The far side of `apart`: the process of one player that is not ours.

The worker process of a `LocalPool` calls every function here. The process has one player at a time,
and keeps its machines for the next one. It copies a player's answer into plain values, so that none
of the player's objects gets out, and reports its exceptions as text, with the traceback.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ggp.errors import ConfigError, MatchError, PlayerError
from ggp.machine import Limits, Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import read_program
from ggp.players import Decision, MoveValue, Player, make_player, parse_spec
from ggp.players.player import Learning, ObservedTurn
from ggp.run.calls import tell
from ggp.run.clocks import Clock, cpu_seconds
from ggp.search.anytime import Deadline

BETWEEN_REPORTS_S = 0.05
"""Least seconds between two reports: a person has to read them."""

_MAX_MACHINES = 4


@dataclass(frozen=True, slots=True)
class MachineOrder:
    """Order for a machine that another process is to build.

    Attributes:
        source, rules: name and text of the rules, as in `read_program`.
        backend, limits, ready: see `build_machine`.
    """

    source: str
    rules: str
    backend: str
    limits: Limits
    ready: bool = True

    @classmethod
    def of(
        cls, program: GameDefinition, backend: str, limits: Limits | None = None
    ) -> MachineOrder:
        """A machine for the rules of a program, ready for a clock."""
        source = program.source
        return cls(source.name, source.text, backend, limits or Limits())


class RaisedApartError(MatchError):
    """A player raised an exception in its process; the text has its type and message."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of the process to a call for its player.

    Attributes:
        states_visited: states that this player has visited so far.
        error: what it raised, with the traceback as a note, or None. `PlayerError` says that the
            player could not be made.
        decision: its decision, if the call was for one and raised nothing.
        cpu_s: CPU time that the call took, in seconds.
    """

    states_visited: int
    error: PlayerError | RaisedApartError | None = None
    decision: Decision | None = None
    cpu_s: float = 0.0


_player: Player | None = None
_clock = Clock.WALL
"""The clock that limits the player."""


def prepare(order: MachineOrder, role: int, spec: str) -> None:
    """Build the machine for a role, and import the module of a player.

    Raises:
        GGPError: the machine cannot be built.
    """
    with suppress(ConfigError):  # `make` raises it again
        parse_spec(spec)
    _machine(order, role)


def make(
    order: MachineOrder,
    role: int,
    spec: str,
    rng: np.random.Generator,
    clock: Clock,
    reports: bool,
) -> Reply:
    """Make the player of a match.

    Args:
        clock: the clock that limits it.
        reports: whether to report its best decisions so far while it decides.
    """

    def act() -> None:
        global _player, _clock
        _player, _clock = None, clock
        try:
            player_spec = parse_spec(spec)
        except ConfigError as error:  # the spec was valid in the process that began the match
            raise PlayerError(str(error)) from error
        report = _Report() if reports else None
        program, machine = _machine(order, role)
        _player = make_player(player_spec, machine, role, rng, clock.tells, report, program)

    return _reply(act)


def observe(turns: Sequence[ObservedTurn], until_s: float | None) -> Reply:
    """Have the player observe turns; of several errors, report the first.

    Args:
        until_s: deadline for all of them, see `sent_deadline`.
    """
    deadline = _deadline(until_s)
    replies = [_reply(partial(tell_turn, _current_player(), turn, deadline)) for turn in turns]
    outcome = next((reply for reply in replies if reply.error), replies[-1])
    return replace(outcome, cpu_s=sum(reply.cpu_s for reply in replies))


def choose(until_s: float | None, value_forced: bool) -> Reply:
    """Ask the player for its move; see `observe`."""
    deadline = _deadline(until_s)
    return _reply(lambda: _plain(_current_player().choose(deadline, value_forced=value_forced)))


def ended(move: str | None, percepts: Sequence[str] | None, goal: float | None) -> Reply:
    """Tell a player that learns how the match ended; see `Learning`."""

    def act() -> None:
        player = _current_player()
        if isinstance(player, Learning):
            player.ended(move, percepts, goal)

    return _reply(act)


def tell_turn(player: Player, turn: ObservedTurn, deadline: Deadline | None) -> None:
    """Have a player observe a turn."""
    move, percepts, submitted, in_time = turn
    player.observe(move, percepts, submitted=submitted, in_time=in_time, deadline=deadline)


def sent_deadline(deadline: Deadline | None, clock: Clock) -> float | None:
    """A deadline in a form that another process understands, to send immediately.

    Returns:
        for wall time, the moment on `time.monotonic`, which is the same in all processes; for CPU
        time, which each process counts for itself, the seconds left; None without a deadline.
    """
    if deadline is None:
        return None
    return deadline.left_s() + (0.0 if clock is Clock.CPU else time.monotonic())


def states_visited(player: Player | None) -> int:
    """Number of states that a player has visited; 0 if it does not say."""
    try:
        return int(player.states_visited) if player is not None else 0
    except Exception:
        return 0


@lru_cache(maxsize=_MAX_MACHINES)
def _machine(order: MachineOrder, role: int) -> tuple[GameDefinition, Machine]:
    """The rules and a machine for one role: no two players share one."""
    program = read_program(order.rules, order.source, files=True)
    return program, build_machine(program, order.backend, order.limits, ready=order.ready)


def _reply(act: Callable[[], Decision | None]) -> Reply:
    began_s = cpu_seconds()
    decision, raised = None, None
    try:
        decision = act()
    except MemoryError:
        raise  # the process ends
    except (Exception, SystemExit) as error:
        is_unmade = isinstance(error, PlayerError)
        raised = (
            PlayerError(str(error))
            if is_unmade
            else RaisedApartError(f"{type(error).__name__}: {error}")
        )
        raised.add_note("".join(traceback.format_exception(error)))
    return Reply(states_visited(_player), raised, decision, cpu_seconds() - began_s)


def _current_player() -> Player:
    assert _player is not None
    return _player


def _deadline(until_s: float | None) -> Deadline | None:
    """The deadline in the process that received it."""
    if until_s is None:
        return None
    return Deadline(until_s + (cpu_seconds() if _clock is Clock.CPU else 0.0), _clock.tells)


def _plain(decision: Any) -> Decision:
    """A copy of a decision that has only plain values."""
    mixed, fault = decision.probabilities, decision.fault
    return Decision(
        move=str(decision.move),
        values=tuple(
            MoveValue(str(v.move), _number(v.value), _number(v.stderr), int(v.visits))
            for v in decision.values
        ),
        particles=int(decision.particles),
        exact=bool(decision.exact),
        states_visited=int(decision.states_visited),
        seconds=float(decision.seconds),
        fault=None if fault is None else str(fault),
        probabilities=None if mixed is None else {str(m): float(p) for m, p in mixed.items()},
        guessed=int(decision.guessed),
        quality=None if decision.quality is None else dict(decision.quality),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


class _Report:
    """Sends the best decision so far to the referee's process, now and then."""

    def __init__(self) -> None:
        self._last_report_s = 0.0

    def __call__(self, decision: Decision) -> None:
        if time.monotonic() - self._last_report_s >= BETWEEN_REPORTS_S:
            self._last_report_s = time.monotonic()
            tell(_plain(decision))
