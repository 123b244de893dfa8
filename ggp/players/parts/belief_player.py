"""The base class of players with a belief: everything except their decisions.

It gets moves and percepts (`observe`) and returns decisions (`choose`). A `Tracker` turns each turn
into a bag of particles. The candidates are the moves that are legal in some particle. A single
candidate is played immediately, otherwise the subclass's `decide` gets the bag. Its move is
replaced if it may be refused and an equally good move cannot (`risk`). If `decide` fails, or no
particle is left, the player is rescued: by a new bag of states, or by moves that were legal last.
So `choose` never raises, and `Decision.fault` names the problem.

    class Cautious(BeliefPlayer):
        def decide(self, bag, deadline):
            return move, values
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from math import hypot
from typing import Any, NamedTuple, Protocol, runtime_checkable

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
from ggp.belief.snapshots import write_bag
from ggp.errors import GGPError, MachineError
from ggp.gdl import parse_term
from ggp.gdl.program import LEGAL, NormalRule, Program, unify
from ggp.gdl.safety import is_range
from ggp.gdl.terms import Compound, Signature, Term, signature, variables
from ggp.machine.arrays import first_seen
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, is_open
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import choice, whole
from ggp.players.parts.tracker import ROOM_SHARE, Submission, Tracker
from ggp.players.player import (
    Choice,
    Context,
    Decision,
    MoveValue,
    ObservedTurn,
    checked_choice,
)
from ggp.search.anytime import Deadline, OutOfTime, part_of
from ggp.search.estimates import TIE_TOLERANCE, candidates

# ------------------------------------------------------------------------
# Pondering: players that search while others think, and do not only add particles.

PONDER_GROW_SHARE = 0.2
"""Share of the others' time for more particles, in players that also search then."""


@runtime_checkable
class ThinksOn(Protocol):
    """A player that searches future turns while nobody waits for its move."""

    def think_on(self, bag: Bags, deadline: Deadline, submitted: int | None) -> None:
        """Search until the deadline.

        Args:
            bag: one bag with particles.
            deadline: as for `Pondering.ponder`.
            submitted: the move of this turn, if it has decided.

        Raises:
            GGPError, OutOfTime: see `BeliefPlayer.decide`.
        """
        ...


def ponder_field() -> Any:
    """The option `ponder`: how much of the others' time a player may use."""
    meaning = "percent of the others' thinking time that it uses"
    return whole(100, meaning, low=0, high=100)


def ponder_share(options: Any) -> float:
    """Share of the others' time that a player may use; options of other projects may lack it."""
    return getattr(options, "ponder", 100) / 100


OBSERVE_SHARE = 0.5
"""Share of the time that a player may spend on the search for particles."""

GROW_SHARE, SCARCE_SHARE = 0.1, 0.5
"""Shares of the rest for more particles: if there are enough, and if the bag may soon be empty."""

FEW_PARTICLES, FEW_ATTEMPTS = 16, 10_000
"""Particles, and attempts to find one, of players that do not search."""

_log = logging.getLogger(__name__)


class BeliefPlayer(ABC):
    """A player with a bag of particles; subclasses define how it decides.

    Attributes:
        tells_policy: whether the probabilities that it reports, if any, are its whole policy:
            they do not depend on its random choices.
    """

    tells_policy = False

    def __init__(self, options: Any, context: Context) -> None:
        self.options, self.context = options, context
        self.machine, self.role, self.rng = context.machine, context.role, context.rng
        self.turn, self._started_s, self._observed_s = 0, 0.0, 0.0
        self._visited_before = self.machine.states_visited
        # Lanes stepped by `observe` since the last decision, and by the machine before the present
        # decision, if any: the machine may also serve others in between.
        self._observed_states, self._began_at = 0, UNKNOWN
        self._fault: str | None = None
        self._submitted: int | None = None  # the decision of this turn
        self._warned: set[type[GGPError]] = set()
        # The candidates of the bag behind the decision.
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
        """Most particles of its bag if there is a clock, and time."""
        return FEW_PARTICLES

    room_share = ROOM_SHARE  # see `Growth`

    @property
    def rescues(self) -> bool:
        """Whether to search for another bag when no particle is left."""
        return True

    @property
    def retry_share(self) -> float:
        """Share of time or counts for another try after a refusal, with fewer candidates."""
        return 1.0

    effort = 1.0  # the share of the usual counts for this decision

    def sampler(self, tree: PathTree) -> Sampler:
        """The sampler of the player's own bag."""
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
        """See `Believing`: only a sampler whose sets do not depend on earlier calls."""
        belief = self.tracker.belief
        return belief if isinstance(belief, HyperPlaySampler) else None

    def snapshot(self) -> str:
        """See `Believing`."""
        return write_bag(self.machine, self.tracker.tree, self.tracker.bag, self._key)

    def resume(self, snapshot: str, turns: Sequence[ObservedTurn]) -> int:
        """See `Believing`."""
        self.turn = self.tracker.resume(snapshot, self._key, turns)
        return self.turn

    def is_sure(self, move: str) -> bool:
        """See `Believing`."""
        return self.tracker.is_sure(move)

    @property
    def _key(self) -> str:
        """The key of snapshots: game, role, and whether all moves are percepts."""
        program = self.context.program
        digest = "" if program is None else program.digest
        return f"{digest} {self.machine.roles[self.role]} {is_open(self.machine)}"

    def last_finder(self, belief: Sampler) -> Finder | None:
        """The finder to ask when no particle is left: see `Tracker`."""
        return None

    def simulated(self) -> tuple[FollowsPaths, ...]:
        """Other users of the same path tree, such as beliefs for other roles."""
        return ()

    @abstractmethod
    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """A candidate, and the player's values of all candidates.

        Args:
            bag: one bag with particles; the role has several candidates (or one, if its value is
                needed).

        Raises:
            GGPError: it cannot decide; it then plays a fallback, as after `OutOfTime`.
        """

    def rescue(self, bag: Bags, deadline: Deadline | None) -> Choice:
        """Like `decide`, for a bag of states from a new search after no particle was left."""
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
        """Think ahead in the player's share of the others' time."""
        self.think_ahead(deadline.part(ponder_share(self.options)))

    def think_ahead(self, deadline: Deadline) -> None:
        """Find more particles for the path so far, and search, while nobody waits for a move.

        Ends within milliseconds of the deadline, or earlier if there is little more to find.
        """
        try:
            thinker = self if isinstance(self, ThinksOn) else None
            growing = deadline.part(1.0 if thinker is None else PONDER_GROW_SHARE)
            self.tracker.grow(growing, *self.simulated())
            if not (bag := self.tracker.bag).depleted[0]:
                self._fault = None  # particles that an earlier search missed
                if thinker is not None and not deadline.passed():
                    thinker.think_on(self._thin_bag(bag), deadline, self._submitted)
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
                origin = "that agree with what was seen lately" if bag.guessed else "found anew"
                fault = f"{fault}; decided in {bag.sets.counts[0]} states {origin}"
            except GGPError as error:
                self._warn(error)
        if move is None:
            move = self._fallback()
        self._submitted = move
        grade = self.tracker.quality() if bag is self.tracker.bag else quality_of(self.machine, bag)
        decision = replace(self.decision(move, values, bag, fault), quality=grade.as_json())
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
        """Report the best move so far, if reports are requested."""
        if self.context.report is not None:
            move = self._safer(move, values)
            self.context.report(self.decision(move, values, self.tracker.bag))

    def unvalued(self, moves: Sequence[int]) -> tuple[MoveValue, ...]:
        """Candidates without values."""
        return tuple(MoveValue(self.machine.move_text(m), None, None, 0) for m in moves)

    def mixed(self, moves: IntArray, shares: FloatArray) -> int:
        """A move drawn with these probabilities, which the decision reports."""
        texts = map(self.machine.move_text, moves.tolist())
        self.probabilities = dict(zip(texts, shares.tolist(), strict=True))
        return int(self.rng.choice(moves, p=shares))

    def safest(self, bag: Bags) -> int:
        """The candidate that is legal in most particles, by weight; ties go to the first by text.

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
        """The decision from a bag, with the effort so far."""
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
        told_all = self.tracker.was_told_all
        options = candidates_of(self.machine, bag, self._doubts, told_all=told_all)
        moves = options.moves
        if not moves:
            raise MachineError("the role has no legal move in any particle")
        last_candidates, self._candidates = self._candidates, moves
        self._risky = options if options.is_risky and self._risk is Risk.AVOID else None
        tries_again = len(moves) < len(last_candidates) and set(moves) <= set(last_candidates)
        self.effort = self.retry_share if tries_again else 1.0
        deadline = part_of(deadline, self.effort) if tries_again else deadline
        if len(moves) == 1 and not value_forced:
            return moves[0], self.unvalued(moves)
        if self.context.report is not None:
            self.report(self.safest(bag), self.unvalued(moves))
        choice = self.decide(self._thin_bag(bag), deadline)
        move, values = checked_choice(self, choice, moves)
        if self._risky is not None and self.probabilities is not None:
            return self._mix_sure(move, self._risky), values
        return self._safer(move, values), values

    def _thin_bag(self, bag: Bags) -> Bags:
        """The bag, or a sample if it is too large for a search: with a clock, sets of any size are
        enumerated, because later turns may narrow them down."""
        most = max(self.most_particles, self.tracker.belief.capacity, self._largest_set)
        if len(bag.lanes_of(0)) <= most:
            return bag
        sets = bag.sets.take(bag.segment[:1]).thinned(most, self.rng)
        return replace(bag, segment=np.zeros(1, dtype=np.int64), sets=sets)

    @property
    def _largest_set(self) -> int:
        """The option `exact`; options of other projects may lack it."""
        return getattr(self.options, "exact", DEFAULT_EXACT)

    @property
    def _risk(self) -> Risk:
        """The option `risk`; options of other projects may lack it."""
        return getattr(self.options, "risk", Risk.AVOID)

    def _safer(self, move: int, values: tuple[MoveValue, ...]) -> int:
        """The move, or a sure move that seems equally good."""
        if self._risky is None or move in self._risky.sure:
            return move
        sure = {self.machine.move_text(sure_move): sure_move for sure_move in self._risky.sure}
        # A role that does not know its past moves may be wrong about its legal moves.
        likely = self.tracker.was_told_all or move in self._risky.likely
        text = prudent(self.machine.move_text(move), values, sure.keys(), likely=likely)
        return move if text is None else sure[text]

    def _mix_sure(self, move: int, risky: Candidates) -> int:
        """A move of the player's policy restricted to sure moves, if it has any."""
        assert self.probabilities is not None
        sure = {self.machine.move_text(sure_move): sure_move for sure_move in risky.sure}
        shares = sure_share(self.probabilities, sure.keys())
        if not shares:
            fallback = self._safer(move, ())
            self.probabilities = {self.machine.move_text(fallback): 1.0}
            return fallback
        self.probabilities = shares
        if move in risky.sure:
            return move
        # A child of the rng: later draws stay the same.
        index = self.rng.spawn(1)[0].choice(len(shares), p=np.array(list(shares.values())))
        return sure[list(shares)[int(index)]]

    def _spare_bag(self, deadline: Deadline | None) -> Bags | None:
        """Another bag for the path when no particle is left."""
        if not (self.rescues and self.tracker.bag.depleted[0]):
            return None
        try:
            bag = self.tracker.spare_bag(part_of(deadline, OBSERVE_SHARE))
            moves = [] if bag is None else candidates(self.machine, bag).values.tolist()
        except GGPError as error:
            self._warn(error)
            return None
        self._candidates = moves or self._candidates
        return bag if moves else None

    def _fallback(self) -> int:
        """A move that is legal in most guessed states of this turn; otherwise one of the last
        candidates, or a candidate of the first turn.

        Raises:
            MachineError: no legal move of the role was ever known.
        """
        try:
            moves = sorted(self.tracker.guesses().moves(), key=self.machine.move_text)
        except GGPError:
            moves = []
        if not (moves := moves or self._candidates):
            moves = candidates(self.machine, self.tracker.belief.start(self.role)).values.tolist()
        if not moves:
            raise MachineError(f"no legal move of {self.machine.roles[self.role]} is known")
        return int(moves[self.rng.integers(len(moves))])

    def _warn(self, error: GGPError) -> None:
        # An empty bag often stays empty for the rest of the match, for hundreds of turns.
        level = logging.INFO if type(error) in self._warned else logging.WARNING
        self._warned.add(type(error))
        _log.log(level, "%s as %s: %s", self.context.name, self.machine.roles[self.role], error)


# ------------------------------------------------------------------------
# Risk: moves that may be refused, because they are legal only in some of the possible states.
#
# `belief_player` passes in a bag and gets its candidates, or passes in a chosen move with values
# and gets a safer move. In most games a role knows its legal moves. Otherwise an illegal move is
# replaced by another one, or loses the match. So a sure move, legal in every particle, is
# preferred, unless the chosen move is better by more than the error of both values. If a role does
# not know all of its own past moves, the chosen move must also be legal with probability 1/2,
# because each mistake leaves the role knowing less; and where no move is sure, the likeliest count
# as sure. Moves that only some readings of careless rules allow (`doubtful_moves`) are not sure
# either.
#
#     particles    1 2 3      value         choice: c, though b seems better
#     a                x      90 +- 30
#     b            x   x      60 +- 10
#     c            x x x      55 +- 5

_log = logging.getLogger(__name__)


LIKELY = 0.5
"""Share of the particles, by weight, in which a move must be legal to be preferred to a sure move,
if the role does not know all of its past moves."""


LIKELIEST = 0.9
"""If no move is sure, moves that are legal in this share of the weight of the likeliest count as
sure for such a role."""


class Risk(StrEnum):
    """Treatment of moves that may be refused: avoid them as above, or ignore the risk."""

    AVOID = "avoid"
    PLAY = "play"


@dataclass(frozen=True)
class RiskOptions:
    """Options of every player with a belief."""

    risk: Risk = choice(
        Risk.AVOID,
        "moves that are illegal in some particles: avoid (unless better by more than the error), "
        "or play",
    )


class Candidates(NamedTuple):
    """Moves that are legal in some entry of a bag, in order of appearance.

    Attributes:
        moves: ids of the moves.
        sure: moves that are legal in all entries with legal moves, and that all readings of the
            rules allow. If there are none, those that are legal in nearly as many entries, by
            weight, as any, for a role that does not know all its past moves.
        likely: moves that are legal in half of the entries, by weight.
    """

    moves: list[int]
    sure: frozenset[int]
    likely: frozenset[int]

    @property
    def is_risky(self) -> bool:
        """Whether some moves are sure and others are not."""
        return 0 < len(self.sure) < len(self.moves)


class Doubts:
    """Moves that other programs may consider illegal, though our reading of the rules allows them.

    Args:
        machine: has the texts of moves.
        program: the rules of the game; None if unknown.
    """

    def __init__(self, machine: Machine, program: GameDefinition | None) -> None:
        self._machine = machine
        self._patterns = () if program is None else doubtful_moves(program.as_program())
        self._doubtful: dict[int, bool] = {}
        self._has_warned = False

    def without(self, moves: frozenset[int]) -> frozenset[int]:
        """The moves without the doubtful ones, unless all are doubtful; logged the first time."""
        if not self._patterns:
            return moves
        certain = frozenset(move for move in moves if not self._is_doubtful(move))
        if not certain or len(certain) == len(moves):
            return moves
        if not self._has_warned:
            self._has_warned = True
            patterns = ", ".join(dict.fromkeys(map(str, self._patterns)))
            _log.warning("other programs may consider moves like %s illegal: avoided", patterns)
        return certain

    def _is_doubtful(self, move: int) -> bool:
        if move not in self._doubtful:
            term = parse_term(self._machine.move_text(move))
            self._doubtful[move] = any(unify(p, term) is not None for p in self._patterns)
        return self._doubtful[move]


def candidates_of(
    machine: Machine, bag: Bags, doubts: Doubts, *, told_all: bool = True
) -> Candidates:
    """The candidates of one bag; a depleted one has none.

    Args:
        told_all: whether the role knows all its past moves.
    """
    legal = machine.legal(bag.states_of(0), bag.role, allow_stuck=True)
    first, group = first_seen(legal.values)
    moves = legal.values[first].tolist()
    is_sure = np.bincount(group, minlength=len(moves)) == np.count_nonzero(legal.counts)
    sure = frozenset(np.array(moves, dtype=np.int64)[is_sure].tolist())
    share = np.bincount(group, np.repeat(bag.weights_of(0), legal.counts), minlength=len(moves))
    lacks_sure = not sure and not told_all
    is_likely = share >= (LIKELIEST * share.max(initial=0.0) if lacks_sure else LIKELY)
    likely = frozenset(np.array(moves, dtype=np.int64)[is_likely].tolist())
    sure = likely if lacks_sure else sure
    return Candidates(moves, doubts.without(sure), likely)


def prudent(
    candidate: str, values: Sequence[MoveValue], sure: Set[str], *, likely: bool = True
) -> str | None:
    """A sure move to play instead of the chosen move; None to play the chosen move.

    Args:
        candidate: the chosen move, canonical KIF.
        values: of the candidates.
        sure: moves that are legal in every particle.
        likely: whether the chosen move may be preferred at all, see `LIKELY`.

    Returns:
        The sure move of the highest value, unless the chosen move is likely, and better by more
        than the errors of both; a value without an error is not trusted. Without values, the first
        by text.
    """
    if candidate in sure or not sure:
        return None
    valued = {value.move: value for value in values if value.value is not None}
    sure_values = [valued[move] for move in sorted(sure & valued.keys())]
    if not sure_values:
        return min(sure)
    best = max(sure_values, key=_value)
    if likely and candidate in valued:
        own_value = valued[candidate]
        if own_value.stderr is not None and best.stderr is not None:
            error = hypot(own_value.stderr, best.stderr)
            if _value(own_value) - _value(best) > error:
                return None
    return best.move


def sure_share(probabilities: Mapping[str, float], sure: Set[str]) -> dict[str, float]:
    """Probabilities of the sure moves, normalised; empty if they sum to 0.

    >>> sure_share({"a": 0.2, "b": 0.5, "c": 0.3}, sure={"a", "c"})
    {'a': 0.4, 'c': 0.6}
    """
    total = sum(share for move, share in probabilities.items() if move in sure)
    if not total:
        return {}
    return {move: share / total for move, share in probabilities.items() if move in sure}


def _value(value: MoveValue) -> float:
    return -np.inf if value.value is None else value.value


# ------------------------------------------------------------------------
# Doubtful moves: a slip in the rules leaves a variable of their rule unbound.
#
# (<= (legal ?p (go ?x ?y)) (true (at ?p ?x)))
#
# We let `?y` range over its possible values. Other programs may find no move here at all, or a move
# with a variable in it. So a player should prefer any other move.

_Positions = Set[tuple[Signature, int]]


def doubtful_moves(program: Program) -> tuple[Term, ...]:
    """Patterns of moves with an unbound variable; usually there are none.

    A variable for the role does not count: every query for legal moves binds it.
    """
    if not any(is_range(signature(x.atom)) for rule in program.rules for x in rule.body):
        return ()
    doubtful = _doubtful_positions(program.rules)
    patterns = []
    for rule in program.by_head.get(LEGAL, ()):
        names = _unbound(rule, doubtful)
        if isinstance(rule.head, Compound):
            move = rule.head.args[1]
            if any(v.name in names for v in variables(move)):
                patterns.append(move)
    return tuple(patterns)


def _doubtful_positions(rules: Iterable[NormalRule]) -> _Positions:
    """Arguments of relations that an unbound variable may reach, also through other relations."""
    rules = [rule for rule in rules if isinstance(rule.head, Compound) and rule.body]
    positions: set[tuple[Signature, int]] = set()
    while True:
        reached = {
            (signature(rule.head), i)
            for rule in rules
            if (names := _unbound(rule, positions)) and isinstance(rule.head, Compound)
            for i, arg in enumerate(rule.head.args)
            if any(v.name in names for v in variables(arg))
        }
        if reached <= positions:
            return positions
        positions |= reached


def _unbound(rule: NormalRule, doubtful: _Positions) -> Set[str]:
    """Variables of a rule that only ranges or doubtful arguments bind."""
    bound: set[str] = set()
    loose: set[str] = set()
    for literal in rule.body:
        if not literal.binds or not isinstance(literal.atom, Compound):
            continue
        sig = signature(literal.atom)
        for i, arg in enumerate(literal.atom.args):
            names = {v.name for v in variables(arg)}
            (loose if is_range(sig) or (sig, i) in doubtful else bound).update(names)
    return loose - bound
