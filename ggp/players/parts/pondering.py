"""The parts of players that use the time of others for more than particles."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ggp.belief import Bags
from ggp.players.options.option_fields import whole
from ggp.search.anytime import Deadline

GROW_SHARE = 0.2
"""Share of the time of others that is spent on more particles by players that also think on."""


@runtime_checkable
class ThinksOn(Protocol):
    """A player that searches for what may come while nobody waits for a move."""

    def think_on(self, bag: Bags, deadline: Deadline, submitted: int | None) -> None:
        """Search until the deadline.

        Args:
            bag: one bag with particles.
            deadline: as for `Pondering.ponder`.
            submitted: the move that it decided on in this turn, if it has.

        Raises:
            GGPError, OutOfTime: see `BeliefPlayer.decide`.
        """
        ...


def ponder_field() -> Any:
    """The option that says how much of the time of others a player may use."""
    meaning = "percent of the others' thinking time in which it thinks on"
    return whole(100, meaning, low=0, high=100)


def ponder_share(options: Any) -> float:
    """Share of the time of others that a player may use; options of other projects may lack it."""
    return getattr(options, "ponder", 100) / 100
