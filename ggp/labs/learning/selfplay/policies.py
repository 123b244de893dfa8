"""What was learnt: policies, which give probabilities of moves by what a role knows, and draws from
them, and what states are worth by a critic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.belief import PathTree
from ggp.labs.learning.env.exact import Sets
from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.labs.learning.selfplay.features import NO_ROW, Choices, Features, of_paths
from ggp.labs.learning.selfplay.nets import F32, Net, aligned_floats, draw, probabilities
from ggp.labs.learning.selfplay.threads import one_thread
from ggp.machine.arrays import rows_of_bits, segment_ids, words_for
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, Ragged
from ggp.study.names import Names

MIDDLE, HALF = np.float32(50), np.float32(50)
"""Goal values, from 0 to 100, are learnt as rewards from -1 to 1."""

_OVERFLOWS: dict[str, Any] = {"over": "ignore", "invalid": "ignore"}


class Drawing:
    """Draws moves of a role in L lanes, turn by turn.

    The sums of the first layer are kept from one decision of a lane to the next.

    Args:
        net: the policy's.
        lanes: L.
        most: decisions at a time; default: L.

    Attributes:
        choices: the decisions. Somebody has to clear them, or begin anew.
        chosen, logs: of each, the move, and the log of its probability.
    """

    def __init__(self, net: Net, lanes: int, most: int | None = None) -> None:
        self._net = net
        self.choices = Choices(net.features, lanes, most)
        self._sums = aligned_floats(lanes * net.shape.hidden[0]).reshape(lanes, -1)
        most = lanes if most is None else most
        self.chosen: I64 = np.zeros(most, dtype=np.int64)
        self.logs: F32 = np.zeros(most, dtype=np.float32)

    def take(self, lanes: IntArray) -> None:
        """Go on in some lanes only."""
        self.choices.take(lanes)
        self._sums = self._sums[lanes]

    def act(self, bits: U64, key: np.uint64, actions: I64, *, trusted: bool = False) -> None:
        """Draw a move in each lane in which there is a choice.

        Args:
            bits: `[L, W]` what the role knows.
            key: random bits.
            actions: `[L]` filled in where there is a choice.
            trusted: whether weights are known to be of a usual size. Others may be so large that
                sums overflow: even then moves can be drawn.
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
        chosen = self.chosen[first : choices.num_rows]
        draw(rows.masks, logits, key, chosen, self.logs[first : choices.num_rows])
        actions[lanes] = chosen


class LearntPolicy:
    """The policy of one role.

    Args:
        features: what it reads.
        hidden: units of its hidden layers.
        flat: `[N]` float32, the weights.
    """

    def __init__(self, features: Features, hidden: Sequence[int], flat: F32) -> None:
        self.features = features
        self.net = Net(features, hidden, features.num_moves, flat)

    def at(self, rows: U64, temperature: float = 1.0) -> F32:
        """`[N, A]` probabilities of moves, 0 for what is not legal.

        Args:
            rows: `[N, W]` of bits, see `Reader.read`.
            temperature: below 1 makes likely moves likelier; above 0.
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
        """`[N, A]` probabilities of moves after whole paths, see `features.of_paths`."""
        return self.at(of_paths(self.features, mask_bits, paths, turns), temperature)

    def at_sets(self, sets: Sets) -> FloatArray:
        """`[S, A]` probabilities of moves at information sets, as `ExactGame.worth` takes them."""
        rows, bits = np.nonzero(sets.masks)
        num_words = words_for(sets.masks.shape[1])
        masks = rows_of_bits(rows, bits, len(sets.masks), num_words)
        return self.at_paths(masks, sets.paths, sets.turns).astype(np.float64)


class LearntValues:
    """What states are worth to the roles when all of them move by the policies learnt with it.

    Args:
        features: what the critic reads of a state.
        hidden: units of its hidden layers.
        num_roles: Q.
        flat: `[N]` float32, the weights.
    """

    def __init__(
        self, features: Features, hidden: Sequence[int], num_roles: int, flat: F32
    ) -> None:
        self._net = Net(features, hidden, num_roles, flat)

    def at(self, fluents: U64) -> F32:
        """`[L, Q]` goals expected in states, from 0 to 100.

        Args:
            fluents: `[L, W]` the states as packed bits, see `Turn.state_bits`.
        """
        with one_thread(), np.errstate(**_OVERFLOWS):  # see `Drawing.act`
            rewards = np.nan_to_num(self._net(fluents), copy=False)
        goals: F32 = np.clip(MIDDLE + HALF * rewards, MIDDLE - HALF, MIDDLE + HALF)
        return goals


# ------------------------------------------------------------------------
# What nets read of incomplete paths, where moves and percepts are numbered by a machine.
#
# paths (nodes of a `PathTree`) ──▶ rows of bits (`NetPaths`) ──▶ a net ──▶ shares of moves


class NetPaths:
    """What nets read of incomplete paths.

    Args:
        machine, tree: number moves, percepts and paths.
        names: number them for nets.
    """

    def __init__(self, machine: Machine, tree: PathTree, names: Names) -> None:
        self._machine, self._tree, self.names = machine, tree, names
        self._actions: dict[int, int] = {}
        self._seen: dict[int, list[int]] = {}

    def depth(self, path: int) -> int:
        """The number of turns of a path."""
        return self._tree.depth(path)

    def actions(self, moves: IntArray) -> IntArray:
        """`[M]` indices of moves."""
        used, place = np.unique(moves, return_inverse=True)
        found = [self._action(move) for move in used.tolist()]
        return np.array(found, dtype=np.int64)[place]

    def masks(self, legal: Ragged) -> U64:
        """`[N, words]` bits of N lists of moves."""
        owner = segment_ids(legal.offsets)
        words = words_for(len(self.names.moves))
        return rows_of_bits(owner, self.actions(legal.values), len(legal.offsets) - 1, words)

    def rows(self, features: Features, paths: IntArray, masks: U64 | None = None) -> U64:
        """`[N, W]` the rows of N paths.

        Args:
            masks: `[N, words]` what is legal after each; default: nothing.
        """
        if masks is None:
            masks = np.zeros((len(paths), features.mask_words), dtype=np.uint64)
        depths = self._tree.depths(paths)
        return of_paths(features, masks, self._tokens(paths, depths), depths.astype(np.int32))

    def shares(
        self, policy: LearntPolicy, paths: IntArray, legal: Ragged, temperature: float = 1.0
    ) -> FloatArray:
        """`[K]` probabilities of moves by a policy that reads paths; those of a path sum to 1.

        Args:
            paths: N of them.
            legal: K moves, in N lists.
        """
        owner, rows = (
            segment_ids(legal.offsets),
            self.rows(policy.features, paths, self.masks(legal)),
        )
        found = policy.at(rows, temperature)[owner, self.actions(legal.values)].astype(np.float64)
        return np.asarray(found / np.bincount(owner, found, len(paths))[owner])

    def _tokens(self, paths: IntArray, depths: IntArray) -> I32:
        """`[N, T, K]` tokens of paths, as `Turn.paths`; unknown ones are left out."""
        steps = self._tree.beginnings(paths)[1:]
        if not steps:
            return np.zeros((len(paths), 0, 0), dtype=np.int32)
        # All of them end with the last step; shorter ones begin later.
        turns, late = np.arange(len(steps)), len(steps) - depths[:, None]
        within = turns < depths[:, None]
        places = np.minimum(turns + late, len(steps) - 1)
        last = self._tree.last_turns(np.take_along_axis(np.stack(steps, axis=1), places, 1)[within])
        moves, percepts = last[:, 0] - UNKNOWN, last[:, 1] - UNKNOWN
        # A turn is often that of many paths.
        keys = moves + (1 + moves.max()) * percepts
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        told = [self._told(*turn) for turn in last[first, :2].tolist()]
        table = np.zeros((len(told), max(map(len, told))), dtype=np.int32)
        for row, tokens in zip(table, told, strict=True):
            row[: len(tokens)] = tokens
        found = np.zeros((*within.shape, table.shape[1]), dtype=np.int32)
        found[within] = table[number]
        return found

    def _told(self, move: int, percepts: int) -> list[int]:
        """The tokens of a turn."""
        tokens = [] if move == UNKNOWN else [1 + self._action(move)]
        return tokens if percepts == UNKNOWN else tokens + self._percepts(percepts)

    def _action(self, move: int) -> int:
        if move not in self._actions:
            self._actions[move] = self.names.move(self._machine.move_text(move))
        return self._actions[move]

    def _percepts(self, percepts: int) -> list[int]:
        if percepts not in self._seen:
            found = map(self.names.percept, self._machine.percept_texts(percepts))
            self._seen[percepts] = [1 + len(self.names.moves) + each for each in found]
        return self._seen[percepts]
