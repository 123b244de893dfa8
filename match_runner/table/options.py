"""Options of a table and checks of requests: games and players that pages may name, hosts, limits.

Visitors with the table's link may play, but they have fewer rights than the user who started it. A
page may name the games of this package, the game that the table was started with, and rulesheets
below one folder; people paste other rules. It may name the players of this package, with options
that name no file, and the players that the command line offers. The user's modules, files and
addresses can be named only on the command line.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ggp.errors import ConfigError
from ggp.gdl.games import find_game, game_that_comes, list_games
from ggp.gdl.nearest import unknown
from ggp.gdl.source import Source
from ggp.machine.games import is_named, prefix_of
from ggp.players import PLAYERS, parse_spec
from ggp.protocol.messages import MAX_CLOCK_S, MessageLimits, too_deep_at
from match_runner.match.conditions import MAX_PAUSE_S
from match_runner.match.seats import HUMAN
from match_runner.pictures.side_file import side_file_of
from match_runner.remote.remote_players import is_address
from match_runner.series.plan import check_player
from match_runner.table.match_folder import MatchSetup

MAX_GAMES = 500
"""Number of rulesheets after which no more folders are searched."""

_MAX_LOOKED_AT = 20_000
_SUFFIXES = (".gdl", ".kif")
_NAME = re.compile(r"[A-Za-z][\w.-]{0,40}")


@dataclass(frozen=True, slots=True)
class Offers:
    """Games and players that a page may name.

    Attributes:
        game: name or path of the game that the table was started with, or None.
        games: a folder of rulesheets, or None.
        players: specs and addresses, by the names under which pages know them.
    """

    game: str | None = None
    games: Path | None = None
    players: Mapping[str, str] = field(default_factory=dict)

    def game_names(self) -> list[str]:
        """Names of all games that a page may name, the table's own game first."""
        names = [*sorted(self._listed()), *list_games()]
        if self.game is None:
            return names
        return [self.game, *(name for name in names if name != self.game)]

    def rules_of(self, game: str, rules: str | None) -> tuple[str, Path | None]:
        """The text of a rulesheet, and the file beside it that says how to draw it.

        Args:
            game: one of `game_names`, unless there is a text.
            rules: the pasted text, or None.

        Raises:
            ConfigError: there is no such game, or it cannot be read.
        """
        text = game if rules is None else rules
        if is_named(text):
            if text != self.game:  # some such games read files that their parameters name
                raise ConfigError(
                    "such a game must be named on the command line: "
                    f"`match-runner table {prefix_of(text)}NAME`"
                )
            return text, None
        if rules is not None:
            return rules, None
        if game == self.game:
            path = find_game(game)
        else:
            path = game_that_comes(game) or self._below(game) or self._unknown(game)
        side_file = side_file_of(path)
        if path == self._below(game) and not self._has(side_file):
            side_file = None
        return _read(path), side_file

    def spec_of(self, player: str) -> str:
        """The spec or address of a player that a page names.

        Raises:
            ConfigError: a page may not name it, or its options are wrong.
        """
        if player in self.players:
            return self.players[player]
        if is_address(player):
            raise ConfigError(
                f"{player!r} is the address of a remote player, which must be offered on the "
                "command line: `match-runner table --offer NAME=http://HOST:PORT`"
            )
        name = player.partition(":")[0]
        if name not in PLAYERS:
            names = (*PLAYERS, *self.players)
            hint = "offer other players on the command line: --offer NAME=SPEC"
            raise ConfigError(
                unknown("player", name, names, f"players: {', '.join(names)}; {hint}")
            )
        return parse_spec(player, trusted=False).text

    def _unknown(self, game: str) -> NoReturn:
        if os.sep in game:
            raise ConfigError(
                "only games that come with ggp or are below --games have names here; paste the "
                "rules"
            )
        names = self.game_names()
        raise ConfigError(unknown("game", game, names, "paste the rules of other games"))

    def _listed(self) -> Iterator[str]:
        """Yield the names of the rulesheets in the folder."""
        if self.games is None:
            return
        num_examined = num_found = 0
        for folder, folders, files in os.walk(self.games):  # which follows no links
            folders.sort()
            for file in sorted(files):
                name = Path(folder, file).relative_to(self.games).as_posix()
                if self._below(name) is not None:
                    yield name
                    num_found += 1
            num_examined += len(files) + 1
            if num_found >= MAX_GAMES or num_examined >= _MAX_LOOKED_AT:
                return

    def _below(self, name: str) -> Path | None:
        """Path of a rulesheet in the folder; neither dots nor links lead out of it."""
        if self.games is None or any(part[:1] in ("", ".") for part in name.split("/")):
            return None
        path = self.games / name
        is_named = path.suffix in _SUFFIXES and name.isprintable() and os.path.isfile(path)
        return path if is_named and self._has(path) else None

    def _has(self, path: Path | None) -> bool:
        """Whether a file is really in the folder, not just linked from there."""
        if path is None or self.games is None:
            return False
        return path.resolve().is_relative_to(self.games.resolve())


def read_offers(texts: Iterable[str]) -> dict[str, str]:
    """Read players from texts `NAME=SPEC`, as in `Offers.players`.

    Raises:
        ConfigError: a text is malformed, a name is taken or given twice, or there is no such
            player.
    """
    offers: dict[str, str] = {}
    for text in texts:
        name, equals, spec = (part.strip() for part in text.partition("="))
        if not equals or _NAME.fullmatch(name) is None:
            raise ConfigError(
                f"--offer {text!r} must be NAME=SPEC, for example mine=my_module:Mine"
            )
        if name in PLAYERS or name == HUMAN:
            raise ConfigError(f"--offer {text!r}: {name} is already the name of a player")
        if name in offers:
            raise ConfigError(f"--offer: the name {name} is given twice")
        check_player(spec, f"--offer {name}: ")
        offers[name] = spec
    return offers


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_RULES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    if len(text) > MAX_RULES:
        raise ConfigError(f"{path} is longer than {MAX_RULES:,} characters, too long for rules")
    return text


# ------------------------------------------------------------------------
# Options of a table.

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Names by which this machine may call itself in a Host header."""


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names by which requests may reach the server.

    Attributes:
        hosts: other names of this machine, besides `NAMES` and the address of the connection.
        origin: origin of the table in browsers if it is behind a reverse proxy, such as
            `https://table.example`; empty without one.
    """

    hosts: tuple[str, ...] = ()
    origin: str = ""

    def has(self, host: str, server: tuple[str, int]) -> bool:
        """Whether a Host header names this server."""
        address, port = server
        this_host = f"[{address}]" if ":" in address else address
        names = [f"{name.lower()}:{port}" for name in (*NAMES, this_host, *self.hosts)]
        return host in names or (self.origin != "" and host == self.origin.partition("://")[2])


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits on requests of browsers.

    Attributes:
        body_bytes: most bytes of the body of a request.
        header_bytes: most bytes of the header of a request, its first line included.
        request_s: most seconds from the connection to the last byte of the body.
        connections: most connections at a time.
    """

    body_bytes: int = 4 << 20
    header_bytes: int = 16 << 10
    request_s: float = 20.0
    connections: int = 128


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of a table.

    Attributes:
        folder: folder for matches.
        offers: games and players that pages may name.
        has_token: whether visitors need the table's link.
        names: names by which requests may reach the server.
        jobs: number of matches without people to play in parallel.
        open_minds: whether everybody may look into every mind at any time.
        limits: limits on requests.
        compiles_ahead: whether to compile the players' machine code when the table opens, if need
            be, so that the first match does not wait for it.
        logs: another folder of logs of `ggp serve` to show.
    """

    folder: Path
    offers: Offers = field(default_factory=Offers)
    has_token: bool = True
    names: AllowedHosts = field(default_factory=AllowedHosts)
    jobs: int = 1
    open_minds: bool = False
    compiles_ahead: bool = False
    limits: RequestLimits = field(default_factory=RequestLimits)
    logs: Path | None = None


# ------------------------------------------------------------------------
# Checks requests of browsers: every error is a `ConfigError` with one line of text.

MAX_MATCHES = 100
"""Most matches in one request."""

MAX_RULES, MAX_TEXT = 2_000_000, 500
"""Most characters of a rulesheet, and of any other text."""

MAX_SEED = 2**48


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """A request for matches.

    Attributes:
        game: name of a game, or a name for the rules.
        rules: text of the rules; None for the rules of that game.
        players: `human`, or a player that pages may name (see `Offers`), by role.
        play_clock_s: play clock of players that are not people; None without one.
        human_clock_s: play clock of people; None without one.
        pause_s: wait before each turn.
        seed: seed of the first match; each later match adds 1.
        matches: number of matches.
    """

    game: str
    rules: str | None
    players: Mapping[str, str]
    play_clock_s: float | None
    human_clock_s: float | None
    pause_s: float
    seed: int
    matches: int


def read_match(data: object) -> MatchRequest:
    """Read a request for matches from JSON.

    Raises:
        ConfigError: a field is missing or wrong.
    """
    fields = fields_of(data)
    players = fields.get("players")
    if not isinstance(players, dict) or not players:
        raise ConfigError("players must be an object with a player for every role")
    seats = {_text(role, "a role"): _text(player, "a player") for role, player in players.items()}
    matches = _whole(fields.get("matches", 1), "matches", 1, MAX_MATCHES)
    if HUMAN in seats.values() and matches > 1:
        raise ConfigError("people play one match at a time")
    rules = fields.get("rules")
    return MatchRequest(
        game=_text(fields.get("game"), "game"),
        rules=None if rules is None else rules_text(rules),
        players=seats,
        play_clock_s=_seconds(fields.get("play_clock_s"), "play_clock_s", MAX_CLOCK_S),
        human_clock_s=_seconds(fields.get("human_clock_s"), "human_clock_s", MAX_CLOCK_S),
        pause_s=_seconds(fields.get("pause_s"), "pause_s", MAX_PAUSE_S) or 0.0,
        seed=_whole(fields.get("seed", 0), "seed", 0, MAX_SEED),
        matches=matches,
    )


def read_again(data: object, setup: MatchSetup) -> MatchRequest:
    """Read a request to play a match again, perhaps with other players or another clock.

    Raises:
        ConfigError: a field is missing or wrong.
    """
    fields = fields_of(data)
    request = {
        "game": setup.game,
        "players": fields.get("players"),
        "play_clock_s": fields.get("play_clock_s"),
        "human_clock_s": setup.human_clock_s,
        "pause_s": setup.pause_s,
        "seed": secrets.randbelow(MAX_SEED),
    }
    return read_match(request)


def read_player(data: object) -> str:
    """Read a player that somebody typed."""
    return _text(fields_of(data).get("player"), "player")


def read_move(data: object) -> tuple[int, str]:
    """Read the turn and the move that a person sends."""
    fields = fields_of(data)
    move = fields.get("move")
    if not isinstance(move, str):
        raise ConfigError("move must be a string")
    return _whole(fields.get("turn"), "turn", 0, MAX_SEED), move


def rules_text(value: object) -> str:
    """Read the text of a rulesheet, without a check of its rules."""
    if not isinstance(value, str) or len(value) > MAX_RULES:
        raise ConfigError(f"rules must be a string of at most {MAX_RULES:,} characters")
    offset = too_deep_at(value, MessageLimits().depth)
    if offset is not None:
        line, column = Source("rules", value).position(offset)
        raise ConfigError(
            f"rules:{line}:{column}: lists nest deeper than the limit of "
            f"{MessageLimits().depth} levels; close the parentheses before it"
        )
    return value


def fields_of(data: object) -> dict[str, Any]:
    """Read a JSON object."""
    if not isinstance(data, dict):
        raise ConfigError("the body must be a JSON object")
    return data


def number_of(text: str, name: str) -> int:
    """Read a whole number in a query."""
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise ConfigError(f"{name} must be a whole number")
    return int(text)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT:
        raise ConfigError(f"{name} must be a text of 1 to {MAX_TEXT} characters")
    return value.strip()


def _whole(value: object, name: str, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}")
    return value


def _seconds(value: object, name: str, most: float) -> float | None:
    """Read a number of seconds; None if it is missing or 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None:
        return None
    if not isinstance(value, int | float) or not is_number or not 0 <= value <= most:
        raise ConfigError(f"{name} must be a number of seconds up to {most:g}")
    return float(value) or None
