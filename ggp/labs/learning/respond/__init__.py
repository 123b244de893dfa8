"""How much a player can lose in games of any size: approximate best responses to it.

    bound = measure(Rival(machine, make), Budget(updates=None, seconds=30), matches=1000, seed=0)
    bound.responses["xplayer"].score   # mean score of a responder as xplayer, with an interval

`measure` takes a player, and returns a bound. Begin with `measuring`: for each role, it lets
responders learn, and scores the better one. `responders` has the responder that searches in a tree
of its own paths; the responder that trains a net is in `measuring`. `movers` move the roles of many
matches, for example as the measured player. If the tree of a game fits into memory, `ggp.solve`
computes the same exactly.
"""

from ggp.labs.learning.respond.measuring import Bound, Judged, Response, measure
from ggp.labs.learning.respond.responders import Budget, Rival

__all__ = ["Bound", "Budget", "Judged", "Response", "Rival", "measure"]
