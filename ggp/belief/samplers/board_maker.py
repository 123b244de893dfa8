"""Draws boards for a role without any history: its own pieces stay, the opponent's are redrawn.

In kriegspiel, random histories cease to agree even with the last observation after some 40 tries.
Then `last_observation` passes in boards on which the role's own pieces are right, and gets new
boards back. The file beside a rulesheet says how to draw them (`DrawnPieces`). All fluents of the
given board stay, except the opponent's pieces and fluents that depend on their squares. The
opponent's army at the start of the game, thinned to its present number of pieces, is placed at
random on free squares. (The number is known: captures are announced.)

This module knows no rules. So boards are drawn for a position some turns ago, and these turns are
played on them (`last_observation`): a board must reproduce the umpire's percepts and the role's
legal moves.
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
"""`[L, X, Y]` whether some piece of a role attacks each square, in L states."""

_REDRAWS = 6
"""Tries to draw an open square from the whole board, before the open squares are listed."""


@dataclass(frozen=True)
class DrawnPieces:
    """The description of how to draw boards.

    Attributes:
        relation: name of the fluents of a board.
        pieces: names of pieces.
        kings: the pieces that are never taken.
        inner: the pieces that are never on the first or the last rank.
        again: a percept after which the same role moves again; None if there is none.
        forget: fluents that are forgotten, as words; `?` stands for any word, `?other` for the
            name of the role whose pieces are drawn.
        home: probability that a piece stands on its first square, if that is free.
        promotions: pieces that `inner` pieces may be promoted to.
        promoted: probability that an `inner` piece is promoted.
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
    """The pieces of a role at the start of the game, kings first.

    Attributes:
        kinds: `[P]` index of the kind of each piece.
        homes: `[P]` index of its square.
        num_kings: number of kings.
    """

    kinds: IntArray
    homes: IntArray
    num_kings: int


class BoardMaker:
    """Draws boards of a game of two roles.

    Squares are numbered along the ranks. Shapes: N boards, S squares, K kinds of pieces, P pieces
    of an army.

    Args:
        attacked: returns the squares that a role attacks. If given, no board is drawn on which the
            role to move could take a king: nobody would have left it there.

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
        self._opponent = {players[0]: players[1], players[1]: players[0]}
        self._kinds = sorted(terms.pieces)
        self._moves_again: dict[int, bool] = {UNKNOWN: False}

    def goes_on(self, percepts: int) -> bool:
        """Whether the same role moves again after these percepts."""
        if percepts not in self._moves_again:
            self._moves_again[percepts] = self._terms.again in self._machine.percept_texts(percepts)
        return self._moves_again[percepts]

    def draw(self, boards: States, role: int, count: int, rng: np.random.Generator) -> States:
        """Boards of a role with newly drawn pieces of the opponent.

        Each board starts as a copy of one of the given boards, drawn at random. Pieces are placed
        one by one, kings first; a board on which a piece finds no open square is dropped.

        Args:
            boards: boards on which the role's own pieces are right.
            count: boards to draw; impossible ones are left out.
        """
        opponent = self._opponent[role]
        table = self._fluents_of[opponent]
        sources = rng.integers(len(boards), size=count)
        bits = self._squares.bits.fluent_bits(boards)[sources]
        number = bits[:, table[table >= 0]].sum(axis=1)
        bits[:, self._forgotten[opponent]] = False
        free = np.ones((count, table.shape[1]), dtype=np.bool_)
        own_table = self._fluents_of[role]
        for kind in range(len(own_table)):
            squares = np.flatnonzero(own_table[kind] >= 0)
            free[:, squares] &= ~bits[:, own_table[kind, squares]]
        lanes = np.arange(count)
        complete = np.ones(count, dtype=np.bool_)
        army = self._armies[opponent]
        for piece, present in enumerate(self._draw_survivors(army, number, rng).T):
            kinds = self._draw_kinds(army.kinds[piece], count, rng)
            is_open = free & self._may_stand[opponent][kinds]
            square = _draw_squares(is_open, rng)
            home = int(army.homes[piece])
            at_home = rng.random(count) < self._terms.home
            square = np.where(at_home & is_open[:, home], home, square)
            complete &= ~present | is_open[lanes, square]
            rows = np.flatnonzero(present & complete)
            bits[rows, table[kinds[rows], square[rows]]] = True
            free[rows, square[rows]] = False
        states = self._setter.from_fluent_bits(bits[complete])
        states = states.take(np.flatnonzero(~self._machine.terminal(states)))
        return states.take(np.flatnonzero(~self._leaves_king(states)))

    def possible(self, states: States) -> BoolArray:
        """`[L]` whether each board has all its kings."""
        bits = self._squares.bits.fluent_bits(states)
        has_kings = np.ones(len(states), dtype=np.bool_)
        for role, army in self._armies.items():
            kings = [k for k, name in enumerate(self._kinds) if name in self._terms.kings]
            table = self._fluents_of[role][kings]
            has_kings &= bits[:, table[table >= 0]].sum(axis=1) == army.num_kings
        return has_kings

    def _leaves_king(self, states: States) -> BoolArray:
        """`[L]` whether, on each board, a king of the role not to move is attacked."""
        is_hanging = np.zeros(len(states), dtype=np.bool_)
        if self._attacked is None or not len(states):
            return is_hanging
        bits = self._squares.bits.fluent_bits(states)
        for role, opponent in self._opponent.items():
            # Only the role to move has several legal moves.
            on_turn = self._machine.legal(states, role, allow_stuck=True).counts > 1
            hits = self._attacked(states, role).transpose(0, 2, 1).reshape(len(states), -1)
            for kind, name in enumerate(self._kinds):
                if name in self._terms.kings:
                    table = self._fluents_of[opponent][kind]
                    squares = np.flatnonzero(table >= 0)
                    attacked = bits[:, table[squares]] & hits[:, squares]
                    is_hanging |= on_turn & attacked.any(axis=1)
        return is_hanging

    def _draw_survivors(self, army: _Army, number: IntArray, rng: np.random.Generator) -> BoolArray:
        """`[N, P]` whether each piece survives: `number` at random, kings first."""
        # Kings sort first, so they always survive.
        order = rng.random((len(number), len(army.kinds)))
        order[:, : army.num_kings] = -1.0
        rank = np.argsort(np.argsort(order, axis=1), axis=1)
        return np.asarray(rank < number[:, None])

    def _draw_kinds(self, kind: int, count: int, rng: np.random.Generator) -> IntArray:
        """`[N]` the kinds of N pieces of one kind after random promotions."""
        kinds = np.full(count, kind, dtype=np.int64)
        promotions = [self._kinds.index(name) for name in self._terms.promotions]
        if promotions and self._kinds[kind] in self._terms.inner:
            become = rng.random(count) < self._terms.promoted
            kinds[become] = rng.choice(promotions, size=int(become.sum()))
        return kinds

    @cached_property
    def _fluents_of(self) -> dict[int, IntArray]:
        """By role: `[K, S]` the fluent of each kind of piece on each square, -1 for none."""
        width, height = self._squares.size
        tables = {}
        for role in self._opponent:
            table = np.full((len(self._kinds), width * height), -1, dtype=np.int64)
            for kind, name in enumerate(self._kinds):
                if (places := self._squares.places.get((role, name))) is not None:
                    table[kind, places.ranks * width + places.files] = places.fluents
            tables[role] = table
        return tables

    @cached_property
    def _may_stand(self) -> dict[int, BoolArray]:
        """By role: `[K, S]` whether each kind of piece may stand on each square."""
        width, height = self._squares.size
        masks = {}
        for role, table in self._fluents_of.items():
            mask = table >= 0
            for kind, name in enumerate(self._kinds):
                if name in self._terms.inner:
                    mask[kind, :width] = mask[kind, (height - 1) * width :] = False
            masks[role] = mask
        return masks

    @cached_property
    def _armies(self) -> dict[int, _Army]:
        (bits,) = self._squares.bits.fluent_bits(self._machine.initial(1))
        armies = {}
        for role, table in self._fluents_of.items():
            kinds, homes = np.nonzero(np.where(table >= 0, bits[table], False))
            king = np.array([self._kinds[kind] in self._terms.kings for kind in kinds], dtype=bool)
            order = np.argsort(~king, kind="stable")
            armies[role] = _Army(kinds[order], homes[order], int(king.sum()))
        return armies

    @cached_property
    def _forgotten(self) -> dict[int, IntArray]:
        """By role: the fluents to clear before its pieces are drawn."""
        names = self._squares.bits.fluent_names
        return {
            role: np.array(
                [
                    *table[table >= 0],
                    *_matching_names(names, self._terms.forget, self._machine.roles[role]),
                ],
                dtype=np.int64,
            )
            for role, table in self._fluents_of.items()
        }


def _draw_squares(open_: BoolArray, rng: np.random.Generator) -> IntArray:
    """`[N]` an open square of each of `[N, S]` rows, uniformly at random; any if none is open."""
    square = rng.integers(open_.shape[1], size=len(open_))
    blocked = np.flatnonzero(~open_[np.arange(len(open_)), square])
    # Most rows have many open squares: redrawing is cheaper than listing them.
    for _ in range(_REDRAWS):
        if not len(blocked):
            return square
        redrawn = rng.integers(open_.shape[1], size=len(blocked))
        square[blocked] = redrawn
        blocked = blocked[~open_[blocked, redrawn]]
    order = rng.random((len(blocked), open_.shape[1]))
    square[blocked] = np.argmax(np.where(open_[blocked], order, -1.0), axis=1)
    return square


def _matching_names(
    names: Iterable[str], patterns: Iterable[tuple[str, ...]], opponent: str
) -> Iterable[int]:
    """Indices of names that match a pattern."""
    variants = [tuple(opponent if word == "?other" else word for word in p) for p in patterns]
    for index, name in enumerate(names):
        words = name.strip("()").split()
        for pattern in variants:
            if len(pattern) == len(words) and all(
                expected in ("?", word) for expected, word in zip(pattern, words, strict=True)
            ):
                yield index
                break
