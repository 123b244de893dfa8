"""Samples of a game from random play: matches, decisions, information sets, pre-terminal nodes.

`properties` measures them. `random_matches` records where each role decides, and its incomplete
path; `KnownSets` enumerates information sets; `pre_terminal_nodes` walks to ends of the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ggp.belief import Bags, PathTree
from ggp.belief.finding.exact import ExactSets
from ggp.belief.sampler import Setting
from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States, replace_lanes
from ggp.search.moves import MoveLists


class MatchTurn(NamedTuple):
    """One turn of the matches that are not over.

    Attributes:
        matches: `[L]` their numbers.
        paths: `[L, R]` the incomplete path of each role before the turn.
        decides: `[L, R]` whether each role has a choice.
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
        paths: `[D]` the role's incomplete path.
        before: `[D]` turn of its previous decision in the same match, -1 if there is none.
    """

    turns: IntArray
    paths: IntArray
    before: IntArray

    def __len__(self) -> int:
        return len(self.turns)

    def take(self, indices: IntArray) -> Decisions:
        """The decisions with these indices."""
        return Decisions(self.turns[indices], self.paths[indices], self.before[indices])

    def sample(self, size: int, rng: np.random.Generator) -> Decisions:
        """All decisions if they have at most `size` distinct paths, else a sample of `size`."""
        if len(np.unique(self.paths)) <= size:
            return self
        return self.take(np.sort(rng.choice(len(self), size=size, replace=False)))


def decisions_of(role: int, turns: list[MatchTurn]) -> Decisions:
    """All decisions of a role, turn by turn."""
    count = 1 + max((int(turn.matches.max()) for turn in turns), default=-1)
    last = np.full(count, -1, dtype=np.int64)
    parts: list[Decisions] = []
    for depth, turn in enumerate(turns):
        lanes = np.flatnonzero(turn.decides[:, role])
        matches = turn.matches[lanes]
        parts.append(Decisions(np.full(len(lanes), depth), turn.paths[lanes, role], last[matches]))
        last[matches] = depth
    empty = np.zeros(0, dtype=np.int64)
    return Decisions(
        *(
            np.concatenate([empty, *(getattr(part, name) for part in parts)])
            for name in ("turns", "paths", "before")
        )
    )


# ------------------------------------------------------------------------
# Turns of many lanes: legal moves of all roles, and turns in which nobody has a choice.

MAX_TURNS = 500
"""Greatest number of turns of a walk or a match."""


class LaneTurn:
    """The moves of all roles in L lanes that are not terminal.

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
        """`[L, R]` random moves; those of `random` by their probabilities.

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
        by_chance: `[L]` whether `random` had a choice in these turns.
    """

    states: States
    terminal: BoolArray
    by_chance: BoolArray


def collapse(machine: Machine, states: States, rng: np.random.Generator) -> Collapsed:
    """Play on while no role except `random` has a choice, with random moves of `random`.

    A lane stops after `MAX_TURNS` turns in any case.
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
        had_chance = (turn.counts[forced] > 1).any(axis=1)
        pending = pending[forced]
        by_chance[pending] |= had_chance
        successors = machine.step(states.take(pending), pending_joint).states
        states = replace_lanes(machine, states, pending, successors)
        terminal[pending] = machine.terminal(successors)
        pending = pending[~terminal[pending]]
    return Collapsed(states, terminal, by_chance)


# ------------------------------------------------------------------------
# Enumerates information sets that are small enough.


class KnownSets:
    """Enumerates the small information sets of all roles of a machine.

    Args:
        tree: numbers the incomplete paths.
        most_states: greatest size of a set. Sets after a larger one are not enumerated.
    """

    def __init__(self, machine: Machine, tree: PathTree, most_states: int) -> None:
        self.machine, self.tree = machine, tree
        self._exact = ExactSets(Setting(machine, tree, capacity=0, max_attempts=0), most_states)

    def find(self, role: int, paths: IntArray) -> tuple[IntArray, Bags | None]:
        """The sets of `[B]` paths of equal length.

        Returns:
            increasing indices of the paths whose sets could be enumerated, and these sets; None if
            there are none.
        """
        self._exact.stored.trim()
        self._exact.enumerate_from_start(role, paths)
        indices = np.flatnonzero(self._exact.stored.holds(paths))
        if not len(indices):
            return indices, None
        sets = self._exact.stored.get(paths[indices])
        return indices, Bags(role, paths[indices], np.arange(len(indices)), sets)


# ------------------------------------------------------------------------
# Makes random walks to pre-terminal nodes (paper 003, "Real Games").
#
# A walk avoids moves that end the game. It stops where all joint moves do, and tries all of them:
#
#     player 1 bets -> player 2 folds (75 : 25) or calls (100 : 0); here both moves end the game
#
# Turns in which nobody has a choice are no nodes: the child of a node is the next node or the end.
# Chance moves are drawn once for each node and once for each forced turn, as if chance had been
# settled before the walk.

MAX_CHILDREN = 256
"""Greatest number of joint moves of a node that are tried; of more, this many are drawn."""

WALKS_AT_ONCE = 500
"""Greatest number of walks side by side: bounds memory."""


@dataclass(frozen=True)
class PreTerminal:
    """N pre-terminal nodes, each with the goals of its children.

    Attributes:
        offsets: `[N + 1]` offsets of the children of each node.
        goals: `[K, R]` goals of the children.
        decides: `[N, R]` whether each role has a choice in each node.
        by_chance: `[N]` whether chance had a choice between a child and the end.
        cut: `[N]` whether a node has more joint moves than were tried.
        walks: number of all walks, including walks that met no such node.
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
    for start in range(0, walks, WALKS_AT_ONCE):
        parts += _walk(machine, min(WALKS_AT_ONCE, walks - start), rng)
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
    parts: list[_Nodes] = []
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
        children = collapse(machine, machine.step(states.take(lane), joint).states, rng)
        continues = np.bincount(lane, ~children.terminal, minlength=len(states)) > 0
        ended = np.flatnonzero(~continues)
        if len(ended):
            of_ended = np.flatnonzero(~continues[lane])
            by_chance = np.bincount(lane, children.by_chance, minlength=len(states)) > 0
            parts.append(
                _Nodes(
                    np.bincount(lane, minlength=len(states))[ended],
                    machine.goals(children.states.take(of_ended)),
                    turn.decides[ended],
                    by_chance[ended],
                    cut[ended],
                )
            )
        states = children.states.take(_pick_children(lane, ~children.terminal, rng))
    return parts


def _children(
    machine: Machine, turn: LaneTurn, rng: np.random.Generator
) -> tuple[IntArray, IntArray, BoolArray]:
    """Joint moves to try: `[K]` lanes, ascending, `[K, R]` moves; `[L]` whether there are more."""
    sizes = turn.counts.astype(np.float64)
    if machine.random_role is not None:
        sizes[:, machine.random_role] = 1
    total = sizes.prod(axis=1)
    cut = total > MAX_CHILDREN
    offsets = offsets_of(np.where(cut, MAX_CHILDREN, total).astype(np.int64))
    lane = segment_ids(offsets)
    index = np.arange(len(lane)) - offsets[lane]
    random_moves = turn.random(rng)
    joint = random_moves[lane]
    for role in reversed(range(turn.counts.shape[1])):
        if role == machine.random_role:
            continue
        index, digit = np.divmod(index, turn.counts[lane, role])
        random = rng.integers(0, turn.counts[lane, role])
        joint[:, role] = turn.lists[role].at(lane, np.where(cut[lane], random, digit))
    return lane, joint, cut


def _pick_children(lane: IntArray, mask: BoolArray, rng: np.random.Generator) -> IntArray:
    """One random child, among the allowed ones, for each lane that has any."""
    keys = np.where(mask, rng.random(len(lane)), -1.0)
    order = np.lexsort((keys, lane))
    last = np.flatnonzero(np.append(lane[1:] != lane[:-1], True)) if len(lane) else lane
    picks = order[last]
    return np.asarray(picks[mask[picks]])


def classes(machine: Machine, goals: FloatArray) -> FloatArray:
    """Goal values as wins (1), draws (0) and losses (-1): above, at, below the middle."""
    low, high = machine.goal_range
    return np.sign(goals - (low + high) / 2)


def is_equal(nodes: PreTerminal, values: FloatArray) -> BoolArray:
    """`[N]` whether all children of a node have equal values, of `[K]`."""
    if not len(nodes):
        return np.zeros(0, dtype=np.bool_)
    first = nodes.offsets[:-1]
    highest, lowest = (np.asarray(f.reduceat(values, first)) for f in (np.maximum, np.minimum))
    return np.asarray(highest == lowest)
