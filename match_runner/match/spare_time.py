"""The time in which nobody waits for a player of this process: the start clock, and others' clocks.

Players think one after the other, so that nobody's clock runs while another one thinks. Where they
may ponder, each is then given the time that the slowest of the others took longer than itself, as
if all had begun together and none had more than the play clock:

    white   |--------- decides ---------|
    black   | noop |- - - ponders - - - |    afterwards, on its own clock
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ggp.clocks import TellsTime
from ggp.players import Player
from ggp.players.player import Pondering, Preparing
from ggp.search.anytime import Deadline
from match_runner.match.conditions import Conditions

LEAST_S = 0.001
"""Shorter times are not worth a call."""


@dataclass
class SpareTime:
    """The spare time of one match.

    Attributes:
        clock: of the players in this process.
        took_s: how long the player of each role took in this turn, by the clock it is on.
    """

    clock: TellsTime
    conditions: Conditions
    took_s: dict[int, float] = field(default_factory=dict)

    def prepared(self, player: Player) -> BaseException | None:
        """Let a player use the start clock, if there are clocks, and it may and can.

        Returns:
            what it raised, or None.
        """
        start_s = self.conditions.preparing_s
        if not start_s:
            return None
        deadline = Deadline(self.clock() + start_s, self.clock)
        error = _used(player.prepare, deadline) if isinstance(player, Preparing) else None
        if self.conditions.ponder and isinstance(player, Pondering) and error is None:
            error = _used(player.ponder, deadline)
        return error

    def pondered(self, players: Mapping[int, Player]) -> Iterator[tuple[int, BaseException]]:
        """Let those players ponder that can, and yield the role of each that raised, and what."""
        took_s, self.took_s = self.took_s, {}
        if not self.conditions.ponder or self.conditions.play_clock_s is None:
            return
        for role, player in players.items():
            others_s = max((s for other, s in took_s.items() if other != role), default=0.0)
            # A turn ends with the play clock, however late an answer comes.
            spare_s = min(others_s, self.conditions.play_clock_s) - took_s.get(role, 0.0)
            if spare_s < LEAST_S or not isinstance(player, Pondering):
                continue
            error = _used(player.ponder, Deadline(self.clock() + spare_s, self.clock))
            if error is not None:
                yield role, error


def _used(think: Callable[[Deadline], None], deadline: Deadline) -> BaseException | None:
    """Let a player think until a deadline; returns what it raised."""
    try:
        think(deadline)
    except (Exception, SystemExit) as error:
        return error
    return None
