"""A player that answers at half of its play clock, to show what double the time wins.

    match-runner compare dark_chess --players ismcts benchmarks.half:Half:of=ismcts \
        --clock cpu --play-clock 0.2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ggp.players import Context, Decision, parse_spec, player_of
from ggp.players.options.option_fields import words
from ggp.search.anytime import Deadline, part_of


@dataclass(frozen=True)
class HalfOptions:
    """Options of `Half`."""

    of: str = words("auto", "the player, and an option at most", "PLAYER")


class Half:
    """Another player with half of its time: a turn's `observe` and `choose` share one deadline."""

    Options = HalfOptions

    def __init__(self, options: HalfOptions, context: Context) -> None:
        self._player = player_of(parse_spec(options.of), context)
        self._until: Deadline | None = None

    @property
    def states_visited(self) -> int:
        return self._player.states_visited

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        self._until = part_of(deadline, 0.5)
        self._player.observe(
            move, percepts, submitted=submitted, in_time=in_time, deadline=self._until
        )

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        until, self._until = self._until or part_of(deadline, 0.5), None
        return self._player.choose(until, value_forced=value_forced)
