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
from functools import lru_cache
from typing import Any

import numpy as np

from ggp.errors import ConfigError, PlayerError
from ggp.machine import Limits, Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import read_program
from ggp.players import Decision, MoveValue, Player, make_player, parse_spec
from ggp.players.player import Learning
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


@dataclass(frozen=True, slots=True)
class ObservedTurn:
    """One turn as a player observes it, see `Player.observe`."""

    move: str | None
    percepts: tuple[str, ...] | None
    submitted: str | None
    in_time: bool


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that a player raised.

    Attributes:
        text: its type and message.
        chain: its traceback, of many lines.
        unmade: whether the player could not be made.
    """

    text: str
    chain: str
    unmade: bool


@dataclass(frozen=True, slots=True)
class Until:
    """A deadline in a form that another process understands.

    Attributes:
        clock: the clock that measures it.
        s: for wall time, the moment on `time.monotonic`, which is the same in all processes; for
            CPU time, which each process counts for itself, the seconds left.
    """

    clock: Clock
    s: float

    @classmethod
    def of(cls, deadline: Deadline, clock: Clock) -> Until:
        """A deadline to send immediately: the seconds left count from now."""
        left_s = deadline.left_s()
        return cls(clock, left_s if clock is Clock.CPU else time.monotonic() + left_s)

    def local_deadline(self) -> Deadline:
        """The deadline in the process that received it."""
        at_s = cpu_seconds() + self.s if self.clock is Clock.CPU else self.s
        return Deadline(at_s, self.clock.tells)


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of the process to a call for its player.

    Attributes:
        states_visited: states that this player has visited so far.
        raised: the exception that it raised, or None.
        decision: its decision, if the call was for one and raised nothing.
        cpu_s: CPU time that the call took, in seconds.
    """

    states_visited: int
    raised: Raised | None = None
    decision: Decision | None = None
    cpu_s: float = 0.0


_player: Player | None = None


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
        global _player
        _player = None
        try:
            player_spec = parse_spec(spec)
        except ConfigError as error:  # the spec was valid in the process that began the match
            raise PlayerError(str(error)) from error
        report = _Report() if reports else None
        program, machine = _machine(order, role)
        _player = make_player(player_spec, machine, role, rng, clock.tells, report, program)

    return _reply(act)


def observe(turns: Sequence[ObservedTurn], until: Until | None) -> Reply:
    """Have the player observe turns; of several errors, report the first.

    Args:
        until: deadline for all of them; None without a clock.
    """
    deadline = _deadline(until)
    replies = [_reply(lambda turn=turn: _tell(turn, deadline)) for turn in turns]  # type: ignore[misc]
    outcome = next((reply for reply in replies if reply.raised), replies[-1])
    return replace(outcome, cpu_s=sum(reply.cpu_s for reply in replies))


def choose(until: Until | None, value_forced: bool) -> Reply:
    """Ask the player for its move; see `observe`."""
    deadline = _deadline(until)
    return _reply(lambda: _plain(_current_player().choose(deadline, value_forced=value_forced)))


def ended(move: str | None, percepts: Sequence[str] | None, goal: float | None) -> Reply:
    """Tell a player that learns how the match ended; see `Learning`."""

    def act() -> None:
        player = _current_player()
        if isinstance(player, Learning):
            player.ended(move, percepts, goal)

    return _reply(act)


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
    try:
        decision = act()
    except MemoryError:
        raise  # the process ends
    except (Exception, SystemExit) as error:
        is_unmade = isinstance(error, PlayerError)
        text = str(error) if is_unmade else f"{type(error).__name__}: {error}"
        chain = "".join(traceback.format_exception(error))
        raised = Raised(text, chain, is_unmade)
        return Reply(states_visited(_player), raised, None, cpu_seconds() - began_s)
    return Reply(states_visited(_player), None, decision, cpu_seconds() - began_s)


def _current_player() -> Player:
    assert _player is not None
    return _player


def _deadline(until: Until | None) -> Deadline | None:
    return None if until is None else until.local_deadline()


def _tell(turn: ObservedTurn, deadline: Deadline | None) -> None:
    _current_player().observe(
        turn.move,
        turn.percepts,
        submitted=turn.submitted,
        in_time=turn.in_time,
        deadline=deadline,
    )


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
