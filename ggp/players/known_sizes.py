"""Games that were found not to be solved, mostly too large, kept on disk between processes.

To find out takes up to a second, and whoever takes over a match has no second to spare. What is
found is the same each time, so that to remember it changes no decision.
"""

from __future__ import annotations

from functools import cache

from ggp.machine.compiling.kernel_version import code_version
from ggp.machine.propnet.build.cache import user_cache
from ggp.machine.propnet.build.version import makers_version

_TOO_LARGE = b"too large"


def is_too_large(digest: str, most_states: int) -> bool:
    """Whether it is known that the game of a digest cannot be played out to so many states."""
    return user_cache().get(_key(digest, most_states)) == _TOO_LARGE


def note_too_large(digest: str, most_states: int) -> None:
    """Remember that the game of a digest cannot be played out to so many states."""
    user_cache().put(_key(digest, most_states), _TOO_LARGE)


def _key(digest: str, most_states: int) -> str:
    return f"{digest}-{makers_version()}-{_lookers_version()}-{most_states}"


@cache
def _lookers_version() -> str:
    """Of the code that counts states."""
    return code_version(["solve"])
