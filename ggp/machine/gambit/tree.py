"""The contents of a file of Gambit's: nodes in the order of the file, and information sets."""

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
    """Nodes that whoever acts there cannot tell apart.

    Attributes:
        player: number of the player, from 0, or `CHANCE`.
        number: as in the file, where each player has numbers of its own.
        label: may be empty.
        actions: labels of the moves.
        shares: probabilities of the moves of chance, which sum up to 1; empty for players.
        start: character offset of the first of its nodes.
    """

    player: int
    number: int
    label: str
    actions: tuple[str, ...]
    shares: tuple[Fraction, ...]
    start: int


class TreeNode(NamedTuple):
    """A place in the tree.

    Attributes:
        sets: the information sets of those who act here, all at once: one in an extensive form,
            all in a normal form, none where the game is over.
        parent: number of the node before, -1 for the root. It is less than the node's own number.
        branch: number of the joint move that leads here; that of the last set counts fastest.
        payoffs: what each player gets on reaching the node; None for nothing.
        start: character offset in the file.
    """

    sets: tuple[int, ...]
    parent: int
    branch: int
    payoffs: tuple[Fraction, ...] | None
    start: int


@dataclass(frozen=True)
class GambitTree:
    """A game as its file states it.

    Attributes:
        title, comment: words about the game; both may be empty.
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
        """For each node, what each player has got on the way and there."""
        found: list[tuple[Fraction, ...]] = []
        for node in self.nodes:
            total = found[node.parent] if node.parent >= 0 else (Fraction(0),) * len(self.players)
            if node.payoffs is not None:
                total = tuple(a + b for a, b in zip(total, node.payoffs, strict=True))
            found.append(total)
        return tuple(found)

    @property
    def has_chance(self) -> bool:
        """Whether chance acts anywhere."""
        return any(each.player == CHANCE for each in self.sets)


# ------------------------------------------------------------------------
# Finds the turn in which each node is played, and refuses what no role of GDL-II can play.
#
# A role of GDL-II remembers its moves and percepts, and counts turns. So the role that acts at a
# node is told its information set, and two things must hold for it to know no more than that:
#
# *Perfect recall.* All nodes of an information set follow the same own moves, made in the same
# information sets. Otherwise the player forgets, and GDL-II has no rules for that.
#
# *One turn.* All nodes of an information set are played in the same turn. Where they lie at
# different depths, everybody waits before the shallow ones. The least turns that allow this are the
# lengths of the longest ways to each information set. There are none if two sets each have a node
# before the other's: then nobody could play this with a clock at hand.


def check_recall(tree: GambitTree, source: Source) -> None:
    """Refuse games in which a player forgets.

    Raises:
        GDLValidationError: a player forgets; the message says where.
    """
    # By player, the information set and move of its last choice before each node.
    last: list[dict[int, tuple[int, int]]] = []
    first_last: dict[int, tuple[int, int] | None] = {}
    for node in tree.nodes:
        known: dict[int, tuple[int, int]] = {}
        if node.parent >= 0:
            known = last[node.parent]
            parent = tree.nodes[node.parent]
            if len(parent.sets) == 1 and tree.sets[parent.sets[0]].player != CHANCE:
                number = parent.sets[0]
                known = known | {tree.sets[number].player: (number, node.branch)}
        last.append(known)
        for number in node.sets:
            player = tree.sets[number].player
            if player == CHANCE:
                continue
            here = known.get(player)
            if first_last.setdefault(number, here) != here:
                _refuse(
                    source,
                    "perfect-recall",
                    f"{_said(tree, number)} follows {_said_choice(tree, here)} here, but "
                    f"{_said_choice(tree, first_last[number])} at its first node: the player "
                    "forgets, which no role of GDL-II does; give such nodes information sets of "
                    "their own",
                    node.start,
                )


def turns_of(tree: GambitTree, source: Source) -> tuple[int, ...]:
    """`[N]` the turn, from 0, in which each node is played, or reached if it is the last.

    Raises:
        GDLValidationError: there are no turns that suit all information sets.
    """
    nodes = tree.nodes
    parents = np.array([node.parent for node in nodes])
    # Nodes that are played in one turn: those of an information set, or a node by itself.
    together = np.arange(len(nodes))
    first: dict[int, int] = {}
    for place, node in enumerate(nodes):
        for number in node.sets:
            if tree.sets[number].player != CHANCE:
                together[place] = first.setdefault(number, place)
    children: dict[int, list[int]] = {}
    waiting_for = np.zeros(len(nodes), dtype=np.int64)
    for place in range(1, len(nodes)):
        group = int(together[place])
        children.setdefault(int(together[parents[place]]), []).append(group)
        waiting_for[group] += 1
    turns = np.zeros(len(nodes), dtype=np.int64)
    ready = [0] if waiting_for[0] == 0 else []
    num_ready = 0
    while ready:
        group = ready.pop()
        num_ready += 1
        for after in children.get(group, ()):
            turns[after] = max(turns[after], turns[group] + 1)
            waiting_for[after] -= 1
            if waiting_for[after] == 0:
                ready.append(after)
    if num_ready < len(np.unique(together)):
        stuck = next(
            place for place, group in enumerate(together.tolist()) if waiting_for[group] > 0
        )
        _refuse(
            source,
            "turns",
            f"{_said(tree, nodes[stuck].sets[0])} is both before and after another one, so its "
            "nodes cannot be played in one turn, and players of GDL-II count turns",
            nodes[stuck].start,
        )
    return tuple(turns[together].tolist())


def _refuse(source: Source, rule: str, message: str, start: int) -> NoReturn:
    found = diagnose(source, "error", rule, message, start)
    raise GDLValidationError(
        str(found),
        rule=rule,
        diagnostics=[found],
        line=found.line,
        column=found.column,
        context=found.context,
    )


def _said(tree: GambitTree, number: int) -> str:
    """GambitText for an information set."""
    found = tree.sets[number]
    label = f' "{found.label}"' if found.label else ""
    player = tree.players[found.player] or f"player {found.player + 1}"
    return f"information set {found.number}{label} of {player}"


def _said_choice(tree: GambitTree, choice: tuple[int, int] | None) -> str:
    """GambitText for what a player chose last."""
    if choice is None:
        return "no move of its own"
    number, action = choice
    move = tree.sets[number].actions[action]
    return f'"{move}" in its information set {tree.sets[number].number}'
