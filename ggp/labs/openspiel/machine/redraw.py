"""Draws other histories that look the same to a role, where chance deals much before it shows.

Drawing turn by turn does not find them: in Skat a role sees its ten cards when all are dealt, and
one hand of 64 million is right. So whole histories are changed, a little at a time, until one
agrees with everything (`Mender`).

That one is changed further by the method of W. K. Hastings (Biometrika 57, 1970): changes are kept
according to how likely they make it if the others move uniformly at random. So the result of many
changes does not depend on where they began. (W. R. Gilks and C. Berzuini do so with the samples of
beliefs, J. R. Stat. Soc. B 63, 2001.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np

from ggp.labs.openspiel.machine.changes import (
    Change,
    UseCounts,
    dealt,
    not_of,
    renamed,
    replaced,
    traded,
)
from ggp.labs.openspiel.machine.known_path import History, KnownPath, name_of
from ggp.labs.openspiel.machine.nodes import Node, NodeStore, SpielStates
from ggp.labs.openspiel.machine.terms import NOOP
from ggp.machine.abilities import Redrawn
from ggp.machine.base import FloatArray, IntArray, States

LEAST_DEALT = 8
"""Least number of turns of chance in a match of a game whose histories are changed; with fewer,
what a role does not know is enumerated turn by turn."""

CHANGES = 16
"""Number of changes tried, on a history that agrees with everything, between two draws."""


class HistoryRedraws:
    """Draws histories that agree with one incomplete path: see `Redraws`.

    Args:
        store: the nodes of the machine.
        path: the role's path.
        num_roles: number of roles of the machine; chance is the last.
        rng: source of all that is drawn.
        count: called with the number of states visited.
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
        self._mender = Mender(path, rng, self._lots)
        # Each is as likely to be undone as to be made.
        self._kinds = (self._trade, self._rename, self._rename_round, self._replace)
        # Kinds and turns, by how often their changes are kept.
        self._kept_kinds, self._kept = UseCounts(len(self._kinds)), UseCounts(len(path))

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
                history = self._mender.mended(self._path.extended(history, self._rng), stop)
            if self._agrees(history):
                history = self._shaken(history, stop)
                found.extend([] if history is None else [history])
        self._count(self._path.visited)
        self._path.visited = 0
        shape = (len(found), len(self._path), self._num_roles)
        rows = np.array([self._rows(history) for history in found], dtype=np.int64).reshape(shape)
        return Redrawn(rows, SpielStates(self._store, [self._end_of(each) for each in found]))

    def unfinished(self) -> States | None:
        """See `Redraws`."""
        history = self._mender.unfinished
        return None if history is None else SpielStates(self._store, [self._end_of(history)])

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

    # ---------------------------------------------------------------- changing what agrees

    def _shaken(self, history: History, stop: Callable[[], bool]) -> History | None:
        """A history that agrees after many changes, each kept by its likelihood; None if the
        history turns out to be impossible, or not to agree in some turn."""
        log_priors = self._path.log_priors(history.actions)
        numbers = list(range(len(self._kinds)))
        for number in range(CHANGES):
            if number % LOOK == LOOK - 1 and stop():
                break
            (kind,) = self._lots.choices(numbers, self._kept_kinds.shares(numbers).tolist())
            change = self._kinds[kind](history)
            if change is None:
                self._kept_kinds.add([kind], used=False)
                continue
            new = self._path.replayed(history, change.actions)
            keeps = False
            # Where other players move, there would be other ways back.
            if new is not None and new.players == history.players:
                first = change.first(history)
                then = self._path.log_priors(new.actions, first)
                gain = sum(then) - sum(log_priors[first:])
                keeps = math.log(1 - self._lots.random()) <= gain
                if keeps:
                    history, log_priors = new, log_priors[:first] + then
            self._kept_kinds.add([kind], used=keeps)
            self._kept.add(change.turns, used=keeps)
        is_possible = min(log_priors) > -math.inf
        return history if is_possible and self._agrees(self._path.begun(history.actions)) else None

    def _trade(self, history: History) -> Change | None:
        """Let two moves of chance trade places."""
        cards = dealt(history)
        if not cards:
            return None
        one, other = self._drawn(cards), self._drawn(cards)
        same = history.actions[one] == history.actions[other]
        return None if same else traded(history, one, other)

    def _rename(self, history: History) -> Change | None:
        """Exchange two moves everywhere, one of which chance made."""
        role, cards = self._path.role, dealt(history)
        if not cards:
            return None
        one, other = self._drawn(not_of(history, role)), self._drawn(cards)
        out, into = history.act(one), history.act(other)
        return None if out == into else renamed(history, role, [one, other], out, into)

    def _rename_round(self, history: History) -> Change | None:
        """Exchange three moves of chance in turn, for cases where two cannot be exchanged, as
        neither of two roles may have what the other has."""
        cards = dealt(history)
        if not cards:
            return None
        turns = [self._drawn(cards) for _ in range(3)]
        acts = [history.act(at) for at in turns]
        if len({name for _, name in acts}) < len(acts):
            return None
        return renamed(history, self._path.role, turns, *acts)

    def _replace(self, history: History) -> Change | None:
        """Let another player, or chance, make another move."""
        others = not_of(history, self._path.role)
        if not others:
            return None
        at = self._drawn(others)
        action = self._lots.choice(self._path.after(history.actions[:at]).legal_actions())
        return None if action == history.actions[at] else replaced(history, at, action)

    def _drawn(self, turns: list[int]) -> int:
        """One of some turns, preferably one whose changes are kept."""
        return self._lots.choices(turns, self._kept.shares(turns).tolist())[0]


# ------------------------------------------------------------------------
# Mends a history: makes small changes until it agrees with what a role knows.
#
# A change is kept if the role would get the same words as before for at least as long, and its next
# words are at least as similar to those it got.
#
# dealt turn by turn        the role's hand is     it was told
#     D7 H9 SA | CJ ...         D7 H9 SA               D7 CJ SA        two of three
#     D7 CJ SA | H9 ...         D7 CJ SA               D7 CJ SA        all: kept
#
# Each change also teaches something. Where the words stay the same, both turns matter for the
# role's next words, or neither does; where they change, one of the two does. The letters that come
# and go then show for both cards whether they are part of what the role was told. So the mender
# need not know what a card is, or that a hand has ten.

LOOK = 8
"""Number of changes between two looks at the clock."""

MOST_FRUITLESS = 500
"""Number of changes in a row without any progress after which a history is given up."""

FORGOTTEN = 150
"""Number of such changes in a row after which it is learnt anew what is part of what the role was
told."""

PATIENCE = 30
"""Number of such changes in a row after which three cards change places, too."""

DIRECTED = 0.8
"""Share of changes that follow what was learnt; the others are made anywhere."""

SELDOM, OFTEN, SURE = -1.0, 1.0, 2.0
"""Log odds that a turn matters for the role's next words: initially of a turn of chance, initially
of a player's turn, and when there is hardly any doubt."""

TRUST = 80.0
"""Factor by which actions that are part of what the role was told are tried more often than others,
and actions that are not, less often."""


class Mender:
    """Changes histories until they agree with an incomplete path.

    Args:
        path: the role's path.
        rng, lots: sources of all that is drawn.

    Attributes:
        unfinished: the history in work when it was stopped, None if it was not stopped.
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
        # Turns that can be changed: the role would have been told earlier of others.
        self._open = UseCounts(len(path))
        # Kinds of changes, by whether they make a difference to the role's next words.
        self._useful = UseCounts(len(self._kinds))
        # Log odds that the action of each turn matters for these words.
        self._matters = np.full(len(path), SELDOM)
        # Actions that are known not to come next.
        self._not_next: set[int] = set()
        # By name, whether an action is part of what the role was told, as far as that is known.
        self._is_part: dict[str, bool] = {}

    def mended(self, history: History, stop: Callable[[], bool]) -> History:
        """The history, changed until it agrees, is given up, or time is over."""
        self.unfinished = None
        fruitless = tried = 0
        if len(history) < len(self._path):
            self._look_ahead(history)
        while len(history) < len(self._path) and fruitless < MOST_FRUITLESS:
            if tried % LOOK == 0 and stop():
                self.unfinished = history
                break
            tried += 1
            # There are many choices of three cards: where two will do, they are found sooner.
            kinds = len(self._kinds) - (fruitless < PATIENCE)
            before, history = history, self._changed(history, kinds)
            if len(history) > len(before):
                fruitless = 0
                if len(history) < len(self._path):
                    self._look_ahead(history)
                continue
            fruitless = fruitless + 1 if history.likeness <= before.likeness else 0
            if fruitless % FORGOTTEN == FORGOTTEN - 1:
                # Lessons learnt while little was known were wrong.
                self._open = UseCounts(len(self._path))
                self._look_ahead(history)
        return history

    def _changed(self, history: History, kinds: int) -> History:
        """The history after a change of one of the first `kinds` kinds, if it is no worse."""
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
        """Let two moves of chance trade places."""
        cards = dealt(history)
        return traded(history, *self._two(history, cards, cards)) if cards else None

    def _rename(self, history: History) -> Change | None:
        """Exchange two cards, one of which was dealt, everywhere."""
        # It matters what became of a card, not whether it was dealt before.
        last = {history.names[at]: at for at in not_of(history, self._path.role)}
        cards = [last[history.names[at]] for at in dealt(history)]
        if not cards:
            return None
        one, other = self._two(history, list(last.values()), cards)
        out, into = history.act(one), history.act(other)
        return renamed(history, self._path.role, [one, other], out, into)

    def _rename_next(self, history: History) -> Change | None:
        """Exchange a card with one that may come next, which may not have been dealt yet."""
        turns, possible = not_of(history, self._path.role), history.after.legal_actions()
        if not turns or not possible:
            return None
        one, into = self._next(history, turns, possible)
        return renamed(history, self._path.role, [one], history.act(one), into)

    def _rename_round(self, history: History) -> Change | None:
        """Exchange three cards in turn: who gives one away may not be able to hold the other."""
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
        """One of some turns, and an action of `possible` that may have come next."""
        # Actions that were possible next in earlier histories did not come next.
        cards = [history.actions[at] for at in turns]
        doubts = np.array([1 / TRUST if card in self._not_next else 1.0 for card in cards])
        one = self._drawn(turns, self._wanted(history, turns) * doubts)
        action = self._lots.choice(possible)
        return one, (action, name_of(history.after, action))

    def _replace(self, history: History) -> Change | None:
        """Let another player, or chance, make another move."""
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
        """Two turns: one that matters, with an action that is not part of what the role was told,
        and one that does not matter, with an action that may be."""
        # Actions that are part of it stay.
        parts = np.array([bool(self._is_part.get(history.names[at])) for at in turns])
        one = self._drawn(turns, np.exp(self._matters[turns]) / np.where(parts, TRUST**2, 1.0))
        weights = self._wanted(history, others) * np.exp(-self._matters[others])
        return one, self._drawn(others, weights)

    def _wanted(self, history: History, turns: list[int]) -> FloatArray:
        """Weights of the actions of some turns: how much they are wanted in turns that matter."""
        signs = [self._is_part.get(history.names[at]) for at in turns]
        weights = {None: 1.0, True: TRUST, False: 1 / TRUST}
        return np.array([weights[sign] for sign in signs])

    def _drawn(self, turns: list[int], weights: FloatArray) -> int:
        """One of some turns, mostly drawn by these weights."""
        shares = self._open.shares(turns)
        if self._lots.random() < DIRECTED:
            shares = shares * weights
        return self._lots.choices(turns, shares.tolist())[0]

    # ---------------------------------------------------------------- learning

    def _look_ahead(self, history: History) -> None:
        """Forget the lessons about earlier words, and find the actions that the next words name."""
        self._useful = UseCounts(len(self._kinds))
        players = np.full(len(self._path), -1)
        players[: len(history)] = history.players
        self._matters = np.where(players < 0, SELDOM, OFTEN)
        self._not_next = set(history.after.legal_actions())
        self._is_part = {}
        if news := self._path.news(len(history)):
            cards = [history.names[at] for at in dealt(history)]
            self._is_part = {card: True for card in cards if card in news}

    def _learn(self, old: History, change: Change, new: History) -> None:
        """Learn from the effect that a change of two turns had on the role's next words."""
        turns: IntArray = np.array(change.turns)
        learnt = self._path.learnt(old, new)
        # The log odds of one turn follow from those of the other.
        way = 1 if learnt is None else -1
        told = way * self._matters[turns[::-1]].clip(-SURE, SURE)
        self._matters[turns] = (self._matters[turns] + told).clip(-2 * SURE, 2 * SURE)
        odds = self._matters[turns]
        if learnt is None or abs(odds[0] - odds[1]) < SURE:
            return  # it is not clear which of the turns matters
        one = turns[0] if odds[0] > odds[1] else turns[1]
        self._is_part[new.names[one]], self._is_part[old.names[one]] = learnt
