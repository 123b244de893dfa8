"""Choose-move of papers 001 and 002: the players `los`, `aos`, `aosp` and `hs`.

Each of a sample of boards is searched as if everybody saw it, some plies deep, and the move with
the best mean is made, as `pimc` does. They differ in where the boards come from.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggp.belief import POOL_LIMIT, Bags, Sampling
from ggp.players.belief_player import Choice
from ggp.players.option_fields import choice, whole
from ggp.players.pimc import Pimc, PimcOptions
from ggp.search.anytime import Deadline
from ggp.search.estimates import Ties, candidates
from ggp.search.layer_limits import DepthLimit, Limit

_SAMPLER = "what samples the states it may be in; only hyperplay enumerates"


@dataclass(frozen=True)
class ChooseMoveOptions(PimcOptions):
    """Options of players that choose moves by boards."""

    worlds: int = whole(64, "boards that are searched", high=10_000)
    depth: int = whole(2, "plies to search each board", high=100)
    pool: int = whole(POOL_LIMIT, "boards of a pool at most; it is then cut to half", low=2)
    ties: Ties = choice(
        Ties.RANDOM,
        "choice of equal moves: hyperplay (by their HyperPlay values), or random (by lot)",
        (Ties.RANDOM, Ties.HYPERPLAY),
    )


class ChooseMove(Pimc):
    """The move with the best mean over boards that are searched as if everybody saw them."""

    SOURCE = "Parker, Nau & Subrahmanian (IJCAI 2005)"
    options: ChooseMoveOptions

    @property
    def pool_limit(self) -> int:
        return self.options.pool

    def limited(self, limit: Limit) -> Limit:
        return DepthLimit(limit, self.options.depth)

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """Where there is no board a random move is made, as in the papers."""
        known = candidates(self.machine, bag).values.tolist()
        return int(known[self.rng.integers(len(known))]), self.unvalued(known)


@dataclass(frozen=True)
class LosOptions(ChooseMoveOptions):
    """Options of `los`."""

    sampler: Sampling = choice(Sampling.LOS, _SAMPLER)


class Los(ChooseMove):
    """The best mean over boards that agree with the last observation, and are searched openly."""

    Options = LosOptions


@dataclass(frozen=True)
class AosOptions(ChooseMoveOptions):
    """Options of `aos`."""

    sampler: Sampling = choice(Sampling.AOS, _SAMPLER)


class Aos(ChooseMove):
    """The best mean over boards of random histories that agree with all observations."""

    Options = AosOptions


@dataclass(frozen=True)
class AospOptions(ChooseMoveOptions):
    """Options of `aosp`."""

    sampler: Sampling = choice(Sampling.AOSP, _SAMPLER)


class Aosp(ChooseMove):
    """The best mean over boards of a pool that agrees with all observations."""

    Options = AospOptions


@dataclass(frozen=True)
class HsOptions(ChooseMoveOptions):
    """Options of `hs`."""

    sampler: Sampling = choice(Sampling.HS, _SAMPLER)


class Hs(ChooseMove):
    """The best mean over a pool filled up with boards that agree with the last observation."""

    Options = HsOptions
