"""Finds rulesheets by path, or by name among the games that come with the package."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ggp.errors import ConfigError
from ggp.gdl.nearest import MAX_NAMES, unknown
from ggp.gdl.source import Rulesheet

LONG_GAMES = frozenset({"dark_chess", "kriegspiel", "kriegspiel_5x5"})
"""Games whose matches have hundreds of joint moves: too long for code that loops over all games."""

_SUFFIXES = (".gdl", ".kif")
_MAX_MB = 10

_piped: dict[Path, bytes] = {}
"""The contents of pipes, which can be read only once."""


def find_game(name_or_path: str) -> Path:
    """The path of a rulesheet, given as a path or as the name of a game.

    >>> find_game("exploding_bomb").name
    'exploding_bomb.gdl'

    Raises:
        ConfigError: no such file or game exists; the message lists the games, unless a path was
            given.
    """
    if os.path.isfile(name_or_path):
        return Path(name_or_path)
    games = _games()
    if name_or_path in games:
        return games[name_or_path]
    if os.path.lexists(name_or_path):
        return Path(name_or_path)
    bundled = (
        f"games that come with ggp: {', '.join(games) or 'none'}; or give the path of a rulesheet"
    )
    is_path = name_or_path.endswith(_SUFFIXES)
    hint = "there is no such file; `ggp games` lists the bundled games" if is_path else bundled
    raise ConfigError(unknown("game", name_or_path, (*games, *_neighbours(name_or_path)), hint))


def title_of(game: str) -> str:
    """The name of a game in titles: of a path the file's name, without its suffix.

    >>> title_of("kuhn_poker"), title_of("sheets/my_game.gdl"), title_of("poker(players=3)")
    ('kuhn_poker', 'my_game', 'poker(players=3)')
    """
    return game if "(" in game else Path(game).stem or game


def find_companion(name_or_path: str, suffix: str) -> Path:
    """The file at a path, or a file that comes with the games, by its name without the suffix.

    Raises:
        ConfigError: neither exists.
    """
    if os.path.isfile(name_or_path):
        return Path(name_or_path)
    for folder in _folders():
        if (folder / f"{name_or_path}{suffix}").is_file():
            return folder / f"{name_or_path}{suffix}"
    raise ConfigError(f"there is no file {name_or_path!r}, and none of that name comes with ggp")


def comes_with_games(name: str, suffix: str) -> bool:
    """Whether a name refers to a file that comes with the games, rather than to a path."""
    is_plain = os.path.basename(name) == name and not os.path.lexists(name)
    return is_plain and any(os.path.isfile(folder / f"{name}{suffix}") for folder in _folders())


def game_that_comes(name: str) -> Path | None:
    """The path of a game that comes with the package; None if there is no such game."""
    return _games().get(name)


def list_games() -> list[str]:
    """The names of the games that come with the package, sorted."""
    return list(_games())


def read_rulesheet(name_or_path: str) -> Rulesheet:
    """Parse the rulesheet at a path, or that of a game of this name.

    Raises:
        ConfigError: there is no such file, it cannot be read, or it is larger than 10 MB.
        GDLSyntaxError: it is not GDL.
    """
    from ggp.gdl.syntax.parser import parse  # with lark, which servers do not need

    path = find_game(name_or_path)
    return parse(read_file(path), str(path))


def read_file(path: Path) -> bytes:
    """The bytes of a game's file; those of a pipe, such as /dev/stdin, are kept for later reading.

    Raises:
        ConfigError: it cannot be read or is larger than 10 MB.
    """
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; give the path of a rulesheet in it")
    limit = _MAX_MB * 1024 * 1024
    data = _piped.get(path)
    if data is None:
        try:
            with path.open("rb") as file:
                data = file.read(limit + 1)
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    _piped[path] = data
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > limit:
        raise ConfigError(f"{path} is larger than {_MAX_MB} MB, so it is not a rulesheet")
    return data


def _neighbours(path: str) -> Iterator[str]:
    """Yield the paths of rulesheets in the folder of a path."""
    folder = os.path.dirname(path)
    try:
        with os.scandir(folder or ".") as entries:
            for entry in islice(entries, MAX_NAMES):
                if entry.name.endswith(_SUFFIXES):
                    yield os.path.join(folder, entry.name)
    except (OSError, ValueError):
        return


def _games() -> dict[str, Path]:
    """Name and path of each game, sorted by name."""
    for folder in _folders():
        if folder.is_dir():
            paths = (path for path in folder.iterdir() if path.suffix in _SUFFIXES)
            return {path.stem: path for path in sorted(paths)}
    return {}


def _folders() -> tuple[Path, Path]:
    """The folders that may hold the games."""
    package = Path(__file__).resolve().parents[1]
    # A wheel carries the games inside the package, a checkout has them beside it.
    return package / "_games", package.parent / "games"
