"""Writes a game's tree in Gambit's format for extensive games (`.efg`), which OpenSpiel also reads.

A node is written before its children, in a depth-first walk. Forced moves vanish. In a joint move
chance comes first, then the players in the order of the rules; later movers do not see earlier
choices, because their nodes are in one information set. A merged node is written once for every
path that leads to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from ggp.errors import SolvingError
from ggp.solve.tree import GameTree, LayerChoices

MAX_NODES = 1_000_000
"""Greatest number of nodes in a file."""


def efg_lines(tree: GameTree, title: str, most_nodes: int = MAX_NODES) -> Iterator[str]:
    """The lines of the file.

    Args:
        tree: a tree with its layers, and without subgames split off.
        title: the title of the game.

    Raises:
        SolvingError: there are more than `most_nodes`.
    """
    yield f"EFG 2 R {_quoted(title)} {{ {' '.join(map(_quoted, tree.names))} }}"
    yield _quoted("")
    writer = _Writer(tree)
    # Nodes still to be written: layer, node, the actors that have chosen, the joint move so far.
    waiting = [(0, 0, 0, 0)]
    num_nodes = 0
    while waiting:
        line, children = writer.node(*waiting.pop())
        if line is not None:
            num_nodes += 1
            if num_nodes > most_nodes:
                raise SolvingError(
                    f"the tree of {title} has more than {most_nodes:,} nodes; "
                    "it is too large for a file"
                )
            yield line
        waiting += reversed(children)


_Place = tuple[int, int, int, int]


class _Writer:
    def __init__(self, tree: GameTree) -> None:
        self._tree = tree
        chance = tree.machine.random_role
        self._actors = ([] if chance is None else [chance]) + list(tree.players)
        self._outcomes: dict[tuple[float, ...], int] = {}
        self._num_chance = 0

    def node(self, depth: int, node: int, turn: int, joint: int) -> tuple[str | None, list[_Place]]:
        """The line of a node, None if nobody has a choice, and the nodes after it."""
        layer = self._tree.layers[depth]
        index, choices = int(layer.places[node]), layer.choices
        if index < 0 or choices is None:
            return self._end(layer.goals[node].tolist()), []
        counts = choices.moves.counts[index]
        if turn == len(self._actors):
            return None, [
                (depth + 1, int(choices.children[choices.moves.offsets[index] + joint]), 0, 0)
            ]
        role = self._actors[turn]
        stride = int(np.prod(counts[role + 1 :]))
        children = [
            (depth, node, turn + 1, joint + stride * choice) for choice in range(int(counts[role]))
        ]
        if counts[role] == 1:
            return None, children
        if role == self._tree.machine.random_role:
            return self._chance(choices, index), children
        player = self._tree.players.index(role)
        return self._choice(player, int(choices.sets[index, player])), children

    def _end(self, goals: Sequence[float]) -> str:
        outcome = self._outcomes.setdefault(tuple(goals), len(self._outcomes) + 1)
        return f't "" {outcome} "" {{ {", ".join(map(_number, goals))} }}'

    def _chance(self, choices: LayerChoices, index: int) -> str:
        self._num_chance += 1
        listed = choices.moves.lists[self._actors[0]]
        start, end = listed.offsets[index : index + 2].tolist()
        # Gambit refuses probabilities whose sum is not exactly 1.
        total = sum(choices.chances[start:end])
        texts = self._texts(listed[index].tolist())
        shares = zip(texts, choices.chances[start:end], strict=True)
        body = " ".join(f"{text} {share / total}" for text, share in shares)
        return f'c "" {self._num_chance} "" {{ {body} }} 0'

    def _choice(self, player: int, set_id: int) -> str:
        sets = self._tree.sets[player]
        history = " | ".join(self._tree.paths.texts(int(sets.paths[set_id])))
        moves = " ".join(self._texts(sets.moves_of(set_id).tolist()))
        return f'p "" {player + 1} {set_id + 1} {_quoted(history)} {{ {moves} }} 0'

    def _texts(self, moves: Sequence[int]) -> list[str]:
        return [_quoted(self._tree.machine.move_text(move)) for move in moves]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _number(goal: float) -> str:
    return str(Fraction(goal).limit_denominator(1_000_000))
