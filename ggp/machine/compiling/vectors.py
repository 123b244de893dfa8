"""Operations on vectors of 64-bit words in kernels, always compiled to SIMD instructions.

A kernel takes a `width`: a tuple of n zeros stands for vectors of `8 * n` words, an empty one for a
single word. So the same source compiles for any width, and numba caches each width as a type of its
own. LLVM splits a vector into as many registers as the processor needs. Vectors of floats, for
neural networks, have a fixed width.

This module only declares the operations; `vector_code` generates their instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, operations_in

WIDTH = (0, 0)
"""16 words: 1,024 lanes in parallel. Twice as many words would be up to a sixth faster in long runs
of playouts, and half as many up to a third faster in single ones; but two widths would take twice
as long to compile."""

WORDS_PER_ITEM = 8
"""Words for each zero in a width."""

FLOATS = 64
"""Floats in a vector: eight registers of 256 bits, so that each of two units can pipeline four
operations."""

_WORDS_IN_TWO_LINES = 16
"""Words in two cache lines, which processors fetch together."""

_ONLY_IN_KERNELS = "vectors are for kernels only"

operations_in("ggp.machine.compiling.vector_code")


@inlined
def words_of(width: tuple[int, ...]) -> int:
    """Words in a vector of this width; usable in kernels."""
    return max(1, WORDS_PER_ITEM * len(width))


def aligned_words(count: int) -> NDArray[np.uint64]:
    """`[count]` words of 0, aligned to two cache lines.

    Kernels take 1.4 times as long if vectors cross cache lines. No other array shares these lines,
    or the lines fetched with them, because otherwise two threads that write to one line would
    wait for each other.
    """
    padded = -(-count // _WORDS_IN_TWO_LINES) * _WORDS_IN_TWO_LINES
    words = np.zeros(padded + _WORDS_IN_TWO_LINES, dtype=np.uint64)
    first = -(words.ctypes.data // words.itemsize) % _WORDS_IN_TWO_LINES
    return words[first : first + count]


def load(array: Any, index: Any, width: tuple[int, ...]) -> Any:
    """The vector at `array[index]`."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def store(array: Any, index: Any, vector: Any) -> None:
    """Write a vector to `array[index]`."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def item(array: Any, index: Any) -> int:
    """`array[index]` of a flat array of numbers, without a check for a negative index."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def out_of_line() -> None:
    """Keep the calling function from being inlined, so that kernels compile faster."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def band(a: Any, b: Any) -> Any:
    """a & b"""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def bor(a: Any, b: Any) -> Any:
    """a | b"""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def bxor(a: Any, b: Any) -> Any:
    """a ^ b"""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def but_not(a: Any, b: Any) -> Any:
    """a & ~b"""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def plus(a: Any, b: Any) -> Any:
    """a + b, modulo 2**64 in each word"""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def splat(word: Any, width: tuple[int, ...]) -> Any:
    """The vector of which every word is this one."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def shift_left(a: Any, by: Any) -> Any:
    """Every word shifted left."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def shift_right(a: Any, by: Any) -> Any:
    """Every word shifted right."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def reduce_or(a: Any) -> Any:
    """The words of a vector, all or-ed together."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def count_ones(word: Any) -> int:
    """Number of set bits in a word."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def count_all(a: Any) -> int:
    """Number of set bits in all words of a vector"""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def leading_zeros(word: Any) -> int:
    """Number of zero bits above the highest set bit; 64 for a zero word."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def lowest_one(word: Any) -> int:
    """Index of the lowest set bit; 64 for a zero word."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def where_equal(array: Any, index: Any, value: Any) -> Any:
    """Bit b: whether `array[index + b]`, of an array of 32-bit numbers, equals a value."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def add_where(array: Any, index: Any, word: Any, number: Any) -> None:
    """Add a number to each byte `array[index + b]` for which bit b of a word is set."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def spread_bits(array: Any, index: Any, word: Any) -> None:
    """Write the lower half of a word to 32 bytes from `array[index]` on, as zeros and ones."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def load_floats(array: Any, index: Any) -> Any:
    """The vector of floats that starts at flat index `index` of a contiguous array."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def store_floats(array: Any, index: Any, vector: Any) -> None:
    """Write a vector of floats, starting at flat index `index`."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def plus_times(a: Any, b: Any, factor: Any) -> Any:
    """a + b * factor, for vectors of floats and a float32"""
    raise NotImplementedError(_ONLY_IN_KERNELS)
