"""Exact values of learnt policies, in games whose whole tree can be built.

`ExactGame` builds the tree of an environment's game and lists the information sets of each role in
the form of the environment: the path, and the mask of legal actions. A learner fills in a table
with the probabilities of its actions at all sets; `worth` evaluates one table for each role, and
compares them with best responses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.belief import PathTree
from ggp.errors import ConfigError
from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.env.kernels import I32, U64, Bools
from ggp.machine.arrays import rows_of_bits, segment_ids, words_for
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, Ragged
from ggp.solve.forest import evaluate
from ggp.solve.tree_builder import MAX_STATES, TreeBounds, build_tree
from ggp.study.names import Names


class Sets(NamedTuple):
    """The S information sets in which a role has a choice.

    Attributes:
        paths: `[S, T, K]`, see `Turn.paths`.
        turns: `[S]` number of turns of each path.
        masks: `[S, A]` legal actions.
    """

    paths: I32
    turns: NDArray[np.int32]
    masks: Bools


class PathTokens:
    """Turns incomplete paths into the tokens of `Turn.paths`, and moves into actions.

    Args:
        machine, tree: the ids of moves, percepts and paths.
        names: the indices of moves and percepts.
    """

    def __init__(self, machine: Machine, tree: PathTree, names: Names) -> None:
        self._machine, self._tree, self.names = machine, tree, names
        self._actions: dict[int, int] = {}
        self._percept_tokens: dict[int, list[int]] = {}

    def actions(self, moves: IntArray) -> IntArray:
        """`[M]` indices of `[M]` move ids."""
        distinct, inverse = np.unique(moves, return_inverse=True)
        actions = [self._action(move) for move in distinct.tolist()]
        return np.array(actions, dtype=np.int64)[inverse]

    def masks(self, legal: Ragged) -> U64:
        """`[N, words]` bits of N lists of moves."""
        owner = segment_ids(legal.offsets)
        words = words_for(len(self.names.moves))
        return rows_of_bits(owner, self.actions(legal.values), len(legal.offsets) - 1, words)

    def tokens(self, paths: IntArray, depths: IntArray) -> I32:
        """`[N, T, K]` tokens of paths, as `Turn.paths`; unknown moves and percepts are left out."""
        steps = self._tree.beginnings(paths)[1:]
        if not steps:
            return np.zeros((len(paths), 0, 0), dtype=np.int32)
        # All paths end with the last step; shorter ones begin later.
        turns, late = np.arange(len(steps)), len(steps) - depths[:, None]
        filled = turns < depths[:, None]
        columns = np.minimum(turns + late, len(steps) - 1)
        nodes = np.take_along_axis(np.stack(steps, axis=1), columns, 1)[filled]
        last = self._tree.last_turns(nodes)
        moves, percepts = last[:, 0] - UNKNOWN, last[:, 1] - UNKNOWN
        # Many paths share a turn: each distinct turn is translated once.
        keys = moves + (1 + moves.max()) * percepts
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        turn_tokens = [self._turn_tokens(*turn) for turn in last[first, :2].tolist()]
        table = np.zeros((len(turn_tokens), max(map(len, turn_tokens))), dtype=np.int32)
        for row, tokens in zip(table, turn_tokens, strict=True):
            row[: len(tokens)] = tokens
        path_tokens = np.zeros((*filled.shape, table.shape[1]), dtype=np.int32)
        path_tokens[filled] = table[inverse]
        return path_tokens

    def _turn_tokens(self, move: int, percepts: int) -> list[int]:
        """The tokens of a turn."""
        tokens = [] if move == UNKNOWN else [1 + self._action(move)]
        return tokens if percepts == UNKNOWN else tokens + self._tokens_of_percepts(percepts)

    def _action(self, move: int) -> int:
        if move not in self._actions:
            self._actions[move] = self.names.move(self._machine.move_text(move))
        return self._actions[move]

    def _tokens_of_percepts(self, percepts: int) -> list[int]:
        if percepts not in self._percept_tokens:
            indices = map(self.names.percept, self._machine.percept_texts(percepts))
            self._percept_tokens[percepts] = [1 + len(self.names.moves) + k for k in indices]
        return self._percept_tokens[percepts]


class ProfileWorth(NamedTuple):
    """The value of a profile of policies, in goal values.

    Attributes:
        values: `[R]` expected goal value of each role.
        best: `[R]` expected goal value of each role if it plays a best response to the others.
        nash_conv: sum of the gains of all best responses; 0 in an equilibrium.
    """

    values: FloatArray
    best: FloatArray
    nash_conv: float


class ExactGame:
    """The whole tree of an environment's game.

    Args:
        env: an environment in which all players choose, with paths.
        most_states: see `ggp.solve.build_tree`.

    Attributes:
        sets: the `Sets` of each role, in the order of `Environment.roles`.

    Raises:
        ConfigError: the environment leaves players out, or has no paths.
        MachineError: the tree is too large.
    """

    def __init__(self, env: Environment, most_states: int = MAX_STATES) -> None:
        if env.roles != env.names.roles or not env.path_shape[2]:
            raise ConfigError("exact values need an environment of all players, with paths")
        self._env = env
        self._tree = build_tree(env.machine, TreeBounds(most_states))
        self._slots: list[IntArray] = []
        self.sets = tuple(self._sets(player) for player in range(len(env.roles)))

    def worth(self, *policies: FloatArray) -> ProfileWorth:
        """The value of a profile, given one `[S, A]` table for each role.

        Illegal actions are ignored; the probabilities of the legal ones are scaled to sum to 1, or
        are uniform where all of them are 0.
        """
        tree, strategies = self._tree, []
        for sets, slots, role_sets, policy in zip(
            self.sets, self._slots, tree.sets, policies, strict=True
        ):
            table = np.where(sets.masks, np.asarray(policy, dtype=np.float64), 0.0)
            total = table.sum(axis=1, keepdims=True)
            uniform = sets.masks / sets.masks.sum(axis=1, keepdims=True)
            table = np.where(total > 0, table / np.where(total > 0, total, 1.0), uniform)
            owner = np.repeat(np.arange(len(sets.masks)), role_sets.counts)
            roots = np.ones(tree.num_subgames)
            strategies.append(np.concatenate([roots, table[owner, slots]]))
        evaluation = evaluate(tree, strategies)
        return ProfileWorth(evaluation.values, evaluation.best, evaluation.nash_conv)

    def _sets(self, player: int) -> Sets:
        env, tree = self._env, self._tree
        role_sets, tokens = tree.sets[player], PathTokens(env.machine, tree.paths, env.names)
        slots = tokens.actions(role_sets.moves)
        self._slots.append(slots)
        masks = np.zeros((len(role_sets), len(env.names.moves)), dtype=np.bool_)
        masks[np.repeat(np.arange(len(role_sets)), role_sets.counts), slots] = True
        lengths = tree.paths.depths(role_sets.paths)
        ids = tokens.tokens(role_sets.paths, lengths)
        paths = np.zeros((len(role_sets), *env.path_shape[2:]), dtype=np.int32)
        paths[:, : ids.shape[1], : ids.shape[2]] = ids
        return Sets(paths, lengths.astype(np.int32), masks)
