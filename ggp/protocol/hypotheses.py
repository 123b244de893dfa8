"""Hypotheses about lost turns: the histories that agree with the messages that arrived.

If turns have no numbers, no message tells how many came before it. A server plays on while we
are down, and its messages of that time are lost. For example, with one move of ours per turn:

    (PLAY m (a b))       turn 4; we answer c, and are down for three turns
    (PLAY m (noop d))    turn 5, 6, 7 or 8

So all of these are kept as *hypotheses*, the likeliest first, and every later message extends each
of them. Only somebody who knows the rules can tell them apart: a history that no particle fits is
refuted, and with it all its continuations. `settle` is told which one fits; those before it were
tried and are dropped, those after it are kept in case it is refuted later.
"""

from __future__ import annotations

from collections.abc import Callable

from ggp.protocol.turns import History, PathTurn

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
