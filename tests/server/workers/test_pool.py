"""Workers that do not start, hang or die, and their replacements."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ggp.players import Decision
from ggp.run import processes
from ggp.run.messages import framed
from ggp.server.match_log import MatchLog
from ggp.server.workers import pair
from ggp.server.workers import pool as pool_module
from ggp.server.workers.nursery import Nursery, Taken
from ggp.server.workers.orders import (
    Answer,
    MachineBuilt,
    MoveReport,
    PlayerReady,
    Setup,
    Think,
    Up,
    to_json,
)
from ggp.server.workers.pair import WorkerSlot
from ggp.server.workers.pool import (
    START_S,
    STILL_S,
    STOPPED_S,
    WorkerPool,
    WorkerProcess,
    connected,
)
from tests.server.live import PATIENCE_S, handed_over

MEMORY = 1 << 30
SETUP = Setup("(role a)", "a", "random", "prolog", 1, 1.0, MEMORY)


def says(answer: Answer) -> str:
    """A shell command that sends a message."""
    return "printf '" + "".join(f"\\{byte:03o}" for byte in framed(to_json(answer))) + "'"


HANGS = "exec sleep 1000"
RUNS = f"{says(Up(()))}; {HANGS}"
BUILDS = f"{says(MachineBuilt('prolog', ('a',), 0.0))}; {HANGS}"
BUILT = f"{says(MachineBuilt('prolog', ('a',), 0.0))}; {says(PlayerReady())}; {HANGS}"
DIES = "exit 3"

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only Linux tells of a process"
)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "WATCH_EVERY_S", 0.01)


class ShellNursery(Nursery):
    """Its workers run these shell scripts in turn, and the last of them for ever."""

    def __init__(self, *scripts: str) -> None:
        super().__init__(lambda channel, anew: None)
        self._scripts = list(scripts)

    async def take(self, *, light: bool) -> Taken:
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        return await handed_over("sh", "-c", script)


class ShellPool(WorkerPool):
    """A pool whose workers run shell scripts.

    Attributes:
        nursery: their source.
        workers: all that were taken.
        lights: for each, whether one without kernels sufficed.
    """

    def __init__(self, *scripts: str) -> None:
        self.nursery = ShellNursery(*scripts)
        super().__init__(self.nursery, MEMORY)
        self.workers: list[WorkerProcess] = []
        self.lights: list[bool] = []

    async def take(self, *, light: bool) -> WorkerProcess:
        self.lights.append(light)
        self.workers.append(await super().take(light=light))
        return self.workers[-1]


class WorkerLog(MatchLog):
    """Keeps the events of workers, and writes nothing."""

    def __init__(self) -> None:
        super().__init__(None, "m")
        self._events: list[tuple[str, str, str]] = []

    def write(self, event: str, **fields: Any) -> None:
        if event == "worker":
            self._events.append((fields["worker"], fields["what"], fields["text"]))

    def texts(self, worker: str, event: str) -> list[str]:
        """The texts of one kind of event of a worker, in order."""
        return [text for *kind, text in self._events if kind == [worker, event]]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


def with_pool(pool: ShellPool, scenario: Callable[[ShellPool], Awaitable[None]]) -> None:
    """Run a scenario with a pool that is open."""

    async def run() -> None:
        pool.open()
        try:
            await scenario(pool)
        finally:
            await pool.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("states", "killed"),
    [
        ([("S", "1 0"), ("S", "1 0")], False),
        ([("R", "1 0"), ("R", "1 0"), ("S", "2 0")], False),
        ([("T", "1 0"), ("T", "1 0")], True),
        ([("t", "1 0"), ("t", "1 0")], True),
        ([("T", "1 0"), ("S", "1 1")], False),
        ([("S", "1 0")] * 5, True),
        ([("R", f"{number} 0") for number in range(5)], False),
        ([("R", f"{number} 0") for number in range(30)], True),
        ([("", "")] * 5, False),
        ([("", "")] * 30, True),
    ],
    ids=[
        *("waits", "slow", "stopped", "traced", "continued", "hangs", "advances", "spins"),
        *("not-told", "not-told-for-long"),
    ],
)
def test_newborn_is_killed_when_it_will_never_run(
    monkeypatch: pytest.MonkeyPatch, states: list[tuple[str, str]], killed: bool
) -> None:
    every_s = STOPPED_S + 0.1
    assert 4 * every_s > STILL_S > every_s
    assert 29 * every_s > START_S > 4 * every_s
    observations = iter(states)
    monkeypatch.setattr(processes, "state_and_cpu", lambda pid: next(observations))

    async def run() -> None:
        ends: list[str] = []
        worker = await connected(await handed_over("sh", "-c", HANGS))
        worker.on_end = ends.append
        for number in range(len(states)):
            worker.ask(worker.started_s + number * every_s)
        worker.kill("the test is over")  # unless it was killed before
        await until(lambda: ends)
        assert ends == ["it does not start" if killed else "the test is over"]

    asyncio.run(run())


@needs_proc
def test_worker_that_is_stopped_while_it_starts_is_killed() -> None:
    async def run() -> None:
        ends: list[str] = []
        worker = await connected(await handed_over("sh", "-c", HANGS))
        os.kill(worker.pid, signal.SIGSTOP)
        worker.on_end = ends.append
        await until(lambda: processes.state_and_cpu(worker.pid)[0] == "T")
        worker.ask(worker.started_s)
        worker.ask(worker.started_s + STOPPED_S + 0.1)
        await until(lambda: ends)
        assert ends == ["it does not start"]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("rights", "warned"),
    [
        ((), ["use the network", "read the files of this user"]),
        (("no network",), ["read the files of this user"]),
        (("no sockets", "no reading of other files"), []),
    ],
)
def test_dropped_rights_of_workers_are_logged_once(
    rights: tuple[str, ...], warned: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(pool: ShellPool) -> None:
        for _ in range(2):
            await pool.take(light=True)
        await until(lambda: caplog.records)
        await asyncio.sleep(0.1)

    caplog.set_level("INFO", "ggp.server.workers.pool")
    with_pool(ShellPool(f"{says(Up(rights))}; {HANGS}"), scenario)
    notice, *warnings = [record.getMessage() for record in caplog.records]
    assert notice == f"workers gave up: {', '.join(rights) or 'nothing'}"
    assert [text.partition(":")[0] for text in warnings] == [f"workers could {w}" for w in warned]


def test_worker_that_was_dropped_has_ended_when_the_pool_is_closed() -> None:
    async def run() -> None:
        pool = ShellPool(RUNS)
        worker = await pool.take(light=True)
        pool.drop(worker)
        await pool.close()
        assert worker.ended

    asyncio.run(run())


def test_worker_that_answers_with_words_outside_the_rules_is_killed() -> None:
    def answers(move: str) -> str:
        report = MoveReport(1, True, Decision(move, (), 1, True, 0, 0.0))
        return f"{says(report)}; {HANGS}"

    async def run() -> None:
        pool = ShellPool(answers("(mark my secret)"), answers("(mark 1 B)"), answers("(mark 1 b)"))
        setup = replace(SETUP, rules="(role a) (<= (legal a (Mark 1 ?x)) (x ?x)) (x b)")
        thinker = WorkerSlot("thinker", pool, setup, MatchLog(None, "m"), lambda: None)
        thinker.think(Think(1, 0, (), time.monotonic() + PATIENCE_S))
        thinker.start(time.monotonic())
        await until(lambda: thinker.report is not None)
        assert thinker.report is not None
        assert (thinker.report.decision.move, len(pool.workers)) == ("(mark 1 b)", 3)
        await thinker.close()
        await pool.close()

    asyncio.run(run())


def end_of_silent_understudy(pool: ShellPool, event: str) -> str:
    """Why a silent understudy was killed; `the test is over` if the slot did not kill it.

    Args:
        event: of the worker, after which the question comes.
    """

    async def run() -> str:
        log = WorkerLog()
        understudy = WorkerSlot("understudy", pool, SETUP, log, lambda: None, is_last=True)
        understudy.start(time.monotonic())
        await until(lambda: log.texts("understudy", event))
        understudy.think(Think(1, 0, (), time.monotonic() + PATIENCE_S))
        await asyncio.sleep(0.01)  # longer than `LISTEN_S`
        pool.workers[0].kill("the test is over")
        await until(lambda: len(pool.workers) == 2)
        await understudy.close()
        await pool.close()
        (reason,) = log.texts("understudy", "died")
        return reason

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("has_ready", "reason"), [(True, "it does not answer"), (False, "the test is over")]
)
def test_understudy_that_only_starts_gives_way_if_another_worker_is_ready(
    monkeypatch: pytest.MonkeyPatch, has_ready: bool, reason: str
) -> None:
    monkeypatch.setattr(pair, "LISTEN_S", 0.0)
    pool = ShellPool(HANGS, RUNS)
    pool.nursery.is_loaded = has_ready
    assert end_of_silent_understudy(pool, "started") == reason


@pytest.mark.parametrize(
    ("computes", "reason"), [(False, "it does not answer"), (True, "the test is over")]
)
def test_understudy_that_computes_may_be_slow_to_answer(
    monkeypatch: pytest.MonkeyPatch, computes: bool, reason: str
) -> None:
    monkeypatch.setattr(pair, "LISTEN_S", 0.0)
    looks = count()
    monkeypatch.setattr(
        processes, "state_and_cpu", lambda pid: ("S", str(next(looks)) if computes else "0")
    )
    assert end_of_silent_understudy(ShellPool(RUNS), "runs") == reason


@pytest.mark.parametrize(
    ("share", "kills_after"),
    [(1.0, 1), (0.4, 2), (0.1, 5), (0.04, 10), (0.005, 1), (0.0, 1)],
)
def test_worker_that_starves_has_more_time_than_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch, share: float, kills_after: int
) -> None:
    """The slot looks at it every `HANG_S`; it gets that share of a processor."""
    hang_s = 2**-6
    monkeypatch.setattr(pair, "HANG_S", hang_s)
    monkeypatch.setattr(pair, "STARVED_S", 10 * hang_s)
    looks = 0

    def process_cpu_seconds(pid: int) -> float:
        nonlocal looks
        looks += 1
        return share * hang_s * (looks // 2)

    monkeypatch.setattr(pair, "process_cpu_seconds", process_cpu_seconds)

    async def run() -> None:
        pool, log = ShellPool(BUILT, HANGS), WorkerLog()
        thinker = WorkerSlot("thinker", pool, SETUP, log, lambda: None)
        thinker.start(time.monotonic())
        await until(lambda: log.texts("thinker", "died"))
        assert log.texts("thinker", "died") == ["it hangs"]
        assert looks == 2 * kills_after
        await thinker.close()
        await pool.close()

    asyncio.run(run())


def test_player_may_take_as_long_to_build_as_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine is announced earlier, and unanswered questions do not end its worker."""
    monkeypatch.setattr(pair, "HANG_S", 2**-6)

    async def run() -> None:
        pool = ShellPool(BUILDS)
        thinker = WorkerSlot(
            "thinker", pool, replace(SETUP, backend="auto"), MatchLog(None, "m"), lambda: None
        )
        thinker.start(time.monotonic())
        await until(lambda: thinker.backend == "prolog")
        thinker.think(Think(1, 0, (), time.monotonic()))
        await asyncio.sleep(0.2)
        assert not thinker.is_built
        assert thinker.kills == 0
        await thinker.close()
        await pool.close()

    asyncio.run(run())
