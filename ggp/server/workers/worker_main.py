"""The worker process of a match: orders on standard input, answers on standard output.

It is forked from `template`, which has loaded everything slow. It gives up its rights before it
sees any rules, plays one match (`worker_match`), and ends with its parent or with its input.
Whatever happens to it, the server replaces it.

One thread reads orders as they arrive, and answers `AreYouThere` immediately; the main thread
carries the orders out. So a newer order can interrupt an older one, and a long search differs from
a process that hangs.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

# Everything slow is imported before there is a match.
import ggp.machine.prolog.prolog_machine  # noqa: F401
from ggp.errors import BackendUnavailableError
from ggp.machine.compiling.disk_cache import STRANGERS, user_cache
from ggp.machine.prolog.engine import engine, prolog_folders
from ggp.run.messages import framed, read_message
from ggp.run.processes import die_with, own_answers
from ggp.server.confinement.sandbox import restrict
from ggp.server.workers import orders
from ggp.server.workers.orders import (
    Answer,
    Conclude,
    Setup,
    Think,
    read_order,
    to_json,
)
from ggp.server.workers.worker_match import WorkerMatch, one_line

_MAX_SAID = 500

_log = logging.getLogger(__name__)


def serve(parent: int, memory_bytes: int) -> NoReturn:
    """Run a worker until its input ends, in a process that `template` has just forked.

    Args:
        parent: the process it was forked from.
        memory_bytes: memory limit; 0 to keep all rights.
    """
    rights: tuple[str, ...] = ()
    if memory_bytes:
        rights = restrict(memory_bytes, [*_writable()], prolog_folders())
        die_with(parent)  # once more: a change of credentials cancels it
    status = orders.EXIT_CRASHED
    try:
        _Worker(os.fdopen(0, "rb"), own_answers()).run(rights)
    except MemoryError:
        status = orders.EXIT_OUT_OF_MEMORY
    except BaseException as error:
        _log.error("%s: %s", type(error).__name__, error)
        traceback.print_exc()
    os._exit(status)


def start_prolog() -> bool:
    """Start SWI-Prolog, which is slow; returns whether it is installed."""
    try:
        engine()
    except BackendUnavailableError as error:
        _log.info("%s", error)
        return False
    return True


def _writable() -> Iterator[Path]:
    """Folders that a worker may write: the cache of circuits from strangers' rules."""
    cache = user_cache().folder
    if cache is not None:
        folder = cache / STRANGERS
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            yield folder


class _Worker:
    """One match in this process.

    Args:
        orders: pipe from the server.
        answers: pipe to the server.
    """

    def __init__(self, orders: BinaryIO, answers: BinaryIO) -> None:
        self._input, self._answers = orders, answers
        self._lock = threading.Lock()
        self._orders: queue.SimpleQueue[Setup | Think | Conclude] = queue.SimpleQueue()
        self._match = WorkerMatch(self.send, lambda: not self._orders.empty())

    def run(self, rights: tuple[str, ...]) -> NoReturn:
        """Carry out orders; ends with the process."""
        logger = logging.getLogger("ggp")
        logger.handlers = [_LogSender(self)]
        logger.propagate = False
        start_prolog()
        self.send(orders.Up(rights))
        threading.Thread(target=self._read, name="ggp-orders", daemon=True).start()
        while True:
            order = self._orders.get()
            if isinstance(order, Setup):
                self._match.build(order)
            elif isinstance(order, Conclude):
                self._match.conclude(order)
            else:
                self._match.take_note(order)
                if self._orders.empty():  # otherwise there is a newer order
                    self._match.think(order)
                    self._match.ponder()

    def send(self, answer: Answer) -> None:
        """Send an answer to the server; from any thread."""
        message = framed(to_json(answer))
        with self._lock:
            try:
                self._answers.write(message)
                self._answers.flush()
            except (OSError, ValueError):
                os._exit(orders.EXIT_ENDED)  # the server is gone

    def _read(self) -> None:
        """Collect orders as they arrive."""
        try:
            while (message := read_message(self._input)) is not None:
                order = read_order(message)
                if isinstance(order, orders.AreYouThere):
                    self.send(orders.Here())
                else:
                    self._orders.put(order)
        except MemoryError:
            os._exit(orders.EXIT_OUT_OF_MEMORY)
        finally:
            os._exit(orders.EXIT_ENDED)


class _LogSender(logging.Handler):
    """Sends messages of ggp's loggers to the server, up to a number of lines."""

    def __init__(self, worker: _Worker) -> None:
        super().__init__()
        self._worker = worker
        self._lines_left = _MAX_SAID

    def emit(self, record: logging.LogRecord) -> None:
        self._lines_left -= 1
        if self._lines_left >= 0:
            self._worker.send(orders.Said(record.levelname.lower(), one_line(record.getMessage())))
