"""Joint moves, random moves, moves that a server executes for submitted ones, and refused tries.

All searches use these to list and draw moves of many lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.belief import UNIFORM, MoveModel, log_likelihoods
from ggp.machine.abilities import MoveFacts, Turned
from ggp.machine.arrays import first_seen, offsets_of, segment_ids, take_segments
from ggp.machine.base import (
    BoolArray,
    Chance,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
    player_roles,
)
from ggp.machine.layers import JointMoves
from ggp.machine.on_circuit import on_circuit
from ggp.search.anytime import Deadline, Pace

TIMED_LANES = 32
"""Lanes of the first batch under a clock."""

LANES_AT_ONCE = 1 << 16
"""Lanes stepped between two checks of the clock."""

LONG_LIST = 512
"""If `random` has more moves than this in a state, `some_chance` samples them."""

LISTS_AT_ONCE = 64

_TABLE_PLACES = 1 << 20
"""Greatest size of a table for looking up moves."""


def joint_moves(
    machine: Machine, states: States, role: int, deadline: Deadline | None = None
) -> JointMoves:
    """The joint moves of states, in the order in which a role chooses first and `random` last.

    Raises:
        OutOfTime: the deadline passed before they were listed.
    """
    order = sorted(range(len(machine.roles)), key=lambda r: (r == machine.random_role, r != role))
    batches = Pace(deadline, TIMED_LANES, LANES_AT_ONCE).batches(len(states))
    return JointMoves.of(machine, states, order, batches)


class MoveLists:
    """The moves of a role in U lanes, with the probability of each.

    Args:
        states: may have lanes without a legal move.
        model: how a role other than `random` moves.
        paths: `[U]` the role's incomplete path in each lane, if known.

    Attributes:
        moves: the lists.
    """

    def __init__(
        self,
        machine: Machine,
        states: States,
        role: int,
        model: MoveModel = UNIFORM,
        paths: IntArray | None = None,
    ) -> None:
        self._machine, self._states, self._role = machine, states, role
        self._ends: FloatArray | None = None
        if role == machine.random_role:
            chance = machine.chance(states)
            self.moves = Ragged(chance.offsets, chance.moves)
            sizes = self.moves.counts
            if (chance.probabilities != np.repeat(1.0 / np.maximum(sizes, 1), sizes)).any():
                self._ends = np.cumsum(chance.probabilities)
        else:
            self.moves = machine.legal(states, role, allow_stuck=True)
            if model is not UNIFORM:
                likely = log_likelihoods(model, machine, states, role, self.moves, paths)
                self._ends = np.cumsum(np.exp(likely))

    @property
    def counts(self) -> IntArray:
        """`[U]` length of each list."""
        return self.moves.counts

    def draw(self, lanes: IntArray, rng: np.random.Generator) -> IntArray:
        """`[K]` position of a random move in the list of each given lane.

        Raises:
            NoLegalMoveError: there is no move in one of these lanes, which is not terminal.
        """
        sizes = self.counts[lanes]
        if not sizes.all():
            # Ask again without `allow_stuck`: this raises an error that names the state.
            self._machine.legal(self._states.take(lanes[sizes == 0]), self._role)
        points = rng.random(len(lanes))
        if self._ends is None:
            return (points * sizes).astype(np.int64)
        return drawn_places(self.moves, self._ends, lanes, points)

    def find(self, lanes: IntArray, moves: IntArray) -> IntArray:
        """`[K]` position of a move in the list of a lane, -1 if the list lacks it."""
        values = self.moves.values
        if not len(values):
            return np.full(len(lanes), -1, dtype=np.int64)
        owner = segment_ids(self.moves.offsets)
        low = int(values.min())
        span = int(values.max()) - low + 1
        # Lane and move form one key, so that one search finds all. Moves out of range would have
        # keys of other lanes.
        inside = (moves >= low) & (moves < low + span)
        keys, targets = owner * span + (values - low), lanes * span + (moves - low)
        if span * len(self.counts) <= _TABLE_PLACES:
            table = np.zeros(span * len(self.counts), dtype=np.int64)
            table[keys] = np.arange(len(keys))
            indices = table[np.where(inside, targets, 0)]
        else:
            order = np.argsort(keys)
            indices = order[np.minimum(np.searchsorted(keys, targets, sorter=order), len(keys) - 1)]
        is_listed = inside & (keys[indices] == targets)
        return np.asarray(np.where(is_listed, indices - self.moves.offsets[lanes], -1))

    def at(self, lanes: IntArray, positions: IntArray) -> IntArray:
        """`[K]` the moves at positions in the lists of lanes."""
        return np.asarray(self.moves.values[self.moves.offsets[lanes] + positions])


def drawn_places(lists: Ragged, ends: FloatArray, lanes: IntArray, points: FloatArray) -> IntArray:
    """`[K]` position of a move in the list of each given lane, drawn by probability.

    Args:
        ends: `[M]` cumulative sums of probabilities, in any unit, including each move.
        lanes: lanes whose lists are not empty.
        points: `[K]` random numbers from 0 to 1.
    """
    first, end = lists.offsets[lanes], lists.offsets[lanes + 1]
    bases = np.concatenate([[0.0], ends])[first]
    indices = np.searchsorted(ends, bases + points * (ends[end - 1] - bases), side="right")
    return np.asarray(np.clip(indices, first, end - 1) - first, dtype=np.int64)


def random_moves(
    machine: Machine,
    states: States,
    role: int,
    rng: np.random.Generator,
    model: MoveModel = UNIFORM,
    paths: IntArray | None = None,
) -> IntArray:
    """`[L]` a random legal move in each lane: by chance for `random`, by `model` for the others.

    Args:
        paths: see `MoveLists`.

    Raises:
        NoLegalMoveError: a lane is not terminal and the role has no legal move in it.
    """
    lists = MoveLists(machine, states, role, model, paths)
    lanes = np.arange(len(states))
    return lists.at(lanes, lists.draw(lanes, rng))


def some_chance(machine: Machine, states: States, size: int, seed: int) -> Chance:
    """The moves of `random` as `Machine.chance` gives them; a list of more than `LONG_LIST` moves
    is replaced by a sample of `size`, drawn with this seed."""
    parts: list[Chance] = []
    rng: np.random.Generator | None = None  # most games have no such lists
    start, at_once = 0, LISTS_AT_ONCE
    while start < len(states) or not parts:
        # Few states at first: a list may have all deals of a card game.
        end = min(start + at_once, len(states))
        is_all = end - start == len(states)
        chance = machine.chance(states if is_all else states.take(np.arange(start, end)))
        if (np.diff(chance.offsets) > LONG_LIST).any():
            rng = np.random.default_rng(seed) if rng is None else rng
            chance = _sample_long_lists(chance, size, rng)
        else:
            at_once *= 8
        parts.append(chance)
        start = end
    if len(parts) == 1:
        return parts[0]
    offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
    moves = np.concatenate([part.moves for part in parts])
    return Chance(offsets, moves, np.concatenate([part.probabilities for part in parts]))


def _sample_long_lists(chance: Chance, size: int, rng: np.random.Generator) -> Chance:
    """The same, with systematic samples instead of lists longer than `LONG_LIST`."""
    sizes = np.diff(chance.offsets)
    is_long = sizes > LONG_LIST
    counts = np.where(is_long, size, sizes)
    offsets = offsets_of(counts)
    owner = np.repeat(np.arange(len(sizes)), counts)
    rank = np.arange(len(owner)) - offsets[owner]
    indices = chance.offsets[owner] + rank
    cdf = np.concatenate([[0.0], np.cumsum(chance.probabilities)])
    is_sampled = is_long[owner]
    lane = owner[is_sampled]
    start, end = cdf[chance.offsets[lane]], cdf[chance.offsets[lane + 1]]
    points = start + (rank[is_sampled] + rng.random(len(sizes))[lane]) / size * (end - start)
    last = chance.offsets[lane + 1] - 1
    indices[is_sampled] = np.minimum(np.searchsorted(cdf, points, side="right") - 1, last)
    probabilities = chance.probabilities[indices]
    probabilities[is_sampled] = 1.0 / size
    return Chance(offsets, chance.moves[indices], probabilities)


def is_legal(machine: Machine, states: States, role: int, moves: IntArray) -> BoolArray:
    """`[L]` whether each lane's move is legal for the role."""
    if on_circuit(machine):
        return machine.are_legal(states, role, moves)
    legal = machine.legal(states, role, allow_stuck=True)
    owner = segment_ids(legal.offsets)
    mask = np.zeros(len(moves), dtype=np.bool_)
    mask[owner[legal.values == moves[owner]]] = True
    return mask


def executed_moves(
    machine: Machine, states: States, role: int, moves: IntArray, rng: np.random.Generator
) -> tuple[IntArray, BoolArray]:
    """The moves that a server executes for submitted moves: random legal ones for illegal ones.

    Returns:
        `[L]` moves executed, and `[L]` whether the submitted move was legal.
    """
    legal = is_legal(machine, states, role, moves)
    if legal.all():
        return moves, legal
    bad = np.flatnonzero(~legal)
    executed = moves.copy()
    executed[bad] = random_moves(machine, states.take(bad), role, rng)
    return executed, legal


# ------------------------------------------------------------------------
# Finds refused tries: moves after which the same role moves again, as in kriegspiel.
#
# GDL-II has no such notion: in the rules a try is a turn like any other. `layers` and searches of
# kriegspiel leave these turns out. A joint move is a refused try if
#
# - only one role had a choice, and after the move no other role has one;
# - the role's moves afterwards are some of its moves before, without the one it tried;
# - in the same state some other move hands the turn over: then another role has a choice, or the
#   role has a new move (wait, say).
#
# The last rule excludes consecutive shots at cells that are crossed off.


def turned(
    machine: Machine,
    states: States,
    lanes: IntArray,
    joint_moves: IntArray,
    *,
    percepts: bool = False,
    before: Sequence[Ragged] = (),
) -> Turned:
    """Successors of joint moves, see `PropnetMachine.turned`.

    Other machines always give percepts, and compare moves only where no other role has a choice
    before or after.
    """
    if on_circuit(machine):
        return machine.turned(states, lanes, joint_moves, percepts=percepts, before=before)
    successors, seen = machine.step(states.take(lanes), joint_moves)
    facts = _compare(machine, states, lanes, joint_moves, successors, before) if before else None
    return Turned(successors, seen, machine.terminal(successors), facts)


def _compare(
    machine: Machine,
    states: States,
    lanes: IntArray,
    joint_moves: IntArray,
    successors: States,
    old_lists: Sequence[Ragged],
) -> MoveFacts:
    """Compare the moves after joint moves with the lists before, see `turned`."""
    first, group = first_seen(machine.groups(successors))
    next_moves = JointMoves.of(machine, successors.take(first))
    choices = np.minimum(np.stack([lists.counts for lists in next_moves.lists], axis=1), 2)[group]
    nearby = np.maximum(choices, np.stack([lists.counts[lanes] for lists in old_lists], axis=1))
    news, agains = np.zeros((2, *choices.shape), dtype=np.bool_)
    for role in player_roles(machine):
        rows = np.flatnonzero(_is_idle(nearby, role))
        offsets, indices = take_segments(next_moves.lists[role].offsets, group[rows])
        owner, values = rows[segment_ids(offsets)], next_moves.lists[role].values[indices]
        was_legal = MoveLists(machine, states, role).find(lanes[owner], values) >= 0
        news[owner[~was_legal], role] = True
        agains[owner[values == joint_moves[owner, role]], role] = True
    return MoveFacts(choices, news, agains)


def joined_turns(machine: Machine, parts: Sequence[Turned]) -> Turned:
    """One value of the turns of several batches, at least one, of one machine."""
    if len(parts) == 1:
        return parts[0]
    return Turned(
        machine.concatenate([part.states for part in parts]),
        np.concatenate([part.percepts for part in parts]),
        np.concatenate([part.over for part in parts]),
        MoveFacts.joined([part.move_facts for part in parts if part.move_facts is not None]),
    )


def refused_tries(
    machine: Machine, options: JointMoves, lanes: IntArray, over: BoolArray, facts: MoveFacts
) -> BoolArray:
    """`[K]` whether each joint move was a refused try.

    Args:
        options: the joint moves of S states.
        lanes: `[K]` state of each of K joint moves. They must include all joint moves of a state,
            or a handover may be overlooked.
        over: `[K]` whether each ends the game.
        facts: facts about the moves after them, see `turned`.
    """
    refused = np.zeros(len(lanes), dtype=np.bool_)
    if len(player_roles(machine)) < 2:
        return refused
    sole = options.sole[lanes]
    for role in player_roles(machine):
        rows = np.flatnonzero((sole == role) & ~over)
        counts = facts.choices[rows]
        is_new, repeats = facts.news[rows, role], facts.agains[rows, role]
        idle = _is_idle(counts, role)
        handed_over = np.zeros(len(options.stuck), dtype=np.bool_)
        handed_over[lanes[rows[~idle | is_new]]] = True
        fewer = idle & ~is_new & ~repeats & (counts[:, role] > 0)
        refused[rows] = fewer & handed_over[lanes[rows]]
    return refused


def _is_idle(counts: IntArray, role: int) -> BoolArray:
    """`[K]` whether no other role than this one has a choice."""
    return np.asarray((np.delete(counts, role, axis=1) <= 1).all(axis=1))
