"""The template that workers are forked from: spare workers, lifetimes, and the environment."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.errors import BackendUnavailableError
from ggp.protocol.path import PathTurn
from ggp.run import processes
from ggp.run.messages import Channel
from ggp.server.settings import HostOptions
from ggp.server.workers import nursery as nursery_module
from ggp.server.workers import template as template_module
from ggp.server.workers.nursery import Nursery, Taken, TemplateProcess, template_for
from ggp.server.workers.orders import MachineBuilt, MoveReport, Setup, Think
from ggp.server.workers.pool import connected
from tests.server.live import GUESSING, PATIENCE_S, eventually, is_alive
from tests.support.process_tree import entry_of, started_by

MEMORY = 1 << 30
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only Linux tells of a process"
)
pytestmark = needs_proc


def template_pids() -> set[int]:
    """The templates that this process has started, and that have not ended."""
    return {pid for pid in started_by(os.getpid()) if entry_of(pid).endswith("template:main")}


class TracedTemplate(TemplateProcess):
    """Knows the process id of its template, provided that all later templates have ended."""

    def __init__(self, memory_bytes: int | None, **options: Any) -> None:
        super().__init__(memory_bytes, **options)
        self._earlier_pids = template_pids()

    @property
    def pid(self) -> int:
        eventually(lambda: len(template_pids() - self._earlier_pids) == 1)  # it may not run yet
        (pid,) = template_pids() - self._earlier_pids
        return pid


@pytest.fixture(scope="module")
def template() -> Iterator[TracedTemplate]:
    """A template with two spare workers."""
    process = TracedTemplate(MEMORY, spares=2, player="hyperplay")
    process.start()
    yield process
    process.close()


def with_nursery(template: TracedTemplate, scenario: Callable[[Nursery], Awaitable[None]]) -> None:
    """Run a scenario with a nursery, as a server has it."""

    async def run() -> None:
        nursery = Nursery(template.connect)
        try:
            await scenario(nursery)
        finally:
            nursery.close()

    asyncio.run(run())


LET_GO: set[int] = set()
"""Workers that end; for a moment they may still be children of the template."""


def let_go(process: Taken) -> None:
    """Close the pipes of a worker, which ends it."""
    LET_GO.add(process.pid)
    os.close(process.orders)
    os.close(process.answers)


def ready(template: TracedTemplate) -> set[int]:
    """Its workers that were not let go: the spare ones if none is taken."""
    return set(started_by(template.pid)) - LET_GO


def test_spare_worker_is_handed_over_at_once_with_everything_loaded(
    template: TracedTemplate,
) -> None:
    eventually(lambda: len(ready(template)) == 2)
    spares = ready(template)
    answers: list[object] = []

    async def scenario(nursery: Nursery) -> None:
        worker = await connected(await nursery.take(light=False))
        assert worker.pid in spares
        assert len(os.listdir(f"/proc/{template.pid}/task")) == 1  # or forks lack some
        worker.on_answer = answers.append
        worker.send(Setup(GUESSING, "guesser", "hyperplay:n=2,states=500", "auto", 1, 20.0, MEMORY))
        turn = PathTurn("(guess 0)", ("(hint 1)",), "(guess 0)", True)
        async with asyncio.timeout(PATIENCE_S):
            # A question before the circuit is ready is answered without it.
            while not any(isinstance(answer, MachineBuilt) for answer in answers):
                await asyncio.sleep(0.01)
            worker.send(Think(1, 0, (turn,), asyncio.get_running_loop().time() + PATIENCE_S))
            while not any(isinstance(answer, MoveReport) and answer.final for answer in answers):
                await asyncio.sleep(0.01)
        LET_GO.add(worker.pid)
        await worker.close()

    with_nursery(template, scenario)
    assert any(
        isinstance(answer, MachineBuilt) and answer.backend == "propnet" for answer in answers
    )


def test_spare_worker_takes_little_memory_of_its_own(template: TracedTemplate) -> None:
    eventually(lambda: len(ready(template)) == 2)
    for pid in ready(template):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        (own_kb,) = (int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))
        assert own_kb < 10_000


def test_spare_workers_outlive_the_server_and_taken_ones_do_not(
    template: TracedTemplate,
) -> None:
    eventually(lambda: len(ready(template)) == 2)
    spares, took = ready(template), []

    async def scenario(nursery: Nursery) -> None:
        process = await nursery.take(light=True)
        took.append(process.pid)
        let_go(process)

    with_nursery(template, scenario)
    eventually(lambda: not is_alive(took[0]))
    eventually(lambda: len(ready(template)) == 2)
    assert spares - ready(template) == {*took}


def test_dead_or_stopped_spare_is_never_handed_over(template: TracedTemplate) -> None:
    eventually(lambda: len(ready(template)) == 2)
    dies, stops = ready(template)
    LET_GO.update((dies, stops))
    os.kill(stops, signal.SIGSTOP)
    os.kill(dies, signal.SIGKILL)
    eventually(lambda: not is_alive(dies) and processes.state_and_cpu(stops)[0] == "T")

    async def scenario(nursery: Nursery) -> None:
        process = await nursery.take(light=True)
        assert process.pid not in (dies, stops)
        let_go(process)

    with_nursery(template, scenario)
    eventually(lambda: not is_alive(stops))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, -15)])
def test_exit_status_of_a_worker_is_reported(
    template: TracedTemplate, number: int, status: int
) -> None:
    async def scenario(nursery: Nursery) -> None:
        process = await nursery.take(light=True)
        os.kill(process.pid, number)
        assert await process.ended == status
        let_go(process)

    with_nursery(template, scenario)


def test_dead_template_is_replaced() -> None:
    template = TracedTemplate(MEMORY)

    async def scenario(nursery: Nursery) -> None:
        first = await nursery.take(light=True)
        os.kill(template.pid, signal.SIGKILL)
        assert await first.ended == -signal.SIGKILL
        eventually(lambda: not is_alive(first.pid))  # it dies with its template
        second = await nursery.take(light=True)
        for process in (first, second):
            let_go(process)

    with_nursery(template, scenario)
    template.close()


def test_template_that_gives_no_worker_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery_module, "ANSWER_S", 0.2)
    template = TracedTemplate(MEMORY)

    async def scenario(nursery: Nursery) -> None:
        let_go(await nursery.take(light=True))
        while not nursery.is_loaded:
            await asyncio.sleep(0.01)
        stopped = template.pid
        os.kill(stopped, signal.SIGSTOP)
        for _ in range(nursery_module.MAX_SILENT):
            assert template.pid == stopped  # once it may have been slow
            with pytest.raises(BackendUnavailableError, match="none is given"):
                await nursery.take(light=True)
        let_go(await nursery.take(light=True))
        assert template.pid != stopped
        assert not is_alive(stopped)

    with_nursery(template, scenario)
    template.close()


def test_template_that_cannot_be_started_is_reported() -> None:
    def connect(channel: socket.socket, anew: bool) -> None:
        channel.close()
        raise FileNotFoundError("there is no Python interpreter to start")

    async def run() -> None:
        with pytest.raises(BackendUnavailableError, match="no Python interpreter"):
            await Nursery(connect).take(light=True)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("spares", "matches", "num_spares"), [(None, 1, 3), (None, 4, 9), (0, 4, 0)]
)
def test_two_workers_for_each_match_and_one_more_are_kept_ready(
    spares: int | None, matches: int, num_spares: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = template_for(HostOptions("random", matches=matches, spares=spares))
    command, _ = command_of(template, monkeypatch)
    assert str(num_spares) in command


def test_workers_see_little_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/systemd/notify")
    monkeypatch.setenv("LC_TIME", "C")
    _, environment = command_of(TemplateProcess(MEMORY), monkeypatch)
    assert {"PATH", "LC_TIME", "OMP_NUM_THREADS"} <= environment.keys()
    assert not {"SOME_TOKEN", "NOTIFY_SOCKET"} & environment.keys()


def command_of(
    template: TemplateProcess, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], dict[str, str]]:
    """The command that starts a template, and its environment; nothing is started."""
    starts: list[tuple[list[str], dict[str, str]]] = []

    def record(command: list[str], env: dict[str, str], **options: object) -> None:
        starts.append((command, env))
        raise OSError("nothing is started")

    monkeypatch.setattr(subprocess, "Popen", record)
    with pytest.raises(OSError, match="nothing is started"):
        template.start()
    return starts[0]


def serve_without_forks(*arguments: str) -> None:
    """An entry: a template of a system that starts no more processes."""

    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    os.fork = refuse
    template_module.main(*arguments)


def test_template_that_cannot_fork_refuses_and_lives_on() -> None:
    ours, theirs = socket.socketpair()
    entry = f"{__name__}:{serve_without_forks.__name__}"
    template = processes.start(entry, "0", "1", "random", "prolog", "0", stdin=theirs.fileno())

    def connect(channel: socket.socket, anew: bool) -> None:
        with channel:
            Channel(ours).send({}, channel.fileno())

    async def run() -> None:
        nursery, num_open = Nursery(connect), set()
        for _ in range(3):
            with pytest.raises(BackendUnavailableError, match="cannot start a process"):
                await nursery.take(light=False)
            await asyncio.sleep(0.1)  # in which it tries to have a spare
            num_open.add(len(os.listdir(f"/proc/{template.pid}/fd")))
        assert len(num_open) == 1
        nursery.close()

    with ours, theirs:
        asyncio.run(run())
    processes.reap(template)
