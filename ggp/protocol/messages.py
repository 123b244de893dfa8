"""Messages between game servers and players, as values and as text.

`reading` reads them from texts, and `print_message` prints them. Servers write messages in five
ways; all are read alike, in upper, lower or mixed case:

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

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ggp.errors import LocalProtocolError, RemoteProtocolError
from ggp.gdl.syntax.reading import is_symbol, quoted

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


# Comments and white space are those of `ggp.gdl.syntax.kif`.
# ------------------------------------------------------------------------
# Texts of messages, split into items and printed. This is the level below `reading`: symbols, lists
# and their limits, without their meaning. Nothing recurses, and every step is linear in the length.

_MARK = re.compile(r"[()]|;[^\r\n]*")
SYMBOL = re.compile(r"[^\s();\ufeff]+")
"""A symbol in a text without comments."""
TOKEN = re.compile(r"[()]|;[^\r\n]*|[^\s();\ufeff]+")
"""A parenthesis, a comment or a symbol."""


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """Bounds on one message; larger ones are refused.

    Attributes:
        chars: length of the text.
        depth: nesting depth of parentheses; terms may nest 100 levels (`ggp.gdl.syntax.reading`).
        items: rules of a rulesheet, moves or percepts of one turn, or items of another list.
        symbol_chars: length of one symbol.
    """

    chars: int = 1_000_000
    depth: int = 110
    items: int = 20_000
    symbol_chars: int = 1_000


def check_size(text: str, limits: MessageLimits) -> None:
    """Refuse a text that is too long, or contains a symbol that is too long.

    Raises:
        RemoteProtocolError: it exceeds a limit.
    """
    if len(text) > limits.chars:
        raise RemoteProtocolError(
            f"a message of {len(text):,} characters is longer than the limit of {limits.chars:,}"
        )
    # Match only from the beginning of a symbol: time would grow with the square of its length.
    too_long = rf"(?<![^\s();\ufeff])[^\s();\ufeff]{{{limits.symbol_chars + 1}}}"
    longest = re.search(too_long, text)
    if longest is not None:
        raise RemoteProtocolError(
            f"the symbol {quoted(longest.group())} is longer than the limit of "
            f"{limits.symbol_chars:,} characters"
        )


def too_deep_at(text: str, depth: int) -> int | None:
    """Offset of the first parenthesis that opens a list deeper than `depth` levels.

    None if there is none. Unmatched closing parentheses are ignored, as in `split_items`.
    """
    opened = 0
    for mark in _MARK.finditer(text):
        kind = text[mark.start()]
        if kind == "(":
            opened += 1
            if opened > depth:
                return mark.start()
        elif kind == ")" and opened:
            opened -= 1
    return None


def split_items(text: str, limits: MessageLimits) -> list[str]:
    """The symbols and lists side by side in a text, as written.

    Comments are omitted. Unmatched closing parentheses are ignored, and an open list is closed at
    the end of the text: a body whose length was counted in characters loses its last bytes.

        >>> split_items("(mark 1 1) noop (open", MessageLimits())
        ['(mark 1 1)', 'noop', '(open)']

    Raises:
        RemoteProtocolError: there are too many items, or they nest too deep.
    """
    items: list[str] = []
    depth = begin = rest_at = 0
    for mark in _MARK.finditer(text):
        kind = text[mark.start()]
        if depth == 0:
            items += SYMBOL.findall(text, rest_at, mark.start())
            rest_at = mark.end()
        if kind == "(":
            if depth == 0:
                begin = mark.start()
            depth += 1
            if depth > limits.depth:
                raise RemoteProtocolError(
                    f"lists nest deeper than the limit of {limits.depth} levels"
                )
        elif kind == ")" and depth:
            depth -= 1
            if depth == 0:
                items.append(text[begin : mark.end()])
                rest_at = mark.end()
        if len(items) > limits.items:
            break
    if depth:
        # In a comment, added parentheses would not count: end its line first.
        items.append(text[begin:] + "\n" * (";" in text[begin:]) + ")" * depth)
    else:
        items += SYMBOL.findall(text, rest_at)
    if len(items) > limits.items:
        raise RemoteProtocolError(f"a list has more than the limit of {limits.items:,} items")
    return items


def is_list(item: str) -> bool:
    """Whether an item of `split_items` is a list rather than a symbol."""
    return item.startswith("(")


def inside(item: str) -> str:
    """The text between the parentheses of a list."""
    return item[1:-1]


def squeezed(text: str) -> str:
    """The items of a text in their own spelling, on one line, with single blanks."""
    if "(" not in text and ";" not in text and ")" not in text:
        return " ".join(SYMBOL.findall(text))
    pieces: list[str] = []
    for token in TOKEN.finditer(text):
        piece = token.group()
        if piece[0] == ";":
            continue
        if pieces and piece != ")" and pieces[-1] != "(":
            pieces.append(" ")
        pieces.append(piece)
    return "".join(pieces)


# ------------------------------------------------------------------------
# Printing of messages in the style of each server, and of a player's answer to `Info`.


def print_message(message: Message, style: WireStyle) -> str:
    """A message as a server of this style writes it; on one line if its rules are.

        >>> from ggp.protocol.messages import WIRE_STYLES
        >>> print_message(Play("m1", terms=("(mark 1 1)", "noop")), WIRE_STYLES["ggp-base"])
        '( PLAY m1 (( mark 1 1 ) noop ) )'

    Raises:
        LocalProtocolError: the style has no turn numbers, or needs one that is missing.
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
            items = [kind, message.match_id, *_turn_items(message, style)]
        case Abort():
            items = ["ABORT", message.match_id]
    text = " ".join(items)
    return f"( {text} )" if style.spaced else f"({text})"


def info_reply(name: str, *, busy: bool) -> str:
    """The answer to `Info`; the name must be one symbol (see `ggp.gdl.syntax.reading.is_symbol`).

    Raises:
        LocalProtocolError: it is not a symbol.
    """
    if not is_symbol(name):
        raise LocalProtocolError(f"a player's name must be one symbol, not {quoted(name)}")
    status = BUSY if busy else "available"
    return f"((name {name}) (status {status}) (species alien))"


def _cased(text: str, style: WireStyle) -> str:
    return text.upper() if style.upper else text


def _rules(text: str, style: WireStyle) -> str:
    return f"({_cased(text, style)})"


def _turn_items(message: Play | Stop, style: WireStyle) -> list[str]:
    # Every server ends the list of moves or percepts with a blank.
    terms = (
        "NIL"
        if message.terms is None
        else "(" + "".join(_spaced(_cased(t, style), style) + " " for t in message.terms) + ")"
    )
    if style.dialect is not Dialect.GDL2:
        if message.turn is not None or message.last_move is not None:
            raise LocalProtocolError(f"servers of style {style.name} send no turn and no last move")
        return [terms]
    if message.turn is None:
        raise LocalProtocolError(f"servers of style {style.name} send the number of the turn")
    move = "NIL" if message.last_move is None else _cased(message.last_move, style)
    return [str(message.turn), move, terms]


def _spaced(term: str, style: WireStyle) -> str:
    return term.replace("(", "( ").replace(")", " )") if style.spaced else term
