"""The player `legal`."""

from __future__ import annotations

from ggp.belief import Bags
from ggp.players.belief_player import BeliefPlayer, Choice
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates


class FirstLegal(BeliefPlayer):
    """The legal move that comes first in alphabetical order."""

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        moves = candidates(self.machine, bag).values.tolist()
        return min(moves, key=self.machine.move_text), self.unvalued(moves)
