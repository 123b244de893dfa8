"""Candidate moves, the particles they are tried on, and the values that come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.belief.resample import systematic
from ggp.machine.arrays import first_seen, offsets_of, segment_ids
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged

Policy = Callable[[Bags, np.random.Generator], IntArray]
"""How a simulated role moves: `[B]` a move for each of B bags of that role."""

TIE_TOLERANCE = 1e-9
"""Values are equal if they differ by at most this, relative to the larger one."""


@dataclass(frozen=True)
class Estimates:
    """Values of the candidate moves of B bags: C candidates in all.

    Attributes:
        moves: the candidates of each bag.
        values: `[C]` estimated goal value of each candidate, in the machine's goal range.
        stderrs: `[C]` standard error of each value.
        visits: `[C]` playouts or simulations made of each candidate.
    """

    moves: Ragged
    values: FloatArray
    stderrs: FloatArray
    visits: IntArray

    def choose(self, rng: np.random.Generator) -> IntArray:
        """`[B]` the best move of each bag; ties are broken at random."""
        offsets = self.moves.offsets
        chosen = np.zeros(len(offsets) - 1, dtype=np.int64)
        for bag in range(len(chosen)):
            values = self.values[offsets[bag] : offsets[bag + 1]]
            best = values.max()
            margin = TIE_TOLERANCE * max(abs(best), np.abs(values).max())
            ties = np.flatnonzero(values >= best - margin)
            pick = ties[0] if len(ties) == 1 else rng.choice(ties)
            chosen[bag] = self.moves.values[offsets[bag] + pick]
        return chosen


def candidates(machine: Machine, bags: Bags) -> Ragged:
    """For each bag the moves legal in at least one of its entries, in order of appearance.

    Depleted bags have none.
    """
    sets = bags.sets
    legal = machine.legal(sets.states, bags.role, allow_stuck=True)
    set_of = segment_ids(sets.offsets)[segment_ids(legal.offsets)]
    first, _ = first_seen(np.column_stack([set_of, legal.values]))
    moves = legal.values[first]
    offsets = offsets_of(np.bincount(set_of[first], minlength=len(sets)))
    counts = np.diff(offsets)[bags.segment]
    out = offsets_of(counts)
    at = np.arange(out[-1]) + np.repeat(offsets[bags.segment] - out[:-1], counts)
    return Ragged(out, moves[at])


def allocate(weights: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """`[E]` how many of `count` trials each of E weighted entries gets.

    Where there are enough trials every entry gets at least one, and the others are
    distributed by weight; else the entries are drawn by weight.
    """
    size = len(weights)
    if count < size:
        return np.bincount(systematic(weights, count, rng), minlength=size).astype(np.int64)
    trials = np.ones(size, dtype=np.int64)
    if count > size:
        missing = np.maximum(weights * count - 1.0, 0.0)
        if missing.sum() > 0:
            trials += np.bincount(systematic(missing, count - size, rng), minlength=size)
    return trials


@dataclass(frozen=True)
class Trials:
    """T trials: candidate moves tried on entries of bags.

    Attributes:
        candidate: `[T]` index into the values of the candidates.
        stratum: `[T]` number of the (candidate, entry) pair; trials of a stratum are
            neighbours.
        weight: `[T]` weight of the stratum divided by its number of trials: the weighted sum
            over a candidate's trials is its value.
        lanes: `[T]` index into the states of the bags' sets.
        moves: `[T]` the candidate move.
    """

    candidate: IntArray
    stratum: IntArray
    weight: FloatArray
    lanes: IntArray
    moves: IntArray


def plan_trials(
    bags: Bags, moves: Ragged, count: int, rng: np.random.Generator, chosen: IntArray | None = None
) -> Trials:
    """`count` trials of every candidate of the chosen bags (default: all).

    All candidates of a bag are tried on the same entries, so that their differences are
    not blurred by the choice of entries.
    """
    parts: list[tuple[IntArray, ...]] = []
    weights: list[FloatArray] = []
    strata = 0
    for bag in range(len(bags)) if chosen is None else chosen.tolist():
        start, end = int(moves.offsets[bag]), int(moves.offsets[bag + 1])
        segment = bags.segment[bag]
        entry_weights = bags.weights_of(bag)
        trials = allocate(entry_weights, count, rng)
        used = np.flatnonzero(trials)
        repeats = trials[used]
        by_draw = len(entry_weights) > count
        shares = repeats / count if by_draw else entry_weights[used]
        num_moves = end - start
        entry = np.tile(np.repeat(used, repeats), num_moves)
        stratum = np.repeat(np.arange(len(used) * num_moves), np.tile(repeats, num_moves))
        candidate = np.repeat(np.arange(start, end), count)
        parts.append(
            (
                candidate,
                stratum + strata,
                entry + bags.sets.offsets[segment],
                moves.values[candidate],
            )
        )
        weights.append(np.tile(np.repeat(shares / repeats, repeats), num_moves))
        strata += len(used) * num_moves
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Trials(none, none, np.zeros(0), none, none)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Trials(columns[0], columns[1], np.concatenate(weights), columns[2], columns[3])


class Tally:
    """Sums up trials of C candidates; rounds count by their number of trials."""

    def __init__(self, num_candidates: int) -> None:
        self._values = np.zeros(num_candidates)
        self._variances = np.zeros(num_candidates)
        self._visits = np.zeros(num_candidates, dtype=np.int64)
        self._counts = np.zeros(num_candidates)

    def add(self, trials: Trials, goals: FloatArray, count: int, *, exact: bool) -> None:
        """Add a round of `count` trials of each candidate with their `[T]` goal values.

        `exact`: the entries are a whole information set, so that only playouts vary; else
        the choice of entries adds to the error.
        """
        size = len(self._values)
        visits = np.bincount(trials.candidate, minlength=size)
        tried = visits > 0
        value = _sums(trials.candidate, trials.weight * goals, size)
        total = _sums(trials.candidate, trials.weight, size)
        value = value / np.where(tried, total, 1.0)
        variance = _variance_of_means(trials, goals, value, visits, exact=exact)
        self._variances += count**2 * variance
        self._values += count * value
        self._counts += count * tried
        self._visits += visits

    def estimates(self, moves: Ragged) -> Estimates:
        """What the trials so far say; candidates never tried have value 0."""
        counts = np.maximum(self._counts, 1)
        return Estimates(
            moves, self._values / counts, np.sqrt(self._variances) / counts, self._visits.copy()
        )


def _sums(groups: IntArray, values: FloatArray, size: int) -> FloatArray:
    """`[size]` sum of the values of each group."""
    return np.asarray(np.bincount(groups, values, minlength=size), dtype=np.float64)


def _variance_of_means(
    trials: Trials, goals: FloatArray, value: FloatArray, visits: IntArray, *, exact: bool
) -> FloatArray:
    """`[C]` estimated variance of each candidate's value in this round."""
    size = len(value)
    first, stratum = first_seen(trials.stratum)
    owner = trials.candidate[first]
    count = np.bincount(stratum)
    mean = _sums(stratum, goals, len(count)) / count
    share = trials.weight[first] * count
    within = _sums(stratum, (goals - mean[stratum]) ** 2, len(count))
    freedom = np.maximum(visits - np.bincount(owner, minlength=size), 0)
    pooled = _sums(owner, within, size) / np.maximum(freedom, 1)
    overall = _sums(trials.candidate, (goals - value[trials.candidate]) ** 2, size)
    # Strata with a single trial say nothing of their spread: take that of the whole.
    pooled = np.where(freedom > 0, pooled, overall / np.maximum(visits - 1, 1))
    own = np.where(count > 1, within / np.maximum(count - 1, 1), pooled[owner])
    by_playouts = _sums(owner, share**2 * own / count, size)
    if exact:
        return by_playouts
    # Entries are a sample: the spread between their means holds both sources of error, but of
    # few entries it may be small by chance.
    entries = np.bincount(owner, minlength=size)
    spread = _sums(owner, (share * (mean - value[owner])) ** 2, size)
    return np.maximum(by_playouts, spread * entries / np.maximum(entries - 1, 1))
