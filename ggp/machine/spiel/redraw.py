"""Other histories that look the same to a role, where chance deals much before it tells anything.

Turn by turn nobody finds them: in Skat a role is told its ten cards when all are dealt, and one
hand of 64 million is right. So whole histories are changed, a little at a time: two cards trade
places, say. A change is kept if the role is told the same as before for at least as long, and what
it is told next is at least as like what it was told.

    dealt turn by turn        the role's hand is     it was told
    D7 H9 SA | CJ ...         D7 H9 SA               D7 CJ SA        two of three
    D7 CJ SA | H9 ...         D7 CJ SA               D7 CJ SA        all: kept

A history that agrees with everything is changed on, as W. K. Hastings says (Biometrika 57, 1970):
changes are kept by how likely they make it if the others move evenly. So what comes of many changes
does not depend on where they began. (W. R. Gilks and C. Berzuini do so with the samples of beliefs,
J. R. Stat. Soc. B 63, 2001.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np

from ggp.machine.base import FloatArray, IntArray, States
from ggp.machine.spiel.known_path import History, KnownPath, Made
from ggp.machine.spiel.nodes import NodeStore, SpielStates
from ggp.machine.spiel.terms import NOOP

LEAST_DEALT = 8
"""Turns of chance in a match of a game whose histories are changed; with fewer, what a role does
not know is gone through turn by turn."""

CHANGES = 64
"""Tried of a history that agrees with everything."""

MOST_CHANGES = 5_000
"""Tried of one that does not, before it is given up."""

FAR = 4
"""Of so many histories one is made from where the others begin, not from one that was found."""

MENDED = 0.75
"""Share of changes, of a history that does not agree, at turns that matter for what it told."""

RARE = 0.02
"""What is never of use is still tried that often, compared with what always is."""

_Change = tuple[list[int], list[int]]
"""Turns that are changed, and the actions of all turns then."""


class _Tally:
    """What is worth trying, by how often it was of use.

    Args:
        size: of what there is to choose from.
    """

    def __init__(self, size: int) -> None:
        self._used, self._tried = np.ones(size), np.ones(size)

    def add(self, which: list[int], *, used: bool) -> None:
        self._tried[which] += 1
        self._used[which] += used

    def draw(self, rng: Random, among: list[int]) -> int:
        """One of some, the more likely the more often it was of use."""
        # Of a pair one is of use and both are counted: squares tell them apart.
        shares: FloatArray = np.maximum(self._used[among] / self._tried[among], RARE) ** 2
        return rng.choices(among, shares.tolist())[0]


class HistoryRedraws:
    """Draws histories that agree with one incomplete path: see `Redraws`.

    Args:
        store: of the machine.
        path: of the role.
        num_roles: of the machine; chance is the last.
        rng: draws all that is drawn.
        count: told how many states were visited.
    """

    def __init__(
        self,
        store: NodeStore,
        path: KnownPath,
        num_roles: int,
        rng: np.random.Generator,
        count: Callable[[int], None],
    ) -> None:
        self._store, self._path, self._num_roles, self._count = store, path, num_roles, count
        self._rng, self._lots = rng, Random(int(rng.integers(1 << 62)))
        self._found: list[History] = []
        self._unfinished: History | None = None
        self._changes = (self._trade, self._rename, self._rename_next, self._replace)
        # Turns whose changes are kept, and those whose changes the role would be told of.
        self._kept, self._felt = _Tally(len(path)), _Tally(len(path))
        self._kinds = _Tally(len(self._changes))

    def draw(self, states: States, count: int, stop: Callable[[], bool]) -> IntArray:
        """See `Redraws`."""
        assert isinstance(states, SpielStates)
        starts = states.nodes
        rows = []
        for number in range(count):
            if stop():
                break
            if self._found and number % FAR:
                history = self._lots.choice(self._found)
            else:
                actions = starts[self._lots.randrange(len(starts))].state.history()
                history = self._path.extended(self._path.begun([], actions), self._rng)
            history = self._changed(history, stop)
            if self._agrees(history):
                self._found.append(history)
                rows.append([self._row(turn) for turn in history.turns])
        self._count(self._path.visited)
        self._path.visited = 0
        shape = (len(rows), len(self._path), self._num_roles)
        return np.array(rows, dtype=np.int64).reshape(shape)

    def unfinished(self) -> States | None:
        """See `Redraws`."""
        if self._unfinished is None:
            return None
        node = self._store.root
        for turn in self._unfinished.turns:
            node = self._store.after(node, tuple(self._row(turn)))
        return SpielStates(self._store, [node])

    def _row(self, turn: Made) -> list[int]:
        row = [NOOP] * self._num_roles
        row[turn.player] = turn.action + 1  # chance is -1, the last one
        return row

    def _agrees(self, history: History) -> bool:
        return len(history.turns) == len(self._path)

    # ---------------------------------------------------------------- changing

    def _changed(self, history: History, stop: Callable[[], bool]) -> History:
        """A history after many changes, which agrees or was given up."""
        self._unfinished = None
        tried = agreed = 0
        while tried < MOST_CHANGES and agreed < CHANGES:
            if tried % 8 == 0 and stop():
                if not self._agrees(history):
                    self._unfinished = history
                break
            tried, agreed = tried + 1, agreed + self._agrees(history)
            history = self._changed_once(history)
        return history

    def _changed_once(self, history: History) -> History:
        """A history, or what a change made of it."""
        agrees = self._agrees(history)
        # While nothing agrees, one change has to come before another: none is favoured.
        numbers = list(range(len(self._changes)))
        kind = self._kinds.draw(self._lots, numbers) if agrees else self._lots.choice(numbers)
        change = self._changes[kind](history) if history.turns else None
        new = None
        if change is not None:
            turns, actions = change
            pairs = zip(history.turns, actions, strict=True)
            first = next(at for at, (turn, action) in enumerate(pairs) if turn.action != action)
            begun = self._path.begun(history.turns[:first], actions)
            if len(begun) == len(actions):
                new = self._path.extended(begun, self._rng)
            keeps = new is not None and self._keeps(history, new, first)
            felt = new is not None and new.likeness != history.likeness
            self._kept.add(turns, used=keeps)
            if not agrees:
                self._felt.add(turns, used=felt)
            self._kinds.add([kind], used=keeps)
            return new if keeps and new is not None else history
        self._kinds.add([kind], used=False)
        return history

    def _keeps(self, old: History, new: History, first: int) -> bool:
        """Whether a change is kept: turns are the same before the first one."""
        if not self._agrees(old):
            return new.is_no_worse(old)
        gain = sum(turn.log_prior for turn in new.turns[first:])
        gain -= sum(turn.log_prior for turn in old.turns[first:])
        return gain >= 0 or math.log(1 - self._lots.random()) < gain

    def _trade(self, history: History) -> _Change | None:
        """Two moves of chance trade places."""
        dealt, actions = _dealt(history), history.actions
        if len(dealt) < 2:
            return None
        one, other = self._turn(history, dealt), self._kept.draw(self._lots, dealt)
        if actions[one] == actions[other]:
            return None
        actions[one], actions[other] = actions[other], actions[one]
        return [one, other], actions

    def _rename(self, history: History) -> _Change | None:
        """Two moves of chance stand for each other, also where others make them: they put away
        what they were dealt."""
        dealt = _dealt(history)
        if len(dealt) < 2:
            return None
        one, other = self._turn(history, dealt), self._kept.draw(self._lots, dealt)
        return self._renamed(history, [one, other], history.turns[other].action)

    def _rename_next(self, history: History) -> _Change | None:
        """The same with what may be done next: it may not have been dealt yet."""
        dealt, possible = _dealt(history), history.turns[-1].after.legal_actions()
        if not dealt or not possible:
            return None
        return self._renamed(history, [self._turn(history, dealt)], self._lots.choice(possible))

    def _renamed(self, history: History, turns: list[int], other: int) -> _Change | None:
        one = history.turns[turns[0]].action
        if one == other:
            return None
        names, ours = {one: other, other: one}, self._path.role
        actions = [
            turn.action if turn.player == ours else names.get(turn.action, turn.action)
            for turn in history.turns
        ]
        return turns, actions

    def _replace(self, history: History) -> _Change | None:
        """Somebody else, or chance, made another move."""
        ours = self._path.role
        others = [at for at, turn in enumerate(history.turns) if turn.player != ours]
        if not others:
            return None
        at, actions = self._turn(history, others), history.actions
        before = history.turns[at - 1].after if at else self._path.root
        action = self._lots.choice(before.legal_actions())
        if action == actions[at]:
            return None
        actions[at] = action
        return [at], actions

    def _turn(self, history: History, turns: list[int]) -> int:
        """One of some turns to be changed: where it is known what to mend, one that matters."""
        mends = not self._agrees(history) and self._lots.random() < MENDED
        return (self._felt if mends else self._kept).draw(self._lots, turns)


def _dealt(history: History) -> list[int]:
    """The turns of chance."""
    return [at for at, turn in enumerate(history.turns) if turn.player < 0]
