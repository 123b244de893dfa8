"""Games known not to be solvable, mostly because they are too large, kept on disk between
processes.

Finding this out takes up to a second, and a player that takes over a match has no second to spare.
The result is always the same, so remembering it changes no decision.
"""

from __future__ import annotations

from functools import cache

from ggp.machine.compiling.kernel_version import code_version
from ggp.machine.propnet.build.cache import user_cache
from ggp.machine.propnet.build.version import makers_version

_TOO_LARGE = b"too large"


def is_too_large(digest: str, most_states: int) -> bool:
    """Whether the game with a digest is known to have too many states to be played out."""
    return user_cache().get(_key(digest, most_states)) == _TOO_LARGE


def note_too_large(digest: str, most_states: int) -> None:
    """Remember that the game with a digest cannot be played out within `most_states` states."""
    user_cache().put(_key(digest, most_states), _TOO_LARGE)


def _key(digest: str, most_states: int) -> str:
    return f"{digest}-{makers_version()}-{_lookers_version()}-{most_states}"


@cache
def _lookers_version() -> str:
    """Version of the code that counts states, and says how many are too many."""
    return code_version(["solve", "players/choosing/solved"])
