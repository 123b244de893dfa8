"""The messages of one match so far as a path, and the turn that each message belongs to.

Newer GDL-II numbers its turns. The other dialects do not, and there a message that repeats an
earlier one is a duplicate only if it cannot be the next turn: while the server still waits for our
answer, or if the joint move does not contain the move we answered in time. For example:

    (PLAY m NIL)         turn 0; we answer (mark 1 1)
    (PLAY m NIL)         while we think: turn 0 again
    (PLAY m (noop a))    turn 1, in plain GDL; our move was replaced by noop. We answer b in time
    (PLAY m (noop a))    turn 1 again, since b is not in it; if we had answered noop: turn 2

If we were down in between, the latter proves nothing: turns may have been lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ggp.errors import RemoteProtocolError
from ggp.protocol.messages import MAX_TURN, Abort, Play, Stop
from ggp.protocol.spelling import Outline
from ggp.protocol.transitions import Event

MAX_GAP = 200
"""Most turns in a row that may be missing where turns are numbered."""

MAX_CHARS = 4_000_000
"""Most characters of percepts that are kept; later percepts count as unknown."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The state of the question for the move of one turn.

    Attributes:
        submitted: our answer, None if there is none yet.
        in_time: whether it was certainly in time.
        is_open: whether the server still waits, as far as clocks can tell.
        is_lost: whether the connection broke before the answer was sent, so that the server may
            ask once more.
    """

    submitted: str | None = None
    in_time: bool = False
    is_open: bool = False
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of a play message.

    Attributes:
        event: one of the `PLAY_...`.
        turn: number of turns played when it was sent.
        told: its information on the last of them; None if there is none.
    """

    event: Event
    turn: int
    told: Heard | None = None


class Path:
    """The incomplete path of one role of one match, as received.

    Args:
        outline: of the rules.
        role: ours, canonical.

    Attributes:
        turn: number of turns, None before the first play message.
        num_chars: characters of percepts received.
        started_again: whether the start message was repeated since the latest turn; then a
            first play message, if turns have no numbers, means that everything begins anew.
    """

    def __init__(self, outline: Outline, role: str) -> None:
        self.turn: int | None = None
        self.started_again = False
        self._hypotheses = Hypotheses()
        self._outline, self._role = outline, role
        self._first_number = 0
        self._texts: dict[int, tuple[str, ...] | None] = {}
        self._old_texts: set[tuple[str, ...] | None] = set()  # before everything began anew
        self._missing: set[int] = set()
        self._tells_moves = False
        self.num_chars = 0

    @property
    def history(self) -> History:
        """The turns played before the latest play message."""
        return self._hypotheses.history

    def read(
        self, message: Play, answers: Mapping[int, Answered], *, was_deaf: bool = False
    ) -> Reading:
        """The meaning of a message; changes nothing.

        Args:
            message: of this match.
            answers: the questions so far and their answers, by turn.
            was_deaf: whether messages may have been lost since the one before, because nobody
                listened.

        Raises:
            RemoteProtocolError: this would be turn `MAX_TURN` + 1, or too many are missing.
        """
        told = read_heard(
            message.last_move,
            message.told,
            self._outline,
            self._role,
            tells_moves=self._tells_moves,
        )
        is_doubtful = was_deaf or self._hypotheses.is_doubtful
        turn = self._turn_of(message, told, answers, is_doubtful=is_doubtful)
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
        event = self._event(turn, told, has_number=message.turn is not None)
        return Reading(event, turn, told if turn else None)

    def follow(
        self,
        message: Play,
        reading: Reading,
        answers: Mapping[int, Answered],
        deaf: int | None = None,
    ) -> None:
        """Take note of the meaning of a message: a new turn, a revised one, or a missed one.

        Args:
            message: of this match.
            reading: its meaning.
            answers: the questions so far and their answers, by turn.
            deaf: number of turns probably lost before it because nobody listened; None if somebody
                did. It matters only if turns have no numbers.
        """
        turn, told = reading.turn, reading.told
        heard = message.told
        if told is not None:
            self.num_chars += sum(map(len, told.percepts or ()))
            if self.num_chars > MAX_CHARS:
                told, heard = replace(told, percepts=None), None
        if told is not None and told.tells_moves and not self._tells_moves:
            self._take_for_moves()
        if reading.event is Event.PLAY_LATE and told is not None:
            self._missing.discard(turn - 1)
            before, after = self.history[: turn - 1], self.history[turn:]
            late = _turn(told, answers.get(turn - 1, Answered()))
            self._hypotheses.rewrite((*before, late, *after))
            self._texts[turn] = heard
            return
        if reading.event is Event.PLAY_REVISED:
            if turn == 0 and message.turn is None:
                self._hypotheses.begin_anew()
                self._old_texts = set(self._texts.values())
            else:
                self._hypotheses.rewrite(self.history[: max(turn - 1, 0)])
            self._missing = {each for each in self._missing if each < turn - 1}
            self._texts = {each: text for each, text in self._texts.items() if each < turn}
        if self.turn is None and message.turn is not None:
            self._first_number = message.turn - turn
        last = None if told is None else _turn(told, answers.get(turn - 1, Answered()))
        if message.turn is not None:
            turns = list(self.history)
            for missed in range(len(turns), turn - 1):
                turns.append(_turn(Heard(None, None), answers.get(missed, Answered())))
                self._missing.add(missed)
            self._hypotheses.rewrite((*turns, *([] if last is None else [last])))
        elif last is not None:
            self._hypotheses.extend(last, deaf)
        self.turn = len(self.history)
        self.started_again = False
        self._texts[self.turn] = heard

    def ended(self, message: Stop | Abort, answers: Mapping[int, Answered]) -> History:
        """The whole path, with what the message that ends the match tells of the last turn; empty
        if that is not told. A message without a number is never about an earlier turn."""
        if self.turn is None or isinstance(message, Abort):
            return ()
        last = Play(message.match_id, message.turn, message.last_move, message.told)
        told = read_heard(
            last.last_move,
            last.told,
            self._outline,
            self._role,
            tells_moves=self._tells_moves,
        )
        turn = self.turn + 1 if message.turn is None else message.turn - self._first_number
        is_told = self._outline.is_gdl2 or message.told is not None
        if not is_told or not 0 < turn - self.turn <= MAX_GAP:
            return ()
        self.follow(last, Reading(Event.PLAY_NEXT, turn, told), answers)
        return self.history

    def doubts(self, message: Play) -> tuple[History, ...]:
        """Other readings of the messages, likeliest first, in case no particle fits the history.

        They are: that joint moves are sent and not percepts, if all may be either; that another
        move than our latest answer was executed, if everything fitted before it; that other turns
        were lost while we were down; that the latest message, if it has no number, is a duplicate;
        that moves which were only assumed, and answers taken to be in time, were not; that turns
        were lost although we seem to have received everything.
        """
        # Percepts that look like moves, turn after turn, are rare.
        as_moves = self._as_moves(self.history) if message.turn is None else None
        doubts = [] if as_moves is None else [as_moves]
        if self._hypotheses.fitted_before:
            doubts.append((*self.history[:-1], *without_assumptions(self.history[-1:])))
        doubts += self._hypotheses.lost
        told_before = {self._texts.get(turn) for turn in range(self.turn or 0)} | self._old_texts
        if message.turn is None and message.told in told_before:
            doubts.append(self.history[:-1])
        doubts.append(without_assumptions(self.history))
        doubts += self._hypotheses.missed
        return tuple(doubt for doubt in dict.fromkeys(doubts) if doubt != self.history)

    def believe(self, history: History) -> None:
        """Accept the history, or one of the `doubts`, as the one that fits."""
        if history == self._as_moves(self.history):
            self._take_for_moves()
        self._hypotheses.settle(history)
        if self.turn is not None and len(history) != self.turn:
            text = self._texts.pop(self.turn)
            self.turn = len(history)
            self._texts.setdefault(self.turn, text)

    def _take_for_moves(self) -> None:
        """Read what may be percepts or a joint move as the latter, from now on and in the past."""
        self._tells_moves = True
        self._hypotheses.read_anew(self._as_moves)

    def _as_moves(self, history: History) -> History | None:
        return told_as_moves(history, self._outline.roles, self._role)

    def _event(self, turn: int, told: Heard, *, has_number: bool) -> Event:
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
        known = self.history[turn - 1]
        same = told.move in (None, known.move) and told.percepts == known.percepts
        return Event.PLAY_AGAIN if same else Event.PLAY_REVISED

    def _turn_of(
        self, message: Play, told: Heard, answers: Mapping[int, Answered], *, is_doubtful: bool
    ) -> int:
        if message.turn is not None:
            nothing = message.last_move is None and not message.told
            if self.turn is None and message.turn == 1 and nothing:
                return 0  # a server that counts from 1
            return max(message.turn - self._first_number, 0)
        current = self.turn
        if current is None:
            return 1 if message.told else 0
        latest = answers.get(current, Answered())
        if message.told is None:
            is_first = current == 0 and (latest.is_open or latest.is_lost)
            tells_moves = not (self._outline.is_gdl2 or self._outline.may_hide)
            if is_first or self.started_again or tells_moves:
                return 0
        again = self._same_text(current, message, told, latest, is_doubtful=is_doubtful)
        return current + 1 if again is None else again

    def _same_text(
        self, current: int, message: Play, told: Heard, latest: Answered, *, is_doubtful: bool
    ) -> int | None:
        """The turn that was sent in the same words, if this cannot be a new one.

        A joint move without our answer proves that only while it is known which turn we answered:
        if turns were lost, it was another one, and our move may have been illegal.
        """
        not_ours = (
            not self._outline.is_gdl2
            and latest.in_time
            and told.move not in (None, latest.submitted)
        )
        if not is_doubtful and (not_ours or (latest.is_open and not latest.is_lost)):
            told_before = range(current, 0, -1)
        elif latest.is_open or latest.is_lost:
            told_before = range(current, current - 1, -1)
        else:
            return None
        return next((t for t in told_before if self._texts.get(t) == message.told), None)


def _turn(told: Heard, answer: Answered) -> PathTurn:
    """A turn of the history; a move that was not sent is assumed to be ours, if in time."""
    turn = PathTurn(told.move, told.percepts, answer.submitted, answer.in_time, joint=told.joint)
    if told.move is None and answer.in_time:
        return replace(turn, move=answer.submitted, assumed=True)
    return turn


# ------------------------------------------------------------------------
# Hypotheses about lost turns: the histories that agree with the messages that arrived.
#
# If turns have no numbers, no message tells how many came before it. A server plays on while we are
# down, and its messages of that time are lost. For example, with one move of ours per turn:
#
# (PLAY m (a b))       turn 4; we answer c, and are down for three turns
#     (PLAY m (noop d))    turn 5, 6, 7 or 8
#
# So all of these are kept as *hypotheses*, the likeliest first, and every later message extends
# each of them. Only somebody who knows the rules can tell them apart: a history that no particle
# fits is refuted, and with it all its continuations. `settle` is told which one fits; those before
# it were tried and are dropped, those after it are kept in case it is refuted later.

MAX_LOST = 3
"""Turns in a row that may have been lost although we seem to have received everything."""

MAX_ESTIMATED = 12
"""Most turns in a row that are assumed lost, however long we were down: after more unknown turns,
later ones tell next to nothing."""

MAX_HYPOTHESES = MAX_ESTIMATED + 1

ENOUGH_FITS = 20
"""A history that has fitted for this many turns in a row is no longer doubted."""


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
        """Whether turns may have been lost, and it has not been found out since which history
        fits."""
        return bool(self.lost) and not self._is_settled

    @property
    def fitted_before(self) -> bool:
        """Whether the history without its latest turn fitted, as far as anyone found out."""
        return self._num_fits > 0

    def rewrite(self, history: History) -> None:
        """Replace the history by what is now known for certain."""
        self.history, self.lost, self.missed = history, (), ()
        self._began_anew = False

    def begin_anew(self) -> None:
        """Take the first message for that of another match with the same id, though both it and
        the start message may have been late copies."""
        self.lost = (self.history, *self.lost)[: MAX_HYPOTHESES - 1]
        self.history, self.missed = (), ()
        self._began_anew = True

    def extend(self, last: PathTurn, deaf: int | None = None) -> None:
        """Add a turn.

        Args:
            last: the turn, as if none was lost before it.
            deaf: number of turns probably lost before it while we were down; None if we were not
                down.
        """
        self._is_settled = False
        # Our answer to the first message is no answer in a match that goes on.
        told = _told(last) if self._began_anew else last
        self._began_anew = False
        if deaf is None:
            self.lost = tuple((*each, told) for each in self.lost)
            # Those of earlier turns are here only if nobody could tell which fits.
            earlier = tuple((*each, last) for each in self.missed)
            missed = tuple(with_lost(self.history, last, num) for num in range(1, MAX_LOST + 1))
            self.history = (*self.history, last)
            self.missed = (*missed, *earlier)[: MAX_HYPOTHESES - 1]
            return
        before = (self.history, *self.lost, *self.missed)
        ranked = [
            (rank + place, with_lost(each, last, num))
            for rank, each in enumerate(before)
            for place, num in enumerate(likely_numbers(deaf))
        ]
        self._num_fits = 0
        ranked.sort(key=lambda each: each[0])
        self.history, *others = dict.fromkeys(history for _, history in ranked[:MAX_HYPOTHESES])
        self.lost, self.missed = tuple(others), ()

    def read_anew(self, read: Callable[[History], History | None]) -> None:
        """Reread all that was received, in each history that allows the other reading."""
        self.history = read(self.history) or self.history
        self.lost = tuple(read(each) or each for each in self.lost)
        self.missed = tuple(read(each) or each for each in self.missed)

    def settle(self, history: History) -> None:
        """Record that a history fits, and none before it in the order in which they are tried:
        `history`, `lost`, any other."""
        if history != self.history:
            place = self.lost.index(history) + 1 if history in self.lost else len(self.lost)
            if history[:-1] == self.history[:-1]:
                place = 0  # the same but for the latest turn, which was tried first
            self.history, self.lost = history, self.lost[place:]
            self._num_fits = 0
        self._num_fits += 1
        if self._num_fits > ENOUGH_FITS:
            self.lost = ()
        self.missed, self._is_settled = (), True


def likely_numbers(deaf: int) -> list[int]:
    """Possible numbers of lost turns, likeliest first: an estimate, none, and those near the
    estimate.

    Zero comes early because it is refuted soonest if wrong. Servers go on faster without us than
    with us, so more is likelier than fewer.
    """
    rest = (num for num in range(1, MAX_ESTIMATED + 1) if num != deaf)
    near = sorted(rest, key=lambda num: (abs(num - deaf), -num))
    return [deaf, *([0] if deaf else []), *near]


def with_lost(before: History, last: PathTurn, num: int) -> History:
    """A history with `num` lost turns before the last one.

    Our last answer then belonged to the first of the lost turns.
    """
    if num == 0:
        return (*before, last)
    move = last.submitted if last.in_time else None
    answered = PathTurn(move, None, last.submitted, last.in_time, assumed=move is not None)
    return (*before, answered, *[PathTurn()] * (num - 1), _told(last))


def _told(turn: PathTurn) -> PathTurn:
    """A turn without our answer in it."""
    return PathTurn(None if turn.assumed else turn.move, turn.percepts, joint=turn.joint)


def turns_within(deaf_s: float, first_s: float, turn_s: float) -> int:
    """Number of turns that began while nobody listened, at most `MAX_ESTIMATED`.

    Args:
        deaf_s: from the latest message until we listened again.
        first_s: from the latest message to the next one, if all goes on as before.
        turn_s: duration of a turn, positive.
    """
    if deaf_s <= first_s:
        return 0
    return min(MAX_ESTIMATED, 1 + int((deaf_s - first_s) / turn_s))


# ------------------------------------------------------------------------
# One role's incomplete path, as servers send it: the information of one message on one turn.


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PathTurn:
    """One turn of our incomplete path; texts are canonical KIF.

    All fields except `joint` are arguments of `Player.observe`.

    Attributes:
        move: executed for us; None if unknown.
        percepts: our percepts, sorted; None if unknown. In plain GDL the joint move, as
            `(did ROLE MOVE)`, which is what machines of plain GDL games call percepts.
        submitted: our answer, None if there was none.
        in_time: whether the answer was certainly in time.
        assumed: the server did not send the move; it is the one we submitted in time.
        joint: the terms received, in the order of the roles, if they were taken for percepts and
            may be a joint move as well; None otherwise. It is not part of the path.
    """

    move: str | None = None
    percepts: tuple[str, ...] | None = None
    submitted: str | None = None
    in_time: bool = False
    assumed: bool = False
    joint: tuple[str, ...] | None = field(default=None, compare=False)

    def tells_moves(self, roles: Sequence[str]) -> bool:
        """Whether its percepts are a joint move, as in plain GDL."""
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
    """The history with only what was received: assumed moves unknown, no answer surely in time."""
    return tuple(
        replace(turn, move=None if turn.assumed else turn.move, in_time=False, assumed=False)
        for turn in history
    )


def told_as_moves(history: History, roles: Sequence[str], role: str) -> History | None:
    """The history with everything taken for percepts read as joint moves, as in plain GDL.

    Args:
        history: as received, without turn numbers.
        roles: of the game, in order.
        role: ours.

    Returns:
        None if some of it can only be percepts, or nothing was received.
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
class Heard:
    """The information of a play message on the turn before it, in canonical KIF.

    Attributes:
        move: ours, None if not sent.
        percepts: sorted, None if they cannot be understood.
        note: an oddity, None if there is none.
        joint: as in `PathTurn`.
        tells_moves: whether it can only be a joint move.
    """

    move: str | None
    percepts: tuple[str, ...] | None
    note: str | None = None
    joint: tuple[str, ...] | None = None
    tells_moves: bool = False


def read_heard(
    last_move: str | None,
    told: tuple[str, ...] | None,
    rules: Outline,
    role: str,
    *,
    tells_moves: bool = False,
) -> Heard:
    """The information of a message on the turn before it.

    Args:
        last_move: as sent, None if not sent.
        told: as sent: percepts if the rules are GDL-II, else the joint move. With GDL-II rules it
            is also the joint move if it can be that, and cannot be percepts.
        rules: distinguish the two.
        role: ours, canonical.
        tells_moves: whether the server is known to send joint moves, whatever the rules are.
    """
    move = None if last_move is None else rules.read(last_move)
    items = tuple(map(rules.read, told or ()))
    if rules.is_gdl2:
        may_be_moves = _may_be_joint_move(items, move, rules, role)
        if not may_be_moves or (not tells_moves and rules.may_be_percepts(items)):
            joint = items if may_be_moves else None
            return Heard(move, tuple(sorted(set(items))), joint=joint)
    if items and all(_is_did(item, rules) for item in items):
        return Heard(move, tuple(sorted(items)))
    joint_move = dict(zip(rules.roles, items, strict=False))
    problem = None
    if len(items) != len(rules.roles) or told is None:
        problem = f"{len(items)} terms came where the joint move of {len(rules.roles)} roles was"
    elif not rules.may_be_moves(items) or move not in (None, joint_move.get(role)):
        problem = "what came is not the joint move that was"
    if problem is not None:
        note = (
            f"{problem} expected: ignored; the rules have neither `sees` nor the role `random`, "
            "which the server may have renamed"
        )
        return Heard(move, None, note)
    return Heard(move or joint_move.get(role), did_percepts(joint_move), tells_moves=True)


def _may_be_joint_move(items: tuple[str, ...], move: str | None, rules: Outline, role: str) -> bool:
    """Whether a server may send what one of plain GDL does, whatever the rules are."""
    if not rules.moves or len(items) != len(rules.roles) or not rules.may_be_moves(items):
        return False
    return move in (None, dict(zip(rules.roles, items, strict=True)).get(role))


def _is_did(item: str, rules: Outline) -> bool:
    return any(item.startswith(f"(did {role} ") for role in rules.roles)
