"""The local pool: what worker processes do, and what happens when they die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.errors import ConfigError
from match_runner.workers.executor import LocalPool, WorkerCrashError, WorkerFailedError


def add(a: int, b: int) -> int:
    return a + b


def whoami() -> tuple[int, int]:
    return os.getpid(), os.getsid(0)


def loaded() -> list[str]:
    return [name for name in ("numba", "pyswip", "scipy", "rich") if name in sys.modules]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def parent() -> int:
    return os.getppid()


def die_with_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def refuse() -> None:
    raise ConfigError("no such thing")


def stumble() -> None:
    print("said on standard output")
    raise ZeroDivisionError("division by nothing")


def sleep(seconds: float, started: str) -> None:
    Path(started).write_text(str(os.getpid()))
    time.sleep(seconds)


def say_goodbye(started: str, farewell: str) -> None:
    try:
        Path(started).touch()
        time.sleep(60)
    finally:
        Path(farewell).write_text("goodbye")


def have_a_child() -> int:
    return subprocess.Popen(["sleep", "600"]).pid


def stay(started: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Path(started).touch()
    time.sleep(60)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def read_input() -> str:
    return sys.stdin.read() + os.read(0, 10).decode()


@pytest.fixture
def pool() -> Iterator[LocalPool]:
    new_pool = LocalPool(1)
    yield new_pool
    new_pool.close()


def test_a_worker_answers_in_a_process_and_session_of_its_own(pool: LocalPool) -> None:
    assert pool.submit(add, (2, 3)).result(30) == 5
    pid, session = pool.submit(whoami, ()).result(30)
    assert pid == session != os.getpid()
    assert pool.submit(whoami, ()).result(30)[0] == pid
    assert pool.submit(loaded, ()).result(30) == []


def test_a_dead_worker_costs_one_call_only(pool: LocalPool) -> None:
    first, fatal, following = (
        pool.submit(*call) for call in ((add, (1, 1)), (die, ()), (add, (2, 2)))
    )
    assert first.result(30) == 2
    with pytest.raises(WorkerCrashError, match=r"a worker process died \(signal 9\)"):
        fatal.result(30)
    assert following.result(30) == 4


def test_an_exception_of_the_function_is_reported(pool: LocalPool) -> None:
    with pytest.raises(WorkerFailedError, match=r"^no such thing$"):
        pool.submit(refuse, ()).result(30)
    with pytest.raises(WorkerFailedError, match="division by nothing") as caught:
        pool.submit(stumble, ()).result(30)
    assert "Traceback" in str(caught.value)


@pytest.mark.timed
def test_a_call_that_takes_too_long_is_broken_off(tmp_path: Path) -> None:
    pool = LocalPool(1, limit_s=1)
    started = tmp_path / "started"
    hung, following = pool.submit(sleep, (600, str(started))), pool.submit(add, (1, 1))
    with pytest.raises(WorkerCrashError, match=r"^it took longer than 1 seconds and was stopped"):
        hung.result(30)
    assert not is_alive(int(started.read_text()))
    assert following.result(30) == 2
    time.sleep(1)  # each call has a second of its own
    assert pool.submit(add, (1, 2)).result(30) == 3
    pool.close()


def test_a_function_that_reads_its_input_does_not_take_the_next_question(pool: LocalPool) -> None:
    first, second = pool.submit(read_input, ()), pool.submit(add, (2, 3))
    assert first.result(30) == ""
    assert second.result(30) == 5


def test_closing_ends_a_busy_worker_at_once(tmp_path: Path) -> None:
    pool = LocalPool(1)
    started = tmp_path / "started"
    pool.submit(sleep, (600, str(started)))
    waiting = pool.submit(add, (1, 1))
    until = time.monotonic() + 30
    while not (started.exists() and started.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    pid = int(started.read_text())
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 5
    assert not is_alive(pid)
    assert waiting.cancelled()


def _until_there(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


def test_work_that_is_given_up_may_say_goodbye(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pool = LocalPool(1)
    started, farewell = tmp_path / "started", tmp_path / "said"
    work = pool.submit(say_goodbye, (str(started), str(farewell)))
    _until_there(started)
    pool.close()
    assert farewell.read_text() == "goodbye"
    assert isinstance(work.exception(), WorkerCrashError)
    assert capfd.readouterr().err == ""


def test_work_that_takes_too_long_may_say_goodbye(tmp_path: Path) -> None:
    pool = LocalPool(1, limit_s=1.0)
    work = pool.submit(say_goodbye, (str(tmp_path / "started"), str(tmp_path / "said")))
    assert "longer than 1 seconds" in str(work.exception())
    assert (tmp_path / "said").exists() == (tmp_path / "started").exists()
    pool.close()


def test_work_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("match_runner.workers.executor.LAST_WORDS_S", 0.1)
    pool = LocalPool(1)
    started = tmp_path / "started"
    work = pool.submit(stay, (str(started),))
    _until_there(started)
    pool.close()
    assert isinstance(work.exception(), WorkerCrashError)


def test_children_of_an_idle_worker_end_with_it() -> None:
    pool = LocalPool(1)
    child = pool.submit(have_a_child, ()).result()
    pool.close()
    until = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_alive(child)


def test_idle_workers_exit_silently(capfd: pytest.CaptureFixture[str]) -> None:
    pool = LocalPool(1)
    pid, _ = pool.submit(whoami, ()).result()
    pool.close()
    assert not is_alive(pid)
    assert capfd.readouterr().err == ""
