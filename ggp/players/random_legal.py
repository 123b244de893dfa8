"""The player `random`: draws a particle of its bag, and a legal move in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags, PathTree, Sampler, SamplerSettings, make_sampler
from ggp.belief.samplers.by_name import LOS
from ggp.players.parts.belief_player import BeliefPlayer, RiskOptions
from ggp.players.parts.search_player import NONE, board_maker_of, boards_field
from ggp.players.player import Choice
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates

MAX_ATTEMPTS = 50_000
"""Most lanes stepped in search of a board, half as many as usual: after the end of a game there is
none, but the player does not know that the game is over. With 10,000, it missed the board in 19 of
342 turns of kriegspiel that had one."""


@dataclass(frozen=True)
class RandomOptions(RiskOptions):
    """Options of `random`."""

    boards: str = boards_field()


class RandomLegal(BeliefPlayer):
    """A random one of the moves that are legal in a particle drawn by weight.

    If boards are drawn, a board that agrees with the last observation is enough: our own pieces are
    right on it. Particles that agree with a whole long match are expensive.
    """

    Options = RandomOptions
    tells_policy = True
    options: RandomOptions

    @property
    def rescues(self) -> bool:
        """Not if boards are drawn: a search of a long match takes minutes, for a random move."""
        return self.options.boards == NONE

    def sampler(self, tree: PathTree) -> Sampler:
        if self.options.boards == NONE:
            return super().sampler(tree)
        return make_sampler(
            LOS,
            self.machine,
            tree,
            SamplerSettings(exact=0, maker=board_maker_of(self.options.boards, self.machine)),
            capacity=1,
            max_attempts=MAX_ATTEMPTS,
        )

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
