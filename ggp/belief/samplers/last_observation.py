"""LOS: boards that agree with the last observation only (papers 001 and 002).

What it finds need not be possible at all. A player does not forget what it knows of its own pieces,
though: its moves are made again, and the moves that are legal for it must be the same. A few
particles that agree with everything tell which these are.

Where games are long, no random history agrees even with the last observation. Then a game may come
with a `BoardMaker`. It draws boards for the turn before the last observation, and that turn is
played on them, so that what the rules say of it is right. An observation may take several turns:
that of a role whose tries were refused is the last turn and all these tries. Boards found in this
way show the role's own pieces as well as particles do, and replace them when these have died.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Unpack

import numpy as np

from ggp.belief.bags import Bags, Segments, join, one_set
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Setting, Shared
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.hyperplay_sampler import HyperPlaySampler
from ggp.belief.turns.one_turn import TurnLimits, advance
from ggp.belief.turns.walks import WalkEvidence, moves_are, united, walks
from ggp.machine.base import IntArray, Machine

# ------------------------------------------------------------------------
# Sampling by random histories (papers 001 and 002), from scratch every turn.
#
# The common parts of such samplers, and of those that remember boards.

MOST_STEPPED = 100_000
"""Lanes stepped in search of boards for one bag."""


class ObservationSampler(Setting, ABC):
    """The common parts of these samplers; see `Sampler`. None of their bags is exact."""

    usual_attempts = MOST_STEPPED
    enumerates = False

    @property
    def sound(self) -> bool:
        """Whether every entry agrees with its path."""
        return True

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        paths = np.full(count, role, dtype=np.int64)
        return Bags(role, paths, np.arange(count), self.beginning(count))

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length."""
        return self._bags(role, paths, [self._found(role, int(path), rng) for path in paths])

    def advance(
        self,
        bags: Bags,
        moves: IntArray,
        percepts: IntArray,
        rng: np.random.Generator,
        refused: IntArray | None = None,
    ) -> Bags:
        """The bags one turn later; those without boards have no entries."""
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        return self.at(paths, bags.role, rng)

    @abstractmethod
    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag with what a new sample of `size` boards adds, if anything."""

    @abstractmethod
    def _found(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        """The boards for a path."""

    def _num_guessed(self, sets: Segments) -> int:
        """Number of entries in the sets made last that need not agree with their paths."""
        return 0

    def _bags(self, role: int, paths: IntArray, sets: list[Segments]) -> Bags:
        joined = join(self.machine, sets)
        return Bags(role, paths, np.arange(len(paths)), joined, self._num_guessed(joined))


class HistorySampler(ObservationSampler):
    """Boards of random histories, made anew for every bag."""

    def grown(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        if self.tree.depth(int(bags.paths[0])) == 0:
            return bags
        more = self._more(bags.role, int(bags.paths[0]), size, rng)
        if not len(more.states):
            return bags
        both = united(self.machine, [bags.sets.take(bags.segment), more])
        return self._bags(bags.role, bags.paths, [both.thinned(max(self.room, size), rng)])

    def _found(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        return self._more(role, path, self.capacity, rng)

    @abstractmethod
    def _more(self, role: int, path: int, wanted: int, rng: np.random.Generator) -> Segments:
        """New boards for a path, `wanted` of them if so many are found."""


OWN_PARTICLES, OWN_ATTEMPTS = 8, 20_000
"""Resources for finding out which moves the role itself had."""

MOST_WALKED = 20_000
"""Lanes stepped in search of histories if boards can be drawn instead."""

FEWEST_DRAWN, MOST_DRAWN = 16, 1024
"""Boards drawn at once: few at first, so that some are found even in little time."""

MOST_FRUITLESS = 3
"""After this many draws in a row without a new board, there are taken to be no more."""

KNOWN_BOARDS = 64
"""Boards that are remembered for the role's own pieces, where boards are drawn. No more are looked
for while the role has a single move."""

FULL = 4
"""Boards that agree with a part of the last observation are kept, up to this many times the number
wanted."""


class LastObservation(HistorySampler):
    """LOS: random histories with the role's own moves, kept if they agree with the last
    observation.

    Args:
        maker: draws boards if no history agrees; None if the game has none. Drawn boards have no
            views, so with `keep_views` there are none.
        walk: whether to look for histories before drawing boards.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        *,
        maker: BoardMaker | None = None,
        walk: bool = True,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(machine, tree, **shared)
        # The role's own moves, as far as they are known.
        self._own = HyperPlaySampler(
            machine, tree, capacity=OWN_PARTICLES, exact=0, max_attempts=OWN_ATTEMPTS
        )
        self._known: dict[int, Bags] = {}
        self._maker = None if self.keep_views else maker
        self._walked_in_vain = not walk

    @property
    def sound(self) -> bool:
        return False

    def _num_guessed(self, sets: Segments) -> int:
        return len(sets.states)

    @property
    def views(self) -> IntArray:
        known = [bags.nodes for bags in self._known.values()]
        return np.concatenate([self._own.views, *known])

    def renumber(self, numbers: IntArray) -> None:
        self._own.renumber(numbers)
        self._known = {
            int(numbers[path]): bags.renumbered(numbers) for path, bags in self._known.items()
        }

    def learn(self, known: Bags) -> None:
        """Take note of boards of a path on which the role's own pieces are right."""
        path = int(known.paths[0])
        self._known[path] = known
        self._forget_all_before(path)

    def _more(self, role: int, path: int, wanted: int, rng: np.random.Generator) -> Segments:
        known = self._knowledge(role, path, rng)
        legal = None
        if not known.depleted[0]:
            first = known.sets.states.take(known.lanes_of(0)[:1])
            legal = np.sort(self.machine.legal(first, role, allow_stuck=True).values)
            if len(legal) == 1:
                wanted = min(wanted, KNOWN_BOARDS)  # there is nothing to decide
        evidence = WalkEvidence(role, path, last_only=True, legal=legal)
        if self._maker is None:
            return walks(self, evidence, wanted, self._max_attempts, rng)
        if not self._walked_in_vain:
            found = walks(self, evidence, wanted, MOST_WALKED, rng)
            if len(found.states):
                return found
            # Longer histories agree even less.
            self._walked_in_vain = True
        found = self._drawn(self._maker, role, path, wanted, rng, legal)
        if len(known.sets.states) < OWN_PARTICLES and len(found.states):
            both = united(self.machine, [known.sets, found]) if len(known.sets.states) else found
            few = both.thinned(KNOWN_BOARDS, rng)
            self._known[path] = Bags(role, known.paths, known.segment, few, len(few.states))
        # After many tries in a row there may be no board that was not found some tries ago.
        return (found if len(found.states) else known.sets).thinned(wanted, rng)

    def _knowledge(self, role: int, path: int, rng: np.random.Generator) -> Bags:
        """A few boards on which the role's own pieces are right; none if nothing is known."""
        if path not in self._known:
            self._own.stops_with(self)
            node = np.array([path])
            before = self._known.get(int(self.tree.parents(node)[0]))
            alive = any(not bags.depleted[0] for bags in self._known.values())
            if self._maker is not None and alive:
                # Drawn boards replace these when they have died: no need to search.
                sets = self.nothing(1)
                if before is not None and not before.depleted[0]:
                    sets = self._played(role, before.sets, path, KNOWN_BOARDS, rng)
                known = Bags(role, node, np.zeros(1, dtype=np.int64), sets, len(sets.states))
            elif before is None or before.depleted[0]:
                known = self._own.at(node, role, rng)
            else:
                move, percepts, refused = self.tree.last_turns(node).T
                known = self._own.advance(before, move, percepts, rng, refused)
            self._known[path] = known
            self._forget_all_before(path)
        return self._known[path]

    def _forget_all_before(self, path: int) -> None:
        """Drop everything known before the last two observations."""
        base = self._beginnings(path)[0]
        first = self.tree.depth(self._beginnings(base)[0])
        depths = {node: self.tree.depth(node) for node in self._known}
        self._known = {n: known for n, known in self._known.items() if depths[n] >= first}

    def _beginnings(self, path: int) -> list[int]:
        """The path before its last observation, and after each turn of that observation.

        If nothing is known of the role's own pieces there, it begins earlier.
        """
        nodes = [path]
        while self.tree.depth(nodes[0]) > 0:
            node = np.array([nodes[0]])
            nodes.insert(0, int(self.tree.parents(node)[0]))
            percepts = int(self.tree.last_turns(node)[0, 1])
            goes_on = self._maker is not None and self._maker.goes_on(percepts)
            known = self._known.get(nodes[0])
            if not goes_on and known is not None and not known.depleted[0]:
                break
        return nodes

    def _drawn(
        self,
        maker: BoardMaker,
        role: int,
        path: int,
        wanted: int,
        rng: np.random.Generator,
        legal: IntArray | None,
    ) -> Segments:
        """Boards drawn for the turn before the last observation that agree with it.

        If there are none, an earlier move of the other may matter, as when a pawn was captured in
        passing: then they are drawn for the observation before.
        """
        nodes = self._beginnings(path)
        found = self._drawn_at(maker, role, nodes, wanted, rng, legal)
        if not len(found.states) and self.tree.depth(nodes[0]):
            nodes = [*self._beginnings(nodes[0])[:-1], *nodes]
            found = self._drawn_at(maker, role, nodes, wanted, rng, legal)
        return found

    def _drawn_at(
        self,
        maker: BoardMaker,
        role: int,
        nodes: list[int],
        wanted: int,
        rng: np.random.Generator,
        legal: IntArray | None,
    ) -> Segments:
        """Boards drawn for a path that agree with some turns after it.

        Args:
            nodes: the path, and the path after each of these turns.
        """
        base, *turns = nodes
        found = self.nothing(1)
        known = self._known.get(base) if self.tree.depth(base) else self.start(role)
        if known is None or known.depleted[0]:
            return found
        number, began = 0, self.machine.states_visited
        fruitless = 0
        while not self.stop():
            # Few of few boards are kept, or the other's refused tries make many of them.
            most = min(FULL * max(number, FEWEST_DRAWN), max(FULL * wanted, MOST_DRAWN))
            # At first, boards found on the way when there was no time to go further.
            sets = (
                found if not number else one_set(maker.draw(known.states_of(0), role, number, rng))
            )
            for node in turns:
                if self.stop():
                    sets = self.nothing(1)
                    break
                if len(sets.states):
                    sets = self._played(role, sets, node, most, rng)
                sets = self._remembered(role, node, sets, rng, join=not number)
            sets = self._agreeing(maker, sets, role, legal)
            before = len(found.states)
            found = united(self.machine, [found, sets])
            fruitless = fruitless + 1 if 0 < before == len(found.states) else 0
            spent = self.machine.states_visited - began
            if len(found.states) >= wanted or fruitless == MOST_FRUITLESS:
                break
            if spent >= self._max_attempts / 2:
                break
            number = min(max(2 * number, FEWEST_DRAWN), MOST_DRAWN)
        return found

    def _remembered(
        self, role: int, node: int, sets: Segments, rng: np.random.Generator, *, join: bool
    ) -> Segments:
        """Boards on the way to the last observation: if time is up, the next search begins there.

        Args:
            join: return them with those drawn before; otherwise as they are.
        """
        known = self._known.get(node)
        if known is not None and not known.depleted[0]:
            if not known.guessed:
                return sets  # these agree with everything
            both = united(self.machine, [known.sets, sets]) if len(sets.states) else known.sets
        else:
            both = sets
        if len(sets.states):
            few = both.thinned(KNOWN_BOARDS, rng)
            at = np.array([node]), np.zeros(1, dtype=np.int64)
            self._known[node] = Bags(role, *at, few, len(few.states))
        return both if join else sets

    def _agreeing(
        self, maker: BoardMaker, sets: Segments, role: int, legal: IntArray | None
    ) -> Segments:
        """The boards of a set that have all kings, and on which a role has these moves."""
        if not len(sets.states):
            return sets
        kept = maker.possible(sets.states)
        if legal is not None:
            kept &= moves_are(self.machine, sets.states, role, legal)
        on = np.flatnonzero(kept)
        few = one_set(sets.states.take(on))
        return replace(few, log_weights=sets.log_weights[on], log_masses=sets.log_masses)

    def _played(
        self, role: int, sets: Segments, path: int, capacity: int, rng: np.random.Generator
    ) -> Segments:
        """The successors of boards in the last turn of a path."""
        return advance(self, role, sets, np.array([path]), TurnLimits(capacity), rng).sets
