"""The tree in a file as arrays, and the ways through it.

A *position* is a node, or a turn of waiting before one, where nobody has a choice (see `recall`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ggp.errors import MachineError
from ggp.machine.arrays import offsets_of, ragged
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.gambit.games import GambitGame, names_of
from ggp.machine.gambit.tree import CHANCE, GambitTree

NOOP = "noop"
"""Move of the roles whose turn it is not."""

MOST_POSITIONS = 2_000_000
"""Greatest number of nodes and turns of waiting."""

_OVER, _NO_CHOICE = 0, 1
"""Numbers of the lists of moves of roles where the game is over, and of those that do not act."""


class Tables:
    """The tree as arrays: N nodes, P positions, R roles, S information sets.

    Args:
        game: from `gambit_game`.

    Raises:
        MachineError: there are more than `MOST_POSITIONS`.

    Attributes:
        is_open: whether every information set of a player is a single node.
        node_of: `[P]` the node of each position.
        last_position: `[N]` the position in which the node itself is played.
        acts: `[P]` whether a position is not one of waiting.
        turns: `[P]` the turn of each position.
        is_over: `[P]` whether the game is over.
        goals: `[N, R]` payoffs up to and at each node; 0 for chance.
        sets: `[N, R]` the information set of each role that acts, -1 for others.
        moves: S + 2 lists of move ids: see `_OVER`, `_NO_CHOICE`, then those of each set.
        num_moves: `[S + 2]` the length of each.
        shares: the probability of each entry of `moves`, if it is one of chance.
        set_moves: the moves of each information set in the order of the file.
        move_texts, move_ids: the moves as canonical KIF.
    """

    def __init__(self, game: GambitGame) -> None:
        tree, num_roles = game.tree, len(game.roles)
        nodes = tree.nodes
        is_players = [each.player != CHANCE for each in tree.sets]
        sizes = np.bincount(
            [number for node in nodes for number in node.sets], minlength=len(tree.sets)
        )
        self.is_open = bool((sizes[is_players] == 1).all())
        self.sets = np.full((len(nodes), num_roles), -1)
        for place, node in enumerate(nodes):
            for number in node.sets:
                self.sets[place, tree.sets[number].player] = number  # chance is the last role
        self._lay_out_positions(game)
        self._collect_moves(tree)
        self._collect_branches(tree)
        self.goals: FloatArray = np.zeros((len(nodes), num_roles))
        self.goals[:, : len(tree.players)] = np.array(tree.totals, dtype=np.float64)

    def fluents(self, positions: IntArray) -> list[tuple[str, ...]]:
        """What holds in each position: its node, and how long it waits to be played."""
        nodes = self.node_of[positions]
        waits = self.last_position[nodes] - positions
        return [
            (f"(node {node + 1})", *([f"(turns_until {wait})"] if wait else []))
            for node, wait in zip(nodes.tolist(), waits.tolist(), strict=True)
        ]

    def _lay_out_positions(self, game: GambitGame) -> None:
        nodes = game.tree.nodes
        turns = np.array(game.turns)
        waits = np.zeros(len(nodes), dtype=np.int64)
        if not self.is_open:  # else nobody's knowledge depends on the turn
            parents = np.array([node.parent for node in nodes])
            waits[1:] = turns[1:] - turns[parents[1:]] - 1
        else:
            turns = np.zeros(len(nodes), dtype=np.int64)
            for place, node in enumerate(nodes[1:], start=1):
                turns[place] = turns[node.parent] + 1
        if len(nodes) + waits.sum() > MOST_POSITIONS:
            raise MachineError(
                f"{game.source.name} has more than {MOST_POSITIONS:,} nodes, or turns in which "
                "roles wait so that the nodes of an information set are played in one turn"
            )
        self.node_of = np.repeat(np.arange(len(nodes)), waits + 1)
        offsets = offsets_of(waits + 1)
        self.first_position, self.last_position = offsets[:-1], offsets[1:] - 1
        places = np.arange(len(self.node_of))
        self.acts: BoolArray = places == self.last_position[self.node_of]
        self.turns = turns[self.node_of] - (self.last_position[self.node_of] - places)
        is_end = np.array([not node.sets for node in nodes])
        self.is_over: BoolArray = is_end[self.node_of] & self.acts

    def _collect_moves(self, tree: GambitTree) -> None:
        self.move_texts, self.move_ids = [NOOP], {NOOP: 0}
        self.set_moves: list[list[int]] = []
        lists, shares = [np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)], [1.0]
        for each in tree.sets:
            ids = [self._move(name) for name in names_of(each.actions, "move")]
            self.set_moves.append(ids)
            likely = _likely(each.shares, len(ids))
            lists.append(np.array(ids, dtype=np.int64)[likely])
            shares += [float(each.shares[place]) if each.shares else 1.0 for place in likely]
        self.moves = ragged(lists)
        self.num_moves = self.moves.counts
        self.shares: FloatArray = np.array(shares)
        # Moves of all lists as single numbers, sorted, to look places up.
        list_of = np.repeat(np.arange(len(lists)), self.num_moves)
        keys = list_of * len(self.move_texts) + self.moves.values
        order = np.argsort(keys)
        self._keys = keys[order]
        self._places = order - self.moves.offsets[list_of[order]]

    def _move(self, name: str) -> int:
        found = self.move_ids.setdefault(name, len(self.move_texts))
        if found == len(self.move_texts):
            self.move_texts.append(name)
        return found

    def _collect_branches(self, tree: GambitTree) -> None:
        """Make `[B]` the nodes after each joint move, and the chances of coming there."""
        sets, nodes = tree.sets, tree.nodes
        children: list[list[int]] = [[] for _ in nodes]
        for place, node in enumerate(nodes[1:], start=1):
            children[node.parent].append(place)
        lists, chances = [], []
        for place, node in enumerate(nodes):
            by_branch = sorted(children[place], key=lambda child: nodes[child].branch)
            shares: tuple[Fraction, ...] = ()
            if len(node.sets) == 1:
                shares = sets[node.sets[0]].shares
            likely = _likely(shares, len(by_branch))
            lists.append(np.array(by_branch, dtype=np.int64)[likely])
            even = 1 / max(len(by_branch), 1)
            ups = np.cumsum([float(shares[each]) if shares else even for each in likely])
            if len(ups):
                ups[-1] = 1.0
            chances.append(place + ups)
        self._branches = ragged(lists)
        # Sorted, as those of a node lie between its number and the next one.
        self._ups: FloatArray = np.concatenate(chances)

    def lists_of(self, positions: IntArray, role: int) -> IntArray:
        """`[L]` the list of a role's moves."""
        number = self.sets[self.node_of[positions], role]
        found = np.where(self.acts[positions] & (number >= 0), number + 2, _NO_CHOICE)
        return np.where(self.is_over[positions], _OVER, found)

    def places_of(self, lists: IntArray, moves: IntArray) -> IntArray:
        """`[L]` the place of each move in its list, -1 where it is not in it."""
        wanted = lists * len(self.move_texts) + moves
        found = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        fits = (self._keys[found] == wanted) & (moves >= 0) & (moves < len(self.move_texts))
        return np.where(fits, self._places[found], -1)

    def after(self, positions: IntArray, branch: IntArray) -> IntArray:
        """`[L]` the positions that follow by some branches."""
        nodes, acts = self.node_of[positions], self.acts[positions]
        places = np.where(acts, self._branches.offsets[nodes] + branch, 0)
        return np.where(acts, self.first_position[self._branches.values[places]], positions + 1)

    def random_after(self, positions: IntArray, rng: np.random.Generator) -> IntArray:
        """`[L]` the positions of the nodes that follow by random joint moves, after all waiting."""
        nodes = self.node_of[positions]
        drawn = np.searchsorted(self._ups, nodes + rng.random(len(nodes)), side="right")
        chosen = self._branches.values[drawn.clip(max=self._branches.offsets[nodes + 1] - 1)]
        return np.where(self.acts[positions], self.last_position[chosen], self.last_position[nodes])

    def sets_of(self, positions: IntArray) -> IntArray:
        """`[L, R]` the information set of each role that acts, -1 of others."""
        found = self.sets[self.node_of[positions]]
        return np.where(self.acts[positions, None], found, -1)


def _likely(shares: Sequence[Fraction], count: int) -> list[int]:
    """The places of the moves that are possible."""
    return [place for place in range(count) if not shares or shares[place] > 0]
