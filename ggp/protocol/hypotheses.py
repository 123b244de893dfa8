"""Which turns were lost: the histories that agree with the messages that came.

Where turns have no numbers, no message tells how many came before it. A server plays on while we
are down, and what it sent then is gone. For example, with one move of ours a turn:

    (PLAY m (a b))       turn 4; we answer c, and are down for three turns
    (PLAY m (noop d))    turn 5, 6, 7 or 8

So all of these are kept as *hypotheses*, the likeliest first, and every later message extends each
of them. They are told apart by those who know the rules: a history that no particle fits is
refuted, and with it all that continues it. `settle` is told which one fits; those before it were
tried and are dropped, those after it wait for the day when it is refuted too.
"""

from __future__ import annotations

from collections.abc import Callable

from ggp.protocol.turns import History, PathTurn

MAX_LOST = 3
"""Turns in a row that may have been lost although we seem to have heard all."""

MAX_ESTIMATED = 12
"""Turns in a row that are taken for lost at most, however long we were down: what follows more
unknown turns than these tells next to nothing."""

MAX_HYPOTHESES = MAX_ESTIMATED + 1

ENOUGH_FITS = 20
"""A history that has fitted in so many turns in a row is not doubted any more."""


class Hypotheses:
    """What may have happened in a match so far.

    Attributes:
        history: the likeliest.
        lost: the others since turns may have been lost while we were down, likeliest first.
        missed: others, of turns that were lost although we seem to have heard all.
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
        """Whether turns may have been lost, and nobody has found out since then what fits."""
        return bool(self.lost) and not self._is_settled

    @property
    def fitted_before(self) -> bool:
        """Whether the history fitted, but for its latest turn, as far as anyone found out."""
        return self._num_fits > 0

    def rewrite(self, history: History) -> None:
        """Take what is told now for certain."""
        self.history, self.lost, self.missed = history, (), ()
        self._began_anew = False

    def begin_anew(self) -> None:
        """Take the first message for that of another match with the same id, though both it and
        the start message may have been late copies."""
        self.lost = (self.history, *self.lost)[: MAX_HYPOTHESES - 1]
        self.history, self.missed = (), ()
        self._began_anew = True

    def extend(self, last: PathTurn, deaf: int | None = None) -> None:
        """Another turn was told.

        Args:
            last: the turn, as if none was lost before it.
            deaf: how many turns were probably lost before it while we were down; None if we
                were not.
        """
        self._is_settled = False
        # What we answered to the first message was no answer in a match that goes on.
        told = _told(last) if self._began_anew else last
        self._began_anew = False
        if deaf is None:
            self.lost = tuple((*each, told) for each in self.lost)
            # Those of earlier turns are here only if nobody could tell what fits.
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
        """Take all that was told for something else, where it can be that."""
        self.history = read(self.history) or self.history
        self.lost = tuple(read(each) or each for each in self.lost)
        self.missed = tuple(read(each) or each for each in self.missed)

    def settle(self, history: History) -> None:
        """Take note that a history fits, and none before it in the order they are asked in:
        `history`, `lost`, any other."""
        if history != self.history:
            place = self.lost.index(history) + 1 if history in self.lost else len(self.lost)
            if history[:-1] == self.history[:-1]:
                place = 0  # the same but for the latest turn, which was asked for first
            self.history, self.lost = history, self.lost[place:]
            self._num_fits = 0
        self._num_fits += 1
        if self._num_fits > ENOUGH_FITS:
            self.lost = ()
        self.missed, self._is_settled = (), True


def likely_numbers(deaf: int) -> list[int]:
    """Numbers of lost turns, likeliest first: an estimate, none, and those near the estimate.

    That none was lost is refuted soonest if it is wrong. Servers go on faster without us than with
    us, so that more is likelier than fewer.
    """
    rest = (num for num in range(1, MAX_ESTIMATED + 1) if num != deaf)
    near = sorted(rest, key=lambda num: (abs(num - deaf), -num))
    return [deaf, *([0] if deaf else []), *near]


def with_lost(before: History, last: PathTurn, num: int) -> History:
    """A history with a number of lost turns before the last one.

    What we answered last was then for the first of the lost turns.
    """
    if num == 0:
        return (*before, last)
    move = last.submitted if last.in_time else None
    answered = PathTurn(move, None, last.submitted, last.in_time, assumed=move is not None)
    return (*before, answered, *[PathTurn()] * (num - 1), _told(last))


def _told(turn: PathTurn) -> PathTurn:
    """A turn without what we answered in it."""
    return PathTurn(None if turn.assumed else turn.move, turn.percepts, joint=turn.joint)


def turns_within(deaf_s: float, first_s: float, turn_s: float) -> int:
    """How many turns began while nobody listened, at most `MAX_ESTIMATED`.

    Args:
        deaf_s: from the latest message to the time when we listened again.
        first_s: from the latest message to the next one, if all goes on as before.
        turn_s: what a turn takes, positive.
    """
    if deaf_s <= first_s:
        return 0
    return min(MAX_ESTIMATED, 1 + int((deaf_s - first_s) / turn_s))
