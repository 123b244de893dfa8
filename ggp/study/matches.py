"""Plays random matches, and records where each role decides, and its path then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ggp.belief import Bags, PathTree
from ggp.belief.finding.exact import ExactSets
from ggp.belief.sampler import Setting
from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.search.moves import MoveLists


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


# ------------------------------------------------------------------------
# Turns of many lanes at once: legal moves of all roles, and turns in which nobody has a choice.

MAX_TURNS = 500
"""Number of turns after which a walk or a match is given up."""


class LaneTurn:
    """The moves of all roles in L lanes, none of which is terminal.

    Attributes:
        lists: the moves of each role.
        counts: `[L, R]` number of moves of each role.
        decides: `[L, R]` whether a role other than `random` has a choice.
    """

    def __init__(self, machine: Machine, states: States) -> None:
        num_roles = len(machine.roles)
        self.lists = [MoveLists(machine, states, role) for role in range(num_roles)]
        self.counts = np.stack([moves.counts for moves in self.lists], axis=1)
        self.decides: BoolArray = self.counts > 1
        if machine.random_role is not None:
            self.decides[:, machine.random_role] = False

    def random(self, rng: np.random.Generator) -> IntArray:
        """`[L, R]` random moves, those of `random` by their probabilities.

        Raises:
            NoLegalMoveError: a role has no move.
        """
        lanes = np.arange(len(self.counts))
        columns = [moves.at(lanes, moves.draw(lanes, rng)) for moves in self.lists]
        return np.stack(columns, axis=1)


class Collapsed(NamedTuple):
    """Lanes after all turns in which no role except `random` had a choice.

    Attributes:
        states: L lanes, each terminal or with a choice.
        terminal: `[L]` whether each is terminal.
        by_chance: `[L]` whether `random` had a choice on the way.
    """

    states: States
    terminal: BoolArray
    by_chance: BoolArray


def collapse(machine: Machine, states: States, rng: np.random.Generator) -> Collapsed:
    """Play on while nobody has a choice; chance is drawn.

    Lanes in which nobody ever has a choice stay where they are after `MAX_TURNS` turns.
    """
    terminal = machine.terminal(states)
    by_chance = np.zeros(len(states), dtype=np.bool_)
    pending = np.flatnonzero(~terminal)
    for _ in range(MAX_TURNS):
        turn = LaneTurn(machine, states.take(pending))
        forced = np.flatnonzero(~turn.decides.any(axis=1))
        if not len(forced):
            break
        pending_joint = turn.random(rng)[forced]
        drawn = (turn.counts[forced] > 1).any(axis=1)
        pending = pending[forced]
        by_chance[pending] |= drawn
        after = machine.step(states.take(pending), pending_joint).states
        where = np.arange(len(states))
        where[pending] = len(states) + np.arange(len(pending))
        states = machine.concatenate([states, after]).take(where)
        terminal[pending] = machine.terminal(after)
        pending = pending[~terminal[pending]]
    return Collapsed(states, terminal, by_chance)


# ------------------------------------------------------------------------
# Enumerates information sets that are small enough.


class KnownSets:
    """The information sets of all roles of a machine, as far as they are small.

    Args:
        tree: numbers the incomplete paths.
        most_states: size of the largest set that is enumerated; sets after a larger one are not,
            either.
    """

    def __init__(self, machine: Machine, tree: PathTree, most_states: int) -> None:
        self.machine, self.tree = machine, tree
        self._exact = ExactSets(Setting(machine, tree, capacity=0, max_attempts=0), most_states)

    def find(self, role: int, paths: IntArray) -> tuple[IntArray, Bags | None]:
        """The sets of `[B]` paths of equal length.

        Returns:
            the indices of the paths whose sets are known, increasing, and these sets; None if there
            are none.
        """
        self._exact.trim()
        self._exact.enumerate_from_start(role, paths)
        known = np.flatnonzero(self._exact.holds(paths))
        if not len(known):
            return known, None
        sets = self._exact.get(paths[known])
        return known, Bags(role, paths[known], np.arange(len(known)), sets)


# ------------------------------------------------------------------------
# Makes random walks to pre-terminal nodes (paper 003, "Real Games").
#
# A walk avoids moves that end the game. It stops where all of them do, and all of them are tried:
#
# player 1 bets -> player 2 folds (75 : 25) or calls (100 : 0) here both moves end it
#
# Turns in which nobody has a choice are not nodes: the child of a node is the next node or the end.
# Chance is drawn, once for each node and once for each forced turn, so that a walk is one in a
# world in which chance is settled.

MOST_CHILDREN = 256
"""Greatest number of joint moves of a node that are tried; of more, this many are drawn."""

WALKS_AT_ONCE = 500
"""Number of walks at once, which bounds memory."""


@dataclass(frozen=True)
class PreTerminal:
    """N pre-terminal nodes, each with the goals that its joint moves lead to.

    Attributes:
        offsets: `[N + 1]` offsets of the children of each node.
        goals: `[K, R]` goals of the children.
        decides: `[N, R]` whether each role has a choice in each node.
        by_chance: `[N]` whether chance had a choice between a child and the end.
        cut: `[N]` whether there are more joint moves than were tried.
        walks: number of walks begun; those that met no such node are not among the N.
    """

    offsets: IntArray
    goals: FloatArray
    decides: BoolArray
    by_chance: BoolArray
    cut: BoolArray
    walks: int

    def __len__(self) -> int:
        return len(self.offsets) - 1


def pre_terminal_nodes(machine: Machine, walks: int, rng: np.random.Generator) -> PreTerminal:
    """Make `walks` random walks from the start of the game.

    Raises:
        NoLegalMoveError: a role has no legal move, and the game is not over.
        GoalError: a goal value is not a number.
    """
    parts: list[_Nodes] = []
    for begun in range(0, walks, WALKS_AT_ONCE):
        parts += _walk(machine, min(WALKS_AT_ONCE, walks - begun), rng)
    num_roles = len(machine.roles)
    return PreTerminal(
        offsets_of(_joined([part.counts for part in parts], np.int64)),
        np.concatenate([np.zeros((0, num_roles)), *(part.goals for part in parts)]),
        np.concatenate(
            [np.zeros((0, num_roles), dtype=np.bool_), *(part.decides for part in parts)]
        ),
        _joined([part.by_chance for part in parts], np.bool_),
        _joined([part.cut for part in parts], np.bool_),
        walks,
    )


def _joined(parts: list[Any], kind: type) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


@dataclass(frozen=True)
class _Nodes:
    counts: IntArray
    goals: FloatArray
    decides: BoolArray
    by_chance: BoolArray
    cut: BoolArray


def _walk(machine: Machine, walks: int, rng: np.random.Generator) -> list[_Nodes]:
    found: list[_Nodes] = []
    start = collapse(machine, machine.initial(walks), rng)
    states = start.states.take(np.flatnonzero(~start.terminal))
    for _ in range(MAX_TURNS):
        if not len(states):
            break
        turn = LaneTurn(machine, states)
        stuck = np.flatnonzero(~turn.decides.any(axis=1))
        if len(stuck):  # nobody ever has a choice again
            states = states.take(np.flatnonzero(turn.decides.any(axis=1)))
            continue
        lane, joint, cut = _children(machine, turn, rng)
        after = collapse(machine, machine.step(states.take(lane), joint).states, rng)
        going_on = np.bincount(lane, ~after.terminal, minlength=len(states)) > 0
        ended = np.flatnonzero(~going_on)
        if len(ended):
            of_ended = np.flatnonzero(~going_on[lane])
            by_chance = np.bincount(lane, after.by_chance, minlength=len(states)) > 0
            found.append(
                _Nodes(
                    np.bincount(lane, minlength=len(states))[ended],
                    machine.goals(after.states.take(of_ended)),
                    turn.decides[ended],
                    by_chance[ended],
                    cut[ended],
                )
            )
        states = after.states.take(_one_each(lane, ~after.terminal, rng))
    return found


def _children(
    machine: Machine, turn: LaneTurn, rng: np.random.Generator
) -> tuple[IntArray, IntArray, BoolArray]:
    """Joint moves to try: `[K]` lanes, ascending, `[K, R]` moves; `[L]` whether there are more."""
    sizes = turn.counts.astype(np.float64)
    if machine.random_role is not None:
        sizes[:, machine.random_role] = 1
    total = sizes.prod(axis=1)
    cut = total > MOST_CHILDREN
    offsets = offsets_of(np.where(cut, MOST_CHILDREN, total).astype(np.int64))
    lane = segment_ids(offsets)
    number = np.arange(len(lane)) - offsets[lane]
    drawn = turn.random(rng)
    joint = drawn[lane]
    for role in reversed(range(turn.counts.shape[1])):
        if role == machine.random_role:
            continue
        number, digit = np.divmod(number, turn.counts[lane, role])
        random = rng.integers(0, turn.counts[lane, role])
        joint[:, role] = turn.lists[role].at(lane, np.where(cut[lane], random, digit))
    return lane, joint, cut


def _one_each(lane: IntArray, may: BoolArray, rng: np.random.Generator) -> IntArray:
    """For each lane with children that may be chosen, one of them by lot."""
    keys = np.where(may, rng.random(len(lane)), -1.0)
    order = np.lexsort((keys, lane))
    last = np.flatnonzero(np.append(lane[1:] != lane[:-1], True)) if len(lane) else lane
    chosen = order[last]
    return np.asarray(chosen[may[chosen]])


def classes(machine: Machine, goals: FloatArray) -> FloatArray:
    """Goal values as wins (1), draws (0) and losses (-1): above, at, below the middle."""
    low, high = machine.goal_range
    return np.sign(goals - (low + high) / 2)


def is_equal(nodes: PreTerminal, values: FloatArray) -> BoolArray:
    """`[N]` whether all children of a node have the same one of `[K]` values."""
    if not len(nodes):
        return np.zeros(0, dtype=np.bool_)
    first = nodes.offsets[:-1]
    most, least = (np.asarray(f.reduceat(values, first)) for f in (np.maximum, np.minimum))
    return np.asarray(most == least)
