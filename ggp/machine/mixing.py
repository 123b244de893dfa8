"""Mixes 64-bit words: hashes for tables, and random words from counters.

Kernels with hash tables or random playouts use these functions. A hash takes one word after the
other:

    value = START        value = mixed_in(value, word), ...        ended(value)

Random words are `finalised` multiples of `GOLDEN` (splitmix64: Steele, Lea & Flood, "Fast
splittable pseudorandom number generators", 2014). All functions work on words in kernels;
`finalised` also works on arrays of words outside kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: consecutive multiples are far apart."""

START = GOLDEN
"""The first value of a hash."""

_ONE, _TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mixed_by(factor: np.uint64, value: np.uint64, word: np.uint64) -> np.uint64:
    """A hash with one more word in it; each factor gives another hash function."""
    mixed = (value ^ word) * factor
    return mixed ^ (mixed >> np.uint64(29))


@inlined
def mixed_in(value: np.uint64, word: np.uint64) -> np.uint64:
    """A hash with one more word in it."""
    return mixed_by(_ONE, value, word)


@inlined
def ended(value: np.uint64) -> np.uint64:
    """The final hash: each of its bits depends on all words."""
    value = value * _TWO
    return value ^ (value >> np.uint64(32))


@inlined
def finalised(words: Any) -> Any:
    """A random-looking word for each word: the finaliser of splitmix64, a bijection."""
    words = (words ^ (words >> np.uint64(30))) * _ONE
    words = (words ^ (words >> np.uint64(27))) * _TWO
    return words ^ (words >> np.uint64(31))


@inlined
def uniform(random: NDArray[np.uint64]) -> float:
    """A random number, at least 0 and below 1.

    Args:
        random: `[1]` the state of a random stream (splitmix64); it is advanced.
    """
    random[0] += GOLDEN
    return np.float64(finalised(random[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
