"""Draws histories that a role cannot distinguish from its own, in games that deal many cards.

`HistoryRedraws` takes states and a role's path (`KnownPath`), and returns histories that agree with
the path, for the particles of beliefs. Drawing turn by turn does not find them: in Skat a role sees
its ten cards when all are dealt, and one hand of 64 million is right. So whole histories are
changed, a little at a time, until one agrees with the whole path (`Mender`).

The history is then changed further by the method of W. K. Hastings (Biometrika 57, 1970): changes
are accepted by the ratio of probabilities of the histories, if the other roles move uniformly at
random. Rule: each kind of change is as likely as its reverse. So after many changes the history is
a sample of the information set, and does not depend on the first one. (W. R. Gilks and C. Berzuini
do so with the samples of beliefs, J. R. Stat. Soc. B 63, 2001.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import numpy as np

from ggp.labs.openspiel.machine.known_path import History, KnownPath, name_of
from ggp.labs.openspiel.machine.nodes import Node, NodeStore, SpielStates
from ggp.labs.openspiel.machine.terms import NOOP
from ggp.machine.abilities import Redrawn
from ggp.machine.base import FloatArray, IntArray, States

MIN_DEALT = 8
"""Least number of turns of chance in games whose histories are changed; with fewer, beliefs
enumerate the unknown turn by turn."""

CHANGES = 16
"""Number of changes tried between two draws, on a history that agrees with the whole path."""


class HistoryRedraws:
    """Draws histories that agree with one incomplete path: see `Redraws`.

    Args:
        store: the nodes of the machine.
        path: the role's path.
        num_roles: number of roles of the machine; chance is the last.
        rng: source of all random draws.
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
        # Each kind of change is as likely as its reverse.
        self._kinds = (self._trade, self._rename, self._rename_round, self._replace)
        # How often changes of each kind, and of each turn, are accepted.
        self._kind_counts, self._turn_counts = UseCounts(len(self._kinds)), UseCounts(len(path))

    def draw(self, states: States, count: int, stop: Callable[[], bool]) -> Redrawn:
        """See `Redraws`."""
        assert isinstance(states, SpielStates)
        starts = states.nodes
        draws: list[History] = []
        history = None
        for index in range(count):
            if stop():
                break
            if history is None or not self._agrees(history):
                start = self._lots.randrange(len(starts)) if index else 0
                history = self._path.agreeing(starts[start].state.history())
                history = self._mender.mended(self._path.extended(history, self._rng), stop)
            if self._agrees(history):
                history = self._mixed(history, stop)
                draws.extend([] if history is None else [history])
        self._count(self._path.visited)
        self._path.visited = 0
        shape = (len(draws), len(self._path), self._num_roles)
        rows = np.array([self._rows(history) for history in draws], dtype=np.int64).reshape(shape)
        return Redrawn(rows, SpielStates(self._store, list(map(self._end_of, draws))))

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
        return self._store.along(map(tuple, self._rows(history)), history.state)

    def _agrees(self, history: History) -> bool:
        return len(history) == len(self._path)

    # ---------------------------------------------------------------- changes of agreeing histories

    def _mixed(self, history: History, stop: Callable[[], bool]) -> History | None:
        """The history after many changes, each accepted by its probability; None if it proves to be
        impossible, or not to agree in some turn."""
        log_priors = self._path.log_priors(history.actions)
        kinds = list(range(len(self._kinds)))
        for index in range(CHANGES):
            if index % LOOK == LOOK - 1 and stop():
                break
            (kind,) = self._lots.choices(kinds, self._kind_counts.shares(kinds).tolist())
            change = self._kinds[kind](history)
            if change is None:
                self._kind_counts.add([kind], used=False)
                continue
            new = self._path.replayed(history, change.actions)
            accepts = False
            # If the players of turns changed, the reverse would not be as likely.
            if new is not None and new.players == history.players:
                first = change.first(history)
                new_priors = self._path.log_priors(new.actions, first)
                gain = sum(new_priors) - sum(log_priors[first:])
                accepts = math.log(1 - self._lots.random()) <= gain
                if accepts:
                    history, log_priors = new, log_priors[:first] + new_priors
            self._kind_counts.add([kind], used=accepts)
            self._turn_counts.add(change.turns, used=accepts)
        is_possible = min(log_priors) > -math.inf
        agrees = is_possible and self._agrees(self._path.agreeing(history.actions))
        return history if agrees else None

    def _trade(self, history: History) -> Change | None:
        """Let two moves of chance trade places."""
        cards = dealt(history)
        if not cards:
            return None
        first, second = self._draw(cards), self._draw(cards)
        is_same = history.actions[first] == history.actions[second]
        return None if is_same else traded(history, first, second)

    def _rename(self, history: History) -> Change | None:
        """Exchange two moves, at least one of them made by chance, in the whole history."""
        role, cards = self._path.role, dealt(history)
        if not cards:
            return None
        first, second = self._draw(not_of(history, role)), self._draw(cards)
        out, into = history.act(first), history.act(second)
        return None if out == into else renamed(history, role, [first, second], out, into)

    def _rename_round(self, history: History) -> Change | None:
        """Exchange three moves of chance in a cycle, for cases where no two can be exchanged."""
        cards = dealt(history)
        if not cards:
            return None
        turns = [self._draw(cards) for _ in range(3)]
        acts = [history.act(at) for at in turns]
        if len({name for _, name in acts}) < len(acts):
            return None
        return renamed(history, self._path.role, turns, *acts)

    def _replace(self, history: History) -> Change | None:
        """Let another player, or chance, make another move."""
        turns = not_of(history, self._path.role)
        if not turns:
            return None
        at = self._draw(turns)
        action = self._lots.choice(self._path.state_after(history.actions[:at]).legal_actions())
        return None if action == history.actions[at] else replaced(history, at, action)

    def _draw(self, turns: list[int]) -> int:
        """A random turn; turns whose changes are often accepted are more likely."""
        return self._lots.choices(turns, self._turn_counts.shares(turns).tolist())[0]


# ------------------------------------------------------------------------
# Mends a history: makes small changes until it agrees with a role's path.
#
# Rule: a change is accepted if the history then agrees with the path for at least as long, and the
# role's next words are at least as similar to the words of the path. So progress is never lost.
#
#     dealt turn by turn        the role's hand        words of the path
#     D7 H9 SA | CJ ...         D7 H9 SA               D7 CJ SA        two of three
#     D7 CJ SA | H9 ...         D7 CJ SA               D7 CJ SA        all: accepted
#
# Each change of two turns also teaches something. If the next words stay the same, both turns
# matter for them, or neither does; if they change, one of the two matters. The letters that come
# and go then show for both cards whether they are part of the words of the path. So the mender need
# not know the meaning of a card, or that a hand has ten.

LOOK = 8
"""Number of changes between two looks at the clock."""

MAX_FRUITLESS = 500
"""Number of consecutive changes without progress after which a history is given up."""

FORGOTTEN = 150
"""Number of such changes after which the lessons about turns and actions are dropped."""

PATIENCE = 30
"""Number of such changes after which cycles of three cards are tried, too."""

DIRECTED = 0.8
"""Share of changes that follow the lessons; the others are drawn without them."""

SELDOM, OFTEN, SURE = -1.0, 1.0, 2.0
"""Log odds that a turn matters for the role's next words: initially of a turn of chance, initially
of a player's turn, and beyond reasonable doubt."""

TRUST = 80.0
"""Factor of the weight of actions that are part of the words of the path; actions that are not have
its inverse."""


class Mender:
    """Changes histories until they agree with an incomplete path.

    Args:
        path: the role's path.
        rng, lots: sources of all random draws.

    Attributes:
        unfinished: the history at the moment of a stop; None if it was not stopped.
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
        # How often changes of each turn agree: earlier words of the path fix some turns.
        self._open = UseCounts(len(path))
        # How often each kind of change changes the role's next words.
        self._useful = UseCounts(len(self._kinds))
        # Log odds that the action of each turn matters for these words.
        self._matters = np.full(len(path), SELDOM)
        # Actions that are known not to come next.
        self._not_next: set[int] = set()
        # By name, whether an action is part of the words of the path; missing where unknown.
        self._is_part: dict[str, bool] = {}

    def mended(self, history: History, stop: Callable[[], bool]) -> History:
        """The history, changed until it agrees, is given up, or `stop` returns true."""
        self.unfinished = None
        fruitless = num_changes = 0
        if len(history) < len(self._path):
            self._look_ahead(history)
        while len(history) < len(self._path) and fruitless < MAX_FRUITLESS:
            if num_changes % LOOK == 0 and stop():
                self.unfinished = history
                break
            num_changes += 1
            # Cycles of three cards come last: there are many, and exchanges of two often suffice.
            kinds = len(self._kinds) - (fruitless < PATIENCE)
            old, history = history, self._changed(history, kinds)
            if len(history) > len(old):
                fruitless = 0
                if len(history) < len(self._path):
                    self._look_ahead(history)
                continue
            fruitless = fruitless + 1 if history.likeness <= old.likeness else 0
            if fruitless % FORGOTTEN == FORGOTTEN - 1:
                # Early lessons, from little evidence, were wrong.
                self._open = UseCounts(len(self._path))
                self._look_ahead(history)
        return history

    def _changed(self, history: History, kinds: int) -> History:
        """The history after a change of one of the first `kinds` kinds, if it is no worse."""
        if not history.actions:
            return history
        indices = list(range(kinds))
        (kind,) = self._lots.choices(indices, self._useful.shares(indices).tolist())
        change = self._kinds[kind](history)
        new = None if change is None else self._path.replayed(history, change.actions)
        if change is not None:
            self._open.add(change.turns, used=new is not None)
        if new is None or change is None:
            self._useful.add([kind], used=False)
            return history
        new = self._path.extended(new, self._rng)
        self._useful.add([kind], used=new.next_words != history.next_words)
        if len(new) == len(history):
            self._not_next.update(new.state.legal_actions())
            if len(change.turns) == 2:
                self._learn(history, change, new)
        return new if new.is_no_worse(history) else history

    # ---------------------------------------------------------------- changes

    def _trade(self, history: History) -> Change | None:
        """Let two moves of chance trade places."""
        cards = dealt(history)
        return traded(history, *self._two(history, cards, cards)) if cards else None

    def _rename(self, history: History) -> Change | None:
        """Exchange two cards, at least one of them dealt, in the whole history."""
        # The last turn of a card matters, for example when a player put it away.
        last = {history.names[at]: at for at in not_of(history, self._path.role)}
        cards = [last[history.names[at]] for at in dealt(history)]
        if not cards:
            return None
        first, second = self._two(history, list(last.values()), cards)
        out, into = history.act(first), history.act(second)
        return renamed(history, self._path.role, [first, second], out, into)

    def _rename_next(self, history: History) -> Change | None:
        """Exchange a card with a card that may come next, even if that is not dealt yet."""
        turns, possible = not_of(history, self._path.role), history.state.legal_actions()
        if not turns or not possible:
            return None
        at, into = self._next(history, turns, possible)
        return renamed(history, self._path.role, [at], history.act(at), into)

    def _rename_round(self, history: History) -> Change | None:
        """Exchange three cards in a cycle, for cases where no two can be exchanged."""
        turns, possible = not_of(history, self._path.role), history.state.legal_actions()
        if not turns or not possible:
            return None
        at, into = self._next(history, turns, possible)
        acts = history.act(at), history.act(self._draw(turns, np.ones(len(turns)))), into
        if len({name for _, name in acts}) < len(acts):
            return None
        return renamed(history, self._path.role, [at], *acts)

    def _next(
        self, history: History, turns: list[int], possible: list[int]
    ) -> tuple[int, tuple[int, str]]:
        """A random turn, and a random action of `possible`, which may come next."""
        # Actions that earlier histories tried next did not agree.
        cards = [history.actions[at] for at in turns]
        doubts = np.array([1 / TRUST if card in self._not_next else 1.0 for card in cards])
        turn = self._draw(turns, self._weights(history, turns) * doubts)
        action = self._lots.choice(possible)
        return turn, (action, name_of(history.state, action))

    def _replace(self, history: History) -> Change | None:
        """Let another player, or chance, make another move."""
        turns = not_of(history, self._path.role)
        if not turns:
            return None
        at = self._draw(turns, np.exp(self._matters[turns]))
        state = self._path.state_after(history.actions[:at])
        possible = state.legal_actions()
        parts = [self._is_part.get(name_of(state, action)) for action in possible]
        weights = [TRUST if is_part else 1.0 for is_part in parts]
        return replaced(history, at, self._lots.choices(possible, weights)[0])

    def _two(self, history: History, turns: list[int], sources: list[int]) -> tuple[int, int]:
        """Two random turns: one of `turns` that matters, with an action that is not part of the
        words of the path, and one of `sources` that does not matter, with an action that may be."""
        # Actions that are part of the words stay.
        parts = np.array([bool(self._is_part.get(history.names[at])) for at in turns])
        turn = self._draw(turns, np.exp(self._matters[turns]) / np.where(parts, TRUST**2, 1.0))
        weights = self._weights(history, sources) * np.exp(-self._matters[sources])
        return turn, self._draw(sources, weights)

    def _weights(self, history: History, turns: list[int]) -> FloatArray:
        """Weights of turns whose actions should move to turns that matter."""
        parts = [self._is_part.get(history.names[at]) for at in turns]
        weight_of = {None: 1.0, True: TRUST, False: 1 / TRUST}
        return np.array([weight_of[is_part] for is_part in parts])

    def _draw(self, turns: list[int], weights: FloatArray) -> int:
        """A random turn, mostly drawn by these weights."""
        shares = self._open.shares(turns)
        if self._lots.random() < DIRECTED:
            shares = shares * weights
        return self._lots.choices(turns, shares.tolist())[0]

    # ---------------------------------------------------------------- learning

    def _look_ahead(self, history: History) -> None:
        """Drop the lessons about earlier words, and find the actions that the next words name."""
        self._useful = UseCounts(len(self._kinds))
        players = np.full(len(self._path), -1)
        players[: len(history)] = history.players
        self._matters = np.where(players < 0, SELDOM, OFTEN)
        self._not_next = set(history.state.legal_actions())
        self._is_part = {}
        if news := self._path.news(len(history)):
            cards = [history.names[at] for at in dealt(history)]
            self._is_part = {card: True for card in cards if card in news}

    def _learn(self, old: History, change: Change, new: History) -> None:
        """Learn from the effect of a change of two turns on the role's next words."""
        turns: IntArray = np.array(change.turns)
        lesson = self._path.compare_next(old, new)
        # Equal words: both turns matter, or none. Other words: exactly one does. So the log odds of
        # each turn are evidence for the other, with this sign.
        sign = 1 if lesson is None else -1
        evidence = sign * self._matters[turns[::-1]].clip(-SURE, SURE)
        self._matters[turns] = (self._matters[turns] + evidence).clip(-2 * SURE, 2 * SURE)
        odds = self._matters[turns]
        if lesson is None or abs(odds[0] - odds[1]) < SURE:
            return  # it is not clear which of the turns matters
        turn = turns[0] if odds[0] > odds[1] else turns[1]
        self._is_part[new.names[turn]], self._is_part[old.names[turn]] = lesson


# ------------------------------------------------------------------------
# Small changes of histories: two cards trade places, or a player does something else.

RARE = 0.02
"""Rate at which choices that were never of use are tried, relative to choices that always were."""


class Change(NamedTuple):
    """A changed history.

    Attributes:
        turns: the turns that the change is meant for.
        actions: the actions of all turns.
    """

    turns: list[int]
    actions: list[int]

    def first(self, history: History) -> int:
        """The first turn in which the action differs from that of the history; the number of turns
        if there is none."""
        pairs = zip(history.actions, self.actions, strict=True)
        return next((at for at, (old, new) in enumerate(pairs) if old != new), len(history))


class UseCounts:
    """Counts how often each choice was of use; the rates are weights for drawing.

    Args:
        size: number of choices.
    """

    def __init__(self, size: int) -> None:
        self._uses, self._trials = np.ones(size), np.ones(size)

    def add(self, choices: list[int], *, used: bool) -> None:
        self._trials[choices] += 1
        self._uses[choices] += used

    def shares(self, choices: list[int]) -> FloatArray:
        """Weights of some choices, which rise with the rate of use."""
        # Of a pair of choices one is of use, but both are counted: squares separate them.
        rates: FloatArray = np.maximum(self._uses[choices] / self._trials[choices], RARE) ** 2
        return rates


def dealt(history: History) -> list[int]:
    """The turns of chance."""
    return [at for at, player in enumerate(history.players) if player < 0]


def not_of(history: History, role: int) -> list[int]:
    """The turns of chance, and of all players except one role."""
    return [at for at, player in enumerate(history.players) if player != role]


def traded(history: History, first: int, second: int) -> Change:
    """Trade the actions of two turns."""
    actions = list(history.actions)
    actions[first], actions[second] = actions[second], actions[first]
    return Change([first, second], actions)


def renamed(history: History, role: int, turns: list[int], *acts: tuple[int, str]) -> Change:
    """Rename actions in a cycle, each to the next and the last to the first, in a whole history.

    Actions of chance and of all players except the role are renamed: for example, a player who put
    away one card then puts away the other.

    Args:
        turns: see `Change`.
        acts: number and name of each action; all different.
    """
    follow = zip(acts, acts[1:] + acts[:1], strict=True)
    names = {name: number for (_, name), (number, _) in follow}
    record = zip(history.players, history.actions, history.names, strict=True)
    actions = [
        action if player == role else names.get(name, action) for player, action, name in record
    ]
    return Change(turns, actions)


def replaced(history: History, at: int, action: int) -> Change:
    """Replace the action of a turn."""
    actions = list(history.actions)
    actions[at] = action
    return Change([at], actions)
