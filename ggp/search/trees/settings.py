"""Settings of trees over incomplete paths: how lanes choose, and how far the trees grow."""

from __future__ import annotations

from typing import NamedTuple

from ggp.machine.base import FloatArray

MOST_WORLDS = 500_000
"""Worlds of a tree: bounds memory. Lanes that leave the known worlds are then played out."""

KEEP = 0.999
"""Share of a goal's distance from the middle that remains after each turn, for choices in the tree:
among equally certain wins or losses, early wins and late losses are better."""


PRIOR_VISITS = 1.0
"""Visits, worth what a move was worth wherever it was made, that are added to those of each action
where lanes are guided."""

VIRTUAL_LOSS = 0.3
"""Share of the choices under way that count as lost where lanes are guided; otherwise all do."""

CALM = 0.625
"""Factor of the exploration where lanes are guided: means of several playouts vary less."""

CHOICES = 20_000.0
"""Where lanes are guided and everybody knows everything, exploration grows with the choices made at
a node, by 1 + ln(1 + choices / this): Silver et al. (2018). Without, nearly all of 100,000 lanes
stay at the move that seemed best at first, and more time changes little."""


class LaneSettings(NamedTuple):
    """How lanes choose.

    Attributes:
        exploration: factor of the UCB1 bonus, for goals of 0 to 1.
        most_worlds: see `MOST_WORLDS`.
        proves: whether ends of lanes are proofs: only if everybody knows everything.
        guided: whether choices by UCB1 and playouts go by what moves were worth in earlier
            playouts, and leaves get several of these; only on a `WeightedPlayer`.
    """

    exploration: float = 0.4
    most_worlds: int = MOST_WORLDS
    proves: bool = False
    guided: bool = False


class Chances(NamedTuple):
    """Initial odds and weights of lanes that match regrets.

    Attributes:
        odds: `[L]` see `Wave`.
        reach: `[L, R]` see `Wave`.
        exploration: probability with which the learner chooses uniformly.
        weight: of the wave in average strategies.
    """

    odds: FloatArray
    reach: FloatArray
    exploration: float
    weight: float
