"""Who moves for a role in many matches at once: `Mover`, and the player that is measured.

A player is measured as it is in a match. One that moves at random needs no asking. One that tells
its whole policy (`tells_policy`) is asked once at each incomplete path. Any other is made anew for
every match, with random choices of its own: an answer that is kept would make it deterministic, and
a response to it would exploit what the player would never do again.
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

_NEW, _UNTOLD = -1, -2
"""In place of a number of a `PathPolicy`: a path is new; nothing was noted of it."""

MOST_KNOWN = 1 << 18
"""Most paths, about, at which a `PathPolicy` is known: this bounds memory. Then all are forgotten,
and asked about anew; what is asked is a whole policy, so it says the same again."""


class Mover(Protocol):
    """Moves of one role in matches side by side, numbered from 0.

    Attributes:
        needs_paths: whether it goes by the role's incomplete paths.
    """

    needs_paths: bool

    def begin(self, matches: IntArray) -> None:
        """Begin new matches with these numbers; earlier ones that had them are over."""
        ...

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        """`[L]` move ids for matches that are not over; all are legal.

        Args:
            matches: `[L]` their numbers.
            paths: `[L]` what the role knows in each; not extended if it needs no paths.
            legal: its legal moves in each.
        """
        ...

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        """Take note of `[L]` moves that were executed for the role, and of its percepts."""
        ...

    def is_loose(self, matches: IntArray) -> BoolArray:
        """`[L]` whether it moves uniformly at random to the end from now on."""
        ...


class _Memoryless:
    """Keeps nothing of single matches."""

    def begin(self, matches: IntArray) -> None:
        """Nothing is kept."""

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        """Nothing is kept."""


class Uniform(_Memoryless):
    """Every legal move is equally likely."""

    needs_paths = False

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        return drawn(legal, self._rng)

    def is_loose(self, matches: IntArray) -> BoolArray:
        return np.ones(len(matches), dtype=np.bool_)


class AskedPlayer:
    """A new player for each match, that is told what its role does and sees.

    A move that is not legal counts as a random legal one, as in a match.

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
        found = legal.values[legal.offsets[:-1]].copy()
        for lane in np.flatnonzero(legal.counts > 1).tolist():
            said = self._players[matches[lane]].choose().move
            found[lane] = id_of(self._machine, said)
        return legalised(legal, found, self._rng)

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        machine = self._machine
        for match, move, seen in zip(
            matches.tolist(), moves.tolist(), percepts.tolist(), strict=True
        ):
            self._players[match].observe(machine.move_text(move), machine.percept_texts(seen))

    def is_loose(self, matches: IntArray) -> BoolArray:
        return np.zeros(len(matches), dtype=np.bool_)


class PathPolicy(_Memoryless, ABC):
    """Moves drawn from a policy that is asked once at each path of a role.

    Args:
        paths: names the paths.
        role: whose moves these are.

    Attributes:
        num_known: number of paths whose policy is known.
    """

    needs_paths = True

    def __init__(
        self, machine: Machine, paths: PathTree, role: int, rng: np.random.Generator
    ) -> None:
        self._machine, self._paths, self._role, self._rng = machine, paths, role, rng
        self._forget()

    def _forget(self) -> None:
        """Know the policy nowhere."""
        self._number = np.full(64, _NEW, dtype=np.int64)
        self.num_known = 0
        self._new: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._lists = Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._ends = np.zeros(0)

    @abstractmethod
    def _ask(self, paths: IntArray, legal: Ragged) -> None:
        """Ask for the policy at distinct new paths, and `_note` what it says, if anything."""

    def _unknown(self, path: int) -> int:
        """A move at a path at which nothing was noted, `UNKNOWN` for any."""
        return UNKNOWN

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        found = legal.values[legal.offsets[:-1]].copy()
        several = np.flatnonzero(legal.counts > 1)
        if not len(several):
            return found
        self._learn(paths[several], several, legal)
        numbers = self._number[paths[several]]
        known = numbers >= 0
        points = self._rng.random(int(known.sum()))
        places = drawn_places(self._lists, self._ends, numbers[known], points)
        found[several[known]] = self._lists.values[self._lists.offsets[numbers[known]] + places]
        for lane in several[~known].tolist():
            found[lane] = self._unknown(int(paths[lane]))
        return legalised(legal, found, self._rng)

    def is_loose(self, matches: IntArray) -> BoolArray:
        return np.zeros(len(matches), dtype=np.bool_)

    def _note(self, path: int, moves: Sequence[int], shares: Sequence[float]) -> None:
        """Note the policy at a path; shares are above 0."""
        offsets = np.array([0, len(moves)])
        self._note_all(np.array([path]), Ragged(offsets, np.array(moves)), np.array(shares))

    def _note_all(self, paths: IntArray, moves: Ragged, shares: FloatArray) -> None:
        """Note the policy at `[N]` paths: N lists of K moves, and `[K]` shares."""
        self._number[paths] = self.num_known + np.arange(len(paths))
        self.num_known += len(paths)
        self._new.append((moves.counts, moves.values, shares))

    def _learn(self, paths: IntArray, lanes: IntArray, legal: Ragged) -> None:
        """Ask about the paths in some lanes that are new."""
        if self.num_known > MOST_KNOWN:
            self._forget()
        self._number = enlarged(self._number, len(self._paths), _NEW)
        first, _ = first_seen(paths)
        first = first[self._number[paths[first]] == _NEW]
        if not len(first):
            return
        self._number[paths[first]] = _UNTOLD
        offsets, at = take_segments(legal.offsets, lanes[first])
        self._ask(paths[first], Ragged(offsets, legal.values[at]))
        self._take_down()

    def _take_down(self) -> None:
        """Add what was noted to the lists that moves are drawn from."""
        if not self._new:
            return
        counts, moves, shares = map(np.concatenate, zip(*self._new, strict=True))
        self._new.clear()
        offsets, values = self._lists
        offsets = np.concatenate([offsets, offsets[-1] + np.cumsum(counts)])
        before = self._ends[-1] if len(self._ends) else 0.0
        self._lists = Ragged(offsets, np.concatenate([values, moves]))
        self._ends = np.concatenate([self._ends, before + np.cumsum(shares)])


class PolicyTeller(PathPolicy):
    """A player that tells its policy, asked once at each path, of many together if it can.

    Where it cannot tell it, as where its belief is sampled, a new player is asked every time.

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
            said = self._teller.shares_at(self._paths, paths, legal)
            if said is not None:
                self._note_all(paths, legal, said)
                return
        for path in paths.tolist():
            chooser, decision = self._choose(path)
            told = decision.probabilities if has_told(chooser, decision) else None
            shares = {id_of(self._machine, text): share for text, share in (told or {}).items()}
            some = {move: share for move, share in shares.items() if share > 0}
            if some:
                self._note(path, list(some), list(some.values()))
            if isinstance(chooser, TellsPaths):
                self._teller = chooser

    def _unknown(self, path: int) -> int:
        return id_of(self._machine, self._choose(path)[1].move)

    def _choose(self, path: int) -> tuple[Chooser, Decided]:
        chooser = self._make(self._role, new_stream(self._rng))
        for move, seen in turns_of(self._machine, self._paths, path):
            chooser.observe(move, seen)
        return chooser, chooser.choose()


def drawn(legal: Ragged, rng: np.random.Generator) -> IntArray:
    """`[L]` a random legal move of each lane; none may be without one."""
    places = (rng.random(len(legal.counts)) * legal.counts).astype(np.int64)
    return np.asarray(legal.values[legal.offsets[:-1] + places])


def legalised(legal: Ragged, moves: IntArray, rng: np.random.Generator) -> IntArray:
    """`[L]` the moves that are made: in place of those that are not legal, random legal ones."""
    owner = segment_ids(legal.offsets)
    fine = np.zeros(len(moves), dtype=np.bool_)
    fine[owner[legal.values == moves[owner]]] = True
    return moves if fine.all() else np.where(fine, moves, drawn(legal, rng))


def id_of(machine: Machine, move: str) -> int:
    """The id of a move that a player names, `UNKNOWN` if there is no such move."""
    found = machine.move_id(move)
    return UNKNOWN if found is None else found


def new_stream(rng: np.random.Generator) -> np.random.Generator:
    """A stream of random numbers of its own, seeded by another one."""
    return np.random.default_rng(int(rng.integers(1 << 62)))
