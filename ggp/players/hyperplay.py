"""The player `hyperplay`: the best move by random playouts from the particles of its bag.

Paper 004, Definitions 6 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggp.belief import Bags
from ggp.errors import ConfigError
from ggp.players.options.option_fields import whole
from ggp.players.parts.search_player import SearchOptions, SearchPlayer
from ggp.search.anytime import Deadline
from ggp.search.playouts import PlayoutSearch

DEFAULT_N = 8
MAX_N = 100


@dataclass(frozen=True)
class HyperPlayOptions(SearchOptions):
    """Options of `hyperplay`."""

    n: int | None = whole(
        None,
        "resource index: n^2 particles, n^4 playouts a candidate",
        high=MAX_N,
        usual=str(DEFAULT_N),
    )
    particles: int | None = whole(None, "particles in a bag that is sampled", usual="n^2")
    playouts: int | None = whole(None, "playouts for each candidate and particle", usual="n^2")

    def __post_init__(self) -> None:
        if self.n is not None and (self.particles is not None or self.playouts is not None):
            raise ConfigError("give either n, or particles and playouts")
        if self.states and self.playouts is not None:
            raise ConfigError("give either playouts or states")


class HyperPlay(SearchPlayer):
    """The move with the best mean score in random playouts from particles."""

    Options = HyperPlayOptions
    SOURCE = "Schofield & Thielscher (AAAI 2015), Definitions 6 and 7"
    KINDS = frozenset()
    options: HyperPlayOptions

    @property
    def capacity(self) -> int:
        return self.options.particles or self._n**2

    @property
    def trials(self) -> int:
        return self.capacity * (self.options.playouts or self._n**2)

    def search(self, bag: Bags, deadline: Deadline | None) -> PlayoutSearch:
        return PlayoutSearch(self.machine, bag, self.rng, deadline, model=self.model)

    @property
    def _n(self) -> int:
        return self.options.n or DEFAULT_N
