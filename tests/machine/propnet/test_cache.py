"""Circuits on disk: instant where it works, unnoticed where it does not."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.machine import Limits, build_machine
from ggp.machine.propnet import build as building
from ggp.machine.propnet.build import build, make
from ggp.machine.propnet.cache import DiskCache, user_cache
from ggp.machine.propnet.child import run_limited
from ggp.machine.propnet.circuit_file import FORMAT_VERSION, from_bytes, to_bytes

LIMITS = Limits()

SLOW_TO_GROUND = """
(role a) (init z) (legal a m) (goal a 0) (<= terminal (true never))
(n 0) (n 1) (n 2) (n 3) (n 4) (n 5) (n 6) (n 7) (n 8) (n 9)
(<= (next z) (true z))
(<= (next never) (true z) (not (true z)))
(<= (next (j ?a ?b ?c ?d ?e ?f ?g ?h))
    (true never) (n ?a) (n ?b) (n ?c) (n ?d) (n ?e) (n ?f) (n ?g) (n ?h))
"""


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "circuits")


def count_children(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes every start of a child process."""
    started: list[str] = []
    real = run_limited

    def counted(task: str, *args: object, **options: object) -> bytes:
        started.append(task)
        return real(task, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "run_limited", counted)
    return started


def test_circuit_reads_back_as_it_was_written(cache: DiskCache) -> None:
    built = build(load("krieg_tic_tac_toe"), LIMITS, cache)
    again = from_bytes(to_bytes(*built, "rules"), "rules")
    assert again[1] == built.reports
    assert to_bytes(*again, "rules") == to_bytes(*built, "rules")


def test_second_start_needs_no_grounding(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    started = count_children(monkeypatch)
    first = build(load("kuhn_poker"), LIMITS, cache)
    second = build(load("kuhn_poker"), LIMITS, cache)
    assert len(started) == 1
    assert to_bytes(*first, "") == to_bytes(*second, "")


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty", "older", "other game"])
def test_damaged_file_is_ignored_and_written_anew(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = DiskCache(tmp_path)
    program = load("kuhn_poker")
    build(program, LIMITS, cache)
    (path,) = tmp_path.glob("*.circuit")
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    version = good.index(FORMAT_VERSION.to_bytes(4, "little"))
    older = good[:version] + (FORMAT_VERSION - 1).to_bytes(4, "little") + good[version + 4 :]
    path.write_bytes(
        {
            "cut": good[:-100],
            "flipped": bytes(flipped),
            "foreign": b"\x80\x04N." * 100,
            "empty": b"",
            "older": older,
            "other game": make((load("tic_tac_toe"), 5.0)),
        }[damage]
    )
    started = count_children(monkeypatch)
    assert build(program, LIMITS, cache).circuit.roles == program.roles
    assert len(started) == 1
    # Seconds differ from run to run; the circuit does not.
    written, before = (from_bytes(data, program.digest)[0] for data in (path.read_bytes(), good))
    assert to_bytes(written, [], "") == to_bytes(before, [], "")


def test_bytes_that_are_no_circuit_are_an_error() -> None:
    for data in (b"", b"x" * 1000):
        with pytest.raises(MachineError, match="not a circuit"):
            from_bytes(data, "rules")


def test_folder_that_cannot_be_made_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file" / "circuits")
    assert cache.get("key") is None
    cache.put("key", b"data")
    program = load("kuhn_poker")
    assert build(program, LIMITS, cache).circuit.roles == program.roles


@pytest.mark.parametrize("failing", ["write", "replace", "mkdir", "mkstemp"])
def test_full_or_read_only_disk_does_not_matter(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC if failing == "write" else errno.EROFS, "no")

    where = {
        "write": "ggp.machine.propnet.cache.os.fdopen",
        "replace": "ggp.machine.propnet.cache.os.replace",
        "mkdir": "pathlib.Path.mkdir",
        "mkstemp": "ggp.machine.propnet.cache.tempfile.mkstemp",
    }[failing]
    cache = DiskCache(tmp_path / "circuits")
    with monkeypatch.context() as patched:
        patched.setattr(where, fail)
        cache.put("key", b"data")
    assert cache.get("key") is None
    assert not list(tmp_path.rglob("*.part"))
    cache.put("key", b"data")
    assert cache.get("key") == b"data"


def test_least_recently_used_files_go_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, max_bytes=250)
    for age, key in ((3, "a"), (2, "b"), (1, "c")):
        cache.put(key, b"x" * 80)
        past = time.time() - 1000 * age
        os.utime(tmp_path / f"{key}.circuit", (past, past))
    assert cache.get("a") is not None  # used just now
    cache.put("d", b"x" * 80)
    assert {key for key in "abcd" if cache.get(key) is not None} == {"a", "c", "d"}
    cache.put("too large", b"x" * 300)
    assert cache.get("too large") is None


def test_two_processes_may_build_a_game_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "GGP_CACHE_DIR": str(tmp_path / "circuits")}
    command = [sys.executable, "-m", "ggp", "info", "spy_vs_spy", "--json"]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    answers = [process.communicate(timeout=120)[0] for process in running]
    assert all(b'"backend": "propnet"' in answer for answer in answers)
    assert len(list((tmp_path / "circuits").iterdir())) == 1


def test_killed_child_leaves_the_game_to_prolog(caplog: pytest.LogCaptureFixture) -> None:
    program = normalize(parse(SLOW_TO_GROUND))

    def kill_children() -> None:
        for _ in range(400):
            time.sleep(0.05)
            for task in Path("/proc/self/task").iterdir():
                for child in (task / "children").read_text().split():
                    if b"ggp.machine.propnet.child" in Path(f"/proc/{child}/cmdline").read_bytes():
                        time.sleep(0.3)
                        os.kill(int(child), signal.SIGKILL)
                        return

    killer = threading.Thread(target=kill_children)
    killer.start()
    machine = build_machine(program, "auto", Limits(grounding_seconds=15))
    killer.join()
    assert machine.backend == "prolog"
    assert "killed" in caplog.text
    played = machine.playout(machine.initial(1), np.random.default_rng(0), 2)
    assert played.steps.tolist() == [2]


def test_rules_that_passed_a_limit_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = normalize(parse(SLOW_TO_GROUND))
    started = count_children(monkeypatch)
    for _ in range(3):
        with pytest.raises(MachineError, match="passed the limit"):
            build(program, Limits(grounding_seconds=1.0), DiskCache(None))
    assert len(started) == 1


def test_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(*_: object) -> None:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("GGP_CACHE_DIR", raising=False)
    monkeypatch.setattr("ggp.machine.propnet.cache.user_cache_path", homeless)
    cache = user_cache()
    cache.put("key", b"data")
    assert cache.get("key") is None
