"""Writes circuits as bytes, and reads them: for the building process's answer and for the cache.

The format is a header (magic, digest and size) and a body: JSON with the names, then numpy arrays.
Reading executes nothing from the bytes and trusts nothing: kernels index rows without checks, so a
file whose parts do not fit together must not reach them (`_check`).

Instead of a circuit, a file may hold a `Refusal`: the rules could not be ground within some limits.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import GGPError, MachineError
from ggp.machine.base import GROUND_RULES, WAITING, Limits
from ggp.machine.circuit import Circuit, Loop, Outputs, PassReport
from ggp.machine.propnet.compile.ground_rules.forecast import GroundingForecast, most_rules

_MAGIC = b"ggp circuit\n"
_HEADER = struct.Struct(f"<{len(_MAGIC)}s16sI")

_ARRAYS = {"initial": np.bool_, "offsets": np.int64, "literals": np.int32, "next": np.int32}
_KINDS = ("legal", "sees", "goals")


class Built(NamedTuple):
    """A circuit and how it was built.

    Attributes:
        circuit: the circuit of the game.
        reports: one for each pass that was finished.
        complete: whether all passes came to their end; if the clock or the memory stopped them,
            another try may give a smaller circuit.
        tries: number of tries within the same limits.
        seconds: the wall time that was allowed for everything.
        forecast: the forecast of grounding; None if there was none.
    """

    circuit: Circuit
    reports: list[PassReport]
    complete: bool
    tries: int
    seconds: float
    forecast: GroundingForecast | None = None


class Refusal(NamedTuple):
    """Rules that could not be ground.

    Attributes:
        limit: name of the limit that was exceeded, as in `ReasonerLimitError`.
        reached: the bound that was exceeded.
        seconds, memory_bytes: the limits in force.
        tries: number of tries within these limits.
        cause: the part of the rules that is to blame; empty if unknown.
    """

    limit: str
    reached: float
    seconds: float
    memory_bytes: int
    tries: int
    cause: str = ""

    def covers(self, limits: Limits) -> bool:
        """Whether these limits are at most the exceeded ones."""
        if self.limit in ("seconds", WAITING):
            return limits.grounding_seconds <= self.seconds
        if self.limit == "bytes of memory":
            return limits.grounding_bytes <= self.memory_bytes
        if self.limit == GROUND_RULES:
            return most_rules(limits) <= self.reached
        return True


def to_bytes(content: Built | Refusal, key: str) -> bytes:
    """The bytes of a file.

    Args:
        content: the value to write.
        key: digest of the rules and of the code that made it.
    """
    if isinstance(content, Refusal):
        return _packed({"key": key, "refusal": content._asdict()}, {})
    circuit = content.circuit
    names = {
        "key": key,
        "roles": circuit.roles,
        "fluents": circuit.fluents,
        "constant": circuit.constant,
        "terminal": int(circuit.terminal),
        "loops": [(loop.start, loop.end) for loop in circuit.loops],
        "reports": [report._asdict() for report in content.reports],
        "complete": content.complete,
        "tries": content.tries,
        "seconds": content.seconds,
        "forecast": None if content.forecast is None else content.forecast.to_json(),
    }
    arrays: dict[str, Any] = {name: getattr(circuit, name) for name in _ARRAYS}
    for kind in _KINDS:
        names[kind] = [outputs.names for outputs in getattr(circuit, kind)]
        for role, outputs in enumerate(getattr(circuit, kind)):
            arrays[f"{kind}_{role}"] = outputs.literals
    for i, loop in enumerate(circuit.loops):
        arrays[f"loop_{i}"] = loop.initial
    return _packed(names, arrays)


def from_bytes(file_bytes: bytes, key: str) -> Built | Refusal:
    """Read a file of `to_bytes`.

    Raises:
        MachineError: the bytes have another key, are damaged, or do not describe a circuit that can
            be evaluated.
    """
    if len(file_bytes) < _HEADER.size:
        raise MachineError("not a circuit: too short")
    magic, digest, size = _HEADER.unpack_from(file_bytes)
    body = file_bytes[_HEADER.size :]
    if magic != _MAGIC or digest != _digest(body):
        raise MachineError("not a circuit of this version, or damaged")
    try:
        return _content(json.loads(body[:size]), body[size:], key)
    except GGPError:
        raise
    except Exception as error:  # whatever reading wrong content raises
        raise MachineError(f"not a circuit: {type(error).__name__}: {error}") from error


def _content(names: dict[str, Any], packed: bytes, key: str) -> Built | Refusal:
    if names["key"] != key:
        raise MachineError("not the circuit of these rules and of this version")
    if "refusal" in names:
        refusal = Refusal(**names["refusal"])
        _texts((refusal.limit, refusal.cause))
        _numbers(refusal[1:-1])
        return refusal
    arrays = np.load(io.BytesIO(packed), allow_pickle=False)

    def array(name: str, kind: Any) -> NDArray[Any]:
        values: NDArray[Any] = arrays[name]
        _demand(values.ndim == 1 and values.dtype == kind, f"{name} has another shape or type")
        return values

    def outputs(kind: str) -> tuple[Outputs, ...]:
        return tuple(
            Outputs(_texts(group), array(f"{kind}_{role}", np.int32))
            for role, group in enumerate(names[kind])
        )

    circuit = Circuit(
        roles=_texts(names["roles"]),
        fluents=_texts(names["fluents"]),
        initial=array("initial", np.bool_),
        constant=_texts(names["constant"]),
        offsets=array("offsets", np.int64),
        literals=array("literals", np.int32),
        loops=tuple(
            Loop(_whole(start), _whole(end), array(f"loop_{i}", np.bool_))
            for i, (start, end) in enumerate(names["loops"])
        ),
        next=array("next", np.int32),
        legal=outputs("legal"),
        sees=outputs("sees"),
        goals=outputs("goals"),
        terminal=_whole(names["terminal"]),
    )
    _check(circuit)
    reports = [PassReport(**report) for report in names["reports"]]
    for report in reports:
        _texts(report[:1])
        _numbers(report[1:])
    _demand(isinstance(names["complete"], bool), "`complete` is neither true nor false")
    return Built(
        circuit=circuit,
        reports=reports,
        complete=names["complete"],
        tries=_whole(names["tries"]),
        seconds=_numbers((names["seconds"],))[0],
        forecast=None
        if names["forecast"] is None
        else GroundingForecast.from_json(names["forecast"]),
    )


def _check(circuit: Circuit) -> None:
    """Refuse circuits with which kernels would read outside arrays, or read unevaluated gates."""
    groups = (*circuit.legal, *circuit.sees, *circuit.goals)
    first_net, num_gates = 1 + circuit.num_inputs, circuit.num_gates
    _demand(
        len(circuit.next) == len(circuit.initial) == len(circuit.fluents)
        and all(len(outputs.names) == len(outputs.literals) for outputs in groups)
        and len(circuit.legal) == len(circuit.sees) == len(circuit.goals) == len(circuit.roles),
        "its parts have different lengths",
    )
    sizes = np.diff(circuit.offsets)
    _demand(
        len(circuit.offsets) > 0
        and circuit.offsets[0] == 0
        and circuit.offsets[-1] == len(circuit.literals)
        and bool((sizes > 0).all()),
        "its gates are not consecutive",
    )
    terminal = np.array([circuit.terminal])
    roots = np.concatenate([terminal, circuit.next, *(outputs.literals for outputs in groups)])
    _demand(0 <= roots.min() <= roots.max() < 2 * (first_net + num_gates), "an output is not a net")
    # A gate reads nets before it, and one in a loop also the rest of the loop.
    readable = first_net + np.arange(num_gates)
    end = 0
    for loop in circuit.loops:
        _demand(end <= loop.start < loop.end <= num_gates, "its loops are out of order")
        _demand(len(loop.initial) == loop.end - loop.start, "a loop lacks initial values")
        readable[loop.start : loop.end] = first_net + loop.end
        end = loop.end
    nets = circuit.literals >> 1
    _demand(
        bool(((nets >= 0) & (nets < np.repeat(readable, sizes))).all()), "its gates are circular"
    )
    # Outputs that belong to a state are evaluated without moves.
    of_states = np.concatenate([terminal, *(x.literals for x in (*circuit.legal, *circuit.goals))])
    _demand(not _uses_moves(circuit)[of_states >> 1].any(), "a state depends on moves made in it")
    for names in (circuit.fluents, *(x.names for x in (*circuit.legal, *circuit.sees))):
        _demand(len(set(names)) == len(names), "a name occurs twice")


def _uses_moves(circuit: Circuit) -> NDArray[np.bool_]:
    """`[nets]` whether each depends on a move."""
    first_gate = 1 + circuit.num_inputs
    uses = np.zeros(first_gate + circuit.num_gates, dtype=np.bool_)
    uses[1 + len(circuit.fluents) : first_gate] = True
    if not circuit.num_gates:
        return uses
    nets, num_known = circuit.literals >> 1, -1
    while num_known != int(uses.sum()):
        num_known = int(uses.sum())
        uses[first_gate:] = np.logical_or.reduceat(uses[nets], circuit.offsets[:-1])
    return uses


def _texts(names: Iterable[Any]) -> tuple[str, ...]:
    texts = tuple(names)
    _demand(all(isinstance(text, str) for text in texts), "a name is not a string")
    return texts


def _numbers(values: Iterable[Any]) -> tuple[float, ...]:
    numbers = tuple(values)
    _demand(
        all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers),
        "a value is not a number",
    )
    return numbers


def _whole(number: Any) -> int:
    if type(number) is not int:
        raise MachineError("not a circuit: a number is not whole")
    return number


def _demand(condition: bool, fault: str) -> None:
    if not condition:
        raise MachineError(f"not a circuit: {fault}")


def _packed(names: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    text = json.dumps(names).encode()
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    body = text + stream.getvalue()
    return _HEADER.pack(_MAGIC, _digest(body), len(text)) + body


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()
