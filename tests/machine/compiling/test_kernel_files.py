"""Machine code that comes with the package: used where it fits, and only from a safe folder."""

from __future__ import annotations

import os
import platform
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ggp.machine.compiling import kernel_files
from ggp.machine.compiling.kernel_files import HOST, LEVELS, MADE_BY
from ggp.machine.rows import group_rows
from ggp.run import processes
from tests.support.games import REPOSITORY

RECORDS = """
import sys
from pathlib import Path
from ggp.machine.compiling import kernel_files
from tests.machine.compiling.test_kernel_files import grouped

folder = Path(sys.argv[1])
kernel_files.prepare(folder, tuple(sys.argv[2:]))
kernel_files.record(folder, tuple(sys.argv[2:]))
print(grouped())
"""

USES = """
import sys
from pathlib import Path
from ggp.machine.compiling import jit, kernel_files
from tests.machine.compiling.test_kernel_files import grouped

kernel_files.PACKAGE_FOLDER = Path(sys.argv[1])
jit._announce_compiling = lambda: print("compiled", end=" ")
print(grouped())
"""


def grouped() -> list[int]:
    """The groups of equal rows, by a kernel."""
    rows = np.arange(12, dtype=np.uint64).reshape(6, 2) % np.uint64(8)
    groups, first = np.zeros(6, dtype=np.int64), np.zeros(6, dtype=np.int64)
    group_rows(rows, np.full(16, -1), groups, first)
    return groups.tolist()


def run(program: str, cache: Path, *arguments: str, **variables: str) -> str:
    own = {**processes.environment(), "NUMBA_CACHE_DIR": str(cache), **variables}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, env=own, cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the levels are those of x86-64")
def test_code_of_the_package_is_used_and_gives_the_same(tmp_path: Path) -> None:
    code, cache = tmp_path / "code", tmp_path / "cache"
    expected = f"{grouped()}\n"
    assert run(RECORDS, cache, str(code), *LEVELS) == expected
    assert run(USES, cache, str(code)) == expected
    other = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    assert run(USES, tmp_path / "other", str(code), **other) == f"compiled {expected}"
    (code / HOST).rename(tmp_path / "elsewhere")
    assert run(USES, cache, str(code)) == expected
    oldest = next(iter(LEVELS))
    features = ",".join(f"+{name}" for name in LEVELS[oldest].split())
    assert run(USES, cache, str(code), NUMBA_CPU_FEATURES=features) == expected
    assert list(cache.rglob("*.nbi")) == []


def made(folder: Path, by: str) -> Path:
    folder.mkdir(parents=True, mode=0o755)
    folder.parent.chmod(0o755)
    (folder / MADE_BY).write_text(by)
    return folder


def test_code_of_other_sources_is_not_used(tmp_path: Path) -> None:
    assert kernel_files._counts(made(tmp_path / "a" / HOST, kernel_files.made_by(HOST)))
    assert not kernel_files._counts(made(tmp_path / "b" / HOST, "other sources"))
    assert not kernel_files._counts(tmp_path / "c" / HOST)


def test_levels_that_are_asked_for_later_are_compiled(tmp_path: Path) -> None:
    level = next(iter(LEVELS))
    kernel_files.prepare(tmp_path, ())
    code = tmp_path / HOST / "code"
    code.touch()
    kernel_files.prepare(tmp_path, ())
    assert code.exists()
    kernel_files.prepare(tmp_path, (level,))
    assert not code.exists()  # it would be loaded, and nothing compiled for the level
    assert (tmp_path / level / MADE_BY).read_text() == kernel_files.made_by()
    assert (tmp_path / HOST / MADE_BY).read_text() == kernel_files.made_by(HOST)
    code.touch()
    kernel_files.prepare(tmp_path, (level,))
    assert code.exists()


def test_what_is_complete_is_not_compiled_again(tmp_path: Path) -> None:
    main = runpy.run_path(str(REPOSITORY / "scripts" / "compile_kernels.py"))["main"]
    asked: list[list[str]] = []
    main.__globals__["compile_all"] = lambda folder, levels: asked.append(levels)
    level = next(iter(LEVELS))
    for levels in ([], [], [level], [level]):
        main([str(tmp_path), *levels])
    assert asked == [[], [level]]


def test_code_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    folder = made(tmp_path / "package" / HOST, kernel_files.made_by(HOST))
    for writable in (folder, folder.parent):
        usual = writable.stat().st_mode
        writable.chmod(0o777)
        assert not kernel_files._counts(folder)
        writable.chmod(usual)
    assert kernel_files._counts(folder)


def test_a_stranger_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    owned = kernel_files.is_safe(tmp_path)
    assert owned == (tmp_path.stat().st_uid in (0, Path(kernel_files.__file__).stat().st_uid))


def test_a_level_needs_all_levels_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    second, third = (LEVELS[name].split() for name in ("x86-64-v2", "x86-64-v3"))
    for features, levels in (
        ((), []),
        (second, ["x86-64-v2"]),
        ((*second, *third), ["x86-64-v3", "x86-64-v2"]),
        ((*second, *third[1:], *LEVELS["x86-64-v4"].split()), ["x86-64-v2"]),
    ):
        assert kernel_files.levels_of({f"+{feature}" for feature in features}) == levels


@pytest.mark.parametrize("tags", [[], ["cp311-cp311-manylinux_2_28_x86_64", "cp311-cp311-linux"]])
def test_the_wheel_has_a_tag_of_numbas(tags: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"Tag: {tag}\n" for tag in tags)
    numba = SimpleNamespace(read_text=lambda name: f"Wheel-Version: 1.0\n{text}")
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: numba)
    tag = runpy.run_path(str(REPOSITORY / "scripts" / "wheel_kernels.py"))["_numba_tag"]
    if tags:
        assert tag() == "cp311-cp311-linux"
    else:
        with pytest.raises(RuntimeError, match="does not say"):
            tag()
