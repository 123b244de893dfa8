"""Protocols of guests, players that sit elsewhere and take their own time, and of watchers.

The referee asks the players of its process one after the other, each on the match's play clock.
A guest, such as a person, is not asked like that: it is invited when a turn begins, thinks while
the others do, and keeps its own clock. If it gives no answer it loses its move, as a late player
does.
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
        interrupted: whether it left by Ctrl-C; if not, it said that it leaves, or its input ended.
        announced: whether it said that it leaves.
    """

    def __init__(self, role: str, *, interrupted: bool = False, announced: bool = False) -> None:
        super().__init__(f"{role} left the match")
        self.interrupted, self.announced = interrupted, announced


@runtime_checkable
class Guest(Player, Protocol):
    """A player that is invited to move before it is asked what it decided.

    `choose` waits for the answer. It gets no deadline, and raises `NoAnswerError` if none comes.
    """

    def invite(self, legal: Sequence[str]) -> None:
        """Begin a turn; the guest has observed the turn before.

        Args:
            legal: the role's legal moves, sorted, canonical KIF.
        """
        ...


class Watcher(Protocol):
    """A watcher, who sees all of a match while it is played."""

    def reached(self, turn: TurnRecord | None, fluents: tuple[str, ...], *, over: bool) -> None:
        """Show the watcher a state that the match has reached.

        Args:
            turn: the turn that led there; None for the initial state.
            fluents: fluents of the state, in canonical KIF.
            over: whether the state is terminal.
        """
        ...
