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
from typing import NamedTuple

import numpy as np

from ggp.machine.base import FloatArray, Redrawn, States
from ggp.machine.spiel.known_path import History, KnownPath
from ggp.machine.spiel.nodes import Node, NodeStore, SpielStates
from ggp.machine.spiel.terms import NOOP

LEAST_DEALT = 8
"""Turns of chance in a match of a game whose histories are changed; with fewer, what a role does
not know is gone through turn by turn."""

CHANGES = 16
"""Tried of a history that agrees with everything, between two that are drawn."""

LOOK = 8
"""Changes between two looks at the clock."""

FORGOTTEN = 150
"""So many in a row after which it is learnt anew what is part of what the role was told."""

MOST_FRUITLESS = 500
"""Changes of one that does not agree, in a row, that do not bring it nearer: it is given up."""

MENDED = 0.8
"""Share of changes, of a history that does not agree, at turns that matter for what it tells."""

RARE = 0.02
"""What is never of use is still tried that often, compared with what always is."""

SELDOM, SURE = -1.0, 2.0
"""Log odds: of a turn that nothing is known of, that it matters; and what is hardly in doubt."""

TRUST, MOST_SIGNS = 3.0, 2
"""Each sign that an action is part of what the role was told makes it so many times as likely to be
tried there; so many signs count."""


NAMED = 4
"""Signs that it is named by the words the role was told."""


class _Swapped(NamedTuple):
    """Two actions that change places: out of the first turn of a change, and into it."""

    out: int
    into: int


class _Change(NamedTuple):
    """Turns that are changed, the actions of all turns then, and two that were swapped."""

    turns: list[int]
    actions: list[int]
    swapped: _Swapped | None


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

    def shares(self, among: list[int]) -> FloatArray:
        """How worthwhile some are: the more the more often they were of use."""
        # Of a pair one is of use and both are counted: squares tell them apart.
        found: FloatArray = np.maximum(self._used[among] / self._tried[among], RARE) ** 2
        return found


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
        self._unfinished: History | None = None
        self._changes = (self._trade, self._rename, self._replace, self._rename_next)
        # The last one is not as likely to be taken back as it is to be made.
        self._num_even = len(self._changes) - 1
        # Turns whose changes are kept, and those whose changes the role would be told of.
        self._kept = _Tally(len(path))
        # Log odds of turns, whether what is done there matters for what the role is told next.
        self._matters = np.full(len(path), SELDOM)
        self._kinds = _Tally(len(self._changes))
        # Of actions, whether they are part of what the role was told, as far as it looks so.
        self._signs: dict[int, int] = {}

    def draw(self, states: States, count: int, stop: Callable[[], bool]) -> Redrawn:
        """See `Redraws`."""
        assert isinstance(states, SpielStates)
        starts = states.nodes
        found: list[History] = []
        history = None
        for number in range(count):
            if stop():
                break
            if history is None or not self._agrees(history):
                which = self._lots.randrange(len(starts)) if number else 0
                history = self._path.begun(starts[which].state.history())
                history = self._repaired(self._path.extended(history, self._rng), stop)
            if self._agrees(history):
                history = self._shaken(history, stop)
                if self._agrees_throughout(history):
                    found.append(history)
        self._count(self._path.visited)
        self._path.visited = 0
        shape = (len(found), len(self._path), self._num_roles)
        rows = np.array([self._rows(history) for history in found], dtype=np.int64).reshape(shape)
        nodes = [self._end_of(history) for history in found]
        return Redrawn(rows, SpielStates(self._store, nodes))

    def unfinished(self) -> States | None:
        """See `Redraws`."""
        if self._unfinished is None:
            return None
        return SpielStates(self._store, [self._end_of(self._unfinished)])

    def _rows(self, history: History) -> list[list[int]]:
        rows = []
        for player, action in zip(history.players, history.actions, strict=True):
            row = [NOOP] * self._num_roles
            row[player] = action + 1  # chance is -1, the last one
            rows.append(row)
        return rows

    def _end_of(self, history: History) -> Node:
        return self._store.along(map(tuple, self._rows(history)), history.after)

    def _agrees(self, history: History) -> bool:
        return len(history) == len(self._path)

    def _agrees_throughout(self, history: History) -> bool:
        """Whether a history is possible and agrees in every turn, looked at one by one."""
        actions = history.actions
        return self._agrees(self._path.begun(actions)) and self._path.log_prior(actions) > -math.inf

    # ---------------------------------------------------------------- changing

    def _repaired(self, history: History, stop: Callable[[], bool]) -> History:
        """A history changed until it agrees, or is given up, or there is no more time."""
        self._unfinished = None
        fruitless = tried = 0
        if not self._agrees(history):
            self._look_ahead(history)
        while not self._agrees(history) and fruitless < MOST_FRUITLESS:
            if tried % LOOK == 0 and stop():
                self._unfinished = history
                break
            tried += 1
            before, history = history, self._mended(history)
            if len(history) > len(before):
                fruitless = 0
                if not self._agrees(history):
                    self._look_ahead(history)
                continue
            fruitless = fruitless + 1 if history.likeness <= before.likeness else 0
            if fruitless % FORGOTTEN == FORGOTTEN - 1:
                self._learn_names(history)  # what was learnt while little was known was wrong
        return history

    def _mended(self, history: History) -> History:
        """What a change made of a history that does not agree, if it is no worse."""
        # One change has to come before another: none is favoured.
        change = self._lots.choice(self._changes)(history) if history.actions else None
        if change is None:
            return history
        new = self._path.replayed(change.actions, _differences(history, change))
        if new is not None:
            new = self._path.extended(new, self._rng)
        keeps = new is not None and new.is_no_worse(history)
        self._kept.add(change.turns, used=new is not None)
        if change.swapped is not None and new is not None:
            self._feel(history, change, new)
        return new if new is not None and keeps else history

    def _shaken(self, history: History, stop: Callable[[], bool]) -> History:
        """One that agrees after many changes, each kept by how likely it is."""
        log_prior = self._path.log_prior(history.actions)
        for number in range(CHANGES):
            if number % LOOK == LOOK - 1 and stop():
                break
            kinds = range(self._num_even)
            (kind,) = self._lots.choices(kinds, self._kinds.shares(list(kinds)).tolist())
            change = self._changes[kind](history)
            new = None
            if change is not None:
                new = self._path.replayed(change.actions, _differences(history, change))
            keeps = False
            # Where others move there would be other ways back.
            if new is not None and new.players == history.players:
                then = self._path.log_prior(new.actions)
                keeps = math.log(1 - self._lots.random()) <= then - log_prior
                if keeps:
                    history, log_prior = new, then
            self._kinds.add([kind], used=keeps)
            if change is not None:
                self._kept.add(change.turns, used=keeps)
        return history

    def _look_ahead(self, history: History) -> None:
        """Forget what was learnt of earlier turns."""
        self._matters = np.full(len(self._path), SELDOM)
        self._learn_names(history)

    def _learn_names(self, history: History) -> None:
        """Take what the words name that the role was told next as part of it, and nothing else."""
        self._signs = {}
        self._kept = _Tally(len(self._path))
        news = self._path.news(len(history))
        if not news:
            return
        names = self._path.names(history.actions)
        for player, action, name in zip(history.players, history.actions, names, strict=True):
            if player < 0 and name in news:
                self._signs[action] = NAMED

    def _trade(self, history: History) -> _Change | None:
        """Two moves of chance trade places."""
        pair = self._two(history, _dealt(history))
        if pair is None:
            return None
        actions = list(history.actions)
        (one, other), swapped = pair
        actions[one], actions[other] = actions[other], actions[one]
        return _Change([one, other], actions, swapped)

    def _rename(self, history: History) -> _Change | None:
        """Two moves stand for each other wherever chance or others make them: who puts away a card
        puts away the other one then."""
        pair = self._two(history, self._not_ours(history))
        return None if pair is None else self._renamed(history, *pair)

    def _rename_next(self, history: History) -> _Change | None:
        """The same with what may be done next: it may not have been dealt yet."""
        turns, possible = self._not_ours(history), history.after.legal_actions()
        if not turns or not possible:
            return None
        weights = self._kept.shares(turns)
        if self._mends(history):  # what is wanted is to come next
            weights = self._fetched(history, turns)
        (one,) = self._lots.choices(turns, weights.tolist())
        swapped = _Swapped(history.actions[one], self._lots.choice(possible))
        return None if swapped.out == swapped.into else self._renamed(history, [one], swapped)

    def _renamed(self, history: History, turns: list[int], swapped: _Swapped) -> _Change:
        names = {swapped.out: swapped.into, swapped.into: swapped.out}
        ours = self._path.role
        made = zip(history.players, history.actions, strict=True)
        actions = [
            action if player == ours else names.get(action, action) for player, action in made
        ]
        return _Change(turns, actions, swapped)

    def _replace(self, history: History) -> _Change | None:
        """Somebody else, or chance, made another move."""
        others = self._not_ours(history)
        if not others:
            return None
        at = self._turn(history, others, mends=self._mends(history))
        action = self._lots.choice(self._path.after(history.actions[:at]).legal_actions())
        if action == history.actions[at]:
            return None
        actions = list(history.actions)
        actions[at] = action
        return _Change([at], actions, None)

    def _not_ours(self, history: History) -> list[int]:
        """The turns of chance and of the others."""
        ours = self._path.role
        return [at for at, player in enumerate(history.players) if player != ours]

    def _two(self, history: History, turns: list[int]) -> tuple[list[int], _Swapped] | None:
        """One of some turns and one of chance, and what was done there."""
        dealt = _dealt(history)
        if not turns or not dealt:
            return None
        mends = self._mends(history)
        one = self._turn(history, turns, mends=mends)
        weights = self._fetched(history, dealt) if mends else self._kept.shares(dealt)
        other = self._lots.choices(dealt, weights.tolist())[0]
        out, into = history.actions[one], history.actions[other]
        return None if out == into else ([one, other], _Swapped(out, into))

    def _mends(self, history: History) -> bool:
        """Whether to look for what is wrong with a history, where it is known."""
        return not self._agrees(history) and self._lots.random() < MENDED

    def _turn(self, history: History, turns: list[int], *, mends: bool) -> int:
        """One of some turns that is worth changing; where it mends, one that matters."""
        if not mends:
            return self._lots.choices(turns, self._kept.shares(turns).tolist())[0]
        weights = self._kept.shares(turns) * np.exp(self._matters[turns])
        # What is part of it is to stay.
        weights /= np.array([max(self._wanted(history.actions[at]), 1.0) ** 2 for at in turns])
        return self._lots.choices(turns, weights.tolist())[0]

    def _fetched(self, history: History, turns: list[int]) -> FloatArray:
        """How worthwhile it is to put what was done in some turns where it matters."""
        wanted = np.array([self._wanted(history.actions[at]) for at in turns])
        # What is where it matters need not be put there.
        found: FloatArray = (
            self._kept.shares(turns) * wanted * np.exp(-self._matters[turns])
        )
        return found

    def _wanted(self, action: int) -> float:
        """How much rather than others an action is to be where it matters."""
        return float(TRUST ** self._signs.get(action, 0))

    def _feel(self, old: History, change: _Change, new: History) -> None:
        """Take note of what a change made of what the role is told next: which turns matter for
        it, and which of two actions is part of it."""
        if len(new) > len(old) or change.swapped is None or len(change.turns) < 2:
            return
        learnt = self._path.learnt(old, new)
        one, other = change.turns
        # Of two that matter, or do not, a swap makes no difference; one of two does.
        way = 1 if learnt is None else -1
        odds = self._matters[[one, other]]
        told = way * odds[::-1].clip(-SURE, SURE)
        self._matters[[one, other]] = (odds + told).clip(-2 * SURE, 2 * SURE)
        odds = self._matters[[one, other]]
        if learnt is None or abs(odds[0] - odds[1]) < SURE:
            return
        out, into = change.swapped if odds[0] > odds[1] else change.swapped[::-1]
        for action, is_part in zip((into, out), learnt, strict=True):
            self._signs[action] = NAMED if is_part else -NAMED


def _differences(history: History, change: _Change) -> list[int]:
    """The turns in which a change makes another move."""
    pairs = enumerate(zip(history.actions, change.actions, strict=True))
    return [at for at, (old, new) in pairs if old != new]


def _dealt(history: History) -> list[int]:
    """The turns of chance."""
    return [at for at, player in enumerate(history.players) if player < 0]
