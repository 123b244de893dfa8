"""What players of this process do on the start clock: those that prepare use it, or part of it."""

from __future__ import annotations

from ggp.clocks import TellsTime
from ggp.players import Player
from ggp.players.player import Preparing
from ggp.search.anytime import Deadline
from match_runner.match.conditions import Conditions


def prepared(player: Player, clock: TellsTime, conditions: Conditions) -> BaseException | None:
    """Let a player prepare until the start clock is over, if there are clocks and it can.

    Returns:
        what it raised, or None.
    """
    if conditions.play_clock_s is None or not isinstance(player, Preparing):
        return None
    try:
        player.prepare(Deadline(clock() + conditions.remote.start_clock_s, clock))
    except (Exception, SystemExit) as error:
        return error
    return None
