"""Reads a tournament, which is a series described in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.gdl.games import list_games
from ggp.machine.games import backends, is_named, load_program
from ggp.protocol.messages import MAX_CLOCK_S, Dialect
from ggp.run.clocks import Clock
from match_runner.match.conditions import MAX_PAUSE_S, AskedConditions
from match_runner.remote.post import is_address
from match_runner.remote.remote_players import DEFAULT_START_CLOCK_S, check_clocks
from match_runner.remote.wire import DRESDEN, SERVERS, Replacement
from match_runner.series.plan import Series, SeriesGame, check_player, check_series

MOST_ROUNDS = 100_000


def read_tournament(path: Path) -> Series:
    """Read the tournament in a TOML file; paths of games in it are relative to the file.

    Raises:
        ConfigError: the file cannot be read or holds something else; says what and where.
        GDLError: a game cannot be used.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    try:
        return _tournament(data, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Setting:
    """Requirement on the value of a setting, in words and as a test."""

    text: str
    fits: Callable[[Any], bool]


def _one_of(names: Iterable[str]) -> _Setting:
    known = [str(name) for name in names]
    return _Setting(f"one of {', '.join(known)}", lambda value: value in known)


_SETTINGS: Mapping[str, _Setting] = {
    "rounds": _Setting("a whole number above 0", lambda v: _is_whole(v) and 1 <= v <= MOST_ROUNDS),
    "start_clock": _Setting(
        "a whole number of seconds", lambda v: _is_whole(v) and 0 <= v <= MAX_CLOCK_S
    ),
    "play_clock": _Setting(
        "a number of seconds above 0", lambda v: _is_number(v) and 0 < v <= MAX_CLOCK_S
    ),
    "clock": _one_of(Clock),
    "ponder": _Setting("true or false", lambda v: isinstance(v, bool)),
    "dialect": _one_of(Dialect),
    "server": _one_of(SERVERS),
    "scramble": _Setting("true or false", lambda v: isinstance(v, bool)),
    "replacement": _one_of(Replacement),
    "pause": _Setting(
        f"a number of seconds up to {MAX_PAUSE_S}",
        lambda v: _is_number(v) and 0 <= v <= MAX_PAUSE_S,
    ),
}
"""Settings of the whole tournament and of single games, with their requirements."""

_GENERAL = ("players", "games", "roles", "equal_states", "seed", "backend")


def _tournament(data: Mapping[str, Any], folder: Path) -> Series:
    _check_keys(data, (*_GENERAL, *_SETTINGS), "")
    players = _texts(data.get("players"), "players")
    if not players:
        raise ConfigError('players must be a table such as [players] with a line ours = "random"')
    seed = data.get("seed", 0)
    if not _is_whole(seed):
        raise ConfigError("seed must be a whole number")
    backend = data.get("backend", "auto")
    if not isinstance(backend, str) or backend not in backends():
        raise ConfigError(f"unknown backend {backend!r}; backends: {', '.join(backends())}")
    roles = data.get("roles", "rotate")
    if roles not in ("rotate", "fixed"):
        raise ConfigError("roles must be one of rotate, fixed")
    equal_states = data.get("equal_states", False)
    if not isinstance(equal_states, bool):
        raise ConfigError("equal_states must be true or false")
    games = data.get("games")
    if not isinstance(games, list) or not games:
        raise ConfigError('games must be a list such as ["monty_hall", "kuhn_poker"]')
    general = {name: data[name] for name in _SETTINGS if name in data}
    series = Series(
        players=players,
        games=tuple(_game(game, general, folder, players) for game in games),
        rotate=roles == "rotate",
        equal_states=equal_states,
        seed=seed,
        backend=backend,
    )
    check_series(series)
    return series


def _texts(data: object, where: str) -> dict[str, str]:
    """A table of players by name or role; empty if there is no such table."""
    if not isinstance(data, dict):
        return {}
    for name, text in data.items():
        if not isinstance(text, str):
            raise ConfigError(f"{where}.{name} must be a player's spec or address in quotes")
        check_player(text, f"{where}.{name}: ")
    return {name: text.strip() for name, text in data.items()}


def _game(
    data: object, general: Mapping[str, Any], folder: Path, players: Mapping[str, str]
) -> SeriesGame:
    own: Mapping[str, Any] = data if isinstance(data, dict) else {"game": data}
    name = own.get("game")
    if not isinstance(name, str):
        raise ConfigError('a game must be a name or path, or a table such as { game = "meier" }')
    _check_keys(own, ("game", "fixed", *_SETTINGS), f" of the game {name}")
    is_known = is_named(name) or name in list_games()
    program = load_program(name if is_known else str(folder / name))
    settings = {**general, **own}
    try:
        for key, setting in _SETTINGS.items():
            if key in settings and not setting.fits(settings[key]):
                raise ConfigError(f"{key} must be {setting.text}")
        fixed = _texts(own.get("fixed", {}), "fixed")
        has_remote = any(map(is_address, (*players.values(), *fixed.values())))
        asked = AskedConditions(
            play_clock_s=settings.get("play_clock"),
            clock=Clock(settings.get("clock", Clock.WALL)),
            ponder=settings.get("ponder", False),
            start_clock_s=settings.get("start_clock", DEFAULT_START_CLOCK_S),
            dialect=settings.get("dialect"),
            server=settings.get("server", DRESDEN.name),
            scramble=settings.get("scramble", False),
            replacement=settings.get("replacement"),
            pause_s=float(settings.get("pause", 0)),
        )
        conditions = asked.of_match(has_remote=has_remote, patient=True)
        if has_remote:
            _check_clock(conditions.play_clock_s)
    except ConfigError as error:
        raise ConfigError(f"{error} (game {name})") from error
    return SeriesGame(name, program, settings.get("rounds", 1), conditions, fixed)


def _check_clock(play_clock_s: float | None) -> None:
    """Refuse a clock that does not suit remote players, with the file's name for the setting."""
    try:
        check_clocks(play_clock_s)
    except ConfigError:
        raise ConfigError(
            "play_clock must be a whole number of seconds where players are remote"
        ) from None


def _check_keys(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise ConfigError(f"unknown setting {key!r}{where}; settings: {', '.join(known)}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
