"""A player that is not ours, in a process of its own, so that it can be stopped.

Such a player may be anybody's code: it may never answer, may print, or may end its process. That
costs it its moves, and costs nobody else anything:

- the process, with a machine and the player's module, is there before a clock runs (`get_ready`);
- making the player may take as long as remote players have before the first turn. If that is not
  enough, the rest is done on its first clocks;
- a call that has not returned shortly after its clock ran out is given up: the process is killed.
  The next turn begins with a new process, in which the player is made anew and told its path so
  far, within its clock;
- a player whose process is lost like this several times in a row without a decision is not asked
  again, as on our server.

`apart_worker` is the far side. This side is a player to the referee, like any other.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ggp.errors import GGPError, MatchError, PlayerError
from ggp.players import Decision, PlayerSpec
from ggp.run.clocks import Clock, backstop_s
from ggp.search.anytime import Deadline
from match_runner.match import apart_worker
from match_runner.match.apart_worker import MachineOrder, ObservedTurn, Reply, Until
from match_runner.match.guests import NoAnswerError
from match_runner.workers.executor import LocalPool, WorkerFailedError, keep_pool, take_pool

_slow: set[str] = set()
"""Specs of players that could not be made within the start clock; no match waits for them again."""

_PROCESSORS = os.cpu_count() or 1

_LEAST_WAIT_S = 0.001
"""With no more time than this left, a player is given up without another wait; in seconds."""

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """When a player in a process of its own is given up.

    Attributes:
        grace_s: seconds that it is waited for after its clock ran out. Its answer is late then,
            but killing the process would mean replacing it and making the player anew.
        lives: processes in a row that it may lose without a decision; then it is not asked again.
    """

    grace_s: float = 0.25
    lives: int = 3


class RaisedApartError(MatchError):
    """A player raised an exception in another process; the text has its type and message."""


class GoneError(MatchError):
    """The process of a player ended in the middle of a call."""


class PlayerApart:
    """A `Player` in a process of its own, for one match.

    Args:
        spec: which player.
        order: the machine it gets.
        role: index of its role.
        rng: source of all its random choices, the same each time it is made.
        clock: the clock it is on. CPU time is that of its process, which has a limit of wall
            time too (`ggp.run.clocks.backstop_s`).
        report: called with its best decision so far while it decides; None if nobody asks.
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
        self._call_began_s = 0.0  # CPU time of the process when it was last asked
        self._turns: list[ObservedTurn] = []
        self._num_sent = 0  # number of turns that the player in the process knows
        self._failure: GGPError | None = None  # why there is no answer this turn
        self._states = self._earlier_states = 0

    @property
    def states_visited(self) -> int:
        """States that the player visited, as of its last reply."""
        return self._earlier_states + self._states

    def clock(self) -> float:
        """The player's time: wall time, or the CPU time it had used when it last answered."""
        return self._cpu_s if self._kind is Clock.CPU else time.monotonic()

    # ---------------------------------------------------------------- asked by the referee

    def begin(self, start_s: float, patience: Patience) -> None:
        """Have the player made before the first turn.

        Args:
            start_s: seconds that may take; hearing how the match ended may take as long.
            patience: when it is given up, from now on.

        Raises:
            MatchError: a process with a machine cannot be had.
        """
        self._start_s, self._patience, self._lives = start_s, patience, patience.lives
        self.get_ready()
        if self._spec.text in _slow:
            return  # it is made on its first clock
        self._run_clock(start_s, 0.0)
        try:
            self._ensure_player(None)
        except (NoAnswerError, GoneError) as error:
            _log.warning("%s %s when it was made", self._spec.text, error)
            _slow.add(self._spec.text)
        except PlayerError as error:
            _log.info("it is not asked to move", exc_info=error)

    def get_ready(self) -> None:
        """Make sure of a process with a machine and the player's module, before any clock runs.

        Raises:
            MatchError: see `begin`.
        """
        while self._pool is None and self._lives > 0 and self._make_error is None:
            self._pool = take_pool(self._spec.name)
            self._until_s = self._give_up_s = math.inf
            try:
                self._call(apart_worker.prepare, self._order, self._role, self._spec.text)
            except GoneError as error:
                _log.info("%s %s", self._spec.text, error)

    def start_clock(self, clock_s: float | None) -> None:
        """Start the player's clock, in seconds; None for no limit."""
        self._run_clock(math.inf if clock_s is None else clock_s, self._patience.grace_s)

    def leave(self) -> None:
        """End the match; a process that is idle is kept for the next one."""
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
            RaisedApartError: the player raised. If it gave no answer, `choose` raises that.
        """
        seen = None if percepts is None else tuple(percepts)
        self._turns.append(ObservedTurn(move, seen, submitted, in_time))
        self._failure = None
        try:
            self._catch_up(deadline)
        except (NoAnswerError, GoneError, PlayerError) as error:
            self._failure = error

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """See `Player.choose`.

        Raises:
            NoAnswerError: the player has not decided in time, or is not asked any more.
            GoneError: its process ended.
            PlayerError: it cannot be made.
            RaisedApartError: it raised.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._catch_up(deadline)
        reply = self._ask(apart_worker.choose, self._until(deadline), value_forced)
        assert reply.decision is not None
        self._lives = self._patience.lives
        return reply.decision

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """See `Learning.ended`; a player that does not want to know is not told.

        Raises:
            MatchError: the player gave no answer, ended its process, or raised.
        """
        if self._pool is not None and self._is_made:
            self.start_clock(self._start_s)
            self._ask(apart_worker.ended, move, percepts, goal)

    # ---------------------------------------------------------------- private

    def _catch_up(self, deadline: Deadline | None) -> None:
        """Make sure of a player in the process, and tell it the turns it does not know yet."""
        self._ensure_player(deadline)
        new_turns = self._turns[self._num_sent :]
        if new_turns:
            self._num_sent = len(self._turns)
            self._ask(apart_worker.observe, new_turns, self._until(deadline))

    def _ensure_player(self, deadline: Deadline | None) -> None:
        """Make sure of a player in the process."""
        if self._make_error is not None:
            raise self._make_error
        if self._pool is None:
            raise NoAnswerError(
                f"is not asked any more: its process was lost {self._patience.lives} times in a row"
            )
        if self._is_made:
            return
        reports = self._report is not None
        make = (self._order, self._role, self._spec.text, self._rng, self._kind, reports)
        try:
            self._ask(apart_worker.make, *make)
        except PlayerError as error:
            self._make_error = error
            raise
        self._is_made = True

    def _ask(self, function: Callable[..., Reply], *args: Any) -> Reply:
        reply: Reply = self._call(function, *args)
        assert self._pool is not None
        self._states = reply.states_visited
        # The time it reports for its copies is believed, but never less than the system measured.
        self._cpu_s += max(reply.cpu_s, self._pool.cpu_seconds() - self._call_began_s)
        raised = reply.raised
        if raised is None:
            return reply
        error = (PlayerError if raised.unmade else RaisedApartError)(raised.text)
        error.add_note(raised.chain)
        raise error

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Have the process call a function, and wait for it until the clock runs out."""
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
            raise  # our own error, such as a machine that cannot be built
        except Exception as error:  # its reply may be anything
            self._lose()
            raise GoneError(f"was lost: {error}") from error
        self._is_busy = False
        return value

    def _run_clock(self, clock_s: float, grace_s: float) -> None:
        """Start a clock of `clock_s` seconds, and a wait of `grace_s` seconds after it."""
        now_s = time.monotonic()
        self._clock_s, self._until_s = clock_s, self.clock() + clock_s + grace_s
        self._give_up_s = now_s + backstop_s(clock_s) if self._kind is Clock.CPU else math.inf

    def _next_report(self, news: queue.SimpleQueue[_T]) -> _T:
        """Take the next report, or the None that ends them.

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
                # Threads use more CPU time than passes on the wall.
                return news.get(timeout=_seconds(left_s / _PROCESSORS))
            except queue.Empty:
                if left_s < _LEAST_WAIT_S:
                    raise

    def _until(self, deadline: Deadline | None) -> Until | None:
        return None if deadline is None else Until.of(deadline, self._kind)

    def _lose(self) -> None:
        """Kill the process; the player is made anew in the next one."""
        assert self._pool is not None
        self._pool.close(last_words_s=0.0)
        self._pool, self._is_busy, self._is_made = None, False, False
        self._lives -= 1
        self._num_sent = 0
        self._earlier_states, self._states = self.states_visited, 0


def _seconds(left_s: float) -> float | None:
    """Timeout of a wait; None to wait for ever."""
    return None if left_s == math.inf else max(left_s, 0.0)
