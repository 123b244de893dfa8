"""The percepts of roles: bits of a circuit's outputs, read and written as texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from ggp.machine.base import BoolArray
from ggp.machine.percepts.percept_table import PerceptTable
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.play.kernels.packed import (
    Packed,
    places_of_bits,
    rows_of_bits,
    words_for,
)
from ggp.machine.propnet.play.percepts import Read, RowPercepts, Spell


def percept_names(circuit: Circuit, *, is_gdl2: bool) -> frozenset[str]:
    """All possible percepts; in plain GDL everybody sees the joint move."""
    if is_gdl2:
        return frozenset(name for outputs in circuit.sees for name in outputs.names)
    return frozenset(
        f"(did {role} {name})"
        for role, outputs in zip(circuit.roles, circuit.legal, strict=True)
        for name in outputs.names
    )


def percepts_of_roles(circuit: Circuit, table: PerceptTable) -> list[RowPercepts | None]:
    """The percepts of each role of a GDL-II game by rows of bits; None if it has none."""
    return [
        RowPercepts(
            table, words_for(len(outputs.names)), _speller(outputs.names), _reader(outputs.names)
        )
        if outputs.names
        else None
        for outputs in circuit.sees
    ]


def _speller(names: tuple[str, ...]) -> Spell:
    def spell(rows: Packed) -> list[tuple[str, ...]]:
        found, places = places_of_bits(rows)
        is_named = places < len(names)
        spelled = [names[place] for place in places[is_named].tolist()]
        bounds = np.searchsorted(found[is_named], np.arange(len(rows) + 1)).tolist()
        return [tuple(spelled[start:end]) for start, end in pairwise(bounds)]

    return spell


def _reader(names: tuple[str, ...]) -> Read:
    place_of = {name: k for k, name in enumerate(names)}

    def read(sets: Sequence[tuple[str, ...]]) -> tuple[Packed, BoolArray]:
        places = [[place_of.get(name, -1) for name in percepts] for percepts in sets]
        lanes = np.repeat(np.arange(len(sets)), [len(each) for each in places])
        told = np.array(list(chain.from_iterable(places)), dtype=np.int64)
        readable = np.ones(len(sets), dtype=np.bool_)
        readable[lanes[told < 0]] = False
        return rows_of_bits(lanes, told, len(sets), words_for(len(names))), readable

    return read
