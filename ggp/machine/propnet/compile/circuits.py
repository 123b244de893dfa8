"""Builds the circuit of some rules in a child process with limits, or reads it from the cache.

In comes a `Program`, out goes a `Built` circuit. It depends on the rules and the code alone,
because passes stop after a fixed amount of work and not after a number of seconds. Two limits in
seconds remain: one of processor time, and a looser one of wall time, which is only exceeded on a
very busy machine. Their effect depends on the stage:

- While passes run, the last finished circuit is used, marked as not complete. If the clock was to
  blame, a later start builds it again: at most `MAX_TRIES` times within the same limits, once in a
  process, and the smaller circuit is kept.
- While the rules are ground, there is no circuit. A failure is stored, so that only the first start
  waits, until the limit is raised. If the clock was to blame, a failure proves little, and counts
  only after `MAX_TRIES` starts.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import math
import pickle
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from ggp.errors import (
    BackendUnavailableError,
    GGPError,
    InstallationError,
    MachineError,
    ReasonerLimitError,
)
from ggp.gdl.program import Program
from ggp.machine.base import PATIENCE, WAITING, Limits
from ggp.machine.compiling.disk_cache import DiskCache, makers_version, user_cache
from ggp.machine.propnet.compile.circuit_file import Built, Refusal, from_bytes, to_bytes
from ggp.machine.propnet.compile.ground_rules.forecast import (
    DOING,
    GroundingForecast,
    Watch,
    most_rules,
)
from ggp.machine.propnet.compile.ground_rules.forecast import from_bytes as forecast_of
from ggp.machine.propnet.compile.ground_rules.forecast import to_bytes as forecast_bytes
from ggp.machine.propnet.compile.rewriting.splits import expected_whole
from ggp.run import calls, processes
from ggp.run.calls import Child, ChildLostError, Meanwhile, tell

_log = logging.getLogger(__name__)

FINISH_SHARE = 0.25
"""Share of the time that is reserved for sending the circuit to the parent."""

MAX_TRIES = 3
"""Number of tries within the same limits, if the clock may have been to blame for a failure."""

FORECAST_SECONDS = 5.0
"""Processor time that a forecast may take; it takes less than one second."""

Foreseen = Callable[[GroundingForecast], None]

_refused: dict[str, Refusal] = {}
"""Rules that exceeded limits in this process, by key: a match has several machines of one game."""

_foreseen: dict[tuple[str, Limits], GroundingForecast] = {}
"""Forecasts that were made in this process, or read from the cache, by digest of the rules."""

_tried: set[tuple[str, float]] = set()
"""Keys and seconds of circuits that this process has tried to build."""


def build(
    program: Program,
    limits: Limits,
    cache: DiskCache | None = None,
    *,
    anew: bool = False,
    foreseen: Foreseen | None = None,
    meanwhile: Meanwhile | None = None,
) -> Built:
    """The circuit of a game: from the cache, or built in a child process.

    Args:
        program: normalised rules.
        limits: `grounding_seconds` and `grounding_bytes` count.
        cache: the cache to read and write; the user's if None.
        anew: ignore the stored circuit, because it was of no use.
        foreseen: called with the forecast of grounding, also if it was made before.
        meanwhile: work to do while the child builds, see `Meanwhile`; an error in it ends the
            child.

    Raises:
        ReasonerLimitError: the rules cannot be ground within the limits, now or at an earlier
            start.
        BackendUnavailableError: clingo or numba is missing.
        MachineError: the child was killed or crashed.
    """
    cache = user_cache() if cache is None else cache
    key = f"{program.digest}-{makers_version()}"
    stored = None if anew else _stored(key, program, cache)
    if isinstance(stored, Built) and stored.forecast is not None:
        _foreseen[program.digest, limits] = stored.forecast
        if foreseen is not None:
            foreseen(stored.forecast)
    if isinstance(stored, Built) and not _worth_another_try(stored, key, limits):
        return stored
    for refusal in _refusals(stored, key):
        if refusal.covers(limits):
            raise ReasonerLimitError(
                refusal.limit,
                refusal.reached,
                f"{DOING} (at an earlier start)",
                refusal.cause,
            )
    _tried.add((key, limits.grounding_seconds))
    try:
        content = _build_anew(program, key, limits, _Listener(program, limits, foreseen), meanwhile)
    except MachineError as error:
        if isinstance(stored, Built):
            _log.info("%s plays with the circuit it has: %s", program.source.name, error)
            content = stored
        else:
            if isinstance(error, ReasonerLimitError):
                _refused[key] = _refusal(error, limits, stored)
                cache.put(key, to_bytes(_refused[key], key))
            raise
    if isinstance(stored, Built):
        content = _better(stored, content, limits)
    if not content.complete:
        _log.info("the circuit of %s could be smaller: time ran out", program.source.name)
    cache.put(key, to_bytes(content, key))
    return content


def _stored(key: str, program: Program, cache: DiskCache) -> Built | Refusal | None:
    """The best usable entry of the cache: a complete circuit, any circuit, or a refusal."""
    best: Built | Refusal | None = None
    for file_bytes in cache.versions(key):
        try:
            content = from_bytes(file_bytes, key)
            if isinstance(content, Built) and content.circuit.roles != program.roles:
                raise MachineError("not the circuit of these rules: it has other roles")
        except MachineError as error:
            _log.info("the cached circuit of %s is ignored: %s", program.source.name, error)
            continue
        if isinstance(content, Built) or best is None:
            best = content
        if isinstance(best, Built) and best.complete:
            break
    if best is None:
        cache.discard(key)
    return best


def _worth_another_try(stored: Built, key: str, limits: Limits) -> bool:
    seconds = limits.grounding_seconds
    if stored.complete or seconds < stored.seconds or (key, seconds) in _tried:
        return False
    return seconds > stored.seconds or stored.tries < MAX_TRIES


def _better(old: Built, new: Built, limits: Limits) -> Built:
    """The better of two tries: the complete one, or the smaller circuit."""
    if new.complete:
        return new
    seconds = limits.grounding_seconds
    best = min(old, new, key=lambda attempt: attempt.circuit.num_literals)
    return best._replace(seconds=seconds, tries=1 if seconds > old.seconds else 1 + old.tries)


def _refusals(stored: Built | Refusal | None, key: str) -> Iterator[Refusal]:
    """Earlier failures that count; each refuses the limits that it covers."""
    if isinstance(stored, Refusal) and stored.tries >= MAX_TRIES:
        yield stored
    if key in _refused:
        yield _refused[key]


def _refusal(error: ReasonerLimitError, limits: Limits, stored: Built | Refusal | None) -> Refusal:
    """The record of a try that failed."""
    seconds, tries = limits.grounding_seconds, MAX_TRIES
    if error.limit == WAITING:
        tries = 1
        if isinstance(stored, Refusal) and stored.seconds == seconds:
            tries += stored.tries
    memory_bytes = limits.grounding_bytes
    return Refusal(error.limit, error.reached, seconds, memory_bytes, tries, error.cause)


class _Listener:
    """Receives the progress reports of a child.

    Args:
        program: the rules that the child grounds.
        limits: the limits in force.
        foreseen: called with the child's forecast.
    """

    def __init__(self, program: Program, limits: Limits, foreseen: Foreseen | None) -> None:
        self._program, self._limits, self._foreseen = program, limits, foreseen

    def __call__(self, report: bytes) -> None:
        if report.isdigit():
            _log.info("grounding %s: %d rules so far", self._program.source.name, int(report))
            return
        forecast = _foreseen[self._program.digest, self._limits] = forecast_of(report)
        if self._foreseen is not None:
            self._foreseen(forecast)


def foresee(program: Program, limits: Limits) -> GroundingForecast:
    """The forecast of grounding a game: from this process's cache, or made in a child.

    Raises:
        ReasonerLimitError: the child took too long or needed too much memory.
        BackendUnavailableError: clingo is missing.
        MachineError: the child was killed or crashed.
    """
    forecast = _foreseen.get((program.digest, limits))
    if forecast is None:
        reply = run_limited(
            f"{__name__}:foretell",
            (program, limits),
            ChildLimits(FORECAST_SECONDS, PATIENCE * FORECAST_SECONDS, limits.grounding_bytes),
            doing="estimating the ground rules",
        )
        forecast = _foreseen[program.digest, limits] = forecast_of(reply)
    return forecast


def hopeless(program: Program, limits: Limits) -> GroundingForecast | None:
    """The forecast, if the rules have no hope of being ground within the limits; None otherwise.

    For most games a quick estimate shows without a child that the rules are few enough.

    Raises:
        MachineError: see `foresee`.
    """
    if expected_whole(program) <= most_rules(limits):
        return None
    forecast = foresee(program, limits)
    return forecast if forecast.verdict(limits) == "no" else None


def foretell(argument: tuple[Program, Limits]) -> bytes:
    """Make a forecast, in the child."""
    from ggp.machine.propnet.compile.ground_rules import grounding

    return forecast_bytes(grounding.foresee(*argument))


def _build_anew(
    program: Program, key: str, limits: Limits, listener: _Listener, meanwhile: Meanwhile | None
) -> Built:
    """A new circuit, built in a child process."""
    reply = run_limited(
        f"{__name__}:make",
        (program, limits, key),
        ChildLimits(limits.grounding_seconds, limits.longest_grounding_s, limits.grounding_bytes),
        doing=DOING,
        hear=listener,
        meanwhile=meanwhile,
    )
    content = from_bytes(reply, key)
    assert isinstance(content, Built)
    return content


def make(argument: tuple[Program, Limits, str]) -> bytes:
    """Ground, build, and optimise, in the child.

    Args:
        argument: the rules, the limits of processor time and wall time for all of it, and the key
            of the result.
    """
    started_s = time.monotonic()
    from ggp.machine.propnet.compile.gates import build_circuit
    from ggp.machine.propnet.compile.ground_rules.grounding import ground
    from ggp.machine.propnet.optimise import optimise
    from ggp.machine.propnet.optimise.work import WorkDeadline

    program, limits, key = argument
    seconds, wait_seconds = limits.grounding_seconds, limits.longest_grounding_s
    deadline = WorkDeadline(
        (1 - FINISH_SHARE) * seconds, started_s + (1 - FINISH_SHARE) * wait_seconds
    )
    expected: list[GroundingForecast] = []

    def foreseen(forecast: GroundingForecast) -> None:
        expected.append(forecast)
        tell(forecast_bytes(forecast))

    watch = Watch(limits, foreseen, lambda number: tell(b"%d" % number), give_up)
    small = optimise(build_circuit(ground(program, watch=watch)), deadline)
    tries = MAX_TRIES if time.process_time() >= deadline.process_s else 1
    content = Built(small.circuit, small.reports, small.complete, tries, seconds, expected[0])
    return to_bytes(content, key)


# ------------------------------------------------------------------------
# Runs work of unknown cost in a child process, within limits of time and memory.
#
# Grounding a stranger's rules may explode, and nothing can stop it from within the process. So a
# child does it (`ggp.run.calls`). It gets the name of a task and its pickled argument, and answers
# with bytes, which the parent never unpickles: a child that runs a stranger's rules is not trusted.
# Before its result it may send any number of progress reports.

Task = Callable[[Any], bytes]

_MAX_SECONDS = 86_400.0
_MAX_SAID = 500
_OUT_OF_MEMORY = (b"bad_alloc", b"out of memory", b"MemoryError", b"cannot allocate memory")


# -------------------------------------------------------------------- the parent's side


class ChildLimits(NamedTuple):
    """The limits of a child.

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
        meanwhile: called again and again while the child works, see `Meanwhile`. An error in it
            ends the child.

    Raises:
        ReasonerLimitError: the child took too long (`seconds`, or `WAITING`), needed too much
            memory, or exceeded another limit of its task.
        BackendUnavailableError: clingo is missing, or no child can be started.
        InstallationError: another module is missing.
        MachineError: the task raised it, or the child crashed or was killed.
    """
    seconds, wait_seconds, memory_bytes = limits
    seconds, wait_seconds = min(seconds, _MAX_SECONDS), min(wait_seconds, _MAX_SECONDS)
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
    if any(words in lost.stderr for words in _OUT_OF_MEMORY):
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
        f"play with `--backend prolog`{_tail(lost.stderr)}"
    )


_FIELDS: Mapping[type[GGPError], tuple[str, ...]] = {
    ReasonerLimitError: ("limit", "reached", "doing", "cause"),
    BackendUnavailableError: ("tool", "hint"),
    InstallationError: ("reason",),
    MachineError: (),
}
"""The errors of tasks, and the attributes to send; of another `MachineError`, its text is sent."""


def _error_json(error: GGPError) -> bytes:
    """An error as a child sends it."""
    kind = type(error) if type(error) in _FIELDS else MachineError
    fields = [getattr(error, name) for name in _FIELDS[kind]] or [str(error)]
    return json.dumps([kind.__name__, *fields]).encode()


def _error_of(reply: bytes, doing: str) -> GGPError:
    """The error that a child sent; `doing`: the description of its task."""
    name, *fields = json.loads(reply)
    if name == ReasonerLimitError.__name__:
        fields[2] = doing
    return {kind.__name__: kind for kind in _FIELDS}[name](*fields)


def _tail(output: bytes) -> str:
    text = output.decode(errors="replace").strip()
    return f"; it said: {text[-_MAX_SAID:]}" if text else ""


# -------------------------------------------------------------------- the child's side


def limited(
    task: str, argument: bytes, seconds: float, memory_bytes: int, doing: str
) -> bytes | None:
    """The result of a task, in the child; the arguments are those of `run_limited`."""
    # The parent watches the clock, and the system the processor time.
    processes.lower_limit(resource.RLIMIT_CPU, math.ceil(seconds), stays_hard=True)
    # Millions of tuples live until the end: searching them for cycles would take long.
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
        trace = "".join(traceback.format_tb(error.__traceback__))
        failure = MachineError(
            f"{doing} failed in its child process: {type(error).__name__}: {error}; "
            f"play with `--backend prolog`{_tail(trace.encode())}"
        )
    calls.end(_error_json(failure))
    return None


def give_up(error: ReasonerLimitError) -> None:
    """End the child with an error, from any thread: a grounder cannot be stopped otherwise.

    It returns only if this process is not a child.
    """
    calls.end(_error_json(error))
