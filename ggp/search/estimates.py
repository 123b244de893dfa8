"""Candidate moves, and the values that result from trying them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from ggp.belief import Bags
from ggp.machine.arrays import first_seen_columns, offsets_of, segment_ids, take_segments
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, Ragged
from ggp.search.trials import Results, pick_best

Policy = Callable[[Bags, np.random.Generator], IntArray]
"""The moves of a simulated role: `[B]` a move for each of B bags of that role."""

_ROUNDING = 1e-14
"""A sum of squares about the mean below this share of that about 0 is taken for 0."""

TIE_TOLERANCE = 1e-9
"""Values are equal if they differ by at most this, relative to the larger one."""


class Ties(StrEnum):
    """How a player chooses among moves of equal value.

    `RANDOM` chooses by lot. `PROMPT` chooses the promptest, as if goals were discounted very
    slightly with time: a player that is sure to win now or later wins now. The papers have no such
    rule. `HYPERPLAY` chooses the highest HyperPlay value, which only some players know.
    """

    RANDOM = "random"
    PROMPT = "prompt"
    HYPERPLAY = "hyperplay"


@dataclass(frozen=True)
class Estimates:
    """Values of the candidate moves of B bags: C candidates in all.

    Attributes:
        moves: the candidates of each bag.
        values: `[C]` estimated goal value of each candidate, in the machine's goal range.
        stderrs: `[C]` standard error of each value, by the spread of trials: 0 where all came out
            the same, NaN where it is unknown, as after a single trial.
        visits: `[C]` playouts or simulations of each candidate, or worlds that were solved.
        promptness: `[C]` how much sooner its wins come and how much later its losses: the mean
            of (middle of the goal range - goal) * turns.
        exact: `[C]` whether nothing in a value is estimated, so that it has no error; None: in
            each something is.
    """

    moves: Ragged
    values: FloatArray
    stderrs: FloatArray
    visits: IntArray
    promptness: FloatArray
    exact: BoolArray | None = None

    def choose(self, rng: np.random.Generator, ties: Ties) -> IntArray:
        """`[B]` the best move of each bag; ties left by `ties` are broken at random.

        Candidates that were tried come before those that were not. If one was tried only once,
        equal values mean little, and promptness would prefer a lucky end to a sound plan: it does
        not count.
        """
        values = _put_last(self.values, self.visits == 0)
        several = self.visits.min(initial=2, where=self.visits > 0) > 1
        if ties is Ties.PROMPT and several:
            values = _put_last(self.promptness, ~_is_best(self.moves, values))
        return best_moves(self.moves, values, rng)

    def within(self, least: FloatArray, most: FloatArray, *, exact: bool) -> Estimates:
        """The same with values moved into bounds; where there is only one value between them, it
        is known.

        Args:
            least, most: `[C]` bounds of the values in the bag; may be infinite.
            exact: whether the bag is a whole information set: else its choice leaves an error.
        """
        known = exact & np.isclose(least, most, rtol=TIE_TOLERANCE, atol=0)
        if self.exact is not None:
            known |= self.exact
        return replace(self, values=np.clip(self.values, least, most), exact=known)

    def without_rounding(self, goal_range: tuple[float, float]) -> FloatArray:
        """`[C]` the values, moved to the end of the goal range where rounding led beyond it.

        Goals of real rulesheets may lie beyond it, so values that are farther off stay.
        """
        nearest = np.clip(self.values, *goal_range)
        tolerance = TIE_TOLERANCE * (goal_range[1] - goal_range[0])
        return np.where(np.abs(self.values - nearest) <= tolerance, nearest, self.values)

    def honest_errors(self, goal_range: tuple[float, float]) -> FloatArray:
        """`[C]` standard errors that few trials make larger: 0 for exact values only, NaN where
        they are unknown.

        As if each candidate had one more trial, half a goal range off its value: n trials that all
        came out the same leave an error of about half a goal range / n. So many errors off are then
        means of as few as four trials, with a standard deviation of .85 to 1.1 over scores of all
        kinds (without that trial up to 1.4, and infinitely many where all came out the same).
        """
        visits = np.maximum(self.visits, 1)
        most = ((goal_range[1] - goal_range[0]) / 2) ** 2
        errors = np.sqrt((self.stderrs**2 * visits + most / visits) / (visits + 1))
        return errors if self.exact is None else np.where(self.exact, 0.0, errors)

    def cautious_errors(self, goal_range: tuple[float, float]) -> FloatArray:
        """`[C]` standard errors from the noise of trials, wary of few trials that came out the
        same.

        As if each candidate had two more trials, each half a goal range off its value. The error
        from the choice of entries is left out as far as it shows, since it is much the same for all
        candidates tried on these entries: a mean of trials has at most the error of trials that win
        or lose. Infinite without trials.
        """
        visits = np.maximum(self.visits, 1)
        most = ((goal_range[1] - goal_range[0]) / 2) ** 2
        # A single trial tells no spread; the two others then stand alone.
        known = np.where(np.isnan(self.stderrs), 0, visits)
        variances = np.minimum(np.nan_to_num(self.stderrs) ** 2 * visits, most)
        errors = np.sqrt((known * variances + 2 * most) / (known + 2) / visits)
        return np.where(self.visits > 0, errors, np.inf)


def best_moves(moves: Ragged, values: FloatArray, rng: np.random.Generator) -> IntArray:
    """`[B]` the move of highest value of each bag, `UNKNOWN` if a bag has none.

    Ties are broken at random.

    Args:
        moves: the candidates of each bag.
        values: `[C]` of the candidates.
    """
    best = np.empty(len(moves.offsets) - 1, dtype=np.int64)
    pick = pick_best.for_steps(len(values))
    pick(moves.offsets, values, TIE_TOLERANCE, rng.random(len(best)), best)
    if not len(values):
        return best
    return np.where(best < 0, UNKNOWN, moves.values[best])


def equally_best(values: FloatArray) -> IntArray:
    """Indices of the highest of some values, and of those equal to it."""
    least = values.max() - TIE_TOLERANCE * np.abs(values).max()
    return np.flatnonzero(values >= least)


def _is_best(moves: Ragged, values: FloatArray) -> BoolArray:
    """`[C]` whether a candidate has the highest value of its bag, or one equal to it."""
    counts = moves.counts
    bags = np.flatnonzero(counts)
    if not len(bags):
        return np.zeros(0, dtype=np.bool_)
    starts = moves.offsets[:-1][bags]
    best = np.maximum.reduceat(values, starts)
    scale = np.maximum(np.abs(best), np.maximum.reduceat(np.abs(values), starts))
    return np.asarray(values >= np.repeat(best - TIE_TOLERANCE * scale, counts[bags]))


def _put_last(values: FloatArray, last: BoolArray) -> FloatArray:
    """`[C]` the values, some of them lowered below all others."""
    return values - np.where(last, 1.0 + 2 * np.abs(values).max(initial=0.0), 0.0)


def candidates(machine: Machine, bags: Bags) -> Ragged:
    """For each bag the moves legal in at least one of its entries, in order of appearance.

    Depleted bags have none.
    """
    sets = bags.sets
    legal = machine.legal(sets.states, bags.role, allow_stuck=True)
    set_of = segment_ids(legal.offsets[sets.offsets])
    # By first appearance: move numbers depend on what else the machine has seen.
    first, _ = first_seen_columns([set_of, legal.values])
    moves = legal.values[first]
    of_sets = offsets_of(np.bincount(set_of[first], minlength=len(sets)))
    offsets, at = take_segments(of_sets, bags.segment)
    return Ragged(offsets, moves[at])


class Tally:
    """Sums of trials of C candidates; rounds count by their number of trials.

    A round of several trials shows its own variance. A round of a single trial, as happens when
    trials are slow, does not; but such rounds are independent draws of the same value, so several
    of them do. Where the variance is unknown it is taken to be that of the other trials.
    """

    def __init__(self, num_candidates: int) -> None:
        self._values = np.zeros(num_candidates)
        self._variances = np.zeros(num_candidates)
        self._visits = np.zeros(num_candidates, dtype=np.int64)
        self._promptness = np.zeros(num_candidates)
        # Rounds of a single trial: their number, the sum of their values, and of the squares.
        self._singles = np.zeros(num_candidates, dtype=np.int64)
        self._single_values = np.zeros(num_candidates)
        self._single_squares = np.zeros(num_candidates)

    def join(self, other: Tally) -> None:
        """Add the trials of another tally of the same candidates."""
        self._values += other._values
        self._variances += other._variances
        self._visits += other._visits
        self._promptness += other._promptness
        self._singles += other._singles
        self._single_values += other._single_values
        self._single_squares += other._single_squares

    def least_visits(self, chosen: IntArray | None = None) -> int:
        """Least number of trials of any candidate, or of any one chosen."""
        visits = self._visits if chosen is None else self._visits[chosen]
        return int(visits.min()) if len(visits) else 0

    def add(self, results: Results, count: int, *, exact: bool) -> None:
        """Add a round of `count` trials of each candidate.

        Candidates with a trial that has no result are left out.

        Args:
            exact: the entries are a whole information set, so that only playouts vary; else
                the choice of entries adds to the error.
        """
        size = len(self._values)
        complete = results.complete(size)
        value = np.where(complete, results.values(size), 0.0)
        self._values += count * value
        self._promptness += count * np.where(complete, results.means(results.promptness, size), 0.0)
        self._visits += count * complete
        if count == 1:
            self._singles += complete
            self._single_values += value
            self._single_squares += value**2
        else:
            variance = _variance_of_means(results, size, exact=exact)
            self._variances += count**2 * np.where(complete, variance, 0.0)

    def estimates(self, moves: Ragged) -> Estimates:
        """Estimates from the trials so far; candidates never tried have value 0."""
        counts = np.maximum(self._visits, 1)
        return Estimates(
            moves,
            self._values / counts,
            self._stderrs(),
            self._visits.copy(),
            self._promptness / counts,
        )

    def _stderrs(self) -> FloatArray:
        """`[C]` standard errors, NaN where they are unknown."""
        singles = self._singles
        mean = self._single_values / np.maximum(singles, 1)
        spread = np.maximum(self._single_squares - singles * mean**2, 0.0)
        # A difference of two large sums: a rounding residue of equal values is no spread.
        spread[spread <= _ROUNDING * self._single_squares] = 0.0
        several = singles > 1
        variances = self._variances + np.where(
            several, singles * spread / np.maximum(singles - 1, 1), 0.0
        )
        telling = self._visits - np.where(several, 0, singles)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(variances / telling / self._visits))


def _sums(groups: IntArray, values: FloatArray, size: int) -> FloatArray:
    """`[size]` sum of the values of each group."""
    return np.asarray(np.bincount(groups, values, minlength=size), dtype=np.float64)


def _variance_of_means(results: Results, size: int, *, exact: bool) -> FloatArray:
    """`[C]` estimated variance of each candidate's value in this round."""
    owner, share = results.trials.candidate, results.trials.share
    count = np.maximum(results.counts, 1)
    mean = results.totals / count
    within = np.maximum(results.squares - results.totals * mean, 0.0)
    visits = _sums(owner, results.counts.astype(np.float64), size)
    entries = np.bincount(owner, minlength=size)
    value = results.values(size)
    freedom = np.maximum(visits - entries, 0)
    pooled = _sums(owner, within, size) / np.maximum(freedom, 1)
    overall = _sums(owner, within + results.counts * (mean - value[owner]) ** 2, size)
    # Strata with a single trial do not show their spread: take that of the whole.
    pooled = np.where(freedom > 0, pooled, overall / np.maximum(visits - 1, 1))
    own = np.where(count > 1, within / np.maximum(count - 1, 1), pooled[owner])
    by_playouts = _sums(owner, share**2 * own / count, size)
    if exact:
        return by_playouts
    # Entries are a sample: the spread between their means holds both sources of error, but of
    # few entries it may be small by chance.
    spread = _sums(owner, (share * (mean - value[owner])) ** 2, size)
    return np.maximum(by_playouts, spread * entries / np.maximum(entries - 1, 1))
