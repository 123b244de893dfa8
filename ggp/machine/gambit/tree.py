"""The contents of a file of Gambit's: nodes in the order of the file, and information sets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

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
