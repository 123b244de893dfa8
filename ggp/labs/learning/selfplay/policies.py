"""Learnt policies and values: probabilities of moves, draws from them, and expected goals.

A policy reads a role's knowledge as rows of bits (`features`), and returns probabilities of its
moves (`LearntPolicy`) or draws moves in many lanes (`Drawing`). A critic reads a state, and returns
the expected goal of each role (`LearntValues`). Both come from a `Learner` or from a file.
`NetPaths` makes the rows of bits for players, who have paths in a `PathTree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.labs.learning.env.exact import PathTokens, Sets
from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.labs.learning.selfplay.features import NO_ROW, Choices, Features, of_paths
from ggp.labs.learning.selfplay.nets import F32, Net, aligned_floats, draw, probabilities
from ggp.labs.learning.threads import one_thread
from ggp.machine.arrays import rows_of_bits, segment_ids, words_for
from ggp.machine.base import FloatArray, IntArray, Ragged

MIDDLE, HALF = np.float32(50), np.float32(50)
"""Nets learn rewards from -1 to 1, which stand for goal values from 0 to 100."""

_OVERFLOWS: dict[str, Any] = {"over": "ignore", "invalid": "ignore"}


class Drawing:
    """Draws moves of a role in L lanes, turn by turn.

    The sums of the first layer are kept from one decision of a lane to the next.

    Args:
        net: the net of the policy.
        lanes: L.
        capacity: the most decisions that are kept; default: L.

    Attributes:
        choices: the decisions so far. The caller clears them, or begins again.
        moves, logs: the move of each decision, and the log of its probability.
    """

    def __init__(self, net: Net, lanes: int, capacity: int | None = None) -> None:
        self._net = net
        self.choices = Choices(net.features, lanes, capacity)
        self._sums = aligned_floats(lanes * net.shape.hidden[0]).reshape(lanes, -1)
        capacity = lanes if capacity is None else capacity
        self.moves: I64 = np.zeros(capacity, dtype=np.int64)
        self.logs: F32 = np.zeros(capacity, dtype=np.float32)

    def take(self, lanes: IntArray) -> None:
        """Drop all lanes but these."""
        self.choices.take(lanes)
        self._sums = self._sums[lanes]

    def act(self, bits: U64, key: np.uint64, actions: I64, *, trusted: bool = False) -> None:
        """Draw a move in each lane with a choice.

        Args:
            bits: `[L, W]` the role's knowledge.
            key: random bits.
            actions: `[L]`, filled in where there is a choice.
            trusted: whether the weights are of a usual size. The weights of a file may be so large
                that sums overflow; moves are drawn even then.
        """
        choices = self.choices
        first = choices.num_rows
        rows = choices.add(bits)
        lanes = choices.lanes[first:]
        if not len(lanes):
            return
        self._net.sums(rows, np.where(rows.previous < 0, NO_ROW, lanes), lanes, self._sums)
        with np.errstate(**({} if trusted else _OVERFLOWS)):
            logits = self._net.forward(self._sums, lanes)
        if not trusted:
            np.nan_to_num(logits, copy=False)
        moves = self.moves[first : choices.num_rows]
        draw(rows.masks, logits, key, moves, self.logs[first : choices.num_rows])
        actions[lanes] = moves


class LearntPolicy:
    """The policy of one role.

        >>> from ggp.env import make
        >>> from ggp.learn import Learner
        >>> env = make("kuhn_poker", 512)
        >>> policy = Learner(env, seed=1).policies()["player1"]
        >>> turn = env.reset(seed=1)
        >>> turn = env.step(env.sample_legal())  # the cards are dealt
        >>> policy.at_paths(turn.mask_bits[:, 0], turn.paths[:, 0], turn.turns).shape
        (512, 5)

    Args:
        features: the bits that its net reads.
        hidden: units of the hidden layers.
        flat: `[N]` float32, the weights.
    """

    def __init__(self, features: Features, hidden: Sequence[int], flat: F32) -> None:
        self.features = features
        self.net = Net(features, hidden, features.num_moves, flat)

    def at(self, rows: U64, temperature: float = 1.0) -> F32:
        """`[N, A]` probabilities of moves, 0 for illegal ones.

        Args:
            rows: `[N, W]` rows of bits, see `Reader.read`.
            temperature: above 0; below 1, likely moves become likelier.
        """
        with np.errstate(**_OVERFLOWS):  # see `Drawing.act`
            logits = self.net(rows)
            logits /= np.float32(temperature)
        np.nan_to_num(logits, copy=False)
        probabilities(rows, self.features.mask_words, logits)
        return logits

    def at_paths(
        self, mask_bits: U64, paths: I32, turns: NDArray[np.int32], temperature: float = 1.0
    ) -> F32:
        """`[N, A]` probabilities of moves at the end of whole paths, see `features.of_paths`."""
        return self.at(of_paths(self.features, mask_bits, paths, turns), temperature)

    def at_sets(self, sets: Sets) -> FloatArray:
        """`[S, A]` probabilities of moves at information sets, as `ExactGame.worth` takes them."""
        rows, bits = np.nonzero(sets.masks)
        num_words = words_for(sets.masks.shape[1])
        masks = rows_of_bits(rows, bits, len(sets.masks), num_words)
        return self.at_paths(masks, sets.paths, sets.turns).astype(np.float64)


class LearntValues:
    """Values of states for all roles, when every role moves by the policy learnt with them.

    Args:
        features: the bits of a state that the critic reads.
        hidden: units of the hidden layers.
        num_roles: Q.
        flat: `[N]` float32, the weights.
    """

    def __init__(
        self, features: Features, hidden: Sequence[int], num_roles: int, flat: F32
    ) -> None:
        self._net = Net(features, hidden, num_roles, flat)

    def at(self, fluents: U64) -> F32:
        """`[L, Q]` expected goal values, from 0 to 100.

        Args:
            fluents: `[L, W]` the states as packed bits, see `Turn.state_bits`.
        """
        with one_thread(), np.errstate(**_OVERFLOWS):  # see `Drawing.act`
            rewards = np.nan_to_num(self._net(fluents), copy=False)
        goals: F32 = np.clip(MIDDLE + HALF * rewards, MIDDLE - HALF, MIDDLE + HALF)
        return goals


# ------------------------------------------------------------------------
# Rows of bits for incomplete paths whose moves and percepts are ids of a machine.
#
# paths (nodes of a `PathTree`) ──▶ rows of bits (`NetPaths`) ──▶ a net ──▶ probabilities of moves


class NetPaths(PathTokens):
    """Turns incomplete paths into the rows of bits that nets read."""

    def shares(
        self, policy: LearntPolicy, paths: IntArray, legal: Ragged, temperature: float = 1.0
    ) -> FloatArray:
        """`[K]` probabilities of moves by a policy that reads paths; they sum to 1 for each path.

        Args:
            paths: `[N]` path ids.
            legal: K moves, in N lists.
        """
        owner, depths = segment_ids(legal.offsets), self._tree.depths(paths)
        tokens, turns = self.tokens(paths, depths), depths.astype(np.int32)
        rows = of_paths(policy.features, self.masks(legal), tokens, turns)
        shares = policy.at(rows, temperature)[owner, self.actions(legal.values)].astype(np.float64)
        return np.asarray(shares / np.bincount(owner, shares, len(paths))[owner])
