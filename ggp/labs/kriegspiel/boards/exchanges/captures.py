"""The captures that are possible on boards, each on squares that count.

Which moves may take a piece is known from what pieces attack, and few of them are. So kernels
(`listing_kernels`) test these alone. Where a file does not say where moves come from, or a machine
makes no turns in blocks, the legal moves are listed here. Both find the same.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.labs.kriegspiel.boards.board_kernels import EMPTY
from ggp.labs.kriegspiel.boards.board_terms import MovePattern
from ggp.labs.kriegspiel.boards.board_values import Boards, BoardValues, MovesByPlace
from ggp.machine.base import BoolArray, IntArray, Machine, States, player_roles
from ggp.machine.propnet.play.turns import CircuitTurns
from ggp.search.refusals import moves_after

NOWHERE = EMPTY
"""No square."""

_UNSEEN = -2


class Captures(NamedTuple):
    """Possible captures: one move on each of K boards.

    Attributes:
        lanes: `[K]` the boards.
        movers: `[K]` the role that moves.
        squares: `[K]` number of the square of the capture.
        joint: `[K, R]` the joint moves.
    """

    lanes: IntArray
    movers: IntArray
    squares: IntArray
    joint: IntArray

    def take(self, chosen: IntArray | BoolArray) -> Captures:
        """Some of them."""
        return Captures(*(each[chosen] for each in self))


class CaptureBoards(NamedTuple):
    """L boards on which captures are looked for.

    Attributes:
        states, boards: the states, and the same as boards.
        squares: `[L]` the only square that counts; `NOWHERE`: any.
        wanted: by role, `[L]` whether its captures count.
    """

    states: States
    boards: Boards
    squares: IntArray
    wanted: dict[int, BoolArray]


class CaptureFinder:
    """Finds captures by the moves that a file declares to be noisy.

    Args:
        values: of boards; their terms say which moves these are.
    """

    def __init__(self, machine: Machine, values: BoardValues) -> None:
        self._machine, self._values = machine, values
        self._players = player_roles(machine)
        self._places = np.full((0, 2), _UNSEEN, dtype=np.int32)

    @cached_property
    def by_place(self) -> dict[int, MovesByPlace] | None:
        """The noisy moves of each role by their squares; None if these are not all declared, or
        the machine cannot test moves."""
        machine = self._machine
        if not (isinstance(machine, CircuitTurns) and self._values.has_masks):
            return None
        squares, found = math.prod(self._values.squares.size), {}
        for role in self._players:
            moves = np.sort(machine.circuit_moves(role))
            places = self._places_of(moves)[moves]
            noisy = places[:, 0] != NOWHERE
            moves, (target, origin) = moves[noisy], places[noisy].T
            if (origin == NOWHERE).any():
                return None
            at = origin * squares + target
            order = np.argsort(at, kind="stable")
            ends = np.cumsum(np.bincount(at, minlength=squares * squares))
            first = np.concatenate([[0], ends]).astype(np.int32)
            found[role] = MovesByPlace(first, moves[order].astype(np.int32))
        return found

    def choices(self, states: States) -> IntArray:
        """`[L, R]` number of moves of each role; 2 may stand for more."""
        machine = self._machine
        told = machine.choices(states) if isinstance(machine, CircuitTurns) else None
        return moves_after(machine, states).counts if told is None else told

    def listed(self, position: CaptureBoards) -> dict[int, Captures]:
        """Captures of each role, by its legal moves, on boards where it is clear that it is to
        move: the role that is not has no choice."""
        counts, lists = moves_after(self._machine, position.states)
        found = {}
        for role in self._players:
            alone = (np.delete(counts, role, axis=1) == 1).all(axis=1) & position.wanted[role]
            legal = lists[role]
            places = self._places_of(legal.values)
            taking = self._values.captures(
                position.boards, role, legal, alone, places, position.squares
            )
            owner, moves, squares = (np.ascontiguousarray(column) for column in taking.T)
            joint = np.empty((len(owner), len(lists)), dtype=np.int64)
            for other, choices in enumerate(lists):
                joint[:, other] = moves if other == role else choices.values[choices.offsets[owner]]
            found[role] = Captures(owner, np.full(len(owner), role), squares, joint)
        return found

    # ---------------------------------------------------------------- private

    def _places_of(self, moves: IntArray) -> NDArray[np.int32]:
        """`[M, 2]` the squares that each move of the game goes to and comes from, `NOWHERE` for
        none; those of the given ones are known."""
        if len(moves) and moves.max() >= len(self._places):
            more = 2 * int(moves.max()) + 1 - len(self._places)
            new = np.full((more, 2), _UNSEEN, dtype=np.int32)
            self._places = np.concatenate([self._places, new])
        unseen = self._places[moves, 0] == _UNSEEN
        for move in np.unique(moves[unseen]).tolist() if unseen.any() else ():
            words = self._machine.move_text(move).strip("()").split()
            self._places[move] = self._places_in(words)
        return self._places

    def _places_in(self, words: list[str]) -> tuple[int, int]:
        for pattern in self._values.terms.noisy:
            if _fits(pattern, words):
                target = self._square(words[pattern.file], words[pattern.rank])
                if target != NOWHERE:
                    origin = pattern.origin
                    return target, (
                        NOWHERE if origin is None else self._square(*(words[k] for k in origin))
                    )
        return NOWHERE, NOWHERE

    def _square(self, file: str, rank: str) -> int:
        """The number of a square, `NOWHERE` if it is not on the board."""
        squares = self._values.squares
        if file not in squares.files or rank not in squares.ranks:
            return NOWHERE
        return squares.files.index(file) * squares.size[1] + squares.ranks.index(rank)


def _fits(pattern: MovePattern, words: list[str]) -> bool:
    return len(words) == pattern.size and words[0] == pattern.name
