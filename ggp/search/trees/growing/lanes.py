"""A wave on its way, and how it walks."""

from __future__ import annotations

from typing import NamedTuple

from ggp.machine.base import FloatArray, IntArray, States
from ggp.search.trees.tree_tables import Wave

MOST_DEPTH = 1000
"""Most joint moves of a lane in the tree; other people's games may not terminate."""


class Walk(NamedTuple):
    """How a wave walks: see `walk`, and for `pauses` see `Terms`."""

    exploration: float
    weight: float
    choices: float
    prior: FloatArray
    pauses: bool


class WaveLanes:
    """A wave, and the results of lanes that have left the known worlds."""

    def __init__(self, wave: Wave, how: Walk) -> None:
        self.wave, self.how = wave, how
        self.most_worlds = 0
        self.loose: list[IntArray] = []
        self.loose_states: list[States] = []
