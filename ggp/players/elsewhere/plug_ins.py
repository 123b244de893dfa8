"""Plug-ins: imports player classes of other modules and packages, which may be faulty.

`spec` passes in names and gets classes, and players made from them. No exception of such a class
escapes unchanged, neither from its import and constructor nor within `blamed`: the error names the
player, and the file and line of its own code.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from ggp import registry
from ggp.errors import ConfigError, GGPError, PlayerError
from ggp.gdl.nearest import unknown
from ggp.players.player import (
    SEE,
    Context,
    Decision,
    Player,
    PlayerClass,
    checked_decision,
    place_of,
    relative,
)

ENTRY_POINTS = "ggp.players"
"""Entry point group in which other packages offer players."""

_PACKAGE = str(Path(__file__).parents[2])
_OURS = f"{__name__.partition('.')[0]}."
_CHECKED = "_results_are_checked"


def offered_names() -> list[str]:
    """The names under which installed packages offer players."""
    return sorted(registry.offered(ENTRY_POINTS))


def offered(name: str) -> PlayerClass | None:
    """The player of an installed package with this name; None if there is none.

    Raises:
        ConfigError: it cannot be imported, or is not a player.
    """
    entry = registry.offered(ENTRY_POINTS).get(name)
    return None if entry is None else _require_player(_import(name, entry.module, entry.attr), name)


def imported(module: str, attribute: str, names: Sequence[str]) -> PlayerClass:
    """A player by module and class, as Python imports modules, also from the current folder.

    Args:
        names: all players that need no module, for messages.

    Raises:
        ConfigError: there is no such module or class, it cannot be imported, or is not a player.
    """
    if not all(part.isidentifier() for part in module.split(".")):
        possible = f"players: {', '.join(names)}, or module:Class"
        raise ConfigError(unknown("player", f"{module}:{attribute}", names, possible))
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # worker processes inherit this path
    name = f"{module}:{attribute}"
    try:
        return _require_player(_import(name, module, attribute), name)
    except ConfigError as error:
        cause = error.__cause__
        if not isinstance(cause, ModuleNotFoundError) or cause.name != module:
            raise
        raise ConfigError(
            f"unknown player {name!r}: there is no module {module!r}; players: {', '.join(names)}"
        ) from cause


def make(player: PlayerClass, name: str, options: Any, context: Context) -> Player:
    """A player for one match.

    Args:
        name: the player's name in messages.

    Raises:
        PlayerError: its constructor raised; the message quotes the error and its place in the code.
    """
    try:
        instance = player(options, context)
        _check_decisions(type(instance))
        return instance
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, file_of(player)) or place_of(player)
        raise PlayerError(
            f"the player {name} raised {_one_line(error)} when it was made{place}"
        ) from error


@contextmanager
def blamed(player: PlayerClass, name: str) -> Iterator[None]:
    """Blame a player for every exception raised within, except errors of this package.

    Raises:
        PlayerError: for any other exception; the message says where in the player's code.
    """
    try:
        yield
    except (GGPError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, file_of(player)) or "; `-v` shows where"
        raise PlayerError(f"the player {name} raised {_one_line(error)}{place}") from error


def _check_decisions(player: type) -> None:
    """Wrap the `choose` of a player class to check its return values, for all instances."""
    choose = getattr(player, "choose", None)
    if (
        not inspect.isfunction(choose)
        or choose.__module__.startswith(_OURS)
        or _CHECKED in vars(choose)
    ):
        return

    @wraps(choose)
    def checked(self: Any, *args: Any, **options: Any) -> Decision:
        return checked_decision(self, choose(self, *args, **options))

    setattr(checked, _CHECKED, True)
    type.__setattr__(player, "choose", checked)


def _import(name: str, module: str, attribute: str) -> Any:
    try:
        target = import_module(module)
    except (ImportError, SyntaxError) as error:
        place = "" if isinstance(error, SyntaxError) else _place(error, None)
        raise PlayerError(f"the player {name} cannot be imported: {error}{place}") from error
    except (Exception, SystemExit) as error:
        place = _place(error, None)
        raise PlayerError(
            f"the module of the player {name} raised {_one_line(error)} when it was imported{place}"
        ) from error
    try:
        for part in attribute.split("."):
            target = getattr(target, part)
    except AttributeError as error:
        raise ConfigError(f"the module {module} has no {attribute!r}") from error
    return target


def _require_player(player: Any, name: str) -> PlayerClass:
    missing = [method for method in ("observe", "choose") if not hasattr(player, method)]
    if not callable(player) or missing:
        raise ConfigError(
            f"{name} is no player: it must be a class with the methods observe and choose, {SEE}"
        )
    try:
        signature = inspect.signature(player)
    except (TypeError, ValueError):  # its arguments are unknown
        signature = None
    try:
        if signature is not None:
            signature.bind(None, None)
    except TypeError as error:
        raise ConfigError(
            f"{name} is no player: it must take options and a context, and takes {signature}"
            f"{place_of(player)}, {SEE}"
        ) from error
    checked: PlayerClass = player
    return checked


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _place(error: BaseException, file: str | None) -> str:
    """Place of an error: in the given file, else in code that is neither ours nor Python's."""
    frames = list(traceback.walk_tb(error.__traceback__))
    codes = [(frame.f_code.co_filename, line) for frame, line in frames]
    places = [place for place in codes if place[0] == file] if file else []
    places = places or [place for place in codes if not _is_ours(place[0])]
    return f" ({relative(places[-1][0])}, line {places[-1][1]})" if places else ""


def file_of(player: Any) -> str | None:
    """The path of the file that defines a player's class; None if there is none."""
    return getattr(sys.modules.get(getattr(player, "__module__", "")), "__file__", None)


def _is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, "<")) or file.startswith(os.path.dirname(os.__file__))
