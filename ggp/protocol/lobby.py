"""All matches of a server: texts in, replies and questions for workers out.

The lobby knows no sockets, processes or clocks: it is a function of the texts and answers it was
given, and of their times, so giving it the same again restores it.

How a server uses it:

    request = read_request(Request(text, now, peer))
    while lobby.may_find_room(request, now):    wait a moment
    receipt = lobby.receive(request, now)
    for match in receipt.ended:      end the worker of that match
    if receipt.began is not None:    start a worker for that match
    for number in receipt.released:  answer this question now: nobody waits for a better answer
    if receipt.refusal is not None:  refuse the message (400)
    elif receipt.reply is not None:  send it
    else:                            let the worker of receipt.ask.match think, and at
                                     receipt.ask.deadline_s at the latest
        text = lobby.answer(receipt.ask, move, now)    and send it

If no particle fits `ask.history`, `ask.doubts` has other readings of the messages; the first
that fits, possibly `ask.history`, goes to `answer` as `believed`.

A match that finds no room, or gives its place up, is remembered: as soon as there is
room, its next message begins it again, with `receipt.began` and the history it had.

If a server has us play several roles of one match, each is a session, and asked by itself
(`seats`); together they have one place.

The same `Ask` (the same `number`) may be given for several connections: the server repeated
its message. All get the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from ggp.errors import ConfigError, RemoteProtocolError
from ggp.gdl.syntax.names import is_symbol
from ggp.protocol.forms import MessageLimits, info_reply
from ggp.protocol.messages import (
    BUSY,
    NIL,
    READY,
    Abort,
    Info,
    Ping,
    Play,
    Preview,
    Start,
    Stop,
)
from ggp.protocol.path import History
from ggp.protocol.reading import Request, read_request
from ggp.protocol.session import Ask, Receipt, Session, default_margin_s
from ggp.protocol.transitions import Event, MatchState


class Lobby:
    """All matches that a server plays.

    Args:
        name: name of the player, one symbol.
        matches: most matches that may be live at once.
        limits: bounds on messages.
        margin_s: part of a clock that is reserved for transmission, given the clock.

    Attributes:
        is_preparing: whether we still get ready to play at full strength: then we are busy, but
            nobody who begins a match is turned away.

    Raises:
        ConfigError: the name is not a symbol, or no match may be played.
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
        self._numbers = count(1)
        self._sessions = Sessions()
        self.is_preparing = False

    @property
    def live(self) -> tuple[Session, ...]:
        """The roles of matches that need a worker, oldest first."""
        return self._sessions.live

    @property
    def is_busy(self) -> bool:
        """Whether there is no room for another match."""
        return len({each.start.match_id for each in self.live}) >= self.matches

    def knows(self, match_id: str) -> bool:
        """Whether a match with this id, as it was sent, is live or remembered."""
        return bool(self._sessions.of(match_id))

    def is_waiting(self, match_id: str, role: str | None = None) -> bool:
        """Whether a match with this id, or this canonical role of it, is remembered but has no
        place."""
        seats = self._sessions.of(match_id)
        return any(role in (None, each.role) and not each.has_place for each in seats)

    def session(self, match: int) -> Session | None:
        """A match by its serial number, while it is remembered."""
        return self._sessions.numbered(match)

    def may_find_room(self, request: Request, now: float) -> bool:
        """Whether a request should wait for room that is not there yet.

        A turn does, until it must be answered: `busy` would certainly be an illegal move. A start
        does if a silent match will have to give way before the first move is due. Messages that
        are answered `ready`, without a match, wait until we are.

        Args:
            request: one that is read, and has not been received yet.
            now: seconds on the clock of `came_s`.
        """
        message, sender = request.message, request.sender
        if isinstance(message, Ping | Preview):
            return self.is_preparing
        if not isinstance(message, Start | Play) or not self.is_busy:
            return False
        seats = self._sessions.of(message.match_id)
        if isinstance(message, Start):
            if any(each.state is not MatchState.OVER for each in seats):
                return False
            due_s = request.came_s + self._time_for(message.start_clock_s)
            end_s = request.came_s + message.start_clock_s
            until_s = end_s + self._time_for(message.play_clock_s)
            is_near = gives_way(self.live, sender, until_s) is not None
        else:
            session = next((each for each in seats if not each.has_place), None)
            if session is None:
                return False
            sender, is_near = session.sender, True
            due_s = request.came_s + self._time_for(session.start.play_clock_s)
        return is_near and now < due_s and gives_way(self.live, sender, now) is None

    def receive(self, request: Request, now: float) -> Receipt:
        """Decide what to do about a request. Never raises.

        Args:
            request: read here, unless that was done before.
            now: seconds on any clock that never goes back.
        """
        ended = self.forget(now)
        if request.message is None and request.refusal is None:
            request = read_request(request, self._limits)
        try:
            receipt = self._receive(request, now)
        except RemoteProtocolError as error:
            return Receipt(refusal=str(error), ended=ended)
        return replace(receipt, ended=(*ended, *receipt.ended))

    def answer(
        self, ask: Ask, move: str | None, now: float, believed: History | None = None
    ) -> str:
        """The text of the answer to a question: one line, in the server's spelling.

        The first answer to a question is final: later calls give the same text.

        Args:
            ask: as in the receipt.
            move: canonical KIF, None if none is known; not needed to say `ready`.
            now: when the text is sent; an answer after the clock's end counts as late.
            believed: `ask.history` if it fits for certain, one of `ask.doubts` if that fits and
                none before it does; None if it was not found out.
        """
        session = self._sessions.numbered(ask.match)
        if session is None:
            return move or NIL if ask.wants_move else READY
        return session.answer(ask, move, now, believed)

    def abandoned(self, ask: Ask) -> None:
        """Record that all who wait for the answer to a question seem to be gone: the match gives
        its place to any other that needs it, unless another message arrives."""
        session = self._sessions.numbered(ask.match)
        if session is not None:
            session.abandoned(ask)

    def taken(self, ask: Ask) -> None:
        """Record that somebody took the answer to a question: see `abandoned`."""
        session = self._sessions.numbered(ask.match)
        if session is not None:
            session.taken(ask)

    def undelivered(self, ask: Ask) -> None:
        """Record that every connection waiting for the answer to a question broke.

        The server will have played another move for us, or asks again within the clock, which
        then counts as the same turn. Or there is no server any more: see `abandoned`.
        """
        session = self._sessions.numbered(ask.match)
        if session is not None:
            session.undelivered(ask)

    def take_place(self, match: int) -> None:
        """Make a live match give up its place; it is remembered."""
        session = self._sessions.numbered(match)
        if session is not None and session.is_live:
            self._sessions.take_place(session)

    def resume(self, now: float, listens_since_s: float | None = None) -> None:
        """Record that all live matches continue after the server was down: a game server that is
        silent for one more clock is taken to be gone.

        Args:
            now: seconds on the same clock.
            listens_since_s: since when messages arrive here; default: now. Those sent before it,
                and after the latest that arrived, are lost.
        """
        for session in self.live:
            session.resume(now, now if listens_since_s is None else listens_since_s)

    def forget(self, now: float) -> tuple[int, ...]:
        """Forget silent matches; returns those that no longer need their worker."""
        return self._sessions.forget(now)

    def _receive(self, request: Request, now: float) -> Receipt:
        match message := request.message:
            case None:
                return Receipt(refusal=request.refusal)
            case Info():
                is_full = self.is_busy and gives_way(self.live, request.sender, now) is None
                busy = self.is_preparing or is_full
                return Receipt(message, reply=info_reply(self.name, busy=busy))
            case Ping() | Preview():
                return Receipt(message, reply=READY)
            case Start():
                return self._receive_start(message, request, now)
            case Play() | Stop() | Abort():
                seats = self._sessions.of(message.match_id)
                known = [each for each in seats if request.role in (None, each.role)]
                if not known:
                    note = f"unknown match {message.match_id}: busy"
                    return Receipt(message, reply=BUSY, notes=(note,))
                session = seat_for(known, message, request.receiver, now)
                is_over = session.state is MatchState.OVER
                if isinstance(message, Play) and not session.has_place and not is_over:
                    return self._begin_late(session, message, request.came_s, now)
                return self._pass_on(session, message, request.came_s)

    def _receive_start(self, message: Start, request: Request, now: float) -> Receipt:
        ended: tuple[int, ...] = ()
        notes: tuple[str, ...] = ()
        for before in self._others(message, request.role):
            if not before.has_place and message == before.start:
                return self._begin_late(before, message, request.came_s, now)
            receipt = self._pass_on(before, message, request.came_s)
            if receipt.reply is not None or receipt.ask is not None:
                return receipt
            ended += receipt.ended
            notes = ("a start with the same match id and other content: the match is replaced",)
        has_room, gave_way = self._make_room(message, request.sender, now)
        session = self._new_session(message, request)
        notes += shared_names(self._sessions.of(message.match_id), session)
        receipt = self._pass_on(session, message, request.came_s)
        if has_room:
            receipt = replace(receipt, began=session.opening)
        else:
            receipt = self._refused(session, receipt)
        notes = (*notes, *receipt.notes)
        return replace(receipt, ended=(*ended, *gave_way), notes=notes)

    def _others(self, message: Start, role: str | None) -> list[Session]:
        """What a start message is about besides what it begins: the same role, if we play it, or
        else all roles of another match that has its id, those that are thought for first."""
        seats = self._sessions.of(message.match_id)
        live = [each for each in seats if each.state is not MatchState.OVER]
        same = [each for each in live if each.outline.read(message.role) == each.role]
        is_known = role is not None and all(same_match(each, message) for each in live)
        if same or is_known or joins(live, message):
            return same
        return sorted(live, key=lambda each: not each.is_thinking)

    def _new_session(self, message: Start, request: Request) -> Session:
        number, names = self._numbers.__next__, (request.sender, request.receiver)
        return self._sessions.add(
            lambda serial: Session(message, serial, number, self._margin_s, request.rules, *names)
        )

    def _begin_late(
        self, session: Session, message: Start | Play, came_s: float, now: float
    ) -> Receipt:
        """Handle a message of a match that has no place: it gets one if there is room by now."""
        has_room, gave_way = self._make_room(session.start, session.sender, now)
        if not has_room:
            return self._refused(session, self._pass_on(session, message, came_s))
        # With a new number: workers of the old one may not have ended yet.
        self._sessions.give_place(session)
        receipt = self._pass_on(session, message, came_s)
        notes = ("there is room now: the match begins", *receipt.notes)
        return replace(receipt, began=session.opening, ended=gave_way, notes=notes)

    def _make_room(self, start: Start, sender: str, now: float) -> tuple[bool, tuple[int, ...]]:
        """Whether there is room for a role of a match, and the matches that lose their workers for
        it."""
        live = self.live
        ids = [each.start.match_id for each in live]
        if start.match_id in ids:
            return ids.count(start.match_id) < MOST_ROLES, ()
        if not self.is_busy:
            is_last = 1 < self.matches == len({*ids}) + 1
            return not is_last or may_have_last(start, live, sender), ()
        idle = gives_way(live, sender, now)
        if idle is None:
            return False, ()
        match = [each for each in live if each.start.match_id == idle.start.match_id]
        return True, tuple(self._sessions.take_place(each) for each in match)

    def _refused(self, session: Session, receipt: Receipt) -> Receipt:
        """The answer to a match for which there is no room; it is remembered."""
        self._sessions.take_place(session)
        if receipt.ask is None and not isinstance(receipt.message, Start):
            return receipt
        note = f"busy: as many matches as allowed are played ({self.matches}); remembered"
        return Receipt(receipt.message, reply=BUSY, notes=(*receipt.notes, note))

    def _time_for(self, clock_s: float) -> float:
        """Time available for the answer within a clock."""
        return clock_s - self._margin_s(clock_s)

    def _pass_on(
        self, session: Session, message: Start | Play | Stop | Abort, now: float
    ) -> Receipt:
        was_live = session.is_live
        receipt = session.receive(message, now)
        ended = (session.serial,) if was_live and not session.is_live else ()
        return replace(receipt, message=message, match=session.serial, ended=ended)


# ------------------------------------------------------------------------
# Several roles of one match that are played on one address, and which of them a message is for.
#
# Servers send a message of each turn to every role, and where one address plays several, only the
# start message names the role. The others are told apart by what they say, in this order:
#
# 1. The name of the receiver, where the starts had different ones: ggp-base sends the player's. 2.
# A message that is new to one role is for that one: another has had it already. 3. A message that
# repeats one whose answer was lost is for the role that answered. 4. A message that tells the move
# that one role answered is for that one. 5. Otherwise the roles are asked in the order of the
# rules, as servers do.
#
# A server that asks all roles at the same moment, and calls us by one name, may be misunderstood:
# nothing but the order of its messages tells them apart.

MOST_ROLES = 4
"""Most roles of one match that share its place: each has workers of its own."""

_ORDER: Mapping[Event, int] = {
    Event.PLAY_NEXT: 0,
    Event.PLAY_GAP: 1,
    Event.PLAY_AGAIN: 2,
    Event.PLAY_LATE: 2,
    Event.PLAY_REVISED: 3,
}
"""Events of turns, from those that say most clearly that a message is for a role."""

_OVER = 4


def seat_for(
    seats: Sequence[Session], message: Play | Stop | Abort, receiver: str, now: float
) -> Session:
    """The role that a message is for.

    Args:
        seats: the roles of its match that we play, at least one, in the order of the rules.
        message: of the match.
        receiver: the name that the server calls us; empty if it does not.
        now: the time.

    Raises:
        RemoteProtocolError: the match goes on beyond the limit of turns.
    """
    if len(seats) == 1:
        return seats[0]
    named = [each for each in seats if each.receiver == receiver]
    return min(named or seats, key=lambda each: _distance(each, message, now))


def joins(seats: Sequence[Session], start: Start) -> bool:
    """Whether a start is for another role of a match that has just begun, and not a new match.

    Args:
        seats: the roles that we play in the match with its id.
        start: for a role that is not among them.
    """
    others = [each for each in seats if each.state is not MatchState.OVER]
    return bool(others) and all(
        each.dialect is None and not each.is_abandoned and same_match(each, start)
        for each in others
    )


def same_match(seat: Session, start: Start) -> bool:
    """Whether a start has the rules and clocks of a match, and one of its roles."""
    first = seat.start
    clocks = (first.start_clock_s, first.play_clock_s)
    return (
        first.rules == start.rules
        and clocks == (start.start_clock_s, start.play_clock_s)
        and seat.outline.read(start.role) in seat.outline.roles
    )


def shared_names(seats: Sequence[Session], newcomer: Session) -> tuple[str, ...]:
    """What is odd about a role that begins: the server may call us the same as another role."""
    others = [
        each.role for each in seats if each is not newcomer and each.receiver == newcomer.receiver
    ]
    if not others:
        return ()
    return (
        f"we are {', '.join(others)} in this match too, under the same name: messages that come at "
        "the same moment may be mixed up; a name, or a port, of its own for each role prevents it",
    )


def _distance(
    seat: Session, message: Play | Stop | Abort, now: float
) -> tuple[int, bool, bool, int]:
    """The smaller, the likelier a message is for a role."""
    if seat.state is MatchState.OVER:
        return _OVER, True, True, 0
    if isinstance(message, Abort):
        return 0, True, True, 0
    play = Play(message.match_id, message.turn, message.last_move, message.told)
    reading, answers = seat.read(play, now)
    told = None if reading.told is None else reading.told.move
    before, latest = (answers.get(turn) for turn in (reading.turn - 1, reading.turn))
    is_lost = latest is not None and latest.is_lost
    is_ours = told is not None and before is not None and told == before.submitted
    return _ORDER[reading.event], not is_lost, not is_ours, seat.num_turns


# ------------------------------------------------------------------------
# All matches a lobby knows: by the id the server gave them, and by our own number.
#
# Where we play several roles of one match, each is a session, with the same id. They are live, or
# without a place, or over. All but the live ones are only remembered, within the limits here.

MAX_REMEMBERED = 32
"""Finished matches that are still remembered, for duplicate and late messages."""


class Sessions:
    """Roles of matches, oldest first. Ids are as sent; no number is ever reused."""

    def __init__(self) -> None:
        self._serials = count(1)
        self._by_id: dict[str, list[Session]] = {}
        self._by_serial: dict[int, Session] = {}

    @property
    def live(self) -> tuple[Session, ...]:
        """The matches that need a worker."""
        return tuple(each for each in self._by_serial.values() if each.is_live)

    def of(self, match_id: str) -> tuple[Session, ...]:
        """The roles of the match with an id that we play, in the order of its rules."""
        return tuple(self._by_id.get(match_id, ()))

    def numbered(self, serial: int) -> Session | None:
        """The match with a number."""
        return self._by_serial.get(serial)

    def add(self, make: Callable[[int], Session]) -> Session:
        """Add a role of a match with a new number, in place of itself, and of any match with its
        id that is over."""
        session = make(next(self._serials))
        for before in self.of(session.start.match_id):
            if before.state is MatchState.OVER or before.role == session.role:
                self._drop(before)
        roles = session.outline.roles
        seats = self._by_id.setdefault(session.start.match_id, [])
        seats.append(session)
        seats.sort(key=lambda each: roles.index(each.role) if each.role in roles else len(roles))
        self._by_serial[session.serial] = session
        return session

    def give_place(self, session: Session) -> None:
        """Make a match without a place live, with a new number."""
        del self._by_serial[session.serial]
        session.serial, session.has_place = next(self._serials), True
        self._by_serial[session.serial] = session

    def take_place(self, session: Session) -> int:
        """Make a live match only remembered, without a place; returns the number it had."""
        session.give_up()
        while True:
            waiting = [s for s in self._by_serial.values() if not s.has_place]
            forgotten = forgotten_first(sorted(waiting, key=lambda each: each.heard_at_s))
            if forgotten is None:
                return session.serial
            self._drop(forgotten)

    def forget(self, now: float) -> tuple[int, ...]:
        """Forget silent matches; returns those that no longer need their worker."""
        ended = [
            self.take_place(session)
            for session in self.live
            if session.resumed_at_s is not None and overdue(session, now)
        ]
        silent = [each for each in self._by_serial.values() if each.silent_at_s < now]
        over = [
            s for s in self._by_serial.values() if s.state is MatchState.OVER and s not in silent
        ]
        ended += [each.serial for each in silent if each.is_live]
        for each in (*silent, *over[: max(0, len(over) - MAX_REMEMBERED)]):
            self._drop(each)
        return tuple(ended)

    def _drop(self, session: Session) -> None:
        del self._by_serial[session.serial]
        seats = self._by_id[session.start.match_id]
        seats.remove(session)
        if not seats:
            del self._by_id[session.start.match_id]


# ------------------------------------------------------------------------
# Places in a lobby: which matches have workers, and which give their place to another.
#
# Servers do not always announce the end of a match: one is killed, or sends its last message while
# we are down. Such a match must not keep others out for long. So in a full lobby a match whose next
# message is overdue, or whose answer nobody has taken, gives its place up when another needs it. It
# is not forgotten: if it goes on after all and there is room, it gets a place again.

SLACK_S = 5.0
"""Delay of a message beyond its clock with which a match still keeps its place."""

MOST_HELD_S = 600.0
"""If one address has all places, one of its matches waits no longer than this while others want in,
however long its clocks are."""

LONG_CLOCKS_S = 3600.0
"""A match with longer clocks does not get the last place if its address has all others."""

MAX_WAITING = 16
"""Most matches without a place that are remembered."""

MAX_WAITING_CHARS = 4_000_000
"""Characters of rules and percepts that are kept of all of them together."""


def overdue(session: Session, now: float) -> bool:
    """Whether a message of the match is overdue, or its server seems to be gone."""
    return session.is_abandoned or session.expected_by_s + SLACK_S < now


def gives_way(live: Sequence[Session], sender: str, now: float) -> Session | None:
    """The match in a full lobby that gives its place to another; None if there is none.

    A match for which a worker is thinking, or getting ready, never does. If we play several of its
    roles, all must be silent.

    Args:
        live: all roles of matches that have a place.
        sender: address of the newcomer; empty if unknown.

    Returns:
        one of its roles.
    """
    idle = _all_of(live, lambda session: not session.is_thinking)
    late = _all_of(idle, lambda session: overdue(session, now))
    if not late and _others(live, sender):
        late = _all_of(idle, lambda session: session.waits_since_s + MOST_HELD_S < now)
    return min(late, key=lambda each: (not each.is_abandoned, each.expected_by_s), default=None)


def _all_of(live: Sequence[Session], holds: Callable[[Session], bool]) -> list[Session]:
    """The roles of matches of which something holds for all roles."""
    others = {session.start.match_id for session in live if not holds(session)}
    return [session for session in live if session.start.match_id not in others]


def may_have_last(start: Start, live: Iterable[Session], sender: str) -> bool:
    """Whether a match may have the last of several places; those of `live` have the others."""
    clocks_s = start.start_clock_s + start.play_clock_s
    holders = {session.sender for session in live}
    return not sender or holders != {sender} or clocks_s <= LONG_CLOCKS_S


def forgotten_first(waiting: Sequence[Session]) -> Session | None:
    """The match to forget of too many without a place: the oldest of the address that has most of
    them. None if they are not too many."""
    if len(waiting) <= MAX_WAITING and sum(s.num_chars for s in waiting) <= MAX_WAITING_CHARS:
        return None
    numbers = Counter(session.sender for session in waiting)
    most = max(numbers.values())
    return next(session for session in waiting if numbers[session.sender] == most)


def _others(live: Sequence[Session], sender: str) -> bool:
    """Whether one address has all places, and it is not this one."""
    holders = {session.sender for session in live}
    return len(holders) == 1 and bool(sender) and "" not in holders and sender not in holders
