"""Reads boards from states: which fluents mean which piece of which role on which square.

A game has such fluents in one relation, like `(cell ?file ?rank ?role ?piece)`. Given the indices
of these arguments (`BoardRelation`), `BoardSquares` lists the fluents of each kind of piece, so
that the states of a circuit can be read as boards in batches.

Shapes: X files, Y ranks.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ggp.errors import ConfigError
from ggp.machine.base import IntArray, Machine
from ggp.machine.on_circuit import on_circuit

if TYPE_CHECKING:
    from ggp.machine.on_circuit import OnCircuit

Kind = tuple[int, str]
"""A role, and the name of one of its pieces."""


class Places(NamedTuple):
    """The possible places of one kind of piece: `[K]` fluents, and the file and rank of each."""

    fluents: IntArray
    files: IntArray
    ranks: IntArray


@dataclass(frozen=True)
class BoardRelation:
    """The relation of a game's board.

    Attributes:
        name: the relation's name.
        columns: the indices of file, rank, role and piece in its fluents; index 0 is the name.
    """

    name: str
    columns: tuple[int, int, int, int]


class BoardSquares:
    """The squares of a game's board.

    Args:
        kinds: the names of pieces; fluents with other names are ignored.

    Attributes:
        places: the possible places of each kind of piece.
        files, ranks: their names in order; numbers are sorted by size.
        bits: the machine, which gives the fluents as bits.

    Raises:
        ConfigError: the game has no such fluents, or the machine has no circuit.
    """

    def __init__(self, machine: Machine, relation: BoardRelation, kinds: Container[str]) -> None:
        if not on_circuit(machine):
            raise ConfigError(
                f"the backend {machine.backend} cannot read boards; use --backend propnet"
            )
        self.bits: OnCircuit = machine
        rows: list[tuple[int, str, str, str, str]] = []
        for fluent, name in enumerate(machine.fluent_names):
            words = name.strip("()").split()
            if words[:1] == [relation.name] and len(words) > max(relation.columns):
                file, rank, role, kind = (words[column] for column in relation.columns)
                if kind in kinds and role in machine.roles:
                    rows.append((fluent, file, rank, role, kind))
        if not rows:
            raise ConfigError(f"this game has no fluents ({relation.name} ...) of known pieces")
        self.files = sorted({row[1] for row in rows}, key=_order)
        self.ranks = sorted({row[2] for row in rows}, key=_order)
        by_kind: dict[Kind, list[tuple[int, int, int]]] = {}
        for fluent, file, rank, role, kind in rows:
            place = fluent, self.files.index(file), self.ranks.index(rank)
            by_kind.setdefault((machine.roles.index(role), kind), []).append(place)
        self.places: Mapping[Kind, Places] = {
            key: Places(*np.array(places, dtype=np.int64).T) for key, places in by_kind.items()
        }

    @property
    def size(self) -> tuple[int, int]:
        """The number of files X, and of ranks Y."""
        return len(self.files), len(self.ranks)

    @cached_property
    def fluents(self) -> IntArray:
        """All fluents of the board."""
        return np.concatenate([places.fluents for places in self.places.values()])


def _order(name: str) -> tuple[int, str]:
    """Sort key: numbers by size, words alphabetically."""
    return (int(name), "") if name.isdigit() else (0, name)
