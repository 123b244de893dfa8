"""Batches of states as packed bits, lane by lane: the `States` of the circuit backend."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ggp.machine.arrays import Packed
from ggp.machine.base import IntArray, ShownStates, States

_FEW = 256
"""Up to so many lanes are copied without a check whether they are all lanes in order."""


class _TellsFluents(Protocol):
    def fluents(self, states: States, /) -> list[tuple[str, ...]]: ...


class PropnetStates(ShownStates):
    """A batch of states: `packed[L, ceil(F / 64)]`, item f of a lane is fluent f."""

    __slots__ = ("owner", "packed")

    def __init__(self, owner: _TellsFluents, packed: Packed) -> None:
        self.owner = owner
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed)

    def first_fluents(self) -> tuple[str, ...]:
        return self.owner.fluents(PropnetStates(self.owner, self.packed[:1]))[0]

    def take(self, lanes: IntArray) -> PropnetStates:
        """The lanes with these indices, in this order, repeats allowed."""
        is_long = len(lanes) == len(self.packed) > _FEW
        if is_long and lanes[0] == 0 and (np.diff(lanes) == 1).all():
            return self  # to copy all of them would take as long as to make them
        return PropnetStates(self.owner, self.packed.take(lanes, axis=0))
