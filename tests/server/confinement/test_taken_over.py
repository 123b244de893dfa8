"""A worker that strangers took over: its children, open files, memory and stored circuits."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ggp.gdl.normalize import load
from ggp.machine import Limits
from ggp.machine.compiling.disk_cache import STORE_VARIABLE, STRANGERS, DiskCache, user_cache
from ggp.machine.propnet.compile.circuit_file import to_bytes
from ggp.machine.propnet.compile.circuits import build
from ggp.run import processes
from ggp.run.messages import framed, read_message
from ggp.server.confinement.sandbox import STAYS, restrict
from ggp.server.workers import orders
from ggp.server.workers import pool as pool_module
from ggp.server.workers.nursery import Nursery, Taken
from ggp.server.workers.orders import read_answer, to_json
from ggp.server.workers.pool import WorkerPool
from tests.server.confinement.probes import is_filtered
from tests.server.live import PATIENCE_S, handed_over, worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has what is used")

MEMORY = 1 << 30
LARGE = 60 << 20

# ---------------------------------------------------------------- workers that were taken over


def leaves(pipe: str) -> None:
    """An entry: ends, and leaves a child that tried to leave its process group."""
    answers = processes.own_answers()
    rights = restrict(MEMORY, [])
    answers.write(framed(to_json(orders.Up(rights))))
    answers.flush()
    if STAYS in rights and is_filtered() and os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        if pipe == "silent":
            os.closerange(0, 3)
            answers.close()
        time.sleep(60)
    os._exit(3)


def grows(sharing: str) -> None:
    """An entry: two copies of it share a large block of memory, or fill one each."""
    answers = processes.own_answers()
    shared = bytes(LARGE) if sharing == "shared" else b""
    for _ in range(2):
        if os.fork() == 0:
            private = b"" if shared else bytearray(os.urandom(1 << 20) * (LARGE >> 20))
            answers.write(b"%d\n" % (len(shared) + len(private)))
            answers.flush()
            time.sleep(60)
    time.sleep(60)


class GrowingNursery(Nursery):
    """Its workers have copies that fill their own memory."""

    def __init__(self) -> None:
        super().__init__(lambda channel, anew: None)

    async def take(self, *, light: bool) -> Taken:
        command = processes.command(f"{__name__}:grows", "own")
        return await handed_over(*command, environment=processes.environment())


def members(group: int) -> list[int]:
    """The running processes of a group."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            pids.append(int(path.parent.name))
    return pids


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


# ---------------------------------------------------------------- tests


@pytest.mark.parametrize("pipe", ["silent", "has the pipe"])
def test_nothing_that_a_worker_started_outlives_it(pipe: str) -> None:
    child = processes.start(f"{__name__}:leaves", pipe)
    try:
        assert child.stdout is not None
        up = read_answer(read_message(child.stdout) or b"")
        assert isinstance(up, orders.Up)
        if STAYS not in up.rights:
            pytest.skip(f"not claimed here: {STAYS}")
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        until_s = time.monotonic() + PATIENCE_S
        while not members(child.pid):
            assert time.monotonic() < until_s
        processes.kill_group(child.pid)  # as the process does that workers are forked from
        while members(child.pid):
            assert time.monotonic() < until_s
        assert child.stdout.read() == b""
    finally:
        processes.reap(child)


@pytest.mark.parametrize(
    ("most", "memory", "why"),
    [
        (9, LARGE, "with its children it took more than 2 times its memory"),
        (2, MEMORY, "it started more than 2 processes"),
    ],
)
def test_worker_and_its_children_are_killed_if_they_take_too_much(
    monkeypatch: pytest.MonkeyPatch, most: int, memory: int, why: str
) -> None:
    monkeypatch.setattr(pool_module, "WATCH_EVERY_S", 0.01)
    monkeypatch.setattr(pool_module, "MAX_PROCESSES", most)

    async def scenario() -> None:
        pool = WorkerPool(GrowingNursery(), memory)
        pool.open()
        process = await pool.take(light=False)
        ends: list[str] = []
        process.on_end = ends.append
        await until(lambda: ends)
        assert ends == [why]
        await until(lambda: not members(process.pid))
        await pool.close()

    asyncio.run(scenario())


@pytest.mark.verify
@pytest.mark.parametrize(("sharing", "takes_more"), [("own", True), ("shared", False)])
def test_memory_that_copies_share_counts_once(sharing: str, takes_more: bool) -> None:
    child = processes.start(f"{__name__}:grows", sharing)
    try:
        assert child.stdout is not None
        assert [int(child.stdout.readline()) for _ in range(2)] == [LARGE, LARGE]
        family = processes.family(child.pid)
        assert len(family) == 3
        rss = sum(map(processes.rss_bytes, family))
        assert rss > 2 * LARGE
        assert processes.takes_more(family, 2 * LARGE) == takes_more
    finally:
        processes.reap(child)


def test_worker_inherits_nothing_that_the_server_has_open(tmp_path: Path) -> None:
    async def scenario() -> None:
        with (
            socket.socket() as tcp,
            socket.socket(socket.AF_UNIX) as unix,
            open(tmp_path / "log", "w") as log,
        ):
            descriptors = [file.fileno() for file in (tcp, unix, log)]
            for number in descriptors:
                os.set_inheritable(number, True)
            async with worker(MEMORY) as started:
                await until(lambda: started.is_up or started.ended)
                links = {os.readlink(path) for path in Path(f"/proc/{started.pid}/fd").iterdir()}
                # Some builds of libffi hold their own file open.
                links = {link for link in links if not Path(link).name.startswith("libffi.so.")}
                assert {link.partition(":")[0] for link in links} <= {"pipe", "/dev/null"}

    asyncio.run(scenario())


def test_worker_cannot_replace_circuits_of_other_processes() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (folder, folder / STRANGERS):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        DiskCache(folder).put("known", b"true")
        (folder / "known.circuit").chmod(0o666)
        program = f"""
from pathlib import Path
from ggp.machine.compiling.disk_cache import user_cache
from ggp.server.confinement.sandbox import restrict
rights = restrict({MEMORY}, [Path({str(folder / STRANGERS)!r})])
cache = user_cache()
cache.put("mine", b"stored")
print(cache.get("mine"), cache.get("known"), "no writing" in rights, flush=True)
if "no writing" in rights:
    Path({str(folder / "known.circuit")!r}).write_bytes(b"false")
"""
        environment = processes.environment({**os.environ, "GGP_CACHE_DIR": str(folder)})
        command = [sys.executable, "-c", program]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert ran.stdout.startswith("b'stored' b'true' "), ran.stderr
        if ran.stdout.endswith("True\n"):
            assert "PermissionError" in ran.stderr
        assert DiskCache(folder).get("known") == b"true"
        assert DiskCache(folder).get("mine") is None


def test_null_device_as_cache_folder_stores_no_circuits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GGP_CACHE_DIR", os.devnull)
    cache = user_cache()
    cache.put("mine", b"stored")
    assert cache.get("mine") is None
    assert Path(os.devnull).is_char_device()


def test_circuits_of_the_user_take_precedence_over_those_of_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load("exploding_bomb")
    trusted, store = tmp_path / "known", tmp_path / "store"
    circuit = build(program, Limits(), DiskCache(trusted))
    monkeypatch.setenv("GGP_CACHE_DIR", str(trusted))
    monkeypatch.setenv(STORE_VARIABLE, str(store))
    cache = user_cache()
    (path,) = trusted.iterdir()
    cache.put(path.stem, to_bytes(circuit._replace(seconds=77.0), path.stem))
    assert build(program, Limits(), cache).seconds == circuit.seconds
    path.write_bytes(b"damaged")
    assert build(program, Limits(), cache).seconds == 77.0
    cache.put(path.stem, to_bytes(circuit._replace(seconds=77.0), path.stem))
    path.unlink()
    assert build(program, Limits(), cache).seconds == 77.0
