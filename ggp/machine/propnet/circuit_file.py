"""Circuits as bytes: what the building process hands over and the cache keeps.

A header (magic, format version, digest of the body) and a body: a line of JSON with the names,
then numpy arrays. Nothing in it is executed when it is read.
"""

from __future__ import annotations

import io
import json
import struct
from hashlib import blake2b
from typing import Any

import numpy as np

from ggp.errors import MachineError
from ggp.machine.propnet.circuit import Circuit, Loop, Outputs
from ggp.machine.propnet.passes import PassReport

FORMAT_VERSION = 3
"""To be raised whenever the same rules give another circuit, or it is written in another way."""

_MAGIC = b"ggp circuit\n"
_HEADER = struct.Struct(f"<{len(_MAGIC)}sI16sI")


def to_bytes(circuit: Circuit, reports: list[PassReport], rules: str) -> bytes:
    """A circuit, how it came about, and the digest of its rules, as bytes."""
    names = {
        "rules": rules,
        "roles": circuit.roles,
        "fluents": circuit.fluents,
        "constant": circuit.constant,
        "legal": [outputs.names for outputs in circuit.legal],
        "sees": [outputs.names for outputs in circuit.sees],
        "goals": [outputs.names for outputs in circuit.goals],
        "terminal": int(circuit.terminal),
        "loops": [(loop.start, loop.end) for loop in circuit.loops],
        "reports": [report._asdict() for report in reports],
    }
    arrays: dict[str, Any] = {
        "initial": circuit.initial,
        "offsets": circuit.offsets,
        "literals": circuit.literals,
        "next": circuit.next,
    }
    for kind in ("legal", "sees", "goals"):
        for role, outputs in enumerate(getattr(circuit, kind)):
            arrays[f"{kind}_{role}"] = outputs.literals
    for i, loop in enumerate(circuit.loops):
        arrays[f"loop_{i}"] = loop.initial
    text = json.dumps(names).encode()
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    body = text + stream.getvalue()
    return _HEADER.pack(_MAGIC, FORMAT_VERSION, _digest(body), len(text)) + body


def from_bytes(data: bytes, rules: str) -> tuple[Circuit, list[PassReport]]:
    """The circuit in some bytes, and how it came about.

    Raises:
        MachineError: they are not a circuit of these rules and this version, or are damaged.
    """
    if len(data) < _HEADER.size:
        raise MachineError("not a circuit: too short")
    magic, version, digest, size = _HEADER.unpack_from(data)
    body = data[_HEADER.size :]
    if magic != _MAGIC or version != FORMAT_VERSION or digest != _digest(body):
        raise MachineError("not a circuit of this version, or damaged")
    names = json.loads(body[:size])
    if names["rules"] != rules:
        raise MachineError("not the circuit of these rules")
    arrays = np.load(io.BytesIO(body[size:]), allow_pickle=False)

    def outputs(kind: str) -> tuple[Outputs, ...]:
        return tuple(
            Outputs(tuple(group), arrays[f"{kind}_{role}"])
            for role, group in enumerate(names[kind])
        )

    circuit = Circuit(
        roles=tuple(names["roles"]),
        fluents=tuple(names["fluents"]),
        initial=arrays["initial"],
        constant=tuple(names["constant"]),
        offsets=arrays["offsets"],
        literals=arrays["literals"],
        loops=tuple(
            Loop(start, end, arrays[f"loop_{i}"]) for i, (start, end) in enumerate(names["loops"])
        ),
        next=arrays["next"],
        legal=outputs("legal"),
        sees=outputs("sees"),
        goals=outputs("goals"),
        terminal=names["terminal"],
    )
    _check(circuit)
    return circuit, [PassReport(**report) for report in names["reports"]]


def _check(circuit: Circuit) -> None:
    """Refuse what would lead kernels out of their arrays."""
    groups = (*circuit.legal, *circuit.sees, *circuit.goals)
    num_literals = 2 * (1 + circuit.num_inputs + circuit.num_gates)
    named = [circuit.literals, circuit.next, *(outputs.literals for outputs in groups)]
    literals = np.concatenate([*named, [circuit.terminal]])
    sound = (
        len(circuit.next) == len(circuit.initial) == len(circuit.fluents)
        and all(len(outputs.names) == len(outputs.literals) for outputs in groups)
        and 0 <= literals.min() <= literals.max() < num_literals
        and circuit.offsets[0] == 0
        and circuit.offsets[-1] == len(circuit.literals)
        and bool(np.all(np.diff(circuit.offsets) >= 0))
        and len(circuit.legal) == len(circuit.sees) == len(circuit.goals) == len(circuit.roles)
    )
    if not sound:
        raise MachineError("not a circuit: its parts do not fit together")


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()
