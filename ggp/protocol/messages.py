"""Messages between game servers and players, as values.

`reading` reads them from texts and `forms` prints them. Servers write messages in five ways; all
are read alike, in upper, lower or mixed case:

| wire | dialect | play message |
|---|---|---|
| `ggp-base` | GDL | `( PLAY id (( mark 1 1 ) noop ) )`: the joint move, in role order |
| `newest` | GDL | the same; sends `(ping)` instead of `( INFO )` |
| `dresden` | GDL | `(PLAY id ((MARK 1 1) NOOP ))` |
| `gdl2-old` | older GDL-II | `(PLAY id (P1 P2 ))`: our percepts only |
| `gdl2` | newer GDL-II | `(PLAY id 2 NOOP (P1 P2 ))`: turn, our executed move, percepts |

Texts in messages keep their original spelling; `ggp.protocol.spelling` translates it to
canonical KIF and back. Missing information (`NIL`, or no text) is None; an empty list is `()`.
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
"""Longest accepted clock: a week."""

MAX_TURN = 10_000
"""Highest accepted turn number; missing turns are filled in, so it bounds memory."""


class Dialect(StrEnum):
    """Contents of play messages: the joint move, percepts, or percepts with turn and move."""

    GDL = "gdl"
    GDL2_OLD = "gdl2-old"
    GDL2 = "gdl2"


@dataclass(frozen=True, slots=True)
class Info:
    """A request for the player's name and for its status, available or busy."""


@dataclass(frozen=True, slots=True)
class Ping:
    """A request of the newest servers for a sign of life."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A game that may be played soon.

    Attributes:
        rules: text inside the outer list, as sent.
        clock_s: time to look at the rules.
    """

    rules: str
    clock_s: int


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning of a match.

    Attributes:
        match_id: as sent; letter case matters.
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
    """The events of the previous turn, and a request for our move.

    Attributes:
        match_id: as sent.
        turn: number of turns played, from 0 to `MAX_TURN`; newer GDL-II only, else None.
        last_move: the move executed for us, as sent but on one line; newer GDL-II only, and
            None there in the first message.
        terms: the joint move in role order (GDL) or our percepts (GDL-II), as sent but each on
            one line; None for `NIL`.
    """

    match_id: str
    turn: int | None = None
    last_move: str | None = None
    terms: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of the match; fields as in `Play`."""

    match_id: str
    turn: int | None = None
    last_move: str | None = None
    terms: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Abort:
    """The cancellation of the match."""

    match_id: str


Message = Info | Ping | Preview | Start | Play | Stop | Abort


@dataclass(frozen=True, slots=True)
class WireStyle:
    """The spelling of one family of servers.

    Attributes:
        name: key in `WIRE_STYLES`.
        dialect: the contents of its play messages.
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
"""The five ways of writing messages, by name."""
