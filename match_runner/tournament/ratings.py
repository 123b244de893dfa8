"""Ratings of players by openskill: the Plackett-Luce model of Weng and Lin (JMLR 12, 2011)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from openskill.models import PlackettLuce, PlackettLuceRating

from ggp.statistics.intervals import LEVEL

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
