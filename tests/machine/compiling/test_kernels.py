"""How kernels are compiled, and which arguments they take."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.errors import BackendUnavailableError
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.compiling import jit
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.players import make_player, parse_spec
from ggp.run import processes
from tests.support.effort import rarely
from tests.support.games import REPOSITORY

Ints = NDArray[np.int64]


@by_reference
class Inner(NamedTuple):
    """Part of another tuple."""

    table: NDArray[np.float64]
    factor: int


@by_reference
class Outer(NamedTuple):
    """A tuple of everything that a kernel takes."""

    numbers: Ints
    inner: Inner
    share: float


@inlined
def _scaled(outer: Outer, row: int) -> float:
    return float(outer.inner.factor * outer.inner.table[row, 1] + outer.share)


@kernel
def _fill(outer: Outer) -> float:
    total = 0.0
    for row in range(len(outer.numbers)):
        outer.numbers[row] = row * outer.inner.factor
        total += _scaled(outer, row)
    return total


@inlined
def _shared(number: int) -> int:
    return 3 * number


@inlined
def _between(number: int) -> int:
    return _shared(number) + 1


@kernel
def _direct(number: int) -> int:
    return _shared(number)


@kernel
def _indirect(number: int) -> int:
    return _between(number)


@pytest.fixture(autouse=True)
def never_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of kernels does not count this file, so kernels in it may be out of date."""
    version = os.urandom(8).hex()
    monkeypatch.setattr(jit, "kernels_version", lambda: version)


def test_kernel_reads_and_writes_arrays_of_nested_tuples() -> None:
    table = np.arange(6, dtype=np.float64).reshape(3, 2)
    outer = Outer(np.zeros(3, dtype=np.int64), Inner(table, 10), 0.5)
    assert _fill(outer) == 10 * (1 + 3 + 5) + 3 * 0.5
    assert outer.numbers.tolist() == [0, 10, 20]
    # As in Python.
    assert _fill.py_func(outer) == 10 * (1 + 3 + 5) + 3 * 0.5


def test_tuple_is_one_argument_of_a_part() -> None:
    outer = Outer(np.zeros(1, dtype=np.int64), Inner(np.zeros((1, 2)), 1), 0.0)
    _fill(outer)
    (signature,) = _fill.dispatcher.signatures
    (record,) = signature
    manager = _fill.dispatcher.targetctx.data_model_manager
    assert str(manager[record].get_value_type()) in ("i8*", "ptr")


def test_kernel_refuses_a_tuple_of_something_else() -> None:
    with pytest.raises(Exception, match="Unknown attribute 'numbers'"):
        _fill(Outer(object(), Inner(np.zeros((1, 2)), 1), 0.0))  # type: ignore[arg-type]


def test_part_is_compiled_once_for_all_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    jit.load_compiler()
    from ggp.machine.compiling import kernel_compiler

    compiled: list[str] = []
    real = kernel_compiler._PartCompiler._compile_core

    def noted(compiler: Any) -> Any:
        compiled.append(compiler.state.func_id.func_name)
        return real(compiler)

    monkeypatch.setattr(kernel_compiler._PartCompiler, "_compile_core", noted)
    assert (_direct(2), _indirect(2)) == (6, 7)
    assert sorted(compiled) == ["_between", "_shared"]


COMPILING = """
import logging, sys
import numpy as np
from ggp.console import setup_logging
from ggp.machine.rows import number_rows, place_rows

setup_logging(0)
rows, slots = np.zeros((1, 1), dtype=np.uint64), np.full(4, -1)
place_rows(rows, slots, 1)
number_rows(rows, rows, slots, 1, np.zeros(1, dtype=np.int64), 0)
"""


@pytest.mark.verify
def test_one_line_says_that_kernels_are_compiled(tmp_path: Path) -> None:
    def first_messages() -> str:
        environment = {**processes.environment(), "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", COMPILING]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stderr

    def says_so(text: str) -> bool:
        return text.startswith("note: compiling machine code") and text.count("\n") == 1

    assert says_so(first_messages())
    indexes = list(tmp_path.rglob("*.nbi"))
    assert indexes
    for index in indexes:  # as other code might have left them
        index.write_bytes(pickle.dumps(version("numba")) + b"cggp.gone\nRecord\n.")
    assert says_so(first_messages())
    assert first_messages() == ""


KERNEL = """
from ggp.machine.compiling import jit
from ggp.machine.compiling.jit import inlined, kernel

@inlined
def own(number):
    return number + 1

@kernel
def applied(part, number):
    return part(number)

jit.kernels_version = lambda: "of the test"
"""

PART = """
from ggp.machine.compiling.jit import inlined

@inlined
def double(number):
    return 2 * number
"""

CALLS = """
import calling, doubling
print(calling.applied(doubling.double, 4), calling.applied(calling.own, 4))
"""

LOADS = """
import sys
import calling

calling.jit.prepare()
calling.jit.load_cached()
(signature,) = calling.applied.dispatcher.signatures
print(calling.applied(calling.own, 4), "doubling" in sys.modules)
import doubling
misses = calling.applied.dispatcher.stats.cache_misses
print(calling.applied(doubling.double, 4), sum(misses.values()))
"""


def test_functions_that_a_kernel_was_called_with_elsewhere_are_not_imported(tmp_path: Path) -> None:
    (tmp_path / "calling.py").write_text(KERNEL)
    (tmp_path / "doubling.py").write_text(PART)
    own = {**processes.environment(), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    own["PYTHONPATH"] = f"{tmp_path}:{REPOSITORY}"

    def output_of(program: str) -> str:
        command = [sys.executable, "-c", program]
        ran = subprocess.run(command, env=own, capture_output=True, text=True, check=True)
        return ran.stdout

    assert output_of(CALLS) == "8 5\n"
    assert output_of(LOADS) == "5 False\n8 0\n"


def test_missing_numba_means_prolog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with pytest.raises(BackendUnavailableError, match="pip install numba"):
        build_machine(load("kuhn_poker"), "propnet")
    machine = build_machine(load("kuhn_poker"), "auto")
    assert machine.backend == "prolog"
    machine.close()


def test_numba_that_must_not_compile_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(BackendUnavailableError, match="unset NUMBA_DISABLE_JIT"):
        build_machine(load("kuhn_poker"), "propnet")


def test_only_a_machine_that_must_be_ready_calls_all_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(PropnetMachine, "warm_up", lambda machine: warmed.append(machine.backend))
    build_machine(load("kuhn_poker"), "propnet")
    assert warmed == []
    build_machine(load("kuhn_poker"), "propnet", ready=True)
    assert warmed == ["propnet"]


@pytest.mark.parametrize(
    ("game", "backend", "other_modules"),
    # Large circuits are laid out by kernels, which have done their work then.
    [
        ("kuhn_poker", "propnet", "circuit propnet.optimise.draft propnet.play.layout"),
        ("breakthrough", "relational", "rows"),
    ],
)
def test_warming_up_calls_every_kernel_of_the_machine(
    game: str, backend: str, other_modules: str
) -> None:
    program = (
        "from ggp.gdl.normalize import load; from ggp.machine import build_machine\n"
        "from ggp.machine.compiling import jit\n"
        f"build_machine(load('{game}'), '{backend}', ready=True)\n"
        f"others = tuple(f'ggp.machine.{{each}}' for each in '{other_modules}'.split())\n"
        "ours = [k for k in jit._kernels if k.__module__.startswith('ggp.machine.')]\n"
        "kernels = [k for k in ours if not k.__module__.startswith(others)]\n"
        "print(*(k.__name__ for k in kernels if not k.dispatcher.signatures))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "\n"


def test_small_calls_are_spared_the_kernel_until_there_were_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jit, "SPARED_STEPS", 100)
    doubled, loaded = kernel(_doubled), jit.num_loaded()
    assert doubled.for_steps(60)(np.arange(3)) == 6
    assert jit.num_loaded() == loaded
    assert doubled.for_steps(60) is doubled
    assert doubled.for_steps(60)(np.arange(3)) == 6
    assert jit.num_loaded() == loaded + 1
    assert doubled.for_steps(1) is doubled


def test_code_is_that_of_the_kernel() -> None:
    doubled = kernel(_doubled)
    code = doubled.code_for(np.arange(3))
    assert code(np.arange(4)) == doubled(np.arange(4)) == 12
    assert doubled.unchecked(np.arange(4)) == doubled.unchecked(np.arange(4)) == 12
    assert len(doubled.dispatcher.signatures) == 1


def test_nothing_is_spared_once_a_clock_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "SPARED_STEPS", 100)
    jit.load_at_once()
    doubled = kernel(_doubled)
    assert doubled.for_steps(0) is doubled


@pytest.mark.parametrize(
    "game", rarely(["krieg_tic_tac_toe", "meier", "blind_breakthrough"], {"blind_breakthrough"})
)
def test_decisions_are_the_same_without_the_kernels_that_are_spared(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = build_machine(load(game), "propnet")
    decisions = []
    for spared in (False, True):
        monkeypatch.setattr(jit.Kernel, "is_spared", lambda self, steps, s=spared: s)
        player = make_player(parse_spec("hyperplay2:n=2"), machine, 0, np.random.default_rng(3))
        decision = player.choose(value_forced=True)
        decisions.append((decision.move, decision.values))
    assert decisions[0] == decisions[1]


def _doubled(numbers: Ints) -> int:
    total = 0
    for i in range(len(numbers)):
        total += 2 * numbers[i]
    return total
