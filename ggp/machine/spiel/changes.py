"""Small changes of histories: two cards trade places, or somebody does something else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.base import FloatArray
from ggp.machine.spiel.known_path import History

RARE = 0.02
"""What is never of use is still tried that often, compared with what always is."""


class Change(NamedTuple):
    """What becomes of a history.

    Attributes:
        turns: those that the change was meant for.
        actions: of all turns.
    """

    turns: list[int]
    actions: list[int]

    def first(self, history: History) -> int:
        """The first turn in which something else is done than in the history; their number if
        there is none."""
        pairs = zip(history.actions, self.actions, strict=True)
        return next((at for at, (old, new) in enumerate(pairs) if old != new), len(history))


class Tally:
    """What is worth trying, by how often it was of use.

    Args:
        size: of what there is to choose from.
    """

    def __init__(self, size: int) -> None:
        self._used, self._tried = np.ones(size), np.ones(size)

    def add(self, which: list[int], *, used: bool) -> None:
        self._tried[which] += 1
        self._used[which] += used

    def shares(self, among: list[int]) -> FloatArray:
        """How worthwhile some are: the more the more often they were of use."""
        # Of a pair one is of use and both are counted: squares tell them apart.
        found: FloatArray = np.maximum(self._used[among] / self._tried[among], RARE) ** 2
        return found


def dealt(history: History) -> list[int]:
    """The turns of chance."""
    return [at for at, player in enumerate(history.players) if player < 0]


def not_of(history: History, role: int) -> list[int]:
    """The turns of chance and of others than a role."""
    return [at for at, player in enumerate(history.players) if player != role]


def traded(history: History, one: int, other: int) -> Change:
    """What was done in two turns trades places."""
    actions = list(history.actions)
    actions[one], actions[other] = actions[other], actions[one]
    return Change([one, other], actions)


def renamed(history: History, role: int, turns: list[int], *acts: tuple[int, str]) -> Change:
    """Each of some actions stands for the next, and the last for the first, wherever others than
    the role, or chance, make them: who puts away a card puts away the other one then.

    Args:
        turns: see `Change`.
        acts: number and name of each; none comes twice.
    """
    follow = zip(acts, acts[1:] + acts[:1], strict=True)
    names = {name: number for (_, name), (number, _) in follow}
    made = zip(history.players, history.actions, history.names, strict=True)
    actions = [
        action if player == role else names.get(name, action) for player, action, name in made
    ]
    return Change(turns, actions)


def replaced(history: History, at: int, action: int) -> Change:
    """Something else was done in a turn."""
    actions = list(history.actions)
    actions[at] = action
    return Change([at], actions)
