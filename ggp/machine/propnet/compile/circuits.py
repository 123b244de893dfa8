"""Builds the circuit of some rules, within limits of time and memory, or takes it from the cache.

The circuit depends on the rules and the code alone, because passes stop after a fixed amount of
work and not after a number of seconds. The limits in seconds remain: one of processor time, and a
looser one of waiting, which is only exceeded on a very busy machine.

- While passes run, the circuit so far is handed over and marked as not complete. It is used for
  play. If the clock was to blame, it is made anew at a later start: `MAX_TRIES` times at most
  within the same limits, once a process, and the smaller circuit is kept.
- While the rules are ground, there is no circuit. A failure is remembered, so that only the
  first start waits, until the limit is raised. If the clock was to blame, a failure proves
  little, and only counts after `MAX_TRIES` starts.
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
"""Share of the time that is kept for handing the circuit over."""

MAX_TRIES = 3
"""Number of tries of rules within the same limits where the clock may have been to blame."""

FORECAST_SECONDS = 5.0
"""Processor time that a forecast may take; it takes less than one second."""

Foreseen = Callable[[GroundingForecast], None]

_refused: dict[str, Refusal] = {}
"""Rules that exceeded limits in this process, by key: a match has several machines of a game."""

_foreseen: dict[tuple[str, Limits], GroundingForecast] = {}
"""Forecasts that were made in this process, or read from the cache, by digest of the rules."""

_tried: set[tuple[str, float]] = set()
"""Keys, and seconds, of circuits that were made in this process."""


def build(
    program: Program,
    limits: Limits,
    cache: DiskCache | None = None,
    *,
    anew: bool = False,
    foreseen: Foreseen | None = None,
    meanwhile: Meanwhile | None = None,
) -> Built:
    """The circuit of a game: from the cache, or made in a child process.

    Args:
        program: normalised rules.
        limits: `grounding_seconds` and `grounding_bytes` count.
        cache: where to look and store; the user's cache if None.
        anew: do not look in the cache, because what is stored there was of no use.
        foreseen: called with the forecast of grounding, also if it was made before.
        meanwhile: work to do while the rules are ground, see `Meanwhile`; what it raises ends that.

    Raises:
        ReasonerLimitError: the rules cannot be ground within the limits, or could not be before.
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
        built = _made(program, key, limits, _Listener(program, limits, foreseen), meanwhile)
    except MachineError as error:
        if isinstance(stored, Built):
            _log.info("%s plays with the circuit it has: %s", program.source.name, error)
            built = stored
        else:
            if isinstance(error, ReasonerLimitError):
                _refused[key] = _refusal(error, limits, stored)
                cache.put(key, to_bytes(_refused[key], key))
            raise
    if isinstance(stored, Built):
        built = _better(stored, built, limits)
    if not built.complete:
        _log.info("the circuit of %s could be smaller: time ran out", program.source.name)
    cache.put(key, to_bytes(built, key))
    return built


def _stored(key: str, program: Program, cache: DiskCache) -> Built | Refusal | None:
    """The content of the cache, if it can be used."""
    best: Built | Refusal | None = None
    for data in cache.versions(key):
        try:
            found = from_bytes(data, key)
            if isinstance(found, Built) and found.circuit.roles != program.roles:
                raise MachineError("not the circuit of these rules: it has other roles")
        except MachineError as error:
            _log.info("the cached circuit of %s is ignored: %s", program.source.name, error)
            continue
        if isinstance(found, Built) or best is None:
            best = found
        if isinstance(best, Built) and best.complete:
            break
    if best is None:
        cache.discard(key)
    return best


def _worth_another_try(built: Built, key: str, limits: Limits) -> bool:
    seconds = limits.grounding_seconds
    if built.complete or seconds < built.seconds or (key, seconds) in _tried:
        return False
    return seconds > built.seconds or built.tries < MAX_TRIES


def _better(known: Built, made: Built, limits: Limits) -> Built:
    """The better result of two tries."""
    if made.complete:
        return made
    seconds = limits.grounding_seconds
    best = min(known, made, key=lambda built: built.circuit.num_literals)
    return best._replace(seconds=seconds, tries=1 if seconds > known.seconds else 1 + known.tries)


def _refusals(stored: Built | Refusal | None, key: str) -> Iterator[Refusal]:
    """The failures that hold for the limits they cover."""
    if isinstance(stored, Refusal) and stored.tries >= MAX_TRIES:
        yield stored
    if key in _refused:
        yield _refused[key]


def _refusal(error: ReasonerLimitError, limits: Limits, before: Built | Refusal | None) -> Refusal:
    """The record of a try that failed."""
    seconds, tries = limits.grounding_seconds, MAX_TRIES
    if error.limit == WAITING:
        tries = 1
        if isinstance(before, Refusal) and before.seconds == seconds:
            tries += before.tries
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

    def __call__(self, news: bytes) -> None:
        if news.isdigit():
            _log.info("grounding %s: %d rules so far", self._program.source.name, int(news))
            return
        found = _foreseen[self._program.digest, self._limits] = forecast_of(news)
        if self._foreseen is not None:
            self._foreseen(found)


def foresee(program: Program, limits: Limits) -> GroundingForecast:
    """The forecast of grounding a game: known in this process, or made in a child.

    Raises:
        ReasonerLimitError: the child took too long or needed too much memory.
        BackendUnavailableError: clingo is missing.
        MachineError: the child was killed or crashed.
    """
    known = _foreseen.get((program.digest, limits))
    if known is None:
        data = run_limited(
            f"{__name__}:foretell",
            (program, limits),
            ChildLimits(FORECAST_SECONDS, PATIENCE * FORECAST_SECONDS, limits.grounding_bytes),
            doing="estimating the ground rules",
        )
        known = _foreseen[program.digest, limits] = forecast_of(data)
    return known


def hopeless(program: Program, limits: Limits) -> GroundingForecast | None:
    """The forecast of rules that are not expected to be ground; None for others.

    For most rules it is plain without a child that they are few enough.

    Raises:
        MachineError: see `foresee`.
    """
    if expected_whole(program) <= most_rules(limits):
        return None
    found = foresee(program, limits)
    return found if found.verdict(limits) == "no" else None


def foretell(argument: tuple[Program, Limits]) -> bytes:
    """Make a forecast, in the child."""
    from ggp.machine.propnet.compile.ground_rules import grounding

    return forecast_bytes(grounding.foresee(*argument))


def _made(
    program: Program, key: str, limits: Limits, hear: _Listener, meanwhile: Meanwhile | None
) -> Built:
    """A new circuit, made in a child process."""
    data = run_limited(
        f"{__name__}:make",
        (program, limits, key),
        ChildLimits(limits.grounding_seconds, limits.longest_grounding_s, limits.grounding_bytes),
        doing=DOING,
        hear=hear,
        meanwhile=meanwhile,
    )
    built = from_bytes(data, key)
    assert isinstance(built, Built)
    return built


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
    from ggp.machine.propnet.optimise.knowledge import WorkDeadline

    program, limits, key = argument
    seconds, wait_seconds = limits.grounding_seconds, limits.longest_grounding_s
    until = WorkDeadline(
        (1 - FINISH_SHARE) * seconds, started_s + (1 - FINISH_SHARE) * wait_seconds
    )
    expected: list[GroundingForecast] = []

    def foreseen(found: GroundingForecast) -> None:
        expected.append(found)
        tell(forecast_bytes(found))

    watch = Watch(limits, foreseen, lambda number: tell(b"%d" % number), give_up)
    made = optimise(build_circuit(ground(program, watch=watch)), until)
    tries = MAX_TRIES if time.process_time() >= until.process_s else 1
    content = Built(made.circuit, made.reports, made.complete, tries, seconds, expected[0])
    return to_bytes(content, key)


# ------------------------------------------------------------------------
# Does work that may take any amount of time and memory, in a child process with limits.
#
# Grounding a stranger's rules may explode, and nothing can stop it from within. So a child does it
# (`ggp.run.calls`), which is told the name of a task and its argument, and answers with bytes: what
# comes from there is never unpickled. Before its result it may send any number of progress reports.

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
