"""The tree of a Gambit file, the turn of each node, and checks that roles of GDL-II can play it.

`games` parses files into a `GambitTree`, checks it and asks for its turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from ggp.errors import GDLValidationError
from ggp.gdl.source import Source, diagnose

CHANCE = -1
"""Player number of chance."""


class InformationSet(NamedTuple):
    """Nodes that the player who acts there cannot distinguish.

    Attributes:
        player: number of the player, from 0, or `CHANCE`.
        number: the number in the file; each player has its own numbers.
        label: may be empty.
        actions: labels of the moves.
        shares: probabilities of the moves of chance, with sum 1; empty for players.
        start: character offset of its first node.
    """

    player: int
    number: int
    label: str
    actions: tuple[str, ...]
    shares: tuple[Fraction, ...]
    start: int


class TreeNode(NamedTuple):
    """A node of the tree.

    Attributes:
        sets: the information sets of all players who act here simultaneously: one in an extensive
            form, all in a normal form, none at the end of the game.
        parent: number of the parent, which is less than the node's own; -1 for the root.
        branch: number of the joint move that leads here, in mixed radix; the digit of the last set
            changes fastest.
        payoffs: the payoff of each player on reaching the node; None for nothing.
        start: character offset in the file.
    """

    sets: tuple[int, ...]
    parent: int
    branch: int
    payoffs: tuple[Fraction, ...] | None
    start: int


@dataclass(frozen=True)
class GambitTree:
    """The contents of a file.

    Attributes:
        title, comment: texts about the game; both may be empty.
        players: labels of the players.
        sets: the information sets; each has at least one node.
        nodes: each after its parent.
    """

    title: str
    comment: str
    players: tuple[str, ...]
    sets: tuple[InformationSet, ...]
    nodes: tuple[TreeNode, ...]

    @cached_property
    def totals(self) -> tuple[tuple[Fraction, ...], ...]:
        """For each node, the sum of each player's payoffs on the way to it, including its own."""
        sums: list[tuple[Fraction, ...]] = []
        for node in self.nodes:
            total = sums[node.parent] if node.parent >= 0 else (Fraction(0),) * len(self.players)
            if node.payoffs is not None:
                total = tuple(a + b for a, b in zip(total, node.payoffs, strict=True))
            sums.append(total)
        return tuple(sums)

    @property
    def has_chance(self) -> bool:
        """Whether chance acts anywhere."""
        return any(info_set.player == CHANCE for info_set in self.sets)


# ------------------------------------------------------------------------
# The turn of each node, and checks that roles of GDL-II can play the game.
#
# A role of GDL-II remembers its moves and percepts, and counts turns. The role that acts at a node
# perceives its information set. For it to know no more and no less, two rules must hold:
#
# *Perfect recall.* All nodes of an information set follow the same moves of the player, made in the
# same information sets. Otherwise the player forgets, which GDL-II cannot express.
#
# *One turn.* All nodes of an information set are played in the same turn. If they have different
# depths, all roles wait before the shallow ones. The least turns that allow this are the lengths of
# the longest paths to each information set (topological order). They do not exist if two sets each
# have a node before a node of the other: then a player who counts turns could distinguish nodes.


def check_recall(tree: GambitTree, source: Source) -> None:
    """Refuse games in which a player forgets.

    Raises:
        GDLValidationError: a player forgets; the message says where.
    """
    # For each node, the information set and move of each player's last choice before it.
    last: list[dict[int, tuple[int, int]]] = []
    first_last: dict[int, tuple[int, int] | None] = {}
    for node in tree.nodes:
        choices: dict[int, tuple[int, int]] = {}
        if node.parent >= 0:
            choices = last[node.parent]
            parent = tree.nodes[node.parent]
            if len(parent.sets) == 1 and tree.sets[parent.sets[0]].player != CHANCE:
                number = parent.sets[0]
                choices = choices | {tree.sets[number].player: (number, node.branch)}
        last.append(choices)
        for number in node.sets:
            player = tree.sets[number].player
            if player == CHANCE:
                continue
            choice = choices.get(player)
            if first_last.setdefault(number, choice) != choice:
                _refuse(
                    source,
                    "perfect-recall",
                    f"{_set_text(tree, number)} follows {_choice_text(tree, choice)} here, but "
                    f"{_choice_text(tree, first_last[number])} at its first node: the player "
                    "forgets, which no role of GDL-II does; give such nodes information sets of "
                    "their own",
                    node.start,
                )


def turns_of(tree: GambitTree, source: Source) -> tuple[int, ...]:
    """`[N]` the turn, from 0, in which each node is played, or reached at the end of the game.

    Raises:
        GDLValidationError: no turns are right for all information sets.
    """
    nodes = tree.nodes
    parents = np.array([node.parent for node in nodes])
    # Groups of nodes that are played in the same turn: an information set, or a single node.
    together = np.arange(len(nodes))
    first: dict[int, int] = {}
    for index, node in enumerate(nodes):
        for number in node.sets:
            if tree.sets[number].player != CHANCE:
                together[index] = first.setdefault(number, index)
    children: dict[int, list[int]] = {}
    waiting_for = np.zeros(len(nodes), dtype=np.int64)
    for index in range(1, len(nodes)):
        group = int(together[index])
        children.setdefault(int(together[parents[index]]), []).append(group)
        waiting_for[group] += 1
    turns = np.zeros(len(nodes), dtype=np.int64)
    ready = [0] if waiting_for[0] == 0 else []
    num_ready = 0
    while ready:
        group = ready.pop()
        num_ready += 1
        for child in children.get(group, ()):
            turns[child] = max(turns[child], turns[group] + 1)
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                ready.append(child)
    if num_ready < len(np.unique(together)):
        stuck = next(
            index for index, group in enumerate(together.tolist()) if waiting_for[group] > 0
        )
        _refuse(
            source,
            "turns",
            f"{_set_text(tree, nodes[stuck].sets[0])} is both before and after another one, so its "
            "nodes cannot be played in one turn, and players of GDL-II count turns",
            nodes[stuck].start,
        )
    return tuple(turns[together].tolist())


def _refuse(source: Source, rule: str, message: str, start: int) -> NoReturn:
    problem = diagnose(source, "error", rule, message, start)
    raise GDLValidationError(
        str(problem),
        rule=rule,
        diagnostics=[problem],
        line=problem.line,
        column=problem.column,
        context=problem.context,
    )


def _set_text(tree: GambitTree, number: int) -> str:
    """Words for an information set."""
    info_set = tree.sets[number]
    label = f' "{info_set.label}"' if info_set.label else ""
    player = tree.players[info_set.player] or f"player {info_set.player + 1}"
    return f"information set {info_set.number}{label} of {player}"


def _choice_text(tree: GambitTree, choice: tuple[int, int] | None) -> str:
    """Words for the last choice of a player."""
    if choice is None:
        return "no move of its own"
    number, action = choice
    move = tree.sets[number].actions[action]
    return f'"{move}" in its information set {tree.sets[number].number}'
