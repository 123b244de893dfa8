"""Work in a child process: results come back whole, and whatever goes wrong is an error of ours."""

from __future__ import annotations

import pickle
import signal
import sys
import time
from pathlib import Path

import pytest

from ggp.errors import (
    BackendUnavailableError,
    GGPError,
    InstallationError,
    MachineError,
    ReasonerLimitError,
)
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.machine.propnet.compile.circuits import ChildLimits, run_limited
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from tests.support.commands import start
from tests.support.games import REPOSITORY

TASKS = "tests.support.child_tasks"
GIGABYTE = 1 << 30

INFINITE = "(role a) (init (at z)) (legal a m) (<= (next (at (s ?x))) (true (at ?x)))" + (
    "(<= terminal (true (at q))) (goal a 1)"
)
"""There is no end of fluents."""


def run(
    task: str,
    argument: object = None,
    *,
    seconds: float = 30.0,
    wait_seconds: float = 120.0,
    memory_bytes: int = 2 * GIGABYTE,
) -> bytes:
    return run_limited(
        f"{TASKS}:{task}",
        argument,
        ChildLimits(seconds, wait_seconds, memory_bytes),
        doing="the work",
    )


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not just waiting to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_dead(pid: int) -> bool:
    until_s = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < until_s:
        time.sleep(0.02)
    return not is_alive(pid)


def pid_in(path: Path) -> int:
    until_s = time.monotonic() + 10
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until_s
        time.sleep(0.02)
    return int(path.read_text())


# -------------------------------------------------------------------- results


def test_child_grounds_as_this_process_does() -> None:
    program = load("kuhn_poker")
    child_program = pickle.loads(run("grounded", program))
    ground_here = ground(program)
    assert child_program.conditions.tolist() == ground_here.conditions.tolist()
    assert (child_program.fluents, child_program.does) == (ground_here.fluents, ground_here.does)


def test_same_rules_give_the_same_bytes() -> None:
    program = load("krieg_tic_tac_toe")
    assert run("grounded", program) == run("grounded", program)


@pytest.mark.parametrize("size", [0, 20_000_000])
def test_result_of_any_size_comes_back_whole(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert pickle.loads(run("echo", data[:size])) == data[:size]


def test_printing_does_not_spoil_the_result() -> None:
    assert run("noise", b"whole") == b"whole"


def test_child_starts_soon_and_finds_the_same_modules() -> None:
    start_s = time.monotonic()
    seen = pickle.loads(run("environment"))
    assert time.monotonic() - start_s < 5.0
    assert seen["path"] == sys.path
    assert seen["threads"] == "1"
    assert seen["input"] == ""
    assert not {"pyswip", "numba", "rich", "click"} & set(seen["modules"])


def test_child_finds_modules_from_any_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(REPOSITORY), *sys.path])
    monkeypatch.chdir("/")
    assert pickle.loads(run("echo", 5)) == 5


# -------------------------------------------------------------------- limits


@pytest.mark.verify
def test_task_that_uses_too_much_time_is_stopped() -> None:
    with pytest.raises(ReasonerLimitError, match="the work passed the limit of 1 seconds; the ru"):
        run("spin", seconds=0.6)


def test_task_that_is_waited_for_too_long_is_stopped() -> None:
    start_s = time.monotonic()
    with pytest.raises(ReasonerLimitError, match="the limit of 1 seconds of waiting; the rules"):
        run("sleep", wait_seconds=0.6)
    assert time.monotonic() - start_s < 5.0


def test_waiting_does_not_count_as_time_used() -> None:
    assert run("nap", 1.5, seconds=1.0) == b"rested"


@pytest.mark.verify
def test_task_that_needs_too_much_memory_is_stopped() -> None:
    with pytest.raises(ReasonerLimitError, match=r"the limit of 536,870,912 bytes of memory"):
        run("hoard", memory_bytes=GIGABYTE // 2)


def test_too_little_memory_to_begin_with_is_named() -> None:
    with pytest.raises(ReasonerLimitError, match="the limit of 1,000,000 bytes of memory"):
        run("grounded", load("kriegspiel_king_rook"), memory_bytes=1_000_000)


@pytest.mark.parametrize(
    ("seconds", "memory_bytes", "reached"),
    [
        (1.0, GIGABYTE, r"1 seconds"),
        # A library that is refused memory may crash.
        pytest.param(20.0, 3 << 26, r"bytes|crashed", marks=pytest.mark.verify),
    ],
)
def test_endless_grounding_passes_a_limit(seconds: float, memory_bytes: int, reached: str) -> None:
    """That of the process, or one of the grounder's own: a fast machine comes to these first."""
    program = normalize(parse(INFINITE))
    own_limits = "limit of 3,000,000 letters|functions in one term"
    with pytest.raises(MachineError, match=f"{reached}|{own_limits}"):
        run("grounded", program, seconds=seconds, memory_bytes=memory_bytes)


@pytest.mark.verify
def test_large_grounding_runs_out_of_memory() -> None:
    numbers = "".join(f"(number {i})" for i in range(60))
    product = " ".join(f"(number ?{name})" for name in "bcdefgh")
    rules = f"(role a) (init z) (<= (legal a (j ?b ?c ?d ?e ?f ?g ?h)) {product}) {numbers}"
    program = normalize(parse(rules + "(<= terminal (true q)) (goal a 1)"))
    with pytest.raises(ReasonerLimitError, match="bytes of memory"):
        run("grounded", program, memory_bytes=1 << 28)


# -------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("machine", MachineError, "^the rules are odd$"),
        ("limit", ReasonerLimitError, "the work passed the limit of 12 functions in one term"),
        ("unavailable", BackendUnavailableError, "clingo is not usable: install it"),
        ("module", InstallationError, "is broken: No module named 'ggp.gone'; install it again"),
        ("bug", MachineError, "the work failed in its child process: ZeroDivisionError: .*prolog"),
        ("exit", MachineError, r"the work crashed in its child process \(exit status 3\)"),
    ],
)
def test_error_of_the_task_is_raised_here(kind: str, error: type[GGPError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        run("fail", kind)
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGKILL, r"killed from outside \(signal 9\), perhaps .* out of memory; lower"),
        (
            signal.SIGSEGV,
            r"crashed in its child process \(signal 11\); play with `--backend prolog`",
        ),
        (signal.SIGABRT, r"crashed in its child process \(signal 6\)"),
    ],
)
def test_killed_child_is_an_error(number: int, message: str) -> None:
    with pytest.raises(MachineError, match=message):
        run("die", number)


def test_child_that_leaves_without_an_answer_is_an_error() -> None:
    with pytest.raises(MachineError, match=r"\(exit status 0\).*it said: last words"):
        run("leave", 0)


def test_missing_interpreter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(BackendUnavailableError, match=r"child process is not usable.*prolog"):
        run("echo")
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(BackendUnavailableError, match="no Python interpreter"):
        run("echo")


# -------------------------------------------------------------------- nothing is left behind

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@needs_proc
def test_child_is_killed_when_it_is_late(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    for wait_seconds in (1.5, 6.0, 24.0):
        with pytest.raises(ReasonerLimitError):
            run("sleep", str(path), wait_seconds=wait_seconds)
        if path.exists():
            break  # a busy machine may not have begun before
    assert not is_alive(pid_in(path))


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_child_dies_with_its_parent(number: int, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    code = (
        "from ggp.machine.propnet.compile.circuits import ChildLimits, run_limited\n"
        f"run_limited('{TASKS}:sleep', {str(path)!r}, ChildLimits(60, 60, 1 << 30))"
    )
    parent = start("-c", code)
    child = pid_in(path)
    assert is_alive(child)
    parent.send_signal(number)
    parent.wait(timeout=10)
    assert wait_until_dead(child)
