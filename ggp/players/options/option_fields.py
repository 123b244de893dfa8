"""Options of a player: a frozen dataclass whose fields state meanings and bounds.

    @dataclass(frozen=True)
    class Options:
        depth: int = whole(3, "turns to look ahead", high=20)

defines `my_player:depth=5`. From it come parsing (`read_options`), error messages, the list of
`ggp players` and completion (`describe_options`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from inspect import get_annotations
from typing import Any, TypeVar

from ggp.errors import ConfigError
from ggp.gdl.games import comes_with_games
from ggp.gdl.nearest import unknown

MOST = 10**9
"""Default upper bound of options that are whole numbers."""

_T = TypeVar("_T")
_Text = TypeVar("_Text", bound=str)


@dataclass(frozen=True)
class NoOptions:
    """The options of a player without options."""


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """A description of one option.

    >>> from ggp.players import describe_player
    >>> depth = describe_player("hyperplay2").options[0]
    >>> depth.name, depth.form, depth.default, depth.low, depth.high
    ('n', 'N', '4', 1, 100)

    Attributes:
        name: as written in specs.
        form: values allowed after `name=`, e.g. `N` or `random|prompt`.
        default: as written in specs; empty if it follows from other options.
        meaning: one line.
        low, high: bounds of numbers; None for other options.
    """

    name: str
    form: str
    default: str
    meaning: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class _Kind:
    """Reads the text of an option; raises ValueError with the allowed texts."""

    read: Callable[[str, str], Any]
    form: str | Collection[str]
    meaning: str
    usual: str | None = None
    low: int | None = None
    high: int | None = None
    names_file: Callable[[str], bool] | None = None
    reads: Callable[[str], str] | None = None
    unused: bool = False


def whole(default: Any, meaning: str, *, low: int = 1, high: int = MOST, usual: str = "") -> Any:
    """A field for a whole number.

    >>> from dataclasses import dataclass
    >>> from ggp.players.options.option_fields import read_options, whole
    >>> @dataclass(frozen=True)
    ... class Options:
    ...     depth: int = whole(3, "turns to look ahead", high=20)
    >>> read_options(Options, "my_player", "depth=5").depth
    5

    Args:
        default: None if it follows from other options.
        meaning: one line for users.
        low, high: bounds, both inclusive. An option that is on or off needs both: `low=0, high=1`.
        usual: text for the default, if that is None.

    Raises:
        ConfigError: the bounds leave no choice, or exclude the default.
    """
    read = _reader(low, high)
    if default is not None and not low <= default <= high:
        raise ConfigError(f"{default} is the default of an option from {low} to {high}")
    return _field(default, _Kind(read, "N", meaning, usual, low, high))


def wholes(meaning: str, *, low: int = 1, high: int = MOST) -> Any:
    """A field for whole numbers by turn: `A/B/C` for turns 1, 2, and 3 on; or none.

    Raises:
        ConfigError: the bounds leave no choice.
    """
    read_one = _reader(low, high)

    def read(name: str, text: str) -> tuple[int, ...]:
        return tuple(read_one(name, part) for part in text.split("/"))

    return _field((), _Kind(read, "A/B/C", meaning, "", low, high))


def choice(default: _Text, meaning: str, among: Collection[_Text] = ()) -> Any:
    """A field for one of the values of an enumeration, or for one of several names.

    Args:
        among: the allowed values, such as the names of a `Registry`, which loads lazily; default:
            all of the enumeration.
    """
    kind = type(default)
    possible = among or (tuple(kind) if issubclass(kind, StrEnum) else ())

    def read(name: str, text: str) -> str:
        if text not in possible:
            raise ValueError(f"must be {' or '.join(f'{name}={value}' for value in possible)}")
        return kind(text)

    return _field(default, _Kind(read, possible, meaning))


def words(
    default: str,
    meaning: str,
    form: str,
    check: Callable[[str], str] = str,
    *,
    usual: str | None = None,
    names_file: Callable[[str], bool] | None = None,
    reads: Callable[[str], str] | None = None,
) -> Any:
    """A field for a text without commas.

    Args:
        form: values allowed after `name=`.
        check: returns the value of a text, or raises ValueError with the allowed texts.
        usual: text for the default, if that is empty.
        names_file: whether a text names a file that does not come with ggp; users without access
            to files may not give one, see `read_options`. Called before `check`.
        reads: returns the path of the file if its contents determine the player's decisions, see
            `files_read`; else empty.
    """

    def read(name: str, text: str) -> str:
        return check(text)

    return _field(default, _Kind(read, form, meaning, usual, names_file=names_file, reads=reads))


def file_field(default: str, meaning: str, check: Callable[[str], str]) -> Any:
    """An option that names a file, by its path or as one that comes with the games."""

    def names_own_file(text: str) -> bool:
        return text != default and not comes_with_games(text, ".toml")

    def own_file(text: str) -> str:
        return text if names_own_file(text) else ""

    return words(
        default, meaning, f"{default}|FILE", check, names_file=names_own_file, reads=own_file
    )


def unused(value: Any, why: str) -> Any:
    """A field of a player that does not use an inherited option: it is not listed.

    Args:
        value: the only allowed value.
        why: the reason, for the message about any other value.
    """

    def read(name: str, text: str) -> Any:
        if text != str(value):
            raise ValueError(f"cannot be chosen: {why}")
        return value

    return _field(value, _Kind(read, "", why, unused=True))


def read_options(options: type[_T], player: str, text: str, *, files: bool = True) -> _T:
    """Options from `a=1,b=2`.

    Args:
        options: a dataclass of fields made by `whole`, `wholes`, `choice` or `words`; its
            `__post_init__` may raise `ConfigError` for options that exclude each other.
        player: the player's name in messages.
        files: whether values may name files.

        Raises:
            ConfigError: an unknown option, a repeated option, or a bad value; the message lists
                alternatives. Or an option names a file although `files` is false.
    """
    by_name = _fields_by_name(options)
    values: dict[str, Any] = {}
    for assignment in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = assignment.partition("=")
        if name not in by_name:
            listed = [option.name for option in describe_options(options)]
            possible = ", ".join(listed) or "none"
            of = f"of player {player}"
            raise ConfigError(unknown("option", name, listed, f"options: {possible}", of))
        if name in values:
            raise ConfigError(f"option {name!r} of player {player} is given twice")
        kind = _kind(by_name[name])
        if not files and kind.names_file is not None and kind.names_file(value):
            raise ConfigError(
                f"option {name!r} of player {player} names a file, which only a command line may"
            )
        try:
            values[name] = kind.read(name, value)
        except ValueError as error:
            raise ConfigError(f"option {name!r} of player {player} {error}") from None
        except ConfigError as error:  # of the file that it names
            raise ConfigError(f"option {name!r} of player {player}: {error}") from error
    try:
        return options(**values)
    except ConfigError as error:
        raise ConfigError(f"player {player}: {error}") from error


def files_read(options: object) -> dict[str, str]:
    """The files that determine the decisions of a player with these options, by option.

    They do not include files that come with ggp, because these change with its version, nor files
    to which matches add.
    """
    paths = {
        name: reads(getattr(options, name))
        for name, option in _fields_by_name(type(options)).items()
        if (reads := _kind(option).reads) is not None  # other values need not be text
    }
    return {name: path for name, path in paths.items() if path}


def describe_options(options: type[object]) -> tuple[OptionInfo, ...]:
    """Every option that the player uses, in order."""
    infos = []
    for name, option in _fields_by_name(options).items():
        if (kind := _kind(option)).unused:
            continue
        default = str(option.default) if kind.usual is None or option.default else kind.usual
        form = kind.form if isinstance(kind.form, str) else "|".join(kind.form)
        infos.append(OptionInfo(name, form, default, kind.meaning, kind.low, kind.high))
    return tuple(infos)


def _reader(low: int, high: int) -> Callable[[str, str], int]:
    """Reads whole numbers; bounds may not be equal: usually `high=1` was meant as on or off."""
    if low >= high:
        raise ConfigError(
            f"an option from {low} to {high} leaves no choice; for one that is on or off "
            "say low=0, high=1"
        )

    def read(name: str, text: str) -> int:
        if not text.isascii() or not text.removeprefix("-").isdigit():
            raise ValueError(f"needs a whole number: {name}=N")
        if not low <= int(text) <= high:
            raise ValueError(f"must be from {low} to {high}, not {text}")
        return int(text)

    return read


def _field(default: Any, kind: _Kind) -> Any:
    return field(default=default, metadata={"option": kind})


def _fields_by_name(options: type[Any]) -> Mapping[str, Field[Any]]:
    """The fields by name, the class's own fields before inherited ones."""
    every = {option.name: option for option in fields(options)}
    names = (name for base in options.__mro__ for name in get_annotations(base))
    return {name: every[name] for name in dict.fromkeys(names) if name in every}


def _kind(option: Field[Any]) -> _Kind:
    kind = option.metadata.get("option")
    if not isinstance(kind, _Kind) or option.default is MISSING:
        raise ConfigError(
            f"option {option.name!r} is not declared by whole, wholes, choice or words"
        )
    return kind
