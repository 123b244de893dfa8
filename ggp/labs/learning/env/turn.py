"""The output of an environment after a turn: arrays of L lanes, for the Q roles that choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ggp.labs.learning.env.kernels import I32, I64, U8, U64, Bools, show_moves, spread
from ggp.machine.arrays import offsets_of
from ggp.machine.base import Ragged
from ggp.machine.propnet.play.kernels.block_kernels import count_bits, list_bits


@dataclass(frozen=True)
class Turn:
    """The situation of all lanes after a turn, or at the start of an episode.

    Rewards and ends belong to the turn that was just made, everything else to the present state,
    which is the initial one in a lane that restarted. Properties are computed on first use. A turn
    never changes, except for `paths`.

        >>> from ggp.env import make
        >>> turn = make("kuhn_poker", lanes=2).reset(seed=1)
        >>> turn.masks.sum(axis=2).tolist()  # legal actions of each role: here they await the cards
        [[1, 1], [1, 1]]

    Attributes:
        rewards: `[L, Q]` float32, the goal values (0 to 100) where the game is over, else 0.
        terminated: `[L]` bool, whether the game is over; stays true until the lane restarts.
        truncated: `[L]` bool, whether it was cut off after `max_turns` turns instead.
        turns: `[L]` int32, turns of the episode so far: the length of every role's path.
        episodes: `[L]` int64, index of the episode in its lane, from 0.
        moves: `[L, Q]` int32, the last action of each role, -1 at the beginning.
        mask_bits: `[L, Q, ceil(A / 64)]` uint64, legal actions: bit a % 64 of word a // 64.
        percept_bits: `[L, Q, ceil(P / 64)]` uint64, the last percepts of each role.
        paths: `[L, Q, T, K]` int32, all moves and percepts of each role: for each turn the token of
            its move, then the tokens of its percepts, ascending; 0 is padding. The token of a move
            is 1 + its index, that of a percept 1 + A + its index. **The array belongs to the
            environment and changes with the next turn**: copy it to keep it. `[L, Q, 0, 0]` in
            environments without paths.
        num_moves, num_percepts, num_fluents: A, P, F.
        fluent_words: returns the bits of the fluents.
    """

    rewards: NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    turns: I32
    episodes: I64
    moves: I32
    mask_bits: U64
    percept_bits: U64
    paths: I32
    num_moves: int
    num_percepts: int
    num_fluents: int
    fluent_words: Callable[[], U64]

    @property
    def ended(self) -> Bools:
        """`[L]` whether the episode is over, terminated or truncated."""
        return self.terminated | self.truncated

    @cached_property
    def masks(self) -> Bools:
        """`[L, Q, A]` bool, the legal actions; all false in a lane that is over."""
        return _bytes(self.mask_bits, self.num_moves).view(np.bool_)

    @cached_property
    def legal(self) -> Ragged:
        """The legal actions as L * Q ascending lists; role q in lane l has list l * Q + q."""
        words = self.mask_bits.reshape(-1, self.mask_bits.shape[-1])
        counts = np.zeros(len(words), dtype=np.int64)
        count_bits(words, counts)
        values = np.zeros(counts.sum(), dtype=np.int64)
        list_bits(words, np.arange(64 * words.shape[1]), values)
        return Ragged(offsets_of(counts), values)

    @cached_property
    def observations(self) -> U8:
        """`[L, Q, A + P]` uint8, ones for each role's last move and percepts; 0 at the start."""
        out = np.zeros((*self.moves.shape, self.num_moves + self.num_percepts), dtype=np.uint8)
        rows = out.reshape(-1, out.shape[-1])
        spread(self.percept_bits.reshape(len(rows), -1), self.num_moves, rows)
        show_moves(self.moves.ravel(), rows)
        return out

    @cached_property
    def state_bits(self) -> U64:
        """`[L, ceil(F / 64)]` uint64, the fluents that hold."""
        return self.fluent_words()

    @cached_property
    def state_tensor(self) -> U8:
        """`[L, F]` uint8, the whole state: for critics, not for players, who may not see it."""
        return _bytes(self.state_bits, self.num_fluents)


def _bytes(words: U64, count: int) -> U8:
    """`[..., count]` the first bits of packed words, one byte each."""
    out = np.empty((*words.shape[:-1], count), dtype=np.uint8)
    spread(words.reshape(-1, words.shape[-1]), 0, out.reshape(-1, count))
    return out
