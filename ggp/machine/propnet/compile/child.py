"""Does work that may take any amount of time and memory, in a child process with limits.

Grounding a stranger's rules may explode, and nothing can stop it from within. The child gets a
task's name on its command line and the task's pickled argument on its standard input. It
answers on its standard output: a kind, a length, and that many bytes. Before its result it may send
any number of progress reports. It dies with its parent.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import pickle
import select
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

from ggp.errors import (
    BackendUnavailableError,
    InstallationError,
    MachineError,
    ReasonerLimitError,
)
from ggp.machine.base import WAITING
from ggp.run import processes

Task = Callable[[Any], bytes]

Meanwhile = Callable[[Callable[[], bool]], None]
"""The work of the parent while a child works. It is given a function that reads the child's
messages without waiting for any, and returns whether the last one has come: work that takes more
than a moment calls it now and then, and stops."""

_HEADER = struct.Struct("<8scQ")
_MAGIC = b"ggpchild"
_RESULT, _FAILURE, _NEWS = b"R", b"F", b"N"

_ENTRY = "ggp.machine.propnet.compile.child:main"
_MOST_SECONDS = 86_400.0
_MOST_SAID = 500
_CHUNK = 1 << 16
_LOOK_S = 0.02
"""Seconds between two checks whether to go on."""
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
    hear: Callable[[bytes], None] | None = None,
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
    pickled = pickle.dumps(argument, protocol=pickle.HIGHEST_PROTOCOL)
    limits = (repr(float(seconds)), str(int(memory_bytes)))
    try:
        child = processes.start(_ENTRY, task, *limits, collects_errors=True)
    except OSError as error:
        raise BackendUnavailableError(
            "a child process", f"{error}; play with `--backend prolog`"
        ) from error
    talk = _Talk(child, pickled, hear)
    try:
        with child:
            try:
                talk.go_on(time.monotonic() + wait_seconds, meanwhile)
            finally:
                if child.poll() is None:
                    processes.kill_group(child.pid)
                child.wait()
    except subprocess.TimeoutExpired as error:
        raise ReasonerLimitError(WAITING, wait_seconds, doing) from error
    return _read(talk, child.returncode, seconds, memory_bytes, doing)


class _Talk:
    """The conversation with a child through its pipes.

    Args:
        child: the child, which has just started.
        argument: the argument to send.
        hear: called with its progress reports.

    Attributes:
        answer: (kind, body) of its last message; None if it has sent none.
        said: its output to standard error.
    """

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        argument: bytes,
        hear: Callable[[bytes], None] | None,
    ) -> None:
        self.answer: tuple[bytes, bytes] | None = None
        self.said = bytearray()
        self._child, self._left, self._hear = child, memoryview(argument), hear
        self._heard = bytearray()

    def go_on(self, until_s: float, meanwhile: Meanwhile | None) -> None:
        """Exchange messages until the child ends.

        Raises:
            subprocess.TimeoutExpired: the child takes longer.
        """
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        with selectors.DefaultSelector() as pipes:
            pipes.register(child.stdin, selectors.EVENT_WRITE, self._tell)
            pipes.register(child.stdout, selectors.EVENT_READ, self._listen)
            pipes.register(child.stderr, selectors.EVENT_READ, self._overhear)

            def has_answered() -> bool:
                self._serve(pipes, until_s, 0.0)
                return self.answer is not None or not pipes.get_map()

            while pipes.get_map():
                self._serve(pipes, until_s, math.inf if meanwhile is None else _LOOK_S)
                if meanwhile is not None and child.stdin.closed and self.answer is None:
                    meanwhile(has_answered)
        try:
            child.wait(max(0.0, until_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            if self.answer is None:
                raise

    def _serve(self, pipes: selectors.BaseSelector, until_s: float, most_s: float) -> None:
        """Write and read as far as possible, and wait for that at most `most_s` seconds."""
        left_s = until_s - time.monotonic()
        ready = pipes.select(max(0.0, min(left_s, most_s)))
        if left_s <= 0 and not ready:  # messages sent in time count, however late they are read
            raise subprocess.TimeoutExpired(self._child.args, until_s)
        for key, _ in ready:
            if not key.data(key.fd):
                pipes.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]

    def _tell(self, pipe: int) -> bool:
        """Write a piece of the argument; returns whether there is more."""
        try:
            written = os.write(pipe, self._left[: select.PIPE_BUF])
        except BrokenPipeError:
            return False
        self._left = self._left[written:]
        return bool(self._left)

    def _overhear(self, pipe: int) -> bool:
        said = os.read(pipe, _CHUNK)
        self.said += said
        return bool(said)

    def _listen(self, pipe: int) -> bool:
        """Read a piece of the child's answer; returns whether there may be more."""
        read = os.read(pipe, _CHUNK)
        self._heard += read
        while len(self._heard) >= _HEADER.size:
            magic, kind, size = _HEADER.unpack_from(self._heard)
            end = _HEADER.size + size
            if magic != _MAGIC or len(self._heard) < end:
                break
            body = bytes(memoryview(self._heard)[_HEADER.size : end])
            del self._heard[:end]
            if kind != _NEWS:
                self.answer = kind, body
            elif self._hear is not None:
                self._hear(body)
        return bool(read)


def _read(talk: _Talk, status: int, seconds: float, memory_bytes: int, doing: str) -> bytes:
    """The result in a child's answer; raises an error if something went wrong."""
    said = bytes(talk.said)
    if talk.answer is not None:
        kind, body = talk.answer
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
        f"{doing} crashed in its child process ({processes.how_it_ended(status)}); "
        f"play with `--backend prolog`{_tail(said)}"
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


class _Answers:
    """The standard output of a child, which its threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe: BinaryIO | None = None

    def open(self, pipe: BinaryIO) -> None:
        """Write answers to a pipe from now on; before that they are dropped."""
        self._pipe = pipe

    def write(self, kind: bytes, body: bytes) -> None:
        """Write an answer; does nothing if this process is not a child."""
        with self._lock:
            if self._pipe is not None:
                self._pipe.write(_HEADER.pack(_MAGIC, kind, len(body)))
                self._pipe.write(body)
                self._pipe.flush()

    def end(self, kind: bytes, body: bytes) -> None:
        """Write the last answer and end the process; does nothing if it is not a child."""
        if self._pipe is not None:
            self.write(kind, body)
            # Tearing down a large process takes time, and may fail.
            os._exit(0)


_answers = _Answers()


def main(task: str, seconds: str, memory_bytes: str) -> None:
    """Run the task in the child; `run_limited` makes the arguments."""
    # The parent watches the clock, and the system the processor time.
    processes.limit_cpu(math.ceil(float(seconds)))
    # Millions of tuples live until the end: looking through them for cycles takes long.
    gc.disable()
    _answers.open(processes.own_answers())
    _answers.end(*_outcome(task, sys.stdin.buffer.read(), int(memory_bytes)))


def send_news(news: bytes) -> None:
    """Send the parent a progress report; does nothing in a process that is not a child."""
    _answers.write(_NEWS, news)


def give_up(error: ReasonerLimitError) -> None:
    """End the child with an error, from any thread: nothing else stops a grounder.

    Returns only in a process that is not a child.
    """
    _answers.end(_FAILURE, json.dumps(_passed(error)).encode())


def _passed(error: ReasonerLimitError) -> dict[str, list[str]]:
    return {"limit": [error.limit, str(error.reached), error.cause]}


def _outcome(task: str, argument: bytes, memory_bytes: int) -> tuple[bytes, bytes]:
    try:
        module, _, name = task.partition(":")
        function: Task = getattr(importlib.import_module(module), name)
        with processes.limited_memory(memory_bytes):
            return _RESULT, function(pickle.loads(argument))
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
    return _FAILURE, json.dumps(failure).encode()
