"""The two workers of one match, which guarantee a move whatever happens to them.

A match has two workers that follow the same history in processes of their own. The *thinker* plays
as the player spec says, on the fastest machine that can be built. The *understudy* has a Prolog
machine, which is ready in a moment, and only looks for a legal move. The move that is sent is the
thinker's decision, its best so far when time is up, or else the understudy's.

Workers that are lost are replaced: see `slot`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ggp.players import Decision
from ggp.protocol.messages import NIL
from ggp.protocol.path import History
from ggp.protocol.session import Ask
from ggp.server.latency import StopTimes
from ggp.server.match_log import MatchLog
from ggp.server.workers.orders import MoveReport, Setup
from ggp.server.workers.pool import WorkerPool
from ggp.server.workers.slot import WorkerSlot

THINKER, UNDERSTUDY = "thinker", "understudy"

GRACE_S = 0.75
"""Time after its clock in which a server still takes a move: those in the field wait a second."""

SCORE_S = 1.0
"""Time for finding out the score after a match; a worker that takes twice as long is given up."""

BACK_S = 0.1
WAY_SHARE = 0.1
"""Workers are told to stop this long before the server answers, at most this share of the time;
less long if they have stopped soon after they were told."""


@dataclass(frozen=True, slots=True)
class MoveToSend:
    """A move to send.

    Attributes:
        move: canonical KIF.
        source: `thinker`, `understudy`, or `last resort`.
        final: false if it is the best so far because time was up.
        decision: the decision behind it, None for a last resort.
        reading: the first reading of the history that it fits: 0 for the history of the question,
            then its doubts; None if it was not found out.
    """

    move: str
    source: str
    final: bool
    decision: Decision | None
    reading: int | None = None


class WorkerPair:
    """The workers of one match.

    Args:
        pool: source of processes.
        setup: the match, for the thinker.
        log: receives events.
    """

    def __init__(self, pool: WorkerPool, setup: Setup, log: MatchLog) -> None:
        self._news = asyncio.Event()
        self._log = log
        self._thinker = WorkerSlot(THINKER, pool, setup, log, self._news.set)
        simple = setup.for_stand_in(backend="prolog")
        self._understudy = WorkerSlot(UNDERSTUDY, pool, simple, log, self._news.set, is_last=True)
        self._number = 0
        self._asked = 0
        self._hurried = 0
        self._turn_taking = asyncio.Lock()
        self._history: History = ()
        self._stop_s = 0.0
        self._stops = StopTimes(BACK_S)

    def start(self, ready_by_s: float) -> None:
        """Start the workers, first the one without which there may be no move."""
        self._understudy.start(ready_by_s)
        self._thinker.start(ready_by_s)

    def catch_up(self, history: History) -> None:
        """Let the workers follow a history before there is a question."""
        self._thinker.catch_up(history)
        self._understudy.catch_up(history)

    @property
    def backend(self) -> str | None:
        """The backend on which the match has begun; None before that."""
        return self._thinker.backend

    def settle(self, backend: str) -> None:
        """Make the thinker play on the backend on which the match has begun."""
        self._thinker.settle(backend)

    async def get_ready(self, question: int, deadline_s: float) -> None:
        """Start the workers; return when the thinker is ready, or when time is up."""
        async with self._turn_taking:
            self._asked = question
            self.start(deadline_s)
            while not self._is_ready() and await self._wait(deadline_s):
                pass

    async def choose(self, ask: Ask, clock_end_s: float) -> MoveToSend:
        """A move, at the deadline of the question or before it.

        If no particle agrees with the history, its other readings are tried, while there is time.
        If no move is known at the deadline, the first that is found later is the answer: any other
        would certainly be illegal.

        Args:
            clock_end_s: when the server's clock runs out.
        """
        async with self._turn_taking:
            self._asked, self._history = ask.number, ask.history
            readings = (ask.history, *ask.doubts)
            number = 0
            self._think(readings[0], ask.deadline_s)
            while (choice := self._decided(is_last=number == len(readings) - 1)) is None:
                if self._is_lost() and number < len(readings) - 1:
                    number += 1
                    self._log.write("note", text="nothing agrees with what was told: read anew")
                    self._think(readings[number], ask.deadline_s)
                elif not await self._wait(ask.deadline_s):
                    break
            while not self._knows_a_move() and await self._wait(clock_end_s + GRACE_S):
                pass
            choice = choice or self._best_so_far()
            self._learn(choice)
            self._thinker.rest()
            self._understudy.rest()
            is_sound = choice.decision is not None and choice.decision.is_sound
            return replace(choice, reading=number) if is_sound else choice

    async def score(self, history: History) -> float | None:
        """What the end of a match with this history is worth to us; None if it is not known."""
        slot = self._thinker if self._thinker.built else self._understudy
        slot.conclude(history, time.monotonic() + SCORE_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * SCORE_S):
                while not slot.concluded:
                    await self._news.wait()
                    self._news.clear()
        return slot.goal

    def hurry(self, question: int) -> None:
        """Answer a question at once: nobody waits for a better answer."""
        self._hurried = max(self._hurried, question)
        self._news.set()

    async def close(self) -> None:
        """End both workers."""
        await asyncio.gather(self._thinker.close(), self._understudy.close())

    def _is_ready(self) -> bool:
        if self._thinker.failed:
            return self._understudy.warm or self._understudy.failed
        return self._thinker.warm

    def _is_lost(self) -> bool:
        """Whether no particle is known that agrees with the history.

        The understudy searches less, so it counts only if the thinker is not available.
        """
        return self._thinker.lost if self._thinker.built else self._understudy.lost

    def _think(self, history: History, deadline_s: float) -> None:
        self._number += 1
        left_s = deadline_s - time.monotonic()
        self._stop_s = deadline_s - min(self._stops.early_s, WAY_SHARE * max(left_s, 0.0))
        self._thinker.think(self._number, history, self._stop_s)
        self._understudy.think(self._number, history, self._stop_s)

    def _learn(self, choice: MoveToSend) -> None:
        """Record how soon the thinker stopped, if it used its time up."""
        now_s = time.monotonic()
        if choice.source == THINKER and now_s >= self._stop_s:
            late_s = now_s - self._stop_s
            self._stops.stopped(late_s if choice.final else max(late_s, BACK_S))

    async def _wait(self, deadline_s: float) -> bool:
        """Wait for news; false if time is up."""
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or self._hurried >= self._asked:
            return False
        try:
            await asyncio.wait_for(self._news.wait(), left_s)
        except TimeoutError:
            return False
        self._news.clear()
        return self._hurried < self._asked

    def _decided(self, *, is_last: bool) -> MoveToSend | None:
        """A move that neither waiting nor another reading would improve, if there is one."""
        thinker = self._thinker.report
        if thinker is not None and thinker.final and thinker.decision.is_sound:
            return _choice(THINKER, thinker)
        is_through = self._thinker.idle and self._understudy.idle
        if is_through and (is_last or not self._is_lost()):
            return self._best_so_far()
        return None

    def _knows_a_move(self) -> bool:
        if self._thinker.idle and self._understudy.idle:
            return True  # or never will
        return self._thinker.report is not None or self._understudy.report is not None

    def _best_so_far(self) -> MoveToSend:
        reports = ((THINKER, self._thinker.report), (UNDERSTUDY, self._understudy.report))
        known = [(source, report) for source, report in reports if report is not None]
        for sound in (True, False):
            for source, report in known:
                if report.decision.is_sound is sound:
                    return _choice(source, report)
        moves = [turn.move or turn.submitted for turn in self._history]
        return MoveToSend(last_resort(moves), "last resort", False, None)


def last_resort(moves: Sequence[str | None]) -> str:
    """The likeliest move if no legal one is known: one of ours, or `nil` if there is none.

    Where roles take turns, every second of our moves is a `noop`, so the move before last is
    likelier than the last.

    Args:
        moves: ours so far, canonical KIF; None where unknown.
    """
    # The latest four, latest first.
    one, two, three, four = (None, None, None, None, *moves)[:-5:-1]
    may_alternate = four is None or two == four or one == three
    if two is not None and one != two and may_alternate:
        return two
    return one or next((move for move in reversed(moves) if move is not None), NIL)


def _choice(source: str, report: MoveReport) -> MoveToSend:
    return MoveToSend(report.decision.move, source, report.final, report.decision)
