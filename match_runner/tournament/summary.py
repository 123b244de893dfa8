"""Summary of the stored matches of a tournament."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any

from openskill.models import PlackettLuce, PlackettLuceRating
from rich.console import RenderableType
from rich.text import Text

from ggp.report import Report, Table
from ggp.run.clocks import Clock
from ggp.statistics import LEVEL, Interval, mean_interval, methods_text
from match_runner.match.records import clock_text
from match_runner.match.views import plain
from match_runner.series.course import WithCourse
from match_runner.series.holding import Held
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
from match_runner.series.plan import Series, resampling_seed


@dataclass(frozen=True, slots=True)
class Standing:
    """Standing of one player.

    Attributes:
        player: its name.
        plays: its spec or address.
        matches: number of matches it took part in.
        score: mean goal value over the rounds of all games.
        tally: counts of its contests.
        rating: None if it met no other player.
        by_game: mean goal value in each game it played.
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
        found = asdict(self)
        return {**found, **found.pop("tally")}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that went wrong in a match.

    Attributes:
        game, number: name of the game, and number of the match in it.
        player: whose fault it was; None if something was wrong with the game.
        text: what went wrong, on one line.
    """

    game: str
    number: int
    player: str | None
    text: str


@dataclass(frozen=True, slots=True)
class GameSummary:
    """Conditions under which a game was played.

    Attributes:
        game: its name.
        backend: backend of its machines; None before the first match.
        play_clock: seconds for each decision; None where counts decided.
        clock: the clock that counts these seconds.
    """

    game: str
    backend: str | None
    play_clock: float | None
    clock: Clock


@dataclass(frozen=True, slots=True, repr=False)
class TournamentSummary(WithCourse):
    """Everything that is reported of a tournament.

    Attributes:
        seed: seed of the whole tournament.
        games: in the order of the file.
        planned, played: numbers of matches.
        moves: number of joint moves in all of them.
        standings: best first.
        problems: in the order of the matches.
        held: the matches.
    """

    seed: int
    games: tuple[GameSummary, ...]
    planned: int
    played: int
    moves: int
    standings: tuple[Standing, ...]
    problems: tuple[Problem, ...]
    held: Held = field(compare=False)

    def to_json(self) -> dict[str, Any]:
        """The JSON that `match-runner tournament --json` prints."""
        return {
            "seed": self.seed,
            "games": [asdict(game) for game in self.games],
            "planned": self.planned,
            "played": self.played,
            "moves": self.moves,
            "standings": [each.to_json() for each in self.standings],
            "problems": [asdict(problem) for problem in self.problems],
        }

    def report(self) -> Report:
        """The tournament, as `match-runner tournament` shows it."""
        return Report(self.to_json(), _parts(self))


def summarize(held: Held) -> TournamentSummary:
    """Sum up what has been played so far."""
    series, matches = held.series, held.matches
    players = range(len(series.names))
    rounds = rounds_of(matches)
    ratings = rate(players, contests_of(rounds, len(players)))
    standings = [_standing(held, player, rounds, ratings[player]) for player in players]
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
        planned=held.planned,
        played=len(matches),
        moves=sum(len(match.record.turns) for match in matches),
        standings=tuple(sorted(standings, key=_rank)),
        problems=tuple(problem for match in matches for problem in _problems(series, match)),
        held=held,
    )


def _standing(held: Held, player: int, rounds: Sequence[Round], rating: Rating) -> Standing:
    series, matches = held.series, held.matches
    name = series.names[player]
    contests = contests_by_round(rounds, len(series.names))
    return Standing(
        player=name,
        plays=series.players[name],
        matches=sum(player in match.planned.seating.values() for match in matches),
        score=_score(held, player, rounds, series.goal_bounds),
        tally=tally_of(contests, player, resampling_seed(series), fixed=held.fixed),
        rating=rating if rating.contests else None,
        by_game={
            game.name: _score(
                held,
                player,
                [own for own in rounds if own[0].planned.game == game.name],
                game.goal_bounds,
            )
            for game in series.games
        },
        faults=dict(fault_counts(matches, player)),
    )


def _score(
    held: Held, player: int, rounds: Sequence[Round], bounds: tuple[float, float] | None
) -> Interval:
    values = [s[player] for s in map(scores_of, rounds) if player in s]
    return mean_interval(values, resampling_seed(held.series), bounds, fixed=held.fixed)


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

    Attributes:
        mean, deviation: parameters of the belief, a normal distribution.
        contests: number of contests that it is based on.
    """

    mean: float
    deviation: float
    contests: int

    @property
    def low(self) -> float:
        """Lower end of the 99 % interval; players are ranked by it."""
        return self.mean - _DEVIATIONS * self.deviation

    @property
    def high(self) -> float:
        """Upper end of the 99 % interval."""
        return self.mean + _DEVIATIONS * self.deviation


def rate(players: Sequence[int], contests: Iterable[Mapping[int, float]]) -> dict[int, Rating]:
    """Rating of each player after some contests.

    Args:
        contests: scores of those who took part. Their order matters a little, so it must not
            depend on when matches ended.
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

MOST_PROBLEMS = 10
"""Most problems that are shown; `--json` has all."""


def _parts(summary: TournamentSummary) -> Iterator[RenderableType]:
    """Yield the tables of a tournament, which may be unfinished."""
    standings = summary.standings
    of_all = "" if summary.played == summary.planned else f" of {summary.planned}"
    yield Text(
        f"{summary.played}{of_all} matches, {summary.moves} turns, seed {summary.seed}",
        style="bold",
    )
    yield Table(
        ("player", "#rating [99 %]", "#mean score [99 %]", "#matches"),
        [(each.player, rating_text(each.rating), each.score, each.matches) for each in standings],
    )
    yield ""
    yield Table(
        ("player", "#won", "#drawn", "#lost", ("#% won [99 %]", ".1f"), "faults", "plays"),
        [
            (
                *(each.player, each.tally.wins, each.tally.draws, each.tally.losses),
                *(each.tally.win_share.percent, faults_text(each.faults), each.plays),
            )
            for each in standings
        ],
    )
    yield ""
    yield Table(
        ("mean score in", *(f"#{each.player}" for each in standings), "on", "by"),
        [
            (
                *(game.game, *(each.by_game[game.game] for each in standings)),
                *(game.backend, clock_text(game.play_clock, game.clock)),
            )
            for game in summary.games
        ],
    )
    yield ""
    yield from methods_text(each.score for each in standings)
    if summary.problems:
        yield Text(f"faults and errors ({len(summary.problems)}):", style="red")
    for problem in summary.problems[:MOST_PROBLEMS]:
        who = "" if problem.player is None else f", {problem.player}"
        yield plain(f"  {problem.game} {problem.number}{who}: {problem.text}")
    if len(summary.problems) > MOST_PROBLEMS:
        yield f"  and {len(summary.problems) - MOST_PROBLEMS} more; see --json"


def faults_text(faults: Mapping[str, int]) -> str:
    """Counts of faults as `2 late, 1 illegal`, or `none`."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items())) or "none"


def rating_text(rating: Rating | None) -> str:
    """A rating as `27.3 [20.1, 34.5]`, or `-` for none."""
    if rating is None:
        return "-"
    return f"{rating.mean:.1f} [{rating.low:.1f}, {rating.high:.1f}]"
