"""A player in its role, as `Game.player` gives it."""

from __future__ import annotations

from collections.abc import Sequence

from ggp.players import Decision, Player
from ggp.search.anytime import Deadline


class Seated:
    """A player in its role; it knows what it is told, and nothing else.

    It is for one thread at a time; several of one game may think in several threads.

    Attributes:
        role: whose moves it makes.
        spec: which player it is.
    """

    def __init__(self, role: str, spec: str, player: Player) -> None:
        self.role, self.spec = role, spec
        self._player = player

    def __repr__(self) -> str:
        return f"<{self.spec} as {self.role}>"

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None:
        """Tell it of a turn: the move executed for its role, and what the role sees."""
        self._player.observe(move, percepts)

    def choose(self, *, seconds: float | None = None, value_forced: bool = False) -> Decision:
        """Its next move, with the values of all candidates.

        Args:
            seconds: to think; without them its own counts decide.
            value_forced: think also where there is only one move.
        """
        deadline = None if seconds is None else Deadline.after(seconds)
        return self._player.choose(deadline, value_forced=value_forced)
