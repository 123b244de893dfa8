"""Models of opponents by their information sets: read from a file, or counted in matches.

`LearnedMoves` counts moves over a series of matches (D. Billings et al., Opponent Modeling in
Poker, AAAI 1998, as used in paper 001). What an opponent held is often never revealed. So at the
end of a match its moves are counted in every particle, in proportion to the particle's weight:

    it bet, and we folded     it had a king (weight 0.8): its bet with a king counts 0.8 more
                              it had a jack (weight 0.2): its bet with a jack counts 0.2 more
    it bet, and we called     it showed a king: its bet with a king counts 1 more

Since weights depend on earlier counts, this is expectation maximisation, one match at a
time.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.move_models import Known, PathModel
from ggp.belief.paths import PathTree
from ggp.belief.strategies import Strategy, history_of
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine.abilities import InParts
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine

PRIOR_COUNTS = 2.0
"""Number of counted moves that the prior is worth, at every information set."""

LEAST_COUNT = 0.01
"""A move that counts for less than this in a match is not counted."""

MOST_ENDS = 1 << 17
"""Last joint moves tried, over all particles, to see how a match may have ended."""


class PolicyMoves(PathModel):
    """The others follow strategies: see `ggp.belief.strategies`.

    Of information sets that a strategy lacks, the model says nothing.

    Args:
        strategies: by role.
        prior_counts: trust in an information set is n / (n + this), where n is the sum of its
            moves' shares; None for full trust.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own: int,
        strategies: Mapping[str, Strategy],
        prior_counts: float | None = None,
    ) -> None:
        super().__init__(machine, tree, own)
        self._strategies, self._prior_counts = strategies, prior_counts

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        strategy = self._strategies.get(self._machine.roles[role], {})
        each = zip(paths.tolist(), moves, strict=True)
        return [self._at(strategy, path, legal) for path, legal in each]

    def _at(self, strategy: Strategy, path: int, legal: IntArray) -> Known | None:
        history = history_of(self._machine, self._tree, path) if strategy else None
        said = None if history is None else strategy.get(history)
        if said is None:
            return None
        shares = np.array([said.get(self._machine.move_text(move), 0.0) for move in legal.tolist()])
        total = float(shares.sum())
        if total <= 0:
            return None
        prior = self._prior_counts
        return Known(legal, shares / total, 1.0 if prior is None else total / (total + prior))


class LearnedMoves(PolicyMoves):
    """The others move as they did before: counts, smoothed towards the usual frequencies.

    Args:
        counts: of moves, by role, as they were when the match began.
    """

    def __init__(
        self, machine: Machine, tree: PathTree, own: int, counts: Mapping[str, Strategy]
    ) -> None:
        super().__init__(machine, tree, own, counts, PRIOR_COUNTS)

    def seen(
        self, bag: Bags, move: int, percepts: int, goal: float | None = None
    ) -> dict[str, Strategy]:
        """Counts of the others' moves in a match, by role.

        Args:
            bag: one bag with views, of the path before the last turn.
            move, percepts: of the last turn, `UNKNOWN` where not told.
            goal: what the role got for the match, where it was told.

        Returns:
            an empty mapping if no particle ends like that, or there are too many ways to.
        """
        ends = ends_of(self._machine, bag, move, percepts, goal, self)
        if ends is None:
            return {}
        views, joint_moves, weights = ends
        found: dict[str, Strategy] = {}
        for role in range(len(self._machine.roles)):
            if role not in (self._own, self._machine.random_role):
                made = self._made(views[:, role], joint_moves[:, role], weights)
                strategy = self._in_words(made)
                if strategy:
                    found[self._machine.roles[role]] = strategy
        return found

    def _made(
        self, paths: IntArray, moves: IntArray, weights: FloatArray
    ) -> dict[tuple[int, int], float]:
        """Count of each move at each path, along whole matches."""
        counts: dict[tuple[int, int], float] = {}
        for path, move, weight in zip(
            paths.tolist(), moves.tolist(), weights.tolist(), strict=True
        ):
            counts[path, move] = counts.get((path, move), 0.0) + weight
            while self._tree.depth(path):
                turn = np.array([path])
                made, _, refused = self._tree.last_turns(turn)[0].tolist()
                path = int(self._tree.parents(turn)[0])
                if refused == UNKNOWN:  # else it was drawn for the role
                    counts[path, made] = counts.get((path, made), 0.0) + weight
        return counts

    def _in_words(self, counts: Mapping[tuple[int, int], float]) -> Strategy:
        """The counts by history in words, without moves that were no choice."""
        strategy: Strategy = {}
        for (path, move), count in counts.items():
            known = self._known.get(path)
            if count < LEAST_COUNT or known is None or len(known.moves) < 2:
                continue
            history = history_of(self._machine, self._tree, path)
            if history is not None:
                strategy.setdefault(history, {})[self._machine.move_text(move)] = count
        return strategy


def ends_of(
    machine: Machine,
    bag: Bags,
    move: int,
    percepts: int,
    goal: float | None,
    model: PathModel,
) -> tuple[IntArray, IntArray, FloatArray] | None:
    """The ways a match may have ended: `[K, R]` views before, `[K, R]` joint moves, `[K]` weights.

    Weights sum to 1. None if no match can end like that, or more than `MOST_ENDS` must be tried.
    """
    views = bag.sets.views
    if views is None or bag.depleted[0]:
        return None
    lanes = bag.lanes_of(0)
    states, views = bag.states_of(0), views[lanes]
    told = (np.full(len(lanes), each, dtype=np.int64) for each in (move, percepts, UNKNOWN))
    options = open_moves(machine, bag.role, states, Learnt(*told), model, views)
    if not 0 < options.counts.sum() <= MOST_ENDS:
        return None
    counts = options.counts.astype(np.int64)
    rows = np.repeat(np.arange(len(lanes)), counts)
    numbers = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    joint_moves, log_priors = options.joint(rows, numbers)
    stepped = machine.step(states.take(rows), joint_moves)
    keep = machine.terminal(stepped.states)
    if isinstance(machine, InParts):
        keep &= machine.fits(states, rows, joint_moves)
    if percepts != UNKNOWN:
        keep &= stepped.percepts[:, bag.role] == percepts
    if goal is not None and keep.any():
        ended = np.flatnonzero(keep)
        keep[ended] = machine.goals(stepped.states.take(ended))[:, bag.role] == goal
    if not keep.any():
        return None
    log_weights = (bag.sets.log_weights[lanes][rows] + log_priors)[keep]
    weights = np.exp(log_weights - log_weights.max())
    return views[rows[keep]], joint_moves[keep], weights / weights.sum()
