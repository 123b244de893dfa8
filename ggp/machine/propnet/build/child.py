"""Work that may take any time and memory, done in a child process with limits.

Grounding a stranger's rules may explode, and nothing can stop it from within. The child gets a
task's name on its command line and the task's pickled argument on its standard input. It
answers on its standard output: a kind, a length, and that many bytes. It dies with its parent.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from ggp import children
from ggp.errors import (
    BackendUnavailableError,
    InstallationError,
    MachineError,
    ReasonerLimitError,
)
from ggp.machine.base import WAITING

Task = Callable[[Any], bytes]

_HEADER = struct.Struct("<8scQ")
_MAGIC = b"ggpchild"
_RESULT, _FAILURE = b"R", b"F"

_ENTRY = "ggp.machine.propnet.build.child:main"
_MOST_SECONDS = 86_400.0
_MOST_SAID = 500
_OUT_OF_MEMORY = (b"bad_alloc", b"out of memory", b"MemoryError", b"cannot allocate memory")


# -------------------------------------------------------------------- the parent's side


def run_limited(
    task: str,
    argument: object,
    *,
    seconds: float,
    wait_seconds: float,
    memory_bytes: int,
    doing: str = "grounding the rules",
) -> bytes:
    """What a task makes of its argument, in a child process.

    Args:
        task: a function of ours with one argument that returns bytes, as `module:name`.
        argument: for the task; must be picklable.
        seconds: processor time the child may take, its start (about 0.2 s) included. The system
            counts whole seconds, and ends it at the next one.
        wait_seconds: wall time it may take; no more than a day.
        memory_bytes: address space it may use, libraries (about 0.3 GB) included.
        doing: what the task is, for error messages.

    Raises:
        ReasonerLimitError: the child took too long (`seconds`, or `WAITING`) or needed too much
            memory.
        BackendUnavailableError: clingo is missing, or no child can be started.
        InstallationError: another module is missing.
        MachineError: what the task raised, or the child crashed or was killed.
    """
    seconds, wait_seconds = min(seconds, _MOST_SECONDS), min(wait_seconds, _MOST_SECONDS)
    pickled = pickle.dumps(argument, protocol=pickle.HIGHEST_PROTOCOL)
    limits = (repr(float(seconds)), str(int(memory_bytes)))
    try:
        child = children.start(_ENTRY, task, *limits, collects_errors=True)
    except OSError as error:
        raise BackendUnavailableError(
            "a child process", f"{error}; play with `--backend prolog`"
        ) from error
    try:
        with child:
            try:
                answer, said = child.communicate(pickled, timeout=wait_seconds)
            finally:
                if child.poll() is None:
                    children.kill_group(child.pid)
                child.wait()
    except subprocess.TimeoutExpired as error:
        raise ReasonerLimitError(WAITING, wait_seconds, doing) from error
    return _read(answer, said, child.returncode, seconds, memory_bytes, doing)


def _read(
    answer: bytes, said: bytes, status: int, seconds: float, memory_bytes: int, doing: str
) -> bytes:
    """The result in a child's answer; raises what went wrong."""
    if len(answer) >= _HEADER.size:
        magic, kind, size = _HEADER.unpack_from(answer)
        body = answer[_HEADER.size :]
        if magic == _MAGIC and len(body) == size:
            if kind == _RESULT:
                return body
            _raise_failure(json.loads(body), memory_bytes, doing)
    if any(words in said for words in _OUT_OF_MEMORY):
        raise ReasonerLimitError("bytes of memory", memory_bytes, doing)
    if status == -signal.SIGXCPU:
        raise ReasonerLimitError("seconds", seconds, doing)
    if status == -signal.SIGKILL:
        raise MachineError(
            f"{doing} was killed from outside (signal 9), perhaps because the system ran out of "
            "memory; lower the limit of memory, or play with `--backend prolog`"
        )
    raise MachineError(
        f"{doing} crashed in its child process ({children.how_it_ended(status)}); "
        f"play with `--backend prolog`{_tail(said)}"
    )


def _raise_failure(failure: dict[str, list[str]], memory_bytes: int, doing: str) -> NoReturn:
    """Raise in the parent what the child caught."""
    ((kind, details),) = failure.items()
    if kind == "memory":
        raise ReasonerLimitError("bytes of memory", memory_bytes, doing)
    if kind == "limit":
        raise ReasonerLimitError(details[0], float(details[1]), doing)
    if kind == "unavailable":
        raise BackendUnavailableError(details[0], details[1])
    if kind == "broken":
        raise InstallationError(details[0])
    if kind == "machine":
        raise MachineError(details[0])
    raise MachineError(
        f"{doing} failed in its child process: {details[0]}; play with `--backend prolog`"
        + _tail(details[1].encode())
    )


def _tail(said: bytes) -> str:
    text = said.decode(errors="replace").strip()
    return f"; it said: {text[-_MOST_SAID:]}" if text else ""


# -------------------------------------------------------------------- the child's side


def main(task: str, seconds: str, memory_bytes: str) -> None:
    """What the child does; its arguments are made by `run_limited`."""
    # The parent looks at the clock, and the system at the time that was used.
    children.limit_cpu(math.ceil(float(seconds)))
    # Millions of tuples that live until the end: looking through them for cycles takes long.
    gc.disable()
    with children.own_answers() as answer:
        kind, body = _outcome(task, sys.stdin.buffer.read(), int(memory_bytes))
        answer.write(_HEADER.pack(_MAGIC, kind, len(body)))
        answer.write(body)
    # Tearing down a large process takes time, and may fail.
    os._exit(0)


def _outcome(task: str, argument: bytes, memory_bytes: int) -> tuple[bytes, bytes]:
    try:
        module, _, name = task.partition(":")
        function: Task = getattr(importlib.import_module(module), name)
        with children.limited_memory(memory_bytes):
            return _RESULT, function(pickle.loads(argument))
    except MemoryError:
        failure = {"memory": [""]}
    except ReasonerLimitError as error:
        failure = {"limit": [error.limit, str(error.reached)]}
    except BackendUnavailableError as error:
        failure = {"unavailable": [error.tool, error.hint]}
    except InstallationError as error:
        failure = {"broken": [error.reason]}
    except ModuleNotFoundError as error:
        failure = {"broken": [str(error)]}
    except MachineError as error:
        failure = {"machine": [str(error)]}
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__))
        failure = {"crash": [f"{type(error).__name__}: {error}", where]}
    return _FAILURE, json.dumps(failure).encode()
