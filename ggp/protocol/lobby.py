"""All matches of a server: requests come in, replies and questions for workers go out.

The lobby knows no sockets, processes or clocks: its state is a function of its requests and answers
and of their times, so replaying these restores it.

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

If no particle fits `ask.history`, `ask.doubts` has other readings of the messages. Which one fits
is passed to `answer`.

A match that finds no room, or gives up its place, is remembered. As soon as there is room, its next
message begins it again, with `receipt.began` and its old history.

If a server has us play several roles of one match, each role is a session of its own (`seats`); all
of them share one place.

A server may repeat its message on another connection. Then both connections get the same `Ask`
(with the same `number`) and the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from ggp.errors import ConfigError, RemoteProtocolError
from ggp.gdl.syntax.reading import is_symbol
from ggp.protocol.messages import (
    BUSY,
    NIL,
    READY,
    Abort,
    Info,
    MessageLimits,
    Ping,
    Play,
    Preview,
    Start,
    Stop,
    info_reply,
)
from ggp.protocol.path import NO_FIT, Fit
from ggp.protocol.reading import Request, read_request
from ggp.protocol.session import Ask, Receipt, Session, default_margin_s
from ggp.protocol.transitions import Event, MatchState


class Lobby:
    """All matches that a server plays.

    Args:
        name: name of the player, one symbol.
        matches: maximum number of live matches.
        limits: bounds on messages.
        margin_s: part of a clock that is reserved for transmission, given the clock.

    Attributes:
        is_preparing: whether we are still getting ready to play at full strength. Meanwhile we
            report that we are busy, but accept matches.

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
        return len({seat.start.match_id for seat in self.live}) >= self.matches

    def knows(self, match_id: str) -> bool:
        """Whether a match with this id, as it was sent, is live or remembered."""
        return bool(self._sessions.of(match_id))

    def is_waiting(self, match_id: str, role: str | None = None) -> bool:
        """Whether a match with this id, or this canonical role of it, is remembered but has no
        place."""
        seats = self._sessions.of(match_id)
        return any(role in (None, seat.role) and not seat.has_place for seat in seats)

    def session(self, match: int) -> Session | None:
        """A match by its serial number, while it is remembered."""
        return self._sessions.numbered(match)

    def may_find_room(self, request: Request, now: float) -> bool:
        """Whether a request should wait for room.

        A turn waits until it must be answered: `busy` would certainly be an illegal move. A start
        waits if a silent match will have to give way before the first move is due. A message
        without a match that is answered `ready` waits until we are ready.

        Args:
            request: already read, but not received yet.
            now: seconds on the clock of `came_s`.
        """
        message, sender = request.message, request.sender
        if isinstance(message, Ping | Preview):
            return self.is_preparing
        if not isinstance(message, Start | Play) or not self.is_busy:
            return False
        seats = self._sessions.of(message.match_id)
        if isinstance(message, Start):
            if any(seat.state is not MatchState.OVER for seat in seats):
                return False
            due_s = request.came_s + self._time_for(message.start_clock_s)
            end_s = request.came_s + message.start_clock_s
            until_s = end_s + self._time_for(message.play_clock_s)
            is_near = gives_way(self.live, sender, until_s) is not None
        else:
            session = next((seat for seat in seats if not seat.has_place), None)
            if session is None:
                return False
            sender, is_near = session.sender, True
            due_s = request.came_s + self._time_for(session.start.play_clock_s)
        return is_near and now < due_s and gives_way(self.live, sender, now) is None

    def receive(self, request: Request, now: float) -> Receipt:
        """Handle a request; returns instructions for the server. Never raises.

        Args:
            request: is read here if it has not been read.
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

    def answer(self, ask: Ask, move: str | None, now: float, fit: Fit = NO_FIT) -> str:
        """The text of the answer to a question: one line, in the server's spelling.

        The first answer to a question is final: later calls give the same text.

        Args:
            ask: as in the receipt.
            move: canonical KIF; None if no move is known, or the answer is `ready`.
            now: when the text is sent; an answer after the clock's end counts as late.
            fit: which of `ask.readings` fits.
        """
        session = self._sessions.numbered(ask.match)
        if session is None:
            return move or NIL if ask.wants_move else READY
        return session.answer(ask, move, now, fit)

    def abandoned(self, ask: Ask) -> None:
        """Record that all clients waiting for the answer to a question seem to be gone.

        The match gives its place to any other that needs it, unless another message arrives.
        """
        session = self._sessions.numbered(ask.match)
        if session is not None:
            session.abandoned(ask)

    def delivered(self, ask: Ask) -> None:
        """Record that a client received the answer to a question: see `abandoned`."""
        session = self._sessions.numbered(ask.match)
        if session is not None:
            session.delivered(ask)

    def undelivered(self, ask: Ask) -> None:
        """Record that every connection waiting for the answer to a question broke.

        The server plays another move for us, or asks again within the clock, which then counts as
        the same turn. Or the server is gone: see `abandoned`.
        """
        session = self._sessions.numbered(ask.match)
        if session is not None:
            session.undelivered(ask)

    def take_place(self, match: int) -> None:
        """Make a live match give up its place; it is remembered."""
        session = self._sessions.numbered(match)
        if session is not None and session.is_live:
            self._sessions.take_place(session)

    def resume(
        self,
        now: float,
        listens_since_s: float | None = None,
        alive_s: Mapping[int, float] | None = None,
    ) -> None:
        """Record that all live matches continue after our server was down.

        A game server that stays silent for one more clock counts as gone.

        Args:
            now: seconds on the same clock.
            listens_since_s: since when messages arrive here; default: now. Messages sent between
                the latest that arrived and this time are lost.
            alive_s: by match, when our server was surely alive for the last time, if that is known.
        """
        for session in self.live:
            since_s = now if listens_since_s is None else listens_since_s
            session.resume(now, since_s, (alive_s or {}).get(session.serial))

    def forget(self, now: float) -> tuple[int, ...]:
        """Forget silent matches; returns the numbers of matches that need no worker any more."""
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
                eligible = [seat for seat in seats if request.role in (None, seat.role)]
                if not eligible:
                    note = f"unknown match {message.match_id}: busy"
                    return Receipt(message, reply=BUSY, notes=(note,))
                session = seat_for(eligible, message, request.receiver, now)
                is_over = session.state is MatchState.OVER
                if isinstance(message, Play) and not session.has_place and not is_over:
                    return self._begin_late(session, message, request.came_s, now)
                return self._pass_on(session, message, request.came_s)

    def _receive_start(self, message: Start, request: Request, now: float) -> Receipt:
        ended: tuple[int, ...] = ()
        notes: tuple[str, ...] = ()
        for rival in self._affected(message, request.role):
            if not rival.has_place and message == rival.start:
                return self._begin_late(rival, message, request.came_s, now)
            receipt = self._pass_on(rival, message, request.came_s)
            if receipt.reply is not None or receipt.ask is not None:
                return receipt
            ended += receipt.ended
            notes = ("a start with the same match id and other content: the match is replaced",)
        has_room, gave_way = self._make_room(message, request.sender, now)
        number, names = self._numbers.__next__, (request.sender, request.receiver)
        session = self._sessions.add(
            lambda serial: Session(message, serial, number, self._margin_s, request.rules, *names)
        )
        notes += shared_names(self._sessions.of(message.match_id), session)
        receipt = self._pass_on(session, message, request.came_s)
        if has_room:
            receipt = replace(receipt, began=session.opening)
        else:
            receipt = self._refused(session, receipt)
        notes = (*notes, *receipt.notes)
        return replace(receipt, ended=(*ended, *gave_way), notes=notes)

    def _affected(self, message: Start, role: str | None) -> list[Session]:
        """The sessions that a start message may repeat or replace.

        They are the same role of its match if we play it, or else all roles of another match with
        its id, first those with an open question.
        """
        seats = self._sessions.of(message.match_id)
        live = [seat for seat in seats if seat.state is not MatchState.OVER]
        same_role = [seat for seat in live if seat.outline.read(message.role) == seat.role]
        is_known = role is not None and all(same_match(seat, message) for seat in live)
        if same_role or is_known or joins(live, message):
            return same_role
        return sorted(live, key=lambda seat: not seat.is_thinking)

    def _begin_late(
        self, session: Session, message: Start | Play, came_s: float, now: float
    ) -> Receipt:
        """Handle a message of a match without a place: give it one if there is room now."""
        has_room, gave_way = self._make_room(session.start, session.sender, now)
        if not has_room:
            return self._refused(session, self._pass_on(session, message, came_s))
        # With a new number: workers of the old number may still be ending.
        self._sessions.give_place(session)
        receipt = self._pass_on(session, message, came_s)
        notes = ("there is room now: the match begins", *receipt.notes)
        return replace(receipt, began=session.opening, ended=gave_way, notes=notes)

    def _make_room(self, start: Start, sender: str, now: float) -> tuple[bool, tuple[int, ...]]:
        """Whether there is room for a role of a match, and the matches that lose their workers to
        it."""
        live = self.live
        ids = [seat.start.match_id for seat in live]
        if start.match_id in ids:
            return ids.count(start.match_id) < MAX_ROLES, ()
        if not self.is_busy:
            is_last = 1 < self.matches == len({*ids}) + 1
            return not is_last or may_have_last(start, live, sender), ()
        idle = gives_way(live, sender, now)
        if idle is None:
            return False, ()
        match = [seat for seat in live if seat.start.match_id == idle.start.match_id]
        return True, tuple(self._sessions.take_place(seat) for seat in match)

    def _refused(self, session: Session, receipt: Receipt) -> Receipt:
        """The receipt for a match that finds no room; the match is remembered."""
        self._sessions.take_place(session)
        if receipt.ask is None and not isinstance(receipt.message, Start):
            return receipt
        note = f"busy: already playing the maximum of {self.matches} matches; remembered"
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
# Assigning messages to roles, if we play several roles of one match on one address.
#
# Servers send a message of each turn to every role, but only the start message names the role. The
# role of any other message follows from its content, by the first of these rules that decides:
#
# 1. The name of the receiver, if the starts had different ones: ggp-base sends the player's name.
# 2. A message that only one role has not had yet is for that role.
# 3. A message that repeats one whose answer was lost is for the role that answered.
# 4. A message that contains the move that one role answered is for that role.
# 5. Otherwise roles are asked in the order of the rules, as servers do.
#
# If a server asks all roles at the same moment and uses one name for us, only the order of its
# messages distinguishes them, and we may misunderstand it.

MAX_ROLES = 4
"""Maximum number of roles of one match that share its place; each has workers of its own."""

_ORDER: Mapping[Event, int] = {
    Event.PLAY_NEXT: 0,
    Event.PLAY_GAP: 1,
    Event.PLAY_AGAIN: 2,
    Event.PLAY_LATE: 2,
    Event.PLAY_REVISED: 3,
}
"""Events of turns, ranked by how clearly they show that a message is for a role."""

_OVER = 4


def seat_for(
    seats: Sequence[Session], message: Play | Stop | Abort, receiver: str, now: float
) -> Session:
    """The role that a message is for.

    Args:
        seats: the roles of its match that we play, at least one, in the order of the rules.
        message: of the match.
        receiver: the server's name for us; empty if it uses none.
        now: the time.

    Raises:
        RemoteProtocolError: the match goes on beyond the limit of turns.
    """
    if len(seats) == 1:
        return seats[0]
    named = [seat for seat in seats if seat.receiver == receiver]
    return min(named or seats, key=lambda seat: _distance(seat, message, now))


def joins(seats: Sequence[Session], start: Start) -> bool:
    """Whether a start is for another role of a match that has just begun, rather than a new match.

    Args:
        seats: the roles that we play in the match with its id.
        start: a start for another role.
    """
    unfinished = [seat for seat in seats if seat.state is not MatchState.OVER]
    return bool(unfinished) and all(
        seat.dialect is None and not seat.is_abandoned and same_match(seat, start)
        for seat in unfinished
    )


def same_match(seat: Session, start: Start) -> bool:
    """Whether a start has the id, rules and clocks of a match, and one of its roles."""
    is_same = replace(start, role=seat.start.role) == seat.start
    return is_same and seat.outline.read(start.role) in seat.outline.roles


def shared_names(seats: Sequence[Session], newcomer: Session) -> tuple[str, ...]:
    """Notes on a role that begins, if the server uses the same name for us in another role."""
    namesakes = [
        seat.role for seat in seats if seat is not newcomer and seat.receiver == newcomer.receiver
    ]
    if not namesakes:
        return ()
    return (
        f"we are {', '.join(namesakes)} in this match too, under the same name: simultaneous "
        "messages may be mixed up; give each role a name or a port of its own to prevent it",
    )


def _distance(
    seat: Session, message: Play | Stop | Abort, now: float
) -> tuple[int, bool, bool, int]:
    """A sort key, smaller the more likely a message is for a role."""
    if seat.state is MatchState.OVER:
        return _OVER, True, True, 0
    if isinstance(message, Abort):
        return 0, True, True, 0
    reading, answers = seat.read(message, now)
    move = None if reading.news is None else reading.news.move
    previous, latest = (answers.get(turn) for turn in (reading.turn - 1, reading.turn))
    is_lost = latest is not None and latest.is_lost
    is_ours = move is not None and previous is not None and move == previous.submitted
    return _ORDER[reading.event], not is_lost, not is_ours, seat.num_turns


# ------------------------------------------------------------------------
# All sessions of a lobby, by the server's match id and by our own serial number.
#
# If we play several roles of one match, each is a session, and all have the same id. A session is
# live, without a place, or over. Sessions that are not live are only remembered, within limits.

MAX_REMEMBERED = 32
"""Number of finished matches that are remembered, for duplicate and late messages."""


class Sessions:
    """Roles of matches, oldest first. Ids are as sent; no number is ever reused."""

    def __init__(self) -> None:
        self._serials = count(1)
        self._by_id: dict[str, list[Session]] = {}
        self._by_serial: dict[int, Session] = {}

    @property
    def live(self) -> tuple[Session, ...]:
        """The matches that need a worker."""
        return tuple(session for session in self._by_serial.values() if session.is_live)

    def of(self, match_id: str) -> tuple[Session, ...]:
        """The roles that we play in the match with this id, in the order of its rules."""
        return tuple(self._by_id.get(match_id, ()))

    def numbered(self, serial: int) -> Session | None:
        """The session with this serial number, if it is remembered."""
        return self._by_serial.get(serial)

    def add(self, make: Callable[[int], Session]) -> Session:
        """Add a role of a match with a new number.

        It replaces the same role, and any match with its id that is over.
        """
        session = make(next(self._serials))
        for rival in self.of(session.start.match_id):
            if rival.state is MatchState.OVER or rival.role == session.role:
                self._drop(rival)
        roles = session.outline.roles
        seats = self._by_id.setdefault(session.start.match_id, [])
        seats.append(session)
        seats.sort(key=lambda seat: roles.index(seat.role) if seat.role in roles else len(roles))
        self._by_serial[session.serial] = session
        return session

    def give_place(self, session: Session) -> None:
        """Make a match without a place live, with a new number."""
        del self._by_serial[session.serial]
        session.serial, session.has_place = next(self._serials), True
        self._by_serial[session.serial] = session

    def take_place(self, session: Session) -> int:
        """Take away the place of a live match, which stays remembered; returns its number."""
        session.give_up()
        while True:
            waiting = [s for s in self._by_serial.values() if not s.has_place]
            forgotten = match_to_forget(sorted(waiting, key=lambda seat: seat.heard_at_s))
            if forgotten is None:
                return session.serial
            self._drop(forgotten)

    def forget(self, now: float) -> tuple[int, ...]:
        """Forget silent matches; returns the numbers of matches that need no worker any more."""
        ended = [
            self.take_place(session)
            for session in self.live
            if session.resumed_at_s is not None and overdue(session, now)
        ]
        silent = [seat for seat in self._by_serial.values() if seat.silent_at_s < now]
        over = [
            s for s in self._by_serial.values() if s.state is MatchState.OVER and s not in silent
        ]
        ended += [seat.serial for seat in silent if seat.is_live]
        for seat in (*silent, *over[: max(0, len(over) - MAX_REMEMBERED)]):
            self._drop(seat)
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
# we are down. Such a match must not keep others out for long. So if a lobby is full and another
# match needs a place, a match gives up its place if its next message is overdue or nobody received
# its answer. It is not forgotten: if it goes on after all and there is room, it gets a place again.

SLACK_S = 5.0
"""Delay of a message beyond its clock up to which a match keeps its place."""

MAX_HELD_S = 600.0
"""If one address has all places, a match that waits longer than this for a message makes room for
another address, however long its clocks are."""

LONG_CLOCKS_S = 3600.0
"""A match with longer clocks does not get the last place if its address has all other places."""

MAX_WAITING = 16
"""Maximum number of remembered matches without a place."""

MAX_WAITING_CHARS = 4_000_000
"""Maximum number of characters of rules and percepts that these have together."""


def overdue(session: Session, now: float) -> bool:
    """Whether a message of the match is overdue, or its server seems to be gone."""
    return session.is_abandoned or session.expected_by_s + SLACK_S < now


def gives_way(live: Sequence[Session], sender: str, now: float) -> Session | None:
    """The match in a full lobby that gives its place to another, as one of its roles.

    None if all keep their places. A match never gives way while a worker thinks or gets ready for
    it. If we play several of its roles, all must be silent.

    Args:
        live: all roles of matches that have a place.
        sender: address of the newcomer; empty if unknown.
    """
    idle = _all_of(live, lambda session: not session.is_thinking)
    late = _all_of(idle, lambda session: overdue(session, now))
    if not late and _is_crowded_out(live, sender):
        late = _all_of(idle, lambda session: session.waits_since_s + MAX_HELD_S < now)
    return min(late, key=lambda seat: (not seat.is_abandoned, seat.expected_by_s), default=None)


def _all_of(live: Sequence[Session], holds: Callable[[Session], bool]) -> list[Session]:
    """The roles of those matches for which a condition holds in all roles."""
    excluded = {session.start.match_id for session in live if not holds(session)}
    return [session for session in live if session.start.match_id not in excluded]


def may_have_last(start: Start, live: Iterable[Session], sender: str) -> bool:
    """Whether a match may have the last of several places; `live` has the others."""
    clocks_s = start.start_clock_s + start.play_clock_s
    holders = {session.sender for session in live}
    return not sender or holders != {sender} or clocks_s <= LONG_CLOCKS_S


def match_to_forget(waiting: Sequence[Session]) -> Session | None:
    """The match to forget if there are too many without a place; None if there are not.

    It is the oldest match of the address with the most of them.
    """
    if len(waiting) <= MAX_WAITING and sum(s.num_chars for s in waiting) <= MAX_WAITING_CHARS:
        return None
    numbers = Counter(session.sender for session in waiting)
    most = max(numbers.values())
    return next(session for session in waiting if numbers[session.sender] == most)


def _is_crowded_out(live: Sequence[Session], sender: str) -> bool:
    """Whether a single other address has all places."""
    holders = {session.sender for session in live}
    return len(holders) == 1 and bool(sender) and "" not in holders and sender not in holders
