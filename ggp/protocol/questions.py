"""Questions to the worker of a match: their content, deadlines and answers.

A question is open from its message to its answer, or until a newer message shows that nobody waits
for it any more. At most one is open. Answered questions are kept by turn: the server may repeat its
message, and gets the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggp.protocol.messages import Message, Start
from ggp.protocol.path import Answered
from ggp.protocol.transitions import Event
from ggp.protocol.turns import History

MIN_MARGIN_S = 0.5
MARGIN_SHARE = 0.1


def default_margin_s(clock_s: float) -> float:
    """Part of a clock reserved for transmission: a tenth or 0.5 s, but at most half of it."""
    return min(max(MIN_MARGIN_S, MARGIN_SHARE * clock_s), clock_s / 2)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question for the worker of a match, and when the server must have the answer.

    Attributes:
        number: of this question; no two of a lobby share one.
        match: serial number of the match in its lobby.
        wants_move: whether a move is wanted; otherwise only to get ready, which is answered when
            the worker is, or at the deadline.
        history: our incomplete path so far. A worker that has observed a beginning of it
            observes the rest; any other begins anew, since the history was rewritten.
        asked_at_s: when the message arrived.
        deadline_s: the latest time to send the answer: the end of the clock minus the margin.
        doubts: other readings of the messages, likeliest first: histories to try if no particle
            fits `history`. Tell `answer` which of all these fits first.
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
        """Number of turns played before the one in question."""
        return len(self.history)

    def reading(self, number: int | None) -> History | None:
        """The history (0) or one of the doubts by its number from 1; None if unknown."""
        readings = (self.history, *self.doubts)
        return readings[number] if number is not None and 0 <= number < len(readings) else None


@dataclass(slots=True)
class Asked:
    """An `Ask`, held only while it is open, with its answer and state."""

    number: int
    ends_at_s: float
    ask: Ask | None
    heard: int | None = None  # hash of the play message; the message may be long
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
        open: the question that is not answered yet.
    """

    def __init__(self) -> None:
        self.open: Asked | None = None
        self._by_turn: dict[int, Asked] = {}  # those that want a move

    def ask(self, question: Asked) -> None:
        """Open a question."""
        self.open = question
        if question.ask is not None and question.ask.wants_move:
            self._by_turn[question.ask.turn] = question

    def close(self, ask: Ask) -> bool:
        """Record that a question is answered; returns whether it was open."""
        if self.open is None or self.open.number != ask.number:
            return False
        self.release()
        return True

    def release(self) -> tuple[int, ...]:
        """Close the open question, if there is one; returns its number."""
        question, self.open = self.open, None
        if question is None:
            return ()
        question.ask = None
        return (question.number,)

    def of(self, turn: int) -> Asked | None:
        """The question for the move of a turn."""
        return self._by_turn.get(turn)

    def find(self, ask: Ask) -> Asked | None:
        """A question for a move, with its state; None if its turn was taken back."""
        question = self._by_turn.get(ask.turn)
        if question is not None and question.number == ask.number:
            return question
        return next((each for each in self._by_turn.values() if each.number == ask.number), None)

    def answers(self, now: float) -> dict[int, Answered]:
        """The questions for moves and their answers, by turn."""
        return {turn: each.answered(now) for turn, each in self._by_turn.items()}

    def reply_to(self, heard: int) -> str | None:
        """The latest answer to a message with these words."""
        latest = reversed(self._by_turn.values())
        return next((each.reply for each in latest if each.heard == heard), None)

    def move(self, question: Asked, turn: int, to: int) -> Asked:
        """Reassign a question to another turn; returns the one that is kept for it."""
        del self._by_turn[turn]
        meant = self._by_turn.setdefault(to, question)
        meant.number = question.number
        return meant

    def take_back(self, turn: int) -> None:
        """Forget the questions of this turn and all later ones."""
        self._by_turn = {each: kept for each, kept in self._by_turn.items() if each < turn}

    def keep_latest(self, number: int) -> None:
        """Forget all but the latest `number` questions."""
        self._by_turn = dict(list(self._by_turn.items())[-number:])


# ------------------------------------------------------------------------
# Results of handling a text: what a match (`session`) and the server (`lobby`) want done.


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
    """Instructions for a text: exactly one of `reply`, `ask` and `refusal` is given.

    Attributes:
        message: the message in the text; None if it was refused.
        match: serial number of its match, None if there is none.
        reply: text to send at once.
        ask: question for the worker of `ask.match`.
        refusal: why it is refused, for the log and the answer.
        began: a match that needs a worker from now on.
        ended: serial numbers of matches whose workers are no longer needed.
        released: numbers of questions to answer at once: the server has moved on.
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
