"""Worker processes, from the server's side, and those that are kept ready for a match."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ggp.errors import BackendUnavailableError, ProtocolError
from ggp.machine.propnet.build.cache import user_cache
from ggp.protocol.background import Background
from ggp.protocol.orders import (
    EXIT_OUT_OF_MEMORY,
    MAX_LINE_BYTES,
    Answer,
    AreYouThere,
    Failed,
    GaveUp,
    Here,
    Order,
    Report,
    Setup,
    Think,
    Up,
    read_answer,
    to_line,
)
from ggp.protocol.sandbox import needed

WATCH_EVERY_S = 0.5
"""How often workers are looked at: their memory, and whether they answer."""

START_S = 60.0
STILL_S = 10.0
STOPPED_S = 3.0
"""A process that does not run after `START_S` never will; nor will one that the system gives no
processor for `STILL_S`, or that was stopped for `STOPPED_S`. A slow start alone is no fault:
whoever waits for its turn on a busy machine advances within `STILL_S`."""

MAX_SPARES = 4
"""Of each kind: those of one match are 150 MB."""

SPARE_S = 5.0
"""Spares that die are replaced, but none sooner after its own start: a cause may last."""

SILENT_S = 5.0
"""A worker that does not answer for so long that it is there is stopped, or worse."""

WARM_KERNELS_S = 3.0
SETTLE_S = 0.05
SETTLE_MOST_S = 5.0
"""A spare is started when all workers run, or so much later."""

_STOPPED = "Tt"
"""States of a process in /proc that is stopped, by a signal or by a debugger."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[5 + int(sys.argv[4]) :]; "
    "from ggp.protocol.worker import main; main()"
)
_ENVIRONMENT = {
    # A worker is one core; numerical libraries would take them all.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # The same match is played alike.
    "PYTHONHASHSEED": "0",
}

_log = logging.getLogger(__name__)


class WorkerProcess:
    """A child process that is told orders and answers.

    Attributes:
        pid: its process id.
        on_answer: called with each answer.
        on_end: called once, with why, when it has ended; not after `close`.
        is_up: whether it runs and has imported all it needs.
        rights: what it gave up, once it runs.
        heard_s: when it last said anything, on `time.monotonic`.
        started_s: when it was started.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self.rights: tuple[str, ...] = ()
        self.on_answer: Callable[[Answer], None] = _ignore
        self.on_end: Callable[[str], None] = _ignore
        self._why: str | None = None
        self._silent = False
        self.is_up = False
        self._asked_s: float | None = None
        self.heard_s = 0.0
        self.started_s = time.monotonic()
        self._cpu = ""
        self._advanced_s = self.started_s
        self._reader = asyncio.ensure_future(self._read())

    @property
    def ended(self) -> bool:
        """Whether it is gone."""
        return self._reader.done()

    def send(self, order: Order) -> None:
        """Give an order; one that is gone hears nothing."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):
            self._process.stdin.write(to_line(order))

    def kill(self, why: str) -> None:
        """End it at once, with what it has started; `on_end` is called."""
        self._why = self._why or why
        if self._process.returncode is not None:
            return  # its number may be another's by now
        # Its own child, which grounds rules, dies with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        """End it without a word."""
        self._silent = True
        self.kill("closed")
        await asyncio.wait([self._reader])

    def ask(self, now_s: float) -> None:
        """See whether it still answers, or starts at all; it is killed if it does not."""
        if not self.is_up:
            self._see_it_start(now_s)
        elif self._asked_s is None:
            self._asked_s = now_s
            self.send(AreYouThere())
        elif now_s - self._asked_s > SILENT_S:
            self.kill("it does not answer")

    def rss_bytes(self) -> int:
        """Memory it occupies; 0 where the system does not tell."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
            return int(pages) * _PAGE_BYTES
        except (OSError, IndexError, ValueError):
            return 0

    def _see_it_start(self, now_s: float) -> None:
        state, cpu = _state_and_cpu(self.pid)
        if cpu != self._cpu or not cpu:
            self._cpu, self._advanced_s = cpu, now_s
        still_s = now_s - self._advanced_s
        if (
            now_s - self.started_s > START_S
            or still_s > STILL_S
            or (still_s > STOPPED_S and state in _STOPPED)
        ):
            self.kill("it does not start")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                answer = read_answer(line)
                self._asked_s, self.heard_s = None, time.monotonic()
                if isinstance(answer, Up):
                    self.is_up, self.rights = True, answer.rights
                if not self._silent and not isinstance(answer, Here):
                    self.on_answer(answer)
        except (ProtocolError, ValueError, OSError) as error:
            self.kill(f"it answered nonsense: {error}")
        status = await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not self._silent:
            self.on_end(self._why or _how(status))


def _ignore(_: object) -> None:
    """Nobody is interested."""


def _how(status: int) -> str:
    if status == EXIT_OUT_OF_MEMORY:
        return "out of memory"
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _state_and_cpu(pid: int) -> tuple[str, str]:
    """State of a process and the time it had on a processor, as text, from /proc/PID/stat.

    Two empty texts where the system does not tell.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], f"{fields[11]} {fields[12]}"
    except (OSError, IndexError):
        return "", ""


async def start_worker(
    memory_bytes: int, *, light: bool = False, confined: bool = True, quiet: bool = True
) -> WorkerProcess:
    """A new worker process.

    Args:
        memory_bytes: what it may use.
        light: without the propositional network, if there is Prolog: there sooner, and smaller.
        confined: whether it gives up rights it does not need.
        quiet: whether what libraries print is dropped; else it goes to our standard error.

    Raises:
        BackendUnavailableError: the system starts no process.
    """
    folder = user_cache().folder
    writable = []
    if folder is not None:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            writable.append(str(folder))
    memory = memory_bytes if confined else 0
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", _BOOTSTRAP, str(os.getpid()), str(memory), str(int(light))),
            *(str(len(writable)), *writable),
            *(path for path in sys.path if isinstance(path, str)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL if quiet else None,
            env={**needed(os.environ), **_ENVIRONMENT},
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    except OSError as error:
        raise BackendUnavailableError("a worker process", str(error)) from error
    return WorkerProcess(process)


class Crew:
    """Starts workers, keeps some ready, and watches how much memory they take.

    Args:
        memory_bytes: what each may use; one that takes more is killed.
        spares: processes of each kind, light and not, that are kept ready; `MAX_SPARES` at most.
        confined: whether workers give up rights.
        quiet: see `start_worker`.
    """

    def __init__(
        self, memory_bytes: int, *, spares: int = 1, confined: bool = True, quiet: bool = True
    ) -> None:
        self.memory_bytes = memory_bytes
        self._spares, self._confined, self._quiet = min(spares, MAX_SPARES), confined, quiet
        self._ready: dict[bool, list[WorkerProcess]] = {True: [], False: []}
        self._busy: set[WorkerProcess] = set()
        self._background = Background()
        self._wants_spares = asyncio.Event()
        self._wants_spares.set()

    def open(self) -> None:
        """Begin to watch and to keep processes ready; needs a running loop."""
        self._background.start(self._watch())
        self._background.start(self._keep_spares())

    async def warm_kernels(self, setup: Setup) -> None:
        """Have a worker that keeps its rights compile what is missing in the cache of kernels.

        Others cannot write there: what they wrote would be run by whoever reads it.
        """
        await self._settled()
        worker = await start_worker(self.memory_bytes, confined=False, quiet=self._quiet)
        self._busy.add(worker)
        through = asyncio.Event()

        def hear(answer: Answer) -> None:
            if isinstance(answer, Failed | GaveUp) or (isinstance(answer, Report) and answer.final):
                through.set()

        worker.on_answer, worker.on_end = hear, lambda _: through.set()
        worker.send(setup)
        worker.send(Think(0, 0, (), time.monotonic() + WARM_KERNELS_S))
        await through.wait()
        await self.give_back(worker)

    async def take(self, *, light: bool) -> WorkerProcess:
        """A worker for a match: one that is ready if there is one, else a new one.

        Args:
            light: see `start_worker`.

        Raises:
            BackendUnavailableError: the system starts no process.
        """
        ready = self._ready[light]
        alive = [worker for worker in ready if not worker.ended]
        worker = next((each for each in alive if each.is_up), alive[0] if alive else None)
        if worker is None:
            worker = await self._start(light)
        else:
            ready.remove(worker)
        self._busy.add(worker)
        self._wants_spares.set()
        return worker

    def has_ready(self, *, light: bool) -> bool:
        """Whether `take` would give a worker that runs."""
        return any(worker.is_up and not worker.ended for worker in self._ready[light])

    def drop(self, worker: WorkerProcess) -> None:
        """Give a worker back without waiting for its end."""
        self._background.start(self.give_back(worker))

    async def give_back(self, worker: WorkerProcess) -> None:
        """End a worker; none has a second match."""
        await worker.close()
        self._busy.discard(worker)

    async def close(self) -> None:
        """End all of them."""
        await self._background.cancel()
        workers = self._workers
        await asyncio.gather(*(worker.close() for worker in workers), return_exceptions=True)

    @property
    def _workers(self) -> list[WorkerProcess]:
        return [*self._ready[True], *self._ready[False], *self._busy]

    async def _start(self, light: bool) -> WorkerProcess:
        return await start_worker(
            self.memory_bytes, light=light, confined=self._confined, quiet=self._quiet
        )

    async def _settled(self) -> None:
        """Return when all workers run: those of a match are not to wait for others.

        One that hangs is waited for `SETTLE_MOST_S` only.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_MOST_S):
                while not all(worker.is_up or worker.ended for worker in self._workers):
                    await asyncio.sleep(SETTLE_S)

    async def _keep_spares(self) -> None:
        while True:
            await self._wants_spares.wait()
            self._wants_spares.clear()
            try:
                for light in (True, False):
                    while len(self._ready[light]) < self._spares:
                        await self._settled()
                        self._ready[light].append(await self._start(light))
            except BackendUnavailableError as error:
                _log.warning("no worker is kept ready: %s", error)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            now_s = time.monotonic()
            for worker in self._workers:
                if worker.ended:
                    self._busy.discard(worker)
                elif worker.rss_bytes() > self.memory_bytes:
                    worker.kill(f"it took more memory than {self.memory_bytes >> 20} MB")
                else:
                    worker.ask(now_s)
            self._bury(now_s)

    def _bury(self, now_s: float) -> None:
        """Forget spares that died, and have others started."""
        for ready in self._ready.values():
            for worker in [each for each in ready if each.ended]:
                if now_s - worker.started_s > SPARE_S:
                    ready.remove(worker)
                    self._wants_spares.set()
