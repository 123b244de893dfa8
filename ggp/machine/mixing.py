"""Mixes 64-bit words: hashes for tables, and random words from counters.

A hash takes in one word after the other:

    value = START        value = mixed_in(value, word), ...        ended(value)

Random words are `finalised` multiples of `GOLDEN` (splitmix64: Steele, Lea & Flood, "Fast
splittable pseudorandom number generators", 2014). All of this works on words in kernels;
`finalised` also works on arrays of words outside of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: its multiples are far apart."""

START = GOLDEN
"""The value that a hash begins with."""

_ONE, _TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mixed_by(factor: np.uint64, value: np.uint64, word: np.uint64) -> np.uint64:
    """A hash with one more word in it, by a given factor: different factors give other hashes."""
    mixed = (value ^ word) * factor
    return mixed ^ (mixed >> np.uint64(29))


@inlined
def mixed_in(value: np.uint64, word: np.uint64) -> np.uint64:
    """A hash with one more word in it."""
    return mixed_by(_ONE, value, word)


@inlined
def ended(value: np.uint64) -> np.uint64:
    """The final hash, each of whose bits depends on all words."""
    value = value * _TWO
    return value ^ (value >> np.uint64(32))


@inlined
def finalised(words: Any) -> Any:
    """Random-looking words, one for each word: the finaliser of splitmix64, a bijection."""
    words = (words ^ (words >> np.uint64(30))) * _ONE
    words = (words ^ (words >> np.uint64(27))) * _TWO
    return words ^ (words >> np.uint64(31))


@inlined
def uniform(random: NDArray[np.uint64]) -> float:
    """A random number, at least 0 and below 1.

    Args:
        random: `[1]` the state of a stream (splitmix64), which is advanced.
    """
    random[0] += GOLDEN
    return np.float64(finalised(random[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
