"""The player `legal`: makes the first legal move by text, whatever the game."""

from __future__ import annotations

from ggp.belief import Bags
from ggp.players.parts.belief_player import BeliefPlayer, RiskOptions
from ggp.players.player import Choice
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates


class FirstLegal(BeliefPlayer):
    """The legal move that comes first in alphabetical order."""

    Options = RiskOptions
    tells_policy = True

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        moves = candidates(self.machine, bag).values.tolist()
        first = min(moves, key=self.machine.move_text)
        self.probabilities = {self.machine.move_text(first): 1.0}
        return first, self.unvalued(moves)
