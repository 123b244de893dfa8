"""The player `random`."""

from __future__ import annotations

import numpy as np

from ggp.belief import Bags
from ggp.players.belief_player import BeliefPlayer, Choice
from ggp.players.risk import RiskOptions
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates


class RandomLegal(BeliefPlayer):
    """A random one of the moves that are legal in a particle drawn by weight."""

    Options = RiskOptions
    tells_policy = True

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        moves = candidates(self.machine, bag).values.tolist()
        weights = bag.weights_of(0)
        entry = int(self.rng.choice(len(weights), p=weights))
        state = bag.states_of(0).take(np.array([entry]))
        legal = self.machine.legal(state, self.role, allow_stuck=True).values
        pick = legal[self.rng.integers(len(legal))] if len(legal) else moves[0]
        self.probabilities = self._probabilities(bag)
        return int(pick), self.unvalued(moves)

    def _probabilities(self, bag: Bags) -> dict[str, float] | None:
        """Probability of each move; None if unknown because some state has no move."""
        legal = self.machine.legal(bag.states_of(0), self.role, allow_stuck=True)
        counts = legal.counts
        if not counts.all():
            return None
        shares = np.bincount(legal.values, np.repeat(bag.weights_of(0) / counts, counts))
        return {self.machine.move_text(int(m)): float(shares[m]) for m in np.flatnonzero(shares)}
