"""Assigns each message of a match to its turn, and collects our incomplete path from them.

A `session` passes play messages in and gets the history of the match, with other histories in case
messages were lost. Newer GDL-II numbers its turns. The other dialects do not; there, a message that
repeats an earlier one is a duplicate only if it cannot be the next turn: the server is still
waiting for our answer, or the joint move does not contain the move that we answered in time. For
example:

    (PLAY m NIL)         turn 0; we answer (mark 1 1)
    (PLAY m NIL)         while we think: turn 0 again
    (PLAY m (noop a))    turn 1, in plain GDL; our move was replaced by noop. We answer b in time
    (PLAY m (noop a))    turn 1 again, since b is not in it; if we had answered noop: turn 2

If we were down in between, the joint move proves nothing: turns may have been lost. What then looks
like a duplicate may be a new turn, and both stay possible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ggp.errors import RemoteProtocolError
from ggp.protocol.messages import MAX_TURN, Abort, Play, Stop
from ggp.protocol.spelling import Outline
from ggp.protocol.transitions import Event

MAX_GAP = 200
"""Maximum number of consecutive turns that may be missing if turns are numbered."""

MAX_CHARS = 4_000_000
"""Maximum number of stored characters of percepts; later percepts count as unknown."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The state of the question for the move of one turn.

    Attributes:
        submitted: our answer; None if there is none yet.
        in_time: whether it was certainly in time.
        is_open: whether the server is still waiting, according to our clock.
        is_lost: whether the connection broke before the answer was sent, so that the server may
            ask once more.
    """

    submitted: str | None = None
    in_time: bool = False
    is_open: bool = False
    is_lost: bool = False


class Fit(NamedTuple):
    """What a search for particles says of the readings of a question: the history and its doubts.

    Attributes:
        reading: index of the first that certainly fits; None if that is unknown.
        num_failed: number of the first ones for which no particle was found.
    """

    reading: int | None = None
    num_failed: int = 0

    def of(self, readings: Sequence[History]) -> History | None:
        """The reading that fits."""
        index = self.reading
        return readings[index] if index is not None and 0 <= index < len(readings) else None

    def is_copy(self, readings: Sequence[History]) -> bool:
        """Whether the latest message turned out to be a copy of the one before."""
        return self.of(readings) == readings[0][:-1] != readings[0]


NO_FIT = Fit()


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of a play message.

    Attributes:
        event: one of the `PLAY_...`.
        turn: number of turns played when it was sent.
        news: its news about the last of them; None if there is none.
    """

    event: Event
    turn: int
    news: News | None = None


class Path:
    """The incomplete path of one role in one match, as received.

    Args:
        outline: of the rules.
        role: ours, canonical.

    Attributes:
        turn: number of turns; None before the first play message.
        num_chars: characters of percepts received.
        started_again: whether the start message was repeated since the latest turn. If turns have
            no numbers, a first play message then means that the match begins again.
    """

    def __init__(self, outline: Outline, role: str) -> None:
        self.turn: int | None = None
        self.started_again = False
        self._hypotheses = Hypotheses()
        self._outline, self._role = outline, role
        self._first_number = 0
        self._texts: dict[int, tuple[str, ...] | None] = {}
        self._old_texts: set[tuple[str, ...] | None] = set()  # before the match began again
        self._missing: set[int] = set()
        self._shows_moves = False
        self.num_chars = 0

    @property
    def history(self) -> History:
        """The turns played before the latest play message."""
        return self._hypotheses.history

    def read(
        self,
        message: Play | Stop,
        answers: Mapping[int, Answered],
        *,
        was_deaf: bool = False,
        was_down: bool = False,
    ) -> Reading:
        """The meaning of a message; changes nothing.

        Args:
            message: of this match.
            answers: the questions so far and their answers, by turn.
            was_deaf: whether messages may have been lost since the previous one, because nobody
                listened.
            was_down: whether we were restarted since then.

        Raises:
            RemoteProtocolError: the turn is beyond `MAX_TURN`, or too many turns are missing.
        """
        news = read_news(message, self._outline, self._role, shows_moves=self._shows_moves)
        is_doubtful = was_deaf or self._hypotheses.is_doubtful
        turn = self._turn_of(message, news, answers, is_doubtful=is_doubtful, was_down=was_down)
        if turn > MAX_TURN:
            raise RemoteProtocolError(
                f"match {message.match_id} goes on beyond the limit of {MAX_TURN} turns"
            )
        latest = self.turn or 0
        if turn - latest > MAX_GAP:
            raise RemoteProtocolError(
                f"match {message.match_id} goes on from turn {latest} to {turn}: more than "
                f"{MAX_GAP} turns are missing"
            )
        event = self._event(turn, news, has_number=message.turn is not None)
        return Reading(event, turn, news if turn else None)

    def follow(
        self,
        message: Play | Stop,
        reading: Reading,
        answers: Mapping[int, Answered],
        deaf: int | None = None,
    ) -> None:
        """Record the meaning of a message: a new turn, a revised one, or a missed one.

        Args:
            message: of this match.
            reading: its meaning.
            answers: the questions so far and their answers, by turn.
            deaf: probable number of turns lost before it because nobody listened; None if somebody
                did. It matters only if turns have no numbers.
        """
        turn, news = reading.turn, reading.news
        terms = message.terms
        if news is not None:
            self.num_chars += sum(map(len, news.percepts or ()))
            if self.num_chars > MAX_CHARS:
                news, terms = replace(news, percepts=None), None
        if news is not None and news.shows_moves and not self._shows_moves:
            self._take_for_moves()
        if reading.event is Event.PLAY_LATE and news is not None:
            self._missing.discard(turn - 1)
            earlier, later = self.history[: turn - 1], self.history[turn:]
            late = _turn(news, answers.get(turn - 1, Answered()))
            self._hypotheses.rewrite((*earlier, late, *later))
            self._texts[turn] = terms
            return
        if reading.event is Event.PLAY_REVISED:
            if turn == 0 and message.turn is None:
                self._hypotheses.begin_anew()
                self._old_texts = set(self._texts.values())
            else:
                self._hypotheses.rewrite(self.history[: max(turn - 1, 0)])
            self._missing = {index for index in self._missing if index < turn - 1}
            self._texts = {index: text for index, text in self._texts.items() if index < turn}
        if self.turn is None and message.turn is not None:
            self._first_number = message.turn - turn
        last = None if news is None else _turn(news, answers.get(turn - 1, Answered()))
        if message.turn is not None:
            turns = list(self.history)
            for missed in range(len(turns), turn - 1):
                turns.append(_turn(News(None, None), answers.get(missed, Answered())))
                self._missing.add(missed)
            self._hypotheses.rewrite((*turns, *([] if last is None else [last])))
        elif last is not None:
            self._hypotheses.extend(last, deaf)
        self.turn = len(self.history)
        self.started_again = False
        self._texts[self.turn] = terms

    def ended(self, message: Stop | Abort, answers: Mapping[int, Answered]) -> History:
        """The whole path, completed by the message that ends the match.

        Empty if that message does not report the last turn. A message without a number is never
        about an earlier turn.
        """
        if self.turn is None or isinstance(message, Abort):
            return ()
        news = read_news(message, self._outline, self._role, shows_moves=self._shows_moves)
        turn = self.turn + 1 if message.turn is None else message.turn - self._first_number
        is_reported = self._outline.is_gdl2 or message.terms is not None
        if not is_reported or not 0 < turn - self.turn <= MAX_GAP:
            return ()
        self.follow(message, Reading(Event.PLAY_NEXT, turn, news), answers)
        return self.history

    def doubts(self, message: Play) -> tuple[History, ...]:
        """Other readings of the messages, likeliest first, in case no particle fits the history.

        In order: the server sends joint moves rather than percepts, if all terms may be either;
        other turns were lost while we were down (after the first few of these readings, the latest
        message, if it has no number, is a duplicate); another move than our latest answer was
        executed, if everything fitted before; assumed moves were not executed,
        and answers were late; turns were lost although we seem to have received everything.
        """
        # Percepts rarely look like moves turn after turn.
        as_moves = self._as_moves(self.history) if message.turn is None else None
        doubts = [] if as_moves is None else [as_moves]
        lost = self._hypotheses.lost
        sent_before = {self._texts.get(turn) for turn in range(self.turn or 0)} | self._old_texts
        doubts += lost[:EARLY]
        if message.turn is None and message.terms in sent_before:
            doubts.append(self.history[:-1])
        doubts += lost[EARLY:]
        if self._hypotheses.fitted_before:
            doubts.append((*self.history[:-1], *without_assumptions(self.history[-1:])))
        doubts.append(without_assumptions(self.history))
        doubts += self._hypotheses.missed
        return tuple(doubt for doubt in dict.fromkeys(doubts) if doubt != self.history)

    def judge(self, readings: Sequence[History], fit: Fit) -> History:
        """Accept one of the readings as the right one, or prefer those that were not tried.

        Args:
            readings: the history, and its `doubts`.

        Returns:
            the history from now on.
        """
        right = fit.of(readings)
        if right is not None:
            if right == self._as_moves(self.history):
                self._take_for_moves()
            self._hypotheses.settle(right)
        else:
            self._hypotheses.postpone(readings[: fit.num_failed])
        if self.turn is not None and len(self.history) != self.turn:
            text = self._texts.pop(self.turn)
            self.turn = len(self.history)
            self._texts = {turn: old for turn, old in self._texts.items() if turn <= self.turn}
            if not fit.is_copy(readings):
                self._texts[self.turn] = text
        return self.history

    def _take_for_moves(self) -> None:
        """Read terms that may be percepts or a joint move as the latter, now and in the past."""
        self._shows_moves = True
        self._hypotheses.read_anew(self._as_moves)

    def _as_moves(self, history: History) -> History | None:
        return as_joint_moves(history, self._outline.roles, self._role)

    def _event(self, turn: int, news: News, *, has_number: bool) -> Event:
        current = self.turn
        if current is None:
            return Event.PLAY_NEXT if turn == 0 else Event.PLAY_GAP
        if turn > current:
            return Event.PLAY_NEXT if turn == current + 1 else Event.PLAY_GAP
        if turn == 0:
            begins_anew = self.started_again and not has_number and current > 0
            return Event.PLAY_REVISED if begins_anew else Event.PLAY_AGAIN
        if turn - 1 in self._missing:
            return Event.PLAY_LATE
        stored = self.history[turn - 1]
        agrees = news.move in (None, stored.move) and news.percepts == stored.percepts
        return Event.PLAY_AGAIN if agrees else Event.PLAY_REVISED

    def _turn_of(
        self,
        message: Play | Stop,
        news: News,
        answers: Mapping[int, Answered],
        *,
        is_doubtful: bool,
        was_down: bool,
    ) -> int:
        if message.turn is not None:
            nothing = message.last_move is None and not message.terms
            if self.turn is None and message.turn == 1 and nothing:
                return 0  # a server that counts from 1
            return max(message.turn - self._first_number, 0)
        current = self.turn
        if current is None:
            return 1 if message.terms else 0
        latest = answers.get(current, Answered())
        if message.terms is None:
            is_first = current == 0 and (latest.is_open or latest.is_lost) and not was_down
            shows_moves = not (self._outline.is_gdl2 or self._outline.may_hide)
            if is_first or self.started_again or shows_moves:
                return 0
        # No known server repeats a message whose connection broke: it goes on with the next turn.
        repeated = None
        if not was_down:
            repeated = self._same_text(current, message, news, latest, is_doubtful=is_doubtful)
        return current + 1 if repeated is None else repeated

    def _same_text(
        self, current: int, message: Play | Stop, news: News, latest: Answered, *, is_doubtful: bool
    ) -> int | None:
        """The earlier turn with the same text, if the message cannot be a new turn.

        A joint move without our answer proves that only if it is certain which turn we answered: if
        turns were lost, we answered another one, and our move may have been illegal.
        """
        not_ours = (
            not self._outline.is_gdl2
            and latest.in_time
            and news.move not in (None, latest.submitted)
        )
        if not is_doubtful and (not_ours or (latest.is_open and not latest.is_lost)):
            candidates = range(current, 0, -1)
        elif latest.is_open or latest.is_lost:
            candidates = range(current, current - 1, -1)
        else:
            return None
        return next((t for t in candidates if self._texts.get(t) == message.terms), None)


def _turn(news: News, answer: Answered) -> PathTurn:
    """A turn of the history; if no move was sent, our answer is assumed, if it was in time."""
    turn = PathTurn(news.move, news.percepts, answer.submitted, answer.in_time, joint=news.joint)
    if news.move is None and answer.in_time:
        return replace(turn, move=answer.submitted, assumed=True)
    return turn


# ------------------------------------------------------------------------
# Hypotheses about lost turns: the histories that agree with the messages that arrived.
#
# If turns have no numbers, a message does not show how many turns came before it. A server plays on
# while we are down, and its messages of that time are lost. For example, with one move per turn:
#
#     (PLAY m (a b))       turn 4; we answer c, and are down for three turns
#     (PLAY m (noop d))    turn 5, 6, 7 or 8
#
# So the match keeps all of these as *hypotheses*, likeliest first, and every later message extends
# each of them. Only a worker, which knows the rules, can refute one: if no particle fits a history,
# the history is wrong, and so are all its continuations. `settle` receives the history that fits.
# Hypotheses before it were tried in vain and come last; for a search may fail, and a wrong history
# may fit for some turns.

MAX_LOST = 3
"""Consecutive turns that may have been lost although we seem to have received everything."""

MAX_ESTIMATED = 12
"""Maximum number of consecutive turns that are assumed lost, however long we were down: after more
unknown turns, later ones carry hardly any information."""

MAX_HYPOTHESES = MAX_ESTIMATED + 1

EARLY = 2
"""Numbers of lost turns that are tried before the latest message is taken for a duplicate."""

ENOUGH_FITS = 20
"""A history that has fitted for this many consecutive turns is no longer doubted."""


class Hypotheses:
    """The possible histories of a match so far.

    Attributes:
        history: the likeliest.
        lost: alternatives since turns may have been lost while we were down, likeliest first.
        missed: alternatives with turns lost although we seem to have received everything.
    """

    def __init__(self) -> None:
        self.history: History = ()
        self.lost: tuple[History, ...] = ()
        self.missed: tuple[History, ...] = ()
        self._began_anew = False
        self._is_settled = True
        self._num_fits = 0

    @property
    def is_doubtful(self) -> bool:
        """Whether turns may have been lost, and it is still unknown which history fits."""
        return bool(self.lost) and not self._is_settled

    @property
    def fitted_before(self) -> bool:
        """Whether the history without its latest turn is known to have fitted."""
        return self._num_fits > 0

    def rewrite(self, history: History) -> None:
        """Replace all hypotheses by a history that is certain."""
        self.history, self.lost, self.missed = history, (), ()
        self._began_anew = False

    def begin_anew(self) -> None:
        """Begin the history of another match with the same id; keep the old one as a hypothesis.

        The start message and the first play message may have been late copies.
        """
        self.lost = (self.history, *self.lost)[: MAX_HYPOTHESES - 1]
        self.history, self.missed = (), ()
        self._began_anew = True

    def extend(self, last: PathTurn, deaf: int | None = None) -> None:
        """Add a turn.

        Args:
            last: the turn, as if none was lost before it.
            deaf: probable number of turns lost before it while we were down; None if we were not
                down.
        """
        self._is_settled = False
        # If the match goes on, our answer to the supposed first message is not an answer to it.
        without_answer = _without_answer(last) if self._began_anew else last
        self._began_anew = False
        if deaf is None:
            self.lost = tuple((*lost, without_answer) for lost in self.lost)
            # Alternatives of earlier turns remain only if it is still unknown which fits.
            earlier = tuple((*missed, last) for missed in self.missed)
            missed = tuple(with_lost(self.history, last, num) for num in range(1, MAX_LOST + 1))
            self.history = (*self.history, last)
            self.missed = (*missed, *earlier)[: MAX_HYPOTHESES - 1]
            return
        histories = (self.history, *self.lost, *self.missed)
        ranked = [
            (rank + order, with_lost(base, last, num))
            for rank, base in enumerate(histories)
            for order, num in enumerate(likely_numbers(deaf))
        ]
        self._num_fits = 0
        ranked.sort(key=lambda entry: entry[0])
        self.history, *rest = dict.fromkeys(history for _, history in ranked[:MAX_HYPOTHESES])
        self.lost, self.missed = tuple(rest), ()

    def read_anew(self, read: Callable[[History], History | None]) -> None:
        """Apply another reading of the messages to each history that allows it."""
        self.history = read(self.history) or self.history
        self.lost = tuple(read(history) or history for history in self.lost)
        self.missed = tuple(read(history) or history for history in self.missed)

    def settle(self, history: History) -> None:
        """Record that a history is the first that fits, in the order `history`, `lost`, others."""
        if history in self.lost:
            index = self.lost.index(history)
            self.lost = (*self.lost[index + 1 :], self.history, *self.lost[:index])
        if history != self.history:
            self.history, self._num_fits = history, 0
        self._num_fits += 1
        if self._num_fits > ENOUGH_FITS:
            self.lost = ()
        self.missed, self._is_settled = (), True

    def postpone(self, histories: Collection[History]) -> None:
        """Put alternatives before histories for which no particle was found, in the order in which
        these were tried: a search that failed would fail again, and take the time of others."""
        if self.lost:
            known = (self.history, *self.lost)
            order = sorted(known, key=lambda history: history in histories)
            self._num_fits = 0
            self.history, *rest = order
            self.lost = tuple(rest)


def likely_numbers(deaf: int) -> list[int]:
    """Possible numbers of lost turns, likeliest first: the estimate, zero, then by distance.

    Zero comes early because it is refuted soonest if it is wrong. Servers go on faster without us
    than with us, so more turns are likelier than fewer.

        >>> likely_numbers(3)[:5]
        [3, 0, 4, 2, 5]
    """
    rest = (num for num in range(1, MAX_ESTIMATED + 1) if num != deaf)
    near = sorted(rest, key=lambda num: (abs(num - deaf), -num))
    return [deaf, *([0] if deaf else []), *near]


def with_lost(history: History, last: PathTurn, num: int) -> History:
    """A history with `num` lost turns before the last one.

    Our last answer then belonged to the first of the lost turns.
    """
    if num == 0:
        return (*history, last)
    move = last.submitted if last.in_time else None
    answered = PathTurn(move, None, last.submitted, last.in_time, assumed=move is not None)
    return (*history, answered, *[PathTurn()] * (num - 1), _without_answer(last))


def _without_answer(turn: PathTurn) -> PathTurn:
    """A turn without our answer in it."""
    return PathTurn(None if turn.assumed else turn.move, turn.percepts, joint=turn.joint)


def turns_within(deaf_s: float, first_s: float, turn_s: float) -> int:
    """Number of turns that began while nobody listened, at most `MAX_ESTIMATED`.

    Args:
        deaf_s: time from the latest message until we listened again.
        first_s: time from the latest message to the next one, if the server keeps its pace.
        turn_s: duration of a turn, positive.
    """
    if deaf_s <= first_s:
        return 0
    return min(MAX_ESTIMATED, 1 + int((deaf_s - first_s) / turn_s))


# ------------------------------------------------------------------------
# One role's incomplete path, as servers send it: the information of one message about one turn.


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PathTurn:
    """One turn of our incomplete path; texts are canonical KIF.

    All fields except `joint` are arguments of `Player.observe`.

    Attributes:
        move: the move executed for us; None if unknown.
        percepts: our percepts, sorted; None if unknown. In plain GDL these are the joint move, as
            `(did ROLE MOVE)`, like the percepts of machines of plain GDL games.
        submitted: our answer; None if there was none.
        in_time: whether the answer was certainly in time.
        assumed: whether the server sent no move, so that `move` is our answer, given in time, which
            was executed if it was legal.
        joint: the received terms in the order of the roles, if they were read as percepts and may
            also be a joint move; None otherwise. It is not part of the path.
    """

    move: str | None = None
    percepts: tuple[str, ...] | None = None
    submitted: str | None = None
    in_time: bool = False
    assumed: bool = False
    joint: tuple[str, ...] | None = field(default=None, compare=False)

    def shows_moves(self, roles: Sequence[str]) -> bool:
        """Whether the percepts are a joint move, as in plain GDL."""
        percepts = self.percepts or ()
        return len(percepts) == len(roles) and all(
            any(percept.startswith(f"(did {role} ") for percept in percepts) for role in roles
        )


def was_replaced(turn: PathTurn) -> bool:
    """Whether another move than ours was executed, which was late or illegal."""
    return None not in (turn.move, turn.submitted) and turn.move != turn.submitted


History = tuple[PathTurn, ...]
"""An incomplete path, from the first turn on."""


def without_assumptions(history: Iterable[PathTurn]) -> History:
    """The history as received: assumed moves are unknown, and no answer is surely in time."""
    return tuple(
        replace(turn, move=None if turn.assumed else turn.move, in_time=False, assumed=False)
        for turn in history
    )


def as_joint_moves(history: History, roles: Sequence[str], role: str) -> History | None:
    """The history with all percepts reread as joint moves, as in plain GDL.

    Args:
        history: as received, without turn numbers.
        roles: of the game, in order.
        role: ours.

    Returns:
        None if some turn can only have percepts, or nothing was received.
    """
    turns = []
    for turn in history:
        if turn.joint is not None:
            did = dict(zip(roles, turn.joint, strict=True))
            turns.append(PathTurn(did[role], did_percepts(did), turn.submitted, turn.in_time))
        elif turn.percepts is None:
            turns.append(turn)
        else:
            return None
    return tuple(turns) if any(turn.joint is not None for turn in history) else None


def did_percepts(joint: Mapping[str, str]) -> tuple[str, ...]:
    """The moves of all roles as percepts of plain GDL, sorted."""
    return tuple(sorted(f"(did {role} {move})" for role, move in joint.items()))


@dataclass(frozen=True, slots=True)
class News:
    """The news of a play message about the previous turn, in canonical KIF.

    Attributes:
        move: ours; None if not sent.
        percepts: sorted; None if they cannot be understood.
        note: an oddity for the log; None if there is none.
        joint: as in `PathTurn`.
        shows_moves: whether the terms can only be a joint move.
    """

    move: str | None
    percepts: tuple[str, ...] | None
    note: str | None = None
    joint: tuple[str, ...] | None = None
    shows_moves: bool = False


def read_news(
    message: Play | Stop, rules: Outline, role: str, *, shows_moves: bool = False
) -> News:
    """The information of a message about the previous turn.

    Args:
        message: its terms are percepts if the rules are GDL-II, else the joint move. With GDL-II
            rules they are also a joint move if they can be one and cannot be percepts.
        rules: outline of the rules, which distinguish the two.
        role: ours, canonical.
        shows_moves: whether the server is known to send joint moves, whatever the rules are.
    """
    move = None if message.last_move is None else rules.read(message.last_move)
    items = tuple(map(rules.read, message.terms or ()))
    joint_move = dict(zip(rules.roles, items, strict=False))
    fits = len(items) == len(rules.roles) and rules.may_be_moves(items)
    fits = fits and move in (None, joint_move.get(role))
    if rules.is_gdl2:
        may_be_moves = fits and bool(rules.moves)
        if not may_be_moves or (not shows_moves and rules.may_be_percepts(items)):
            joint = items if may_be_moves else None
            return News(move, tuple(sorted(set(items))), joint=joint)
    dids = tuple(f"(did {role} " for role in rules.roles)
    if items and all(item.startswith(dids) for item in items):
        return News(move, tuple(sorted(items)))
    problem = None
    if len(items) != len(rules.roles) or message.terms is None:
        problem = f"got {len(items)} terms instead of the joint move of {len(rules.roles)} roles"
    elif not fits:
        problem = "the terms are not a joint move"
    if problem is not None:
        note = (
            f"{problem}: ignored; the rules have neither `sees` nor the role `random`, which the "
            "server may have renamed"
        )
        return News(move, None, note)
    return News(move or joint_move.get(role), did_percepts(joint_move), shows_moves=True)
