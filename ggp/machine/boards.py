"""Boards: fluents that say which piece of which role is on which square.

A game does so in one relation, such as `(cell ?file ?rank ?role ?piece)`. Given the places of these
arguments, every state of it can be read as a board, in batches.

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
    """The places where pieces of a kind may be: `[K]` fluents, and file and rank of each."""

    fluents: IntArray
    files: IntArray
    ranks: IntArray


@dataclass(frozen=True)
class BoardRelation:
    """The relation by which a game writes its board.

    Attributes:
        name: the relation's name.
        columns: the places of file, rank, role and piece in its fluents; the name is at 0.
    """

    name: str
    columns: tuple[int, int, int, int]


class BoardSquares:
    """The squares of a game's board.

    Args:
        kinds: the names of pieces; fluents of other pieces do not count.

    Attributes:
        places: the places where pieces of each kind may be.
        files, ranks: their names, numbers by size.
        bits: the machine, which gives their bits.

    Raises:
        ConfigError: the game has no such fluents, or the machine cannot give them in batches.
    """

    def __init__(self, machine: Machine, relation: BoardRelation, kinds: Container[str]) -> None:
        if not on_circuit(machine):
            raise ConfigError(
                f"the backend {machine.backend} cannot read boards; use --backend propnet"
            )
        self.bits: OnCircuit = machine
        found: list[tuple[int, str, str, str, str]] = []
        for fluent, name in enumerate(machine.fluent_names):
            words = name.strip("()").split()
            if words[:1] == [relation.name] and len(words) > max(relation.columns):
                file, rank, role, kind = (words[column] for column in relation.columns)
                if kind in kinds and role in machine.roles:
                    found.append((fluent, file, rank, role, kind))
        if not found:
            raise ConfigError(f"this game has no fluents ({relation.name} ...) of known pieces")
        self.files = sorted({each[1] for each in found}, key=_order)
        self.ranks = sorted({each[2] for each in found}, key=_order)
        by_kind: dict[Kind, list[tuple[int, int, int]]] = {}
        for fluent, file, rank, role, kind in found:
            place = fluent, self.files.index(file), self.ranks.index(rank)
            by_kind.setdefault((machine.roles.index(role), kind), []).append(place)
        self.places: Mapping[Kind, Places] = {
            key: Places(*np.array(each, dtype=np.int64).T) for key, each in by_kind.items()
        }

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of files and ranks, X and Y."""
        return len(self.files), len(self.ranks)

    @cached_property
    def fluents(self) -> IntArray:
        """All fluents of the board."""
        return np.concatenate([each.fluents for each in self.places.values()])


def _order(name: str) -> tuple[int, str]:
    """Sort key: numbers by size, then words by alphabet."""
    return (int(name), "") if name.isdigit() else (0, name)
