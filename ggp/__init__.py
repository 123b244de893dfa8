"""General game playing for GDL-II: language, machines, beliefs, players.

    >>> import ggp
    >>> game = ggp.load("monty_hall")
    >>> game.initial().legal("candidate")
    ('(choose 1)', '(choose 2)', '(choose 3)')

`ggp.library` defines the names offered here, and `docs/use/library.md` explains them. Each name is
imported on first use, so `import ggp` is quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ggp.library import (
        Belief,
        Exploited,
        Game,
        Playout,
        Seated,
        Solved,
        State,
        Step,
        compare,
        exploit,
        load,
        play_match,
        read_record,
        solve,
        tournament,
    )

    __version__: str

__all__ = [
    "Belief",
    "Exploited",
    "Game",
    "Playout",
    "Seated",
    "Solved",
    "State",
    "Step",
    "__version__",
    "compare",
    "exploit",
    "load",
    "play_match",
    "read_record",
    "solve",
    "tournament",
]


class _Solver(ModuleType):
    """The package `ggp.solve`, made callable: `ggp.solve("kuhn_poker")` solves a game."""

    def __call__(self, *args: Any, **options: Any) -> Solved:
        from ggp import library

        return library.solve(*args, **options)


class _Package(ModuleType):
    """This package, which keeps `ggp.solve` callable.

    Importing the package `ggp.solve` replaces the function of that name here; so the package
    itself is made callable.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "solve" and isinstance(value, ModuleType):
            value.__class__ = _Solver
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


_PACKAGES = frozenset({"env", "errors", "gdl", "machine", "players", "solve"})
"""Packages and modules that users reach as attributes, without importing them."""


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"ggp.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("ggp-hyperplay")
    if name in __all__:
        from ggp import library

        return getattr(library, name)
    raise AttributeError(f"module 'ggp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
