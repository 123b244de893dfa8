"""Mending a history: small changes until it agrees with what a role knows.

A change is kept if the role is told the same as before for at least as long, and what it is told
next is at least as like what it was told.

    dealt turn by turn        the role's hand is     it was told
    D7 H9 SA | CJ ...         D7 H9 SA               D7 CJ SA        two of three
    D7 CJ SA | H9 ...         D7 CJ SA               D7 CJ SA        all: kept

Each change also teaches something. Where the words stay the same, both turns matter for what the
role is told next, or neither does; where they change, one of the two does. The letters that come
and go then tell of both cards whether they are part of what the role was told. So nobody needs to
know what a card is, or that a hand has ten.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.spiel.changes import Change, Tally, dealt, not_of, renamed, replaced, traded
from ggp.machine.spiel.known_path import History, KnownPath, name_of

LOOK = 8
"""Changes between two looks at the clock."""

MOST_FRUITLESS = 500
"""Changes in a row that do not bring a history nearer: it is given up."""

FORGOTTEN = 150
"""So many in a row after which it is learnt anew what is part of what the role was told."""

PATIENCE = 30
"""So many in a row after which three cards change places, too."""

DIRECTED = 0.8
"""Share of changes that go by what was learnt; others are made anywhere."""

SELDOM, OFTEN, SURE = -1.0, 1.0, 2.0
"""Log odds that a turn matters for what the role is told next: to begin with, of chance and of a
player; and what is hardly in doubt."""

TRUST = 80.0
"""So many times as likely as others actions are tried that are part of what the role was told, and
those that are not so many times less likely."""


class Mender:
    """Changes histories until they agree with an incomplete path.

    Args:
        path: of the role.
        rng, lots: draw all that is drawn.

    Attributes:
        unfinished: the history that was worked on when it was stopped, None if it was not.
    """

    def __init__(self, path: KnownPath, rng: np.random.Generator, lots: Random) -> None:
        self.unfinished: History | None = None
        self._path, self._rng, self._lots = path, rng, lots
        self._kinds = (
            self._trade,
            self._rename,
            self._rename_next,
            self._replace,
            self._rename_round,
        )
        # Turns that can be changed: others would have been told before.
        self._open = Tally(len(path))
        # Kinds of changes that make a difference to what the role is told next.
        self._useful = Tally(len(self._kinds))
        # Log odds of turns, whether what is done there matters for that.
        self._matters = np.full(len(path), SELDOM)
        # Actions that are not what was done next.
        self._not_next: set[int] = set()
        # By name, whether an action is part of what the role was told; of others it is not known.
        self._is_part: dict[str, bool] = {}

    def mended(self, history: History, stop: Callable[[], bool]) -> History:
        """A history changed until it agrees, is given up, or there is no more time."""
        self.unfinished = None
        fruitless = tried = 0
        if len(history) < len(self._path):
            self._look_ahead(history)
        while len(history) < len(self._path) and fruitless < MOST_FRUITLESS:
            if tried % LOOK == 0 and stop():
                self.unfinished = history
                break
            tried += 1
            # Three cards are many to choose from: where two will do, they are found sooner.
            kinds = len(self._kinds) - (fruitless < PATIENCE)
            before, history = history, self._changed(history, kinds)
            if len(history) > len(before):
                fruitless = 0
                if len(history) < len(self._path):
                    self._look_ahead(history)
                continue
            fruitless = fruitless + 1 if history.likeness <= before.likeness else 0
            if fruitless % FORGOTTEN == FORGOTTEN - 1:
                # What was learnt while little was known was wrong.
                self._open = Tally(len(self._path))
                self._look_ahead(history)
        return history

    def _changed(self, history: History, kinds: int) -> History:
        """What a change of one of the first kinds made of a history, if it is no worse."""
        if not history.actions:
            return history
        numbers = list(range(kinds))
        (kind,) = self._lots.choices(numbers, self._useful.shares(numbers).tolist())
        change = self._kinds[kind](history)
        new = None if change is None else self._path.replayed(history, change.actions)
        if change is not None:
            self._open.add(change.turns, used=new is not None)
        if new is None or change is None:
            self._useful.add([kind], used=False)
            return history
        new = self._path.extended(new, self._rng)
        self._useful.add([kind], used=new.told != history.told)
        if len(new) == len(history):
            self._not_next.update(new.after.legal_actions())
            if len(change.turns) == 2:
                self._learn(history, change, new)
        return new if new.is_no_worse(history) else history

    # ---------------------------------------------------------------- changes

    def _trade(self, history: History) -> Change | None:
        """Two moves of chance trade places."""
        cards = dealt(history)
        return traded(history, *self._two(history, cards, cards)) if cards else None

    def _rename(self, history: History) -> Change | None:
        """Two cards stand for each other, of which one was dealt."""
        # What became of a card matters, not whether it was dealt before.
        last = {history.names[at]: at for at in not_of(history, self._path.role)}
        cards = [last[history.names[at]] for at in dealt(history)]
        if not cards:
            return None
        one, other = self._two(history, list(last.values()), cards)
        out, into = history.act(one), history.act(other)
        return renamed(history, self._path.role, [one, other], out, into)

    def _rename_next(self, history: History) -> Change | None:
        """The same with what may be done next: it may not have been dealt yet."""
        turns, possible = not_of(history, self._path.role), history.after.legal_actions()
        if not turns or not possible:
            return None
        one, into = self._next(history, turns, possible)
        return renamed(history, self._path.role, [one], history.act(one), into)

    def _rename_round(self, history: History) -> Change | None:
        """The same with a third card: who gives one away may not be able to have the other."""
        turns, possible = not_of(history, self._path.role), history.after.legal_actions()
        if not turns or not possible:
            return None
        one, into = self._next(history, turns, possible)
        acts = history.act(one), history.act(self._drawn(turns, np.ones(len(turns)))), into
        if len({name for _, name in acts}) < len(acts):
            return None
        return renamed(history, self._path.role, [one], *acts)

    def _next(
        self, history: History, turns: list[int], possible: list[int]
    ) -> tuple[int, tuple[int, str]]:
        """One of some turns, with what may have been done next instead of one that is possible."""
        # What could be done next before was not what was done.
        cards = [history.actions[at] for at in turns]
        doubts = np.array([1 / TRUST if card in self._not_next else 1.0 for card in cards])
        one = self._drawn(turns, self._wanted(history, turns) * doubts)
        action = self._lots.choice(possible)
        return one, (action, name_of(history.after, action))

    def _replace(self, history: History) -> Change | None:
        """Somebody else, or chance, made another move."""
        others = not_of(history, self._path.role)
        if not others:
            return None
        at = self._drawn(others, np.exp(self._matters[others]))
        before = self._path.after(history.actions[:at])
        possible = before.legal_actions()
        parts = [self._is_part.get(name_of(before, action)) for action in possible]
        weights = [TRUST if is_part else 1.0 for is_part in parts]
        return replaced(history, at, self._lots.choices(possible, weights)[0])

    def _two(self, history: History, turns: list[int], others: list[int]) -> tuple[int, int]:
        """A turn that matters, with something in it that is not part of what the role was told,
        and another, which does not, with something that may be."""
        # What is part of it is to stay.
        parts = np.array([bool(self._is_part.get(history.names[at])) for at in turns])
        one = self._drawn(turns, np.exp(self._matters[turns]) / np.where(parts, TRUST**2, 1.0))
        weights = self._wanted(history, others) * np.exp(-self._matters[others])
        return one, self._drawn(others, weights)

    def _wanted(self, history: History, turns: list[int]) -> FloatArray:
        """How much rather than others what was done in some turns is to be where it matters."""
        signs = [self._is_part.get(history.names[at]) for at in turns]
        weights = {None: 1.0, True: TRUST, False: 1 / TRUST}
        return np.array([weights[sign] for sign in signs])

    def _drawn(self, turns: list[int], weights: FloatArray) -> int:
        """One of some turns, mostly by these weights."""
        shares = self._open.shares(turns)
        if self._lots.random() < DIRECTED:
            shares = shares * weights
        return self._lots.choices(turns, shares.tolist())[0]

    # ---------------------------------------------------------------- learning

    def _look_ahead(self, history: History) -> None:
        """Forget what was learnt of what the role was told before, and see what its words name."""
        self._useful = Tally(len(self._kinds))
        players = np.full(len(self._path), -1)
        players[: len(history)] = history.players
        self._matters = np.where(players < 0, SELDOM, OFTEN)
        self._not_next = set(history.after.legal_actions())
        self._is_part = {}
        if news := self._path.news(len(history)):
            cards = [history.names[at] for at in dealt(history)]
            self._is_part = {card: True for card in cards if card in news}

    def _learn(self, old: History, change: Change, new: History) -> None:
        """Take note of what a swap in two turns made of what the role is told next."""
        turns: IntArray = np.array(change.turns)
        learnt = self._path.learnt(old, new)
        # Log odds of one turn, by those of the other.
        way = 1 if learnt is None else -1
        told = way * self._matters[turns[::-1]].clip(-SURE, SURE)
        self._matters[turns] = (self._matters[turns] + told).clip(-2 * SURE, 2 * SURE)
        odds = self._matters[turns]
        if learnt is None or abs(odds[0] - odds[1]) < SURE:
            return  # it is not clear which turn it is that matters
        one = turns[0] if odds[0] > odds[1] else turns[1]
        self._is_part[new.names[one]], self._is_part[old.names[one]] = learnt
