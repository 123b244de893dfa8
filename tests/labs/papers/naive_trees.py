"""Slow, plain twins of the synthetic trees and their players: dictionaries and recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from scipy.optimize import linprog

from ggp.labs.papers.reproduce.paper_003.trees import SyntheticTree, TreeModel
from ggp.machine.base import FloatArray

Set = tuple[int, int]
"""A node, and the first world of an information set in it."""


def player_of(node: int) -> int:
    return (node.bit_length() - 1) % 2


def is_leaf(tree: SyntheticTree, node: int) -> bool:
    return node >= 1 << tree.depth


def worlds_of(tree: SyntheticTree) -> range:
    return range(tree.payoffs.shape[1])


def sets_of(tree: SyntheticTree, player: int) -> dict[Set, list[int]]:
    """The worlds of every information set of a player."""
    by_set: dict[Set, list[int]] = {}
    for node in range(1, 1 << tree.depth):
        if player_of(node) == player:
            for world in worlds_of(tree):
                by_set.setdefault((node, int(tree.set_of[node, world])), []).append(world)
    return by_set


def drawn_partition(model: TreeModel, rng: np.random.Generator, moves: int) -> list[list[int]]:
    """The sets of one own world after a player was to move so often, as the paper says it."""

    def broken(worlds: list[int]) -> list[list[int]]:
        if len(worlds) > 1 and rng.random() < model.disambiguation:
            half = len(worlds) // 2
            return [*broken(worlds[:half]), *broken(worlds[half:])]
        return [worlds]

    sets = [list(range(model.worlds))]
    for _ in range(moves):
        sets = [part for worlds in sets for part in broken(worlds)]
    return sets


def score(tree: SyntheticTree, strategy: FloatArray) -> float:
    """The expected payoff of the first player."""

    def value(node: int, world: int) -> float:
        if is_leaf(tree, node):
            return float(tree.payoffs[node - (1 << tree.depth), world])
        p = strategy[node, world]
        return float(p * value(2 * node, world) + (1 - p) * value(2 * node + 1, world))

    return sum(value(1, world) for world in worlds_of(tree)) / len(worlds_of(tree))


def clairvoyant(tree: SyntheticTree, node: int, world: int) -> float:
    """The value for the first player where both know the world."""
    if is_leaf(tree, node):
        return float(tree.payoffs[node - (1 << tree.depth), world])
    values = [clairvoyant(tree, child, world) for child in (2 * node, 2 * node + 1)]
    return min(values) if player_of(node) else max(values)


def pure_profiles(tree: SyntheticTree, strategy: FloatArray, player: int) -> Iterator[FloatArray]:
    """A profile with every pure strategy of a player in its place."""
    sets = sets_of(tree, player)
    for moves in product((0.0, 1.0), repeat=len(sets)):
        profile = strategy.copy()
        for ((node, _), worlds), move in zip(sets.items(), moves, strict=True):
            profile[node, worlds] = move
        yield profile


def value_by_linear_program(tree: SyntheticTree) -> float:
    """The value of the game for the first player, by its sequence form (Koller et al. 1996)."""
    sequences = [_sequences(tree, player) for player in range(2)]
    numbers = [{s: k for k, s in enumerate(own_sequences)} for own_sequences in sequences]
    payoffs = np.zeros((len(sequences[0]), len(sequences[1])))
    for world in worlds_of(tree):
        for leaf in range(1 << tree.depth, 2 << tree.depth):
            row, column = (numbers[player][_last(tree, leaf, world, player)] for player in range(2))
            payoffs[row, column] += tree.payoffs[leaf - (1 << tree.depth), world]
    payoffs /= len(worlds_of(tree))
    mover, opponent = (_constraints(tree, player, numbers[player]) for player in range(2))
    # max over x >= 0 with own x = e of min over y; of the dual variables v: other' v <= payoffs' x.
    num_x, num_v = payoffs.shape[0], len(opponent)
    goal = np.zeros(num_x + num_v)
    goal[num_x] = -1.0
    first = np.zeros(len(mover))
    first[0] = 1.0
    solution = linprog(
        goal,
        A_ub=np.hstack([-payoffs.T, opponent.T]),
        b_ub=np.zeros(payoffs.shape[1]),
        A_eq=np.hstack([mover, np.zeros((len(mover), num_v))]),
        b_eq=first,
        bounds=[(0, None)] * num_x + [(None, None)] * num_v,
    )
    assert solution.status == 0
    return -float(solution.fun)


_Sequence = tuple[int, ...]
"""Node, first world of the set, move; empty at the start."""


def _sequences(tree: SyntheticTree, player: int) -> list[_Sequence]:
    return [(), *((*key, move) for key in sets_of(tree, player) for move in range(2))]


def _last(tree: SyntheticTree, node: int, world: int, player: int) -> _Sequence:
    """The last move of a player on the way to a node."""
    while node > 1:
        parent = node // 2
        if player_of(parent) == player:
            return parent, int(tree.set_of[parent, world]), node % 2
        node = parent
    return ()


def _constraints(tree: SyntheticTree, player: int, numbers: dict[_Sequence, int]) -> FloatArray:
    rows: list[Sequence[float]] = [[1.0] + [0.0] * (len(numbers) - 1)]
    for (node, first), worlds in sets_of(tree, player).items():
        row = [0.0] * len(numbers)
        row[numbers[_last(tree, node, worlds[0], player)]] = -1.0
        for move in range(2):
            row[numbers[node, first, move]] = 1.0
        rows.append(row)
    return np.array(rows)
