"""States as packed bits, lane by lane, as batches hold them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import BoolArray, IntArray, ShownStates, States

Packed = NDArray[np.uint64]
"""`[L, words]`: bit b of word w of a lane is item `64 * w + b`."""


_FEW = 256
"""Lanes that are copied, whatever they are."""


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
        many = len(lanes) == len(self.packed) > _FEW
        if many and lanes[0] == 0 and (np.diff(lanes) == 1).all():
            return self  # to copy all of them would take as long as to make them
        return PropnetStates(self.owner, self.packed.take(lanes, axis=0))


def words_for(num_bits: int) -> int:
    """Number of words of a packed row of bits; at least one."""
    return max(1, -(-num_bits // 64))


def pack(bits: BoolArray) -> Packed:
    """`[words]` a row of bits, packed."""
    row: Packed = pack_rows(np.asarray(bits, dtype=np.bool_)[None])[0]
    return row


def pack_rows(bits: BoolArray) -> Packed:
    """`[L, words]` rows of bits, packed."""
    rows = np.zeros((len(bits), 64 * words_for(bits.shape[1])), dtype=np.uint8)
    rows[:, : bits.shape[1]] = bits
    words = np.packbits(rows, axis=1, bitorder="little").view("<u8")
    return np.ascontiguousarray(words.astype(np.uint64))


def unpack(packed: Packed, count: int) -> BoolArray:
    """`[L, count]` the first bits of packed rows."""
    words = np.ascontiguousarray(packed.astype("<u8"))
    as_bytes = words.view(np.uint8).reshape(len(packed), 8 * packed.shape[1])
    return np.unpackbits(as_bytes, axis=1, count=count, bitorder="little").astype(np.bool_)


def places_of_bits(packed: Packed) -> tuple[IntArray, IntArray]:
    """The lanes and bits where `[L, words]` rows have ones, in order. For rows that have few."""
    lanes, words = np.nonzero(packed)
    some, bits = np.nonzero(unpack(packed[lanes, words][:, None], 64))
    return lanes[some], 64 * words[some] + bits


def rows_of_bits(lanes: IntArray, bits: IntArray, count: int, words: int) -> Packed:
    """`[count, words]` rows that have ones at these bits of these lanes."""
    packed = np.zeros((count, words), dtype=np.uint64)
    ones = np.uint64(1) << (bits % 64).astype(np.uint64)
    np.bitwise_or.at(packed, (lanes, bits // 64), ones)
    return packed
