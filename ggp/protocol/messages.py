"""Messages between game servers and players, as values; `reading` and `printing` know their texts.

Servers speak five dialects, and all are read alike, in upper, lower or mixed case:

| wire | dialect | play message |
|---|---|---|
| `ggp-base` | GDL | `( PLAY id (( mark 1 1 ) noop ) )`: the joint move, in role order |
| `newest` | GDL | the same; asks `(ping)` instead of `( INFO )` |
| `dresden` | GDL | `(PLAY id ((MARK 1 1) NOOP ))` |
| `gdl2-old` | older GDL-II | `(PLAY id (P1 P2 ))`: our percepts only |
| `gdl2` | newer GDL-II | `(PLAY id 2 NOOP (P1 P2 ))`: turn, our executed move, percepts |

Texts in messages keep the spelling they were sent in; `ggp.protocol.texts.spelling` translates it
to canonical KIF and back. What is nothing (`NIL`, or no text at all) is None, an empty list `()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

READY = "ready"
DONE = "done"
BUSY = "busy"
ABORTED = "aborted"
NIL = "nil"

MAX_CLOCK_S = 7 * 24 * 60 * 60
"""Longest clock that is accepted: a week."""

MAX_TURN = 10_000
"""Highest turn number that is accepted; missing turns are filled in, so it bounds memory."""


class Dialect(StrEnum):
    """What play messages tell: the joint move, percepts, or percepts with turn and move."""

    GDL = "gdl"
    GDL2_OLD = "gdl2-old"
    GDL2 = "gdl2"


@dataclass(frozen=True, slots=True)
class Info:
    """What is the player called, and is it free?"""


@dataclass(frozen=True, slots=True)
class Ping:
    """Is the player there? The newest servers ask so."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A game that may be played soon.

    Attributes:
        rules: text inside the outer list, as sent.
        clock_s: time to look at it.
    """

    rules: str
    clock_s: int


@dataclass(frozen=True, slots=True)
class Start:
    """A match begins.

    Attributes:
        match_id: as sent; letter case counts.
        role: ours, as sent.
        rules: text inside the outer list, as sent.
        start_clock_s, play_clock_s: from 0 to `MAX_CLOCK_S`.
    """

    match_id: str
    role: str
    rules: str
    start_clock_s: int
    play_clock_s: int


@dataclass(frozen=True, slots=True)
class Play:
    """What happened in the turn before, and our turn to move.

    Attributes:
        match_id: as sent.
        turn: number of turns played, from 0 to `MAX_TURN`; newer GDL-II only, else None.
        last_move: the move executed for us, as sent but on one line; newer GDL-II only, and
            None there in the first message.
        told: the joint move in role order (GDL) or our percepts (GDL-II), as sent but each on
            one line; None for `NIL`.
    """

    match_id: str
    turn: int | None = None
    last_move: str | None = None
    told: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """The match is over; fields as in `Play`."""

    match_id: str
    turn: int | None = None
    last_move: str | None = None
    told: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Abort:
    """The match is called off."""

    match_id: str


Message = Info | Ping | Preview | Start | Play | Stop | Abort


@dataclass(frozen=True, slots=True)
class WireStyle:
    """How one family of servers writes.

    Attributes:
        name: key in `WIRE_STYLES`.
        dialect: what its play messages tell.
        spaced: blanks inside parentheses, `( PLAY id NIL )`.
        upper: everything but the match id in upper case.
    """

    name: str
    dialect: Dialect
    spaced: bool = False
    upper: bool = False


WIRE_STYLES: Mapping[str, WireStyle] = {
    style.name: style
    for style in (
        WireStyle("ggp-base", Dialect.GDL, spaced=True),
        WireStyle("newest", Dialect.GDL),
        WireStyle("dresden", Dialect.GDL, upper=True),
        WireStyle("gdl2-old", Dialect.GDL2_OLD, upper=True),
        WireStyle("gdl2", Dialect.GDL2, upper=True),
    )
}
"""The five ways messages are written."""
