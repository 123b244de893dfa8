"""Small changes of histories: two cards trade places, or a player does something else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.openspiel.machine.known_path import History
from ggp.machine.base import FloatArray

RARE = 0.02
"""Rate at which choices that were never of use are tried, relative to those that always were."""


class Change(NamedTuple):
    """A changed history.

    Attributes:
        turns: the turns that the change was meant for.
        actions: the actions of all turns.
    """

    turns: list[int]
    actions: list[int]

    def first(self, history: History) -> int:
        """The first turn in which the action differs from that of the history; the number of turns
        if there is none."""
        pairs = zip(history.actions, self.actions, strict=True)
        return next((at for at, (old, new) in enumerate(pairs) if old != new), len(history))


class UseCounts:
    """Counts of how often each choice was of use, to choose by.

    Args:
        size: number of choices.
    """

    def __init__(self, size: int) -> None:
        self._used, self._tried = np.ones(size), np.ones(size)

    def add(self, which: list[int], *, used: bool) -> None:
        self._tried[which] += 1
        self._used[which] += used

    def shares(self, among: list[int]) -> FloatArray:
        """Weights of some choices: the more often they were of use, the higher."""
        # One of a pair is of use, but both are counted: squaring tells them apart.
        found: FloatArray = np.maximum(self._used[among] / self._tried[among], RARE) ** 2
        return found


def dealt(history: History) -> list[int]:
    """The turns of chance."""
    return [at for at, player in enumerate(history.players) if player < 0]


def not_of(history: History, role: int) -> list[int]:
    """The turns of chance and of the players other than a role."""
    return [at for at, player in enumerate(history.players) if player != role]


def traded(history: History, one: int, other: int) -> Change:
    """Trade the actions of two turns."""
    actions = list(history.actions)
    actions[one], actions[other] = actions[other], actions[one]
    return Change([one, other], actions)


def renamed(history: History, role: int, turns: list[int], *acts: tuple[int, str]) -> Change:
    """Replace each of some actions by the next, and the last by the first, in a whole history.

    That is wherever chance or a player other than the role takes them: a player who put away a card
    then puts away the other one.

    Args:
        turns: see `Change`.
        acts: number and name of each action; all different.
    """
    follow = zip(acts, acts[1:] + acts[:1], strict=True)
    names = {name: number for (_, name), (number, _) in follow}
    made = zip(history.players, history.actions, history.names, strict=True)
    actions = [
        action if player == role else names.get(name, action) for player, action, name in made
    ]
    return Change(turns, actions)


def replaced(history: History, at: int, action: int) -> Change:
    """Replace the action of a turn."""
    actions = list(history.actions)
    actions[at] = action
    return Change([at], actions)
