"""From rules to a circuit, within limits of time and memory, or from the cache."""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from ggp.errors import ReasonerLimitError
from ggp.gdl.program import Program
from ggp.machine.base import Limits
from ggp.machine.propnet.cache import DiskCache, user_cache
from ggp.machine.propnet.child import run_limited
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.circuit_file import FORMAT_VERSION, from_bytes, to_bytes
from ggp.machine.propnet.passes import PassReport

_log = logging.getLogger(__name__)

OPTIMISE_SHARE = 0.3
"""Share of the time for grounding that optimising the circuit may take, if it is left."""

FINISH_SHARE = 0.25
"""Share that is kept for handing the circuit over."""


_refused: dict[tuple[str, float, int], tuple[str, float]] = {}
"""Rules that passed these limits in this process: a match has several machines of a game."""


DOING = "grounding the rules"


class Built(NamedTuple):
    """A circuit and how it came about."""

    circuit: Circuit
    reports: list[PassReport]


def build(program: Program, limits: Limits, cache: DiskCache | None = None) -> Built:
    """The circuit of a game: from the cache, or made in a child process.

    Args:
        program: normalised rules.
        limits: `grounding_seconds` and `grounding_bytes` count.
        cache: where to look and store; that of the user if None.

    Raises:
        ReasonerLimitError: the rules cannot be ground within the limits.
        BackendUnavailableError: clingo or numba is missing.
        MachineError: the child was killed or crashed.
    """
    cache = user_cache() if cache is None else cache
    key = f"{program.digest}-{FORMAT_VERSION}"
    stored = cache.get(key)
    if stored is not None:
        try:
            return Built(*from_bytes(stored, program.digest))
        except Exception as error:  # whatever reading a foreign file raises
            _log.info("the cached circuit of %s is ignored: %s", program.source.name, error)
            cache.discard(key)
    attempt = (program.digest, limits.grounding_seconds, limits.grounding_bytes)
    if attempt in _refused:
        raise ReasonerLimitError(*_refused[attempt], DOING)
    try:
        data = run_limited(
            f"{__name__}:make",
            (program, limits.grounding_seconds),
            seconds=limits.grounding_seconds,
            memory_bytes=limits.grounding_bytes,
            doing=DOING,
        )
    except ReasonerLimitError as error:
        _refused[attempt] = error.limit, error.reached
        raise
    cache.put(key, data)
    return Built(*from_bytes(data, program.digest))


def make(argument: tuple[Program, float]) -> bytes:
    """What the child does: ground, build, and optimise for as long as there is time.

    Args:
        argument: the rules, and the seconds that all of it may take.
    """
    started_s = time.monotonic()
    from ggp.machine.propnet.build_circuit import build_circuit
    from ggp.machine.propnet.ground import ground
    from ggp.machine.propnet.passes import optimise

    program, seconds = argument
    circuit = build_circuit(ground(program))
    left_s = (1 - FINISH_SHARE) * seconds - (time.monotonic() - started_s)
    circuit, reports = optimise(circuit, min(OPTIMISE_SHARE * seconds, left_s))
    return to_bytes(circuit, reports, program.digest)
