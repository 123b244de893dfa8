"""Stops a series when it is clear who is better, or that the difference does not matter.

Matches come in as they end; `Stopper` says when to stop, and forecasts how long that takes. It
decides after each whole round, in the order of rounds and not in the order in which matches end. So
the same seed stops after the same round, however many matches run at once. Matches of later rounds
that were already running stay in the store, but do not count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from match_runner.series.outcomes import Played, Scores, rounds_of, whole_rounds
from match_runner.series.plan import PLAY, PlannedMatch, Series
from match_runner.series.verdicts import (
    DECIDED,
    MAX_ROUNDS,
    SMALL,
    UNDECIDED,
    Verdict,
    differences_of,
    rounds_to_tell,
    settled,
)

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
