"""Joint completions: what the other roles may have done in one turn of many particles.

For an entry (a state) and our own move, a completion is a joint move with our move in it. It
matches if it gives exactly our percepts and does not end the game. Few completions are listed,
many are drawn at random without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from ggp.machine.arrays import segment_ids
from ggp.machine.base import (
    UNKNOWN,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
)

if TYPE_CHECKING:
    from ggp.belief.segments import Evidence

DRAW_LIMIT = 4096
"""Completions drawn for one entry in one turn before giving up, in a set of moderate size."""

_FIRST_DRAWS = 16


@dataclass(frozen=True)
class OpenMoves:
    """What each role may have done in each of L lanes.

    Attributes:
        moves: for each role the lists of its open moves: ours is the move we know was made.
        log_probabilities: for each role the prior of each of these moves; 0 for a known move.
        counts: `[L]` number of completions, as a float because it may be huge; 0 where the
            lane cannot go on as the evidence says.
    """

    moves: list[Ragged]
    log_probabilities: list[FloatArray]
    counts: FloatArray


@dataclass(frozen=True)
class Completions:
    """K matching completions.

    Attributes:
        lanes: `[K]` lane that was completed.
        joint_moves: `[K, R]`.
        states, percepts: `[K]` successors and `[K, R]` percepts.
        log_factors: `[K]` by what the weight of the lane is to be multiplied: the prior of
            the completion over the probability that it is here.
        stands_for: `[K]` estimated number of matching completions each of these represents.
    """

    lanes: IntArray
    joint_moves: IntArray
    states: States
    percepts: IntArray
    log_factors: FloatArray
    stands_for: FloatArray

    def joined(self, other: Completions, machine: Machine) -> Completions:
        """These completions and then the others."""
        return Completions(
            np.concatenate([self.lanes, other.lanes]),
            np.concatenate([self.joint_moves, other.joint_moves]),
            machine.concatenate([self.states, other.states]),
            np.concatenate([self.percepts, other.percepts]),
            np.concatenate([self.log_factors, other.log_factors]),
            np.concatenate([self.stands_for, other.stands_for]),
        )


def open_moves(
    machine: Machine, role: int, states: States, offsets: IntArray, evidence: Evidence
) -> OpenMoves:
    """The moves each role may have made, given what `role` knows of the turn.

    Args:
        states: L lanes, grouped into S sets by `offsets`.
        evidence: `[S]` what the role knows.
    """
    set_of = segment_ids(offsets)
    own_moves = evidence.moves[set_of]
    refused = evidence.refused[set_of]
    moves, log_probabilities = [], []
    counts = np.ones(len(states))
    for j in range(len(machine.roles)):
        if j == machine.random_role:
            chance = machine.chance(states)
            options = Ragged(chance.offsets, chance.moves)
            with np.errstate(divide="ignore"):
                logs = np.log(chance.probabilities)
        else:
            options = machine.legal(states, j, allow_stuck=True)
            logs = np.repeat(-np.log(np.maximum(options.counts, 1)), options.counts)
        if j == role:
            counts[_contains(options, refused)] = 0.0
            options, logs = _only_known(options, logs, own_moves)
        counts *= options.counts
        moves.append(options)
        log_probabilities.append(logs)
    return OpenMoves(moves, log_probabilities, counts)


def list_completions(
    machine: Machine,
    role: int,
    states: States,
    options: OpenMoves,
    chosen: BoolArray,
    wanted: IntArray,
) -> Completions:
    """All matching completions of the chosen lanes, lane by lane.

    Args:
        chosen: `[L]` which lanes.
        wanted: `[L]` percept id the role got, or `UNKNOWN`.
    """
    lanes = np.flatnonzero(chosen & (options.counts > 0))
    counts = options.counts[lanes].astype(np.int64)
    rows = np.repeat(lanes, counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    joint_moves, log_priors = _decode(options, rows, np.arange(len(rows)) - starts)
    return _matching(
        machine, role, states, rows, joint_moves, log_priors, wanted, np.ones(len(rows))
    )


def draw_matching(
    machine: Machine,
    role: int,
    states: States,
    options: OpenMoves,
    chosen: BoolArray,
    wanted: IntArray,
    shares: IntArray,
    draw_limit: int,
    rng: np.random.Generator,
) -> Completions:
    """Some matching completions of the chosen lanes, drawn without replacement.

    Drawing stops at the (share + 1)-th match, when all completions are drawn, or at
    `draw_limit`. With k draws made, the share of completions that match is estimated without
    bias: by share / (k - 1) where the last draw was the match that stopped it, else by
    matches / k (Girshick, Mosteller & Savage, Ann. Math. Statist. 17, 1946: the expectation
    that the first draw matches, given where drawing stopped). Up to `share` matches are kept.

    Args:
        shares: `[L]` how many matches are wanted of each lane.
    """
    lanes = np.flatnonzero(chosen & (options.counts > 0))
    draws = [_Draws(options, int(lane), int(shares[lane]), draw_limit, rng) for lane in lanes]
    kept: list[Completions] = []
    active = draws
    while active:
        parts = [draw.next_moves(rng) for draw in active]
        rows = np.concatenate([np.full(len(p), d.lane) for d, p in zip(active, parts, strict=True)])
        joint_moves = np.concatenate(parts)
        found = _matching(
            machine,
            role,
            states,
            rows,
            joint_moves,
            _log_priors(options, rows, joint_moves),
            wanted,
            np.arange(len(rows), dtype=np.float64),
        )
        start = 0
        keep = np.zeros(len(found.lanes), dtype=np.bool_)
        places = found.stands_for.astype(np.int64)
        for draw, part in zip(active, parts, strict=True):
            mine = np.flatnonzero((places >= start) & (places < start + len(part)))
            keep[mine[: draw.record(places[mine] - start, len(part))]] = True
            start += len(part)
        kept.append(_select(found, keep))
        active = [draw for draw in active if not draw.done]
    return _weighted(kept, draws, options, machine)


class _Draws:
    """Drawing completions of one lane without replacement."""

    def __init__(
        self,
        options: OpenMoves,
        lane: int,
        share: int,
        draw_limit: int,
        rng: np.random.Generator,
    ) -> None:
        self.lane = lane
        self._draw_limit = draw_limit
        self.done = False
        self.num_kept = 0
        self._share = share
        self._lists = [moves[lane] for moves in options.moves]
        self._total = options.counts[lane]
        self._order: IntArray | None = None
        if self._total <= 1 << 16:
            self._order = rng.permutation(int(self._total))
        self._seen: set[tuple[int, ...]] = set()
        self._num_drawn = 0
        self._num_matches = 0
        self._stopped_at_match = False

    @property
    def matching_share(self) -> float:
        """Unbiased estimate of the share of completions that match."""
        if self._stopped_at_match:
            return self._share / (self._num_drawn - 1)
        return self._num_matches / max(self._num_drawn, 1)

    def next_moves(self, rng: np.random.Generator) -> IntArray:
        """`[n, R]` joint moves not drawn before."""
        count = int(min(max(_FIRST_DRAWS, self._num_drawn, 2 * self._share), self._draw_limit))
        count = int(min(count, self._total - self._num_drawn))
        if self._order is not None:
            digits = self._order[self._num_drawn : self._num_drawn + count]
            columns = []
            for moves in reversed(self._lists):
                columns.append(moves[digits % len(moves)])
                digits = digits // len(moves)
            return np.column_stack(columns[::-1])
        rows: list[tuple[int, ...]] = []
        while len(rows) < count:
            row = tuple(int(moves[rng.integers(len(moves))]) for moves in self._lists)
            if row not in self._seen:
                self._seen.add(row)
                rows.append(row)
        return np.array(rows, dtype=np.int64)

    def record(self, matches: IntArray, num_drawn: int) -> int:
        """Take note of the places of matches among `num_drawn` new draws; how many to keep."""
        missing = self._share + 1 - self._num_matches
        if len(matches) >= missing:
            self._num_drawn += int(matches[missing - 1]) + 1
            self._num_matches += missing
            self._stopped_at_match = self.done = True
            keep = missing - 1
        else:
            self._num_drawn += num_drawn
            self._num_matches += len(matches)
            keep = len(matches)
            self.done = self._num_drawn >= min(self._total, self._draw_limit)
        self.num_kept += keep
        return keep


def _weighted(
    parts: list[Completions], draws: list[_Draws], options: OpenMoves, machine: Machine
) -> Completions:
    found = parts[0]
    for part in parts[1:]:
        found = found.joined(part, machine)
    factor = np.zeros(len(options.counts))
    stands = np.zeros(len(options.counts))
    for draw in draws:
        if draw.num_kept:
            stands[draw.lane] = draw.matching_share * options.counts[draw.lane] / draw.num_kept
            factor[draw.lane] = log(stands[draw.lane])
    # Drawn uniformly: prior * (completions / kept) * estimated share of those that match.
    return Completions(
        found.lanes,
        found.joint_moves,
        found.states,
        found.percepts,
        found.log_factors + factor[found.lanes],
        stands[found.lanes],
    )


def _matching(
    machine: Machine,
    role: int,
    states: States,
    rows: IntArray,
    joint_moves: IntArray,
    log_priors: FloatArray,
    wanted: IntArray,
    stands_for: FloatArray,
) -> Completions:
    stepped = machine.step(states.take(rows), joint_moves)
    target = wanted[rows]
    match = (stepped.percepts[:, role] == target) | (target == UNKNOWN)
    # Whoever goes on playing knows that the game is not over: information sets consist of
    # decision states (paper 004, Definition 1).
    match &= ~machine.terminal(stepped.states)
    found = Completions(rows, joint_moves, stepped.states, stepped.percepts, log_priors, stands_for)
    return found if match.all() else _select(found, match)


def _select(found: Completions, keep: BoolArray) -> Completions:
    return Completions(
        found.lanes[keep],
        found.joint_moves[keep],
        found.states.take(np.flatnonzero(keep)),
        found.percepts[keep],
        found.log_factors[keep],
        found.stands_for[keep],
    )


def _decode(options: OpenMoves, rows: IntArray, digits: IntArray) -> tuple[IntArray, FloatArray]:
    """Joint moves and log priors of completions numbered within their lanes."""
    num_roles = len(options.moves)
    joint_moves = np.zeros((len(rows), num_roles), dtype=np.int64)
    log_priors = np.zeros(len(rows))
    for j in reversed(range(num_roles)):
        moves = options.moves[j]
        sizes = moves.counts[rows]
        at = moves.offsets[rows] + digits % sizes
        digits = digits // sizes
        joint_moves[:, j] = moves.values[at]
        log_priors += options.log_probabilities[j][at]
    return joint_moves, log_priors


def _log_priors(options: OpenMoves, rows: IntArray, joint_moves: IntArray) -> FloatArray:
    """Log prior of joint moves given by their move ids."""
    log_priors = np.zeros(len(rows))
    for j, moves in enumerate(options.moves):
        for i, lane in enumerate(rows.tolist()):
            start = int(moves.offsets[lane])
            at = start + int(np.flatnonzero(moves[lane] == joint_moves[i, j])[0])
            log_priors[i] += options.log_probabilities[j][at]
    return log_priors


def _contains(lists: Ragged, values: IntArray) -> BoolArray:
    """`[L]` whether each list holds the value of its lane."""
    owner = segment_ids(lists.offsets)
    found = np.zeros(len(values), dtype=np.bool_)
    found[owner[lists.values == values[owner]]] = True
    return found


def _only_known(lists: Ragged, logs: FloatArray, known: IntArray) -> tuple[Ragged, FloatArray]:
    """The known move alone, with probability 1, where it is legal; all moves where unknown."""
    owner = segment_ids(lists.offsets)
    target = known[owner]
    keep = (target == UNKNOWN) | (lists.values == target)
    offsets = np.zeros_like(lists.offsets)
    np.cumsum(np.bincount(owner[keep], minlength=len(known)), out=offsets[1:])
    return Ragged(offsets, lists.values[keep]), np.where(target == UNKNOWN, logs, 0.0)[keep]
