"""Common features of child processes: how they start, their environment, and how they end."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.run import processes

LAST_WORDS_S = 0.2


def tell(*arguments: str) -> None:
    """An entry: prints the child's view of its environment."""
    answers = processes.own_answers()
    print("not an answer")
    seen = {
        "arguments": arguments,
        "path": sys.path,
        "parent": os.getppid(),
        "session": os.getsid(0) == os.getpid(),
        "seed": os.environ["PYTHONHASHSEED"],
        "interrupt": signal.getsignal(signal.SIGINT) is signal.SIG_DFL,
    }
    answers.write(json.dumps(seen).encode())
    answers.close()


def stay(politeness: str) -> None:
    """An entry: says that it is there, and stays until it is killed, or says goodbye."""
    answers = processes.own_answers()
    is_polite = politeness == "polite"
    signal.signal(signal.SIGINT, signal.default_int_handler if is_polite else signal.SIG_IGN)
    try:
        answers.write(b"here\n")
        answers.flush()
        time.sleep(60)
    except KeyboardInterrupt:
        answers.write(b"goodbye\n")
        answers.flush()


@pytest.fixture(name="staying")
def _staying(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    child = processes.start("tests.run.test_processes:stay", request.param)
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    yield child
    processes.reap(child)


def test_child_is_told_its_arguments_and_where_modules_are() -> None:
    child = processes.start(
        "tests.run.test_processes:tell", "a", "", "two words", stderr=subprocess.PIPE
    )
    answer, output = child.communicate(timeout=60)
    seen = json.loads(answer)
    assert seen == {
        "arguments": ["a", "", "two words"],
        "path": sys.path,
        "parent": os.getpid(),
        "session": True,
        "seed": "0",
        "interrupt": True,
    }
    assert b"not an answer" in output


def test_child_interrupted_while_python_starts_ends_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    child = processes.start("tests.run.test_processes:tell", stderr=subprocess.PIPE)
    assert child.communicate(timeout=60) == (b"", b"")
    assert child.returncode == -signal.SIGINT
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


@pytest.mark.parametrize("staying", ["polite"], indirect=True)
def test_interrupted_child_may_say_goodbye(staying: subprocess.Popen[bytes]) -> None:
    processes.interrupt(staying, last_words_s=30)
    assert staying.stdout is not None
    assert staying.stdout.read() == b"goodbye\n"
    assert processes.reap(staying) == 0


@pytest.mark.parametrize("staying", ["rude"], indirect=True)
def test_child_that_heeds_no_interrupt_is_killed(staying: subprocess.Popen[bytes]) -> None:
    assert not processes.has_ended(staying)
    processes.interrupt(staying, last_words_s=LAST_WORDS_S)
    assert processes.how_it_ended(processes.reap(staying)) == "signal 9"
    assert processes.has_ended(staying)


def test_limits_are_lowered_and_never_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 200))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, bounds: set_to.append(bounds))
    assert processes.lower_limit(resource.RLIMIT_NOFILE, 150)
    assert processes.lower_limit(resource.RLIMIT_NOFILE, 1_000)
    assert set_to == [(150, 150), (200, 200)]


def test_figures_that_the_system_does_not_report_are_empty() -> None:
    nobody = 2**22 + 1  # more than there are process ids
    assert processes.rss_bytes(nobody) == 0
    assert processes.state_and_cpu(nobody) == ("", "")
    assert processes.how_it_ended(3) == "exit status 3"
