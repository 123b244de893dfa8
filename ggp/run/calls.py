"""Calls of functions in a child process, one after another.

    parent: Child().call(function, args)  --(function, arguments)-->  child: serve
            Child.send                    --(messages ...)--------->         listen
                                          <--(news ...)-------------         tell
                                          <--(result or failure)----         the function ends

Questions and messages are pickled; so are news, results and failures, unless they are bytes. A
parent that does not trust the child (`trusts=False`) receives everything as bytes. The called
function sets its own limits before it reads a stranger's input (`processes.lower_limit`,
`processes.limited_memory`); the parent watches the clock.
"""

from __future__ import annotations

import math
import os
import pickle
import queue
import select
import selectors
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ggp.errors import GGPError
from ggp.run import processes
from ggp.run.messages import Messages, framed, read_message

Meanwhile = Callable[[Callable[[], bool]], None]
"""Work of the parent while a child works. Its argument is a function that reads the child's
messages without waiting, and returns whether the last one has arrived: long work calls it now and
then, and stops when it returns true."""

_QUESTION, _MESSAGE = b"Q", b"M"
_NEWS, _RESULT, _FAILURE = b"N", b"R", b"F"
_PLAIN, _PICKLED = b"B", b"P"

_ENTRY = "ggp.run.calls:serve"
_CHUNK_BYTES = 1 << 16
_INTERRUPTED = 128 + signal.SIGINT
_SEND_S = 1.0
_LOOK_S = 0.02
"""Seconds between two checks for an end of the call."""


class ChildLostError(Exception):
    """A child that ended, or closed its output, in the middle of a call; it was waited for.

    Attributes:
        status: its exit status, see `processes.how_it_ended`.
        stderr: its standard error, if that was collected.
    """

    def __init__(self, status: int, stderr: bytes) -> None:
        super().__init__(processes.how_it_ended(status))
        self.status, self.stderr = status, stderr


# ---------------------------------------------------------------- the parent's side


class Child:
    """A child process that calls functions for this one.

    Args:
        collects_errors: whether to collect its standard error instead of passing it on.

    Attributes:
        process: the process.

    Raises:
        OSError: the system cannot start a process.
    """

    def __init__(self, *, collects_errors: bool = False) -> None:
        stderr = subprocess.PIPE if collects_errors else None
        self.process = processes.start(_ENTRY, stderr=stderr)
        self._stderr = bytearray()
        self._writing = threading.Lock()
        self._num_calls = 0

    def call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        hear: Callable[[Any], None] = lambda news: None,
        *,
        until_s: float = math.inf,
        meanwhile: Meanwhile | None = None,
        trusts: bool = True,
    ) -> tuple[bool, Any]:
        """Have the child call a function of a module.

        Args:
            hear: called with everything that the function sends by `tell`.
            until_s: time on `time.monotonic` until which to wait for the answer.
            meanwhile: called repeatedly while the child works, see `Meanwhile`. An exception that
                it raises ends the call.
            trusts: whether to unpickle the child's objects; otherwise they stay bytes.

        Returns:
            Whether the function failed, and its result. A failure is the `GGPError` that it raised,
            the traceback of another exception as text, or the argument of `end`.

        Raises:
            ChildLostError: the child ended first.
            TimeoutError: there is no answer in time; the child is still working.
        """
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        question = pickle.dumps((function, args), protocol=pickle.HIGHEST_PROTOCOL)
        self._writing.acquire()  # until the whole question is written
        self._num_calls += 1
        self._question, self._messages = memoryview(framed(_QUESTION + question)), Messages()
        self._answer: tuple[bool, Any] | None = None
        self._hear, self._trusts = hear, trusts
        try:
            with selectors.DefaultSelector() as pipes:
                pipes.register(process.stdin, selectors.EVENT_WRITE, self._ask)
                pipes.register(process.stdout, selectors.EVENT_READ, self._listen)
                if process.stderr is not None:
                    pipes.register(process.stderr, selectors.EVENT_READ, self._overhear)

                def has_answered() -> bool:
                    _serve(pipes, until_s, 0.0)
                    return self._answer is not None or not pipes.get_map()

                while self._answer is None and pipes.get_map():
                    _serve(pipes, until_s, math.inf if meanwhile is None else _LOOK_S)
                    if meanwhile is not None and not self._question and self._answer is None:
                        meanwhile(has_answered)
        finally:
            if self._question:
                self._writing.release()
        if self._answer is None:
            raise ChildLostError(self.end(), bytes(self._stderr))
        return self._answer

    def end(self) -> int:
        """Kill the child and everything that it started; returns its exit status."""
        return processes.reap(self.process)

    def send(self, message: Any) -> bool:
        """Send a message to the running function, from any thread; it gets it by `listen`.

        Returns:
            whether the child is alive and accepts the message soon.
        """
        assert self.process.stdin is not None
        if not self._writing.acquire(timeout=_SEND_S):
            return False
        with suppress(OSError, ValueError):
            remaining = framed(_MESSAGE + pickle.dumps((self._num_calls, message)))
            while remaining:
                remaining = remaining[os.write(self.process.stdin.fileno(), remaining) :]
        self._writing.release()
        return not remaining

    def _ask(self, pipe: int) -> bool:
        """Write a piece of the question; returns whether more is left."""
        try:
            self._question = self._question[os.write(pipe, self._question[: select.PIPE_BUF]) :]
        except BrokenPipeError:
            self._question = self._question[:0]
        if not self._question:
            self._writing.release()
        return bool(self._question)

    def _overhear(self, pipe: int) -> bool:
        """Read a piece of the child's standard error; returns whether there may be more."""
        piece = os.read(pipe, _CHUNK_BYTES)
        self._stderr += piece
        return bool(piece)

    def _listen(self, pipe: int) -> bool:
        """Read a piece of the child's answers; returns whether there may be more."""
        piece = os.read(pipe, _CHUNK_BYTES)
        for message in self._messages.add(piece):
            kind, form, content = message[:1], message[1:2], message[2:]
            value = pickle.loads(content) if self._trusts and form == _PICKLED else content
            if kind == _NEWS:
                self._hear(value)
            else:
                self._answer = kind == _FAILURE, value
        return bool(piece)


def _serve(pipes: selectors.BaseSelector, until_s: float, most_s: float) -> None:
    """Write and read on ready pipes; wait for one at most `most_s` seconds.

    Raises:
        TimeoutError: `until_s` is over, and nothing has arrived.
    """
    left_s = until_s - time.monotonic()
    wait_s = max(0.0, min(left_s, most_s))
    ready = pipes.select(None if wait_s == math.inf else wait_s)
    if left_s <= 0 and not ready:  # a message that was sent in time counts, even if it is read late
        raise TimeoutError
    for key, _ in ready:
        if not key.data(key.fd):
            pipes.unregister(key.fileobj)


# ---------------------------------------------------------------- the child's side


class _Caller:
    """The process that called this one."""

    def __init__(self) -> None:
        self._inbox, self._outbox = os.fdopen(processes.own_input(), "rb"), processes.own_answers()
        self._sending = threading.Lock()
        self._num_calls = 0
        self._hear: Callable[[Any], None] | None = None
        self._questions: queue.SimpleQueue[bytes | None] | None = None  # while a thread reads

    def serve(self) -> None:
        """Answer questions until there are no more."""
        while (question := self._next()) is not None:
            self._num_calls += 1
            self.send(*_outcome(question))
            self._hear = None

    def _next(self) -> bytes | None:
        while True:
            message = self._questions.get() if self._questions else read_message(self._inbox)
            if message is None or message[:1] == _QUESTION:
                return message and message[1:]

    def listen(self, hear: Callable[[Any], None]) -> None:
        """Start listening: see the function `listen`."""
        self._hear = hear
        if self._questions is None:
            self._questions = queue.SimpleQueue()
            threading.Thread(target=self._read, args=(self._questions,), daemon=True).start()

    def _read(self, questions: queue.SimpleQueue[bytes | None]) -> None:
        while (message := read_message(self._inbox)) is not None:
            if message[:1] == _QUESTION:
                questions.put(message)
                continue
            number, content = pickle.loads(message[1:])
            if number == self._num_calls and self._hear is not None:
                self._hear(content)
        if self._hear is not None:
            self._hear(None)
        questions.put(None)

    def send(self, kind: bytes, value: Any) -> None:
        """Send something; from any thread."""
        is_plain = isinstance(value, bytes)
        content = _PLAIN + value if is_plain else _PICKLED + pickle.dumps(value)
        with self._sending:
            self._outbox.write(framed(kind + content))
            self._outbox.flush()


_caller: _Caller | None = None


def serve() -> None:
    """The entry of a `Child`: answer questions until there are no more."""
    global _caller
    _caller = _Caller()
    with suppress(BrokenPipeError):
        _caller.serve()
    os._exit(0)


def tell(news: Any) -> None:
    """Send news to the caller of the running function before it returns; from any thread.

    Does nothing in a process that is not a `Child`.
    """
    if _caller is not None:
        _caller.send(_NEWS, news)


def listen(hear: Callable[[Any], None]) -> None:
    """Have a function called with every message of the caller, until the running call ends.

    Does nothing in a process that is not a `Child`.

    Args:
        hear: called in a thread of its own; with None when no more messages will arrive.
    """
    if _caller is not None:
        _caller.listen(hear)


def end(failure: Any) -> None:
    """End the running call with a failure, and the process with it; from any thread.

    Returns only in a process that is not a `Child`.
    """
    if _caller is not None:
        _caller.send(_FAILURE, failure)
        os._exit(0)


def _outcome(question: bytes) -> tuple[bytes, Any]:
    """The kind and the value of a call's answer. An interrupt ends the call, then the process."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        function, args = pickle.loads(question)
        return _RESULT, function(*args)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    except MemoryError:
        os._exit(1)  # like a crash: another attempt may have more memory
    except GGPError as error:
        return _FAILURE, error
    except Exception:
        return _FAILURE, traceback.format_exc()
    finally:
        signal.signal(signal.SIGINT, handler)
