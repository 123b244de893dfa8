"""The learning parts: an `Actor` for each role, with a policy, and a `Critic` of states for all.

Both keep the rows of bits of a *segment*, some turns in all lanes, and learn from it in blocks of
lanes, once. Only rows in which there is a choice are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.env.environment import Environment
from ggp.env.kernels import I64, U64
from ggp.env.turn import Turn
from ggp.learn.feature_kernels import NO_ROW, take_choices
from ggp.learn.features import Features, Reader
from ggp.learn.net_kernels import F32
from ggp.learn.nets import Net, Optimiser, Scratch, first_weights
from ggp.learn.policy_kernels import draw, improve
from ggp.machine.mixing import finalised


class Block(NamedTuple):
    """Rows of some lanes of a segment.

    Attributes:
        rows: `[N, W]` their bits; `previous`: `[N]` which of them each follows.
        places: `[N]` which rows of the segment they are.
    """

    rows: U64
    previous: I64
    places: I64


class Steps(NamedTuple):
    """How to learn from a block.

    Attributes:
        rate: of learning.
        temperature: the weight of entropy.
        clip: see `improve`.
    """

    rate: float
    temperature: float
    clip: float


class Actor:
    """The policy of one role while it learns.

    Args:
        env: where it plays.
        role: the role's index in `env.roles`.
        turns: S, of a segment.

    Attributes:
        net: the policy's.
        num_rows: decisions in the segment so far.
        told: `[2]` see `improve`.
    """

    def __init__(
        self, env: Environment, role: int, features: Features, hidden: tuple[int, ...], turns: int
    ) -> None:
        self.role = role
        self.net = Net(features, hidden, features.num_moves)
        self.optimiser = Optimiser(self.net)
        self.told = np.zeros(2, dtype=np.float32)
        self.num_rows = 0
        lanes, most = env.num_lanes, env.num_lanes * turns
        self._reader = Reader(features, lanes, role)
        self._last = np.full(lanes, NO_ROW)
        self._rows: U64 = np.zeros((most, features.num_words), dtype=np.uint64)
        self._lanes, self._turns, self._previous, self._chosen = np.zeros((4, most), dtype=np.int64)
        self._logs = np.zeros(most, dtype=np.float32)
        self._sums = np.zeros((most, self.net.shape.hidden[0]), dtype=np.float32)
        self._scratch = Scratch()

    def begin(self, rng: np.random.Generator) -> None:
        """Draw the first weights."""
        self.net.weights.flat[:] = first_weights(self.net.shape, rng)
        self.optimiser.average[:] = self.net.weights.flat

    def begin_segment(self) -> None:
        """Forget the rows of the last segment."""
        self._last[:] = NO_ROW
        self.num_rows = 0

    def act(self, turn: Turn, number: int, key: int, actions: I64) -> None:
        """Draw a move in each lane in which there is a choice.

        Args:
            number: of the turn in the segment.
            key: random bits.
            actions: `[L, Q]`, of which the role's column is filled in, -1 where there is no choice.
        """
        bits = self._reader.read(turn)
        first, words = self.num_rows, self.net.features.mask_words
        end = take_choices(bits, words, self._last, first, self._lanes, self._previous, self._rows)
        actions[:, self.role] = -1
        if end == first:
            return
        self.num_rows = end
        self._turns[first:end] = number
        self.net.sums(self._rows, self._previous, first, end, self._sums)
        logits = self.net.forward(self._sums[first:end])
        key_bits = finalised(np.array([key], dtype=np.uint64))[0]
        draw(self._rows, words, first, logits, key_bits, self._chosen, self._logs)
        actions[self._lanes[first:end], self.role] = self._chosen[first:end]

    def block(self, low: int, high: int) -> Block:
        """The rows of lanes `low .. high`."""
        num = self.num_rows
        lanes = self._lanes[:num]
        places = np.flatnonzero((lanes >= low) & (lanes < high))
        here = np.full(num + 1, NO_ROW)
        here[places] = np.arange(len(places))
        return Block(self._rows[places], here[self._previous[places]], places)

    def learn(self, low: int, high: int, gains: F32, steps: Steps) -> None:
        """Learn from lanes `low .. high` of the segment.

        Args:
            gains: `[S, high - low]` the role's advantages.
        """
        rows, previous, places = self.block(low, high)
        if not len(rows):
            return
        net = self.net
        sums = self._scratch.take("sums", len(rows), net.shape.hidden[0])
        net.sums(rows, previous, 0, len(rows), sums)
        logits = net.forward(sums)
        improve(
            *(rows, net.features.mask_words, logits, self._chosen[places], self._logs[places]),
            gains[self._turns[places], self._lanes[places] - low],
            *(steps.temperature, steps.clip, self.told),
        )
        slopes = net.backward(logits, self.optimiser.gradient)
        net.backward_sums(rows, previous, slopes, self.optimiser.gradient)
        self.optimiser.step(steps.rate)


class Critic:
    """Expected rewards of all roles, by what the state is.

    Args:
        env: where it watches.
        turns: S, of a segment.
    """

    def __init__(
        self, env: Environment, features: Features, hidden: tuple[int, ...], turns: int
    ) -> None:
        self.net = Net(features, hidden, len(env.roles))
        self.optimiser = Optimiser(self.net)
        self.error = 0.0
        self._reader = Reader(features, env.num_lanes)
        shape = (turns + 1, env.num_lanes, features.num_words)
        self._rows: U64 = np.zeros(shape, dtype=np.uint64)
        self._scratch = Scratch()

    def begin(self, rng: np.random.Generator) -> None:
        """Draw the first weights."""
        self.net.weights.flat[:] = first_weights(self.net.shape, rng)

    def watch(self, turn: Turn, number: int) -> None:
        """Take down the states before turn `number` of the segment."""
        self._rows[number] = self._reader.read(turn)

    def values(self, low: int, high: int) -> F32:
        """`[S + 1, high - low, Q]` what states of some lanes are worth; for `learn` after it."""
        rows = np.ascontiguousarray(self._rows[:, low:high])
        turns, lanes, words = rows.shape
        self._batch = rows.reshape(-1, words)
        self._previous = np.arange(len(self._batch)) - lanes
        self._previous[:lanes] = NO_ROW
        sums = self._scratch.take("sums", len(self._batch), self.net.shape.hidden[0])
        self.net.sums(self._batch, self._previous, 0, len(sums), sums)
        return self.net.forward(sums).reshape(turns, lanes, -1)

    def learn(self, gains: F32, rate: float) -> None:
        """Learn that the states of the last `values` were worth more by `gains`.

        Args:
            gains: `[S, L, Q]`.
        """
        turns, lanes, roles = gains.shape
        slopes = self._scratch.take("slopes", (turns + 1) * lanes, roles)
        np.divide(gains.reshape(-1, roles), -turns * lanes, out=slopes[: turns * lanes])
        slopes[turns * lanes :] = 0
        self.error = float(np.mean(np.square(gains)))
        below = self.net.backward(slopes, self.optimiser.gradient)
        self.net.backward_sums(self._batch, self._previous, below, self.optimiser.gradient)
        self.optimiser.step(rate)
