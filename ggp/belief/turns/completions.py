"""Completions: from open moves to the joint moves of one turn that give a role its percepts.

For an entry (a state) and our own move, a completion is a joint move that includes our move. It
matches if it gives exactly our percepts and does not end the game. If there are few completions,
all are listed; many are drawn at random without replacement.

We check, and see that the other role bets. In each state, every move of the other is tried:

    state            our move  other's  random   we see        prior
    other has king   check     bet      noop     bet           1 * 1/2 * 1   matches
                     check     check    noop     (the end)                   does not
    other has jack   check     bet      noop     bet           1 * 1/2 * 1   matches

Our own move has prior 1 because we chose it. Had it been drawn for us, its prior would be 1 / (our
legal moves there).

If 40 completions are too many to list and the entry needs 2, they are drawn until the third match.
If that is the ninth draw, 2 / (9 - 1) is an unbiased estimate of the share that matches: so each of
the first two matches stands for 40 * 1/4 / 2 = 5 completions, and weighs five times its prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.belief.turns.open_moves import OpenMoves
from ggp.machine.abilities import Matcher
from ggp.machine.arrays import chunks, first_seen_columns, offsets_of
from ggp.machine.base import (
    UNKNOWN,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    States,
)
from ggp.machine.mixing import GOLDEN, finalised
from ggp.machine.on_circuit import on_circuit

LANES_AT_ONCE = 1 << 15
"""Completions stepped side by side: bounds memory, and the delay of a stop."""

_FIRST_DRAWS = 16

FIRST_TRIES, ENOUGH_TRIES, TRIED_SHARE = 256, 8, 0.25
"""`sample_completions` estimates the share that matches from so many draws, and from more and more
until as many match as the second number says, or as many are drawn as this share of all."""

EXCESS = 1.5
"""It draws this many times as many as it should find: equal successors are merged."""

MAX_FOUND = 1 << 18
"""After so many matches it leaves out the rest: bounds memory."""


def never(share: float = 1.0) -> bool:
    """Always false: the time has no end, nor has a share of it."""
    return False


def lanes_at_once() -> int:
    """`LANES_AT_ONCE`: the default where there is no clock."""
    return LANES_AT_ONCE


class Polling(NamedTuple):
    """When a search stops, and how often it checks.

    Attributes:
        stop: when true, the rest is left out.
        at_once: returns the number of lanes to step between two calls of `stop`.
    """

    stop: Callable[[], bool] = never
    at_once: Callable[[], int] = lanes_at_once


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn of L lanes, with the evidence of one role.

    Attributes:
        role: index of this role.
        states: `[L]` the states before the turn.
        options: `[L]` the moves that each role may have made.
        percepts: `[L]` percept id of the role after the turn, or `UNKNOWN`.
    """

    machine: Machine
    role: int
    states: States
    options: OpenMoves
    percepts: IntArray

    def matching(self, rows: IntArray, joint_moves: IntArray) -> tuple[IntArray, States]:
        """Indices of joint moves that give the role its percepts, and their successors.

        Args:
            rows: `[K]` the lane of each joint move.
            joint_moves: `[K, R]`.
        """
        machine, states, percepts = self.machine, self.states, self.percepts
        if on_circuit(machine) or isinstance(machine, Matcher):
            at = rows
            if len(rows) < len(states):
                # Pass only the states that are completed.
                is_used = np.zeros(len(states), dtype=np.bool_)
                is_used[rows] = True
                at, used_lanes = (is_used.cumsum() - 1)[rows], is_used.nonzero()[0]
                states, percepts, rows = states.take(used_lanes), percepts[used_lanes], at
            matches = machine.step_matching(states, at, joint_moves, self.role, percepts)
            if matches is not None:
                return matches
        stepped = machine.step(states.take(rows), joint_moves)
        target = percepts[rows]
        match = np.flatnonzero((stepped.percepts[:, self.role] == target) | (target == UNKNOWN))
        return match, stepped.states if len(match) == len(rows) else stepped.states.take(match)


@dataclass(frozen=True)
class Completions:
    """K matching completions.

    Attributes:
        lanes: `[K]` the lane of each.
        joint_moves: `[K, R]`.
        states: `[K]` successors.
        log_factors: `[K]` log of the factor for the weight of the lane: the prior of the completion
            over the probability that it was drawn.
        stands_for: `[K]` estimated number of matching completions that each represents.
    """

    lanes: IntArray
    joint_moves: IntArray
    states: States
    log_factors: FloatArray
    stands_for: FloatArray

    def standing_for(self, factor: FloatArray | float) -> Completions:
        """The same completions, each standing for `factor` times as many."""
        return replace(
            self, log_factors=self.log_factors + np.log(factor), stands_for=self.stands_for * factor
        )

    @staticmethod
    def joined(machine: Machine, parts: list[Completions]) -> Completions:
        """The completions of several parts, in order."""
        if len(parts) == 1:
            return parts[0]
        return Completions(
            np.concatenate([part.lanes for part in parts]),
            np.concatenate([part.joint_moves for part in parts]),
            machine.concatenate([part.states for part in parts]),
            np.concatenate([part.log_factors for part in parts]),
            np.concatenate([part.stands_for for part in parts]),
        )


def list_completions(
    turn: OpenTurn,
    lanes: IntArray,
    polling: Polling,
    rng: np.random.Generator | None = None,
    most: float = np.inf,
) -> tuple[Completions, IntArray]:
    """All matching completions of some lanes; if stopped, the matches so far.

    Args:
        lanes: increasing; the lanes to complete.
        polling: when it stops, the remaining pairs are left out.
        rng: draws the order of pairs, if there are several pieces, so that the part left out is
            random. Without it they are tried lane by lane.
        most: approximate number of matches after which the rest is left out, too: bounds memory.

    Returns:
        the completions, in no order if there is an `rng`, and `[D]` the number tried in each lane.
    """
    counts = turn.options.counts[lanes].astype(np.int64)
    num_tried = np.zeros(len(lanes), dtype=np.int64)
    parts: list[Completions] = []
    num_matches = 0
    for at, numbers in completion_pairs(counts, polling.at_once, rng):
        if parts and (num_matches > most or polling.stop()):
            break
        rows = lanes[at]
        matches, _ = _matching(turn, rows, *turn.options.joint(rows, numbers))
        if len(at) == counts.sum():
            return matches, counts
        parts.append(matches)
        num_matches += len(matches.lanes)
        num_tried += np.bincount(at, minlength=len(lanes))
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        joint_moves = np.zeros((0, len(turn.machine.roles)), dtype=np.int64)
        parts = [_matching(turn, empty, joint_moves, np.zeros(0))[0]]
    return Completions.joined(turn.machine, parts), num_tried


def completion_pairs(
    counts: IntArray, at_once: Callable[[], int], rng: np.random.Generator | None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of (index of a lane, number of one of its completions), in pieces.

    Args:
        counts: `[D]` completions of each lane.
        at_once: returns the size of the next piece.
        rng: draws the order of pairs, if there are several pieces; None for pieces of whole lanes.
    """
    if rng is not None and counts.sum() > at_once():
        yield from pairs_in_random_order(counts, at_once, rng)
        return
    for start, end in chunks(counts, at_once):
        sizes = counts[start:end]
        at, firsts = np.arange(start, end).repeat(sizes), offsets_of(sizes)[:-1]
        yield at, np.arange(len(at)) - firsts.repeat(sizes)


def draw_completions(
    turn: OpenTurn,
    lanes: IntArray,
    shares: IntArray,
    draw_limits: IntArray,
    rng: np.random.Generator,
    polling: Polling,
    shuffle: bool = False,
) -> tuple[Completions, IntArray]:
    """Some matching completions of some lanes, drawn without replacement.

    Drawing stops at the (share + 1)-th match, when all completions are drawn, or at the draw
    limit. With k draws made, the share of completions that match is estimated without bias: by
    share / (k - 1) if the last draw was the match that stopped it, else by matches / k
    (Girshick, Mosteller & Savage, Ann. Math. Statist. 17, 1946: the expectation that the first
    draw matches, given where drawing stopped). Up to `share` matches are kept.

    Args:
        lanes: `[D]` the lanes to complete; each must have completions.
        shares: `[D]` number of matches to find in each lane.
        draw_limits: `[D]` most completions to draw in each lane.
        polling: when it stops, no more are drawn.
        shuffle: visit lanes in random order if there are several pieces, so that a stop leaves out
            random lanes.

        Returns:
            the completions, and `[D]` the number of draws.
    """
    draws = _Draws(turn.options, lanes, shares, draw_limits, rng)
    parts: list[Completions] = []
    active = np.arange(len(lanes))
    if shuffle and draws.next_counts(active).sum() > polling.at_once():
        active = rng.permutation(active)
    while len(active):
        draws.most = polling.at_once()
        for start, end in chunks(draws.next_counts(active), draws.most):
            if parts and polling.stop():
                draws.finished[:] = True
                break
            piece = active[start:end]
            batch = draws.draw(piece)
            rows = lanes[batch.owners]
            completions, matches = _matching(turn, rows, batch.joint_moves, batch.log_priors)
            parts.append(_select(completions, draws.record(piece, batch, matches)))
        active = active[~draws.finished[active]]
    completions = Completions.joined(turn.machine, parts)
    stands_for = np.zeros(len(turn.options.counts))
    stands_for[lanes] = draws.stands_for()
    # Drawn uniformly: prior * (completions / matches kept) * estimated share that matches.
    return completions.standing_for(stands_for[completions.lanes]), draws.num_drawn


def sample_completions(
    turn: OpenTurn,
    lanes: IntArray,
    weights: FloatArray,
    number: int,
    rng: np.random.Generator,
    polling: Polling,
) -> tuple[Completions, IntArray, bool]:
    """About `number` matching completions of a weighted set, or all of them if they are fewer.

    A few draws of their own estimate the share that matches. From it follows how many completions
    to draw: in proportion to the weights of the lanes, and at most all that a lane has. If hardly
    any of the first draws match, all are tried. Each lane draws a systematic sample of its
    completions, so all of them are equally likely to be drawn.

    Args:
        lanes: `[D]` the lanes to complete; each must have completions, at most `MAX_SIZE`.
        weights: `[D]` their weights, up to a factor.
        polling: when it stops, the rest of the lanes, in random order, is left out.

    Returns:
        the completions, `[D]` the number tried, and whether all of them were tried.
    """
    counts, weights = turn.options.counts[lanes], weights / weights.sum()
    num_tried = np.zeros(len(lanes), dtype=np.int64)
    num_drawn = num_matches = 0
    while num_matches < ENOUGH_TRIES and TRIED_SHARE * counts.sum() > num_drawn:
        number_at_once = max(min(polling.at_once(), FIRST_TRIES + num_drawn), 1)
        at = np.sort(rng.choice(len(lanes), number_at_once, p=weights))
        numbers = (rng.random(number_at_once) * counts[at]).astype(np.int64)
        tried = _matching(turn, lanes[at], *turn.options.joint(lanes[at], numbers))[0]
        num_drawn, num_matches = num_drawn + number_at_once, num_matches + len(tried.lanes)
        num_tried += np.bincount(at, minlength=len(lanes))
        if polling.stop():
            break
    wanted = np.inf
    if num_matches >= ENOUGH_TRIES:
        wanted = EXCESS * number * num_drawn / num_matches
    with np.errstate(invalid="ignore"):
        sizes = np.clip(np.ceil(wanted * weights), 1, counts).astype(np.int64)
    order, num_reached = np.arange(len(lanes)), 0
    if sizes.sum() > polling.at_once():
        order = rng.permutation(order)
    parts: list[Completions] = []
    for start, end in chunks(sizes[order], polling.at_once):
        if parts and (polling.stop() or sum(len(part.lanes) for part in parts) > MAX_FOUND):
            break
        piece = np.sort(order[start:end])
        at, firsts = np.repeat(piece, sizes[piece]), offsets_of(sizes[piece])[:-1]
        places = np.arange(len(at)) - np.repeat(firsts, sizes[piece])
        strides = counts[piece] / sizes[piece]
        shifts = np.where(strides > 1, rng.random(len(piece)) * strides, 0.5)
        of_draw = np.repeat(np.arange(len(piece)), sizes[piece])
        numbers = (shifts[of_draw] + places * strides[of_draw]).astype(np.int64)
        parts.append(_matching(turn, lanes[at], *turn.options.joint(lanes[at], numbers))[0])
        num_tried[piece] += sizes[piece]
        num_reached += len(piece)
    completions = Completions.joined(turn.machine, parts)
    stands_for = np.ones(len(turn.options.counts))
    stands_for[lanes] = counts / sizes * (len(lanes) / max(num_reached, 1))
    is_whole = bool((sizes == counts).all()) and num_reached == len(lanes)
    return completions.standing_for(stands_for[completions.lanes]), num_tried, is_whole


def share_completions(
    turn: OpenTurn,
    lanes: IntArray,
    num_draws: IntArray,
    rng: np.random.Generator,
    polling: Polling,
) -> tuple[Completions, IntArray]:
    """Matching completions of some lanes, where what one lane draws is tried in all.

    This helps where few of many moves match, but often the same in many lanes. Of the role with the
    most open moves, the moves in matches that any lane draws are completed in every lane. Say one
    deal of 4,080 agrees with our cards, and 256 entries draw 64 completions each: some four find
    the deal, so all 256 have it.

    How likely it is that a move comes up in any lane follows from its matches in all of them, which
    are known in the end. Weights are divided by it, so they are without bias (network sampling:
    Birnbaum & Sirken, Vital and Health Statistics 2-11, 1965).

    Args:
        lanes: `[D]` the lanes to complete, increasing; each must have completions.
        num_draws: `[D]` completions to draw in each lane.
        polling: when it stops, each lane has what it drew itself.

    Returns:
        the completions, and `[D]` the number of completions tried.
    """
    unshared, num_drawn = draw_completions(
        turn, lanes, num_draws, num_draws, rng, polling, shuffle=True
    )
    mover = int(np.argmax([len(moves.values) for moves in turn.options.moves]))
    moves = np.unique(unshared.joint_moves[:, mover])
    if not len(moves):
        return unshared, num_drawn
    shared = replace(turn, options=turn.options.limited(mover, moves))
    # As many moves, drawn at random, as may be tried with the effort of the draws.
    affordable = num_drawn.sum() / shared.options.counts[lanes].sum()
    number = min(max(1, int(affordable * len(moves))), len(moves))
    share = number / len(moves)
    if share < 1:
        moves = np.sort(rng.choice(moves, number, replace=False))
        shared = replace(turn, options=turn.options.limited(mover, moves))
    every, num_tried = list_completions(shared, lanes, polling)
    if num_tried.sum() < shared.options.counts[lanes].sum():
        return unshared, num_drawn + num_tried  # cut short
    move_of = np.searchsorted(moves, every.joint_moves[:, mover])
    first, pair = first_seen_columns([every.lanes, move_of])
    draws_of_lane = np.zeros(len(turn.options.counts))
    draws_of_lane[lanes] = num_drawn
    owners, missed = every.lanes[first], np.ones(len(first))
    # Without replacement: the probability that none of a lane's matches with a move is drawn.
    times = np.bincount(pair)
    for num in range(int(times.max(initial=0))):
        num_left = np.maximum(turn.options.counts[owners] - num, 1)
        missed *= np.where(num < times, np.maximum(1 - draws_of_lane[owners] / num_left, 0), 1)
    never = np.ones(len(moves))
    np.multiply.at(never, move_of[first], missed)
    return every.standing_for(1 / (share * (1 - never[move_of]))), num_drawn + num_tried


class _Drawn(NamedTuple):
    """K drawn completions: the lane, the index of the draw in it, the moves, and their priors."""

    owners: IntArray
    places: IntArray
    joint_moves: IntArray
    log_priors: FloatArray


class _Draws:
    """Draws completions of D lanes without replacement, side by side.

    Attributes:
        num_drawn: `[D]` draws, up to and including the match that stopped the lane.
        finished: `[D]` whether the lane is finished.
        most: most draws of one lane in a piece.
    """

    def __init__(
        self,
        options: OpenMoves,
        lanes: IntArray,
        shares: IntArray,
        draw_limits: IntArray,
        rng: np.random.Generator,
    ) -> None:
        self._options, self._lanes, self._shares, self._rng = options, lanes, shares, rng
        self._totals = options.counts[lanes]
        self._limits = np.minimum(draw_limits, self._totals).astype(np.int64)
        self._keys = rng.integers(0, 1 << 63, len(lanes), dtype=np.uint64)
        self._num_matches = np.zeros(len(lanes), dtype=np.int64)
        self._stopped_at_match = np.zeros(len(lanes), dtype=np.bool_)
        self.num_drawn = np.zeros(len(lanes), dtype=np.int64)
        self.finished = np.zeros(len(lanes), dtype=np.bool_)
        self.most = LANES_AT_ONCE

    def next_counts(self, active: IntArray) -> IntArray:
        """Number of draws to make next in each of some lanes."""
        num_drawn = self.num_drawn[active]
        # Double the draws each time: few calls where matches are rare, few wasted draws where
        # they are not.
        counts = np.maximum(np.maximum(_FIRST_DRAWS, num_drawn), 2 * self._shares[active])
        counts = np.minimum(counts, max(_FIRST_DRAWS, self.most))
        return np.asarray(np.minimum(counts, self._limits[active] - num_drawn))

    def draw(self, active: IntArray) -> _Drawn:
        """New completions of some lanes, lane by lane; none is drawn twice."""
        counts = self.next_counts(active)
        owners = np.repeat(active, counts)
        first_places = self.num_drawn[active] - offsets_of(counts)[:-1]
        places = np.arange(len(owners)) + np.repeat(first_places, counts)
        sizes = self._totals[owners]
        # Without replacement, and without a list of past draws: the n-th draw is the n-th number
        # of a pseudo-random order determined by the key.
        numbers = shuffled(places, np.minimum(sizes, MAX_SIZE), self._keys[owners])
        joint_moves, log_priors = self._options.joint(self._lanes[owners], numbers)
        # With more completions than that, a repeated draw is practically impossible.
        huge = np.flatnonzero(sizes > MAX_SIZE)
        if len(huge):
            joint_moves[huge], log_priors[huge] = self._options.random(
                self._lanes[owners[huge]], self._rng
            )
        return _Drawn(owners, places, joint_moves, log_priors)

    def record(self, active: IntArray, batch: _Drawn, matches: IntArray) -> BoolArray:
        """Record the draws of some lanes; returns whether to keep each match.

        Args:
            matches: increasing; indices of the drawn completions that match.
        """
        owners = batch.owners[matches]
        num_new = np.bincount(owners, minlength=len(self._lanes))[active]
        first_matches = self._num_matches[active] - offsets_of(num_new)[:-1]
        nth = np.arange(len(matches)) + np.repeat(first_matches, num_new)
        self._num_matches[active] += num_new
        self.num_drawn[active] += self.next_counts(active)
        # This match stops the drawing and is not kept: see `draw_completions` for why.
        stops = nth == self._shares[owners]
        stopped = owners[stops]
        self.num_drawn[stopped] = batch.places[matches[stops]] + 1
        self._stopped_at_match[stopped] = True
        self.finished[active] = self.num_drawn[active] >= self._limits[active]
        self.finished[stopped] = True
        return np.asarray(nth < self._shares[owners])

    def stands_for(self) -> FloatArray:
        """`[D]` estimated number of matching completions that each kept match stands for."""
        share = np.where(
            self._stopped_at_match,
            self._shares / np.maximum(self.num_drawn - 1, 1),
            self._num_matches / np.maximum(self.num_drawn, 1),
        )
        num_kept = np.minimum(self._num_matches, self._shares)
        return np.asarray(share * self._totals / np.maximum(num_kept, 1))


def _matching(
    turn: OpenTurn, rows: IntArray, joint_moves: IntArray, log_priors: FloatArray
) -> tuple[Completions, IntArray]:
    """The completions that match, and `[K]` their indices among the arguments."""
    match, successors = turn.matching(rows, joint_moves)
    # A role that is still playing knows that the game is not over: information sets consist of
    # decision states (paper 004, Definition 1).
    is_over = turn.machine.terminal(successors)
    if is_over.any():
        lasting = np.flatnonzero(~is_over)
        match, successors = match[lasting], successors.take(lasting)
    completions = Completions(
        rows[match],
        joint_moves[match],
        successors,
        log_priors[match],
        np.ones(len(match)),
    )
    return completions, match


def _select(completions: Completions, keep: BoolArray) -> Completions:
    if keep.all():
        return completions
    return Completions(
        completions.lanes[keep],
        completions.joint_moves[keep],
        completions.states.take(np.flatnonzero(keep)),
        completions.log_factors[keep],
        completions.stands_for[keep],
    )


# ------------------------------------------------------------------------
# Random orders of large ranges, of which only a few positions are needed.
#
# A random order of 0..size-1 is a Feistel network on the next power of two; values beyond the range
# are mapped again until they fall into it (Black & Rogaway, CT-RSA 2002, section 5). It is a
# permutation because a Feistel network can be inverted whatever its round function. It needs no
# memory, and any number of orders are evaluated side by side.

MAX_SIZE = 2.0**53
"""Largest range: sizes up to here are exact as floats."""

_ROUNDS = 10

_MIN_BITS = 8
"""With fewer bits the orders are not random enough, as tests of pairs of positions show."""

UInts = NDArray[np.uint64]


def shuffled(places: IntArray, sizes: FloatArray, keys: UInts) -> IntArray:
    """`[K]` the number at a given position of a random order of 0..size-1.

    Args:
        places: `[K]` positions, less than the sizes.
        sizes: `[K]` whole numbers from 2 to `MAX_SIZE`.
        keys: `[K]` identify the orders: drawn at random, one for each order.
    """
    bits = np.maximum(np.frexp(sizes - 1)[1], _MIN_BITS).astype(np.uint64)
    limits = sizes.astype(np.uint64)
    numbers = places.astype(np.uint64)
    pending = np.arange(len(places))
    # A range of more than `_MIN_BITS` bits fills more than half of its power of two, so few
    # numbers are mapped more than once or twice.
    while len(pending):
        numbers[pending] = _network(numbers[pending], bits[pending], keys[pending])
        pending = pending[numbers[pending] >= limits[pending]]
    return numbers.astype(np.int64)


def pairs_in_random_order(
    counts: IntArray, at_once: Callable[[], int], rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of (index of a lane, number in it) in random pieces, each sorted by lane.

    Args:
        counts: `[D]` how many numbers each lane has; at most `MAX_SIZE` pairs in all.
        at_once: returns the size of the next piece.
    """
    offsets = offsets_of(counts)
    total = int(offsets[-1])
    key = rng.integers(0, 1 << 63, dtype=np.uint64)
    start = 0
    while start < total:
        end = min(start + max(at_once(), 1), total)
        places = np.arange(start, end)
        pairs = shuffled(places, np.full(len(places), float(total)), np.full(len(places), key))
        pairs.sort()  # neighbours are stepped faster
        at = np.searchsorted(offsets, pairs, side="right") - 1
        yield at, pairs - offsets[at]
        start = end


def _network(numbers: UInts, bits: UInts, keys: UInts) -> UInts:
    """A permutation of the numbers with this many bits."""
    unit = np.uint64(1)
    low_bits = bits >> unit
    low_mask = (unit << low_bits) - unit
    high_mask = (unit << (bits - low_bits)) - unit
    low, high = numbers & low_mask, numbers >> low_bits
    for step in range(_ROUNDS):
        if step % 2:
            low = low ^ (_mix(high, keys, step) & low_mask)
        else:
            high = high ^ (_mix(low, keys, step) & high_mask)
    return np.asarray(high << low_bits | low)


def _mix(numbers: UInts, keys: UInts, step: int) -> UInts:
    """Pseudo-random numbers."""
    mixed: UInts = finalised((numbers + np.uint64(step + 1)) * GOLDEN ^ keys)
    return mixed
