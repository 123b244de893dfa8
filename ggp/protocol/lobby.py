"""All matches of a server: texts in, replies and questions for workers out.

The lobby knows no sockets, processes or clocks: it is a function of the texts and answers it
was given, and of the times that came with them, so giving it the same again restores it.

How a server uses it:

    receipt = lobby.receive(text, now)
    for match in receipt.ended:      end the worker of that match
    if receipt.began is not None:    start a worker for that match
    for number in receipt.released:  answer this question now: nobody waits for a better answer
    if receipt.refusal is not None:  refuse the message (400)
    elif receipt.reply is not None:  send it
    else:                            let the worker of receipt.ask.match think, and at
                                     receipt.ask.deadline_s at the latest
        text = lobby.answer(receipt.ask, move, now)    and send it

Where no particle fits `ask.history`, `ask.doubts` has other readings of what was told; the one
that fits goes to `answer` as `believed`.

The same `Ask` (the same `number`) may be given for several connections: the server repeated
its message. All get the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from ggp.errors import ConfigError, RemoteProtocolError
from ggp.gdl.names import is_symbol
from ggp.protocol.forms import MessageLimits
from ggp.protocol.messages import (
    BUSY,
    NIL,
    READY,
    Abort,
    Info,
    Message,
    Ping,
    Play,
    Preview,
    Start,
    Stop,
)
from ggp.protocol.printing import info_reply
from ggp.protocol.questions import Ask, default_margin_s
from ggp.protocol.reading import Text, read_text
from ggp.protocol.receipts import Receipt
from ggp.protocol.session import Session
from ggp.protocol.spelling import Outline
from ggp.protocol.transitions import MatchState
from ggp.protocol.turns import History

MAX_REMEMBERED = 32
"""Matches that are over and still remembered, for messages that come twice or late."""


class Lobby:
    """All matches a server plays.

    Args:
        name: what the player is called, one symbol.
        matches: how many matches may be live at once.
        limits: on messages.
        margin_s: what is kept of a clock for the way, given the clock.

    Raises:
        ConfigError: the name is no symbol, or no match may be played.
    """

    def __init__(
        self,
        name: str,
        *,
        matches: int = 1,
        limits: MessageLimits | None = None,
        margin_s: Callable[[float], float] = default_margin_s,
    ) -> None:
        if not is_symbol(name):
            raise ConfigError(f"a player's name must be one word without parentheses, not {name!r}")
        if matches < 1:
            raise ConfigError(f"the number of matches must be at least 1, not {matches}")
        self.name, self.matches = name, matches
        self._limits = limits or MessageLimits()
        self._margin_s = margin_s
        self._serials = count(1)
        self._numbers = count(1)
        self._by_id: dict[str, Session] = {}
        self._by_serial: dict[int, Session] = {}

    @property
    def live(self) -> tuple[Session, ...]:
        """The matches that need a worker, oldest first."""
        return tuple(each for each in self._by_serial.values() if each.is_live)

    @property
    def is_busy(self) -> bool:
        """Whether another match would be one too many."""
        return len(self.live) >= self.matches

    def knows(self, match_id: str) -> bool:
        """Whether a match of that id, as it was sent, is live or remembered."""
        return match_id in self._by_id

    def session(self, match: int) -> Session | None:
        """A match by its serial number, while it is remembered."""
        return self._by_serial.get(match)

    def receive(self, text: str | Text, now: float) -> Receipt:
        """What to do about the body of a request. Never raises.

        Args:
            text: of the body, or what `read_text` made of it.
            now: seconds of any clock that does not go back.
        """
        ended = self.forget(now)
        try:
            read = read_text(text, self._limits) if isinstance(text, str) else text
            if read.message is None:
                return Receipt(refusal=read.refusal, ended=ended)
            receipt = self._receive(read.message, now, read.rules)
        except RemoteProtocolError as error:
            return Receipt(refusal=str(error), ended=ended)
        return replace(receipt, ended=(*ended, *receipt.ended))

    def answer(
        self, ask: Ask, move: str | None, now: float, believed: History | None = None
    ) -> str:
        """The text to send as the answer to a question: one line, in the server's spelling.

        The first answer to a question stays: later calls give the same text.

        Args:
            ask: as a receipt gave it.
            move: canonical KIF, None if none is known; not needed to say `ready`.
            now: when the text is sent; an answer after the clock's end counts as late.
            believed: one of `ask.doubts`, if it fits and `ask.history` does not.
        """
        session = self._by_serial.get(ask.match)
        if session is None:
            return move or NIL if ask.wants_move else READY
        return session.answer(ask, move, now, believed)

    def undelivered(self, ask: Ask) -> None:
        """Take note that every connection waiting for the answer to a question broke.

        The server will have played another move for us, or asks again within the clock, which
        then counts as the same turn.
        """
        session = self._by_serial.get(ask.match)
        if session is not None:
            session.undelivered(ask)

    def forget(self, now: float) -> tuple[int, ...]:
        """Forget matches gone silent; gives those that needed a worker."""
        silent = [each for each in self._by_serial.values() if each.silent_at_s < now]
        over = [
            s for s in self._by_serial.values() if s.state is MatchState.OVER and s not in silent
        ]
        ended = tuple(each.serial for each in silent if each.is_live)
        for each in (*silent, *over[: max(0, len(over) - MAX_REMEMBERED)]):
            self._drop(each)
        return ended

    def _receive(self, message: Message, now: float, rules: Outline | None) -> Receipt:
        match message:
            case Info():
                return Receipt(message, reply=info_reply(self.name, busy=self.is_busy))
            case Ping() | Preview():
                return Receipt(message, reply=READY)
            case Start():
                return self._receive_start(message, now, rules)
            case Play() | Stop() | Abort():
                session = self._by_id.get(message.match_id)
                if session is None:
                    return self._unknown(message)
                return self._pass_on(session, message, now)

    def _receive_start(self, start: Start, now: float, rules: Outline | None) -> Receipt:
        before = self._by_id.get(start.match_id)
        if before is None or before.state is MatchState.OVER:
            if self.is_busy:
                note = f"busy: as many matches as allowed are played ({len(self.live)})"
                return Receipt(start, reply=BUSY, notes=(note,))
            return self._begin(start, now, rules)
        receipt = self._pass_on(before, start, now)
        if before.is_live:
            return receipt
        notes = ("a start with the same match id and other content: the match is replaced",)
        return replace(self._begin(start, now, rules), ended=(before.serial,), notes=notes)

    def _begin(self, start: Start, now: float, rules: Outline | None) -> Receipt:
        session = Session(start, next(self._serials), self._numbers.__next__, self._margin_s, rules)
        before = self._by_id.get(start.match_id)
        if before is not None:
            self._drop(before)
        self._by_id[start.match_id] = self._by_serial[session.serial] = session
        receipt = self._pass_on(session, start, now)
        opening = session.opening
        return replace(receipt, began=opening)

    def _pass_on(
        self, session: Session, message: Start | Play | Stop | Abort, now: float
    ) -> Receipt:
        was_live = session.is_live
        receipt = session.receive(message, now)
        ended = (session.serial,) if was_live and not session.is_live else ()
        return replace(receipt, message=message, match=session.serial, ended=ended)

    def _unknown(self, message: Play | Stop | Abort) -> Receipt:
        return Receipt(message, reply=BUSY, notes=(f"unknown match {message.match_id}: busy",))

    def _drop(self, session: Session) -> None:
        del self._by_serial[session.serial]
        if self._by_id.get(session.start.match_id) is session:
            del self._by_id[session.start.match_id]
