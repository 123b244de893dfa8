"""The range of seeds, wherever one can be given."""

from __future__ import annotations

from ggp.errors import ConfigError

MOST_SEED = (1 << 63) - 1
"""Largest integer that every file and database that keeps seeds can hold."""

_SHOWN_BITS = 200
"""Longer numbers are not shown; Python would not even convert some of them to text."""


def check_seed(seed: int, what: str = "seed") -> None:
    """Check that a number can be a seed.

    Args:
        what: its name in messages.

    Raises:
        ConfigError: it is negative, or larger than `MOST_SEED`.
    """
    if not 0 <= seed <= MOST_SEED:
        given = f", not {seed}" if seed.bit_length() < _SHOWN_BITS else ""
        raise ConfigError(f"{what} must be a whole number from 0 to {MOST_SEED}{given}")
