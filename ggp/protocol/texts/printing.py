"""Prints messages as servers write them, in each style, and a player's answer to `Info`."""

from __future__ import annotations

from ggp.errors import LocalProtocolError
from ggp.gdl.syntax.findings import quoted
from ggp.gdl.syntax.names import is_symbol
from ggp.protocol.messages import (
    BUSY,
    Abort,
    Dialect,
    Info,
    Message,
    Ping,
    Play,
    Preview,
    Start,
    Stop,
    WireStyle,
)


def print_message(message: Message, style: WireStyle) -> str:
    """A message as a server of this style writes it, on one line unless its rules are not.

    Raises:
        LocalProtocolError: the style cannot express it: a turn number where it has none, or no
            number where it needs one.
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
    """The answer to `Info`; the name must be one symbol (see `ggp.gdl.syntax.names.is_symbol`).

    Raises:
        LocalProtocolError: it is not a symbol.
    """
    if not is_symbol(name):
        raise LocalProtocolError(f"a player's name must be one symbol, not {quoted(name)}")
    status = BUSY if busy else "available"
    return f"((name {name}) (status {status}) (species alien))"


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
