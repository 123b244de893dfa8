"""Values of moves as if everybody knew the state from now on (paper 003, what PIMC computes).

The states that can come up are found layer by layer, turn by turn, equal ones of a layer being one,
and values are backed up: chance averages, and in a turn our role maximises its own goal first, then
the others answer, each maximising its own (max^n). Moves that are equally good for whoever makes
them count alike. Where there are too many states, those of the last layer are valued by random
playouts; where there are too many joint moves from the start, the others' answers are drawn too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ggp.machine.arrays import first_seen, offsets_of, segment_ids, take_segments
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States
from ggp.search.estimates import TIE_TOLERANCE
from ggp.study.turns import Turn

PLAYOUTS = 16
"""Random playouts for each state of the last layer; fewer where there are many states."""

PLAYOUTS_A_STEP = 4
"""Playouts of all states together, for each joint move that may be tried."""


class ClairvoyantValues(NamedTuple):
    """The values of a role's moves in L states.

    Attributes:
        moves: the legal moves in each state; none where it is terminal.
        values: `[K]` the goal of the role after each.
        solved: whether no playout was needed.
    """

    moves: Ragged
    values: FloatArray
    solved: bool


@dataclass(frozen=True)
class _Layer:
    """S states that are not terminal, and their joint moves, the last role's changing fastest.

    Attributes:
        offsets: `[S + 1]` of the joint moves.
        counts: `[S, R]` moves of each role.
        after: `[J]` which state of the next layer a joint move leads to.
        chance: probabilities of the moves of `random`, and where they begin for each state.
    """

    offsets: IntArray
    counts: IntArray
    after: IntArray
    chance: tuple[FloatArray, IntArray]


def clairvoyant_values(
    machine: Machine,
    states: States,
    role: int,
    rng: np.random.Generator,
    most_steps: int,
) -> ClairvoyantValues:
    """What each move of a role is worth where everybody knows the state.

    Args:
        states: L lanes.
        rng: for playouts.
        most_steps: joint moves to try; beyond, `PLAYOUTS_A_STEP` times as many playouts are made.

    Raises:
        NoLegalMoveError: a role has no legal move where the game is not over.
        GoalError: a goal value is not a number.
    """
    first, group = first_seen(machine.groups(states))
    roots = states.take(first)
    open_ = np.flatnonzero(~machine.terminal(roots))
    layers, values, solved = _expand(machine, roots.take(open_), rng, most_steps)
    for layer, reached in reversed(layers[1:]):
        reached[np.isnan(reached[:, 0])] = _backed_up(machine, layer, values, role, all_roles=True)
        values = reached
    place = np.full(len(first), len(open_))
    place[open_] = np.arange(len(open_))
    if not len(open_):
        empty = np.zeros(0, dtype=np.int64)
        return ClairvoyantValues(
            Ragged(np.zeros(len(group) + 1, dtype=np.int64), empty), np.zeros(0), solved
        )
    if layers:
        own = _backed_up(machine, layers[0][0], values, role, all_roles=False)[:, role]
    else:
        most = PLAYOUTS_A_STEP * most_steps
        own = _answered_by_lot(machine, roots.take(open_), role, rng, most)
    legal = machine.legal(roots.take(open_), role)
    offsets = np.append(legal.offsets, legal.offsets[-1])  # one more, of what is terminal
    taken, elements = take_segments(offsets, place[group])
    return ClairvoyantValues(Ragged(taken, legal.values[elements]), own[elements], solved)


def _expand(
    machine: Machine, states: States, rng: np.random.Generator, most_steps: int
) -> tuple[list[tuple[_Layer, FloatArray]], FloatArray, bool]:
    """The layers below states, none of which is terminal.

    Returns:
        each layer with the values of the states that it and its terminal siblings are: goals, or
        NaN where it is to be backed up, no layer if that of the states is too large; the values of
        the states below the last; and whether all of these are goals.
    """
    layers: list[tuple[_Layer, FloatArray]] = []
    reached: list[States] = []
    values = np.full((len(states), len(machine.roles)), np.nan)
    steps = 0.0
    while len(states):
        moves = _moves_of(machine, states)
        steps += moves.num_joint
        if steps > most_steps:
            most_playouts = PLAYOUTS_A_STEP * most_steps
            while len(layers) > 1 and len(states) * PLAYOUTS > most_playouts:
                # The best of many values of few playouts each is far too high.
                _, values = layers.pop()
                states = reached.pop()
            if layers:
                values[np.isnan(values[:, 0])] = _played_out(machine, states, rng, most_playouts)
            return layers, values, False
        offsets, joint = moves.joint()
        stepped = machine.step(states.take(segment_ids(offsets)), joint).states
        first, group = first_seen(machine.groups(stepped))
        below = stepped.take(first)
        layers.append((_Layer(offsets, moves.counts, group, moves.chance), values))
        reached.append(states)
        terminal = machine.terminal(below)
        values = np.full((len(below), len(machine.roles)), np.nan)
        values[terminal] = machine.goals(below.take(np.flatnonzero(terminal)))
        states = below.take(np.flatnonzero(~terminal))
    return layers, values, True


@dataclass(frozen=True)
class _Moves:
    """The moves of all roles in S states, none of which is terminal."""

    lists: list[Ragged]
    chance: tuple[FloatArray, IntArray]

    @property
    def counts(self) -> IntArray:
        """`[S, R]` moves of each role."""
        return np.stack([each.counts for each in self.lists], axis=1)

    @property
    def num_joint(self) -> float:
        """Joint moves of all states; there may be more than an integer holds."""
        return float(self.counts.astype(np.float64).prod(axis=1).sum())

    def joint(self) -> tuple[IntArray, IntArray]:
        """`[S + 1]` offsets of the joint moves of each state, and `[J, R]` these."""
        counts = self.counts
        offsets = offsets_of(counts.prod(axis=1))
        state = segment_ids(offsets)
        number = np.arange(len(state)) - offsets[state]
        joint = np.empty((len(state), len(self.lists)), dtype=np.int64)
        for role in reversed(range(len(self.lists))):
            moves = self.lists[role]
            number, digit = np.divmod(number, counts[state, role])
            joint[:, role] = moves.values[moves.offsets[state] + digit]
        return offsets, joint


def _moves_of(machine: Machine, states: States) -> _Moves:
    lists: list[Ragged] = []
    chance = np.zeros(0), np.zeros(len(states) + 1, dtype=np.int64)
    for role in range(len(machine.roles)):
        if role == machine.random_role:
            drawn = machine.chance(states)
            lists.append(Ragged(drawn.offsets, drawn.moves))
            chance = drawn.probabilities, drawn.offsets
        else:
            lists.append(machine.legal(states, role))
    return _Moves(lists, chance)


def _answered_by_lot(
    machine: Machine, states: States, role: int, rng: np.random.Generator, most: int
) -> FloatArray:
    """`[K]` values of a role's moves where there are too many answers to try: one is drawn."""
    own = machine.legal(states, role)
    state = segment_ids(own.offsets)
    joint = Turn(machine, states).random(rng)[state]
    joint[:, role] = own.values
    after = machine.step(states.take(state), joint).states
    return _played_out(machine, after, rng, most)[:, role]


def _played_out(
    machine: Machine, states: States, rng: np.random.Generator, most: int
) -> FloatArray:
    """`[S, R]` mean goals of random playouts; the middle where none came to an end.

    Args:
        most: playouts of all states together, but at least one of each is made.
    """
    num = len(states)
    each = min(max(most // num, 1), PLAYOUTS)
    played = machine.playout(states.take(np.repeat(np.arange(num), each)), rng)
    goals = played.goals.reshape(num, each, -1)
    finished = played.finished.reshape(num, each).sum(axis=1)[:, None]
    middle = sum(machine.goal_range) / 2
    return np.where(finished > 0, goals.sum(axis=1) / np.maximum(finished, 1), middle)


def _backed_up(
    machine: Machine, layer: _Layer, below: FloatArray, role: int, *, all_roles: bool
) -> FloatArray:
    """`[S, R]` values of a layer's states, or with `all_roles` false `[K, R]` those of the moves
    of our role in each of them, in order."""
    others = [r for r in range(len(machine.roles)) if r not in (role, machine.random_role)]
    order = [*others[::-1], *([role] if all_roles else [])]
    if machine.random_role is not None:
        order.insert(0, machine.random_role)
    values = below[layer.after]
    place = np.arange(len(values))
    state = segment_ids(layer.offsets)
    # Of a role that has chosen only the first place of each of its runs is left.
    strides = np.ones_like(layer.counts)
    strides[:, :-1] = layer.counts[:, :0:-1].cumprod(axis=1)[:, ::-1]
    for chooser in order:
        if layer.counts[:, chooser].max() == 1:
            continue
        stride, count = strides[state, chooser], layer.counts[state, chooser]
        digit = (place - layer.offsets[state]) // stride % count
        target = place - digit * stride
        size = len(layer.after)
        if chooser == machine.random_role:
            probabilities, offsets = layer.chance
            weights, total = probabilities[offsets[state] + digit], np.ones(size)
        else:
            own = values[:, chooser]
            best = np.full(size, -np.inf)
            np.maximum.at(best, target, own)
            scale = np.maximum(np.abs(best), 1.0)
            weights = (own >= (best - TIE_TOLERANCE * scale)[target]).astype(np.float64)
            total = np.maximum(np.bincount(target, weights, minlength=size), 1.0)
        columns = [
            np.bincount(target, weights * values[:, r], minlength=size) / total
            for r in range(values.shape[1])
        ]
        left = digit == 0
        place, state = place[left], state[left]
        values = np.stack([column[place] for column in columns], axis=1)
    return values
