"""Turns texts of messages into values, in any dialect, letter case and spacing.

A refused message is a lost move. So every text with only one possible meaning is accepted:
`((play m 2 (A 1) ((p` is turn 2 of the match `m` after the move `(a 1)` with one percept `(p)`.
`parse_reply` reads replies of players; like servers, it repairs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ggp.errors import RemoteProtocolError
from ggp.gdl.syntax.reading import quoted
from ggp.protocol.messages import (
    MAX_CLOCK_S,
    MAX_TURN,
    NIL,
    Abort,
    Info,
    Message,
    MessageLimits,
    Ping,
    Play,
    Preview,
    Start,
    Stop,
    check_size,
    inside,
    is_list,
    split_items,
    squeezed,
)
from ggp.protocol.spelling import Outline, outline

_MAX_WRAPPERS = 3
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?", re.ASCII)
_START = re.compile(r"[\s(]*start\s+([^\s();]+)\s+([^\s();]+)\s*\(", re.IGNORECASE)
_TURN = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Request:
    """A message on its way from the socket to its match.

        >>> read_request(Request("(PLAY m1 NIL)", came_s=0.0)).message
        Play(match_id='m1', turn=None, last_move=None, terms=None)

    Attributes:
        text: the body of the request.
        came_s: when it began to arrive; its clock has been running since then.
        peer: its origin, `ADDRESS:PORT`; empty if unknown.
        receiver: the server's name for us; empty if unknown.
        role: the role that it is for, canonical; None if the message itself must show it.
        message: the meaning of the text; None before it is read, or if it is refused.
        rules: outline of the rules of a start message.
        refusal: why the text is refused; None if it is not.
    """

    text: str
    came_s: float
    peer: str = ""
    receiver: str = ""
    role: str | None = None
    message: Message | None = None
    rules: Outline | None = None
    refusal: str | None = None

    @property
    def sender(self) -> str:
        """The address of the peer, without its port; empty if unknown."""
        return self.peer.rpartition(":")[0]


def read_request(request: Request, limits: MessageLimits | None = None) -> Request:
    """Read the text of a request; slow if the text is long. Never raises; works in any thread."""
    try:
        message = parse_message(request.text, limits)
        rules = None
        if isinstance(message, Start):
            rules = outline(message.rules, limits, message.role)
    except RemoteProtocolError as error:
        return replace(request, refusal=str(error))
    return replace(request, message=message, rules=rules)


def parse_message(text: str, limits: MessageLimits | None = None) -> Message:
    """The message in a text, in any dialect, letter case and spacing.

    Lists around the whole message are removed, and missing closing parentheses at its end are
    added. If the terms of a play or stop message cannot be understood, they are None, so that the
    move is not lost. Surplus items are ignored.

        >>> parse_message("( PLAY m1 (( mark 1 1 ) noop ) )").terms
        ('(mark 1 1)', 'noop')
        >>> parse_message("(ping")
        Ping()

    Raises:
        RemoteProtocolError: the text is not a message, or exceeds a limit.
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
        start = _start_around(text, limits)
        if start is not None:
            return start
        raise _no_message(text)
    kind, args = items[0].lower(), items[1:]
    match kind:
        case "info":
            return Info()
        case "ping":
            return Ping()
        case "preview":
            rules, clocks = _rules_and_clocks("preview", args, 1, limits)
            return Preview(rules, clocks[0])
        case "start":
            return _start(args, limits)
        case "play" | "stop":
            return _turn(Play if kind == "play" else Stop, args, limits)
        case "abort":
            return Abort(_match_id("abort", args))
    raise _no_message(text)


def parse_reply(text: str) -> str:
    """The single term of a player's answer, on one line in its own spelling: a move, `ready`, ...

    Nothing is repaired: servers treat `(noop)` and `(choose 1` as illegal moves.

        >>> parse_reply("( mark 1 1 )")
        '(mark 1 1)'

    Raises:
        RemoteProtocolError: there is no term, or several, or parentheses do not match.
    """
    limits = MessageLimits()
    check_size(text, limits)
    items = split_items(text, limits)
    term = squeezed(text)
    if len(items) != 1 or term.count("(") != term.count(")") or term != squeezed(items[0]):
        raise RemoteProtocolError(f"expected one term as the answer, not {quoted(text)}")
    return term


def _no_message(text: str) -> RemoteProtocolError:
    kinds = "info, ping, preview, start, play, stop or abort"
    return RemoteProtocolError(f"{quoted(text)} is not a message; expected {kinds}")


def _match_id(kind: str, args: list[str]) -> str:
    if not args or is_list(args[0]):
        raise RemoteProtocolError(f"{kind} must name a match: ({kind.upper()} MATCH ...)")
    return args[0]


def _start(args: list[str], limits: MessageLimits) -> Start:
    match_id = _match_id("start", args)
    if len(args) < 2 or is_list(args[1]):
        raise RemoteProtocolError("start must name our role: (START MATCH ROLE (RULES) 30 10)")
    rules, clocks = _rules_and_clocks("start", args[2:], 2, limits)
    return Start(match_id, args[1], rules, clocks[0], clocks[1])


def _start_around(text: str, limits: MessageLimits) -> Start | None:
    """A start message whose rules have a surplus closing parenthesis, which would end it early.

    The rules are the text between our role and the clocks. None if this is not a start message.
    """
    begin = _START.match(text)
    head, clocks = _cut_clocks(text, 2)
    if begin is None or not clocks:
        return None
    rules = head[begin.end() :].rstrip().removesuffix(")")
    if not split_items(rules, limits):
        return None
    return Start(begin[1], begin[2], rules, *(_clock("start", clock) for clock in clocks))


def _rules_and_clocks(
    kind: str, args: list[str], num_clocks: int, limits: MessageLimits
) -> tuple[str, list[int]]:
    """Rules and clocks; if a rule is never closed, the clocks stand at the end of the rules."""
    if not args or not is_list(args[0]):
        raise RemoteProtocolError(f"{kind} must give the rules as one list")
    rules, clocks = inside(args[0]), args[1:]
    rule_texts = split_items(rules, limits)
    if not clocks:
        # A rule that is never closed swallows the clocks.
        head, clocks = _cut_clocks(rules, num_clocks)
        rules = head if clocks else rules
    if not rule_texts:
        raise RemoteProtocolError(f"{kind} gives no rules")
    if len(clocks) < num_clocks:
        raise RemoteProtocolError(f"{kind} must give {num_clocks} clocks in seconds")
    return rules, [_clock(kind, item) for item in clocks[:num_clocks]]


def _cut_clocks(rules: str, num_clocks: int) -> tuple[str, list[str]]:
    numbers = r"((?:\s+[0-9]{1,9}){%d})[\s)]*$" % num_clocks  # noqa: UP031
    # Only in the last characters: the pattern is tried from every position.
    tail = re.search(numbers, rules[-100:], re.ASCII)
    if tail is None:
        return rules, []
    return rules[: len(rules) - len(rules[-100:]) + tail.start()], tail.group(1).split()


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
    # Newer GDL-II is recognised by the number of items. No known server sends a turn with percepts
    # but without a move, but that would have only one meaning.
    if len(rest) >= 2 and _TURN.fullmatch(rest[0]):
        turn = int(rest[0])
        if turn > MAX_TURN:
            raise RemoteProtocolError(f"turn {turn} is beyond the limit of {MAX_TURN}")
        rest = rest[1:]
        if len(rest) >= 2:
            last_move, rest = _optional(rest[0]), rest[1:]
    if not rest or not is_list(rest[0]):
        return kind(match_id, turn, last_move)
    terms = map(squeezed, split_items(inside(rest[0]), limits))
    return kind(match_id, turn, last_move, tuple(terms))


def _optional(item: str) -> str | None:
    text = squeezed(item)
    return None if text in ("()", "") or text.lower() == NIL else text
