"""How much a player can lose in games of any size: approximate best responses to it.

    bound = measure(Rival(machine, make), Budget(updates=None, seconds=30), matches=1000, seed=0)
    bound.responses["xplayer"].score   # what a responder got as xplayer, with an interval

In comes a player, out comes a bound. Begin with `measuring`, the course of it all. `responders`
learn to respond: one searches in a tree of its own, the other learns nets.
`movers` say who moves, such as the player that is measured. Where the whole tree of a game fits
into memory, `ggp.solve` does the same exactly.
"""

from ggp.labs.learning.respond.measuring import Bound, Judged, Response, measure
from ggp.labs.learning.respond.responders import Budget, Rival

__all__ = ["Bound", "Budget", "Judged", "Response", "Rival", "measure"]
