"""General game playing for GDL-II: language, machines, beliefs, players.

    >>> import ggp
    >>> game = ggp.load("monty_hall")
    >>> game.initial().legal("candidate")
    ('noop',)

`docs/use/library.md` shows the rest. Names are imported on first use: `import ggp` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ggp.library import Belief, Game, Playout, Seated, State, Step, compare, load, play_match

    __version__: str

__all__ = [
    "Belief",
    "Game",
    "Playout",
    "Seated",
    "State",
    "Step",
    "__version__",
    "compare",
    "load",
    "play_match",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("ggp-hyperplay")
    if name in __all__:
        from ggp import library

        return getattr(library, name)
    raise AttributeError(f"module 'ggp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
