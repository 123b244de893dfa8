"""Plays random matches, and records where each role decides, and its path then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ggp.belief import PathTree
from ggp.machine.base import BoolArray, IntArray, Machine
from ggp.study.turns import MAX_TURNS, LaneTurn


class MatchTurn(NamedTuple):
    """One turn of the matches that are not over.

    Attributes:
        matches: `[L]` their numbers.
        paths: `[L, R]` the incomplete path of each role, before the turn.
        decides: `[L, R]` whether it has a choice.
    """

    matches: IntArray
    paths: IntArray
    decides: BoolArray


def random_matches(
    machine: Machine, tree: PathTree, count: int, rng: np.random.Generator
) -> list[MatchTurn]:
    """Play `count` random matches, side by side, up to `MAX_TURNS` turns.

    Raises:
        NoLegalMoveError: a role has no legal move, and the game is not over.
    """
    num_roles = len(machine.roles)
    turns: list[MatchTurn] = []
    states, matches = machine.initial(count), np.arange(count)
    # Node r of a tree of paths is the empty path of role r.
    paths = np.tile(np.arange(num_roles), (count, 1))
    for _ in range(MAX_TURNS):
        open_ = np.flatnonzero(~machine.terminal(states))
        if not len(open_):
            break
        states, matches, paths = states.take(open_), matches[open_], paths[open_]
        turn = LaneTurn(machine, states)
        turns.append(MatchTurn(matches, paths, turn.decides))
        joint = turn.random(rng)
        states, percepts = machine.step(states, joint)
        paths = np.stack(
            [tree.extend(paths[:, r], joint[:, r], percepts[:, r]) for r in range(num_roles)],
            axis=1,
        )
    return turns


@dataclass(frozen=True)
class Decisions:
    """D decisions of one role in random matches.

    Attributes:
        turns: `[D]` turn of each.
        paths: `[D]` its incomplete path then.
        before: `[D]` turn of its previous decision in the same match, -1 if there is none.
    """

    turns: IntArray
    paths: IntArray
    before: IntArray

    def __len__(self) -> int:
        return len(self.turns)

    def take(self, which: IntArray) -> Decisions:
        """The decisions with these indices."""
        return Decisions(self.turns[which], self.paths[which], self.before[which])

    def some(self, most: int, rng: np.random.Generator) -> Decisions:
        """All decisions if at most `most` differ in their paths, otherwise so many by lot."""
        if len(np.unique(self.paths)) <= most:
            return self
        return self.take(np.sort(rng.choice(len(self), size=most, replace=False)))


def decisions_of(role: int, turns: list[MatchTurn]) -> Decisions:
    """All decisions of a role, turn by turn."""
    count = 1 + max((int(turn.matches.max()) for turn in turns), default=-1)
    last = np.full(count, -1, dtype=np.int64)
    parts: list[Decisions] = []
    for number, turn in enumerate(turns):
        lanes = np.flatnonzero(turn.decides[:, role])
        matches = turn.matches[lanes]
        parts.append(Decisions(np.full(len(lanes), number), turn.paths[lanes, role], last[matches]))
        last[matches] = number
    empty = np.zeros(0, dtype=np.int64)
    return Decisions(
        *(
            np.concatenate([empty, *(getattr(part, name) for part in parts)])
            for name in ("turns", "paths", "before")
        )
    )
