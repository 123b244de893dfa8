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

from ggp.machine.abilities import Redrawn
from ggp.machine.base import States
from ggp.machine.spiel.changes import Change, Tally, dealt, not_of, renamed, replaced, traded
from ggp.machine.spiel.known_path import History, KnownPath
from ggp.machine.spiel.mending import LOOK, Mender
from ggp.machine.spiel.nodes import Node, NodeStore, SpielStates
from ggp.machine.spiel.terms import NOOP

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
        self._kept_kinds, self._kept = Tally(len(self._kinds)), Tally(len(path))

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
