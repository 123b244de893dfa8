"""What roles perceive, as a circuit says it: bits of its outputs, read and written as texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.machine.percept_table import PerceptTable
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.play.packed import Packed, pack, unpack, words_for
from ggp.machine.propnet.play.percepts import RowPercepts


def percept_names(circuit: Circuit, *, is_gdl2: bool) -> frozenset[str]:
    """All percepts that there may be; in plain GDL everybody sees the joint move."""
    if is_gdl2:
        return frozenset(name for outputs in circuit.sees for name in outputs.names)
    return frozenset(
        f"(did {role} {name})"
        for role, outputs in zip(circuit.roles, circuit.legal, strict=True)
        for name in outputs.names
    )


def percepts_of_roles(circuit: Circuit, table: PerceptTable) -> list[RowPercepts | None]:
    """The percepts of each role of a GDL-II game by rows of bits; None where it has none."""
    return [
        RowPercepts(
            table, words_for(len(outputs.names)), _speller(outputs.names), _reader(outputs.names)
        )
        if outputs.names
        else None
        for outputs in circuit.sees
    ]


def _speller(names: tuple[str, ...]) -> Callable[[Packed], tuple[str, ...]]:
    def spell(row: Packed) -> tuple[str, ...]:
        return tuple(names[k] for k in np.flatnonzero(unpack(row[None], len(names))[0]))

    return spell


def _reader(names: tuple[str, ...]) -> Callable[[tuple[str, ...]], Packed | None]:
    place = {name: k for k, name in enumerate(names)}

    def read(percepts: tuple[str, ...]) -> Packed | None:
        if not all(name in place for name in percepts):
            return None
        bits = np.zeros(len(names), dtype=np.bool_)
        bits[[place[name] for name in percepts]] = True
        return pack(bits)

    return read
