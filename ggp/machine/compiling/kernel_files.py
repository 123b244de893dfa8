"""Where machine code of kernels is kept: in the package, and in numba's cache.

A first start is as fast as any other if the package brings its machine code. The wheel for Linux on
x86-64 has code for three levels of that processor, and `make setup` makes code for the processor
of a checkout (`scripts/compile_kernels.py`). All other code is compiled at its first call, and kept
by numba in the user's cache.

`PACKAGE_FOLDER` has a folder for each level. It counts only if its code was made from these sources
with the installed numba and llvmlite, and needs no more than this processor has; code of a checkout
only on a processor like the one that it was made on. Machine code is run as it is read, so a folder
that others can write is ignored.
"""

from __future__ import annotations

import fcntl
import grp
import logging
import os
import pwd
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ggp.machine.compiling.kernel_version import kernels_version

PACKAGE_FOLDER = Path(__file__).resolve().parents[2] / "_kernels"

HOST = "host"
"""The level of code for the very processor that it was made on."""

LEVELS = {
    "x86-64-v2": "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""Levels of the wheel's code, each with the features that it needs besides those of the levels
before it, as in the System V ABI for x86-64. LLVM knows levels and features by these names."""

MADE_BY = "made-by"
"""Name of the file in a level's folder that says which sources and libraries made the code, and for
`HOST` on which processor."""

_log = logging.getLogger(__name__)
_recording: tuple[Path, tuple[str, ...]] | None = None


@cache
def made_by(level: str = "") -> str:
    """Digest of the sources of kernels, with the versions of all that compiles them.

    Args:
        level: for `HOST`, this processor is named too: NUMBA_CPU_NAME and NUMBA_CPU_FEATURES can
            replace its name and features.
    """
    libraries = (f"{name} {version(name)}" for name in ("numba", "llvmlite"))
    return ", ".join((kernels_version(), *libraries, *([_processor()] if level == HOST else [])))


def prepare(folder: Path, levels: tuple[str, ...]) -> None:
    """Make the folders for `record`, without code that is out of date.

    What is loaded from one folder is not compiled for the others: all are kept, or none.
    """
    counting = {level for level in (*LEVELS, HOST) if _counts(folder / level)}
    if counting == {*levels, HOST}:  # somebody was interrupted
        return
    for level in (*LEVELS, *levels, HOST):
        shutil.rmtree(folder / level, ignore_errors=True)
    for level in (*levels, HOST):
        (folder / level).mkdir(parents=True)
        (folder / level / MADE_BY).write_text(made_by(level), encoding="utf-8")


def record(folder: Path, levels: tuple[str, ...]) -> None:
    """From now on, write the code of each kernel that is compiled to a folder.

    What is there already is loaded from it; nothing is read or written elsewhere.

    Args:
        folder: made by `prepare`.
        levels: of processors for which to compile, besides this one.
    """
    global _recording
    _recording = folder, levels
    if levels:
        from ggp.machine.compiling import kernel_compiler

        kernel_compiler.keep_sources()


def is_in_package() -> bool:
    """Whether the package has machine code that this process can use."""
    return bool(_folders())


class KernelFiles:
    """The stored machine code of a kernel; numba's dispatcher takes it as its cache.

    Whatever a broken file or a broken disk raises is logged: the kernel is compiled again.

    Args:
        function: the Python function.
        disk: numba's cache of the function; None if there is no place for one.
        announce: called before code is compiled, since there is none.
    """

    def __init__(
        self, function: Callable[..., Any], disk: Any, announce: Callable[[], None]
    ) -> None:
        self._disk = None if _recording else disk
        self._announce = announce
        tag = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        self._name = f"{function.__module__}.{function.__qualname__}.{tag}"
        is_ours = function.__module__.startswith("ggp.")
        self._shipped = [_index(folder, self._name) for folder in _folders()] if is_ours else []

    @property
    def cache_path(self) -> str | None:
        """The folder of numba's cache."""
        return None if self._disk is None else self._disk.cache_path

    @property
    def index_paths(self) -> tuple[Path, ...]:
        """Index files, of which those that exist tell of code."""
        disk = [] if self._disk is None else [self._disk._cache_file]
        return tuple(Path(file._index_path) for file in (*self._shipped, *disk))

    def signatures(self) -> list[Any]:
        """The types of arguments for which there is code, where the index can be read."""
        found: dict[Any, None] = {}
        with _failures_logged():
            for file in self._shipped:
                found |= dict.fromkeys(file._load_index())
            if self._disk is not None:
                found |= dict.fromkeys(key[0] for key in self._disk._cache_file._load_index())
        return list(found)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """numba's record of the code for some types of arguments; None if there is none.

        numba's own function first imports its support for lists, dictionaries, polynomials and so
        on, which takes longer than loading all our kernels, and prepares reference counting, which
        they do not use. numba repeats these steps itself before it compiles.
        """
        with _failures_logged():
            for file in self._shipped:
                if (data := file.load(signature)) is not None:
                    return _rebuilt(data, target)
        with _failures_logged():
            if self._disk and (code := self._disk._load_overload(signature, target)) is not None:
                return code
        self._announce()
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Store code for some types of arguments, if it does not depend on this process."""
        with _failures_logged():
            if _recording is not None:
                self._record(signature, code)
            elif self._disk is not None:
                self._disk.save_overload(signature, code)

    def flush(self) -> None:
        """Nothing to do: old code is replaced by new."""

    def _record(self, signature: Any, code: Any) -> None:
        assert _recording is not None
        folder, levels = _recording
        if code.library.has_dynamic_globals:
            return
        for level in (*levels, HOST):  # this processor's last: then the others' are there
            with code.library.compiled_for("" if level == HOST else level):
                data = code._reduce()
            with _locked(folder / level):
                _index(folder / level, self._name).save(signature, data)


def _rebuilt(data: Any, target: Any) -> Any:
    from numba.core.compiler import CompileResult

    return CompileResult._rebuild(target, *data)


def _index(folder: Path, name: str) -> Any:
    from numba.core.caching import IndexDataCacheFile

    return IndexDataCacheFile(str(folder), name, made_by())


@contextmanager
def _failures_logged() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever a broken pickle or a broken disk raises
        _log.info("the cache of machine code fails: %r", error)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Within this context, no other process writes to a folder: an index is read, then replaced."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@cache
def _folders() -> tuple[Path, ...]:
    """The folders of the package's code that this process can use, the best first."""
    if _recording is not None:
        return (_recording[0] / HOST,)
    folders = (PACKAGE_FOLDER / level for level in (HOST, *_levels_here()))
    return tuple(folder for folder in folders if _counts(folder))


def _processor() -> str:
    """The name of the processor that numba compiles for, with a digest of its features."""
    from numba.core.registry import cpu_target

    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    digest = blake2b(f"{triple} {features}".encode(), digest_size=8).hexdigest()
    return f"{name or 'generic'} {digest}"


def _levels_here() -> list[str]:
    """The levels of this processor, the best first; NUMBA_CPU_FEATURES can deny it features."""
    from numba.core.registry import cpu_target

    return levels_of(cpu_target.target_context.codegen()._tm_features.split(","))


def levels_of(features: Iterable[str]) -> list[str]:
    """The levels of a processor, the best first.

    Args:
        features: such as `+avx2`, as LLVM tells them.
    """
    present, levels = set(features), list[str]()
    for level, needs in LEVELS.items():
        if not all(f"+{feature}" in present for feature in needs.split()):
            break
        levels.insert(0, level)
    return levels


def _counts(folder: Path) -> bool:
    try:
        made = (folder / MADE_BY).read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        _log.info("machine code in %s is not used: %s", folder, error)
        return False
    reason = ""
    if made != (wanted := made_by(folder.name)):
        reason = f"it was made by {made}, not by {wanted}"
    elif not all(is_safe(part) for part in (folder, folder.parent)):
        reason = "others can write to it"
    if reason:
        _log.info("machine code in %s is not used: %s", folder, reason)
    return not reason


def is_safe(folder: Path) -> bool:
    """Whether nobody but its owner, whom we trust, can write to a folder.

    We trust the system, ourselves, and the owner of the package. Systems that give each user a
    group of their own often let this group write.
    """
    status = folder.stat()
    if status.st_uid not in (0, os.geteuid(), Path(__file__).stat().st_uid):
        return False
    if status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _is_own_group(status.st_gid, status.st_uid)


def _is_own_group(gid: int, uid: int) -> bool:
    """Whether nobody but its namesake, the user, is in a group."""
    with suppress(KeyError):
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid)
        is_namesake = group.gr_name == user.pw_name and user.pw_gid == gid
        return is_namesake and set(group.gr_mem) <= {user.pw_name}
    return False
