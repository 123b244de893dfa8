"""How lanes choose in trees over incomplete paths, and how far these grow."""

from __future__ import annotations

from typing import NamedTuple

from ggp.machine.base import FloatArray

MOST_WORLDS = 500_000
"""Worlds of a tree: bounds memory. Lanes that leave the known worlds are then played out."""

KEEP = 0.999
"""What a goal's distance from the middle keeps each turn, for choices in the tree: of wins, and of
losses, that are equally sure, early wins and late losses are better."""


class Settings(NamedTuple):
    """How lanes choose.

    Attributes:
        exploration: factor of the bonus of UCB1, for goals of 0 to 1.
        most_worlds: see `MOST_WORLDS`.
        proves: whether ends that lanes come to are proofs: where everybody knows everything.
    """

    exploration: float = 0.4
    most_worlds: int = MOST_WORLDS
    proves: bool = False


class Chances(NamedTuple):
    """What lanes that match regrets begin with, and what they count.

    Attributes:
        odds: `[L]` see `Wave`.
        reach: `[L, R]` see `Wave`.
        exploration: how often the learner chooses evenly.
        weight: of the wave in average strategies.
    """

    odds: FloatArray
    reach: FloatArray
    exploration: float
    weight: float
