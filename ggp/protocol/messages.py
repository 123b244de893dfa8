"""Messages between game servers and players: values, read and written without sockets.

Servers speak five dialects, and all are read alike, in upper, lower or mixed case:

| wire | dialect | play message |
|---|---|---|
| `ggp-base` | GDL | `( PLAY id (( mark 1 1 ) noop ) )`: the joint move, in role order |
| `newest` | GDL | the same; asks `(ping)` instead of `( INFO )` |
| `dresden` | GDL | `(PLAY id ((MARK 1 1) NOOP ))` |
| `gdl2-old` | older GDL-II | `(PLAY id (P1 P2 ))`: our percepts only |
| `gdl2` | newer GDL-II | `(PLAY id 2 NOOP (P1 P2 ))`: turn, our executed move, percepts |

Texts in messages keep the spelling they were sent in; `ggp.protocol.spelling` translates it to
canonical KIF and back. What is nothing (`NIL`, or no text at all) is None, an empty list `()`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from ggp.errors import LocalProtocolError, RemoteProtocolError
from ggp.gdl.findings import quoted
from ggp.gdl.names import is_symbol
from ggp.protocol.forms import (
    MessageLimits,
    check_size,
    inside,
    is_list,
    split_items,
    squeezed,
)

READY = "ready"
DONE = "done"
BUSY = "busy"
ABORTED = "aborted"
NIL = "nil"

MAX_CLOCK_S = 7 * 24 * 60 * 60
"""Longest clock that is accepted: a week."""

MAX_TURN = 10_000
"""Highest turn number that is accepted; missing turns are filled in, so it bounds memory."""

_MAX_WRAPPERS = 3
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?", re.ASCII)
_TURN = re.compile(r"[0-9]{1,9}", re.ASCII)


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


def parse_message(text: str, limits: MessageLimits | None = None) -> Message:
    """The message in a text: in any dialect, letter case and spacing.

    Lists around the whole message are taken off, and missing closing parentheses at its end
    are added. Whatever a play or stop message tells is `None` where it cannot be understood,
    so that the move is not lost. Items beyond those a message has are ignored.

    Raises:
        RemoteProtocolError: this is no message, or it passes a limit.
    """
    limits = limits or MessageLimits()
    check_size(text, limits)
    items = split_items(text, limits)
    if not items:
        raise RemoteProtocolError("an empty message; expected one like (INFO) or (PLAY ...)")
    for _ in range(1 + _MAX_WRAPPERS):
        if len(items) != 1 or not is_list(items[0]):
            break
        items = split_items(inside(items[0]), limits)
    if not items or is_list(items[0]):
        raise _no_message(text)
    kind, args = items[0].lower(), items[1:]
    match kind:
        case "info":
            return Info()
        case "ping":
            return Ping()
        case "preview":
            return _preview(args, limits)
        case "start":
            return _start(args, limits)
        case "play" | "stop":
            return _turn(Play if kind == "play" else Stop, args, limits)
        case "abort":
            return Abort(_match_id("abort", args))
    raise _no_message(text)


def print_message(message: Message, style: WireStyle) -> str:
    """A message as a server of this style writes it, on one line unless its rules are not.

    Raises:
        LocalProtocolError: the style cannot say it: a turn number where it has none, or none
            where it needs one.
    """
    match message:
        case Ping():
            return "(ping)"
        case Info():
            items = ["INFO"]
        case Preview():
            items = ["PREVIEW", _rules(message.rules, style), str(message.clock_s)]
        case Start():
            clocks = [str(message.start_clock_s), str(message.play_clock_s)]
            rules = _rules(message.rules, style)
            items = ["START", message.match_id, _cased(message.role, style), rules, *clocks]
        case Play() | Stop():
            kind = "PLAY" if isinstance(message, Play) else "STOP"
            items = [kind, message.match_id, *_told(message, style)]
        case Abort():
            items = ["ABORT", message.match_id]
    return _line(items, style)


def info_reply(name: str, *, busy: bool) -> str:
    """The answer to `Info`; the name must be one symbol (see `ggp.gdl.names.is_symbol`).

    Raises:
        LocalProtocolError: it is none.
    """
    if not is_symbol(name):
        raise LocalProtocolError(f"a player's name must be one symbol, not {quoted(name)}")
    status = BUSY if busy else "available"
    return f"((name {name}) (status {status}) (species alien))"


def parse_reply(text: str, limits: MessageLimits | None = None) -> str:
    """The one term a player answered, in its spelling, on one line: a move, `ready`, ...

    Nothing is repaired: servers take `(noop)` and `(choose 1` for illegal moves.

    Raises:
        RemoteProtocolError: there is none, or several, or parentheses do not match.
    """
    limits = limits or MessageLimits()
    check_size(text, limits)
    items = split_items(text, limits)
    term = squeezed(text)
    if len(items) != 1 or term.count("(") != term.count(")") or term != squeezed(items[0]):
        raise RemoteProtocolError(f"expected one term as the answer, not {quoted(text)}")
    return term


def _no_message(text: str) -> RemoteProtocolError:
    kinds = "info, ping, preview, start, play, stop or abort"
    return RemoteProtocolError(f"{quoted(text)} is no message; expected {kinds}")


def _match_id(kind: str, args: list[str]) -> str:
    if not args or is_list(args[0]):
        raise RemoteProtocolError(f"{kind} must name a match: ({kind.upper()} MATCH ...)")
    return args[0]


def _preview(args: list[str], limits: MessageLimits) -> Preview:
    rules, clocks = _rules_and_clocks("preview", args, 1, limits)
    return Preview(rules, clocks[0])


def _start(args: list[str], limits: MessageLimits) -> Start:
    match_id = _match_id("start", args)
    if len(args) < 2 or is_list(args[1]):
        raise RemoteProtocolError("start must name our role: (START MATCH ROLE (RULES) 30 10)")
    rules, clocks = _rules_and_clocks("start", args[2:], 2, limits)
    return Start(match_id, args[1], rules, clocks[0], clocks[1])


def _rules_and_clocks(
    kind: str, args: list[str], num_clocks: int, limits: MessageLimits
) -> tuple[str, list[int]]:
    """Rules and clocks; where a rule is never closed, the clocks are found behind the rules."""
    if not args or not is_list(args[0]):
        raise RemoteProtocolError(f"{kind} must give the rules as one list")
    rules, clocks = inside(args[0]), args[1:]
    found = split_items(rules, limits)
    if not clocks:
        head, clocks = _cut_clocks(rules, num_clocks)
        rules = head if clocks else rules
    if not found:
        raise RemoteProtocolError(f"{kind} gives no rules")
    if len(clocks) < num_clocks:
        raise RemoteProtocolError(f"{kind} must give {num_clocks} clocks in seconds")
    return rules, [_clock(kind, item) for item in clocks[:num_clocks]]


def _cut_clocks(rules: str, num_clocks: int) -> tuple[str, list[str]]:
    numbers = r"((?:\s+[0-9]{1,9}){%d})[\s)]*$" % num_clocks  # noqa: UP031
    behind = re.search(numbers, rules[-100:], re.ASCII)
    if behind is None:
        return rules, []
    return rules[: len(rules) - len(rules[-100:]) + behind.start()], behind.group(1).split()


def _clock(kind: str, item: str) -> int:
    if _NUMBER.fullmatch(item) is None or float(item) > MAX_CLOCK_S:
        raise RemoteProtocolError(
            f"a clock of {kind} must be from 0 to {MAX_CLOCK_S} seconds, not {quoted(item)}"
        )
    return int(float(item))


def _turn(kind: type[Play] | type[Stop], args: list[str], limits: MessageLimits) -> Play | Stop:
    match_id = _match_id(kind.__name__.lower(), args)
    rest = args[1:]
    turn, last_move = None, None
    # Newer GDL-II is told from the others by its length. A turn with nothing but percepts
    # behind it is not known from any server; it could mean only one thing.
    if len(rest) >= 2 and _TURN.fullmatch(rest[0]):
        turn = int(rest[0])
        if turn > MAX_TURN:
            raise RemoteProtocolError(f"turn {turn} is beyond the limit of {MAX_TURN}")
        if len(rest) >= 3:
            last_move = _or_nothing(rest[1])
            rest = rest[2:]
        else:
            rest = rest[1:]
    told = _told_items(rest[0], limits) if rest else None
    return kind(match_id, turn, last_move, told)


def _told_items(item: str, limits: MessageLimits) -> tuple[str, ...] | None:
    if not is_list(item):
        return None
    told = split_items(inside(item), replace(limits, items=limits.told))
    return tuple(map(squeezed, told))


def _or_nothing(item: str) -> str | None:
    text = squeezed(item)
    return None if text in ("()", "") or text.lower() == NIL else text


def _line(items: list[str], style: WireStyle) -> str:
    return f"( {' '.join(items)} )" if style.spaced else f"({' '.join(items)})"


def _cased(text: str, style: WireStyle) -> str:
    return text.upper() if style.upper else text


def _rules(text: str, style: WireStyle) -> str:
    return f"({_cased(text, style)})"


def _told(message: Play | Stop, style: WireStyle) -> list[str]:
    # Every server ends the list of moves or percepts with a blank.
    told = (
        "NIL"
        if message.told is None
        else "(" + "".join(_spaced(_cased(item, style), style) + " " for item in message.told) + ")"
    )
    if style.dialect is not Dialect.GDL2:
        if message.turn is not None or message.last_move is not None:
            raise LocalProtocolError(f"servers of style {style.name} send no turn and no last move")
        return [told]
    if message.turn is None:
        raise LocalProtocolError(f"servers of style {style.name} send the number of the turn")
    move = "NIL" if message.last_move is None else _cased(message.last_move, style)
    return [str(message.turn), move, told]


def _spaced(term: str, style: WireStyle) -> str:
    return term.replace("(", "( ").replace(")", " )") if style.spaced else term
