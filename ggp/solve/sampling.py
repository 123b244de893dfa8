"""Samples the policy of a player at every information set.

For each sample a new player is led along the incomplete path, with the percepts that it would have
got, and asked for its move. If it gives the probabilities of its moves (`Decision.probabilities`),
these count, otherwise the move it chose. The policy is the mean.

A few samples that agree do not prove that the next one would. So resampling (a Bayesian bootstrap)
adds to those of each set an unseen one, with the move that changes the result most. Only
a player that gives its whole policy (`tells_policy`) is asked once and believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from ggp.belief import PathTree
from ggp.machine.arrays import sums_by
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged
from ggp.solve.trees.tree import GameTree


class Decided(Protocol):
    """The part of a decision that is needed here."""

    @property
    def move(self) -> str: ...

    @property
    def probabilities(self) -> Mapping[str, float] | None: ...

    @property
    def exact(self) -> bool: ...


class Chooser(Protocol):
    """The part of a player that is needed here; the players of `ggp.players` have it.

    It may have an attribute `tells_policy`: whether the probabilities that it gives are its whole
    policy, the same for all its random choices.
    """

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None: ...

    def choose(self) -> Decided: ...


@runtime_checkable
class TellsPaths(Protocol):
    """A `Chooser` that tells its policy at many paths at once."""

    def shares_at(self, tree: PathTree, paths: IntArray, legal: Ragged) -> FloatArray | None:
        """`[K]` probabilities of moves, as it would choose after each path; None if it cannot tell.

        Args:
            tree: of N incomplete paths of its role, numbered by its machine.
            paths: `[N]`
            legal: K moves, in N lists.
        """
        ...


MakeChooser = Callable[[int, np.random.Generator], Chooser]
"""Makes a player for a role (its index), with a source of all its random choices."""

Shares = tuple[float, ...]
"""Probability of each move of an information set."""


class Samples:
    """The choices of one player at every information set, as far as it was asked.

    Args:
        tree: the tree of the game, without subgames split off.
        player: number of the player.
        drawn: the choice of each sample, by set, in the order in which they were drawn.
        told: sets whose whole policy is known.
    """

    def __init__(
        self, tree: GameTree, player: int, drawn: Sequence[Sequence[Shares]], told: Sequence[bool]
    ) -> None:
        self.tree, self.player = tree, player
        self.drawn, self.told = drawn, told
        # Equal samples of a set are one entry with a count.
        entries = [
            (number, shares, each.count(shares))
            for number, each in enumerate(drawn)
            for shares in dict.fromkeys(each)
        ]
        sizes = np.array([len(shares) for _, shares, _ in entries], dtype=np.int64)
        self._sets = np.array([number for number, _, _ in entries], dtype=np.int64)
        self._counts = np.array([count for _, _, count in entries], dtype=np.float64)
        self._shares = np.array([p for _, shares, _ in entries for p in shares])
        self._entry = np.repeat(np.arange(len(entries)), sizes)
        begins = tree.sets[player].offsets[self._sets]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self._slots = np.repeat(begins, sizes) + within
        self._is_told = np.array(told, dtype=np.bool_)
        self._entry_told = self._is_told[self._sets]

    @property
    def sizes(self) -> IntArray:
        """`[I]` number of samples of each set."""
        return np.array([len(each) for each in self.drawn], dtype=np.int64)

    @property
    def is_told(self) -> bool:
        """Whether the whole policy is known, so that nothing is left to chance."""
        return all(self.told)

    def halves(self) -> tuple[Samples, Samples]:
        """Every second sample, and the rest; the only sample of a set is in both."""
        both = (
            [each if len(each) == 1 else each[start::2] for each in self.drawn] for start in (0, 1)
        )
        first, second = (Samples(self.tree, self.player, half, self.told) for half in both)
        return first, second

    def strategy(self) -> FloatArray:
        """`[S]` the mean over all samples of each set."""
        return self._mean(self._counts, np.zeros(len(self.drawn)))

    def redrawn(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """A random weight for each different sample, and for one more at each set."""
        weights = np.where(self._entry_told, 1.0, rng.standard_gamma(self._counts))
        more = np.where(self._is_told, 0.0, rng.standard_exponential(len(self.drawn)))
        return weights, more

    def reweighted(
        self, redrawn: Sequence[tuple[FloatArray, FloatArray]], unseen: FloatArray
    ) -> FloatArray:
        """`[B, S]` means with B times other weights; see `redrawn`.

        Args:
            unseen: `[S]` the choice of the sample that there is one more of at each set.
        """
        weights, more = (np.stack(each) for each in zip(*redrawn, strict=True))
        return self._mean(weights, more, unseen)

    def spread(self, values: FloatArray) -> FloatArray:
        """`[I]` approximate variance of each set's value that comes from having few samples.

        Besides the existing samples there is one that could be any move.

        Args:
            values: `[S]` value of each move.
        """
        sets = self.tree.sets[self.player]
        worth = np.bincount(self._entry, self._shares * values[self._slots], len(self._counts))
        sizes = np.maximum(self.sizes, 1)
        mean = np.bincount(self._sets, self._counts * worth, len(sizes)) / sizes
        off = self._counts * (worth - mean[self._sets]) ** 2
        body, first = values[self.tree.num_subgames :], sets.offsets[:-1] - sets.offsets[0]
        width = np.maximum.reduceat(body, first) - np.minimum.reduceat(body, first)
        found = (np.bincount(self._sets, off, len(sizes)) + width**2) / (sizes + 1) ** 2
        return np.where(self._is_told, 0.0, found)

    def _mean(
        self, weights: FloatArray, more: FloatArray, unseen: FloatArray | None = None
    ) -> FloatArray:
        sets = self.tree.sets[self.player]
        each = weights[..., self._entry] * self._shares
        sums = sums_by(self._slots, each, int(sets.offsets[-1]))
        totals = sums_by(self._sets, weights, len(self.drawn)) + more
        body = sums[..., self.tree.num_subgames :]
        if unseen is not None:
            body += np.repeat(more, sets.counts, axis=-1) * unseen[self.tree.num_subgames :]
        body /= np.repeat(totals, sets.counts, axis=-1)
        sums[..., : self.tree.num_subgames] = 1.0
        return sums


class Asker:
    """Asks new players for their moves at information sets of one role.

    A move that is not legal, which happens where a player fails, counts as a random legal one.

    Args:
        tree: a tree without subgames split off: a player may play differently after every path.
        player: number of the role among the players.
        make: makes a new player.
        seed: together with the numbers of player, set and sample it seeds each player: a sample is
            the same whatever was asked before.
    """

    def __init__(self, tree: GameTree, player: int, make: MakeChooser, seed: int) -> None:
        self._tree, self._player, self._make, self._seed = tree, player, make, seed
        self._drawn: list[list[Shares]] = [[] for _ in range(len(tree.sets[player]))]
        self._told = [False] * len(self._drawn)

    def ask(self, number: int, num_samples: int) -> int:
        """Draw samples of a set up to a number, or one if the player gives its policy.

        Returns:
            number of players asked.
        """
        tree, drawn = self._tree, self._drawn[number]
        before = len(drawn)
        history = history_of(tree, self._player, number)
        moves = [
            tree.machine.move_text(m) for m in tree.sets[self._player].moves_of(number).tolist()
        ]
        while len(drawn) < num_samples and not self._told[number]:
            rng = np.random.default_rng((self._seed, self._player, number, len(drawn)))
            chooser = self._make(tree.players[self._player], rng)
            for move, percepts in history:
                chooser.observe(move, percepts)
            decision = chooser.choose()
            drawn.append(_shares(decision, moves))
            self._told[number] = has_told(chooser, decision)
        return len(drawn) - before

    @property
    def samples(self) -> Samples:
        """The samples drawn so far; each set must have been asked."""
        drawn = [tuple(each) for each in self._drawn]
        return Samples(self._tree, self._player, drawn, tuple(self._told))


def sample_policy(
    tree: GameTree, player: int, make: MakeChooser, num_samples: int, seed: int
) -> Samples:
    """The same number of samples at every information set of one role; see `Asker`."""
    asker = Asker(tree, player, make, seed)
    for number in range(len(tree.sets[player])):
        asker.ask(number, num_samples)
    return asker.samples


def history_of(tree: GameTree, player: int, number: int) -> list[tuple[str, tuple[str, ...]]]:
    """A player's move and percepts in each turn before an information set."""
    return turns_of(tree.machine, tree.paths, int(tree.sets[player].paths[number]))


def turns_of(machine: Machine, paths: PathTree, path: int) -> list[tuple[str, tuple[str, ...]]]:
    """The move and percepts of each turn of a path that leaves nothing unknown."""
    beginnings = paths.beginnings(np.array([path]))[1:]
    turns = [paths.last_turns(node)[0].tolist() for node in beginnings]
    return [(machine.move_text(move), machine.percept_texts(seen)) for move, seen, _ in turns]


def has_told(chooser: Chooser, decision: Decided) -> bool:
    """Whether the probabilities of a decision are all there is to know of it."""
    # Where only some states are known, the player's answer depends on which.
    tells = getattr(chooser, "tells_policy", False) and decision.exact
    return bool(tells and decision.probabilities is not None)


def _shares(decision: Decided, moves: list[str]) -> Shares:
    told = decision.probabilities or {decision.move: 1.0}
    shares = [max(told.get(move, 0.0), 0.0) for move in moves]
    total = sum(shares)
    if not total > 0:
        return (1 / len(moves),) * len(moves)
    return tuple(share / total for share in shares)
