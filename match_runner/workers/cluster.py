"""Plays matches on a Dask cluster (docs/use/cluster.md). Only this module knows Dask.

Calls come in as for any executor; Dask's scheduler sends them to its workers, and results come
back. A thread of a Dask worker plays no match itself, because machines, Prolog and signal handlers
belong to a whole process. It has a child, a `LocalPool` of one process, play the match, and waits.
So the number of a worker's threads does not matter, a match that crashes or hangs takes only its
child with it, and matches run as on one machine.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import pickle
import re
import time
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, TypeVar

from ggp.console import installed_version
from ggp.errors import ConfigError, MatchError
from ggp.libraries import demand_library, extra_advice
from match_runner.workers.executor import (
    WorkerCrashError,
    WorkerFailedError,
    keep_pool,
    take_pool,
    too_long,
)

_T = TypeVar("_T")

_ADDRESS = re.compile(r"((tcp|tls|wss?)://)?[^\s/]+:\d{1,5}/?")
_CONNECT_S = 10.0
_CLOSE_S = 5.0
_LOOK_S = 0.5
"""Seconds between two checks of a worker's thread that its match is still wanted."""

_log = logging.getLogger(__name__)


class ClusterExecutor:
    """Calls functions on the workers of a Dask scheduler that is already running.

    If a worker is lost, Dask gives its work to the others: a call ends with `WorkerCrashError`
    only after it has lost as many workers as the scheduler allows.

    Args:
        address: address of the scheduler, or path of its scheduler file (`*.json`).
        limit_s: time limit of a call, which then counts as crashed. Waiting for a worker does not
            count.

    Raises:
        ConfigError: Dask is not installed, or the scheduler cannot be reached.
    """

    own_processes = True

    def __init__(self, address: str, limit_s: float = math.inf) -> None:
        self.window: int | None = None  # Dask has a queue of its own
        self._address, self._limit_s = address, limit_s
        self._closed = False
        self._calls: set[Future[Any]] = set()
        self._client = _connect(address)
        self._loop: asyncio.AbstractEventLoop = self._client.loop.asyncio_loop
        self._version = installed_version()
        threads = sum(self._client.nthreads().values())
        if threads:
            _log.info("the Dask scheduler at %s has room for %d matches", address, threads)
        else:
            _log.warning("the Dask scheduler at %s has no workers yet; waiting for them", address)

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        # Pickle here: a Dask worker passes the bytes to its child, and need not import their types.
        message = pickle.dumps((function, args))
        # Not pure: otherwise Dask would answer a second try with the first one's result.
        task = self._client.submit(run_in_child, message, self._limit_s, self._version, pure=False)
        call: Future[_T] = asyncio.run_coroutine_threadsafe(self._answer(task), self._loop)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    def close(self) -> None:
        """Give up all unfinished calls; their processes end within about a second."""
        if self._closed:
            return
        self._closed = True
        for call in tuple(self._calls):
            call.cancel()
        try:
            self._client.close(timeout=_CLOSE_S)
        except Exception as error:  # it went away before us
            _log.info("the Dask scheduler at %s: %s", self._address, _text(error))

    async def _answer(self, task: Any) -> Any:
        """Wait for the result of a Dask future, and turn Dask's errors into ours."""
        from distributed.scheduler import KilledWorker

        try:
            return pickle.loads(await task)
        except (WorkerCrashError, WorkerFailedError):
            raise
        except KilledWorker as error:
            raise WorkerCrashError(
                f"{error.allowed_failures + 1} Dask workers were lost while they played it, the "
                f"last at {error.last_worker.address}"
            ) from error
        except (asyncio.CancelledError, CancelledError, OSError) as error:
            if self._closed:
                raise
            raise MatchError(
                f"the connection to the Dask scheduler at {self._address} was lost; when it is "
                "back, the same command continues"
            ) from error
        except Exception as error:
            raise WorkerFailedError(
                f"the Dask cluster at {self._address} failed: {_text(error)}; the scheduler "
                "and all workers need the same ggp-hyperplay and Dask as this machine"
            ) from error


def _connect(address: str) -> Any:
    """Make a client of a scheduler."""
    try:
        from distributed import Client
    except ImportError as error:
        demand_library(error, "distributed")
        raise ConfigError(f"--scheduler needs Dask; {extra_advice('cluster')}") from error
    _silence()
    if not address.endswith(".json") and not _ADDRESS.fullmatch(address):
        raise ConfigError(
            f"{address!r} is not the address of a Dask scheduler; give tcp://HOST:PORT, which "
            "`dask scheduler` prints, or the path of its scheduler file, which ends in .json"
        )
    url = _read_scheduler_file(Path(address)) if address.endswith(".json") else address
    try:
        # A client that fails to connect may wait for a long time, and warns when it is dropped.
        kind = asyncio.run(asyncio.wait_for(_kind(url), _CONNECT_S))
        if kind != "Scheduler":
            raise ConfigError(
                f"at {address} is a {kind} of Dask; give the address of the scheduler"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions that differ: see `_answer`
            return Client(url, timeout=_CONNECT_S, set_as_default=False)
    except ConfigError:
        raise
    except Exception as error:  # Dask has no base of its errors
        reason = f"no answer for {_CONNECT_S:g} seconds" if type(error) is TimeoutError else ""
        raise ConfigError(
            f"cannot reach the Dask scheduler at {address}: {reason or _text(error)}; start "
            "one with `dask scheduler`, see docs/use/cluster.md"
        ) from error


async def _kind(url: str) -> str:
    """The kind of Dask process that answers at an address."""
    from distributed import rpc
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    async with rpc(url, connection_args=arguments) as remote:
        return str((await remote.identity())["type"])


def _read_scheduler_file(path: Path) -> str:
    """The address in a file that `dask scheduler --scheduler-file` wrote."""
    try:
        return str(json.loads(path.read_bytes())["address"])
    except OSError as error:
        raise ConfigError(
            f"cannot read the scheduler file {path}: {error.strerror or error}; `dask scheduler "
            "--scheduler-file` writes one"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is not a scheduler file of Dask") from error


def _silence() -> None:
    """Stop Dask's logging: everything that matters becomes an exception."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("asyncio", "distributed", "tornado"):
            logger = logging.getLogger(name)
            logger.handlers = [logging.NullHandler()]
            logger.propagate = False


def _text(error: BaseException) -> str:
    """An error of Dask and its cause as text, without line breaks."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if error.__cause__ is None else f"{text.rstrip('.')} ({_text(error.__cause__)})"


# ---------------------------------------------------------------- the worker's side


def run_in_child(message: bytes, limit_s: float, version: str) -> bytes:
    """Have a child of this Dask worker call a function.

    Args:
        message: the function and its arguments, pickled.
        limit_s: as for `ClusterExecutor`.
        version: version of the package on the machine that sends the function.

    Returns:
        the function's result, pickled.
    """
    from distributed import get_worker

    worker = get_worker()
    place = f"the Dask worker {worker.address}"
    if installed_version() != version:
        raise WorkerFailedError(
            f"{place} has ggp-hyperplay {installed_version()}, and this machine has {version}; "
            "install the same version everywhere"
        )
    task = worker.get_current_task()

    def is_wanted() -> bool:
        task_state = worker.state.tasks.get(task)
        is_cancelled = task_state is None or task_state.state == "cancelled"
        return not is_cancelled and worker.status.name not in ("closing", "closed", "failed")

    try:
        return _call(message, limit_s, is_wanted)
    except WorkerCrashError as error:
        raise WorkerCrashError(f"{error}, on {place}") from error
    except WorkerFailedError as error:
        raise WorkerFailedError(f"on {place}: {error}") from error


def _call(message: bytes, limit_s: float, is_wanted: Callable[[], bool]) -> bytes:
    pool = take_pool()
    try:
        future = pool.submit(call_pickled, (message,))
        until = time.monotonic() + limit_s
        while True:
            try:
                return future.result(max(min(until - time.monotonic(), _LOOK_S), 0))
            except TimeoutError:
                if time.monotonic() >= until:
                    raise too_long(limit_s) from None
                if not is_wanted():
                    raise WorkerCrashError("nobody wants it any more") from None
    finally:
        if future.done():
            keep_pool(pool)
        else:
            pool.close()


def call_pickled(message: bytes) -> bytes:
    """Call a pickled function in the child; the Dask worker need not import its module."""
    function, args = pickle.loads(message)
    return pickle.dumps(function(*args))
