"""Runs a player that is not ours in a process of its own, so that it can be stopped.

Such a player may be anybody's code: it may never answer, may print, or may end its process. It then
loses its moves, and nobody else loses anything:

- the process, with a machine and the player's module, exists before a clock runs (`get_ready`);
- making the player may take as long as the start clock of remote players. If that is not enough,
  its first clocks pay for the rest;
- if a call has not returned shortly after the clock ran out, its process is killed. The next turn
  begins with a new process, in which the player is made again and observes its path so far, all
  within its clock;
- a player that loses its process several times in a row without a decision gets no more turns, as
  on our server.

To the referee, this side is a player like any other.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np

from ggp.errors import ConfigError, GGPError, MatchError, PlayerError
from ggp.machine import Limits, Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import read_program
from ggp.players import Decision, MoveValue, Player, PlayerSpec, make_player, parse_spec
from ggp.players.player import Learning, ObservedTurn
from ggp.run.calls import tell
from ggp.run.clocks import Clock, backstop_s, cpu_seconds
from ggp.search.anytime import Deadline
from match_runner.workers.executor import LocalPool, WorkerFailedError, keep_pool, take_pool

_slow: set[str] = set()
"""Specs of players that were not ready within the start clock; later matches do not wait for it."""

_PROCESSORS = os.cpu_count() or 1

_MIN_WAIT_S = 0.001
"""With less time than this left, we give a player up without another wait; in seconds."""

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """When to give up a player in a process of its own.

    Attributes:
        grace_s: seconds that we wait after its clock ran out. The answer is late by then, but a
            killed process would have to be replaced, and the player made again.
        lives: processes in a row that it may lose without a decision; then it gets no more turns.
    """

    grace_s: float = 0.25
    lives: int = 3


class NoAnswerError(MatchError):
    """A player's clock ran out before it had decided."""


class GoneError(MatchError):
    """The process of a player ended in the middle of a call."""


class PlayerApart:
    """A `Player` in a process of its own, for one match.

    Args:
        spec: which player.
        order: the machine it gets.
        role: index of its role.
        rng: source of all its random choices, the same each time the player is made.
        clock: the clock that limits it. CPU time is that of its process, which has a limit of wall
            time too (`ggp.run.clocks.backstop_s`).
        report: called with its best decision so far while it decides; None for no reports.
    """

    def __init__(
        self,
        spec: PlayerSpec,
        order: MachineOrder,
        role: int,
        rng: np.random.Generator,
        clock: Clock = Clock.WALL,
        report: Callable[[Decision], None] | None = None,
    ) -> None:
        self._spec, self._order, self._role, self._rng = spec, order, role, rng
        self._kind, self._report = clock, report
        self._pool: LocalPool | None = None
        self._is_busy = False  # a call to the process has not returned
        self._is_made = False
        self._make_error: PlayerError | None = None
        self._patience = Patience()
        self._lives = 0
        self._start_s = self._clock_s = self._until_s = self._give_up_s = math.inf
        self._cpu_s = 0.0  # CPU time of all calls
        self._call_began_s = 0.0  # CPU time of the process when the last call began
        self._turns: list[ObservedTurn] = []
        self._num_sent = 0  # turns that the player in the process has observed
        self._failure: GGPError | None = None  # why there is no answer this turn
        self._states = self._earlier_states = 0

    @property
    def states_visited(self) -> int:
        """Number of states that the player has visited, by its last reply."""
        return self._earlier_states + self._states

    def clock(self) -> float:
        """The player's time: wall time, or the CPU time that it had used at its last reply."""
        return self._cpu_s if self._kind is Clock.CPU else time.monotonic()

    # ---------------------------------------------------------------- called by the referee

    def begin(self, start_s: float, patience: Patience) -> None:
        """Have the player made before the first turn.

        Args:
            start_s: seconds that this may take, and later its call of `ended`.
            patience: when to give the player up, from now on.

        Raises:
            MatchError: there can be no process with a machine.
        """
        self._start_s, self._patience, self._lives = start_s, patience, patience.lives
        self.get_ready()
        if self._spec.text in _slow:
            return  # its first clock pays for making it
        self._run_clock(start_s, 0.0)
        try:
            self._ensure_player(None)
        except (NoAnswerError, GoneError) as error:
            _log.warning("%s %s while it was made", self._spec.text, error)
            _slow.add(self._spec.text)
        except PlayerError as error:
            _log.info("the player gets no turns", exc_info=error)

    def get_ready(self) -> None:
        """Start a process with a machine and the player's module, before any clock runs.

        Raises:
            MatchError: see `begin`.
        """
        while self._pool is None and self._lives > 0 and self._make_error is None:
            self._pool = take_pool(self._spec.name)
            self._until_s = self._give_up_s = math.inf
            try:
                self._call(prepare, self._order, self._role, self._spec.text)
            except GoneError as error:
                _log.info("%s %s", self._spec.text, error)

    def start_clock(self, clock_s: float | None) -> None:
        """Start the player's clock of `clock_s` seconds; None for no limit."""
        self._run_clock(math.inf if clock_s is None else clock_s, self._patience.grace_s)

    def leave(self) -> None:
        """End the match, and keep an idle process for the next one."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if self._is_busy:
            pool.close(last_words_s=0.0)
        else:
            keep_pool(pool, self._spec.name)

    # ---------------------------------------------------------------- a player

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        """See `Player.observe`.

        Raises:
            RaisedApartError: the player raised. If it gave no answer, `choose` says so.
        """
        self._turns.append((move, percepts, submitted, in_time))
        self._failure = None
        try:
            self._catch_up(deadline)
        except (NoAnswerError, GoneError, PlayerError) as error:
            self._failure = error

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """See `Player.choose`.

        Raises:
            NoAnswerError: the player has not decided in time, or gets no more turns.
            GoneError: its process ended.
            PlayerError: it cannot be made.
            RaisedApartError: it raised.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._catch_up(deadline)
        reply = self._ask(choose, sent_deadline(deadline, self._kind), value_forced)
        assert reply.decision is not None
        self._lives = self._patience.lives
        return reply.decision

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """See `Learning.ended`; a player that does not learn ignores it.

        Raises:
            MatchError: the player gave no answer, ended its process, or raised.
        """
        if self._pool is not None and self._is_made:
            self.start_clock(self._start_s)
            self._ask(ended, move, percepts, goal)

    # ---------------------------------------------------------------- private

    def _catch_up(self, deadline: Deadline | None) -> None:
        """Make the player if need be, and have it observe the turns that it has not seen yet."""
        self._ensure_player(deadline)
        new_turns = self._turns[self._num_sent :]
        if new_turns:
            self._num_sent = len(self._turns)
            self._ask(observe, new_turns, sent_deadline(deadline, self._kind))

    def _ensure_player(self, deadline: Deadline | None) -> None:
        """Make the player in the process, unless it is there."""
        if self._make_error is not None:
            raise self._make_error
        if self._pool is None:
            raise NoAnswerError(
                f"gets no more turns: its process was lost {self._patience.lives} times in a row"
            )
        if self._is_made:
            return
        reports = self._report is not None
        settings = (self._order, self._role, self._spec.text, self._rng, self._kind, reports)
        try:
            self._ask(make, *settings)
        except PlayerError as error:
            self._make_error = error
            raise
        self._is_made = True

    def _ask(self, function: Callable[..., Reply], *args: Any) -> Reply:
        reply: Reply = self._call(function, *args)
        assert self._pool is not None
        self._states = reply.states_visited
        # A reply counts the CPU time of the process's copies too. Believe it, but never count less
        # than the system measured.
        self._cpu_s += max(reply.cpu_s, self._pool.cpu_seconds() - self._call_began_s)
        if reply.error is not None:
            raise reply.error
        return reply

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Have the process call a function, and wait for its value until the clock runs out."""
        assert self._pool is not None
        news: queue.SimpleQueue[Decision | None] = queue.SimpleQueue()
        self._is_busy, self._call_began_s = True, self._pool.cpu_seconds()
        future = self._pool.submit(function, args, news.put)
        future.add_done_callback(lambda _: news.put(None))
        try:
            while (decision := self._next_report(news)) is not None:
                if self._report is not None:
                    self._report(decision)
        except queue.Empty:
            self._lose()
            limit = f"{self._clock_s:g} {self._kind.unit}"
            raise NoAnswerError(f"gave no answer within {limit}") from None
        try:
            value = future.result()
        except WorkerFailedError:
            raise  # an error of ours, such as a machine that cannot be built
        except Exception as error:  # a reply may be anything
            self._lose()
            raise GoneError(f"was lost: {error}") from error
        self._is_busy = False
        return value

    def _run_clock(self, clock_s: float, grace_s: float) -> None:
        """Start a clock of `clock_s` seconds, with a grace period of `grace_s` seconds after it."""
        now_s = time.monotonic()
        self._clock_s, self._until_s = clock_s, self.clock() + clock_s + grace_s
        self._give_up_s = now_s + backstop_s(clock_s) if self._kind is Clock.CPU else math.inf

    def _next_report(self, news: queue.SimpleQueue[_T]) -> _T:
        """Wait for the next report, or for the None that ends them.

        Raises:
            queue.Empty: nothing came before the clock ran out.
        """
        if self._kind is Clock.WALL:
            return news.get(timeout=_seconds(self._until_s - time.monotonic()))
        while True:
            assert self._pool is not None
            left_s = self._until_s - self._cpu_s - (self._pool.cpu_seconds() - self._call_began_s)
            left_s = min(left_s, self._give_up_s - time.monotonic())
            try:
                # Several threads use CPU time faster than wall time passes.
                return news.get(timeout=_seconds(left_s / _PROCESSORS))
            except queue.Empty:
                if left_s < _MIN_WAIT_S:
                    raise

    def _lose(self) -> None:
        """Kill the process; the player is made again in the next one."""
        assert self._pool is not None
        self._pool.close(last_words_s=0.0)
        self._pool, self._is_busy, self._is_made = None, False, False
        self._lives -= 1
        self._num_sent = 0
        self._earlier_states, self._states = self.states_visited, 0


def _seconds(left_s: float) -> float | None:
    """Timeout of a wait; None to wait for ever."""
    return None if left_s == math.inf else max(left_s, 0.0)


# ------------------------------------------------------------------------
# The far side: the process of one player that is not ours.
#
# The worker process of a `LocalPool` calls these functions. It has one player at a time, and keeps
# its machines for the next one. It copies a player's answer into plain values, so that none of the
# player's objects gets out, and reports its exceptions as text, with the traceback.

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
