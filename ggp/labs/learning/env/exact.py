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

from ggp.errors import ConfigError
from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.env.kernels import I32, Bools
from ggp.machine.base import FloatArray, IntArray
from ggp.solve.forest import evaluate
from ggp.solve.tree_builder import MAX_STATES, TreeBounds, build_tree


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
        names, machine, role_sets = env.names, env.machine, tree.sets[player]
        texts = map(machine.move_text, role_sets.moves.tolist())
        slots = np.array([names.move(text) for text in texts], dtype=np.int64)
        self._slots.append(slots)
        masks = np.zeros((len(role_sets), len(names.moves)), dtype=np.bool_)
        masks[np.repeat(np.arange(len(role_sets)), role_sets.counts), slots] = True
        _, _, turns, width = env.path_shape
        paths = np.zeros((len(role_sets), turns, width), dtype=np.int32)
        lengths = tree.paths.depths(role_sets.paths).astype(np.int32)
        tokens: dict[tuple[int, int], list[int]] = {}
        for row, node in enumerate(role_sets.paths.tolist()):
            parts = tree.paths.beginnings(np.array([node]))[1:]
            for turn, part in enumerate(parts):
                move, percepts, _ = tree.paths.last_turns(part)[0].tolist()
                key = (move, percepts)
                if key not in tokens:
                    seen = [names.percept(text) for text in machine.percept_texts(percepts)]
                    token = 1 + names.move(machine.move_text(move))
                    tokens[key] = [token, *(1 + len(names.moves) + k for k in sorted(seen))]
                paths[row, turn, : len(tokens[key])] = tokens[key]
        return Sets(paths, lengths, masks)
