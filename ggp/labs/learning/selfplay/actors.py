"""The learning parts: an `Actor` for each role, with a policy, and a `Critic` of states for all.

Both keep the rows of a *segment*, some turns in all lanes, and learn from it in blocks of lanes,
once. Only rows in which there is a choice are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.env.kernels import I64, U64
from ggp.labs.learning.env.turn import Turn
from ggp.labs.learning.selfplay.features import (
    Choices,
    Features,
    Joined,
    Reader,
    features_of_states,
)
from ggp.labs.learning.selfplay.net_kernels import F32, improve
from ggp.labs.learning.selfplay.nets import Net, Optimiser, Scratch, first_weights
from ggp.labs.learning.selfplay.policies import Drawing, LearntValues
from ggp.machine.mixing import finalised


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
        features: what it reads.
        net: the policy's.
        num_rows: decisions in the segment so far.
        told: `[2]` see `improve`.
    """

    def __init__(
        self, env: Environment, role: int, features: Features, hidden: tuple[int, ...], turns: int
    ) -> None:
        self.role, self.features = role, features
        self.net = Net(features, hidden, features.num_moves)
        self.optimiser = Optimiser(self.net)
        self.told = np.zeros(2, dtype=np.float32)
        lanes, most = env.num_lanes, env.num_lanes * turns
        self._reader = Reader(features, lanes, role)
        self._drawing = Drawing(self.net, lanes, most)
        self._turns: I64 = np.zeros(most, dtype=np.int64)
        self._every = np.arange(most)
        self._spare: F32 = np.zeros((2, features.num_moves), dtype=np.float32)
        self._scratch = Scratch()

    @property
    def num_rows(self) -> int:
        return self._drawing.choices.num_rows

    def begin(self, rng: np.random.Generator) -> None:
        """Draw the first weights."""
        self.net.weights.flat[:] = first_weights(self.net.shape, rng)
        self.optimiser.average[:] = self.net.weights.flat

    def begin_segment(self) -> None:
        """Forget the rows of the last segment."""
        self._drawing.choices.begin()

    @property
    def known(self) -> U64:
        """`[L, W]` what the role knows, as bits, as of the last turn that it observed."""
        return self._reader.rows

    def observe(self, turn: Turn) -> None:
        """Take note of a turn; of each one once, in order."""
        self._reader.read(turn)

    def act(self, number: int, key: int, actions: I64) -> None:
        """Draw a move in each lane in which there is a choice.

        Args:
            number: of the turn in the segment.
            key: random bits.
            actions: `[L, Q]`, of which the role's column is filled in, -1 where there is no choice.
        """
        first, own = self.num_rows, actions[:, self.role]
        own[:] = -1
        key_bits = finalised(np.array([key], dtype=np.uint64))[0]
        self._drawing.act(self.known, key_bits, own, trusted=True)
        self._turns[first : self.num_rows] = number

    def end_segment(self, size: int) -> None:
        """Prepare to `learn` from blocks of `size` lanes."""
        self._blocks = self._drawing.choices.blocks(size)

    def learn(self, number: int, low: int, gains: F32, steps: Steps) -> None:
        """Learn from a block of the segment.

        Args:
            number: of the block.
            low: its first lane.
            gains: `[S, size]` the role's advantages.
        """
        rows, net, drawing = self._blocks[number], self.net, self._drawing
        order = rows.order
        if not len(order):
            return
        sums = self._scratch.take("sums", len(order), net.shape.hidden[0])
        places = self._every[: len(order)]
        net.sums(rows, rows.previous, places, sums)
        logits = net.forward(sums, places)
        improve(
            rows.masks,
            logits,
            drawing.chosen[order],
            drawing.logs[order],
            gains[self._turns[order], drawing.choices.lanes[order] - low],
            steps.temperature,
            steps.clip,
            self._spare,
            self.told,
        )
        slopes = net.backward(logits, self.optimiser.gradient)
        net.backward_sums(rows, slopes, self.optimiser.gradient)
        self.optimiser.step(steps.rate)


class Critic:
    """Expected rewards of all roles, by what the state is, and what roles know.

    The state alone may not say what a role has found out, and so what it will do (A. Baisero, C.
    Amato, *Unbiased Asymmetric Reinforcement Learning under Partial Observability*, AAMAS 2022). In
    number_guessing no fluent remembers the questions.

    Args:
        env: where it watches.
        actors: of roles whose knowledge it reads; they have observed each turn that it watches.
        turns: S, of a segment.
    """

    def __init__(
        self,
        env: Environment,
        actors: Sequence[Actor],
        hidden: tuple[int, ...],
        turns: int,
    ) -> None:
        # Where everybody knows the state, there is nothing else to know.
        self._actors = [actor for actor in actors if not actor.features.reads_state]
        self._of_states = features_of_states(env.names)
        features = Joined([*(actor.features for actor in self._actors), self._of_states])
        self.net = Net(features, hidden, len(env.roles))
        self.optimiser = Optimiser(self.net)
        self.error = 0.0
        self._seen: U64 = np.zeros((env.num_lanes, features.num_words), dtype=np.uint64)
        self._turns, most = turns, (turns + 1) * env.num_lanes
        self._states = Choices(features, env.num_lanes, most)
        self._every = np.arange(most)
        self._scratch = Scratch()

    @property
    def num_paths(self) -> int:
        """Of how many roles it reads what they know."""
        return len(self._actors)

    def learnt(self) -> LearntValues | None:
        """What states are worth, by averages of the weights; None if more than states is read."""
        if self._actors:
            return None
        shape, flat = self.net.shape, self.optimiser.average
        return LearntValues(self._of_states, shape.hidden, shape.outputs, flat.copy())

    def begin(self, rng: np.random.Generator) -> None:
        """Draw the first weights."""
        self.net.weights.flat[:] = first_weights(self.net.shape, rng)

    def begin_segment(self) -> None:
        """Forget the states of the last segment."""
        self._states.begin()

    def watch(self, turn: Turn) -> None:
        """Take down the states before a turn, and what actors know."""
        np.concatenate(
            [*(actor.known for actor in self._actors), turn.state_bits], axis=1, out=self._seen
        )
        self._states.add(self._seen)

    def end_segment(self, size: int) -> None:
        """Prepare for `values` of blocks of `size` lanes."""
        self._blocks = self._states.blocks(size)

    def values(self, number: int) -> F32:
        """`[S + 1, size, Q]` what the states of a block are worth; for `learn` after it."""
        self._rows = rows = self._blocks[number]
        places = self._every[: len(rows.order)]
        sums = self._scratch.take("sums", len(places), self.net.shape.hidden[0])
        self.net.sums(rows, rows.previous, places, sums)
        roles = self.net.shape.outputs
        return self.net.forward(sums, places).reshape(self._turns + 1, -1, roles)

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
        self.net.backward_sums(self._rows, below, self.optimiser.gradient)
        self.optimiser.step(rate)
