"""Players from elsewhere: classes in modules and installed packages, which may be faulty.

No exception of such a class gets out unchanged when it is looked up or made, or within `blamed`:
the error says which player it was, and the file and line of its own code.
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
    """A player of an installed package; None if there is none with that name.

    Raises:
        ConfigError: it cannot be imported, or is not a player.
    """
    each = registry.offered(ENTRY_POINTS).get(name)
    return None if each is None else _checked(_found(name, each.module, each.attr), name)


def imported(module: str, attribute: str, known: Sequence[str]) -> PlayerClass:
    """A player by module and class, found as Python finds modules, in the current folder too.

    Args:
        known: names of players that need no module, for messages.

    Raises:
        ConfigError: there is no such module or class, it cannot be imported, or is not a player.
    """
    if not all(part.isidentifier() for part in module.split(".")):
        possible = f"players: {', '.join(known)}, or module:Class"
        raise ConfigError(unknown("player", f"{module}:{attribute}", known, possible))
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # so that worker processes get the same path
    name = f"{module}:{attribute}"
    try:
        return _checked(_found(name, module, attribute), name)
    except ConfigError as error:
        cause = error.__cause__
        if not isinstance(cause, ModuleNotFoundError) or cause.name != module:
            raise
        raise ConfigError(
            f"unknown player {name!r}: there is no module {module!r}; players: {', '.join(known)}"
        ) from cause


def make(player: PlayerClass, name: str, options: Any, context: Context) -> Player:
    """A player for one match.

    Args:
        name: what messages call it.

    Raises:
        PlayerError: its constructor raised; the message says what, and where in its code.
    """
    try:
        made = player(options, context)
        _check_decisions(type(made))
        return made
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, _file_of(player)) or place_of(player)
        raise PlayerError(
            f"the player {name} raised {_shown(error)} when it was made{place}"
        ) from error


@contextmanager
def blamed(player: PlayerClass, name: str) -> Iterator[None]:
    """Blames a player for all that is raised within, except what is an error of ours already.

    Raises:
        PlayerError: something was raised; the message says what, and where in the player's code.
    """
    try:
        yield
    except (GGPError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, _file_of(player)) or "; `-v` shows where"
        raise PlayerError(f"the player {name} raised {_shown(error)}{place}") from error


def _check_decisions(player: type) -> None:
    """Have a class of players check what its `choose` returns, for all instances and copies."""
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


def _found(name: str, module: str, attribute: str) -> Any:
    try:
        found = import_module(module)
    except (ImportError, SyntaxError) as error:
        place = "" if isinstance(error, SyntaxError) else _place(error, None)
        raise PlayerError(f"the player {name} cannot be imported: {error}{place}") from error
    except (Exception, SystemExit) as error:
        place = _place(error, None)
        raise PlayerError(
            f"the module of the player {name} raised {_shown(error)} when it was imported{place}"
        ) from error
    try:
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise ConfigError(f"the module {module} has no {attribute!r}") from error
    return found


def _checked(player: Any, name: str) -> PlayerClass:
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
    found: PlayerClass = player
    return found


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _place(error: BaseException, file: str | None) -> str:
    """Origin of an error: in a given file, else in code that is neither ours nor Python's."""
    frames = list(traceback.walk_tb(error.__traceback__))
    codes = [(frame.f_code.co_filename, line) for frame, line in frames]
    own = [place for place in codes if place[0] == file] if file else []
    own = own or [place for place in codes if not _is_ours(place[0])]
    return f" ({relative(own[-1][0])}, line {own[-1][1]})" if own else ""


def _file_of(player: Any) -> str | None:
    return getattr(sys.modules.get(getattr(player, "__module__", "")), "__file__", None)


def _is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, "<")) or file.startswith(os.path.dirname(os.__file__))
