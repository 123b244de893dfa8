"""A player's own belief: its incomplete path in its machine's ids, and the bag of that path.

Without a clock the bag has as many particles as its sampler says. With one it has as many as there
is time for: after a turn, and while others think, new samples of the same path are drawn and put
together with what is there (`grow`), and as many are carried on to the next turn (`_room`). Sets
are enumerated that can be within a share of the time (`EXACT_SHARE`), however large they are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ggp.belief import (
    DRAWN,
    Bags,
    Enumerates,
    FollowsPaths,
    HyperPlaySampler,
    Quality,
    Sampler,
    quality_of,
    require_particles,
)
from ggp.belief.finder import LARGER, Finder
from ggp.belief.finding.larger import Larger
from ggp.belief.segments import Segments, depleted_segments
from ggp.gdl import canonical_term
from ggp.machine.base import UNKNOWN, IntArray, Machine, States
from ggp.players.slices import Watch
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal, random_moves

MIN_NODES = 20_000
"""Paths that are not worth pruning."""

FIRST_ROOM = 256
ROOM_SHARE, RISKY_SHARE = 0.1, 0.5
"""A bag that is grown is carried on with twice as many entries as long as that takes less than half
of this share of the time there is, with half as many where it takes more than all of it. The second
is where whole bags die at once."""

EXACT_SHARE, LATE_SHARE = 0.5, 0.8
"""A set is enumerated where that should take no more than the first share of the time there is, and
sampled after all where it takes more than the second."""

RISKY = 20
"""Times as many entries as else a bag may have where many of them die."""

MANY_DIED = 0.5
"""Share of a bag; with more, others may have been searched for."""

RISK_KEPT = 0.9
"""Of the risk that a bag dies, what is left of it a turn later."""

SURVIVORS, SCARCE_TURNS, SOLVING_SHARE = 4, 2, 0.5
"""A bag is likely to die where fewer entries than this would survive a turn as bad as the worst one
lately, for some turns in a row. Then this share of the time for more is spent on solving."""

GUESSED = 32
"""States that are played on where no particle is left."""

MOST_FRUITLESS = 50
"""So many samples in a row without a new entry say that there are no more."""

_log = logging.getLogger(__name__)


class Submission(NamedTuple):
    """What a role had answered in a turn: arguments of `Player.observe`, where they are told."""

    submitted: str | None = None
    in_time: bool = True


class Tracker:
    """Follows one match from one role's point of view.

    Attributes:
        was_told_all: whether the role was told every move that was executed for it.

    Args:
        belief: samples the states the role may be in; stopped by deadlines from now on.
        machine: the player's own machine.
        role: index of its role.
        rng: draws particles.
        most: entries that the bag is grown to where there is time; 0 for as many as `belief` says.
        last: what is asked where no particle is left. If it is not sound, what it finds is followed
            in place of the bag from then on, and `belief` is asked no more; it is looked for at
            once, since time may be short later. By default a larger sampler, when a move is asked
            for.
    """

    def __init__(
        self,
        belief: Sampler,
        machine: Machine,
        role: int,
        rng: np.random.Generator,
        most: int = 0,
        last: Finder | None = None,
    ) -> None:
        self.machine, self.role = machine, role
        self.tree = belief.tree
        self._watch = Watch(machine)
        self._rng = rng
        self.belief = belief
        self.belief.stop, self.belief.lanes_at_once = self._watch.is_over, self._watch.lanes
        self._usual_most, self._room = most, min(FIRST_ROOM, most)
        self._risk = 0.0
        self._scarce = 0  # turns in a row after which the bag was likely to die
        self.was_told_all = True
        self._last = Larger(machine, belief) if last is None else last
        self._prune_at = MIN_NODES
        self.bag: Bags = self.belief.start(role)
        self.last_known: Bags = self.bag
        # States guessed after the last known ones, and own moves of the turns since then.
        self._guessed: States | None = None
        self._since: list[int] = []

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        answer: Submission,
        deadline: Deadline | None,
    ) -> None:
        """Advance the bag by a turn.

        Moves and percepts the rules do not know constrain nothing, and are logged.

        Args:
            move, percepts: as `Player.observe` is told.
            answer: with `move`, says whether the move was drawn at random.
            deadline: until when particles may be searched for.

        Raises:
            BeliefDepletedError: no particle agrees; the bag then has none until a later turn
                finds some.
        """
        self._begin(deadline)
        attempts = self.machine.states_visited
        turn = [UNKNOWN, UNKNOWN, UNKNOWN]
        before = self.bag
        after: Bags | None = None
        try:
            turn = [*self.turn_of(move, percepts), UNKNOWN]
            turn[2] = self._refused(turn[0], answer)
            self.was_told_all &= turn[0] != UNKNOWN
            after = self._advanced(before, turn)
        finally:
            # Whatever went wrong, the turn was played: a later one finds particles for all.
            self.bag = after if after is not None else self._lost(before, turn)
            if not self.bag.depleted[0]:
                self._last.learn(int(self.bag.paths[0]), self._sets)
            elif not self._last.is_sound:
                self._found_last()
            if deadline is not None:
                self._learn_room(before, deadline)
        if self.bag.depleted[0]:
            self._since.append(turn[0])
        else:
            self._know(self.bag)
        require_particles(self.bag, self.tree, self.machine.states_visited - attempts)

    def turn_of(self, move: str | None, percepts: Sequence[str] | None) -> tuple[int, int]:
        """A turn in the machine's ids; `UNKNOWN` for what is not told, or not known."""
        return self._move(move), self._percepts(percepts)

    def spare_bag(self, deadline: Deadline | None) -> Bags | None:
        """A bag for the path without any particle, of states only, if one can be found."""
        if self.bag.exact[0]:
            return None  # that there is none has been proved
        self._begin(deadline)
        found = self._found_last()
        if found.depleted[0]:
            return None
        if found.sound:
            self._know(found)
        return found

    def guessed_states(self) -> States:
        """`[G]` what the present states may be, where no particle is left.

        Those last known are played on, from turn to turn: with the own moves where they are known
        and legal, else with random ones, whatever was perceived. So it is the right turn, though
        hardly the right state. G is 0 where that leads to ends only.

        Raises:
            MachineError: a role is stuck.
        """
        if self._guessed is None:
            drawn = self.last_known.draw(0, GUESSED, self._rng)
            self._guessed = self.last_known.sets.states.take(drawn)
        states = self._going_on(self._guessed)
        for own in self._since:
            joint = [
                random_moves(self.machine, states, role, self._rng)
                for role in range(len(self.machine.roles))
            ]
            if own != UNKNOWN:
                wanted = np.full(len(states), own)
                legal = is_legal(self.machine, states, self.role, wanted)
                joint[self.role] = np.where(legal, own, joint[self.role])
            states = self._going_on(self.machine.step(states, np.column_stack(joint)).states)
        self._since.clear()
        self._guessed = states
        return states

    def grow(self, deadline: Deadline, *others: FollowsPaths) -> None:
        """Draw more samples of the present path until the bag is full, or the time is up.

        Args:
            deadline: looked at every few milliseconds.
            others: see `prune`.
        """
        if self._scarce >= SCARCE_TURNS and self._may_grow():
            self._begin(deadline.part(SOLVING_SHARE), at_risk=True)
            self._know(self.belief.grown(self.bag, self._watch.slices.size, self._rng))
            self.bag = self.last_known
        fruitless = 0
        while fruitless < MOST_FRUITLESS and self._may_grow() and not deadline.passed():
            self._begin(deadline)
            before = self.bag
            self.bag = self.belief.grown(before, self._watch.slices.size, self._rng)
            if self._watch.is_over():
                return
            self._watch.slices.end()
            if self.bag is before:
                continue  # all of the sample died on its way: that says nothing
            self._know(self.bag)
            is_new = len(self.bag.sets.states) > len(before.sets.states)
            fruitless = 0 if is_new else fruitless + 1
            self.prune(*others)

    def _going_on(self, states: States) -> States:
        """Those that are no ends."""
        return states.take(np.flatnonzero(~self.machine.terminal(states)))

    def _know(self, bag: Bags) -> None:
        """A bag has particles of the present turn."""
        self.last_known = bag
        self._guessed = None
        self._since.clear()

    def quality(self) -> Quality:
        """How good the present bag is."""
        if isinstance(self.belief, HyperPlaySampler):
            return self.belief.quality(self.bag)
        return quality_of(self.machine, self.bag)

    def prune(self, *others: FollowsPaths) -> None:
        """Forget paths that cannot come up any more, if they have become many.

        Args:
            others: whatever else names paths by the same tree.
        """
        if len(self.tree) < self._prune_at:
            return
        beliefs: list[FollowsPaths] = [self.belief, *others, self._last]
        # Only the present bag is continued; of an older one nothing that came after it is kept,
        # or all that was tried since would be, as long as there is no particle.
        held = [self.last_known.nodes, *(belief.views for belief in beliefs)]
        numbers = self.tree.prune(self.bag.nodes, np.concatenate(held))
        for belief in beliefs:
            belief.renumber(numbers)
        same = self.last_known is self.bag
        self.bag = self.bag.renumbered(numbers)
        self.last_known = self.bag if same else self.last_known.renumbered(numbers)
        self._prune_at = MIN_NODES + 2 * len(self.tree)

    def _advanced(self, bag: Bags, turn: list[int]) -> Bags:
        move, percepts, refused = _arrays(turn)
        if bag.depleted[0] and not bag.exact[0]:
            if not self._last.is_sound:
                return self._lost(bag, turn)
            paths = self.tree.extend(bag.paths, move, percepts, refused)
            return self.belief.at(paths, self.role, self._rng)
        return self.belief.advance(bag, move, percepts, self._rng, refused)

    def _lost(self, bag: Bags, turn: list[int]) -> Bags:
        """A bag one turn later without any particle."""
        move, percepts, refused = _arrays(turn)
        paths = self.tree.extend(bag.paths, move, percepts, refused)
        sets = depleted_segments(self.machine, 1, keep_views=bag.sets.views is not None)
        return Bags(self.role, paths, np.zeros(1, dtype=np.int64), sets)

    def _found_last(self) -> Bags:
        """What the last finder has for the present path, of which there is no particle."""
        sets = self._last.fill(self.bag, self._rng)
        guessed = 0 if self._last.is_sound else len(sets.states)
        return Bags(self.role, self.bag.paths, np.zeros(1, dtype=np.int64), sets, guessed)

    @property
    def _sets(self) -> Segments:
        """The present bag as a set."""
        return self.bag.sets.take(self.bag.segment)

    @property
    def _most(self) -> int:
        """Entries that the bag is grown to where there is time."""
        return int(self._usual_most * RISKY**self._risk)

    def _may_grow(self) -> bool:
        return not self.bag.exact[0] and len(self.bag.sets.states) < self._room

    def _learn_room(self, before: Bags, deadline: Deadline) -> None:
        """See what it took to carry a bag on, and how many entries the next may have."""
        took_s = deadline.clock() - self._watch.began_s
        there_was_s = max(deadline.at_s - self._watch.began_s, 0.0)
        least = min(self.belief.capacity, self._most)
        left, size = len(self.bag.sets.states), self._sets.sizes[0]
        died = 1 - left / max(len(before.sets.states), 1)
        self._risk = max(0.0 if self.bag.exact[0] else died, RISK_KEPT * self._risk)
        is_scarce = 0 < left * (1 - self._risk) < SURVIVORS and size > LARGER * left
        self._scarce = self._scarce + 1 if is_scarce and not self.bag.exact[0] else 0
        if self.bag.exact[0]:
            return
        share = ROOM_SHARE + self._risk * (RISKY_SHARE - ROOM_SHARE)
        if took_s > share * there_was_s and died < MANY_DIED:  # else it took time to find others
            self._room = max(self._room // 2, least)
        elif took_s < share / 2 * there_was_s and 2 * len(before.sets.states) >= self._room:
            self._room = min(2 * self._room, self._most)

    def _begin(self, deadline: Deadline | None, *, at_risk: bool = False) -> None:
        """Work begins that is to end at a deadline."""
        self._watch.begin(deadline)
        self.belief.room = 0 if deadline is None else self._room
        self.belief.timed, self.belief.at_risk = deadline is not None, at_risk
        if isinstance(self.belief, Enumerates):
            self.belief.afford(self._watch.affordable(EXACT_SHARE), self._is_late)

    def _is_late(self) -> bool:
        return self._watch.is_past(LATE_SHARE)

    def _move(self, text: str | None) -> int:
        if text is None:
            return UNKNOWN
        found = self.machine.move_id(canonical_term(text))
        if found is None:
            _log.warning("unknown move %s: it is ignored", text)
            return UNKNOWN
        return found

    def _refused(self, executed: int, answer: Submission) -> int:
        """The last argument of `PathTree.extend`: what the answer makes of an executed move."""
        submitted, in_time = answer
        if executed == UNKNOWN:
            return UNKNOWN
        if submitted is None:
            return UNKNOWN if in_time else DRAWN
        answered = self.machine.move_id(canonical_term(submitted))
        if answered == executed:
            return UNKNOWN
        # What the rules do not know is legal nowhere: it rules nothing out.
        return answered if in_time and answered is not None else DRAWN

    def _percepts(self, texts: Sequence[str] | None) -> int:
        if texts is None:
            return UNKNOWN
        found = self.machine.percept_id([canonical_term(text) for text in texts])
        if found is None:
            _log.warning("unknown percepts %s: they are ignored", " ".join(texts))
            return UNKNOWN
        return found


def _arrays(turn: list[int]) -> tuple[IntArray, IntArray, IntArray]:
    """Move, percepts and refused of one path."""
    move, percepts, refused = (np.array([x], dtype=np.int64) for x in turn)
    return move, percepts, refused
