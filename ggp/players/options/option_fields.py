"""Options of a player: a frozen dataclass whose fields say what they mean and what they may be.

    @dataclass(frozen=True)
    class Options:
        depth: int = whole(3, "turns to look ahead", high=20)

defines `my_player:depth=5`. Parsing, error messages, `ggp players` and completion come from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from inspect import get_annotations
from typing import Any, TypeVar

from ggp.errors import ConfigError
from ggp.gdl.nearest import unknown

MOST = 10**9
"""Default upper bound of options that are whole numbers."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class NoOptions:
    """Options of players that have none."""


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """A description of one option.

    Attributes:
        name: as written in specs.
        form: values allowed after `name=`, e.g. `N` or `random|prompt`.
        default: as written in specs; empty if it follows from other options.
        meaning: one line.
        low, high: bounds of numbers; None for others.
    """

    name: str
    form: str
    default: str
    meaning: str
    low: int | None = None
    high: int | None = None


def _names_none(text: str) -> bool:
    return False


def _reads_none(text: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Reader of the text of an option; it raises ValueError with what the text must be."""

    read: Callable[[str, str], Any]
    form: str | Collection[str]
    meaning: str
    usual: str | None = None
    low: int | None = None
    high: int | None = None
    names_file: Callable[[str], bool] = _names_none
    reads: Callable[[str], str] = _reads_none
    unused: bool = False


def whole(default: Any, meaning: str, *, low: int = 1, high: int = MOST, usual: str = "") -> Any:
    """A field for a whole number.

    Args:
        default: None if it follows from other options.
        meaning: one line for users.
        low, high: bounds, both inclusive. An option that is on or off needs both: `low=0, high=1`.
        usual: text shown for the default, if that is None.

    Raises:
        ConfigError: the bounds leave no choice, or leave out the default.
    """
    _check_bounds(low, high)
    if default is not None and not low <= default <= high:
        raise ConfigError(f"{default} is the default of an option from {low} to {high}")
    return _field(default, _Kind(_reader(low, high), "N", meaning, usual, low, high))


def wholes(meaning: str, *, low: int = 1, high: int = MOST) -> Any:
    """A field for whole numbers by turn: `A/B/C` for turns 1, 2, and 3 on; or none.

    Raises:
        ConfigError: the bounds leave no choice.
    """
    _check_bounds(low, high)
    one = _reader(low, high)

    def read(name: str, text: str) -> tuple[int, ...]:
        return tuple(one(name, part) for part in text.split("/"))

    return _field((), _Kind(read, "A/B/C", meaning, "", low, high))


def choice(default: StrEnum, meaning: str, among: Sequence[StrEnum] = ()) -> Any:
    """A field for one of the values of an enumeration.

    Args:
        among: the values that are allowed; default: all.
    """
    possible = among or tuple(type(default))

    def read(name: str, text: str) -> StrEnum:
        if text not in possible:
            raise ValueError(f"must be {' or '.join(f'{name}={each}' for each in possible)}")
        return type(default)(text)

    return _field(default, _Kind(read, "|".join(possible), meaning))


def named(default: str, meaning: str, among: Collection[str]) -> Any:
    """A field for one of some names, such as those of a `Registry`, which is read when it is
    needed."""

    def read(name: str, text: str) -> str:
        if text not in among:
            raise ValueError(f"must be {' or '.join(f'{name}={each}' for each in among)}")
        return text

    return _field(default, _Kind(read, among, meaning))


def words(
    default: str,
    meaning: str,
    form: str,
    check: Callable[[str], str] = str,
    *,
    usual: str | None = None,
    names_file: Callable[[str], bool] = _names_none,
    reads: Callable[[str], str] = _reads_none,
) -> Any:
    """A field for a text without commas.

    Args:
        form: values allowed after `name=`.
        check: returns the value of a text, or raises ValueError with what the text must be.
        usual: text shown for the default, if that is empty.
        names_file: whether a text names a file that does not come with ggp; users without access
            to files may not give one, see `read_options`. Called before `check`.
        reads: the path of the file, if what it holds decides what the player does, see
            `files_read`; else empty.
    """

    def read(name: str, text: str) -> str:
        return check(text)

    return _field(default, _Kind(read, form, meaning, usual, names_file=names_file, reads=reads))


def unused(value: Any, why: str) -> Any:
    """A field of a player that does not use this option of those it extends: it is not listed.

    Args:
        value: the only one there may be, which may also be given.
        why: what is told to those who give another.
    """

    def read(name: str, text: str) -> Any:
        if text != str(value):
            raise ValueError(f"cannot be chosen: {why}")
        return value

    return _field(value, _Kind(read, "", why, unused=True))


def read_options(options: type[_T], player: str, text: str, *, files: bool = True) -> _T:
    """Options from `a=1,b=2`.

    Args:
        options: a dataclass of fields made by `whole`, `wholes`, `choice`, `named` or `words`; its
            `__post_init__` may raise `ConfigError` for options that do not go together.
        player: what messages call the player.
        files: whether values may name files.

    Raises:
        ConfigError: an unknown option, one given twice, or a bad value; the message lists what is
            possible. Or an option that names a file when that is not allowed.
    """
    known = _known(options)
    given: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = item.partition("=")
        if name not in known:
            listed = [each.name for each in describe_options(options)]
            possible = ", ".join(listed) or "none"
            of = f"of player {player}"
            raise ConfigError(unknown("option", name, listed, f"options: {possible}", of))
        if name in given:
            raise ConfigError(f"option {name!r} of player {player} is given twice")
        kind = _kind(known[name])
        if not files and kind.names_file(value):
            raise ConfigError(
                f"option {name!r} of player {player} names a file, which only a command line may"
            )
        try:
            given[name] = kind.read(name, value)
        except ValueError as error:
            raise ConfigError(f"option {name!r} of player {player} {error}") from None
        except ConfigError as error:  # of the file that it names
            raise ConfigError(f"option {name!r} of player {player}: {error}") from error
    try:
        return options(**given)
    except ConfigError as error:
        raise ConfigError(f"player {player}: {error}") from error


def files_read(options: object) -> dict[str, str]:
    """The files that decide what a player with these options does, by option.

    Files that come with ggp are none of them: they change with its version. Nor are those to which
    matches add.
    """
    found = {
        name: _kind(each).reads(getattr(options, name))
        for name, each in _known(type(options)).items()
        if _kind(each).reads is not _reads_none  # values of others need not be text
    }
    return {name: path for name, path in found.items() if path}


def describe_options(options: type[object]) -> tuple[OptionInfo, ...]:
    """Every option that is used, in order."""
    found = []
    for name, each in _known(options).items():
        if (kind := _kind(each)).unused:
            continue
        default = str(each.default) if kind.usual is None or each.default else kind.usual
        form = kind.form if isinstance(kind.form, str) else "|".join(kind.form)
        found.append(OptionInfo(name, form, default, kind.meaning, kind.low, kind.high))
    return tuple(found)


def _check_bounds(low: int, high: int) -> None:
    """Reject bounds that are equal: typically `high=1` was meant as on or off, and `low` is 1."""
    if low >= high:
        raise ConfigError(
            f"an option from {low} to {high} leaves no choice; for one that is on or off "
            "say low=0, high=1"
        )


def _reader(low: int, high: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        if not text.isascii() or not text.removeprefix("-").isdigit():
            raise ValueError(f"needs a whole number: {name}=N")
        if not low <= int(text) <= high:
            raise ValueError(f"must be from {low} to {high}, not {text}")
        return int(text)

    return read


def _field(default: Any, kind: _Kind) -> Any:
    return field(default=default, metadata={"option": kind})


def _known(options: type[Any]) -> Mapping[str, Field[Any]]:
    """The fields by name, those of the class itself before those it inherits."""
    every = {each.name: each for each in fields(options)}
    names = (name for base in options.__mro__ for name in get_annotations(base))
    return {name: every[name] for name in dict.fromkeys(names) if name in every}


def _kind(each: Field[Any]) -> _Kind:
    kind = each.metadata.get("option")
    if not isinstance(kind, _Kind) or each.default is MISSING:
        raise ConfigError(
            f"option {each.name!r} is not declared by whole, wholes, choice, named or words"
        )
    return kind
