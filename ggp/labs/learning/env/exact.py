"""What policies that were learnt are worth, exactly, in games whose trees can be built.

A policy is a table: for each information set of a role, probabilities of its actions. Sets come as
an environment shows them: the path, and the mask of what is legal. So whatever chooses by paths or
masks is asked about all sets at once, and what it says is evaluated against best responses.
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
from ggp.solve.tree_builder import MOST_STATES, TreeBounds, build_tree


class Sets(NamedTuple):
    """The information sets in which a role has a choice, S of them.

    Attributes:
        paths: `[S, T, K]`, see `Turn.paths`.
        turns: `[S]` turns of each path.
        masks: `[S, A]` legal actions.
    """

    paths: I32
    turns: NDArray[np.int32]
    masks: Bools


class ProfileWorth(NamedTuple):
    """What a profile of policies is worth, in goal values.

    Attributes:
        values: `[R]` to each role.
        best: `[R]` what each would get by a best response to the others.
        nash_conv: what all would gain so, together; 0 in an equilibrium.
    """

    values: FloatArray
    best: FloatArray
    nash_conv: float


class ExactGame:
    """The whole tree of an environment's game.

    Args:
        env: of all players, with paths.
        most_states: see `ggp.solve.build_tree`.

    Attributes:
        sets: of each role, in the order of `Environment.roles`.

    Raises:
        ConfigError: the environment leaves players out, or has no paths.
        MachineError: the tree is too large.
    """

    def __init__(self, env: Environment, most_states: int = MOST_STATES) -> None:
        if env.roles != env.names.roles or not env.path_shape[2]:
            raise ConfigError("exact values need an environment of all players, with paths")
        self._env = env
        self._tree = build_tree(env.machine, TreeBounds(most_states))
        self._slots: list[IntArray] = []
        self.sets = tuple(self._sets(player) for player in range(len(env.roles)))

    def worth(self, *policies: FloatArray) -> ProfileWorth:
        """What policies are worth, one `[S, A]` for each role.

        Probabilities of actions that are not legal are left out; the others' are scaled to sum up
        to 1, and are uniform where they are all 0.
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
            begun = np.ones(tree.num_subgames)
            strategies.append(np.concatenate([begun, table[owner, slots]]))
        found = evaluate(tree, strategies)
        return ProfileWorth(found.values, found.best, found.nash_conv)

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
                    first = 1 + names.move(machine.move_text(move))
                    tokens[key] = [first, *(1 + len(names.moves) + each for each in sorted(seen))]
                paths[row, turn, : len(tokens[key])] = tokens[key]
        return Sets(paths, lengths, masks)
