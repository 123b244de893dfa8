"""The life of one match, without sockets and without a clock.

A `Session` receives the messages of a match and our answers, with their times, and returns
instructions as a `Receipt`: a reply to send, or an `Ask` for a worker. `transitions` is its table,
and `path` assigns messages to turns. `docs/reference/protocol.md` explains the decisions about
duplicates, gaps and the like.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ggp.errors import LocalProtocolError
from ggp.protocol.messages import BUSY, NIL, READY, Abort, Dialect, Message, Play, Start, Stop
from ggp.protocol.path import NO_FIT, Answered, Fit, History, Path, Reading, turns_within
from ggp.protocol.spelling import Outline, outline
from ggp.protocol.transitions import LIVE, TRANSITIONS, Action, Event, MatchState

# ------------------------------------------------------------------------
# Questions to the worker of a match: their content, deadlines and answers.
#
# Rule: at most one question is open. It is open from its message to its answer, or until a newer
# message shows that nobody waits for it any more. Answered questions are kept by turn: if the
# server repeats its message, it gets the same answer.

MIN_MARGIN_S = 0.5
MARGIN_SHARE = 0.1


def default_margin_s(clock_s: float) -> float:
    """Part of a clock reserved for transmission: a tenth or 0.5 s, but at most half of it.

    >>> [default_margin_s(clock_s) for clock_s in (60, 2, 0.5)]
    [6.0, 0.5, 0.25]
    """
    return min(max(MIN_MARGIN_S, MARGIN_SHARE * clock_s), clock_s / 2)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question for the worker of a match, with the deadline of its answer.

    Attributes:
        number: of this question, unique in its lobby.
        match: serial number of the match in its lobby.
        wants_move: whether the answer is a move; otherwise the worker only gets ready, and the
            answer is due when it is ready, or at the deadline.
        history: our incomplete path so far. A worker that has observed a beginning of it
            observes the rest; any other worker starts over, since the history was rewritten.
        asked_at_s: when the message arrived.
        deadline_s: the latest time to send the answer: the end of the clock minus the margin.
        doubts: other readings of the messages, likeliest first: histories to try if no particle
            fits `history`. What fits is passed to `answer`.
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
        """Number of turns played before the question."""
        return len(self.history)

    @property
    def readings(self) -> tuple[History, ...]:
        """The history, then its doubts."""
        return (self.history, *self.doubts)


@dataclass(slots=True)
class _Question:
    """A question with its state and its answer; it holds its `Ask` only while it is open."""

    number: int
    ends_at_s: float
    ask: Ask | None
    digest: int | None = None  # of the play message, which may be long
    submitted: str | None = None
    reply: str | None = None
    in_time: bool = False
    is_lost: bool = False

    def answered(self, now: float) -> Answered:
        waits = now <= self.ends_at_s
        is_open = self.ask is not None and waits
        return Answered(self.submitted, self.in_time, is_open, self.is_lost and waits)


class Questions:
    """The questions of one match.

    Attributes:
        open: the open question; None if there is none.
    """

    def __init__(self) -> None:
        self.open: _Question | None = None
        self._by_turn: dict[int, _Question] = {}  # questions for a move

    def ask(self, question: _Question) -> None:
        """Open a question."""
        self.open = question
        if question.ask is not None and question.ask.wants_move:
            self._by_turn[question.ask.turn] = question

    def release(self) -> tuple[int, ...]:
        """Close the open question, if there is one; returns its number."""
        question, self.open = self.open, None
        if question is None:
            return ()
        question.ask = None
        return (question.number,)

    def of(self, turn: int) -> _Question | None:
        """The question for the move of a turn."""
        return self._by_turn.get(turn)

    def find(self, ask: Ask) -> _Question | None:
        """A question for a move, with its state; None if its turn was taken back."""
        latest = reversed(self._by_turn.values())
        return next((q for q in latest if q.number == ask.number), None)

    def answers(self, now: float) -> dict[int, Answered]:
        """The questions for moves and their answers, by turn."""
        return {turn: question.answered(now) for turn, question in self._by_turn.items()}

    def reply_to(self, digest: int) -> str | None:
        """The latest answer to a message with this hash."""
        latest = reversed(self._by_turn.values())
        return next((q.reply for q in latest if q.digest == digest), None)

    def move(self, question: _Question, turn: int, to: int, *, is_copy: bool) -> _Question:
        """Reassign a question to another turn; returns the question that is kept for that turn: of
        copies, the first."""
        del self._by_turn[turn]
        if is_copy:
            question, new = self._by_turn.get(to, question), question
            question.number = new.number
        self.take_back(to)
        self._by_turn[to] = question
        return question

    def take_back(self, turn: int) -> None:
        """Forget the questions of this turn and all later ones."""
        self._by_turn = {t: question for t, question in self._by_turn.items() if t < turn}

    def keep_latest(self, number: int) -> None:
        """Forget all but the latest `number` questions."""
        self._by_turn = dict(list(self._by_turn.items())[-number:])


# ------------------------------------------------------------------------
# Instructions that a match (`session`) or all matches (`lobby`) return for a text.


@dataclass(frozen=True, slots=True)
class Opening:
    """A match that begins and needs a worker.

    Attributes:
        match: its serial number, never reused, as in `Ask.match`.
        start: the message. Its match id is any text without white space and parentheses.
        role: ours, canonical.
        is_gdl2: whether the rules look like GDL-II.
        rules: text of the rules, with the keywords restored if the server has renamed them.
    """

    match: int
    start: Start
    role: str
    is_gdl2: bool
    rules: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Instructions for a text: exactly one of `reply`, `ask` and `refusal` is set.

    Attributes:
        message: the message in the text; None if it was refused.
        match: serial number of its match; None if there is none.
        reply: text to send immediately.
        ask: question for the worker of `ask.match`.
        refusal: reason for a refusal, for the log and the answer.
        began: a match that needs a worker from now on.
        ended: serial numbers of matches whose workers are no longer needed.
        released: numbers of questions to answer immediately: the server has moved on.
        notes: oddities, for the log.
        event: the meaning of the message in its match.
        path: our whole path, if the message ends a match after its last turn.
    """

    message: Message | None = None
    match: int | None = None
    reply: str | None = None
    ask: Ask | None = None
    refusal: str | None = None
    began: Opening | None = None
    ended: tuple[int, ...] = ()
    released: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    event: Event | None = None
    path: History = ()


# ------------------------------------------------------------------------

SILENCE_CLOCKS = 2
SILENCE_S = 60.0

MAX_SILENCE_S = 24 * 60 * 60.0
"""Upper bound for any clocks: strangers set them, and a match occupies a place."""

MAX_UNPLAYED_S = 2 * 60 * 60.0
"""The same bound for a match that was started and never played."""

MAX_REPEATED = 8
"""Number of turns of a finished match whose answers are kept; nothing else of it is."""

NUM_TURN_TIMES = 8
"""Number of latest turns whose duration is remembered."""

MIN_TURN_S = 0.05
"""Assumed duration of a turn in which only others move."""

QUICK = 2.0
"""The others are quick if a turn of the latest ones took at most this many pauses in all: the usual
time from our answer to the next message."""

WAIT_S = 1.5
"""Time after the end of a clock in which the next message may arrive: real servers wait a second
for late answers."""

_NO_RULES = Outline()


class Session:
    """One match, from its start message to its end.

        >>> from itertools import count
        >>> start = Start("m1", "robot", "(role robot) (legal robot wait)", 30, 10)
        >>> session = Session(start, serial=1, next_number=count(1).__next__)
        >>> ask = session.receive(start, now=0.0).ask
        >>> ask.wants_move, ask.deadline_s
        (False, 27.0)
        >>> session.answer(ask, None, now=1.0)
        'ready'
        >>> ask = session.receive(Play("m1"), now=2.0).ask
        >>> session.answer(ask, "wait", now=3.0), session.state.value
        ('wait', 'waiting')

    Args:
        start: the message that begins it.
        serial: its number in its lobby.
        next_number: returns numbers for questions.
        margin_s: part of a clock reserved for transmission, given the clock.
        rules: outline of the start message's rules, if already known.
        sender: address of the server; empty if unknown.
        receiver: the server's name for us; empty if unknown.

    Attributes:
        role: ours, canonical.
        outline: of the rules; empty once the match is over.
        state: the state of the match.
        dialect: of the play messages; None before the first.
        heard_at_s: time of the server's last message.
        resumed_at_s: when we were restarted in the middle of the match; None if the server has sent
            a message since.
        listens_since_s: since when messages arrive here, if that is later than the latest one, so
            that turns in between may have been lost; None otherwise.
        is_abandoned: whether nobody seems to wait for our latest answer, or to have received it;
            the server has sent nothing since.
        has_place: whether it may have a worker; a match that found no room, or gave up its place,
            is only remembered.

    Raises:
        RemoteProtocolError: the rules exceed a limit.
    """

    def __init__(
        self,
        start: Start,
        serial: int,
        next_number: Callable[[], int],
        margin_s: Callable[[float], float] = default_margin_s,
        rules: Outline | None = None,
        sender: str = "",
        receiver: str = "",
    ) -> None:
        self.start, self.serial, self.sender, self.receiver = start, serial, sender, receiver
        self.outline = outline(start.rules, role=start.role) if rules is None else rules
        self.role = self.outline.read(start.role)
        self.state = MatchState.ABSENT
        self.dialect: Dialect | None = None
        self.heard_at_s = 0.0
        self.resumed_at_s: float | None = None
        self.listens_since_s: float | None = None
        self._alive_s: float | None = None  # for the last time before a restart, if that is known
        self.is_abandoned = False
        self.has_place = True
        self._path = Path(self.outline, self.role)
        self._next_number = next_number
        self._margin_s = margin_s
        self._questions = Questions()
        self._answered_at_s = 0.0
        # For each turn, seconds since the last message, and since our answer to it.
        self._turn_times: deque[tuple[float, float]] = deque(maxlen=NUM_TURN_TIMES)
        self._latest = 0

    @property
    def history(self) -> History:
        """Our incomplete path so far; dropped once the match is over."""
        return self._path.history

    @property
    def num_turns(self) -> int:
        """Number of play messages so far, including missing ones."""
        return 0 if self._path.turn is None else self._path.turn + 1

    @property
    def is_live(self) -> bool:
        """Whether the match needs a worker."""
        return self.state in LIVE and self.has_place

    @property
    def is_thinking(self) -> bool:
        """Whether a client seems to be waiting for an answer."""
        is_open = self.state in (MatchState.STARTING, MatchState.THINKING)
        return is_open and self.resumed_at_s is None and not self.is_abandoned

    @property
    def waits_since_s(self) -> float:
        """Time of the server's last message, or of our restart."""
        return max(self.heard_at_s, self.resumed_at_s or self.heard_at_s)

    @property
    def expected_by_s(self) -> float:
        """When the current clock ends; until then silence of the server means nothing."""
        first_s = self.start.start_clock_s if self.dialect is None else 0
        return self.waits_since_s + first_s + self.start.play_clock_s

    @property
    def num_chars(self) -> int:
        """Characters of rules and percepts that are kept."""
        return len(self.start.rules) + self._path.num_chars

    @property
    def opening(self) -> Opening:
        """The information that its workers need."""
        rules = self.outline.exchanged(self.start.rules)
        return Opening(self.serial, self.start, self.role, self.outline.is_gdl2, rules)

    @property
    def silent_at_s(self) -> float:
        """When the match is forgotten, unless a message arrives."""
        clocks = self.start.start_clock_s + self.start.play_clock_s
        most = MAX_UNPLAYED_S if self.dialect is None else MAX_SILENCE_S
        return self.heard_at_s + min(SILENCE_CLOCKS * clocks + SILENCE_S, most)

    def receive(self, message: Start | Play | Stop | Abort, now: float) -> Receipt:
        """Handle a message of this match: the receipt has a `reply` or an `ask`, unless the match
        is replaced.

        Raises:
            RemoteProtocolError: the match goes on beyond the limit of turns.
        """
        match message:
            case Start():
                receipt = self._receive_start(message, now)
            case Play():
                receipt = self._receive_play(message, now)
            case Stop() | Abort():
                receipt = self._receive_end(message, now)
        self.heard_at_s, self.resumed_at_s, self.listens_since_s = now, None, None
        self.is_abandoned = False
        return receipt

    def read(self, message: Play | Stop, now: float) -> tuple[Reading, Mapping[int, Answered]]:
        """The meaning of a turn for this role, and our answers so far; raises as `receive` does."""
        answers, was_deaf = self._questions.answers(now), self._deaf_turns(now) is not None
        was_down = self.resumed_at_s is not None
        reading = self._path.read(message, answers, was_deaf=was_deaf, was_down=was_down)
        return reading, answers

    def resume(self, now: float, listens_since_s: float, alive_s: float | None = None) -> None:
        """Record that we were restarted: the answer to an open question is lost unless the server
        asks again.

        Args:
            now: the time.
            listens_since_s: since when messages arrive: they wait in the queue of a socket that
                outlived us, and are not lost.
            alive_s: when we were surely alive for the last time; None if that is unknown.
        """
        if self.resumed_at_s is None:  # else we have heard nothing since we were alive before that
            self._alive_s = alive_s
        self.resumed_at_s = now
        if listens_since_s > self.heard_at_s:
            self.listens_since_s = listens_since_s
        if self._questions.open is not None:
            self._questions.open.is_lost = True

    def give_up(self) -> None:
        """Record that there is no room for a worker: open questions are not answered."""
        self.has_place = False
        self._close_open()

    def answer(self, ask: Ask, move: str | None, now: float, fit: Fit = NO_FIT) -> str:
        """The text of the answer to a question; the first answer to it is final.

        Args:
            ask: the question.
            move: canonical KIF; None if no move is known, or the answer is `ready`.
            now: when the text is sent.
            fit: which of `ask.readings` fits.
        """
        if ask.wants_move:
            text = self._answer_move(ask, move, now, fit)
        else:
            self._close(ask)
            text = READY
        if self.state is MatchState.OVER:
            self.outline = _NO_RULES  # this was the last answer that needed it for spelling
        return text

    def _answer_move(self, ask: Ask, move: str | None, now: float, fit: Fit) -> str:
        question = self._questions.find(ask)
        if question is None:
            return self._spelled(move)  # the turn was taken back
        was_open = self._close(ask)
        if question.reply is None:
            question.submitted, question.reply = move, self._spelled(move)
            self._answered_at_s = now
            question.in_time = was_open and not question.is_lost and now <= question.ends_at_s
            if was_open:
                turn = len(self._path.judge(ask.readings, fit))
                is_copy = fit.is_copy(ask.readings)
                question = self._questions.move(question, ask.turn, turn, is_copy=is_copy)
        return question.reply or self._spelled(move)

    def abandoned(self, ask: Ask) -> None:
        """Record that all clients waiting for the answer to a question seem to be gone."""
        self.is_abandoned = self.is_abandoned or ask.number == self._latest

    def delivered(self, ask: Ask) -> None:
        """Record that a client received the answer to a question, so that it is not abandoned."""
        self.is_abandoned = self.is_abandoned and ask.number != self._latest

    def undelivered(self, ask: Ask) -> None:
        """Record that nobody got the answer to a question: all its connections broke."""
        self.abandoned(ask)
        if (question := self._questions.find(ask)) is not None:
            question.is_lost, question.in_time = True, False

    def _receive_start(self, message: Start, now: float) -> Receipt:
        if self.state in (MatchState.ABSENT, MatchState.OVER):
            event = Event.START
        elif message == self.start:
            event = Event.START_AGAIN
        else:
            event = Event.START_ANEW
            if self.is_abandoned:
                self._close_open()  # the server was killed and began again
        action = self._step(event)
        match action:
            case Action.ASK_READY:
                ask, _ = self._ask(now, wants_move=False)
                return Receipt(event=event, ask=ask, notes=odd_start(self.role, self.outline))
            case Action.SAY_READY:
                self._path.started_again = True
                note = "start again: the match goes on"
                return Receipt(event=event, reply=READY, notes=(note,))
            case Action.REPEAT:
                return self._as_before(event, self._questions.open)
            case Action.SAY_BUSY:
                note = "a start with the same match id and other content: busy"
                return Receipt(event=event, reply=BUSY, notes=(note,))
        return Receipt(event=event)

    def _receive_play(self, message: Play, now: float) -> Receipt:
        if self.state is MatchState.OVER:
            return self._receive_late(message)
        answers = self._questions.answers(now)
        deaf = self._deaf_turns(now)
        reading, _ = self.read(message, now)
        action = self._step(reading.event)
        notes = odd_turn(reading, len(self.history), answers)
        match action:
            case Action.ASK_MOVE:
                if self.dialect is not None and deaf is None:
                    self._turn_times.append((now - self.heard_at_s, now - self._answered_at_s))
                self.dialect = self._dialect_of(message)
                self._path.follow(message, reading, answers, deaf)
                if reading.event is Event.PLAY_REVISED:
                    self._questions.take_back(reading.turn)
                doubts = self._path.doubts(message)
                ask, released = self._ask(now, wants_move=True, doubts=doubts, digest=hash(message))
                return Receipt(event=reading.event, ask=ask, released=released, notes=notes)
            case Action.REPEAT:
                if reading.event is Event.PLAY_LATE:
                    self._path.follow(message, reading, answers)
                question = self._questions.of(reading.turn)
                return self._as_before(reading.event, question, notes)
        return Receipt(event=reading.event, reply=BUSY, notes=notes)

    def _deaf_turns(self, now: float) -> int | None:
        """Probable number of turns lost since the latest message because nobody listened; None if
        somebody did."""
        if self.listens_since_s is None:
            return None
        clock_s = float(self.start.play_clock_s)
        middle, since_s = len(self._turn_times) // 2, self.heard_at_s
        times, pauses = map(sorted, zip(*self._turn_times or [(clock_s, clock_s)], strict=True))
        turn_s, pause_s = (max(ordered[middle], MIN_TURN_S) for ordered in (times, pauses))
        until_s = min(self.listens_since_s, now)
        alive_s = self._alive_s if self._turn_times and times[0] <= QUICK * pause_s else None
        if alive_s is not None:
            turn_s = pause_s  # only we take time
            until_s = min(until_s, now - turn_s / 2)  # and the next turn begins now
        if self.dialect is None:
            first_s = self.start.start_clock_s + turn_s
        elif self._answered_at_s > self.heard_at_s:  # no turn is lost while the server waits for us
            first_s, since_s = pause_s, self._answered_at_s
        elif self._questions.open is None:
            first_s = turn_s
        elif alive_s is not None:
            # The server goes on when the connection breaks.
            first_s, since_s = pause_s, max(alive_s, self.heard_at_s)
        else:
            # A server that waits for others has waited for its clock to end.
            first_s = clock_s
            if now - self.heard_at_s <= clock_s + WAIT_S:
                return 0
        return turns_within(until_s - since_s, first_s, turn_s)

    def _receive_late(self, message: Play) -> Receipt:
        """Handle a turn of a match that is over: it may be a duplicate of the last turn."""
        reply = self._questions.reply_to(hash(message))
        event = Event.PLAY_NEXT if reply is None else Event.PLAY_AGAIN
        self._step(event)
        return Receipt(event=event, reply=reply or BUSY)

    def _receive_end(self, message: Stop | Abort, now: float) -> Receipt:
        was_live = self.is_live
        event = Event.STOP if isinstance(message, Stop) else Event.ABORT
        action = self._step(event)
        path = self._path.ended(message, self._questions.answers(now)) if was_live else ()
        released = self._questions.release()
        if was_live:
            self._shrink(must_spell=bool(released))
        return Receipt(event=event, reply=action.value, released=released, path=path)

    def _shrink(self, *, must_spell: bool) -> None:
        """Keep only the answers for late messages: many finished matches are remembered, and
        strangers decide their size."""
        self.start = replace(self.start, rules="")
        self._path = Path(_NO_RULES, self.role)
        self._questions.keep_latest(MAX_REPEATED)
        if not must_spell:
            self.outline = _NO_RULES

    def _step(self, event: Event) -> Action:
        transition = TRANSITIONS.get((self.state, event))
        if transition is None:
            raise LocalProtocolError(f"{event.value!r} cannot happen to a match {self.state.value}")
        self.state, action = transition
        return action

    def _ask(
        self,
        now: float,
        *,
        wants_move: bool,
        doubts: tuple[History, ...] = (),
        digest: int | None = None,
    ) -> tuple[Ask, tuple[int, ...]]:
        """A new question, and the numbers of the questions that it makes obsolete."""
        released = self._questions.release()
        clock_s = self.start.play_clock_s if wants_move else self.start.start_clock_s
        deadline_s = now + clock_s - self._margin_s(clock_s)
        number = self._latest = self._next_number()
        ask = Ask(number, self.serial, wants_move, self.history, now, deadline_s, doubts)
        self._questions.ask(_Question(number, now + clock_s, ask, digest))
        return ask, released

    def _close(self, ask: Ask) -> bool:
        """Record that a question is answered; returns whether it was open."""
        question = self._questions.open
        return question is not None and question.number == ask.number and self._close_open()

    def _close_open(self) -> bool:
        """Close the open question; returns whether there was one."""
        if not self._questions.release():
            return False
        self._step(Event.ANSWERED)
        return True

    def _as_before(
        self, event: Event, question: _Question | None, notes: tuple[str, ...] = ()
    ) -> Receipt:
        """The answer of a question, or the question itself if it is open.

        For a turn that was never answered, the answer or question of the latest turn.
        """
        if question is None or (question.reply is None and question.ask is None):
            question = self._questions.open or self._questions.of(len(self.history))
        if question is not None and question.ask is not None:
            question.is_lost = False
            return Receipt(event=event, ask=question.ask, notes=notes)
        reply = None if question is None else question.reply
        return Receipt(event=event, reply=reply or BUSY, notes=notes)

    def _spelled(self, move: str | None) -> str:
        return NIL if move is None else self.outline.spell(move)

    def _dialect_of(self, message: Play) -> Dialect:
        if message.turn is not None:
            return Dialect.GDL2
        return Dialect.GDL2_OLD if self.outline.is_gdl2 else Dialect.GDL


# ------------------------------------------------------------------------
# Notes for the log on odd messages.


def odd_start(role: str, rules: Outline) -> tuple[str, ...]:
    """Notes on a start message."""
    notes = [f"`{keyword}` is called {name} here" for keyword, name in rules.renamed.items()]
    if role not in rules.roles:
        notes.append(f"the rules have no role {role}; roles: {', '.join(rules.roles) or 'none'}")
    return tuple(notes)


def odd_turn(reading: Reading, num_known: int, answers: Mapping[int, Answered]) -> tuple[str, ...]:
    """Notes on a play message.

    Args:
        reading: its meaning.
        num_known: number of turns known before it.
        answers: the questions so far and their answers, by turn.
    """
    notes = []
    turn, news = reading.turn, reading.news
    match reading.event:
        case Event.PLAY_GAP:
            notes.append(f"turn {turn} follows turn {num_known}: the turns between are unknown")
        case Event.PLAY_AGAIN:
            notes.append(f"turn {turn} again: answered as before")
        case Event.PLAY_REVISED:
            notes.append(f"turn {turn} differs from its earlier message: history rewritten")
        case Event.PLAY_LATE:
            notes.append(f"turn {turn} was missing: history rewritten")
    if news is not None:
        notes += [news.note] if news.note is not None else []
        ours = answers.get(turn - 1)
        if news.move is not None and ours is not None and news.move != ours.submitted:
            answered = f"not {ours.submitted}" if ours.submitted else "we had not answered"
            notes.append(f"turn {turn}: {news.move} was executed, {answered}")
    return tuple(notes)
