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
import resource
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from ggp.errors import (
    BackendUnavailableError,
    GGPError,
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


class ChildLimits(NamedTuple):
    """What a child may take.

    Attributes:
        seconds: of processor time, its start (about 0.2 s) included. The system counts whole
            seconds, and ends the child at the next one.
        wait_seconds: of wall time; at most a day.
        memory_bytes: of address space, libraries (about 0.3 GB) included.
    """

    seconds: float
    wait_seconds: float
    memory_bytes: int


def run_limited(
    task: str,
    argument: object,
    limits: ChildLimits,
    *,
    doing: str = "grounding the rules",
    hear: Callable[[bytes], None] = lambda news: None,
    meanwhile: Meanwhile | None = None,
) -> bytes:
    """The result of a task for its argument, computed in a child process.

    Args:
        task: a function of ours with one argument that returns bytes, as `module:name`.
        argument: the task's argument; must be picklable.
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
    seconds, wait_seconds, memory_bytes = limits
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
            (task, packed, seconds, memory_bytes, doing),
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
        raise _error_of(body, doing)
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


_FIELDS: Mapping[type[GGPError], tuple[str, ...]] = {
    ReasonerLimitError: ("limit", "reached", "doing", "cause"),
    BackendUnavailableError: ("tool", "hint"),
    InstallationError: ("reason",),
    MachineError: (),
}
"""The errors of tasks, and what they are made of; any other `MachineError` is made of its text."""


def _error_json(error: GGPError) -> bytes:
    """An error as a child sends it."""
    kind = type(error) if type(error) in _FIELDS else MachineError
    told = [getattr(error, name) for name in _FIELDS[kind]] or [str(error)]
    return json.dumps([kind.__name__, *told]).encode()


def _error_of(sent: bytes, doing: str) -> GGPError:
    """The error that a child sent, of a task with this description."""
    name, *told = json.loads(sent)
    if name == ReasonerLimitError.__name__:
        told[2] = doing
    return {kind.__name__: kind for kind in _FIELDS}[name](*told)


def _tail(said: bytes) -> str:
    text = said.decode(errors="replace").strip()
    return f"; it said: {text[-_MOST_SAID:]}" if text else ""


# -------------------------------------------------------------------- the child's side


def limited(
    task: str, argument: bytes, seconds: float, memory_bytes: int, doing: str
) -> bytes | None:
    """The result of a task, in the child; the arguments are those of `run_limited`."""
    # The parent watches the clock, and the system the processor time.
    processes.lower_limit(resource.RLIMIT_CPU, math.ceil(seconds), stays_hard=True)
    # Millions of tuples live until the end: looking through them for cycles takes long.
    gc.disable()
    failure: GGPError
    try:
        module, _, name = task.partition(":")
        function: Task = getattr(importlib.import_module(module), name)
        with processes.limited_memory(memory_bytes):
            return function(pickle.loads(argument))
    except MemoryError:
        failure = ReasonerLimitError("bytes of memory", memory_bytes, doing)
    except (MachineError, InstallationError) as error:
        failure = error
    except ModuleNotFoundError as error:
        failure = InstallationError(str(error))
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__))
        failure = MachineError(
            f"{doing} failed in its child process: {type(error).__name__}: {error}; "
            f"play with `--backend prolog`{_tail(where.encode())}"
        )
    calls.end(_error_json(failure))
    return None


def give_up(error: ReasonerLimitError) -> None:
    """End the child with an error, from any thread: nothing else stops a grounder.

    Returns only in a process that is not a child.
    """
    calls.end(_error_json(error))
