"""The policy of a player at every information set, as far as samples tell.

For each sample a new player is led along the incomplete path by what it would have been told, and
asked for its move. Where it says with which probabilities it plays its moves
(`Decision.probabilities`), these count, else the move it chose. The policy is the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ggp.machine.base import FloatArray
from ggp.solve.tree import GameTree


class Decided(Protocol):
    """What is needed of a decision."""

    @property
    def move(self) -> str: ...

    @property
    def probabilities(self) -> Mapping[str, float] | None: ...


class Chooser(Protocol):
    """What is needed of a player; those of `ggp.players` are such."""

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None: ...

    def choose(self) -> Decided: ...


MakeChooser = Callable[[int, np.random.Generator], Chooser]
"""Makes a player for a role (its index), with all its random choices."""


class Samples:
    """What one player would do, at every information set.

    Attributes:
        tree: of the game, without subgames split off.
        player: whose.
        shares: `[S - G, K]` probability of each move at its set, in each of K samples.
    """

    def __init__(self, tree: GameTree, player: int, shares: FloatArray) -> None:
        self.tree, self.player, self.shares = tree, player, shares

    def halves(self) -> tuple[Samples, Samples]:
        """Every other sample, and the rest; there must be two."""
        return (
            Samples(self.tree, self.player, self.shares[:, ::2]),
            Samples(self.tree, self.player, self.shares[:, 1::2]),
        )

    def strategy(self, rng: np.random.Generator | None = None) -> FloatArray:
        """`[S]` the mean over all samples, or over as many drawn with replacement at each set."""
        sets = self.tree.sets[self.player]
        num_samples = self.shares.shape[1]
        if rng is None:
            mean = self.shares.mean(axis=1)
        else:
            even = np.full(num_samples, 1 / num_samples)
            drawn = rng.multinomial(num_samples, even, size=len(sets))
            mean = (self.shares * np.repeat(drawn, sets.counts, axis=0)).sum(axis=1) / num_samples
        return np.concatenate([np.ones(self.tree.num_subgames), mean])


def sample_policy(
    tree: GameTree,
    player: int,
    make: MakeChooser,
    num_samples: int,
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> Samples:
    """Ask new players for their moves, at every information set of one role.

    A move that is not legal, which happens where a player fails, counts as a random legal one.

    Args:
        tree: without subgames split off: a player may play differently after every path.
        player: number of the role among the players.
        make: a new player.
        num_samples: for each information set.
        seed: with the numbers of player, set and sample the seed of each player.
        advance: called after each information set.
    """
    sets = tree.sets[player]
    shares = np.zeros((len(sets.moves), num_samples))
    for number in range(len(sets)):
        history = history_of(tree, player, number)
        moves = [tree.machine.move_text(move) for move in sets.moves_of(number).tolist()]
        start = int(sets.offsets[number] - sets.offsets[0])
        for sample in range(num_samples):
            rng = np.random.default_rng((seed, player, number, sample))
            chooser = make(tree.players[player], rng)
            for move, percepts in history:
                chooser.observe(move, percepts)
            shares[start : start + len(moves), sample] = _shares(chooser.choose(), moves)
        advance()
    return Samples(tree, player, shares)


def history_of(tree: GameTree, player: int, number: int) -> list[tuple[str, tuple[str, ...]]]:
    """What a player did and saw before an information set: move and percepts of each turn."""
    machine, paths = tree.machine, tree.paths
    beginnings = paths.beginnings(tree.sets[player].paths[number : number + 1])[1:]
    turns = [paths.last_turns(node)[0].tolist() for node in beginnings]
    return [(machine.move_text(move), machine.percept_texts(seen)) for move, seen, _ in turns]


def _shares(decision: Decided, moves: list[str]) -> FloatArray:
    told = decision.probabilities or {decision.move: 1.0}
    shares = np.array([max(told.get(move, 0.0), 0.0) for move in moves])
    total = shares.sum()
    return shares / total if total > 0 else np.full(len(moves), 1 / len(moves))
