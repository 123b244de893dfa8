"""Follows a match for a player: from its moves and percepts, as text, to the bag of its path.

Without a clock the bag has the sampler's number of particles. With a clock it has as many as time
allows: after a turn, and while others think, new samples of the same path are pooled with the bag
(`grow`), and the next turn starts with this many (`BagGrowth`). Sets that can be enumerated within
a share of the time (`EXACT_SHARE`) are enumerated, whatever their size.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
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
from ggp.belief.sampler import LARGER, Finder
from ggp.belief.samplers.hyperplay_sampler import Larger
from ggp.belief.snapshots import read_bag
from ggp.belief.turns.completions import LANES_AT_ONCE
from ggp.gdl import canonical_term
from ggp.machine.base import UNKNOWN, IntArray, Machine, States
from ggp.players.parts.without_belief import GUESSED, GuessedStates, are_legal
from ggp.players.player import ObservedTurn
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates
from ggp.search.moves import is_legal, random_moves

MIN_NODES = 20_000
"""Least number of paths that are pruned."""

PUT_OFF = 8
"""When a move is due, pruning is postponed until there are this many times as many paths: large
trees take tenths of a second, and if roles take turns, soon no move is due."""

PRUNING_SHARE, FIRST_PATH_S, MAX_PATHS = 0.5, 5e-7, 1_000_000
"""Pruning is also postponed if it would take more than the first share of the remaining time, at
its least time so far for each path (at first the second number), since the first call also loads
kernels; but not beyond the third number of paths, of some 80 bytes each."""

FORGETS = 1.5
"""Paths are only forgotten if there are this many times as many as needed: it takes time."""

EXACT_SHARE = 0.5
"""A set is enumerated if this should take at most this share of the available time."""

SOLVING_SHARE = 0.5
"""Share of the time for more particles that solving may take if the bag is likely to die."""

ROOM_SHARE, RISKY_SHARE = 0.1, 0.5
"""The size of a bag doubles if advancing it takes less than half of the first share of the
available time, and halves if it takes more than all of it. The second share is the least for games
in which whole bags die in one turn."""

MAX_FRUITLESS = 50
"""After this many samples in a row without a new entry, growth assumes that none is left."""


class Submission(NamedTuple):
    """A role's submission in a turn: arguments of `Player.observe`."""

    submitted: str | None = None
    in_time: bool = True


class Tracker:
    """Follows one match from one role's point of view.

    Attributes:
        was_told_all: whether the role knows every move that was executed for it.

        Args:
            belief: samples the states the role may be in; from now on deadlines stop it.
            machine: the player's own machine.
            role: index of its role.
            rng: draws particles.
            most: most entries of the bag if there is time; 0 for the number of `belief`.
            last: the finder to ask when no particle is left. If it is not sound, it is asked
                immediately, since time may be short later; from then on its states replace the bag,
                and `belief` only solves, while others think and when a move is due. By default a
                larger sampler, asked when a move is due.
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
        self._too_short_s = 0.0  # less time than this was too short to solve
        self.was_told_all = True
        self._has_guesses = last is not None and not last.is_sound
        if last is not None:
            self._last = last
        self._prune_at, self._path_s = MIN_NODES, FIRST_PATH_S
        self.bag: Bags = self.belief.start(role)
        self.last_known: Bags = self.bag
        # Guesses that begin in the last bag with particles, and turns since they were played on.
        self._guesses: GuessedStates | None = None
        self._turns_since: list[list[int]] = []

    @cached_property
    def _last(self) -> Finder:
        return Larger(self.machine, self.belief)

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
            deadline: the end of any search for particles.

        Raises:
            BeliefDepletedError: no particle agrees; the bag is then empty until a later turn
                finds particles.
        """
        self._begin(deadline)
        attempts = self.machine.states_visited
        turn = [UNKNOWN, UNKNOWN, UNKNOWN]
        old_bag = self.bag
        new_bag: Bags | None = None
        try:
            turn = self._turn(move, percepts, answer)
            self.was_told_all &= turn[0] != UNKNOWN
            new_bag = self._advance(old_bag, turn)
        finally:
            # Even after an error the turn was played: path and guesses must include it.
            self.bag = new_bag if new_bag is not None else self._empty_bag(old_bag, turn)
            if self.bag.depleted[0]:
                self._turns_since.append(turn)
            else:
                self._know(self.bag)
            if self._has_guesses:
                if self.bag.depleted[0]:
                    self._ask_last()
                else:
                    self._last.learn(int(self.bag.paths[0]), self.bag.sets.take(self.bag.segment))
            if deadline is not None:
                self._learn_growth(old_bag, deadline)
        require_particles(self.bag, self.tree, self.machine.states_visited - attempts)

    def resume(self, snapshot: str, key: str, turns: Sequence[ObservedTurn]) -> int:
        """Begin with the bag of a snapshot (`ggp.belief.snapshots`) instead of the first turn.

        Args:
            turns: all turns of the match so far.

        Returns:
            the number of turns before that bag; 0 if it is of another path, or lacks the views that
            this belief needs: then nothing has changed.

        Raises:
            SnapshotError: the snapshot cannot be read.
        """
        belief = self.belief
        if not isinstance(belief, HyperPlaySampler):
            return 0
        bag = read_bag(snapshot, self.machine, self.tree, self.role, key)
        stored = self.tree.turns(int(bag.paths[0])).tolist()
        for turn, (move, percepts, submitted, in_time) in zip(stored, turns, strict=False):
            ours = self._turn(move, percepts, Submission(submitted, in_time))
            is_unsure = turn == [UNKNOWN, ours[1], ours[0]] and in_time and move == submitted
            if turn != ours and not is_unsure:
                return 0
        if len(stored) > len(turns) or (belief.keep_views and bag.sets.views is None):
            return 0
        sets = bag.sets if belief.keep_views else bag.sets.without_views(self.machine)
        if not sets.exact[0]:
            sets = sets.thinned(max(self._growth.room, belief.capacity), self._rng)
        self.was_told_all = all(move != UNKNOWN for move, *_ in stored)
        self.bag = replace(bag, sets=sets)
        self._know(self.bag)
        belief.resume(self.bag)
        self._last.learn(int(bag.paths[0]), sets)
        return len(stored)

    def is_sure(self, text: str) -> bool:
        """Whether a move is certainly legal now: in all particles, if these are all, or the role
        knows all its past moves."""
        bag, move = self.bag, move_of(self.machine, text)
        if bag.depleted[0] or move == UNKNOWN or not (bag.exact[0] or self.was_told_all):
            return False
        return bool(are_legal(self.machine, bag.states_of(0), self.role, move).all())

    def turn_of(self, move: str | None, percepts: Sequence[str] | None) -> tuple[int, int]:
        """The ids of a turn; `UNKNOWN` for anything missing, or not in the rules."""
        return move_of(self.machine, move), percepts_of(self.machine, percepts)

    def _turn(
        self, move: str | None, percepts: Sequence[str] | None, answer: Submission
    ) -> list[int]:
        """The ids of a turn with its answer: see `PathTree.extend`."""
        turn = self.turn_of(move, percepts)
        return [*turn, refused_of(self.machine, turn[0], *answer)]

    def ended(self, move: str | None, percepts: Sequence[str] | None, number: int) -> States | None:
        """States in which a turn may have ended the match; None if none is found.

        A bag holds no terminal states. So the turn is played at random from states of the bag;
        terminal successors that agree with move and percepts are returned.

        Args:
            move, percepts: as for `Player.observe`.
            number: number of states to draw from the bag.
        """
        machine, bag = self.machine, self.bag
        own_move = None if move is None else machine.move_id(move)
        own_percepts = None if percepts is None else machine.percept_id(percepts)
        if bag.depleted[0] or own_move is None or own_percepts is None:
            return None
        states = bag.sets.states.take(bag.draw(0, number, self._rng))
        legal = is_legal(machine, states, self.role, np.full(len(states), own_move))
        if not legal.any():
            return None
        states = states.take(np.flatnonzero(legal))
        roles = range(len(machine.roles))
        joint = np.stack([random_moves(machine, states, r, self._rng) for r in roles], axis=1)
        joint[:, self.role] = own_move
        states, percept_ids = machine.step(states, joint)
        fits = (percept_ids[:, self.role] == own_percepts) & machine.terminal(states)
        return states.take(np.flatnonzero(fits)) if fits.any() else None

    def spare_bag(self, deadline: Deadline | None) -> Bags | None:
        """A bag of states alone for a path without particles, if one can be found."""
        if self.bag.exact[0]:
            return None  # proved: no state is possible
        if deadline is not None and self.bag.depleted[0]:
            self._begin(deadline.part(SOLVING_SHARE), at_risk=True)
            self.bag = self.belief.at(self.bag.paths, self.role, self._rng)
        if deadline is not None and not self.bag.depleted[0]:
            self._know(self.bag)
            return self.bag
        self._begin(deadline)
        bag = self._ask_last()
        if bag.depleted[0]:
            return None
        if bag.sound:
            self._know(bag)
        return bag

    def guesses(self) -> GuessedStates:
        """Guesses of the present state, from the last bag that had particles.

        Raises:
            MachineError: a role is stuck.
        """
        if self._guesses is None:
            lanes = self.last_known.draw(0, GUESSED, self._rng)
            states = self.last_known.sets.states.take(lanes)
            self._guesses = GuessedStates(self.machine, self.role, self._rng, states)
        for turn in self._turns_since:
            self._guesses.play_on(turn)
        self._turns_since.clear()
        return self._guesses

    def grow(self, deadline: Deadline, *others: FollowsPaths) -> None:
        """Draw more samples of the present path until the bag is full, or the time is up.

        Args:
            deadline: checked every few milliseconds.
            others: see `prune`.
        """
        at_risk = self._growth.is_at_risk or self._is_after_gap or bool(self.bag.depleted[0])
        if at_risk and self._may_grow():
            self._solve(deadline.part(SOLVING_SHARE))
        fruitless = 0
        while fruitless < MAX_FRUITLESS and self._may_grow() and not deadline.passed():
            self._begin(deadline)
            old_bag = self.bag
            self.bag = self.belief.enlarge(old_bag, self._watch.slices.size, self._rng)
            if self._watch.is_over():
                return
            self._watch.slices.end()
            if self.bag is old_bag:
                continue  # the whole sample died: no evidence that none is left
            self._know(self.bag)
            is_new = len(self.bag.sets.states) > len(old_bag.sets.states)
            fruitless = 0 if is_new else fruitless + 1
            self.prune(*others, deadline=deadline)

    @property
    def is_scarce(self) -> bool:
        """Whether the bag may soon be empty."""
        return self._growth.is_scarce or (self._is_after_gap and self._may_grow())

    @property
    def _is_after_gap(self) -> bool:
        """Whether turns lately were unknown, but the last one is not."""
        has_percepts = bool(self.tree.last_turns(self.bag.paths)[0, 1] != UNKNOWN)
        return has_percepts and self.tree.has_gap(int(self.bag.paths[0]))

    def _solve(self, deadline: Deadline) -> None:
        """Let the sampler solve for paths: always if the bag is empty, otherwise only if there is
        more time than in the last attempt that failed."""
        there_was_s, belief = deadline.left_s(), self.belief
        if there_was_s < self._too_short_s and not self.bag.depleted[0]:
            return
        old_bag = self.bag
        self._begin(deadline, at_risk=True)
        if not (isinstance(belief, HyperPlaySampler) and belief.would_solve(old_bag)):
            return
        self.bag = self.belief.enlarge(old_bag, self._watch.slices.size, self._rng)
        if self.bag is old_bag:
            self._too_short_s = 2 * there_was_s
        else:
            self._know(self.bag)

    def _know(self, bag: Bags) -> None:
        """Record a bag with particles of the present turn."""
        self.last_known = bag
        self._guesses = None
        self._turns_since.clear()

    def quality(self) -> Quality:
        """The quality of the present bag."""
        if isinstance(self.belief, HyperPlaySampler):
            return self.belief.quality(self.bag)
        return quality_of(self.machine, self.bag)

    def prune(
        self, *others: FollowsPaths, deadline: Deadline | None = None, decides: bool = False
    ) -> None:
        """Forget paths that cannot recur, if there are many.

        Args:
            others: all other holders of nodes of the same tree.
            deadline: pruning is postponed if there is too little time.
            decides: whether a move may be due: then, unless it is forced, pruning is postponed
                until there are several times as many paths.
        """
        size = len(self.tree)
        if size < self._prune_at:
            return
        if deadline is not None and size < MAX_PATHS:
            if self._path_s * size > PRUNING_SHARE * deadline.left_s():
                return
            if decides and size < PUT_OFF * self._prune_at and self._has_choice():
                return
        began_s, there_was_s = 0.0, 0.0
        if deadline is not None:
            began_s, there_was_s = deadline.clock(), deadline.left_s()
        beliefs: list[FollowsPaths] = [self.belief, *others, self._last]
        # Only the present bag is living: its continuations are kept. Older bags are only pinned, or
        # everything tried since then would be kept while no particle is left.
        pinned = [self.last_known.nodes, *(belief.views for belief in beliefs)]
        is_needed = self.tree.reachable(self.bag.nodes, np.concatenate(pinned))
        num_needed = int(is_needed.sum())
        self._prune_at = MIN_NODES + int(FORGETS * num_needed)
        if FORGETS * num_needed > size:
            return
        numbers = self.tree.keep(is_needed)
        for belief in beliefs:
            belief.renumber(numbers)
        is_known = self.last_known is self.bag
        self.bag = self.bag.renumbered(numbers)
        self.last_known = self.bag if is_known else self.last_known.renumbered(numbers)
        if deadline is not None:
            # After the deadline its clock may jump, so the time of pruning is unknown: double it.
            took_s = deadline.clock() - began_s
            known_s = self._path_s
            self._path_s = min(took_s / size, known_s) if took_s < there_was_s else 2 * known_s

    def _has_choice(self) -> bool:
        """Whether several moves may be legal now."""
        return len(candidates(self.machine, self.bag).values) > 1

    def _advance(self, bag: Bags, turn: list[int]) -> Bags:
        move, percepts, refused = _arrays(turn)
        if bag.depleted[0] and not bag.exact[0]:
            if self._has_guesses:
                return self._empty_bag(bag, turn)
            paths = self.tree.extend(bag.paths, move, percepts, refused)
            return self.belief.at(paths, self.role, self._rng)
        return self.belief.advance(bag, move, percepts, self._rng, refused)

    def _empty_bag(self, bag: Bags, turn: list[int]) -> Bags:
        """The empty bag one turn later."""
        move, percepts, refused = _arrays(turn)
        paths = self.tree.extend(bag.paths, move, percepts, refused)
        sets = depleted_segments(self.machine, 1, keep_views=bag.sets.views is not None)
        return Bags(self.role, paths, np.zeros(1, dtype=np.int64), sets)

    def _ask_last(self) -> Bags:
        """The bag of the last finder for the present path, whose own bag is empty."""
        sets = self._last.fill(self.bag, self._rng)
        guessed = len(sets.states) if self._has_guesses else 0
        return Bags(self.role, self.bag.paths, np.zeros(1, dtype=np.int64), sets, guessed)

    def _may_grow(self) -> bool:
        return not self.bag.exact[0] and len(self.bag.sets.states) < self._growth.room

    def _learn_growth(self, old_bag: Bags, deadline: Deadline) -> None:
        took_s = deadline.clock() - self._watch.began_s
        there_was_s = max(deadline.at_s - self._watch.began_s, 0.0)
        self._growth.learn(old_bag, self.bag, took_s, there_was_s, self.belief.capacity)

    def _begin(self, deadline: Deadline | None, *, at_risk: bool = False) -> None:
        """Begin work that must end at a deadline."""
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
# From text to ids: a role's evidence about a turn.
#
# Moves and percepts that do not occur in the rules constrain nothing, and are logged.

_log = logging.getLogger(__name__)


def move_of(machine: Machine, text: str | None) -> int:
    """The id of a move; `UNKNOWN` if it is missing, or not in the rules."""
    if text is None:
        return UNKNOWN
    move = machine.move_id(canonical_term(text))
    if move is None:
        _log.warning("unknown move %s: it is ignored", text)
        return UNKNOWN
    return move


def percepts_of(machine: Machine, texts: Sequence[str] | None) -> int:
    """The id of a set of percepts; `UNKNOWN` if it is missing, or not in the rules."""
    if texts is None:
        return UNKNOWN
    percepts = machine.percept_id([canonical_term(text) for text in texts])
    if percepts is None:
        _log.warning("unknown percepts %s: they are ignored", " ".join(texts))
        return UNKNOWN
    return percepts


def refused_of(machine: Machine, executed: int, submitted: str | None, in_time: bool) -> int:
    """The last argument of `PathTree.extend`, from a submission and the executed move."""
    answered = None if submitted is None else machine.move_id(canonical_term(submitted))
    if executed == UNKNOWN:
        return answered if in_time and answered is not None else UNKNOWN
    if submitted is None:
        return UNKNOWN if in_time else DRAWN
    if answered == executed:
        return UNKNOWN
    # A move that is not in the rules is legal nowhere, so it excludes no state.
    return answered if in_time and answered is not None else DRAWN


# ------------------------------------------------------------------------
# Sizes that adapt to the clock: the work between two looks (`Slices`), and the bag (`BagGrowth`).
#
# A bag grows while nobody waits for a move, and this work must stop within milliseconds when
# somebody does. The time of a thousand lanes differs a thousandfold between machines, so samplers
# report their looks at the clock here (`BeliefWatch`) and get the number of lanes until the next
# look. It doubles if looks come much more often than every `SLICE_S`, and halves if they come
# later:
#
#     look   0.0 ms   0.3 ms   0.9 ms   3.0 ms   9.2 ms
#     lanes  128      256      512      512      256

SLICE_S = 0.004
SLICE_SHARE, LONGEST_SLICE_S = 0.01, 0.02
"""Most time between two looks: a share of the available time, between the first and the last of
these. One call of a large circuit takes some milliseconds, for few lanes as for many."""

FIRST_LANES, MIN_LANES = 128, 32
"""First and least number of lanes between two looks."""

FIRST_LANES_PER_S, NEWS = 250_000.0, 0.5
"""The assumed speed at first, and the weight of each new measurement."""

FIRST_SIZE, MIN_SIZE, MAX_SIZE = 32, 4, 1024
"""First, least and largest number of particles of a new sample."""


class Slices:
    """Sizes of the next pieces of work.

    Attributes:
        size: particles to draw at once.
        lanes: number of lanes to step until the next look at the clock.
        lanes_per_s: lanes that can be stepped in a second, in batches that fill a slice.
    """

    def __init__(self) -> None:
        self.size = FIRST_SIZE
        self.lanes_per_s = FIRST_LANES_PER_S
        self.lanes = FIRST_LANES
        self._began_s = self._looked_s = 0.0
        self._num_looks = 0
        self._slice_s = SLICE_S

    def begin(self, now_s: float, until_s: float) -> None:
        """Begin work that must end at a given time."""
        self._began_s = self._looked_s = now_s
        self._num_looks = 0
        self._slice_s = min(max(SLICE_SHARE * (until_s - now_s), SLICE_S), LONGEST_SLICE_S)

    def look(self, now_s: float, num_lanes: int) -> None:
        """Record a look at the clock, after `num_lanes` lanes."""
        took_s = now_s - self._looked_s
        self._looked_s = now_s
        self._num_looks += 1
        if took_s > self._slice_s / 4 and 2 * num_lanes >= self.lanes:
            self.lanes_per_s += NEWS * (num_lanes / took_s - self.lanes_per_s)
        if took_s > self._slice_s:
            self.lanes = max(self.lanes // 2, MIN_LANES)
        elif took_s < self._slice_s / 4 and 2 * num_lanes >= self.lanes:
            self.lanes = min(2 * self.lanes, LANES_AT_ONCE)

    def end(self) -> None:
        """Record that a sample was drawn since `begin`, and adapt the size of the next one.

        The mean time between looks counts, because a busy computer delays single looks.
        """
        mean_s = (self._looked_s - self._began_s) / max(self._num_looks, 1)
        if mean_s > self._slice_s:
            self.size = max(self.size // 2, MIN_SIZE)
        elif mean_s < self._slice_s / 2:
            self.size = min(2 * self.size, MAX_SIZE)


class BeliefWatch:
    """The clock of the beliefs of one machine: when to stop, and how often to look.

    Args:
        machine: counts the lanes that are stepped.

    Attributes:
        slices: adapted by all the work that is watched.
        began_s: when the present work began, if it has a deadline.
    """

    def __init__(self, machine: Machine) -> None:
        self.slices = Slices()
        self.began_s = 0.0
        self._machine = machine
        self._deadline: Deadline | None = None
        self._looked_at = 0

    def begin(self, deadline: Deadline | None) -> None:
        """Begin work that must end at a deadline, if there is one."""
        self._deadline = deadline
        if deadline is not None:
            self.began_s = deadline.clock()
            self.slices.begin(self.began_s, deadline.at_s)
            self._looked_at = self._machine.states_visited

    def is_over(self) -> bool:
        """Whether the deadline has passed; for `Sampler.stop`."""
        if self._deadline is None:
            return False
        now_s = self._deadline.clock()
        if now_s >= self._deadline.at_s:
            return True
        visited = self._machine.states_visited
        self.slices.look(now_s, visited - self._looked_at)
        self._looked_at = visited
        return False

    def is_past(self, share: float) -> bool:
        """Whether more than this share of the time from begin to deadline is over."""
        if self._deadline is None:
            return False
        now_s = self._deadline.clock()
        return now_s - self.began_s > share * (self._deadline.at_s - self.began_s)

    def affordable(self, share: float) -> int | None:
        """Lanes that can be stepped in this share of the time; None if there is no deadline."""
        if self._deadline is None:
            return None
        return int(self.slices.lanes_per_s * share * max(self._deadline.at_s - self.began_s, 0.0))

    def lanes(self) -> int:
        """Number of lanes to step until the next call; for `Sampler.lanes_at_once`."""
        return LANES_AT_ONCE if self._deadline is None else self.slices.lanes


# ------------------------------------------------------------------------
# The size of the bag of a match under a clock, adapted turn by turn.
#
# It doubles as long as advancing the bag takes little of the available time. If many entries die in
# a turn, the bag may be larger and take more time, because a later turn could kill all of it.

FIRST_ROOM = 256
RISKY, MAX_ROOM = 20, 1 << 15
"""Most factor for the entries of a bag whose entries die; the second number bounds its memory."""

MANY_DIED = 0.5
"""If a greater share of a bag died, the time may include a search for new entries."""

RISK_KEPT = 0.9
"""Share of the risk that remains a turn later."""

SURVIVORS, SCARCE_TURNS = 4, 2
"""A bag is likely to die if, for this many turns in a row, fewer entries than this would survive a
turn as bad as the worst recent one."""


class BagGrowth:
    """Adapts the size of the bag of one match.

    Attributes:
        room: entries that the bag may be grown to, and advanced with.

    Args:
        most: largest `room` for a bag that is not at risk.
        share: share of the available time for advancing such a bag.
    """

    def __init__(self, most: int, share: float = ROOM_SHARE) -> None:
        self._usual_most, self._usual_share = most, share
        self.room = min(FIRST_ROOM, most)
        self._risk = 0.0
        self._scarce = 0  # turns in a row after which the bag was likely to die

    @property
    def is_scarce(self) -> bool:
        """Whether one more turn as bad as the worst recent one would leave almost no entry."""
        return self._scarce > 0

    @property
    def is_at_risk(self) -> bool:
        """Whether the bag is likely to die."""
        return self._scarce >= SCARCE_TURNS

    def learn(
        self, old_bags: Bags, new_bags: Bags, took_s: float, there_was_s: float, capacity: int
    ) -> None:
        """Record that a bag was advanced by one turn.

        Args:
            took_s, there_was_s: time spent, and time available.
            capacity: least entries of a bag.
        """
        size, is_exact = len(new_bags.sets.states), bool(new_bags.exact[0])
        # The risk is the worst recent death rate: it rises immediately and decays slowly.
        death_rate = 1 - size / max(len(old_bags.sets.states), 1)
        self._risk = max(0.0 if is_exact else death_rate, RISK_KEPT * self._risk)
        is_scarce = 0 < size * (1 - self._risk) < SURVIVORS
        lacks = not is_exact and new_bags.sets.sizes[new_bags.segment[0]] > LARGER * size
        self._scarce = self._scarce + 1 if is_scarce and lacks else 0
        if is_exact:
            return
        most = max(min(int(self._usual_most * RISKY**self._risk), MAX_ROOM), self._usual_most)
        usual = self._usual_share
        share = usual + self._risk * max(RISKY_SHARE - usual, 0.0)
        searched = death_rate >= MANY_DIED or 2 * size < capacity  # the time includes a search
        if took_s > share * there_was_s and not searched:
            self.room = max(self.room // 2, min(capacity, most))
        elif took_s < share / 2 * there_was_s and 2 * len(old_bags.sets.states) >= self.room:
            self.room = min(2 * self.room, most)
