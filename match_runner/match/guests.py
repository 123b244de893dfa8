"""Protocols of guests, which answer in their own time, and of watchers, which see the whole match.

The referee asks the players of its process one after the other, each on the match's play clock. It
invites a guest, such as a person, when a turn begins. The guest thinks while the others do, and
keeps its own clock. If it gives no answer it loses its move, as a late player does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ggp.errors import MatchError
from ggp.players.player import Player
from match_runner.match.records import TurnRecord


class NoAnswerError(MatchError):
    """A player's clock ran out before it had decided."""


class LeftError(MatchError):
    """A guest has left: the match ends here.

    Attributes:
        interrupted: whether it left by Ctrl-C; otherwise it quit, or its input ended.
        announced: whether it quit by a command.
    """

    def __init__(self, role: str, *, interrupted: bool = False, announced: bool = False) -> None:
        super().__init__(f"{role} left the match")
        self.interrupted, self.announced = interrupted, announced


@runtime_checkable
class Guest(Player, Protocol):
    """A player that the referee invites to move before it asks for the decision.

    `choose` gets no deadline. It waits for the answer, and raises `NoAnswerError` if none comes.
    """

    def invite(self, legal: Sequence[str]) -> None:
        """Begin a turn; the guest has observed the last one.

        Args:
            legal: the role's legal moves, sorted, canonical KIF.
        """
        ...


class Watcher(Protocol):
    """Sees a whole match, true states included, while it is played."""

    def reached(self, turn: TurnRecord | None, fluents: tuple[str, ...], *, over: bool) -> None:
        """Called with each state that the match reaches.

        Args:
            turn: the turn that led there; None for the initial state.
            fluents: fluents of the state, in canonical KIF.
            over: whether the state is terminal.
        """
        ...
