"""A player that is not ours, asked in a process of its own, so that it can be stopped.

Such a player may be anybody's code: it may never answer, print, or end its process. That costs it
its moves, and nobody else anything:

- the process, with a machine and the player's module, is there before a clock runs (`get_ready`);
- making the player has as long as remote players have before the first turn. If that is not
  enough, the rest is done on its first clocks;
- a call that has not come back shortly after the clock is given up: the process is killed. The
  next turn begins with a new one, in which the player is made anew and told its path so far,
  within its clock;
- who was lost so several times in a row without a decision is asked no more, as on our server.

`apart_worker` is the far side. Here is what the referee asks like any other player.
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

from ggp.clocks import Clock, backstop_s
from ggp.errors import GGPError, MatchError, PlayerError
from ggp.players import Decision, PlayerSpec
from ggp.search.anytime import Deadline
from match_runner.match import apart_worker
from match_runner.match.apart_worker import MachineOrder, Reply, ToldTurn, Until
from match_runner.match.guests import NoAnswerError
from match_runner.workers.executor import LocalPool, WorkerFailedError
from match_runner.workers.idle import keep_pool, take_pool

_slow: set[str] = set()
"""Specs of players that were not made within the start clock: no match waits for them again."""

_PROCESSORS = os.cpu_count() or 1

_LEAST_WAIT_S = 0.001
"""Who has no more time than this is not waited for again."""

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """When a player in a process of its own is given up.

    Attributes:
        grace_s: for so long after its clock it is waited for: its answer is late, but a process
            that is killed has to be replaced, and the player to begin anew.
        lives: processes in a row that it may lose without a decision; then it is asked no more.
    """

    grace_s: float = 0.25
    lives: int = 3


class RaisedApartError(MatchError):
    """What a player raised elsewhere; type and message are its text."""


class GoneError(MatchError):
    """The process of a player ended while it worked."""


class PlayerApart:
    """A `Player` in a process of its own, for one match.

    Args:
        spec: which player.
        order: its machine.
        role: index of its role.
        rng: all its random choices, each time it begins.
        clock: which of them it is on. CPU time is that of its process, which has a limit on the
            wall too (`ggp.clocks.backstop_s`).
        report: told its best decision so far while it decides; None if nobody asks.
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
        self._is_busy = False  # the process has not come back
        self._is_made = False
        self._unmade: PlayerError | None = None
        self._patience = Patience()
        self._lives = 0
        self._start_s = self._clock_s = self._until_s = self._give_up_s = math.inf
        self._cpu_s = 0.0  # that all calls took
        self._asked_s = 0.0  # CPU time of the process when it was last asked
        self._turns: list[ToldTurn] = []
        self._told = 0  # turns that the player in the process knows
        self._lost: GGPError | None = None  # why there is no answer this turn
        self._states = self._earlier_states = 0

    @property
    def states_visited(self) -> int:
        """As far as it was told."""
        return self._earlier_states + self._states

    def clock(self) -> float:
        """Tells its time: on the wall, or what it had of CPU time when it last answered."""
        return self._cpu_s if self._kind is Clock.CPU else time.monotonic()

    # ---------------------------------------------------------------- asked by the referee

    def begin(self, start_s: float, patience: Patience) -> None:
        """Have it made before the first turn.

        Args:
            start_s: what that may take; to hear how the match ended may take as long.
            patience: with it from now on.

        Raises:
            MatchError: there can be no process with a machine.
        """
        self._start_s, self._patience, self._lives = start_s, patience, patience.lives
        self.get_ready()
        if self._spec.text in _slow:
            return  # it is made on its first clock
        self._run_clock(start_s, 0.0)
        try:
            self._live(None)
        except (NoAnswerError, GoneError) as error:
            _log.warning("%s %s when it was made", self._spec.text, error)
            _slow.add(self._spec.text)
        except PlayerError as error:
            _log.info("it is not asked to move", exc_info=error)

    def get_ready(self) -> None:
        """Have a process with a machine and the player's module; no clock is to run meanwhile.

        Raises:
            MatchError: see `begin`.
        """
        while self._pool is None and self._lives > 0 and self._unmade is None:
            self._pool = take_pool(self._spec.name)
            self._until_s = self._give_up_s = math.inf
            try:
                self._call(apart_worker.prepare, self._order, self._role, self._spec.text)
            except GoneError as error:
                _log.info("%s %s", self._spec.text, error)

    def start_clock(self, clock_s: float | None) -> None:
        """From now on it has so long; None for as long as it likes."""
        self._run_clock(math.inf if clock_s is None else clock_s, self._patience.grace_s)

    def leave(self) -> None:
        """The match is over; a process that has nothing to do is kept for the next one."""
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
            RaisedApartError: the player raised. That it gave no answer, `choose` says.
        """
        seen = None if percepts is None else tuple(percepts)
        self._turns.append(ToldTurn(move, seen, submitted, in_time))
        self._lost = None
        try:
            self._catch_up(deadline)
        except (NoAnswerError, GoneError, PlayerError) as error:
            self._lost = error

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """See `Player.choose`.

        Raises:
            NoAnswerError: it has not decided in time, or is asked no more.
            GoneError: its process ended.
            PlayerError: it cannot be made.
            RaisedApartError: it raised.
        """
        lost, self._lost = self._lost, None
        if lost is not None:
            raise lost
        self._catch_up(deadline)
        reply = self._ask(apart_worker.choose, self._told_until(deadline), value_forced)
        assert reply.decision is not None
        self._lives = self._patience.lives
        return reply.decision

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """See `Learning.ended`; a player that does not want to know is not told.

        Raises:
            MatchError: it gave no answer, ended its process, or raised.
        """
        if self._pool is not None and self._is_made:
            self.start_clock(self._start_s)
            self._ask(apart_worker.ended, move, percepts, goal)

    # ---------------------------------------------------------------- private

    def _catch_up(self, deadline: Deadline | None) -> None:
        """Have a player in the process that knows all turns."""
        self._live(deadline)
        untold = self._turns[self._told :]
        if untold:
            self._told = len(self._turns)
            self._ask(apart_worker.observe, untold, self._told_until(deadline))

    def _live(self, deadline: Deadline | None) -> None:
        """Have a player in the process."""
        if self._unmade is not None:
            raise self._unmade
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
            self._unmade = error
            raise
        self._is_made = True

    def _ask(self, function: Callable[..., Reply], *args: Any) -> Reply:
        reply: Reply = self._call(function, *args)
        assert self._pool is not None
        self._states = reply.states_visited
        # What it says of its copies is believed, but not that it used less than the system says.
        self._cpu_s += max(reply.cpu_s, self._pool.cpu_seconds() - self._asked_s)
        raised = reply.raised
        if raised is None:
            return reply
        error = (PlayerError if raised.unmade else RaisedApartError)(raised.text)
        error.add_note(raised.chain)
        raise error

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Have a function called in the process, as long as the clock says."""
        assert self._pool is not None
        news: queue.SimpleQueue[Decision | None] = queue.SimpleQueue()
        self._is_busy, self._asked_s = True, self._pool.cpu_seconds()
        future = self._pool.submit(function, args, news.put)
        future.add_done_callback(lambda _: news.put(None))
        try:
            while (decision := self._heard(news)) is not None:
                if self._report is not None:
                    self._report(decision)
        except queue.Empty:
            self._lose()
            within = f"{self._clock_s:g} {self._kind.unit}"
            raise NoAnswerError(f"gave no answer within {within}") from None
        try:
            result = future.result()
        except WorkerFailedError:
            raise  # of ours, such as a machine that cannot be built
        except Exception as error:  # what it said may be anything
            self._lose()
            raise GoneError(f"was lost: {error}") from error
        self._is_busy = False
        return result

    def _run_clock(self, clock_s: float, grace_s: float) -> None:
        """From now on it has so long, and is waited for so much longer."""
        now_s = time.monotonic()
        self._clock_s, self._until_s = clock_s, self.clock() + clock_s + grace_s
        self._give_up_s = now_s + backstop_s(clock_s) if self._kind is Clock.CPU else math.inf

    def _heard(self, news: queue.SimpleQueue[_T]) -> _T:
        """What comes next.

        Raises:
            queue.Empty: nothing as long as the clock says.
        """
        if self._kind is Clock.WALL:
            return news.get(timeout=_seconds(self._until_s - time.monotonic()))
        while True:
            assert self._pool is not None
            left_s = self._until_s - self._cpu_s - (self._pool.cpu_seconds() - self._asked_s)
            left_s = min(left_s, self._give_up_s - time.monotonic())
            try:
                # Threads use more CPU time than passes on the wall.
                return news.get(timeout=_seconds(left_s / _PROCESSORS))
            except queue.Empty:
                if left_s < _LEAST_WAIT_S:
                    raise

    def _told_until(self, deadline: Deadline | None) -> Until | None:
        return None if deadline is None else Until.of(deadline, self._kind)

    def _lose(self) -> None:
        """Kill the process; the next one begins anew."""
        assert self._pool is not None
        self._pool.close(last_words_s=0.0)
        self._pool, self._is_busy, self._is_made = None, False, False
        self._lives -= 1
        self._told = 0
        self._earlier_states, self._states = self.states_visited, 0


def _seconds(left_s: float) -> float | None:
    """How long to wait; None for ever."""
    return None if left_s == math.inf else max(left_s, 0.0)
