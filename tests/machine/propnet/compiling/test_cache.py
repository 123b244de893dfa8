"""Circuits on disk: instant where it works, unnoticed where it does not."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.gdl.program import Program
from ggp.machine import Limits, build_machine
from ggp.machine.base import WAITING
from ggp.machine.circuit import Circuit, Loop, Outputs
from ggp.machine.compiling import disk_cache as caching
from ggp.machine.compiling.disk_cache import DiskCache, makers_version, user_cache
from ggp.machine.propnet.compile import circuits as building
from ggp.machine.propnet.compile.circuit_file import Built, Refusal, from_bytes, to_bytes
from ggp.machine.propnet.compile.circuits import ChildLimits, build, make, run_limited
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.optimise import optimise
from ggp.machine.propnet.optimise.work import WorkDeadline
from ggp.machine.propnet.play.propnet_machine import PropnetMachine

LIMITS = Limits()

SLOW_TO_GROUND = """
(role a) (init z) (legal a m) (goal a 0) (<= terminal (true never))
(n 0) (n 1) (n 2) (n 3) (n 4) (n 5) (n 6) (n 7) (n 8)
(<= (next z) (true z) (does a m))
(<= (next never) (true z) (not (true z)))
(<= (next (j ?a ?b ?c ?d ?e ?f)) (true never) (n ?a) (n ?b) (n ?c) (n ?d) (n ?e) (n ?f))
"""
"""Half a million fluents: not hopeless, but more than there is time for."""


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "circuits")


def patient(seconds: float) -> Limits:
    """A limit of processor time that the clock does not come before."""
    return Limits(grounding_seconds=seconds, grounding_wait_seconds=300.0)


def count_children(monkeypatch: pytest.MonkeyPatch, *, real: bool = False) -> list[str]:
    """Notes every start of a child process.

    Args:
        real: whether there is one; else its work is done in this process, which is quicker.
    """
    started: list[str] = []

    def counted(task: str, argument: Any, limits: ChildLimits, **options: Any) -> bytes:
        started.append(task)
        if real:
            return run_limited(task, argument, limits, **options)
        began_s, process_time = time.process_time(), time.process_time
        with pytest.MonkeyPatch.context() as patch:  # as of a process that has just begun
            patch.setattr(time, "process_time", lambda: process_time() - began_s)
            return make(argument)

    monkeypatch.setattr(building, "run_limited", counted)
    return started


class Kept(NamedTuple):
    """A game, its circuit, and the file that stores it."""

    program: Program
    built: Built
    path: Path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder, program = tmp_path_factory.mktemp("kept"), load("kuhn_poker")
    circuit = build(program, LIMITS, DiskCache(folder))
    (path,) = folder.glob("*.circuit")
    return Kept(program, circuit, path)


def test_circuit_reads_back_as_it_was_written(cache: DiskCache) -> None:
    circuit = build(load("krieg_tic_tac_toe"), LIMITS, cache)
    reread = from_bytes(to_bytes(circuit, "rules"), "rules")
    assert isinstance(reread, Built)
    assert reread.reports == circuit.reports
    assert to_bytes(reread, "rules") == to_bytes(circuit, "rules")


def test_second_start_needs_no_grounding(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    started = count_children(monkeypatch, real=True)
    first = build(load("kuhn_poker"), LIMITS, cache)
    second = build(load("kuhn_poker"), LIMITS, cache)
    assert len(started) == 1
    assert to_bytes(first, "") == to_bytes(second, "")


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty", "other key"])
def test_damaged_file_is_ignored_and_written_anew(
    damage: str, stored: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = stored.path.read_bytes()
    path = tmp_path / stored.path.name
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    path.write_bytes(
        {
            "cut": good[:-100],
            "flipped": bytes(flipped),
            "foreign": b"\x80\x04N." * 100,
            "empty": b"",
            "other key": make((load("tic_tac_toe"), LIMITS, "other key")),
        }[damage]
    )
    assert_rebuilt(stored.program, path, good, monkeypatch)


def assert_rebuilt(
    program: Program, path: Path, good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is made anew, once, and then as it was."""
    started = count_children(monkeypatch)
    assert build(program, LIMITS, DiskCache(path.parent)).circuit.roles == program.roles
    assert len(started) == 1
    # Seconds differ from run to run; the circuit does not.
    written, original = (read(data, path.stem) for data in (path.read_bytes(), good))
    assert to_bytes(written._replace(reports=[]), "") == to_bytes(original._replace(reports=[]), "")


def read(data: bytes, key: str) -> Built:
    circuit = from_bytes(data, key)
    assert isinstance(circuit, Built)
    return circuit


def broken(circuit: Circuit, how: str) -> Circuit:
    """A circuit that would lead kernels astray."""
    literals, offsets = circuit.literals.copy(), circuit.offsets.copy()
    legal = circuit.legal[0]
    a_move = np.full(len(legal.names), 2 * (1 + len(circuit.fluents)), dtype=np.int32)
    if how == "gate reads itself":
        literals[0] = 2 * (1 + circuit.num_inputs)
    if how == "gate reads a later one":
        literals[0] = 2 * (circuit.num_inputs + circuit.num_gates)
    if how == "gate without literals":
        offsets[1] = 0
    wrong: dict[str, dict[str, Any]] = {
        "loop beyond the gates": {"loops": (Loop(0, 10_000, np.zeros(10_000, dtype=np.bool_)),)},
        "loop backwards": {"loops": (Loop(5, 2, np.zeros(0, dtype=np.bool_)),)},
        "loop without its values": {"loops": (Loop(0, 2, np.zeros(1, dtype=np.bool_)),)},
        "next of other kind": {"next": circuit.next.astype(np.float64)},
        "initial in a table": {"initial": circuit.initial[:, None]},
        "numbers for names": {"fluents": tuple(range(len(circuit.fluents)))},
        "output beyond the nets": {"terminal": 10**6},
        "other roles": {"roles": tuple(reversed(circuit.roles))},
        "fewer roles": {
            "roles": circuit.roles[:2],
            "sees": circuit.sees[:2],
            "goals": circuit.goals[:2],
            "legal": (
                Outputs(
                    tuple(f"m{i}" for i in range(circuit.num_inputs - len(circuit.fluents))),
                    np.ones(circuit.num_inputs - len(circuit.fluents), dtype=np.int32),
                ),
                Outputs((), np.zeros(0, dtype=np.int32)),
            ),
        },
        "legal by moves": {"legal": (Outputs(legal.names, a_move), *circuit.legal[1:])},
        "end by moves": {"terminal": int(a_move[0])},
        "a move twice": {
            "legal": (
                Outputs((legal.names[0],) * len(legal.names), legal.literals),
                *circuit.legal[1:],
            )
        },
        "names without literals": {
            "legal": (Outputs((*legal.names, "more"), legal.literals), *circuit.legal[1:])
        },
    }
    return replace(circuit, literals=literals, offsets=offsets, **wrong.get(how, {}))


@pytest.mark.parametrize(
    "how",
    [
        "gate reads itself",
        "gate reads a later one",
        "gate without literals",
        "loop beyond the gates",
        "loop backwards",
        "loop without its values",
        "next of other kind",
        "initial in a table",
        "numbers for names",
        "output beyond the nets",
        "other roles",
        "fewer roles",
        "legal by moves",
        "end by moves",
        "a move twice",
        "names without literals",
    ],
)
def test_file_with_wrong_content_is_made_anew(
    how: str, stored: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / stored.path.name
    wrong = stored.built._replace(circuit=broken(stored.built.circuit, how))
    path.write_bytes(to_bytes(wrong, path.stem))
    assert_rebuilt(stored.program, path, stored.path.read_bytes(), monkeypatch)


@pytest.mark.verify
def test_file_that_cannot_be_played_is_made_anew(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load("kuhn_poker")
    monkeypatch.setattr(building, "user_cache", lambda: cache)
    build(program, LIMITS, cache)
    started = count_children(monkeypatch)
    moves_started: list[int] = []
    real = PropnetMachine.lay_out

    def lay_out(machine: PropnetMachine) -> None:
        moves_started.append(len(started))
        if len(moves_started) == 1:
            raise IndexError("index 7 is out of bounds")
        real(machine)

    monkeypatch.setattr(PropnetMachine, "lay_out", lay_out)
    machine = build_machine(program, "auto")
    assert (machine.backend, moves_started, len(started)) == ("propnet", [0, 1], 1)


def test_other_code_or_libraries_make_other_files(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load("kuhn_poker")
    started = count_children(monkeypatch)
    build(program, LIMITS, cache)
    for target, changed in (
        ("ggp.machine.compiling.disk_cache.FILES", caching.FILES[1:]),
        ("ggp.machine.compiling.disk_cache.metadata.version", lambda _: "5.0"),
    ):
        monkeypatch.setattr(target, changed)
        makers_version.cache_clear()
        build(program, LIMITS, cache)
    makers_version.cache_clear()
    assert len(started) == 3


def test_every_module_that_makes_circuits_counts_for_their_version() -> None:
    code = (
        "import sys; from ggp.gdl.normalize import load; p = load('kuhn_poker');"
        "from ggp.machine import Limits;"
        "from ggp.machine.propnet.compile.circuits import make; make((p, Limits(), 'key'));"
        "print(*(m for m in sys.modules if m.startswith(('ggp.gdl', 'ggp.machine.propnet'))))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    counted = {f"ggp.{name.replace('/', '.')}" for name in (*caching.FILES, *caching.FOLDERS)}
    # They pack, run and store what the others make.
    names = ("", ".compile", ".compile.cache", ".compile.child")
    uncounted = {f"ggp.machine.propnet{name}" for name in names}
    modules_used = set(ran.stdout.split())
    assert "ggp.machine.propnet.compile.rewriting.translate" in modules_used
    assert {
        module
        for module in modules_used - uncounted
        if not any(f"{module}.".startswith(f"{prefix}.") for prefix in counted)
    } == set()


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

    targets = {
        "write": "ggp.machine.compiling.disk_cache.os.fdopen",
        "replace": "ggp.machine.compiling.disk_cache.os.replace",
        "mkdir": "pathlib.Path.mkdir",
        "mkstemp": "ggp.machine.compiling.disk_cache.tempfile.mkstemp",
    }[failing]
    cache = DiskCache(tmp_path / "circuits")
    with monkeypatch.context() as patched:
        patched.setattr(targets, fail)
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


def test_killed_child_leaves_the_game_to_another_backend(caplog: pytest.LogCaptureFixture) -> None:
    program = normalize(parse(SLOW_TO_GROUND))

    def kill_children() -> None:
        for _ in range(400):
            time.sleep(0.05)
            for task in Path("/proc/self/task").iterdir():
                for child in (task / "children").read_text().split():
                    command = Path(f"/proc/{child}/cmdline").read_bytes()
                    if b"ggp.run.calls" in command:
                        time.sleep(0.3)
                        os.kill(int(child), signal.SIGKILL)
                        return

    killer = threading.Thread(target=kill_children)
    killer.start()
    machine = build_machine(program, "auto", Limits(grounding_seconds=15))
    killer.join()
    assert machine.backend == "relational"
    assert "killed" in caplog.text
    playouts = machine.playout(machine.initial(1), np.random.default_rng(0), 2)
    assert playouts.steps.tolist() == [2]


# -------------------------------------------------------------------- what could not be done


def in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process has tried."""
    monkeypatch.setattr(building, "_refused", {})
    monkeypatch.setattr(building, "_tried", set())


@pytest.mark.verify
def test_rules_that_passed_a_limit_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = normalize(parse(SLOW_TO_GROUND))
    in_a_new_process(monkeypatch)
    started = count_children(monkeypatch, real=True)
    for _ in range(3):
        with pytest.raises(MachineError, match="passed the limit"):
            build(program, Limits(grounding_seconds=1.0), DiskCache(None))
    assert len(started) == 1


def test_rules_that_passed_a_limit_are_remembered_on_disk(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = normalize(parse(SLOW_TO_GROUND))
    started = count_children(monkeypatch, real=True)
    for _ in range(2):
        in_a_new_process(monkeypatch)
        for seconds in (1.0, 0.5):
            with pytest.raises(ReasonerLimitError, match="passed the limit of 1 seconds"):
                build(program, patient(seconds), cache)
    assert len(started) == 1
    in_a_new_process(monkeypatch)
    with pytest.raises(ReasonerLimitError, match="seconds"):
        build(program, patient(1.5), cache)
    assert len(started) == 2


def test_a_child_that_was_kept_waiting_is_given_some_more_starts(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = normalize(parse(SLOW_TO_GROUND))
    started: list[float] = []

    def fail(_: str, __: object, limits: ChildLimits, **___: object) -> bytes:
        started.append(limits.seconds)
        raise ReasonerLimitError(WAITING, 4 * limits.seconds, "grounding")

    monkeypatch.setattr(building, "run_limited", fail)
    for seconds in (20.0, 40.0):
        for _ in range(5):
            in_a_new_process(monkeypatch)
            for _ in range(2):
                with pytest.raises(ReasonerLimitError):
                    build(program, Limits(grounding_seconds=seconds), cache)
    assert started == [20.0] * building.MAX_TRIES + [40.0] * building.MAX_TRIES


@pytest.mark.parametrize(
    ("refusal", "limits", "covered"),
    [
        (Refusal("seconds", 20.0, 20.0, 100, 1), Limits(grounding_seconds=20.0), True),
        (Refusal("seconds", 20.0, 20.0, 100, 1), Limits(grounding_seconds=21.0), False),
        (Refusal(WAITING, 80.0, 20.0, 100, 1), Limits(grounding_seconds=20.0), True),
        (Refusal(WAITING, 80.0, 20.0, 100, 1), Limits(grounding_seconds=21.0), False),
        (Refusal("bytes of memory", 100, 20.0, 100, 1), Limits(grounding_bytes=100), True),
        (Refusal("bytes of memory", 100, 20.0, 100, 1), Limits(grounding_bytes=101), False),
        (Refusal("functions in one term", 9, 20.0, 100, 1), Limits(grounding_seconds=99.0), True),
    ],
)
def test_a_refusal_holds_until_the_limit_is_raised(
    refusal: Refusal, limits: Limits, covered: bool
) -> None:
    assert from_bytes(to_bytes(refusal, "key"), "key") == refusal
    assert refusal.covers(limits) == covered


@pytest.mark.verify
def test_warning_says_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    program = normalize(parse(SLOW_TO_GROUND + "(goal a 1)"))
    build_machine(program, "auto", Limits(grounding_seconds=1.0)).close()
    assert "`--backend relational`" in caplog.text
    assert "`--grounding-seconds 4`" in caplog.text


def unfinished(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Children whose clock runs out before the first pass; notes every start."""
    started: list[str] = []

    def run(task: str, argument: Any, *_: object, **__: object) -> bytes:
        started.append(task)
        program, limits, key = argument
        circuit = build_circuit(ground(program))
        return to_bytes(
            Built(*optimise(circuit, WorkDeadline(0.0)), 1, limits.grounding_seconds), key
        )

    monkeypatch.setattr(building, "run_limited", run)
    return started


def test_circuit_the_clock_cut_off_is_made_anew_until_it_is_complete(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load("tic_tac_toe")
    with monkeypatch.context() as patched:
        started = unfinished(patched)
        in_a_new_process(patched)
        large = build(program, LIMITS, cache)
        assert build(program, LIMITS, cache).circuit.num_literals == large.circuit.num_literals
        assert len(started) == 1
    assert not large.complete
    in_a_new_process(monkeypatch)
    children = count_children(monkeypatch)
    for _ in range(3):
        in_a_new_process(monkeypatch)
        circuit = build(program, LIMITS, cache)
        assert circuit.complete
        assert circuit.reports
    assert len(children) == 1


def test_circuit_that_is_never_complete_is_not_made_for_ever(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load("tic_tac_toe")
    started = unfinished(monkeypatch)

    def starts(seconds: float) -> int:
        started.clear()
        for _ in range(5):
            in_a_new_process(monkeypatch)
            assert not build(program, Limits(grounding_seconds=seconds), cache).complete
        return len(started)

    assert starts(5.0) == building.MAX_TRIES
    assert starts(1.0) == 0
    assert starts(10.0) == building.MAX_TRIES


def test_another_try_that_fails_leaves_the_circuit_there_is(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load("tic_tac_toe")
    unfinished(monkeypatch)
    in_a_new_process(monkeypatch)
    first = build(program, LIMITS, cache)

    def fail(*_: object, **__: object) -> bytes:
        raise ReasonerLimitError("seconds", 20.0, "grounding")

    monkeypatch.setattr(building, "run_limited", fail)
    for tries in (2, 3, 3):
        in_a_new_process(monkeypatch)
        retried = build(program, LIMITS, cache)
        assert retried.tries == tries
        assert retried.circuit.literals.tolist() == first.circuit.literals.tolist()


# -------------------------------------------------------------------- where it is


def test_folder_may_begin_with_the_home_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GGP_CACHE_DIR", "~/circuits")
    assert user_cache().folder == tmp_path / "circuits"


def test_folder_without_a_name_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GGP_CACHE_DIR")
    usual = user_cache().folder
    monkeypatch.setenv("GGP_CACHE_DIR", "")
    assert usual is not None
    assert user_cache().folder == usual


def test_folder_of_nobody_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GGP_CACHE_DIR", "~nobody-of-that-name/circuits")
    assert user_cache().folder is None


def test_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(*_: object) -> None:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("GGP_CACHE_DIR", raising=False)
    monkeypatch.setattr("ggp.machine.compiling.disk_cache.user_cache_path", homeless)
    cache = user_cache()
    cache.put("key", b"data")
    assert cache.get("key") is None
