"""Tournaments: series described in TOML files, with standings and ratings.

`read_tournament` turns a file into a `Series`; `summarize` turns the stored matches of any series
into standings, which `match-runner tournament` and the table's lobby show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

from openskill.models import PlackettLuce, PlackettLuceRating
from rich.console import RenderableType
from rich.text import Text

from ggp import given
from ggp.errors import ConfigError
from ggp.gdl.games import list_games
from ggp.machine.games import backends, is_named, load_program
from ggp.protocol.messages import MAX_CLOCK_S, Dialect
from ggp.report import Report, Table
from ggp.run.clocks import Clock
from ggp.run.whole_files import read_toml
from ggp.statistics import LEVEL, Interval, methods_text
from match_runner.match.conditions import MAX_PAUSE_S, ConditionOptions
from match_runner.match.records import clock_text
from match_runner.match.views import plain
from match_runner.remote.remote_players import check_clocks, is_address
from match_runner.remote.wire import SERVERS, Replacement
from match_runner.series.course import WithCourse
from match_runner.series.holding import Snapshot
from match_runner.series.outcomes import (
    ContestCounts,
    Played,
    Round,
    contests_by_round,
    contests_of,
    fault_counts,
    rounds_of,
    scores_of,
    tally_of,
)
from match_runner.series.plan import Series, SeriesGame, check_player, check_series, resampling_seed


@dataclass(frozen=True, slots=True)
class Standing:
    """Standing of one player.

    Attributes:
        player: its name.
        plays: its spec or address.
        matches: number of its matches.
        score: mean goal value over the rounds of all games.
        tally: counts of its contests.
        rating: None if it met no other player.
        by_game: mean goal value in each of its games.
        faults: number of its faults, by kind.
    """

    player: str
    plays: str
    matches: int
    score: Interval
    tally: ContestCounts
    rating: Rating | None
    by_game: Mapping[str, Interval]
    faults: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """The standing as JSON values."""
        fields = asdict(self)
        return {**fields, **fields.pop("tally")}


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a match.

    Attributes:
        game, number: name of the game, and number of the match in it.
        player: the player at fault; None if the game was at fault.
        text: the error, on one line.
    """

    game: str
    number: int
    player: str | None
    text: str


@dataclass(frozen=True, slots=True)
class GameSummary:
    """Conditions of a game's matches.

    Attributes:
        game: its name.
        backend: backend of its machines; None before the first match.
        play_clock: seconds for each decision; None where the players' counts limited it.
        clock: the clock that counts these seconds.
    """

    game: str
    backend: str | None
    play_clock: float | None
    clock: Clock


@dataclass(frozen=True, slots=True, repr=False)
class TournamentSummary(WithCourse):
    """The report on a tournament.

    Attributes:
        seed: seed of the whole tournament.
        games: in the order of the file.
        planned, played: numbers of matches.
        moves: number of joint moves in all of them.
        standings: best first.
        problems: in the order of the matches.
        snapshot: the matches.
    """

    seed: int
    games: tuple[GameSummary, ...]
    planned: int
    played: int
    moves: int
    standings: tuple[Standing, ...]
    problems: tuple[Problem, ...]
    snapshot: Snapshot = field(compare=False)

    def to_json(self) -> dict[str, Any]:
        """The JSON that `match-runner tournament --json` prints."""
        return {
            "seed": self.seed,
            "games": [asdict(game) for game in self.games],
            "planned": self.planned,
            "played": self.played,
            "moves": self.moves,
            "standings": [standing.to_json() for standing in self.standings],
            "problems": [asdict(problem) for problem in self.problems],
        }

    def report(self) -> Report:
        """The tournament, as `match-runner tournament` shows it."""
        return Report(self.to_json(), _parts(self))


def summarize(snapshot: Snapshot) -> TournamentSummary:
    """Sum up the matches so far."""
    series, matches = snapshot.series, snapshot.matches
    players = range(len(series.names))
    rounds = rounds_of(matches)
    ratings = rate(players, contests_of(rounds, len(players)))
    standings = [_standing(snapshot, player, rounds, ratings[player]) for player in players]
    backends = {match.planned.game: match.record.backend for match in matches}
    return TournamentSummary(
        seed=series.seed,
        games=tuple(
            GameSummary(
                game.name,
                backends.get(game.name),
                game.conditions.play_clock_s,
                game.conditions.clock,
            )
            for game in series.games
        ),
        planned=snapshot.planned,
        played=len(matches),
        moves=sum(len(match.record.turns) for match in matches),
        standings=tuple(sorted(standings, key=_rank)),
        problems=tuple(problem for match in matches for problem in _problems(series, match)),
        snapshot=snapshot,
    )


def _standing(snapshot: Snapshot, player: int, rounds: Sequence[Round], rating: Rating) -> Standing:
    series, matches = snapshot.series, snapshot.matches
    name = series.names[player]
    contests = contests_by_round(rounds, len(series.names))
    return Standing(
        player=name,
        plays=series.players[name],
        matches=sum(player in match.planned.seating.values() for match in matches),
        score=_score(snapshot, player, rounds, series.goal_bounds),
        tally=tally_of(contests, player, resampling_seed(series), fixed=snapshot.fixed),
        rating=rating if rating.contests else None,
        by_game={
            game.name: _score(
                snapshot,
                player,
                [round_ for round_ in rounds if round_[0].planned.game == game.name],
                game.goal_bounds,
            )
            for game in series.games
        },
        faults=dict(fault_counts(matches, player)),
    )


def _score(
    snapshot: Snapshot, player: int, rounds: Sequence[Round], bounds: tuple[float, float] | None
) -> Interval:
    values = [s[player] for s in map(scores_of, rounds) if player in s]
    return snapshot.mean(values, bounds)


def _rank(standing: Standing) -> tuple[float, float]:
    """Sort key, best first: the lower end of the rating, then the score."""
    rated = standing.rating.low if standing.rating else 0.0
    return -rated, -(standing.score.value or 0.0)


def _problems(series: Series, match: Played) -> Iterator[Problem]:
    planned, record = match.planned, match.record
    for fault in record.faults:
        player = planned.seating.get(fault.role)
        name = record.players[fault.role] if player is None else series.names[player]
        yield Problem(planned.game, planned.number, name, str(fault))
    if record.failed:
        yield Problem(planned.game, planned.number, None, record.errors[-1])


# ------------------------------------------------------------------------
# Ratings of players by openskill: the Plackett-Luce model of Weng and Lin (JMLR 12, 2011).

_DEVIATIONS = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Half-width of a 99 % interval of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Rating:
    """Rating of a player: the belief about its strength, at first 25 with deviation 25 / 3.

        >>> ratings = rate([0, 1], [{0: 100.0, 1: 0.0}] * 3)
        >>> {player: round(rating.mean, 1) for player, rating in ratings.items()}
        {0: 31.2, 1: 18.8}

    Attributes:
        mean, deviation: parameters of the belief, a normal distribution.
        contests: number of contests behind it.
    """

    mean: float
    deviation: float
    contests: int

    @property
    def low(self) -> float:
        """Lower end of the 99 % interval, by which players are ranked."""
        return self.mean - _DEVIATIONS * self.deviation

    @property
    def high(self) -> float:
        """Upper end of the 99 % interval."""
        return self.mean + _DEVIATIONS * self.deviation


def rate(players: Sequence[int], contests: Iterable[Mapping[int, float]]) -> dict[int, Rating]:
    """Rating of each player after some contests.

    Args:
        contests: scores of the players in each contest. The order of contests matters a little, so
            it must not depend on when matches ended.
    """
    model = PlackettLuce()
    ratings: dict[int, PlackettLuceRating] = {player: model.rating() for player in players}
    counts = dict.fromkeys(players, 0)
    for scores in contests:
        if len(scores) < 2:
            continue
        order = sorted(scores)
        teams = model.rate(
            [[ratings[player]] for player in order], scores=[scores[player] for player in order]
        )
        for player, (rating,) in zip(order, teams, strict=True):
            ratings[player] = rating
            counts[player] += 1
    return {
        player: Rating(rating.mu, rating.sigma, counts[player])
        for player, rating in ratings.items()
    }


# ------------------------------------------------------------------------
# Tables that show a tournament.

MAX_PROBLEMS = 10
"""Most problems that we show; `--json` has all."""


def _parts(summary: TournamentSummary) -> Iterator[RenderableType]:
    """Yield the tables of a tournament, which may be unfinished."""
    standings, series = summary.standings, summary.snapshot.series
    of_planned = "" if summary.played == summary.planned else f" of {summary.planned}"
    yield Text(
        f"{summary.played}{of_planned} matches, {summary.moves} turns, seed {summary.seed}",
        style="bold",
    )
    yield Table(
        ("player", "#rating [99 %]", "#mean score [99 %]", "#matches"),
        [(row.player, rating_text(row.rating), row.score, row.matches) for row in standings],
    )
    yield ""
    yield Table(
        ("player", "#won", "#drawn", "#lost", ("#% won [99 %]", ".1f"), "faults", "plays"),
        [
            (
                *(row.player, row.tally.wins, row.tally.draws, row.tally.losses),
                *(row.tally.win_share.percent, faults_text(row.faults), row.plays),
            )
            for row in standings
        ],
    )
    yield ""
    yield Table(
        ("mean score in", *(f"#{row.player}" for row in standings), "on", "by"),
        [
            (
                *(series.title(game.game), *(row.by_game[game.game] for row in standings)),
                *(game.backend, clock_text(game.play_clock, game.clock)),
            )
            for game in summary.games
        ],
    )
    yield ""
    yield from methods_text(row.score for row in standings)
    if summary.problems:
        yield Text(f"faults and errors ({len(summary.problems)}):", style="red")
    for problem in summary.problems[:MAX_PROBLEMS]:
        player = "" if problem.player is None else f", {problem.player}"
        yield plain(f"  {series.title(problem.game)} {problem.number}{player}: {problem.text}")
    if len(summary.problems) > MAX_PROBLEMS:
        yield f"  and {len(summary.problems) - MAX_PROBLEMS} more; see --json"


def faults_text(faults: Mapping[str, int]) -> str:
    """Counts of faults as `2 late, 1 illegal`, or `none`."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items())) or "none"


def rating_text(rating: Rating | None) -> str:
    """A rating as `27.3 [20.1, 34.5]`, or `-` for none."""
    if rating is None:
        return "-"
    return f"{rating.mean:.1f} [{rating.low:.1f}, {rating.high:.1f}]"


# ------------------------------------------------------------------------
# Reads a tournament: a series described in TOML.

MAX_ROUNDS = 100_000


def read_tournament(path: Path) -> Series:
    """Read the tournament in a TOML file; paths of games in it are relative to the file.

    Raises:
        ConfigError: the file cannot be read, or is not a tournament; says what is wrong and where.
        GDLError: a game cannot be used.
    """
    data = read_toml(path)
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
    options = [str(name) for name in names]
    return _Setting(f"one of {', '.join(options)}", lambda value: value in options)


_FLAG = _Setting("true or false", lambda v: isinstance(v, bool))
_LENGTH = _Setting("a whole number above 0", lambda v: _is_whole(v) and 1 <= v <= MAX_ROUNDS)

_SETTINGS: Mapping[str, _Setting] = {
    "matches": _LENGTH,
    "rounds": _LENGTH,
    "start_clock": _Setting(
        "a whole number of seconds", lambda v: _is_whole(v) and 0 <= v <= MAX_CLOCK_S
    ),
    "play_clock": _Setting(
        "a number of seconds above 0", lambda v: _is_number(v) and 0 < v <= MAX_CLOCK_S
    ),
    "clock": _one_of(Clock),
    "ponder": _FLAG,
    "dialect": _one_of(Dialect),
    "server": _one_of(SERVERS),
    "scramble": _FLAG,
    "replacement": _one_of(Replacement),
    "pause": _Setting(
        f"a number of seconds up to {MAX_PAUSE_S}",
        lambda v: _is_number(v) and 0 <= v <= MAX_PAUSE_S,
    ),
}
"""Settings of the whole tournament and of single games, with their requirements."""

_LENGTHS = ("matches", "rounds")
"""Settings of which one says how long the series of a game is."""

_FIELDS = {"play_clock": "play_clock_s", "start_clock": "start_clock_s", "pause": "pause_s"}
"""Fields of `ConditionOptions` that have other names than their settings."""

_GENERAL = {
    "roles": _one_of(("rotate", "fixed")),
    "equal_states": _FLAG,
    "seed": _Setting("a whole number", lambda v: _is_whole(v)),
}
"""Other settings of the whole tournament, with their requirements."""


def _tournament(data: Mapping[str, Any], folder: Path) -> Series:
    _check_keys(data, ("players", "games", *_GENERAL, "backend", *_SETTINGS), "")
    players = _texts(data.get("players"), "players")
    if not players:
        raise ConfigError('players must be a table such as [players] with a line ours = "random"')
    for key, setting in _GENERAL.items():
        if key in data and not setting.fits(data[key]):
            raise ConfigError(f"{key} must be {setting.text}")
    backend = data.get("backend", "auto")
    if not isinstance(backend, str) or backend not in backends():
        raise ConfigError(f"unknown backend {backend!r}; backends: {', '.join(backends())}")
    rotate = data.get("roles", "rotate") == "rotate"
    games = data.get("games")
    if not isinstance(games, list) or not games:
        raise ConfigError('games must be a list such as ["monty_hall", "kuhn_poker"]')
    general = {name: data[name] for name in _SETTINGS if name in data}
    size = len(players) if rotate else 1
    series = Series(
        players=players,
        games=tuple(_game(game, general, folder, players, size) for game in games),
        rotate=rotate,
        equal_states=data.get("equal_states", False),
        seed=data.get("seed", 0),
        backend=backend,
    )
    check_series(series)
    return series


def _texts(data: object, table: str) -> dict[str, str]:
    """A table of players by name or role; empty if there is no such table."""
    if not isinstance(data, dict):
        return {}
    for name, text in data.items():
        if not isinstance(text, str):
            raise ConfigError(f"{table}.{name} must be a player's spec or address in quotes")
        check_player(text, f"{table}.{name}: ")
    return {name: text.strip() for name, text in data.items()}


def _game(
    data: object, general: Mapping[str, Any], folder: Path, players: Mapping[str, str], size: int
) -> SeriesGame:
    """A game with its own settings, or those of all; a round has `size` matches."""
    table: Mapping[str, Any] = data if isinstance(data, dict) else {"game": data}
    name = table.get("game")
    if not isinstance(name, str):
        raise ConfigError('a game must be a name or path, or a table such as { game = "meier" }')
    _check_keys(table, ("game", "fixed", *_SETTINGS), f" of the game {name}")
    is_known = is_named(name) or name in list_games()
    program = load_program(name if is_known else str(folder / name))
    settings = {**general, **table}
    length = table if any(key in table for key in _LENGTHS) else general
    try:
        for key, setting in _SETTINGS.items():
            if key in settings and not setting.fits(settings[key]):
                raise ConfigError(f"{key} must be {setting.text}")
        fixed = _texts(table.get("fixed", {}), "fixed")
        has_remote = any(map(is_address, (*players.values(), *fixed.values())))
        conditions_given = [key for key in settings if key in _SETTINGS and key not in _LENGTHS]
        fields = {_FIELDS.get(key, key): settings[key] for key in conditions_given}
        rounds = given.rounds_of(length.get("matches"), length.get("rounds"), size, usual=1)
        options = ConditionOptions(**fields)
        conditions = options.of_match(has_remote=has_remote, patient=True)
        if has_remote:
            _check_clock(conditions.play_clock_s)
    except ConfigError as error:
        raise ConfigError(f"{error} (game {name})") from error
    return SeriesGame(name, program, rounds, conditions, fixed)


def _check_clock(play_clock_s: float | None) -> None:
    """Refuse a clock that does not suit remote players, by the file's name of the setting."""
    try:
        check_clocks(play_clock_s)
    except ConfigError:
        raise ConfigError(
            "play_clock must be a whole number of seconds where players are remote"
        ) from None


def _check_keys(data: Mapping[str, Any], settings: tuple[str, ...], suffix: str) -> None:
    for key in data:
        if key not in settings:
            raise ConfigError(f"unknown setting {key!r}{suffix}; settings: {', '.join(settings)}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
