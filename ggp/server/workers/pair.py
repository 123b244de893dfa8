"""The two workers of one match, which guarantee a move whatever happens to their processes.

Both workers follow the same history. The *thinker* is the player of the spec, on the fastest
machine that can be built. The *understudy* only looks for a legal move. It begins on Prolog, which
is ready in a moment but loses track of long matches. So another one, on a machine like the
thinker's, takes over once it has followed the match. A question of the match comes in; the answer
is the thinker's decision, or its best move so far when time is up, or else the understudy's move.

A `WorkerSlot` replaces workers that die.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile

from ggp.errors import BackendUnavailableError
from ggp.gdl.source import printable
from ggp.gdl.syntax.reading import TUPLE
from ggp.players.player import Decision
from ggp.protocol.messages import NIL, SYMBOL
from ggp.protocol.path import NO_FIT, Fit, History, PathTurn, was_replaced
from ggp.protocol.session import Ask
from ggp.run import processes
from ggp.run.clocks import process_cpu_seconds
from ggp.server.latency import StopTimes
from ggp.server.match_log import MatchLog
from ggp.server.workers import orders
from ggp.server.workers.orders import Answer, MoveReport, Setup, Think
from ggp.server.workers.pool import Background, WorkerPool, WorkerProcess

THINKER, UNDERSTUDY = "thinker", "understudy"

GRACE_S = 0.75
"""Time after its clock in which a server still accepts a move; real servers wait a second."""

FAIR_SHARE = 0.05
"""A reading of the messages that the thinker tried in less of the time was not really tried."""

SCORE_S = 1.0
"""Time for finding out the score after a match; after twice this time the score is unknown."""

BACK_S = 0.1
WAY_SHARE = 0.1
"""Workers must stop this long before the answer, but at most this share of the time; `StopTimes`
shortens it if they stop quickly."""


@dataclass(frozen=True, slots=True)
class MoveToSend:
    """A move to send.

    Attributes:
        move: canonical KIF.
        source: `thinker`, `understudy`, or `last resort`.
        final: false if it is the best move so far because time was up.
        decision: the decision behind it; None for a last resort.
        fit: which reading of the question's messages fits.
    """

    move: str
    source: str
    final: bool
    decision: Decision | None
    fit: Fit = NO_FIT


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
        self._pool, self._setup = pool, setup
        self._understudy = self._new_understudy("prolog", is_last=True)
        self._understudies = [self._understudy]  # the last may be about to take over
        self._background = Background()
        self._number = 0
        self._question = 0
        self._hurried = 0
        self._turn_taking = asyncio.Lock()
        self._history: History = ()
        self._stop_s = 0.0
        self._stops = StopTimes(BACK_S)

    def start(self, ready_by_s: float) -> None:
        """Start the workers, first the understudy, without which there may be no move."""
        self._understudy.start(ready_by_s)
        self._thinker.start(ready_by_s)

    def catch_up(self, history: History) -> None:
        """Give the workers a history to follow before there is a question."""
        self._history = history
        for slot in (self._thinker, *self._understudies):
            slot.catch_up(history)

    @property
    def backend(self) -> str | None:
        """The backend on which the match has begun; None before that."""
        return self._thinker.backend

    @property
    def kills(self) -> int:
        """Number of workers that died or were killed."""
        return self._thinker.kills + sum(slot.kills for slot in self._understudies)

    def settle(self, backend: str) -> None:
        """Fix the backend of the thinker to the one on which the match has begun."""
        self._thinker.settle(backend)

    async def get_ready(self, question: int, deadline_s: float) -> None:
        """Start the workers; returns when the thinker is ready, or when time is up."""
        async with self._turn_taking:
            self._question = question
            self.start(deadline_s)
            while not self._is_ready() and await self._wait(deadline_s):
                pass

    async def choose(self, ask: Ask, clock_end_s: float) -> MoveToSend:
        """A move, at the deadline of the question or before it.

        If no particle agrees with the history, its other readings are tried, each in half of the
        time that is left. If none agrees with any, the move is that of the first. If no move is
        known at the deadline, the answer is the first that is found later: no answer would
        certainly be illegal.

        Args:
            clock_end_s: when the server's clock runs out.
        """
        async with self._turn_taking:
            self._question, self._history = ask.number, ask.history
            readings, index, fallback, num_failed = ask.readings, 0, None, 0
            whole_s = part_s = max(ask.deadline_s - time.monotonic(), 0.0)
            self._think(readings[0], ask.deadline_s)
            while (choice := self._decided(is_last=index == len(readings) - 1)) is None:
                now_s, is_known = time.monotonic(), (fallback or self._reported()) is not None
                end_s = ask.deadline_s if is_known else clock_end_s + GRACE_S
                if self._thinker.lost and part_s >= FAIR_SHARE * whole_s:
                    num_failed = index + 1
                if self._is_lost() and index < len(readings) - 1 and now_s < end_s:
                    fallback = fallback or self._reported()
                    index += 1
                    self._log.write("note", text="no particle fits the messages: another reading")
                    part_s = (end_s - now_s) / (1 if index == len(readings) - 1 else 2)
                    self._think(readings[index], now_s + part_s, is_doubt=True)
                elif not await self._wait(end_s):
                    break
            choice = choice or self._best_so_far()
            is_sound = choice.decision is not None and choice.decision.is_sound
            fit = Fit(index if is_sound else None, num_failed)
            choice = replace(choice if is_sound else fallback or choice, fit=fit)
            if is_sound or fallback is None:
                self._learn(choice)
            self._thinker.rest()
            self._understudy.rest()
            self._relieve()
            return choice

    async def score(self, history: History) -> float | None:
        """Our goal value at the end of a match with this history; None if unknown."""
        slot = self._thinker if self._thinker.is_built else self._understudy
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * SCORE_S):
                return await slot.conclude(history, time.monotonic() + SCORE_S)
        return None

    def hurry(self, question: int) -> None:
        """Answer a question immediately: nobody waits for a better answer."""
        self._hurried = max(self._hurried, question)
        self._news.set()

    async def close(self) -> None:
        """End both workers."""
        await self._background.cancel()
        await asyncio.gather(*(slot.close() for slot in (self._thinker, *self._understudies)))

    def _new_understudy(self, backend: str, *, is_last: bool = False) -> WorkerSlot:
        setup = replace(self._setup.for_stand_in(backend), settled=True)
        return WorkerSlot(UNDERSTUDY, self._pool, setup, self._log, self._news.set, is_last=is_last)

    def _relieve(self) -> None:
        """Have an understudy on the thinker's backend take over once it has followed the match.

        If it dies, another begins on Prolog again.
        """
        latest, backend = self._understudies[-1], self._thinker.built_on
        if latest is not self._understudy:
            if latest.is_sound and latest.built_on != "prolog":
                self._background.start(self._understudy.close())
                self._understudy = latest
                latest.take_over("prolog")
            elif latest.kills >= MAX_LIVES or latest.failed or latest.built_on == "prolog":
                self._background.start(latest.close())
            elif latest.warm:
                latest.catch_up(self._history)
                latest.look()
        elif backend not in (None, "prolog", latest.built_on):
            successor = self._new_understudy(backend_to_share(backend))
            self._understudies.append(successor)
            successor.catch_up(self._history)
            successor.start(math.inf)

    def _is_ready(self) -> bool:
        if self._thinker.failed:
            return self._understudy.warm or self._understudy.failed
        return self._thinker.warm

    def _is_lost(self) -> bool:
        """Whether no particle is known that agrees with the history.

        The understudy searches less, so it counts only if the thinker has no machine.
        """
        return self._thinker.lost if self._thinker.is_built else self._understudy.lost

    def _think(self, history: History, deadline_s: float, *, is_doubt: bool = False) -> None:
        self._number += 1
        left_s = deadline_s - time.monotonic()
        self._stop_s = deadline_s - min(self._stops.early_s, WAY_SHARE * max(left_s, 0.0))
        order = Think(self._number, 0, history, self._stop_s, is_doubt)
        self._thinker.think(order)
        self._understudy.think(order)

    def _learn(self, choice: MoveToSend) -> None:
        """Record the delay with which the thinker stopped, if it used up its time."""
        now_s = time.monotonic()
        if choice.source == THINKER and now_s >= self._stop_s:
            late_s = now_s - self._stop_s
            self._stops.stopped(late_s if choice.final else max(late_s, BACK_S))

    async def _wait(self, deadline_s: float) -> bool:
        """Wait for news; returns false if time is up."""
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or self._hurried >= self._question:
            return False
        try:
            await asyncio.wait_for(self._news.wait(), left_s)
        except TimeoutError:
            return False
        self._news.clear()
        return self._hurried < self._question

    def _decided(self, *, is_last: bool) -> MoveToSend | None:
        """The move to send, if neither waiting nor another reading would improve it."""
        thinker = self._thinker.report
        if thinker is not None and thinker.final and thinker.decision.is_sound:
            return _choice(THINKER, thinker)
        is_through = self._thinker.idle and self._understudy.idle
        if is_through and (is_last or not self._is_lost()):
            return self._best_so_far()
        return None

    def _best_so_far(self) -> MoveToSend:
        resort = MoveToSend(last_resort(self._history), "last resort", False, None)
        return self._reported() or resort

    def _reported(self) -> MoveToSend | None:
        """The best report so far."""
        reports = ((THINKER, self._thinker.report), (UNDERSTUDY, self._understudy.report))
        available = [(source, report) for source, report in reports if report is not None]
        available.sort(key=lambda entry: not entry[1].decision.is_sound)
        return _choice(*available[0]) if available else None


RECENT = 100
"""Number of latest turns from which a last resort is taken."""


def last_resort(turns: Sequence[PathTurn]) -> str:
    """The most probable move if no legal one is known: one of our moves, or `nil`.

    It is a move that was executed for us in a turn like this one: after turns of the same kinds, as
    many as possible. Turns are of the same kind if their percepts begin with the same words, and
    their moves are the same, or both occurred only once. If all turns are of one kind, roles
    probably take turns: every second move is a `noop`. A move that the server replaced is not
    repeated until it has accepted another; the move that it executed instead was legal.

        >>> last_resort([PathTurn(move) for move in ("noop", "e4", "noop", "noop", "d4", "noop")])
        'noop'

    Args:
        turns: the path so far.
    """
    turns = turns[-RECENT:]
    moves = [turn.move or turn.submitted for turn in turns]
    counts = Counter(moves)
    kinds = [
        (move if counts[move] > 1 else "", {text.partition(" ")[0] for text in turn.percepts or ()})
        for move, turn in zip(moves, turns, strict=True)
    ]

    def likeness(index: int) -> int:
        pairs = zip(reversed(kinds[:index]), reversed(kinds), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    likely = [len(moves) - 2] if 1 < len(moves) < 4 else []
    if any(kind != kinds[0] for kind in kinds):
        likely = sorted(range(len(moves) - 1, 0, -1), key=likeness, reverse=True)
    replaced = {turn.submitted for turn in takewhile(was_replaced, reversed(turns))}
    candidates = (*(moves[index] for index in likely), *reversed(moves))
    usable = (move for move in candidates if move is not None and move not in replaced)
    return next(usable, NIL)


def _choice(source: str, report: MoveReport) -> MoveToSend:
    return MoveToSend(report.decision.move, source, report.final, report.decision)


# ------------------------------------------------------------------------
# One worker of a match, and its replacements when it dies, hangs or uses too much memory.
#
# The slot remembers the match, so that processes can be replaced: a new one gets the setup, the
# whole history and the open order. From then on it gets only the turns that it does not have. If it
# has (a, b, c) and the history is now (a, x, y), because the server corrected itself, the next
# order is: keep 1, then x, y.
#
# A worker that keeps dying before it has decided anything is restarted with growing delays, and
# finally as a player that only looks for legal moves.

HANG_S = 3.0
"""A worker that has not answered this long after a deadline is considered to hang, unless it
starves."""

STARVED_S = 30.0
STARVED_SHARE = 0.5
STILL_SHARE = 0.01
"""A worker starves if, since its deadline, it got less than `STARVED_SHARE` of `HANG_S` on a
processor, but at least `STILL_SHARE`, so that it is not blocked. The slot waits for a starving
worker for `STARVED_S` at most: on a busy machine a replacement would start over on the same
processors."""

BUILD_S = 60.0
"""Time limit of building a machine and its player, in addition to grounding: reading rules,
compiling kernels."""

LISTEN_S = 1.0
LISTEN_SHARE = 0.3
"""The understudy has this long, and at most this share of the available time, to show that it is
alive when a question arrives: by a message or by CPU time, since on a busy machine the thread that
answers may have to wait."""

MAX_LIVES = 3
"""A worker that has died this often without a decision is restarted as a player that only looks for
legal moves."""

AHEAD = 4
"""A belief of the thinker is preferred if that of the understudy is at most this many turns ahead:
it has more particles."""

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
        is_last: whether there may be no move without this worker, so that it is replaced early.
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
        self.is_built = False
        self.built_on: str | None = None  # the backend of the latest machine
        self.is_sound = False  # whether it found its latest move by particles
        self.warm = False
        self.failed = False
        self.backend: str | None = None  # on which the match has begun
        self.report: orders.MoveReport | None = None
        self.idle = False  # the present order will bring no more reports
        self.lost = False  # and it brought no sound one
        self._goal: asyncio.Future[float | None] | None = None  # at the end of the match
        self._order_number = 0
        self._words = Words(setup.rules)
        self._pool, self._setup, self._log, self._changed = pool, setup, log, changed
        self._process: WorkerProcess | None = None
        self._order: Think | None = None
        self._history: History = ()
        self._sent_turns: History = ()
        self._lives = 0
        self.kills = 0  # how often its process died
        self._watchdog: asyncio.TimerHandle | None = None
        self._starting: asyncio.Task[None] | None = None
        self._warm_until_s = float("inf")
        self._closing = asyncio.Event()

    def start(self, ready_by_s: float) -> None:
        """Begin to build the machine; the player may use the start clock until `ready_by_s`."""
        self._warm_until_s = ready_by_s
        self._starting = asyncio.ensure_future(self._start(0.0))

    def think(self, order: Think) -> None:
        """Have the worker look for a move; its best so far appears in `report`.

        Args:
            order: with all turns.
        """
        self.report, self.idle, self.lost = None, self.failed, False
        self._history, self._order = order.turns, order
        self._give(order)
        process = self._process
        if self._is_last and process is not None:
            now_s, (_, cpu) = time.monotonic(), processes.state_and_cpu(process.pid)
            if process.is_up:
                process.send(orders.AreYouThere())
            in_s = min(LISTEN_S, LISTEN_SHARE * max(0.0, order.deadline_s - now_s))
            loop = asyncio.get_running_loop()
            loop.call_later(in_s, self._kill_unless_alive, process, now_s, cpu)

    def take_over(self, backend: str) -> None:
        """Be the worker without which there may be no move; later processes are on this backend."""
        self._is_last, self._setup = True, replace(self._setup, backend=backend)

    def catch_up(self, history: History) -> None:
        """Have the worker follow a history at the next opportunity."""
        self._history = history

    async def conclude(self, history: History, deadline_s: float) -> float | None:
        """Our goal value after this history, which the worker finds out; None if it is unknown."""
        self._order = None
        if self._process is None or self._process.ended:
            return None
        keep = orders.num_shared(self._sent_turns, history)
        self._process.send(orders.Conclude(keep, history[keep:], deadline_s))
        self._goal = asyncio.get_running_loop().create_future()
        return await self._goal

    def rest(self) -> None:
        """Mark the order as answered; later reports are dropped."""
        self._order = None

    def settle(self, backend: str) -> None:
        """Fix the backend of later workers to the one on which the match has begun."""
        if self._setup.backend == "auto" and not self._setup.settled:
            self._log.write("backend", worker=self.name, backend=backend)
            self.backend = backend
            self._setup = replace(self._setup, backend=backend_to_share(backend), settled=True)

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
        self._tell("started", _rights_text(process.rights) if process.is_up else "")
        if process.ended:  # before anybody listened
            self._ended("it died while waiting for a match")
            return
        self._sent_turns = ()
        stands_in = self._lives >= MAX_LIVES
        setup = replace(self._setup, snapshots=self._snapshots())
        process.send(setup.for_stand_in() if stands_in else setup)
        self._watch(time.monotonic() + self._setup.grounding_s + BUILD_S)
        if self._order is not None:
            self._give(self._order)

    def _snapshots(self) -> tuple[str, ...]:
        """The beliefs of the workers so far, the best first."""
        ranked = sorted(
            (-belief.turn - (AHEAD if worker == THINKER else 0), belief.snapshot)
            for worker, belief in self._log.beliefs.items()
        )
        return tuple(snapshot for _, snapshot in ranked)

    def _give(self, order: Think) -> None:
        process = self._process
        if process is None or process.ended:
            return
        keep = orders.num_shared(self._sent_turns, order.turns)
        process.send(replace(order, keep=keep, turns=order.turns[keep:]))
        self._sent_turns, self._order_number = order.turns, order.number
        # While the machine is being built, the time limit for building applies instead.
        if self.is_built:
            self._watch(order.deadline_s)

    def _watch(self, until_s: float) -> None:
        """Kill the worker unless it answers soon after `until_s`."""
        self._calm()
        in_s = max(0.0, until_s - time.monotonic())
        self._watchdog = asyncio.get_running_loop().call_later(in_s, self._wait_on)

    def _wait_on(self, had_s: float = 0.0, waited_s: float = 0.0) -> None:
        """Wait for a worker whose time is over; kill it if it is blocked or has had its share.

        Args:
            had_s: its CPU time since its time was over.
            waited_s: time waited so far.
        """
        process = self._process
        if process is None:
            return
        before_s = process_cpu_seconds(process.pid)

        def look() -> None:
            got_s = process_cpu_seconds(process.pid) - before_s
            is_still = got_s < STILL_SHARE * HANG_S
            is_fed = had_s + got_s >= STARVED_SHARE * HANG_S
            if is_still or is_fed or waited_s + HANG_S >= STARVED_S:
                process.kill("it hangs")
            else:
                self._wait_on(had_s + got_s, waited_s + HANG_S)

        self._watchdog = asyncio.get_running_loop().call_later(HANG_S, look)

    def _kill_unless_alive(self, process: WorkerProcess, since_s: float, cpu: str) -> None:
        """Kill a silent worker that does not compute; one that is still starting only if another is
        ready."""
        if process.heard_s >= since_s:
            return
        is_still = processes.state_and_cpu(process.pid)[1] == cpu
        if is_still if process.is_up else self._pool.has_ready:
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
                self.built_on = answer.backend
            case orders.PlayerReady():
                self.is_built = True
                self.look()
            case orders.Failed():
                self._tell("failed", answer.error)
                self.failed = self.idle = True
                self._calm()
            case orders.MoveReport():
                self._hear_report(answer)
            case orders.GaveUp():
                self._tell("gave up", answer.error)
                self.is_sound = False
                self._finish(answer.number, lost=True)
            case orders.Believed():
                self._log.keep(self.name, answer)
            case orders.FinalGoal():
                is_number = answer.goal is not None and math.isfinite(answer.goal)
                if self._goal is not None and not self._goal.done():
                    self._goal.set_result(answer.goal if is_number else None)
            case orders.Up():
                self._tell("runs", _rights_text(answer.rights))
            case orders.Said():
                self._log.write(
                    "said", worker=self.name, level=answer.level[:20], text=answer.text[:1000]
                )
        self._changed()

    def _hear_report(self, report: orders.MoveReport) -> None:
        if not self._words.include(report.decision.move):
            if self._process is not None:
                self._process.kill("its answer has words that are not in the rules")
            return
        if self._order is not None and report.number == self._order.number:
            self.report = report
        if report.final:
            self.is_sound = report.decision.is_sound
            self._finish(report.number, lost=not report.decision.is_sound)

    def _finish(self, number: int, *, lost: bool) -> None:
        """Record that the worker is done with an order."""
        self.warm = True
        if number == self._order_number:
            self._calm()
        # The first look proves nothing: a worker may die of every real question.
        if number >= 0 and not lost:
            self._lives = 0
        if self._order is not None and number == self._order.number:
            self.idle, self.lost = True, lost

    def look(self) -> None:
        """Let the player use the start clock, unless there is an open question.

        The understudy, and any worker after the start clock, gets only a moment. In a match that
        is under way, the worker itself limits the time.
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
        self.is_built = self.is_sound = self.warm = False
        if self._process is not None:
            process, self._process = self._process, None
            self._pool.drop(process)
        if not self._closing.is_set():
            most_s = LISTEN_S if self._is_last else MAX_PAUSE_S
            pause_s = 0.0 if self._lives <= 1 else min(0.5 * 2 ** (self._lives - 2), most_s)
            self._warm_until_s = float("inf")
            self._starting = asyncio.ensure_future(self._start(pause_s))

    def _tell(self, happening: str, text: str) -> None:
        pid = None if self._process is None else self._process.pid
        self._log.write("worker", worker=self.name, what=happening, pid=pid, text=text)


def backend_to_share(backend: str) -> str:
    """The backend with which another worker builds the same machine.

    A worker that finds no circuit in the cache builds one, or plays without.
    """
    return "auto" if backend == "propnet" else backend


def _rights_text(rights: tuple[str, ...]) -> str:
    return f"gave up: {', '.join(rights) or 'nothing'}"


# ------------------------------------------------------------------------
# The words of a rulesheet: the only words that a worker's answers may contain.
#
# A worker reads input of strangers. If they took control of it, its answers would be the only way
# to get data out of this machine; so answers may contain only moves in the words of the game.

_BORDERS = frozenset(" \t\r\n\v\f();,.:&|~\ufeff")
"""Characters that may stand beside a symbol, in either syntax of rules."""


class Words:
    """The symbols of a rulesheet, looked up in its text: splitting the text would delay others.

    Args:
        rules: the rulesheet, as sent.
    """

    def __init__(self, rules: str) -> None:
        self._text = rules.lower()
        self._included = {TUPLE}

    def include(self, move: str) -> bool:
        """Whether a move, in canonical KIF, contains no other symbols."""
        return all(map(self._has, SYMBOL.findall(move)))

    def _has(self, word: str) -> bool:
        at = -1
        while word not in self._included:
            at = self._text.find(word, at + 1)
            if at < 0:
                return False
            neighbours = (
                self._text[max(at - 1, 0) : at],
                self._text[at + len(word) : at + len(word) + 1],
            )
            if not any(char and char not in _BORDERS for char in neighbours):
                self._included.add(word)
        return True
