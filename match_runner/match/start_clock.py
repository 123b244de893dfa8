"""What players of this process do on the start clock: those that prepare use it, or part of it."""

from __future__ import annotations

from ggp.clocks import TellsTime
from ggp.players import Player
from ggp.players.player import Preparing
from ggp.search.anytime import Deadline


def prepared(player: Player, clock: TellsTime, seconds: float) -> BaseException | None:
    """Let a player prepare for so many seconds of a clock, if it can; what it raised, or None."""
    if not isinstance(player, Preparing):
        return None
    try:
        player.prepare(Deadline(clock() + seconds, clock))
    except (Exception, SystemExit) as error:
        return error
    return None
