"""Players from elsewhere: classes in modules and installed packages, which may be faulty.

No exception of such a class gets out unchanged when it is looked up or made, or within `blamed`:
the error says which player it was, and the file and line of its own code.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from ggp.errors import ConfigError, GGPError, PlayerError
from ggp.gdl.nearest import unknown
from ggp.players.player import Context, Decision, MoveValue, Player, PlayerClass

ENTRY_POINTS = "ggp.players"
"""Entry point group in which other packages offer players."""

_PACKAGE = str(Path(__file__).parents[2])
_MOST_SHOWN = 60
_SAID = "see docs/use/adding-a-player.md"


def offered_names() -> list[str]:
    """The names under which installed packages offer players."""
    return sorted(each.name for each in entry_points(group=ENTRY_POINTS))


def offered(name: str) -> PlayerClass | None:
    """A player of an installed package; None if there is none with that name.

    Raises:
        ConfigError: it cannot be imported, or is not a player.
    """
    for each in entry_points(group=ENTRY_POINTS, name=name):
        return _checked(_found(name, each.module, each.attr), name)
    return None


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
        for method, check in (("decide", checked_choice), ("choose", checked_decision)):
            _check_results(made, method, check)
        return made
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, _file_of(player)) or _place_of(player)
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


def _check_results(player: Any, name: str, check: Callable[[Any, Any], Any]) -> None:
    """Have all results of a player's method checked, if it has such a method."""
    method = getattr(player, name, None)
    if method is None:
        return

    @wraps(method)
    def checked(*args: Any, **options: Any) -> Any:
        return check(player, method(*args, **options))

    with suppress(AttributeError):  # of a class with slots
        setattr(player, name, checked)


def checked_choice(player: Any, found: Any) -> tuple[int, tuple[MoveValue, ...]]:
    """What the `decide` of a player returned.

    Raises:
        PlayerError: it is not a move with values; the message says what to return, and where.
    """
    match found:
        case (int() | np.integer() as move, tuple() | list() as values):
            return int(move), tuple(values)
    place = _place_of(type(player).decide)
    raise PlayerError(
        f"`decide` of {type(player).__name__} returned {_cut(repr(found))}{place}: return the "
        "number of a move, and a tuple of `MoveValue`s, as in `return self.machine.move_id(text), "
        f"()`, {_SAID}"
    )


def checked_decision(player: Any, found: Any) -> Decision:
    """What the `choose` of a player returned.

    Raises:
        PlayerError: it is no `Decision`; the message says what to return, and where.
    """
    if isinstance(found, Decision) and isinstance(found.move, str):
        return found
    place = _place_of(type(player).choose)
    raise PlayerError(
        f"`choose` of {type(player).__name__} returned {_cut(repr(found))}{place}: return a "
        f"`ggp.players.Decision`, whose `move` is the text of a move, {_SAID}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


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
            f"{name} is no player: it must be a class with the methods observe and choose, {_SAID}"
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
            f"{_place_of(player)}, {_SAID}"
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
    return f" ({_relative(own[-1][0])}, line {own[-1][1]})" if own else ""


def _place_of(player: Any) -> str:
    """File and line where a player is defined."""
    code = next(_codes(player), None)
    return "" if code is None else f" ({_relative(code.co_filename)}, line {code.co_firstlineno})"


def _codes(player: Any) -> Iterator[CodeType]:
    for function in (player, getattr(player, "__init__", None), getattr(player, "__new__", None)):
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code


def _file_of(player: Any) -> str | None:
    return getattr(sys.modules.get(getattr(player, "__module__", "")), "__file__", None)


def _is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, "<")) or file.startswith(os.path.dirname(os.__file__))


def _relative(file: str) -> str:
    """A path relative to the current folder, if that is shorter."""
    here = os.getcwd()
    return os.path.relpath(file, here) if file.startswith(here + os.sep) else file
