"""Moves of one role in many matches side by side: `Mover`, with the movers of a measured player.

A mover takes the paths and legal moves of a role, and returns its moves. A player is measured as it
plays in a match. Random moves are drawn here (`Uniform`). A player that reports its whole policy
(`tells_policy`) is asked once for each incomplete path (`PolicyTeller`). Any other player is
created for every match, with its own random numbers (`AskedPlayer`). Rule: its answers are never
reused, because reuse would make it deterministic, and responses would exploit accidents that the
player does not repeat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ggp.belief import PathTree
from ggp.machine.arrays import enlarged, first_seen, segment_ids, take_segments
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, Ragged
from ggp.search.moves import drawn_places
from ggp.solve.exploitation import Chooser, Decided, MakeChooser, TellsPaths, has_told, turns_of

_NEW, _UNREPORTED = -1, -2
"""Special list indices of a `PathPolicy`: the path is new; the player reported no policy there."""

MAX_KNOWN = 1 << 18
"""About the most paths that a `PathPolicy` remembers, which bounds memory. Beyond it all are
dropped, and the player is asked again; since it reports whole policies, it answers the same."""


class Mover(Protocol):
    """Moves of one role in matches side by side, numbered from 0.

    Attributes:
        needs_paths: whether its moves depend on the role's incomplete paths.
    """

    needs_paths: bool

    def begin(self, matches: IntArray) -> None:
        """Begin new matches with these numbers; earlier matches with the same numbers are over."""
        ...

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        """`[L]` move ids for matches that are not over; all are legal.

        Args:
            matches: `[L]` their numbers.
            paths: `[L]` the role's path in each; not extended if `needs_paths` is false.
            legal: the role's legal moves in each.
        """
        ...

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        """Record `[L]` moves that the role executed, and its percepts."""
        ...

    def is_loose(self, matches: IntArray) -> BoolArray:
        """`[L]` whether it moves uniformly at random from now on to the end."""
        ...


class _Memoryless:
    """A mover without records of single matches."""

    def begin(self, matches: IntArray) -> None:
        """Do nothing."""

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        """Do nothing."""


class Uniform(_Memoryless):
    """Draws legal moves uniformly."""

    needs_paths = False

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        return random_choices(legal, self._rng)

    def is_loose(self, matches: IntArray) -> BoolArray:
        return np.ones(len(matches), dtype=np.bool_)


class AskedPlayer:
    """Asks a new player in each match, which observes the moves and percepts of its role.

    A random legal move replaces an illegal one, as in a match.

    Args:
        make: makes a player for a role.
    """

    needs_paths = False

    def __init__(
        self, machine: Machine, role: int, make: MakeChooser, rng: np.random.Generator
    ) -> None:
        self._machine, self._role, self._make, self._rng = machine, role, make, rng
        self._players: dict[int, Chooser] = {}

    def begin(self, matches: IntArray) -> None:
        for match in matches.tolist():
            self._players[match] = self._make(self._role, new_stream(self._rng))

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        choices = legal.values[legal.offsets[:-1]].copy()
        for lane in np.flatnonzero(legal.counts > 1).tolist():
            move = self._players[matches[lane]].choose().move
            choices[lane] = id_of(self._machine, move)
        return legalise(legal, choices, self._rng)

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        machine = self._machine
        for match, move, seen in zip(
            matches.tolist(), moves.tolist(), percepts.tolist(), strict=True
        ):
            self._players[match].observe(machine.move_text(move), machine.percept_texts(seen))

    def is_loose(self, matches: IntArray) -> BoolArray:
        return np.zeros(len(matches), dtype=np.bool_)


class PathPolicy(_Memoryless, ABC):
    """Draws moves from a policy that is asked once for each path of a role.

    Args:
        paths: the tree of paths.
        role: the role that moves.

    Attributes:
        num_known: number of paths whose policy is known.
    """

    needs_paths = True

    def __init__(
        self, machine: Machine, paths: PathTree, role: int, rng: np.random.Generator
    ) -> None:
        self._machine, self._paths, self._role, self._rng = machine, paths, role, rng
        self._reset()

    def _reset(self) -> None:
        """Drop the policy at all paths."""
        self._list_of = np.full(64, _NEW, dtype=np.int64)
        self.num_known = 0
        self._notes: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._lists = Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._ends = np.zeros(0)

    @abstractmethod
    def _ask(self, paths: IntArray, legal: Ragged) -> None:
        """Ask for the policy at distinct new paths, and `_note` it where it is reported."""

    def _unknown(self, path: int) -> int:
        """A move at a path without a reported policy, `UNKNOWN` for any."""
        return UNKNOWN

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        choices = legal.values[legal.offsets[:-1]].copy()
        lanes = np.flatnonzero(legal.counts > 1)
        if not len(lanes):
            return choices
        self._learn(paths[lanes], lanes, legal)
        lists = self._list_of[paths[lanes]]
        has_policy = lists >= 0
        points = self._rng.random(int(has_policy.sum()))
        slots = drawn_places(self._lists, self._ends, lists[has_policy], points)
        slots = slots + self._lists.offsets[lists[has_policy]]
        choices[lanes[has_policy]] = self._lists.values[slots]
        for lane in lanes[~has_policy].tolist():
            choices[lane] = self._unknown(int(paths[lane]))
        return legalise(legal, choices, self._rng)

    def is_loose(self, matches: IntArray) -> BoolArray:
        return np.zeros(len(matches), dtype=np.bool_)

    def _note(self, path: int, moves: Sequence[int], shares: Sequence[float]) -> None:
        """Note the policy at a path; shares are above 0."""
        offsets = np.array([0, len(moves)])
        self._note_all(np.array([path]), Ragged(offsets, np.array(moves)), np.array(shares))

    def _note_all(self, paths: IntArray, moves: Ragged, shares: FloatArray) -> None:
        """Note the policy at `[N]` paths: N lists of K moves, and `[K]` shares."""
        self._list_of[paths] = self.num_known + np.arange(len(paths))
        self.num_known += len(paths)
        self._notes.append((moves.counts, moves.values, shares))

    def _learn(self, paths: IntArray, lanes: IntArray, legal: Ragged) -> None:
        """Ask for the policy at the new paths among some lanes."""
        if self.num_known > MAX_KNOWN:
            self._reset()
        self._list_of = enlarged(self._list_of, len(self._paths), _NEW)
        first, _ = first_seen(paths)
        first = first[self._list_of[paths[first]] == _NEW]
        if not len(first):
            return
        self._list_of[paths[first]] = _UNREPORTED
        offsets, at = take_segments(legal.offsets, lanes[first])
        self._ask(paths[first], Ragged(offsets, legal.values[at]))
        self._flush_notes()

    def _flush_notes(self) -> None:
        """Append the noted policies to the lists from which moves are drawn."""
        if not self._notes:
            return
        counts, moves, shares = map(np.concatenate, zip(*self._notes, strict=True))
        self._notes.clear()
        offsets, values = self._lists
        offsets = np.concatenate([offsets, offsets[-1] + np.cumsum(counts)])
        last_end = self._ends[-1] if len(self._ends) else 0.0
        self._lists = Ragged(offsets, np.concatenate([values, moves]))
        self._ends = np.concatenate([self._ends, last_end + np.cumsum(shares)])


class PolicyTeller(PathPolicy):
    """Asks a player that reports its policy once for each path, for many paths together if it can.

    Where the player cannot report it, for example because its belief is sampled, a new player is
    asked every time.

    Args:
        make: makes a player for a role.
    """

    def __init__(
        self,
        machine: Machine,
        paths: PathTree,
        role: int,
        make: MakeChooser,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(machine, paths, role, rng)
        self._make = make
        self._teller: TellsPaths | None = None

    def _ask(self, paths: IntArray, legal: Ragged) -> None:
        if self._teller is not None:
            shares = self._teller.shares_at(self._paths, paths, legal)
            if shares is not None:
                self._note_all(paths, legal, shares)
                return
        for path in paths.tolist():
            chooser, decision = self._choose(path)
            policy = decision.probabilities if has_told(chooser, decision) else None
            ids = {id_of(self._machine, text): share for text, share in (policy or {}).items()}
            support = {move: share for move, share in ids.items() if share > 0}
            if support:
                self._note(path, list(support), list(support.values()))
            if isinstance(chooser, TellsPaths):
                self._teller = chooser

    def _unknown(self, path: int) -> int:
        return id_of(self._machine, self._choose(path)[1].move)

    def _choose(self, path: int) -> tuple[Chooser, Decided]:
        chooser = self._make(self._role, new_stream(self._rng))
        for move, seen in turns_of(self._machine, self._paths, path):
            chooser.observe(move, seen)
        return chooser, chooser.choose()


def random_choices(legal: Ragged, rng: np.random.Generator) -> IntArray:
    """`[L]` a random legal move of each lane; every lane must have one."""
    slots = (rng.random(len(legal.counts)) * legal.counts).astype(np.int64)
    return np.asarray(legal.values[legal.offsets[:-1] + slots])


def legalise(legal: Ragged, moves: IntArray, rng: np.random.Generator) -> IntArray:
    """`[L]` the moves, with random legal moves in place of illegal ones."""
    owner = segment_ids(legal.offsets)
    is_legal = np.zeros(len(moves), dtype=np.bool_)
    is_legal[owner[legal.values == moves[owner]]] = True
    return moves if is_legal.all() else np.where(is_legal, moves, random_choices(legal, rng))


def id_of(machine: Machine, move: str) -> int:
    """The id of a move that a player names, `UNKNOWN` if there is no such move."""
    move_id = machine.move_id(move)
    return UNKNOWN if move_id is None else move_id


def new_stream(rng: np.random.Generator) -> np.random.Generator:
    """A new stream of random numbers, seeded by another stream."""
    return np.random.default_rng(int(rng.integers(1 << 62)))
