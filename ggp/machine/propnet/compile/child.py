"""Does work that may take any amount of time and memory, in a child process with limits.

Grounding a stranger's rules may explode, and nothing can stop it from within. So a child does it
(`ggp.run.calls`), which is told the name of a task and its argument, and answers with bytes: what
comes from there is never unpickled. Before its result it may send any number of progress reports.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import pickle
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from ggp.errors import (
    BackendUnavailableError,
    InstallationError,
    MachineError,
    ReasonerLimitError,
)
from ggp.machine.base import WAITING
from ggp.run import calls, processes
from ggp.run.calls import Child, ChildLostError, Meanwhile

Task = Callable[[Any], bytes]

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
    hear: Callable[[bytes], None] = lambda news: None,
    meanwhile: Meanwhile | None = None,
) -> bytes:
    """The result of a task for its argument, computed in a child process.

    Args:
        task: a function of ours with one argument that returns bytes, as `module:name`.
        argument: the task's argument; must be picklable.
        seconds: processor time the child may take, its start (about 0.2 s) included. The system
            counts whole seconds, and ends the child at the next one.
        wait_seconds: wall time it may take; at most a day.
        memory_bytes: address space it may use, libraries (about 0.3 GB) included.
        doing: a description of the task, for error messages.
        hear: called with the progress reports that the child sends.
        meanwhile: called again and again while the child works, see `Meanwhile`. What it raises
            ends the child.

    Raises:
        ReasonerLimitError: the child took too long (`seconds`, or `WAITING`), needed too much
            memory, or exceeded another limit of its task.
        BackendUnavailableError: clingo is missing, or no child can be started.
        InstallationError: another module is missing.
        MachineError: what the task raised, or the child crashed or was killed.
    """
    seconds, wait_seconds = min(seconds, _MOST_SECONDS), min(wait_seconds, _MOST_SECONDS)
    packed = pickle.dumps(argument, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        child = Child(collects_errors=True)
    except OSError as error:
        raise BackendUnavailableError(
            "a child process", f"{error}; play with `--backend prolog`"
        ) from error
    try:
        failed, body = child.call(
            limited,
            (task, packed, seconds, memory_bytes),
            hear,
            until_s=time.monotonic() + wait_seconds,
            meanwhile=meanwhile,
            trusts=False,
        )
    except TimeoutError as error:
        raise ReasonerLimitError(WAITING, wait_seconds, doing) from error
    except ChildLostError as lost:
        _raise_loss(lost, seconds, memory_bytes, doing)
    finally:
        child.end()
    if failed:
        _raise_failure(json.loads(body), memory_bytes, doing)
    return bytes(body)


def _raise_loss(lost: ChildLostError, seconds: float, memory_bytes: int, doing: str) -> NoReturn:
    """Raise the error for a child that ended without an answer."""
    if any(words in lost.said for words in _OUT_OF_MEMORY):
        raise ReasonerLimitError("bytes of memory", memory_bytes, doing)
    if lost.status == -signal.SIGXCPU:
        raise ReasonerLimitError("seconds", seconds, doing)
    if lost.status == -signal.SIGKILL:
        raise MachineError(
            f"{doing} was killed from outside (signal 9), perhaps because the system ran out of "
            "memory; lower the limit of memory, or play with `--backend prolog`"
        )
    raise MachineError(
        f"{doing} crashed in its child process ({lost}); "
        f"play with `--backend prolog`{_tail(lost.said)}"
    )


def _raise_failure(failure: dict[str, list[str]], memory_bytes: int, doing: str) -> NoReturn:
    """Raise in the parent the error that the child caught."""
    ((kind, details),) = failure.items()
    if kind == "memory":
        raise ReasonerLimitError("bytes of memory", memory_bytes, doing)
    if kind == "limit":
        raise ReasonerLimitError(details[0], float(details[1]), doing, details[2])
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


def limited(task: str, argument: bytes, seconds: float, memory_bytes: int) -> bytes:
    """The result of a task, in the child; the arguments are those of `run_limited`."""
    # The parent watches the clock, and the system the processor time.
    processes.limit_cpu(math.ceil(seconds))
    # Millions of tuples live until the end: looking through them for cycles takes long.
    gc.disable()
    try:
        module, _, name = task.partition(":")
        function: Task = getattr(importlib.import_module(module), name)
        with processes.limited_memory(memory_bytes):
            return function(pickle.loads(argument))
    except MemoryError:
        failure = {"memory": [""]}
    except ReasonerLimitError as error:
        failure = _passed(error)
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
    calls.end(json.dumps(failure).encode())
    raise MachineError("only a child has limits")


def give_up(error: ReasonerLimitError) -> None:
    """End the child with an error, from any thread: nothing else stops a grounder.

    Returns only in a process that is not a child.
    """
    calls.end(json.dumps(_passed(error)).encode())


def _passed(error: ReasonerLimitError) -> dict[str, list[str]]:
    return {"limit": [error.limit, str(error.reached), error.cause]}
