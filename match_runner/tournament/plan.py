"""What a tournament consists of: read from TOML, and the matches that follow from it.

Matches are planned game by game as in comparisons: in each round every player plays every role
once, all matches of a round having the same seed. So more rounds can be added later.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.gdl.games import list_games
from ggp.gdl.normalize import load
from ggp.gdl.program import RANDOM, Program
from ggp.machine import BACKENDS
from ggp.players import parse_spec
from ggp.protocol.messages import MAX_CLOCK_S, Dialect
from match_runner.clocks import DRESDEN, SERVERS, Replacement
from match_runner.comparison.plan import Options, PlannedMatch, plan_matches
from match_runner.options import MAX_PAUSE_S, conditions_of
from match_runner.post import is_address, parse_address
from match_runner.referee import Conditions
from match_runner.remote import DEFAULT_START_CLOCK_S, check_clocks
from match_runner.wire import Wire

MOST_ROUNDS = 100_000

FORGET_S = 90.0
"""Players forget matches that are silent for twice their clocks and a minute."""


@dataclass(frozen=True, slots=True)
class GamePlan:
    """One game of a tournament.

    Attributes:
        name: as it was given; no two games have the same.
        path: what `load` takes.
        digest: of its program.
        roles: all of it.
        rounds: in each of which every player plays every role.
        conditions: of its matches.
    """

    name: str
    path: str
    digest: str
    roles: tuple[str, ...]
    rounds: int
    conditions: Conditions

    @property
    def seats(self) -> tuple[str, ...]:
        """The roles that players play."""
        return tuple(role for role in self.roles if role != RANDOM)


@dataclass(frozen=True, slots=True)
class Tournament:
    """All of a tournament.

    Attributes:
        players: name and spec or address of each, in order.
        games: in order.
        seed: of all matches.
        backend: of the machines.
    """

    players: Mapping[str, str]
    games: tuple[GamePlan, ...]
    seed: int
    backend: str

    @property
    def names(self) -> tuple[str, ...]:
        """The players' names; seatings hold indices into them."""
        return tuple(self.players)

    def planned(self) -> list[tuple[GamePlan, PlannedMatch]]:
        """All matches, round by round through all games; their kind is the game's name."""
        found = [
            (game, PlannedMatch(game.name, match.number, match.round, match.seed, match.seating))
            for game in self.games
            for match in plan_matches(_options(self, game))
        ]
        return sorted(found, key=lambda pair: pair[1].round)  # stable: games keep their order

    def to_json(self) -> dict[str, Any]:
        """What must stay the same when a tournament is continued.

        Addresses may change, as long as the names stay, and rounds may be added.
        """
        return {
            "players": {
                name: "remote" if is_address(text) else text for name, text in self.players.items()
            },
            "games": {game.name: _conditions_json(game) for game in self.games},
            "seed": self.seed,
            "backend": self.backend,
        }


def read_tournament(path: Path) -> Tournament:
    """The tournament in a TOML file; paths of games in it are relative to the file.

    Raises:
        ConfigError: the file cannot be read or holds something else; says what and where.
        GDLError: a game cannot be used.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    try:
        return _tournament(data, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a setting must be, in words and as a test."""

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
    "dialect": _one_of(Dialect),
    "server": _one_of(SERVERS),
    "scramble": _Setting("true or false", lambda v: isinstance(v, bool)),
    "replacement": _one_of(Replacement),
    "pause": _Setting(
        f"a number of seconds up to {MAX_PAUSE_S}",
        lambda v: _is_number(v) and 0 <= v <= MAX_PAUSE_S,
    ),
}
"""What can be set for the whole tournament and for single games."""

_GENERAL = ("players", "games", "seed", "backend")


def _tournament(data: Mapping[str, Any], folder: Path) -> Tournament:
    _check_keys(data, (*_GENERAL, *_SETTINGS), "")
    players = _players(data.get("players"))
    seed = data.get("seed", 0)
    if not _is_whole(seed) or seed < 0:
        raise ConfigError("seed must be a whole number, 0 or more")
    backend = data.get("backend", "auto")
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ConfigError(f"unknown backend {backend!r}; backends: {', '.join(BACKENDS)}")
    games = data.get("games")
    if not isinstance(games, list) or not games:
        raise ConfigError('games must be a list such as ["monty_hall", "kuhn_poker"]')
    general = {name: data[name] for name in _SETTINGS if name in data}
    has_remote = any(map(is_address, players.values()))
    plans = tuple(_game(game, general, folder, has_remote=has_remote) for game in games)
    for plan in plans:
        if [other.name for other in plans].count(plan.name) > 1:
            raise ConfigError(f"the game {plan.name} is given twice")
    return Tournament(players, plans, seed, backend)


def _players(data: object) -> dict[str, str]:
    if not isinstance(data, dict) or not data:
        raise ConfigError('players must be a table such as [players] with a line ours = "random"')
    for name, text in data.items():
        if not isinstance(text, str):
            raise ConfigError(f"players.{name} must be a player's spec or address in quotes")
        try:
            if is_address(text):
                parse_address(text)
            else:
                parse_spec(text)
        except ConfigError as error:
            raise ConfigError(f"players.{name}: {error}") from error
    return {name: text.strip() for name, text in data.items()}


def _game(data: object, general: Mapping[str, Any], folder: Path, *, has_remote: bool) -> GamePlan:
    own: Mapping[str, Any] = data if isinstance(data, dict) else {"game": data}
    name = own.get("game")
    if not isinstance(name, str):
        raise ConfigError('a game must be a name or path, or a table such as { game = "meier" }')
    _check_keys(own, ("game", *_SETTINGS), f" of the game {name}")
    path = name if name in list_games() else str(folder / name)
    program = load(path)
    if not any(role != RANDOM for role in program.roles):
        raise ConfigError(f"{name} has no role for a player")
    settings = {**general, **own}
    try:
        for key, setting in _SETTINGS.items():
            if key in settings and not setting.fits(settings[key]):
                raise ConfigError(f"{key} must be {setting.text}")
        conditions = conditions_of(
            has_remote=has_remote,
            play_clock_s=settings.get("play_clock"),
            start_clock_s=settings.get("start_clock", DEFAULT_START_CLOCK_S),
            dialect=settings.get("dialect"),
            server=settings.get("server", DRESDEN.name),
            scramble=settings.get("scramble", False),
            replacement=settings.get("replacement"),
            pause_s=float(settings.get("pause", 0)),
        )
        if has_remote:
            _check_remote(program, conditions)
            conditions = _patient(conditions)
    except ConfigError as error:
        raise ConfigError(f"{error} (game {name})") from error
    rounds = settings.get("rounds", 1)
    return GamePlan(name, path, program.digest, program.roles, rounds, conditions)


def _check_remote(program: Program, conditions: Conditions) -> None:
    """See before the first match that remote players can be spoken to."""
    try:
        check_clocks(conditions.play_clock_s)
    except ConfigError:
        raise ConfigError(
            "play_clock must be a whole number of seconds where players are remote"
        ) from None
    Wire(program, conditions.remote.server, conditions.remote.dialect)


def _options(tournament: Tournament, game: GamePlan) -> Options:
    """The comparison whose matches are those of one game."""
    return Options(
        game=game.path,
        digest=game.digest,
        roles=game.roles,
        players=tournament.names,
        matches=game.rounds * len(tournament.players),
        seed=tournament.seed,
    )


def _conditions_json(game: GamePlan) -> dict[str, Any]:
    conditions, remote = game.conditions, game.conditions.remote
    return {
        "digest": game.digest,
        "play_clock": conditions.play_clock_s,
        "start_clock": remote.start_clock_s,
        "dialect": None if remote.dialect is None else str(remote.dialect),
        "server": remote.server.name,
        "scramble": remote.scramble,
        "replacement": str(conditions.replacement),
        "pause": conditions.pause_s,
    }


def _check_keys(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise ConfigError(f"unknown setting {key!r}{where}; settings: {', '.join(known)}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _patient(conditions: Conditions) -> Conditions:
    """Waits for players that believe in a match that was broken off, until they forget it."""
    clocks_s = conditions.remote.start_clock_s + (conditions.play_clock_s or 0.0)
    remote = replace(conditions.remote, patience_s=2 * clocks_s + FORGET_S)
    return replace(conditions, remote=remote)
