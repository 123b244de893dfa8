"""Which seeds there are, wherever one can be given."""

from __future__ import annotations

from ggp.errors import ConfigError

MOST_SEED = (1 << 63) - 1
"""What every file and database can hold that keeps seeds."""

_SHOWN_BITS = 200
"""Longer numbers are not shown; Python would not even write some of them down."""


def check_seed(seed: int, what: str = "seed") -> None:
    """See that a number can be a seed.

    Args:
        what: messages call it.

    Raises:
        ConfigError: it is negative, or larger than `MOST_SEED`.
    """
    if not 0 <= seed <= MOST_SEED:
        given = f", not {seed}" if seed.bit_length() < _SHOWN_BITS else ""
        raise ConfigError(f"{what} must be a whole number from 0 to {MOST_SEED}{given}")
