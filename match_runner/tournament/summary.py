"""What the stored matches of a tournament come to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from match_runner.comparison.intervals import Interval, mean_interval, share_interval
from match_runner.tournament.plan import GamePlan, Tournament
from match_runner.tournament.ratings import Rating, rate
from match_runner.tournament.store import Played

_Round = Sequence[Played]


@dataclass(frozen=True, slots=True)
class Standing:
    """One player.

    Attributes:
        player: its name.
        plays: its spec or address.
        matches: it took part in.
        score: mean goal value over the rounds of all games.
        wins, draws, losses: contests in which it alone, it and others, or others came first.
        win_share: wins among these contests.
        rating: None where it met nobody.
        by_game: mean goal value in each game it played.
        faults: how often it did what wrong, by kind.
    """

    player: str
    plays: str
    matches: int
    score: Interval
    wins: int
    draws: int
    losses: int
    win_share: Interval
    rating: Rating | None
    by_game: Mapping[str, Interval]
    faults: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong in a match.

    Attributes:
        game, number: of the match.
        player: whose fault, None for what was wrong with the game.
        text: what, one line.
    """

    game: str
    number: int
    player: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """All that is reported of a tournament.

    Attributes:
        planned, played: matches.
        moves: joint moves in all of them.
        standings: best first.
        problems: in the order of the matches.
    """

    planned: int
    played: int
    moves: int
    standings: tuple[Standing, ...]
    problems: tuple[Problem, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON that `match-runner tournament --json` prints."""
        return asdict(self)


def summarize(tournament: Tournament, matches: Sequence[Played]) -> Summary:
    """Sum up what has been played so far.

    A contest is a match in which several players sit, else (in games of one role) a whole
    round: those who play the same match one after the other.
    """
    planned = {match.key for _, match in tournament.planned()}
    counted = [match for match in matches if match.planned.key in planned]
    players = range(len(tournament.names))
    rounds = _by_round(counted)
    contests = _contests(rounds, len(players))
    ratings = rate(players, contests)
    standings = [
        _standing(tournament, player, counted, rounds, contests, ratings[player])
        for player in players
    ]
    return Summary(
        planned=len(planned),
        played=len(counted),
        moves=sum(len(match.record.turns) for match in counted),
        standings=tuple(sorted(standings, key=_rank)),
        problems=tuple(problem for match in counted for problem in _problems(tournament, match)),
    )


def scores_of(matches: Sequence[Played]) -> dict[int, float]:
    """The mean goal value of every player over its seats in some matches."""
    goals = defaultdict(list)
    for match in matches:
        for role, player in match.planned.seating.items():
            goals[player].append(match.record.goals[role])
    return {player: sum(values) / len(values) for player, values in sorted(goals.items())}


def _by_round(matches: Sequence[Played]) -> list[_Round]:
    """Matches of one game and round together, in the order of rounds."""
    rounds: dict[tuple[int, str], list[Played]] = defaultdict(list)
    for match in matches:
        rounds[match.planned.round, match.planned.kind].append(match)
    return [rounds[key] for key in sorted(rounds)]


def _contests(rounds: Sequence[_Round], num_players: int) -> list[dict[int, float]]:
    contests = []
    for round_ in rounds:
        among_several = [m for m in round_ if len(set(m.planned.seating.values())) > 1]
        if among_several:
            contests += [scores_of([match]) for match in among_several]
        elif len(scores := scores_of(round_)) == num_players > 1:
            contests.append(scores)
    return contests


def _standing(
    tournament: Tournament,
    player: int,
    matches: Sequence[Played],
    rounds: Sequence[_Round],
    contests: Sequence[Mapping[int, float]],
    rating: Rating,
) -> Standing:
    name = tournament.names[player]
    margins = [
        contest[player] - max(score for other, score in contest.items() if other != player)
        for contest in contests
        if player in contest
    ]
    wins, draws = sum(m > 0 for m in margins), sum(m == 0 for m in margins)
    return Standing(
        player=name,
        plays=tournament.players[name],
        matches=sum(player in match.planned.seating.values() for match in matches),
        score=_score(tournament, player, rounds),
        wins=wins,
        draws=draws,
        losses=len(margins) - wins - draws,
        win_share=share_interval(wins, len(margins)),
        rating=rating if rating.contests else None,
        by_game={
            game.name: _game_score(tournament, game, player, rounds) for game in tournament.games
        },
        faults=dict(
            Counter(
                fault.kind
                for match in matches
                for turn in match.record.turns
                for fault in turn.faults
                if match.planned.seating[fault.role] == player
            )
        ),
    )


def _score(tournament: Tournament, player: int, rounds: Sequence[_Round]) -> Interval:
    values = [s[player] for s in map(scores_of, rounds) if player in s]
    return mean_interval(values, tournament.seed)


def _game_score(
    tournament: Tournament, game: GamePlan, player: int, rounds: Sequence[_Round]
) -> Interval:
    own = [round_ for round_ in rounds if round_[0].planned.kind == game.name]
    return _score(tournament, player, own)


def _rank(standing: Standing) -> tuple[float, float]:
    """Best first: by the lower end of the rating, then by score."""
    rated = standing.rating.low if standing.rating else 0.0
    return -rated, -(standing.score.value or 0.0)


def _problems(tournament: Tournament, match: Played) -> list[Problem]:
    planned, record = match.planned, match.record
    names = tournament.names
    found = [
        Problem(planned.kind, planned.number, names[planned.seating[fault.role]], str(fault))
        for turn in record.turns
        for fault in turn.faults
    ]
    if record.error is not None:
        text = f"after turn {len(record.turns)}: {record.error}"
        found.append(Problem(planned.kind, planned.number, None, text))
    return found
