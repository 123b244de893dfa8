"""Vectors of 64-bit words for numba kernels, as packed instructions whatever LLVM infers.

A kernel takes a `width`: a tuple of n zeros stands for vectors of `8 * n` words, so that one
source compiles to any width and numba's cache tells them apart. LLVM splits a vector into as
many registers as the processor needs.

There are vectors of floats as well, for nets, all of one width.

Here the operations only have names; `vector_code` generates their code in kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, operations_in

WIDTH = (0, 0)
"""16 words: 1,024 lanes side by side. Twice as many are up to a sixth faster in long runs of
playouts, half as many up to a third in single ones; two widths take twice as long to compile."""

WORDS_PER_ITEM = 8

FLOATS = 64
"""Floats in a vector: eight registers of 256 bits, so that four operations may be under way in each
of two units."""

_LINES_WORDS = 16
"""Number of words of two cache lines, which processors fetch together."""

_ONLY_IN_KERNELS = "vectors are for kernels only"

operations_in("ggp.machine.compiling.vector_code")


@inlined
def words_of(width: tuple[int, ...]) -> int:
    """Words in a vector of this width; usable in kernels."""
    return WORDS_PER_ITEM * len(width)


def aligned_words(count: int) -> NDArray[np.uint64]:
    """Words, all 0, the first of them aligned for a vector register.

    Where vectors lie across cache lines, kernels take 1.4 times as long. No other array has
    words in these lines, or in those fetched with them: of two threads that write to one line, each
    waits for the other.
    """
    padded = -(-count // _LINES_WORDS) * _LINES_WORDS
    words = np.zeros(padded + _LINES_WORDS, dtype=np.uint64)
    first = -(words.ctypes.data // words.itemsize) % _LINES_WORDS
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
    """Keeps the function it is called in from being inlined: kernels compile faster."""
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
    """The vector with this word everywhere."""
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
    """Number of bits of a word that are set."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def leading_zeros(word: Any) -> int:
    """Number of bits that are not set above the highest that is; 64 if none is."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def lowest_one(word: Any) -> int:
    """Index of the lowest bit that is set; 64 if none."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def load_floats(array: Any, index: Any) -> Any:
    """The vector of floats from number `index` on in an array without gaps, of any dimensions."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def store_floats(array: Any, index: Any, vector: Any) -> None:
    """Write a vector of floats from number `index` on."""
    raise NotImplementedError(_ONLY_IN_KERNELS)


def plus_times(a: Any, b: Any, factor: Any) -> Any:
    """a + b * factor, for vectors of floats and a float32"""
    raise NotImplementedError(_ONLY_IN_KERNELS)
