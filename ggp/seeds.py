"""The range of seeds, which is the same wherever one can be given."""

from __future__ import annotations

from ggp.errors import ConfigError

MAX_SEED = (1 << 63) - 1
"""The largest integer that every file and database with seeds can hold."""

_SHOWN_BITS = 200
"""Messages omit longer numbers; Python would refuse to convert some of them to text."""


def check_seed(seed: int, name: str = "seed") -> None:
    """Check that a number can be a seed.

    Args:
        name: its name in messages.

    Raises:
        ConfigError: it is negative, or larger than `MAX_SEED`.
    """
    if not 0 <= seed <= MAX_SEED:
        suffix = f", not {seed}" if seed.bit_length() < _SHOWN_BITS else ""
        raise ConfigError(f"{name} must be a whole number from 0 to {MAX_SEED}{suffix}")
