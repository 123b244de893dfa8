"""The two workers of one match, which guarantee a move whatever happens to them.

A match has two workers that follow the same history in processes of their own. The *thinker* plays
as the player spec says, on the fastest machine that can be built. The *understudy* has a Prolog
machine, which is ready in a moment, and only looks for a legal move. The move that is sent is the
thinker's decision, its best so far when time is up, or else the understudy's.

Workers that are lost are replaced: see `slot`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile

from ggp.errors import BackendUnavailableError
from ggp.gdl.source import printable
from ggp.gdl.syntax.tuples import TUPLE
from ggp.players import Decision
from ggp.protocol.messages import NIL
from ggp.protocol.path import History, PathTurn, was_replaced
from ggp.protocol.session import Ask
from ggp.run import processes
from ggp.server.latency import StopTimes
from ggp.server.match_log import MatchLog
from ggp.server.workers import orders
from ggp.server.workers.orders import Answer, MoveReport, Setup, Think
from ggp.server.workers.pool import WorkerPool, WorkerProcess

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

    @property
    def kills(self) -> int:
        """Number of workers that died or were killed."""
        return self._thinker.kills + self._understudy.kills

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
        return MoveToSend(last_resort(self._history), "last resort", False, None)


def last_resort(turns: Sequence[PathTurn]) -> str:
    """The likeliest move if no legal one is known: one of ours, or `nil` if there is none.

    Where roles take turns, every second of our moves is a `noop`, so the move before last is
    likelier than the last. A move that the server replaced is not repeated until it has accepted
    another; the move that it executed instead was legal.

    Args:
        turns: the path so far.
    """
    moves = [turn.move or turn.submitted for turn in turns]
    # The latest four, latest first.
    one, two, three, four = (None, None, None, None, *moves)[:-5:-1]
    may_alternate = four is None or two == four or one == three
    swapped = two is not None and one != two and may_alternate
    likely = [two, one] if swapped else [one]
    replaced = {turn.submitted for turn in takewhile(was_replaced, reversed(turns))}
    candidates = (move for move in (*likely, *reversed(moves)) if move not in replaced)
    return next((move for move in candidates if move is not None), NIL)


def _choice(source: str, report: MoveReport) -> MoveToSend:
    return MoveToSend(report.decision.move, source, report.final, report.decision)


# ------------------------------------------------------------------------
# One worker of a match, and its replacements when it dies, hangs or uses too much memory.
#
# The slot remembers the match, and the process does not matter: a new one gets the setup, the whole
# history and the open order. From then on it gets only turns that it does not have. If it has (a,
# b, c) and the history is now (a, x, y), because the server corrected itself, the next order is:
# keep 1, then x, y.
#
# A worker that keeps dying before it has decided anything is restarted later each time, and finally
# as a player that only looks for legal moves.

HANG_S = 3.0
"""A worker that does not answer this long after a deadline is taken to hang, unless it starves."""

STARVED_S = 30.0
STARVED_SHARE = 0.5
STILL_SHARE = 0.01
"""A worker starves if since its deadline it got less than this share of `HANG_S` on a processor,
and is not blocked. On a busy machine it is waited for: a replacement would have to begin anew, on
the same processors. For at most this long."""

BUILD_S = 60.0
"""Time limit of building a machine besides grounding: reading rules, compiling kernels."""

LISTEN_S = 1.0
LISTEN_SHARE = 0.3
"""A worker without which there may be no move has this long, and at most this share of the
available time, to show that it is alive when it is asked."""

MAX_LIVES = 3
"""A worker that died this often without a decision is restarted as a player that only looks for
legal moves."""

MAX_PAUSE_S = 30.0

_log = logging.getLogger(__name__)


class WorkerSlot:
    """A worker of a match, and its replacements.

    Args:
        name: `thinker` or `understudy`.
        pool: source of processes.
        setup: its match.
        log: receives events.
        changed: called when there is news: a report, an end, readiness.
        is_last: whether there may be no move without it, so that it is replaced early.
    """

    def __init__(
        self,
        name: str,
        pool: WorkerPool,
        setup: Setup,
        log: MatchLog,
        changed: Callable[[], None],
        *,
        is_last: bool = False,
    ) -> None:
        self.name, self._is_last = name, is_last
        self.built = False
        self.warm = False
        self.failed = False
        self.backend: str | None = None  # on which the match has begun
        self.report: orders.MoveReport | None = None
        self.idle = False  # nothing more will come of the present order
        self.lost = False  # and nothing sound came
        self.concluded = False
        self.goal: float | None = None  # at the end of the match, if it is known
        self._given = 0
        self._words = Words(setup.rules)
        self._pool, self._setup, self._log, self._changed = pool, setup, log, changed
        self._process: WorkerProcess | None = None
        self._order: Think | None = None
        self._history: History = ()
        self._sent: History = ()
        self._lives = 0
        self.kills = 0  # how often its process died
        self._watchdog: asyncio.TimerHandle | None = None
        self._starting: asyncio.Task[None] | None = None
        self._warm_until_s = float("inf")
        self._closing = asyncio.Event()

    def start(self, ready_by_s: float) -> None:
        """Begin to build; the start clock is used until `ready_by_s`."""
        self._warm_until_s = ready_by_s
        self._starting = asyncio.ensure_future(self._start(0.0))

    def think(self, number: int, history: History, deadline_s: float) -> None:
        """Look for a move; results appear in `report`."""
        self.report, self.idle, self.lost = None, self.failed, False
        self._history = history
        self._order = Think(number, 0, history, deadline_s)
        self._give(self._order)
        process = self._process
        if self._is_last and process is not None:
            now_s = time.monotonic()
            if process.is_up:
                process.send(orders.AreYouThere())
            in_s = min(LISTEN_S, LISTEN_SHARE * max(0.0, deadline_s - now_s))
            asyncio.get_running_loop().call_later(in_s, self._kill_unless_heard, process, now_s)

    def catch_up(self, history: History) -> None:
        """Follow a history at the next opportunity."""
        self._history = history

    def conclude(self, history: History, deadline_s: float) -> None:
        """Find out what the end of a match with this history is worth: then it has `concluded`."""
        self._order = None
        if self._process is None or self._process.ended:
            self.concluded = True
            return
        keep = _common(self._sent, history)
        self._process.send(orders.Conclude(keep, history[keep:], deadline_s))

    def rest(self) -> None:
        """Mark the order as answered; later results of it are dropped."""
        self._order = None

    def settle(self, backend: str) -> None:
        """Make later workers play on the backend on which the match has begun."""
        if self._setup.backend == "auto" and not self._setup.settled:
            self._log.write("backend", worker=self.name, backend=backend)
            self.backend = backend
            # A worker that finds no circuit in the cache builds it anew, or plays without one.
            known = "auto" if backend == "propnet" else backend
            self._setup = replace(self._setup, backend=known, settled=True)

    async def close(self) -> None:
        """End the worker for good."""
        self._closing.set()
        self._calm()
        if self._starting is not None:
            self._starting.cancel()  # it may wait until the template has loaded
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._process is not None:
            await self._pool.give_back(self._process)
            self._process = None

    # ---------------------------------------------------------------- private

    async def _start(self, pause_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), pause_s)
        if self._closing.is_set():
            return
        try:
            process = await self._pool.take(light=self._is_last)
        except BackendUnavailableError as error:
            self._tell("failed", str(error))
            self._lives += 1
            self._replace()
            return
        if self._closing.is_set():
            await self._pool.give_back(process)
            return
        self._process = process
        process.on_answer, process.on_end = self._hear, self._ended
        self._tell("started", _shown(process.rights) if process.is_up else "")
        if process.ended:  # it did while nobody listened
            self._ended("it died while it was waiting for a match")
            return
        self._sent = ()
        stands_in = self._lives >= MAX_LIVES
        process.send(self._setup.for_stand_in() if stands_in else self._setup)
        self._watch(time.monotonic() + self._setup.grounding_s + BUILD_S)
        if self._order is not None:
            self._give(self._order)

    def _give(self, order: Think) -> None:
        process = self._process
        if process is None or process.ended:
            return
        keep = _common(self._sent, order.turns)
        process.send(replace(order, keep=keep, turns=order.turns[keep:]))
        self._sent, self._given = order.turns, order.number
        # While the machine is being built, the time limit for building applies instead.
        if self.built:
            self._watch(order.deadline_s)

    def _watch(self, until_s: float) -> None:
        """Kill the worker unless it answers soon after this time."""
        self._calm()
        in_s = max(0.0, until_s - time.monotonic())
        self._watchdog = asyncio.get_running_loop().call_later(in_s, self._wait_on)

    def _wait_on(self, had_s: float = 0.0, waited_s: float = 0.0) -> None:
        """Wait for a worker whose time is over.

        Args:
            had_s: its CPU time since then.
            waited_s: time waited so far.
        """
        process = self._process
        if process is None:
            return
        before_s = processes.processor_seconds(process.pid)

        def look() -> None:
            now_s = processes.processor_seconds(process.pid)
            got_s = 0.0 if now_s is None or before_s is None else now_s - before_s
            is_still = got_s < STILL_SHARE * HANG_S
            is_fed = had_s + got_s >= STARVED_SHARE * HANG_S
            if is_still or is_fed or waited_s + HANG_S >= STARVED_S:
                process.kill("it hangs")
            else:
                self._wait_on(had_s + got_s, waited_s + HANG_S)

        self._watchdog = asyncio.get_running_loop().call_later(HANG_S, look)

    def _kill_unless_heard(self, process: WorkerProcess, since_s: float) -> None:
        """Kill a worker that is silent; if it is still starting, only if another is ready."""
        if process.heard_s < since_s and (process.is_up or self._pool.has_ready):
            process.kill("it does not answer")

    def _hear(self, answer: Answer) -> None:
        match answer:
            case orders.Foreseen():
                self._log.write("foreseen", worker=self.name, text=answer.text[:1000])
                level = logging.WARNING if answer.is_hopeless else logging.INFO
                _log.log(level, "%s", printable(answer.text[:1000]))
            case orders.MachineBuilt():
                self._tell("built", f"{answer.backend}, {answer.seconds:.2f} s")
                self.settle(answer.backend)
                self.built = True
                self._warm_up()
            case orders.Failed():
                self._tell("failed", answer.error)
                self.failed = self.idle = True
                self._calm()
            case orders.MoveReport():
                self._hear_report(answer)
            case orders.GaveUp():
                self._tell("gave up", answer.error)
                self._finish(answer.number, lost=True)
            case orders.FinalGoal():
                is_number = answer.goal is not None and math.isfinite(answer.goal)
                self.concluded, self.goal = True, answer.goal if is_number else None
            case orders.Up():
                self._tell("runs", _shown(answer.rights))
            case orders.Said():
                self._log.write(
                    "said", worker=self.name, level=answer.level[:20], text=answer.text[:1000]
                )
        self._changed()

    def _hear_report(self, report: orders.MoveReport) -> None:
        if not self._words.include(report.decision.move):
            if self._process is not None:
                self._process.kill("it answered words that are not in the rules")
            return
        if self._order is not None and report.number == self._order.number:
            self.report = report
        if report.final:
            self._finish(report.number, lost=not report.decision.is_sound)

    def _finish(self, number: int, *, lost: bool) -> None:
        """Record that the worker is done with an order."""
        self.warm = True
        if number == self._given:
            self._calm()
        # The first look shows nothing yet: a worker may die of every real question.
        if number >= 0 and not lost:
            self._lives = 0
        if self._order is not None and number == self._order.number:
            self.idle, self.lost = True, lost

    def _warm_up(self) -> None:
        """Let the player use the start clock, unless there is a question to work on.

        Without a player that counts, and after a start clock, only for a moment; so it is in a
        match that is under way, where the worker sees to it.
        """
        now_s = time.monotonic()
        if self._order is not None and self._order.deadline_s > now_s:
            self._watch(self._order.deadline_s)
            return
        until_s = self._warm_until_s
        if self._is_last or math.isinf(until_s):
            until_s = min(now_s + orders.FIRST_LOOK_S, until_s)
        self._give(Think(orders.FIRST_LOOK, 0, self._history, max(now_s, until_s)))

    def _calm(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def _ended(self, why: str) -> None:
        self._tell("died", why)
        self._calm()
        self.kills += 1
        self._lives += 1
        self._replace()
        self._changed()

    def _replace(self) -> None:
        self.built = False
        if self._process is not None:
            gone, self._process = self._process, None
            self._pool.drop(gone)
        if not self._closing.is_set():
            most_s = LISTEN_S if self._is_last else MAX_PAUSE_S
            pause_s = 0.0 if self._lives <= 1 else min(0.5 * 2 ** (self._lives - 2), most_s)
            self._warm_until_s = float("inf")
            self._starting = asyncio.ensure_future(self._start(pause_s))

    def _tell(self, what: str, text: str) -> None:
        pid = None if self._process is None else self._process.pid
        self._log.write("worker", worker=self.name, what=what, pid=pid, text=text)


def _common(left: History, right: History) -> int:
    """Number of turns at the beginning that are the same."""
    for number, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return number
    return min(len(left), len(right))


def _shown(rights: tuple[str, ...]) -> str:
    return f"gave up: {', '.join(rights) or 'nothing'}"


# ------------------------------------------------------------------------
# The words of a rulesheet: the only words that a worker's answers may contain.
#
# A worker reads input of strangers. If they took control of it, its answers would be the only way
# out of the machine, and they are moves of the game.

_WORD = re.compile(r"[^\s();\ufeff]+")
_BORDERS = frozenset(" \t\r\n\v\f();,.:&|~\ufeff")
"""Characters that may stand beside a symbol, in either syntax of rules."""


class Words:
    """The symbols of a rulesheet. They are looked up in its text: splitting all of it would keep
    others waiting.

    Args:
        rules: as they were sent.
    """

    def __init__(self, rules: str) -> None:
        self._text = rules.lower()
        self._known = {TUPLE}

    def include(self, move: str) -> bool:
        """Whether a move, in canonical KIF, contains no other symbols."""
        return all(map(self._has, _WORD.findall(move)))

    def _has(self, word: str) -> bool:
        at = -1
        while word not in self._known:
            at = self._text.find(word, at + 1)
            if at < 0:
                return False
            beside = (
                self._text[max(at - 1, 0) : at],
                self._text[at + len(word) : at + len(word) + 1],
            )
            if not any(each and each not in _BORDERS for each in beside):
                self._known.add(word)
        return True
