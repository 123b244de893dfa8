"""Questions to the worker of a match: what must be answered, until when, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from ggp.protocol.path import Answered
from ggp.protocol.turns import History

MIN_MARGIN_S = 0.5
MARGIN_SHARE = 0.1


def default_margin_s(clock_s: float) -> float:
    """What is kept of a clock for the way: a tenth or 0.5 s, but at most half of it."""
    return min(max(MIN_MARGIN_S, MARGIN_SHARE * clock_s), clock_s / 2)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question for the worker of a match, and when the server must have the answer.

    Attributes:
        number: of this question; no two of a lobby share one.
        match: serial number of the match in its lobby.
        wants_move: whether a move is wanted; else only to get ready, which is answered when
            the worker is, or at the deadline.
        history: our incomplete path so far. A worker that has observed a beginning of it
            observes the rest; any other begins anew: the history was rewritten.
        asked_at_s: when the message came.
        deadline_s: when to send the answer at the latest: the clock less the margin.
        doubts: other readings of what the server told, likeliest first: histories to try if
            no particle fits `history`. Tell `answer` which one was believed.
    """

    number: int
    match: int
    wants_move: bool
    history: History
    asked_at_s: float
    deadline_s: float
    doubts: tuple[History, ...] = ()

    @property
    def turn(self) -> int:
        """How many turns were played before the one that is asked for."""
        return len(self.history)


@dataclass(slots=True)
class Question:
    """An `Ask`, held only while it is open, and what became of it."""

    number: int
    ends_at_s: float
    ask: Ask | None
    heard: int | None = None  # hash of the play message; the message may be long
    submitted: str | None = None
    reply: str | None = None
    in_time: bool = False
    is_lost: bool = False

    def answered(self, now: float) -> Answered:
        waits = now <= self.ends_at_s
        is_open = self.ask is not None and waits
        return Answered(self.submitted, self.in_time, is_open, self.is_lost and waits)
