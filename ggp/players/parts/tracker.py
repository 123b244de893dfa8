"""A player's own belief: its incomplete path in its machine's ids, and the bag of that path.

Without a clock the bag has as many particles as its sampler says. With one it has as many as there
is time for: after a turn, and while others think, new samples of the same path are drawn and pooled
with the bag (`grow`), and this many are carried on to the next turn (`BagGrowth`). Sets that can be
enumerated within a share of the time (`EXACT_SHARE`) are, however large they are.
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
from ggp.belief.bags import depleted_segments
from ggp.belief.finding.last_resorts import Larger
from ggp.belief.sampler import Finder
from ggp.gdl import canonical_term
from ggp.machine.base import UNKNOWN, IntArray, Machine, States
from ggp.players.parts.slices import ROOM_SHARE, BagGrowth, BeliefWatch
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates
from ggp.search.moves import is_legal, random_moves

MIN_NODES = 20_000
"""With fewer paths than this, pruning is not worthwhile."""

PUT_OFF = 8
"""Where a move is to be decided, pruning is put off until there are this many times as many paths:
large trees take tenths of a second, and where roles take turns there is soon nothing to decide."""

PRUNING_SHARE, FIRST_PATH_S, MOST_PATHS = 0.5, 5e-7, 4_000_000
"""It is also put off if it would take more than this share of the time that is left, judging by the
time that it took for each path, at first a guess; until there are so many, some 80 bytes each."""

FORGETS = 1.5
"""Paths are only renumbered if there are this many times as many as are needed: that takes time."""

EXACT_SHARE = 0.5
"""A set is enumerated if that should take no more than this share of the available time."""

SOLVING_SHARE = 0.5
"""Share of the time for more particles that is spent on solving if the bag is likely to die."""

GUESSED = 32
"""States that are played on when no particle is left."""

MOST_FRUITLESS = 50
"""After this many samples in a row without a new entry, there are taken to be no more."""


class Submission(NamedTuple):
    """A role's submission in a turn: arguments of `Player.observe`, if they are told."""

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
        most: entries that the bag is grown to if there is time; 0 for as many as `belief` says.
        last: the finder to ask when no particle is left. If it is not sound, its states are
            followed in place of the bag from then on, and `belief` is asked only to solve, while
            others think and when a move is needed; it is asked at once, since time may be short
            later. By default a larger sampler, asked when a move is needed.
        share: see `BagGrowth`.
    """

    def __init__(
        self,
        belief: Sampler,
        machine: Machine,
        role: int,
        rng: np.random.Generator,
        most: int = 0,
        last: Finder | None = None,
        share: float = ROOM_SHARE,
    ) -> None:
        self.machine, self.role = machine, role
        self.tree = belief.tree
        self._watch = BeliefWatch(machine)
        self._rng = rng
        self.belief = belief
        self.belief.stop, self.belief.lanes_at_once = self._watch.is_over, self._watch.lanes
        self._growth = BagGrowth(most, share)
        self._too_short_s = 0.0  # in which to solve for paths
        self.was_told_all = True
        self._last = Larger(machine, belief) if last is None else last
        self._prune_at, self._path_s = MIN_NODES, FIRST_PATH_S
        self.bag: Bags = self.belief.start(role)
        self.last_known: Bags = self.bag
        # States guessed from the last known ones, and own moves of the turns since then.
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

        Moves and percepts that do not occur in the rules constrain nothing, and are logged.

        Args:
            move, percepts: as for `Player.observe`.
            answer: with `move`, determines whether the move was drawn at random.
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
            turn[2] = refused_of(self.machine, turn[0], *answer)
            self.was_told_all &= turn[0] != UNKNOWN
            after = self._advanced(before, turn)
        finally:
            # Whatever went wrong, the turn was played: a later turn finds particles for all of it.
            self.bag = after if after is not None else self._lost(before, turn)
            if not self._last.is_sound:
                if self.bag.depleted[0]:
                    self._found_last()
                else:
                    self._last.learn(int(self.bag.paths[0]), self.bag.sets.take(self.bag.segment))
            if deadline is not None:
                self._learn_growth(before, deadline)
        if self.bag.depleted[0]:
            self._since.append(turn[0])
        else:
            self._know(self.bag)
        require_particles(self.bag, self.tree, self.machine.states_visited - attempts)

    def turn_of(self, move: str | None, percepts: Sequence[str] | None) -> tuple[int, int]:
        """The ids of a turn; `UNKNOWN` for anything not told, or not known."""
        return move_of(self.machine, move), percepts_of(self.machine, percepts)

    def ended(self, move: str | None, percepts: Sequence[str] | None, number: int) -> States | None:
        """States in which a turn may have ended the match; None if none is found.

        A bag holds no terminal states. So the turn is played at random from states of the bag, and
        the results that agree with move and percepts are kept.

        Args:
            move, percepts: as for `Player.observe`.
            number: states that are drawn.
        """
        machine, bag = self.machine, self.bag
        own = None if move is None else machine.move_id(move)
        seen = None if percepts is None else machine.percept_id(percepts)
        if bag.depleted[0] or own is None or seen is None:
            return None
        states = bag.sets.states.take(bag.draw(0, number, self._rng))
        legal = is_legal(machine, states, self.role, np.full(len(states), own))
        if not legal.any():
            return None
        states = states.take(np.flatnonzero(legal))
        each = range(len(machine.roles))
        joint = np.stack([random_moves(machine, states, r, self._rng) for r in each], axis=1)
        joint[:, self.role] = own
        states, told = machine.step(states, joint)
        fits = (told[:, self.role] == seen) & machine.terminal(states)
        return states.take(np.flatnonzero(fits)) if fits.any() else None

    def spare_bag(self, deadline: Deadline | None) -> Bags | None:
        """A bag for a path without any particle, of states only, if one can be found."""
        if self.bag.exact[0]:
            return None  # it has been proved that there is none
        if deadline is not None:
            self._solve(deadline.part(SOLVING_SHARE))
            if not self.bag.depleted[0]:
                return self.bag
        self._begin(deadline)
        found = self._found_last()
        if found.depleted[0]:
            return None
        if found.sound:
            self._know(found)
        return found

    def guessed_states(self) -> States:
        """`[G]` guesses of the present states, when no particle is left.

        The last known states are played on, turn by turn: with our own moves if they are known and
        legal, otherwise with random ones, whatever the percepts. So the turn is right, though the
        state hardly is. G is 0 if only ends of the game are reached.

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
        """Draw more samples of the present path until the bag is full, or time is up.

        Args:
            deadline: looked at every few milliseconds.
            others: see `prune`.
        """
        if (self._growth.is_at_risk or self.bag.depleted[0]) and self._may_grow():
            self._solve(deadline.part(SOLVING_SHARE))
        fruitless = 0
        while fruitless < MOST_FRUITLESS and self._may_grow() and not deadline.passed():
            self._begin(deadline)
            before = self.bag
            self.bag = self.belief.grown(before, self._watch.slices.size, self._rng)
            if self._watch.is_over():
                return
            self._watch.slices.end()
            if self.bag is before:
                continue  # the whole sample died on its way: that says nothing
            self._know(self.bag)
            is_new = len(self.bag.sets.states) > len(before.sets.states)
            fruitless = 0 if is_new else fruitless + 1
            self.prune(*others, deadline=deadline)

    @property
    def is_scarce(self) -> bool:
        """Whether the bag has so few particles that it may have none soon."""
        return self._growth.is_scarce

    def _solve(self, deadline: Deadline) -> None:
        """Let the sampler solve for paths: at once if the bag is lost, otherwise only if there is
        more time than was recently too short."""
        there_was_s, belief = deadline.left_s(), self.belief
        if there_was_s < self._too_short_s and not self.bag.depleted[0]:
            return
        before = self.bag
        self._begin(deadline, at_risk=True)
        if not (isinstance(belief, HyperPlaySampler) and belief.would_solve(before)):
            return
        self.bag = self.belief.grown(before, self._watch.slices.size, self._rng)
        if self.bag is before:
            self._too_short_s = 2 * there_was_s
        else:
            self._know(self.bag)

    def _going_on(self, states: States) -> States:
        """The states that are not over."""
        return states.take(np.flatnonzero(~self.machine.terminal(states)))

    def _know(self, bag: Bags) -> None:
        """Record that a bag has particles of the present turn."""
        self.last_known = bag
        self._guessed = None
        self._since.clear()

    def quality(self) -> Quality:
        """How good the present bag is."""
        if isinstance(self.belief, HyperPlaySampler):
            return self.belief.quality(self.bag)
        return quality_of(self.machine, self.bag)

    def prune(
        self, *others: FollowsPaths, deadline: Deadline | None = None, decides: bool = False
    ) -> None:
        """Forget paths that cannot recur, if there are many.

        Args:
            others: everything else that names paths by the same tree.
            deadline: it is put off if there is too little time.
            decides: whether this is the time of a decision, if there is something to decide: then
                it is put off until there are several times as many.
        """
        size = len(self.tree)
        if size < self._prune_at:
            return
        if deadline is not None and size < MOST_PATHS:
            if self._path_s * size > PRUNING_SHARE * deadline.left_s():
                return
            if decides and size < PUT_OFF * self._prune_at and self._has_choice():
                return
        began_s, there_was_s = 0.0, 0.0
        if deadline is not None:
            began_s, there_was_s = deadline.clock(), deadline.left_s()
        beliefs: list[FollowsPaths] = [self.belief, *others, self._last]
        # Only the present bag is continued. Nothing that came after an older bag is kept, or all
        # that was tried since would be, as long as there is no particle.
        held = [self.last_known.nodes, *(belief.views for belief in beliefs)]
        needed = self.tree.needed(self.bag.nodes, np.concatenate(held))
        num_needed = int(needed.sum())
        self._prune_at = MIN_NODES + 2 * num_needed
        if FORGETS * num_needed > size:
            return
        numbers = self.tree.keep(needed)
        for belief in beliefs:
            belief.renumber(numbers)
        same = self.last_known is self.bag
        self.bag = self.bag.renumbered(numbers)
        self.last_known = self.bag if same else self.last_known.renumbered(numbers)
        if deadline is not None:
            # If it has passed, how long it took is not known: its clock may jump.
            took_s = deadline.clock() - began_s
            self._path_s = took_s / size if took_s < there_was_s else 2 * self._path_s

    def _has_choice(self) -> bool:
        """Whether several moves may be legal now."""
        return len(candidates(self.machine, self.bag).values) > 1

    def _advanced(self, bag: Bags, turn: list[int]) -> Bags:
        move, percepts, refused = _arrays(turn)
        if bag.depleted[0] and not bag.exact[0]:
            if not self._last.is_sound:
                return self._lost(bag, turn)
            paths = self.tree.extend(bag.paths, move, percepts, refused)
            return self.belief.at(paths, self.role, self._rng)
        return self.belief.advance(bag, move, percepts, self._rng, refused)

    def _lost(self, bag: Bags, turn: list[int]) -> Bags:
        """A bag one turn later, without any particle."""
        move, percepts, refused = _arrays(turn)
        paths = self.tree.extend(bag.paths, move, percepts, refused)
        sets = depleted_segments(self.machine, 1, keep_views=bag.sets.views is not None)
        return Bags(self.role, paths, np.zeros(1, dtype=np.int64), sets)

    def _found_last(self) -> Bags:
        """The bag that the last finder has for the present path, which has no particle."""
        sets = self._last.fill(self.bag, self._rng)
        guessed = 0 if self._last.is_sound else len(sets.states)
        return Bags(self.role, self.bag.paths, np.zeros(1, dtype=np.int64), sets, guessed)

    def _may_grow(self) -> bool:
        return not self.bag.exact[0] and len(self.bag.sets.states) < self._growth.room

    def _learn_growth(self, before: Bags, deadline: Deadline) -> None:
        took_s = deadline.clock() - self._watch.began_s
        there_was_s = max(deadline.at_s - self._watch.began_s, 0.0)
        self._growth.learn(before, self.bag, took_s, there_was_s, self.belief.capacity)

    def _begin(self, deadline: Deadline | None, *, at_risk: bool = False) -> None:
        """Begin work that is to end at a deadline."""
        self._watch.begin(deadline)
        self.belief.room = 0 if deadline is None else self._growth.room
        self.belief.timed, self.belief.at_risk = deadline is not None, at_risk
        if isinstance(self.belief, Enumerates):
            self.belief.afford(self._watch.affordable(EXACT_SHARE), self._watch.is_past)


def _arrays(turn: list[int]) -> tuple[IntArray, IntArray, IntArray]:
    """Move, percepts and refused of one path."""
    move, percepts, refused = (np.array([x], dtype=np.int64) for x in turn)
    return move, percepts, refused


# ------------------------------------------------------------------------
# A role's information about a turn, in the ids of its machine.
#
# Moves and percepts that do not occur in the rules constrain nothing, and are logged.

_log = logging.getLogger(__name__)


def move_of(machine: Machine, text: str | None) -> int:
    """The id of a move; `UNKNOWN` if it is not told, or not known."""
    if text is None:
        return UNKNOWN
    found = machine.move_id(canonical_term(text))
    if found is None:
        _log.warning("unknown move %s: it is ignored", text)
        return UNKNOWN
    return found


def percepts_of(machine: Machine, texts: Sequence[str] | None) -> int:
    """The id of a set of percepts; `UNKNOWN` if it is not told, or not known."""
    if texts is None:
        return UNKNOWN
    found = machine.percept_id([canonical_term(text) for text in texts])
    if found is None:
        _log.warning("unknown percepts %s: they are ignored", " ".join(texts))
        return UNKNOWN
    return found


def refused_of(machine: Machine, executed: int, submitted: str | None, in_time: bool) -> int:
    """The last argument of `PathTree.extend`: what the submission tells about an executed move."""
    if executed == UNKNOWN:
        return UNKNOWN
    if submitted is None:
        return UNKNOWN if in_time else DRAWN
    answered = machine.move_id(canonical_term(submitted))
    if answered == executed:
        return UNKNOWN
    # A move that is not in the rules is legal nowhere: it rules nothing out.
    return answered if in_time and answered is not None else DRAWN
