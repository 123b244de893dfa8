"""Players that sit elsewhere and take their own time, such as people; and who watches a match.

The referee asks the players of its process one after the other, each on the match's play clock.
A guest is not asked like that: it is invited when a turn begins, thinks while the others do, and
keeps its own clock. One that gives no answer costs itself its move, as a late player does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ggp.errors import MatchError
from ggp.players.player import Player
from match_runner.match.records import TurnRecord


class NoAnswerError(MatchError):
    """A guest's clock ran out before it had decided."""


class LeftError(MatchError):
    """A guest does not play on: the match ends here.

    Attributes:
        interrupted: whether by Ctrl-C; else it said so, or what it says has come to its end.
        said: whether it said so.
    """

    def __init__(self, role: str, *, interrupted: bool = False, said: bool = False) -> None:
        super().__init__(f"{role} left the match")
        self.interrupted, self.said = interrupted, said


@runtime_checkable
class Guest(Player, Protocol):
    """A player that is invited to move before it is asked what it decided.

    `choose` waits for the answer. It gets no deadline, and raises `NoAnswerError` without one.
    """

    def invite(self, legal: Sequence[str]) -> None:
        """A turn has begun, and the turn before was observed.

        Args:
            legal: the role's legal moves, sorted, canonical KIF.
        """
        ...


class Watcher(Protocol):
    """Somebody who sees all of a match while it is played."""

    def reached(self, turn: TurnRecord | None, fluents: tuple[str, ...], *, over: bool) -> None:
        """A state was reached.

        Args:
            turn: that led there; None for the initial state.
            fluents: of the state, canonical KIF.
            over: whether it is terminal.
        """
        ...
