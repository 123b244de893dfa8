"""Finds all positions of a game, layer by layer: states after the same number of turns, merged.

A position is a state and nothing else, so it is far smaller than a node of `ggp.solve.trees`, which
has everybody's past as well. Only numbers of positions are kept, with the legal moves there and
what each joint move leads to, not the states: who knows the joint moves of a match can follow it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import SolvingError
from ggp.machine.arrays import chunks, joined, offsets_of
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
    is_open,
    player_roles,
)
from ggp.solve.trees.nodes import LANES_AT_ONCE, digits_of

Places = NDArray[np.int32]
"""Numbers of positions, of which there may be many millions."""

MOST_JOINT_MOVES = 30_000_000
"""Greatest number of joint moves of all positions together: each takes four bytes, and more for a
moment."""

MOST_PAYOFFS = 1 << 17
"""Greatest number of joint moves of the two players in a position in which both have a choice.
Linear programs take long from there on, and cannot be stopped: 0.02 s with 200 moves of each, 0.5 s
with 362, up to 1.6 s with 400, and 24 s with 800, which rounding errors then made useless."""

LISTED_AT_ONCE = 4096
"""Number of states whose legal moves are listed before they are counted."""


class PositionBounds(NamedTuple):
    """Bounds on what is looked at; whatever is larger is refused.

    Attributes:
        positions: most positions.
        joint_moves: most joint moves of all of them together.
        turns: most turns.
        payoffs: see `MOST_PAYOFFS`.
        at_once_by: number of positions among which both players must have had a choice at once
            in one; 0 for no such demand.
        is_over: says when to give up, asked a few times a second.
        progress: called with the number of turns and of positions so far.
    """

    positions: int
    joint_moves: int = MOST_JOINT_MOVES
    turns: int = DEFAULT_MAX_STEPS
    payoffs: int = MOST_PAYOFFS
    at_once_by: int = 0
    is_over: Callable[[], bool] = lambda: False
    progress: Callable[[int, int], None] = lambda turns, positions: None


@dataclass(frozen=True, slots=True)
class PositionLayer:
    """The positions after a number of turns at which the game is not over, E of them.

    Attributes:
        numbers: `[E]` their numbers in the graph.
        legal: the moves of every role, with those of `random` as `Machine.chance` lists them.
        chances: probability of each move of `random`; a single 1 without that role.
        starts: `[E]` first joint move of each in `children`.
        children: the position after each joint move: roles in their order, that of the last one
            changes fastest.
    """

    numbers: IntArray
    legal: tuple[Ragged, ...]
    chances: FloatArray
    starts: IntArray
    children: Places

    @property
    def counts(self) -> IntArray:
        """`[E, R]` number of moves of each role."""
        return np.stack([each.counts for each in self.legal], axis=1)


@dataclass(frozen=True)
class PositionGraph:
    """All N positions of a game of two players in which everybody knows the state.

    Attributes:
        machine: the machine of the game.
        players: the two roles that are not `random`.
        layers: what may be done turn by turn; those of a layer have greater numbers than all
            before it.
        goals: `[N, 2]` goal values of the players where the game is over, else 0.
        is_end: `[N]` whether it is.
    """

    machine: Machine
    players: tuple[int, int]
    layers: tuple[PositionLayer, ...]
    goals: FloatArray
    is_end: BoolArray

    @property
    def num_positions(self) -> int:
        return len(self.goals)

    @property
    def choices(self) -> tuple[int, int]:
        """The number of positions in which each player has a choice."""
        first, second = (
            sum(int((layer.legal[role].counts > 1).sum()) for layer in self.layers)
            for role in self.players
        )
        return first, second


def suits(machine: Machine) -> bool:
    """Whether a game has two players, and everybody always knows the state."""
    return len(player_roles(machine)) == 2 and is_open(machine)


def find_positions(machine: Machine, bounds: PositionBounds) -> PositionGraph:
    """All positions of a game that `suits`.

    Raises:
        SolvingError: there are too many, or the game may not end, or time is up.
        NoLegalMoveError, ReasonerLimitError, GoalError: raised by the machine.
    """
    return _Finder(machine, bounds).find()


class _Finder:
    def __init__(self, machine: Machine, bounds: PositionBounds) -> None:
        self._machine, self._bounds = machine, bounds
        first, second = player_roles(machine)
        self._players = (first, second)
        self._num_positions = 1
        self._num_joint = 0
        self._turn = 0
        self._is_at_once = False

    def find(self) -> PositionGraph:
        states = self._machine.initial(1)
        layers: list[PositionLayer] = []
        goals: list[FloatArray] = []
        ends = []
        while len(states):
            over = self._machine.terminal(states)
            worth = np.zeros((len(states), 2))
            places = np.flatnonzero(over)
            if len(places):
                worth[places] = self._machine.goals(states.take(places))[:, list(self._players)]
            goals.append(worth)
            ends.append(over)
            numbers = self._num_positions - len(states) + np.flatnonzero(~over)
            states = states.take(np.flatnonzero(~over))
            if len(states):
                layer, states = self._next(states, numbers)
                layers.append(layer)
        return PositionGraph(
            self._machine,
            self._players,
            tuple(layers),
            np.concatenate(goals),
            np.concatenate(ends),
        )

    def _next(self, states: States, numbers: IntArray) -> tuple[PositionLayer, States]:
        """A layer, and the states of the next one."""
        self._turn += 1
        if self._turn > self._bounds.turns:
            raise SolvingError(f"the game may not be over after {self._bounds.turns:,} turns")
        legal, chances = self._legal(states)
        counts = np.stack([each.counts for each in legal], axis=1)
        sizes = np.prod(counts, axis=1)
        parts: list[States] = []
        children: list[Places] = []
        before = 0
        for start, end in chunks(sizes, LANES_AT_ONCE):
            self._refuse_if_large(before)
            some = sizes[start:end]
            lanes = np.repeat(np.arange(start, end), some)
            joint = np.arange(len(lanes)) - np.repeat(offsets_of(some)[:-1], some)
            digits = digits_of(joint, counts[lanes])
            moves = np.stack(
                [each.values[each.offsets[lanes] + digits[:, r]] for r, each in enumerate(legal)],
                axis=1,
            )
            after = self._machine.step(states.take(lanes), moves).states
            first, group = self._merged(after)
            parts.append(after.take(first))
            children.append((before + group).astype(np.int32))
            before += len(first)
        joined_states = self._machine.concatenate(parts)
        first, group = self._merged(joined_states)
        after = joined_states.take(first)
        layer = PositionLayer(
            numbers,
            tuple(legal),
            chances,
            offsets_of(sizes)[:-1],
            (self._num_positions + group[np.concatenate(children)]).astype(np.int32),
        )
        self._num_positions += len(first)
        self._bounds.progress(self._turn, self._num_positions)
        self._refuse_if_large()
        return layer, after

    def _merged(self, states: States) -> tuple[IntArray, IntArray]:
        """The first lane of each different state, and the number of each lane's state."""
        group = self._machine.groups(states)
        first = np.zeros(int(group.max()) + 1, dtype=np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        return first, group

    def _legal(self, states: States) -> tuple[list[Ragged], FloatArray]:
        """The moves of each role, and the probabilities of those of `random`.

        They are counted before there are too many: lists of that many would take long.
        """
        random = self._machine.random_role
        parts: list[list[Ragged]] = []
        chances: list[FloatArray] = []
        for start in range(0, len(states), LISTED_AT_ONCE):
            self._refuse_if_large()
            some = states.take(np.arange(start, min(start + LISTED_AT_ONCE, len(states))))
            lists = [
                Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
                if role == random
                else self._machine.legal(some, role)
                for role in range(len(self._machine.roles))
            ]
            if random is not None:
                chance = self._machine.chance(some)
                lists[random] = Ragged(chance.offsets, chance.moves)
                chances.append(chance.probabilities)
            counts = np.stack([each.counts.astype(float) for each in lists], axis=1)
            self._num_joint += int(np.prod(counts, axis=1).sum())
            self._note_choices(counts[:, self._players])
            parts.append(lists)
        self._refuse_if_large()
        return (
            [joined(lists) for lists in zip(*parts, strict=True)],
            np.concatenate(chances) if chances else np.ones(1),
        )

    def _note_choices(self, counts: FloatArray) -> None:
        """Take note of how many moves the players have, `[E, 2]`."""
        payoffs = np.where((counts > 1).all(axis=1), counts.prod(axis=1), 0.0).max(initial=0.0)
        self._is_at_once |= bool(payoffs)
        if payoffs > self._bounds.payoffs:
            raise SolvingError(
                f"the players have {payoffs:,.0f} joint moves in a position after "
                f"{self._turn - 1} turns, more than {self._bounds.payoffs:,}: its linear program "
                "would take too long"
            )

    def _refuse_if_large(self, more: int = 0) -> None:
        bounds = self._bounds
        if self._num_positions + more / 4 > bounds.positions or (
            self._num_joint > bounds.joint_moves
        ):
            raise SolvingError(
                f"the game is too large: it has more than {bounds.positions:,} positions or "
                f"{bounds.joint_moves:,} joint moves after {self._turn} turns"
            )
        if not self._is_at_once and 0 < bounds.at_once_by <= self._num_positions:
            raise SolvingError(
                f"the players take turns in the first {self._num_positions:,} positions"
            )
        if bounds.is_over():
            raise SolvingError(
                "time is up before all positions of the game are found: there are "
                f"{self._num_positions:,} after {self._turn} turns"
            )
