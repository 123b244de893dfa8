"""Draws boards from what a role knows and does not know, without any history.

In kriegspiel random histories cease to agree even with the last observation after some 40 tries.
The file beside a rulesheet may then say how boards are drawn. What a role knows stays: its own
pieces, and everything else that it has on a board that agrees with all it saw, or did so as far as
its own pieces are concerned. The other's pieces are drawn anew: as many as there are, which is
known since captures are announced, of the army it began with, on free squares. Whatever depends on
where they were is forgotten.

Nothing here knows the rules. So boards are drawn for a position some turns ago, and those turns are
played on them (`last_observation`): what the umpire then says, and the moves the role then has,
must be what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ggp.errors import ConfigError
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine, States, player_roles
from ggp.machine.boards import BoardRelation, BoardSquares
from ggp.machine.on_circuit import on_circuit

Attacks = Callable[[States, int], BoolArray]
"""`[L, X, Y]` squares that some piece of a role attacks in L states."""

_REDRAWS = 6
"""Times that a place is drawn from all of a board before only open ones are drawn from."""


@dataclass(frozen=True)
class DrawnPieces:
    """Describes how boards are drawn.

    Attributes:
        relation: name of the fluents of a board.
        pieces: names of pieces.
        kings: the pieces that are never taken.
        inner: the pieces that are never on the first or the last rank.
        again: a percept after which the same role moves again; None if there is none.
        forget: fluents that are forgotten, as words; `?` stands for any word, `?other` for the
            name of the role whose pieces are drawn.
        home: probability that a piece is where it began, if that square is free.
        promotions: pieces that those of `inner` may have become.
        promoted: probability that one has.
    """

    relation: BoardRelation
    pieces: frozenset[str]
    kings: frozenset[str]
    inner: frozenset[str] = frozenset()
    again: str | None = None
    forget: tuple[tuple[str, ...], ...] = ()
    home: float = 0.0
    promotions: tuple[str, ...] = ()
    promoted: float = 0.0


class _Army(NamedTuple):
    """The pieces with which a role begins, kings first.

    Attributes:
        kinds: `[P]` numbers of kinds.
        homes: `[P]` numbers of squares.
        num_kings: kings among them.
    """

    kinds: IntArray
    homes: IntArray
    num_kings: int


class BoardMaker:
    """Draws boards of a game of two roles.

    Squares are numbered along the ranks. Shapes: N boards, S squares, K kinds of pieces.

    Args:
        attacked: gives the squares a role attacks. Then no board is drawn on which the role to move
            could take a king: nobody would have left it there.

    Raises:
        ConfigError: the game has no such fluents, or the machine cannot make states of them.
    """

    def __init__(
        self, machine: Machine, terms: DrawnPieces, attacked: Attacks | None = None
    ) -> None:
        self._attacked = attacked
        self._squares = BoardSquares(machine, terms.relation, terms.pieces)
        players = player_roles(machine)
        if not on_circuit(machine) or len(players) != 2:
            raise ConfigError("boards are drawn in games of two roles, with --backend propnet")
        self._machine, self._setter, self._terms = machine, machine, terms
        self._other = {players[0]: players[1], players[1]: players[0]}
        self._kinds = sorted(terms.pieces)
        self._again: dict[int, bool] = {UNKNOWN: False}

    def goes_on(self, percepts: int) -> bool:
        """Whether a set of percepts says that the same role moves again."""
        if percepts not in self._again:
            self._again[percepts] = self._terms.again in self._machine.percept_texts(percepts)
        return self._again[percepts]

    def draw(self, known: States, role: int, count: int, rng: np.random.Generator) -> States:
        """Boards with what a role knows, and newly drawn pieces of the other role.

        Args:
            known: boards with what the role knows; one of them is taken for each board drawn.
            count: boards to draw; impossible ones are left out.
        """
        other = self._other[role]
        table = self._fluents_of[other]
        chosen = rng.integers(len(known), size=count)
        bits = self._squares.bits.fluent_bits(known)[chosen]
        number = bits[:, table[table >= 0]].sum(axis=1)
        bits[:, self._forgotten[other]] = False
        free = np.ones((count, table.shape[1]), dtype=np.bool_)
        own = self._fluents_of[role]
        for kind in range(len(own)):
            there = np.flatnonzero(own[kind] >= 0)
            free[:, there] &= ~bits[:, own[kind, there]]
        lanes = np.arange(count)
        complete = np.ones(count, dtype=np.bool_)
        army = self._armies[other]
        for piece, present in enumerate(self._survivors(army, number, rng).T):
            kinds = self._promoted(army.kinds[piece], count, rng)
            open_ = free & self._allowed[other][kinds]
            place = _some_places(open_, rng)
            home = int(army.homes[piece])
            at_home = rng.random(count) < self._terms.home
            place = np.where(at_home & open_[:, home], home, place)
            complete &= ~present | open_[lanes, place]
            on = np.flatnonzero(present & complete)
            bits[on, table[kinds[on], place[on]]] = True
            free[on, place[on]] = False
        states = self._setter.from_fluent_bits(bits[complete])
        states = states.take(np.flatnonzero(~self._machine.terminal(states)))
        return states.take(np.flatnonzero(~self._hanging(states)))

    def possible(self, states: States) -> BoolArray:
        """`[L]` whether no king was taken on each board."""
        bits = self._squares.bits.fluent_bits(states)
        found = np.ones(len(states), dtype=np.bool_)
        for role, army in self._armies.items():
            kings = [k for k, name in enumerate(self._kinds) if name in self._terms.kings]
            table = self._fluents_of[role][kings]
            found &= bits[:, table[table >= 0]].sum(axis=1) == army.num_kings
        return found

    def _hanging(self, states: States) -> BoolArray:
        """`[L]` whether the king of a role that is not to move is attacked on each board."""
        found = np.zeros(len(states), dtype=np.bool_)
        if self._attacked is None or not len(states):
            return found
        bits = self._squares.bits.fluent_bits(states)
        for role, other in self._other.items():
            # The role that is not to move has no choice.
            on_turn = self._machine.legal(states, role, allow_stuck=True).counts > 1
            hit = self._attacked(states, role).transpose(0, 2, 1).reshape(len(states), -1)
            for kind, name in enumerate(self._kinds):
                if name in self._terms.kings:
                    table = self._fluents_of[other][kind]
                    there = np.flatnonzero(table >= 0)
                    taken = bits[:, table[there]] & hit[:, there]
                    found |= on_turn & taken.any(axis=1)
        return found

    def _survivors(self, army: _Army, number: IntArray, rng: np.random.Generator) -> BoolArray:
        """`[N, P]` which pieces of an army are still there, given their number."""
        order = rng.random((len(number), len(army.kinds)))
        order[:, : army.num_kings] = -1.0
        rank = np.argsort(np.argsort(order, axis=1), axis=1)
        return np.asarray(rank < number[:, None])

    def _promoted(self, kind: int, count: int, rng: np.random.Generator) -> IntArray:
        """`[N]` kind that each piece of a kind has become."""
        kinds = np.full(count, kind, dtype=np.int64)
        promotions = [self._kinds.index(name) for name in self._terms.promotions]
        if promotions and self._kinds[kind] in self._terms.inner:
            become = rng.random(count) < self._terms.promoted
            kinds[become] = rng.choice(promotions, size=int(become.sum()))
        return kinds

    @cached_property
    def _fluents_of(self) -> dict[int, IntArray]:
        """`[K, S]` the fluent of each kind of piece of a role on each square, -1 for none."""
        width, height = self._squares.size
        found = {}
        for role in self._other:
            table = np.full((len(self._kinds), width * height), -1, dtype=np.int64)
            for kind, name in enumerate(self._kinds):
                if (places := self._squares.places.get((role, name))) is not None:
                    table[kind, places.ranks * width + places.files] = places.fluents
            found[role] = table
        return found

    @cached_property
    def _allowed(self) -> dict[int, BoolArray]:
        """`[K, S]` whether a piece of a role may stand on each square."""
        width, height = self._squares.size
        found = {}
        for role, table in self._fluents_of.items():
            allowed = table >= 0
            for kind, name in enumerate(self._kinds):
                if name in self._terms.inner:
                    allowed[kind, :width] = allowed[kind, (height - 1) * width :] = False
            found[role] = allowed
        return found

    @cached_property
    def _armies(self) -> dict[int, _Army]:
        (bits,) = self._squares.bits.fluent_bits(self._machine.initial(1))
        found = {}
        for role, table in self._fluents_of.items():
            kinds, homes = np.nonzero(np.where(table >= 0, bits[table], False))
            king = np.array([self._kinds[kind] in self._terms.kings for kind in kinds], dtype=bool)
            order = np.argsort(~king, kind="stable")
            found[role] = _Army(kinds[order], homes[order], int(king.sum()))
        return found

    @cached_property
    def _forgotten(self) -> dict[int, IntArray]:
        """Fluents that are not kept when pieces of a role are drawn."""
        names = self._squares.bits.fluent_names
        return {
            role: np.array(
                [
                    *table[table >= 0],
                    *_matching(names, self._terms.forget, self._machine.roles[role]),
                ],
                dtype=np.int64,
            )
            for role, table in self._fluents_of.items()
        }


def _some_places(open_: BoolArray, rng: np.random.Generator) -> IntArray:
    """`[N]` one of the open places of each of `[N, S]` rows, all equally likely; any if none is."""
    place = rng.integers(open_.shape[1], size=len(open_))
    missed = np.flatnonzero(~open_[np.arange(len(open_)), place])
    # Most rows have many: to draw again is cheaper than to look at all of them.
    for _ in range(_REDRAWS):
        if not len(missed):
            return place
        again = rng.integers(open_.shape[1], size=len(missed))
        place[missed] = again
        missed = missed[~open_[missed, again]]
    order = rng.random((len(missed), open_.shape[1]))
    place[missed] = np.argmax(np.where(open_[missed], order, -1.0), axis=1)
    return place


def _matching(
    names: Iterable[str], patterns: Iterable[tuple[str, ...]], other: str
) -> Iterable[int]:
    """Numbers of names that match a pattern."""
    wanted = [tuple(other if word == "?other" else word for word in each) for each in patterns]
    for number, name in enumerate(names):
        words = name.strip("()").split()
        for pattern in wanted:
            if len(pattern) == len(words) and all(
                mine in ("?", word) for mine, word in zip(pattern, words, strict=True)
            ):
                yield number
                break
