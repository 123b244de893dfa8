"""The common parts of all players with a belief: everything but how they decide.

A turn is observed by a `Tracker`, which keeps a bag of particles. To choose, a player takes the
moves that are legal in some particle, plays a single one at once, and otherwise calls `decide`. The
result is replaced if it may be refused and another move as good cannot (`risk`). If `decide` fails,
or no particle is left, the player is rescued: by a new bag of states, or by moves that were legal
last. So `choose` never raises, and `Decision.fault` says what happened.

    class Cautious(BeliefPlayer):
        def decide(self, bag, deadline):
            return move, values
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ggp.belief import (
    DEFAULT_EXACT,
    OWN_COMPLETIONS,
    Bags,
    FollowsPaths,
    HyperPlaySampler,
    PathTree,
    Sampler,
    quality_of,
)
from ggp.belief.sampler import Finder
from ggp.errors import GGPError, MachineError
from ggp.machine.base import UNKNOWN, FloatArray, IntArray
from ggp.players.options.option_fields import whole
from ggp.players.parts.risk import Candidates, Doubts, Risk, candidates_of, prudent, sure_share
from ggp.players.parts.slices import ROOM_SHARE
from ggp.players.parts.tracker import Submission, Tracker
from ggp.players.player import Choice, Context, Decision, MoveValue, checked_choice
from ggp.search.anytime import Deadline, OutOfTime, part_of
from ggp.search.estimates import TIE_TOLERANCE, candidates

# ------------------------------------------------------------------------
# The parts of players that use the time of others for more than particles.

PONDER_GROW_SHARE = 0.2
"""Share of the time of others that is spent on more particles by players that also think on."""


@runtime_checkable
class ThinksOn(Protocol):
    """A player that searches for what may come while nobody waits for a move."""

    def think_on(self, bag: Bags, deadline: Deadline, submitted: int | None) -> None:
        """Search until the deadline.

        Args:
            bag: one bag with particles.
            deadline: as for `Pondering.ponder`.
            submitted: the move that it decided on in this turn, if it has.

        Raises:
            GGPError, OutOfTime: see `BeliefPlayer.decide`.
        """
        ...


def ponder_field() -> Any:
    """The option that says how much of the time of others a player may use."""
    meaning = "percent of the others' thinking time in which it thinks on"
    return whole(100, meaning, low=0, high=100)


def ponder_share(options: Any) -> float:
    """Share of the time of others that a player may use; options of other projects may lack it."""
    return getattr(options, "ponder", 100) / 100


OBSERVE_SHARE = 0.5
"""Share of the time that a player may spend on finding particles."""

GROW_SHARE, SCARCE_SHARE = 0.1, 0.5
"""Shares of the rest that are spent on more particles: if there are some, and if these are so few
that there may soon be none."""

FEW_PARTICLES, FEW_ATTEMPTS = 16, 10_000
"""Limits of the belief of players that do not search."""

_log = logging.getLogger(__name__)


class BeliefPlayer(ABC):
    """A player with a bag of particles; subclasses define how it decides.

    Attributes:
        tells_policy: whether the probabilities that it reports, if any, are its whole policy:
            the same for all its random choices.
    """

    tells_policy = False

    def __init__(self, options: Any, context: Context) -> None:
        self.options, self.context = options, context
        self.machine, self.role, self.rng = context.machine, context.role, context.rng
        self.turn, self._started_s, self._observed_s = 0, 0.0, 0.0
        self._visited_before = self.machine.states_visited
        # Lanes stepped by `observe` since the last decision, and those stepped before this one, if
        # one is being made: the machine may also serve others in between.
        self._observed_states, self._began_at = 0, UNKNOWN
        self._fault: str | None = None
        self._submitted: int | None = None  # the decision of this turn
        self._warned: set[type[GGPError]] = set()
        # Those of the bag on which the decision is based.
        self._candidates: list[int] = []
        self._doubts = Doubts(self.machine, context.program)
        self._risky: Candidates | None = None  # if some of them may be refused, some not
        self.probabilities: Mapping[str, float] | None = None
        """For `Decision.probabilities`: `decide` may set it."""
        belief = context.belief or self.sampler(PathTree(self.machine))
        last, share = self.last_finder(belief), self.room_share
        follows = belief, self.machine, self.role, self.rng, self.most_particles
        self.tracker = Tracker(*follows, last=last, share=share)

    # ---------------------------------------------------------------- its parts

    @property
    def most_particles(self) -> int:
        """Number of particles that its bag is grown to if there is a clock, and time."""
        return FEW_PARTICLES

    room_share = ROOM_SHARE  # see `Growth`

    @property
    def rescues(self) -> bool:
        """Whether to look for another bag when no particle is left."""
        return True

    @property
    def retry_share(self) -> float:
        """Share of time or counts for another try after a refusal: fewer moves, and no others."""
        return 1.0

    effort = 1.0  # the share of the usual counts for this decision

    def sampler(self, tree: PathTree) -> Sampler:
        """The belief of the player's own bag."""
        return HyperPlaySampler(
            self.machine,
            tree,
            capacity=FEW_PARTICLES,
            max_attempts=FEW_ATTEMPTS,
            follows=True,
            completions=OWN_COMPLETIONS,
            solves=True,
        )

    @property
    def belief(self) -> Sampler | None:
        """See `Believing`: a sampler that knows the sets of paths, whatever was asked before."""
        belief = self.tracker.belief
        return belief if isinstance(belief, HyperPlaySampler) else None

    def last_finder(self, belief: Sampler) -> Finder | None:
        """The finder to ask when no particle is left: see `Tracker`."""
        return None

    def simulated(self) -> tuple[FollowsPaths, ...]:
        """Other users of the same path tree: beliefs made for other roles, and so on."""
        return ()

    @abstractmethod
    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """A candidate, and the player's values of all of them.

        Args:
            bag: one bag with particles, whose role has several candidates (or one, if its value was
                asked for).

        Raises:
            GGPError: it cannot decide; then it plays a fallback, as it does after `OutOfTime`.
        """

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """Like `decide`, in a bag of states found anew after no particle was left."""
        return self.safest(bag), ()

    # ---------------------------------------------------------------- Player

    @property
    def states_visited(self) -> int:
        return self.machine.states_visited - self._visited_before

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        started, visited = self.context.clock(), self.machine.states_visited
        self.turn += 1
        self._submitted = None
        answer = Submission(submitted, in_time)
        try:
            try:
                self.tracker.observe(move, percepts, answer, part_of(deadline, OBSERVE_SHARE))
                if deadline is not None:
                    share = SCARCE_SHARE if self.tracker.is_scarce else GROW_SHARE
                    self.tracker.grow(part_of(deadline, share), *self.simulated())
            finally:
                self.tracker.prune(*self.simulated(), deadline=deadline, decides=True)
            self._fault = None
        except GGPError as error:
            self._warn(error)
            self._fault = str(error)
        self._observed_s += self.context.clock() - started
        self._observed_states += self.machine.states_visited - visited

    def ponder(self, deadline: Deadline) -> None:
        """Think ahead in the share of the others' time that it may use."""
        self.think_ahead(deadline.part(ponder_share(self.options)))

    def think_ahead(self, deadline: Deadline) -> None:
        """Find more particles for the path so far, and think on, while nobody waits for a move.

        Ends within milliseconds of the deadline, and earlier if there is little more to find.
        """
        try:
            thinker = self if isinstance(self, ThinksOn) else None
            growing = deadline.part(1.0 if thinker is None else PONDER_GROW_SHARE)
            self.tracker.grow(growing, *self.simulated())
            if not (bag := self.tracker.bag).depleted[0]:
                self._fault = None  # finds what was not found in time before
                if thinker is not None and not deadline.passed():
                    thinker.think_on(self._considered(bag), deadline, self._submitted)
        except GGPError as error:
            self._warn(error)
        except OutOfTime:
            pass

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        self._started_s, self._began_at = self.context.clock(), self.machine.states_visited
        self.probabilities, self._risky = None, None
        fault = self._fault
        move: int | None = None
        values: tuple[MoveValue, ...] = ()
        bag = self.tracker.bag
        if fault is None:
            try:
                move, values = self._choice(bag, deadline, value_forced=value_forced)
            except GGPError as error:
                self._warn(error)
                fault = str(error)
            except OutOfTime:
                fault = "the time ran out before it had decided"
        if move is None and (spare := self._spare_bag(deadline)) is not None:
            bag = spare
            try:
                move, values = self.rescue(bag, deadline)
                what = "that agree with what was seen lately" if bag.guessed else "found anew"
                fault = f"{fault}; decided in {bag.sets.counts[0]} states {what}"
            except GGPError as error:
                self._warn(error)
        if move is None:
            move = self._fallback()
        self._submitted = move
        told = self.tracker.quality() if bag is self.tracker.bag else quality_of(self.machine, bag)
        decision = replace(self.decision(move, values, bag, fault), quality=told.as_json())
        self._observed_s, self._observed_states, self._began_at = 0.0, 0, UNKNOWN
        return decision

    # ---------------------------------------------------------------- for subclasses

    @property
    def visited_since_decision(self) -> int:
        """Lanes stepped since the last decision, including belief updates."""
        decides = self._began_at != UNKNOWN
        now = self.machine.states_visited - self._began_at if decides else 0
        return self._observed_states + now

    def report(self, move: int, values: tuple[MoveValue, ...]) -> None:
        """Report the best move so far to whoever asked for reports."""
        if self.context.report is not None:
            move = self._prudent(move, values)
            self.context.report(self.decision(move, values, self.tracker.bag))

    def unvalued(self, moves: Sequence[int]) -> tuple[MoveValue, ...]:
        """Candidates without values."""
        return tuple(MoveValue(self.machine.move_text(m), None, None, 0) for m in moves)

    def mixed(self, moves: IntArray, shares: FloatArray) -> int:
        """A move drawn with these probabilities, which are reported."""
        texts = map(self.machine.move_text, moves.tolist())
        self.probabilities = dict(zip(texts, shares.tolist(), strict=True))
        return int(self.rng.choice(moves, p=shares))

    def safest(self, bag: Bags) -> int:
        """The candidate that is legal in most particles, by weight; among several the first by
        text.

        There must be particles.
        """
        legal = self.machine.legal(bag.states_of(0), self.role, allow_stuck=True)
        weights = np.repeat(bag.weights_of(0), legal.counts)
        moves, place = np.unique(legal.values, return_inverse=True)
        likely = np.bincount(place, weights)
        best = moves[likely >= likely.max() * (1 - TIE_TOLERANCE)].tolist()
        return int(min(best, key=self.machine.move_text))

    def decision(
        self, move: int, values: tuple[MoveValue, ...], bag: Bags, fault: str | None = None
    ) -> Decision:
        """The decision based on a bag, with the resources spent on it so far."""
        return Decision(
            move=self.machine.move_text(move),
            values=tuple(sorted(values, key=lambda v: v.move)),
            particles=int(bag.sets.counts[bag.segment[0]]),
            exact=bool(bag.exact[0]) and self.tracker.belief.enumerates,
            states_visited=self.visited_since_decision,
            seconds=self.context.clock() - self._started_s + self._observed_s,
            fault=fault,
            probabilities=self.probabilities,
            guessed=bag.guessed,
        )

    # ---------------------------------------------------------------- how it never fails

    def _choice(self, bag: Bags, deadline: Deadline | None, *, value_forced: bool) -> Choice:
        found = candidates_of(self.machine, bag, self._doubts)
        known = found.known
        if not known:
            raise MachineError("the role has no legal move in any particle")
        before, self._candidates = self._candidates, known
        self._risky = found if found.is_risky and self._risk is Risk.AVOID else None
        tries_again = len(known) < len(before) and set(known) <= set(before)
        self.effort = self.retry_share if tries_again else 1.0
        deadline = part_of(deadline, self.effort) if tries_again else deadline
        if len(known) == 1 and not value_forced:
            return known[0], self.unvalued(known)
        if self.context.report is not None:
            self.report(self.safest(bag), self.unvalued(known))
        choice = self.decide(self._considered(bag), deadline)
        move, values = checked_choice(self, choice, known)
        if self._risky is not None and self.probabilities is not None:
            return self._surely_mixed(move, self._risky), values
        return self._prudent(move, values), values

    def _considered(self, bag: Bags) -> Bags:
        """The bag, or a sample of it if it is larger than searches are made for: with a clock, sets
        that a match may narrow down are enumerated, however large they are now."""
        most = max(self.most_particles, self.tracker.belief.capacity, self._largest_set)
        if len(bag.lanes_of(0)) <= most:
            return bag
        sets = bag.sets.take(bag.segment[:1]).thinned(most, self.rng)
        return replace(bag, segment=np.zeros(1, dtype=np.int64), sets=sets)

    @property
    def _largest_set(self) -> int:
        """From the options; those of other projects' players may lack it."""
        return getattr(self.options, "exact", DEFAULT_EXACT)

    @property
    def _risk(self) -> Risk:
        """From the options; those of other projects' players may lack it."""
        return getattr(self.options, "risk", Risk.AVOID)

    def _prudent(self, move: int, values: tuple[MoveValue, ...]) -> int:
        """The move, or one that cannot be refused and is as good as far as is known."""
        if self._risky is None or move in self._risky.sure:
            return move
        sure = {self.machine.move_text(each): each for each in self._risky.sure}
        # A role that does not know its past moves has wrong ideas about its legal ones.
        likely = self.tracker.was_told_all or move in self._risky.likely
        other = prudent(self.machine.move_text(move), values, sure.keys(), likely=likely)
        return move if other is None else sure[other]

    def _surely_mixed(self, move: int, risky: Candidates) -> int:
        """A move of the player's policy without the moves that may be refused, if it has others."""
        assert self.probabilities is not None
        sure = {self.machine.move_text(each): each for each in risky.sure}
        shares = sure_share(self.probabilities, sure.keys())
        if not shares:
            found = self._prudent(move, ())
            self.probabilities = {self.machine.move_text(found): 1.0}
            return found
        self.probabilities = shares
        if move in risky.sure:
            return move
        # Later draws are the same as without this one.
        drawn = self.rng.spawn(1)[0].choice(len(shares), p=np.array(list(shares.values())))
        return sure[list(shares)[int(drawn)]]

    def _spare_bag(self, deadline: Deadline | None) -> Bags | None:
        """Another bag that agrees with the path, after no particle was left."""
        if not (self.rescues and self.tracker.bag.depleted[0]):
            return None
        try:
            bag = self.tracker.spare_bag(part_of(deadline, OBSERVE_SHARE))
            known = [] if bag is None else candidates(self.machine, bag).values.tolist()
        except GGPError as error:
            self._warn(error)
            return None
        self._candidates = known or self._candidates
        return bag if known else None

    def _fallback(self) -> int:
        """A move that is legal in most of the states that the role may be in, judging by the turn;
        otherwise one of the last candidates, or one of those at the start.

        Raises:
            MachineError: no legal move of the role was ever known.
        """
        try:
            states = self.tracker.guessed_states()
            legal = self.machine.legal(states, self.role, allow_stuck=True).values
            listed, counts = np.unique(legal, return_counts=True)
            moves = listed[counts == counts.max(initial=0)].tolist()
            moves.sort(key=self.machine.move_text)
        except GGPError:
            moves = []
        if not (moves := moves or self._candidates):
            moves = candidates(self.machine, self.tracker.belief.start(self.role)).values.tolist()
        if not moves:
            raise MachineError(f"no legal move of {self.machine.roles[self.role]} is known")
        return int(moves[self.rng.integers(len(moves))])

    def _warn(self, error: GGPError) -> None:
        # A bag that is lost is often lost for the rest of the match, for hundreds of turns.
        level = logging.INFO if type(error) in self._warned else logging.WARNING
        self._warned.add(type(error))
        _log.log(level, "%s as %s: %s", self.context.name, self.machine.roles[self.role], error)
