"""Batches of states, as lists of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ggp.machine.base import IntArray
from ggp.machine.relational.game import RelationalGame
from ggp.machine.relational.kernels.questions import State
from ggp.machine.relational.kernels.records import I32


class RelationalStates:
    """A batch of states, each an array of fluents."""

    __slots__ = ("game", "lanes")

    def __init__(self, game: RelationalGame, lanes: Sequence[State]) -> None:
        self.game, self.lanes = game, lanes

    def __len__(self) -> int:
        return len(self.lanes)

    def take(self, lanes: IntArray) -> RelationalStates:
        """The lanes with these indices, in this order, repeats allowed."""
        return RelationalStates(self.game, [self.lanes[i] for i in lanes.tolist()])


def lists_of(offsets: IntArray, values: I32) -> list[I32]:
    """Consecutive parts of an array."""
    bounds = offsets.tolist()
    return [values[start:end] for start, end in pairwise(bounds)]
