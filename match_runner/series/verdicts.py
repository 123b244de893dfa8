"""Says which player is the best, by the scores of whole rounds, and when that is clear.

Scores of rounds come in; a `Verdict` goes out. It compares players in pairs, by the difference of
their scores in each round. Choosing the best of k players needs care: if many players are equal,
some 99 % interval is wrong more often than in 1 % of cases. So each pair gets 1/(k - 1) of the
error probability. That is enough: let b be a player with the highest true mean. A verdict is false
only if it calls another player better than all others, or leaves b out of those that may be as
good. Either needs a wrong interval for one of the k - 1 pairs with b. At a level of
99 % + 1 % (k - 2)/(k - 1), the union bound gives at most 1 % of cases. We need not know which
player b is.

`Stopper` hears of matches as they end, says when it is clear who is better or that the difference
does not matter, and forecasts how long that takes. It decides after each whole round, in the order
of rounds and not in the order in which matches end. So the same seed stops after the same round,
however many matches run at once. Matches of later rounds that were already running stay in the
store, but do not count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ggp.console import listed
from ggp.statistics import (
    GOALS,
    LEVEL,
    UNBOUNDED,
    Sample,
    is_above,
    mean_interval,
    sample_of,
    times_until_above,
)
from match_runner.series.outcomes import Played, Scores, rounds_of, whole_rounds
from match_runner.series.plan import PLAY, PlannedMatch, Series

SPAN = GOALS[1] - GOALS[0]

DIFFERENCES = (-SPAN, SPAN)
"""Least and greatest difference between the scores of two players in a round, with goals from 0 to
100."""

MAX_ROUNDS = 10_000
"""Greatest number of rounds that a forecast names."""

FEWEST_ROUNDS = 3
"""Least number of rounds for a forecast."""

DECIDED, SMALL, UNDECIDED = "decided", "small", "undecided"
"""One player is better than all others; the best differ by too little to matter; neither."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on who is the best, by some rounds.

        >>> rounds = [{0: 100.0, 1: 0.0}] * 10
        >>> verdict = judge(["alice", "bob"], rounds, seed=1, fixed=True)
        >>> verdict.best, verdict.decided
        ('alice', True)
        >>> judge(["alice", "bob"], rounds[:2], seed=1, fixed=True).as_good
        ('bob',)

    Attributes:
        best: the player that scored most.
        as_good: players whose mean may be as high, best first; empty if the best is surely better
            than all others.
        players: number of players compared.
        rounds: number of rounds compared.
        more_rounds: about how many more rounds would decide, if they went like the rounds so far;
            0 if the verdict is decided, None if more than `MAX_ROUNDS`, or if there are fewer than
            `FEWEST_ROUNDS` so far.
        margin: greatest possible difference between the best player and those that may be as good,
            in points of score, by the widest of their intervals; 0 if decided. Nobody is better by
            more, at the same confidence. None if the rules do not bound the scores: then nobody
            knows.
    """

    best: str
    as_good: tuple[str, ...]
    players: int
    rounds: int
    more_rounds: int | None
    margin: float | None

    @property
    def decided(self) -> bool:
        """Whether the best player is surely better than all others (99 %)."""
        return not self.as_good

    @property
    def forecast(self) -> str:
        """How many more rounds would decide, in words."""
        num = self.more_rounds
        if self.decided:
            return "no more rounds are needed"
        if self.margin is None:
            return "no number of rounds can decide, because the rules do not bound the scores"
        if self.rounds < FEWEST_ROUNDS:
            return "too few rounds for a forecast"
        if num is None:
            return f"at this rate, {MAX_ROUNDS:,} rounds would not decide"
        return f"about {num:,} more round{'' if num == 1 else 's'} would decide"

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON values."""
        return {**asdict(self), "decided": self.decided, "forecast": self.forecast}


def differences_within(span: float | None) -> tuple[float, float] | None:
    """The least and the greatest difference between two scores, by `Series.span`."""
    return None if span is None else (-span, span)


def level_among(num_players: int) -> float:
    """Level of each pair's interval in a choice of the best of so many players."""
    return 1 - (1 - LEVEL) / (num_players - 1)


def differences_of(rounds: Sequence[Scores], player: int, rival: int) -> list[float]:
    """A player's score minus a rival's, in each round."""
    return [scores[player] - scores[rival] for scores in rounds]


def judge(
    names: Sequence[str],
    rounds: Sequence[Scores],
    seed: int,
    *,
    fixed: bool,
    span: float | None = SPAN,
) -> Verdict | None:
    """The verdict on some players by their rounds; None without rounds.

    Args:
        names: names of the players, at least two.
        rounds: scores of all players in each round.
        seed, fixed: see `mean_interval`.
        span: see `Series.span`.
    """
    if not rounds:
        return None
    best, *rivals = _by_mean(rounds, len(names))
    level, bounds = level_among(len(names)), differences_within(span)
    as_good: list[str] = []
    forecasts: list[int | None] = []
    margin = 0.0
    for rival in rivals:
        differences = differences_of(rounds, best, rival)
        interval = mean_interval(differences, seed, bounds, fixed=fixed, level=level)
        if bounds is None or interval.method == UNBOUNDED:
            rival_names = tuple(names[player] for player in rivals)
            return Verdict(names[best], rival_names, len(names), len(rounds), None, None)
        low, high = (
            bounds
            if interval.low is None or interval.high is None
            else (interval.low, interval.high)
        )
        if low <= 0:
            as_good.append(names[rival])
            forecasts.append(_more_rounds(differences, 1 - level, bounds))
            margin = max(margin, -low, high)
    longest = None if None in forecasts else max((n for n in forecasts if n is not None), default=0)
    return Verdict(names[best], tuple(as_good), len(names), len(rounds), longest, margin)


def settled(
    rounds: Sequence[Scores], num_players: int, worth: float, span: float | None = SPAN
) -> str:
    """`DECIDED` or `SMALL`, by betting, else `UNDECIDED`; fast enough to call after every round.

    `SMALL` means that the best player and all that may be as good surely differ by less than
    `worth`. With two players, that is the difference between them. With more players, surely nobody
    is better by `worth` than the best one.

    Args:
        span: see `Series.span`; nothing is settled if it is None.
    """
    bounds = differences_within(span)
    if not rounds or bounds is None:
        return UNDECIDED
    best, *rivals = _by_mean(rounds, num_players)
    alpha = 1 - level_among(num_players)
    outcome = DECIDED
    for rival in rivals:
        sample = sample_of(bounds, differences_of(rounds, best, rival))
        if is_above(sample, _scaled(0.0, bounds), alpha):
            continue
        if not (
            is_above(sample, _scaled(-worth, bounds), alpha)
            and is_above(sample.other_side, _scaled(-worth, bounds), alpha)
        ):
            return UNDECIDED
        outcome = SMALL
    return outcome


def rounds_to_tell(
    difference: float, spread: float, num_players: int, span: float = SPAN
) -> int | None:
    """About how many rounds it takes to show that a difference is above 0; None if more than
    `MAX_ROUNDS`.

    Args:
        difference: true mean of the difference of two scores in a round, above 0.
        spread: standard deviation of that difference.
        num_players: number of players compared.
        span: see `Series.span`.
    """
    bounds = (-span, span)
    # A distribution of two values with this mean and spread: at equal distances from the mean if
    # the range allows, otherwise with the high value at the end of the range and a rarer low value.
    high = min(span, difference + spread)
    low = max(-span, difference - spread**2 / max(high - difference, 1e-9))
    share = (difference - low) / (high - low) if high > low else 1.0
    sample = Sample(
        np.array([_scaled(low, bounds), _scaled(high, bounds)]),
        np.clip([1 - share, share], 1e-12, 1.0),
    )
    alpha = 1 - level_among(num_players)
    num_rounds = times_until_above(sample, _scaled(0.0, bounds), alpha, MAX_ROUNDS)
    return None if num_rounds is None else math.ceil(num_rounds)


def verdict_text(verdict: Verdict, matches_a_round: int) -> str:
    """A verdict in words, for the line below the tables."""
    if verdict.decided and verdict.players == 2:
        return f"{verdict.best} is better than the other (99 % confidence)"
    if verdict.decided:
        among = f"99 % confidence, chosen among {verdict.players}"
        return f"{verdict.best} is better than all others ({among})"
    num_rounds = verdict.more_rounds
    matches = "" if num_rounds is None else f" ({num_rounds * matches_a_round:,} matches)"
    return (
        f"undecided: {verdict.best} scored most, but {listed(verdict.as_good)} may be as good; "
        f"{verdict.forecast}{matches}"
    )


def _by_mean(rounds: Sequence[Scores], num_players: int) -> list[int]:
    """All players, the best first; equal players in their order."""
    totals: Mapping[int, float] = {
        player: math.fsum(scores[player] for scores in rounds) for player in range(num_players)
    }
    return sorted(totals, key=lambda player: -totals[player])


def _scaled(difference: float, bounds: tuple[float, float]) -> float:
    """A difference scaled to lie between 0 and 1."""
    low, high = bounds
    return (difference - low) / (high - low)


def _more_rounds(
    differences: Sequence[float], alpha: float, bounds: tuple[float, float]
) -> int | None:
    num = len(differences)
    if num < FEWEST_ROUNDS:
        return None
    sample = sample_of(bounds, differences)
    times = times_until_above(sample, _scaled(0.0, bounds), alpha, MAX_ROUNDS / num)
    return None if times is None else max(1, math.ceil(times * num) - num)


# ------------------------------------------------------------------------
# Stops a series when it is clear who is better, or that the difference does not matter.

AHEAD = 64
"""Most matches that run at a time: some of them will not count."""

FORECAST_ROUNDS = 5
"""Number of rounds after which forecasts are made."""

DIFFERENCES_TOLD = (5.0, 10.0, 20.0)
"""Differences for which there are forecasts, in points of score."""

DEFAULT_WORTH, DEFAULT_MOST = 5.0, 2000


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a series ends.

    Attributes:
        worth: least difference that matters, in points of score.
        most: most matches to play.
    """

    worth: float = DEFAULT_WORTH
    most: int = DEFAULT_MOST


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of the effort that it takes to show that one player is better than another.

    Attributes:
        difference: the true difference, in points of score.
        rounds, matches: approximate total numbers; None if more than `MAX_ROUNDS` rounds.
        core_hours: processor time of these matches, counting all processors that a match may use;
            None if the time of matches is unknown.
    """

    difference: float
    rounds: int | None
    matches: int | None
    core_hours: float | None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a series with a stopping rule ended.

    Attributes:
        until: the rule.
        outcome: one of `DECIDED`, `SMALL` and `UNDECIDED`; None if the series has not ended.
        forecasts: forecasts from the first rounds; empty before these are over.
    """

    until: StoppingRule
    outcome: str | None
    forecasts: tuple[Forecast, ...]

    def to_json(self) -> dict[str, Any]:
        """The ending as JSON values."""
        forecasts = [asdict(forecast) for forecast in self.forecasts]
        return {**asdict(self.until), "outcome": self.outcome, "forecasts": forecasts}


class Stopper:
    """Watches matches as they end, and says when there are enough.

    Attributes:
        rounds: number of whole rounds that count, from the first to the round that decides.
        outcome, forecasts: see `Ending`.
    """

    def __init__(self, series: Series, until: StoppingRule) -> None:
        self.rounds = 0
        self.outcome: str | None = None
        self.forecasts: tuple[Forecast, ...] = ()
        self._series, self._until = series, until
        (self._game,) = series.games
        self._ended: dict[int, list[Played]] = defaultdict(list)
        self._scores: list[Scores] = []

    def watch(self, match: Played) -> None:
        """Take in a match, of any round."""
        if match.planned.kind != PLAY:
            return
        self._ended[match.planned.round].append(match)
        size = self._series.matches_a_round
        while self.outcome is None and len(self._ended[self.rounds]) == size:
            self._scores += whole_rounds([self._ended[self.rounds]], size)
            self.rounds += 1
            self._judge()

    @property
    def ending(self) -> Ending:
        """Ending of the series so far."""
        return Ending(self._until, self.outcome, self.forecasts)

    def goes_on(self, match: PlannedMatch) -> bool:
        """Whether a match still needs to be played."""
        return self.outcome is None

    def _judge(self) -> None:
        if self.rounds == FORECAST_ROUNDS:
            first = [match for number in range(self.rounds) for match in self._ended[number]]
            self.forecasts = forecasts_of(self._series, first)
        series = self._series
        outcome = settled(self._scores, len(series.players), self._until.worth, series.span)
        if outcome != UNDECIDED or self.rounds == self._game.rounds:
            self.outcome = outcome


def forecasts_of(series: Series, matches: Sequence[Played]) -> tuple[Forecast, ...]:
    """A forecast for each of `DIFFERENCES_TOLD`, from the spread of scores in the first matches and
    their time; none if all failed, or if the rules do not bound the scores."""
    players = range(len(series.players))
    rounds = whole_rounds(rounds_of(matches), series.matches_a_round)
    span = series.span
    if not rounds or span is None:
        return ()
    pairs = [differences_of(rounds, *pair) for pair in combinations(players, 2)]
    spread = _spread(pairs, span)
    times = [m.record.times_s[-1] - m.record.times_s[0] for m in matches if m.record.times_s]
    seconds = math.fsum(times) / len(times) if times else None
    forecasts = []
    for difference in DIFFERENCES_TOLD:
        num_rounds = rounds_to_tell(difference, spread, len(players), span)
        num = None if num_rounds is None else num_rounds * series.matches_a_round
        hours = (
            None if num is None or seconds is None else num * seconds * series.limits.threads / 3600
        )
        forecasts.append(Forecast(difference, num_rounds, num, hours))
    return tuple(forecasts)


def forecast_text(forecast: Forecast) -> str:
    """A forecast as `10 points: about 62 rounds, 124 matches, 0.4 core-hours`."""
    difference = f"{forecast.difference:g} points"
    if forecast.rounds is None:
        return f"{difference}: more than {MAX_ROUNDS:,} rounds"
    time = "" if forecast.core_hours is None else f", {forecast.core_hours:.2g} core-hours"
    return f"{difference}: about {forecast.rounds:,} rounds, {forecast.matches:,} matches{time}"


def ending_text(ending: Ending, verdict: Verdict | None, matches: int) -> str:
    """Say why a series ended."""
    if ending.outcome == DECIDED:
        return f"stopped after {matches:,} matches: decided"
    if ending.outcome == SMALL:
        assert verdict is not None  # whole rounds said so
        worth = f"{ending.until.worth:g} (99 %)"
        reason = f"the difference is smaller than {worth}"
        if verdict.players > 2:
            reason = f"nobody is better than {verdict.best} by {worth}"
        return f"stopped after {matches:,} matches: {reason}"
    return f"undecided after {matches:,} matches"


def _spread(pairs: Sequence[Sequence[float]], span: float) -> float:
    """Standard deviation of the differences in a round, the mean over all pairs.

    If all are equal, the deviation is unknown rather than 0. Then assume that one more round would
    have the greatest possible difference.
    """
    num = len(pairs[0])
    squares = [sum((x - math.fsum(pair) / num) ** 2 for x in pair) for pair in pairs]
    variance = math.fsum(squares) / len(pairs) / max(1, num - 1)
    return math.sqrt(variance or span**2 / (num + 1))
