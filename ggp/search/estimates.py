"""Candidate moves of bags, and estimates of their values from trials.

Searches add `trials.Results` to a `Tally` and return its `Estimates`; players choose by these.
"""

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
"""A sum of squares about the mean counts as 0 if it is below this share of the one about 0."""

TIE_TOLERANCE = 1e-9
"""Values are equal if they differ by at most this, relative to the larger one."""


class Ties(StrEnum):
    """How a player chooses among moves of equal value.

    `RANDOM` chooses at random. `PROMPT` chooses the promptest move, as if goals were discounted
    very slightly with time: a player that can win for certain now or later wins now. The papers
    have no such rule. `HYPERPLAY` chooses the highest HyperPlay value, which only some players
    have.
    """

    RANDOM = "random"
    PROMPT = "prompt"
    HYPERPLAY = "hyperplay"


@dataclass(frozen=True)
class Estimates:
    """Values of the candidate moves of B bags: C candidates in all.

    >>> import numpy as np
    >>> from ggp.machine.base import Ragged
    >>> moves = Ragged(np.array([0, 3]), np.array([7, 8, 9]))  # one bag, three candidates
    >>> estimates = Estimates(
    ...     moves, values=np.array([50.0, 75.0, 75.0]), stderrs=np.array([5.0, 4.0, 4.0]),
    ...     visits=np.array([100, 100, 100]), promptness=np.array([0.0, 2.0, -1.0]),
    ... )
    >>> estimates.choose(np.random.default_rng(0), Ties.PROMPT)
    array([8])

    Attributes:
        moves: the candidates of each bag.
        values: `[C]` estimated goal value of each candidate, in the machine's goal range.
        stderrs: `[C]` standard error of each value from the spread of trials: 0 if all trials gave
            the same goal, NaN if it is unknown, as after a single trial.
        visits: `[C]` playouts or simulations of each candidate, or worlds that were solved.
        promptness: `[C]` how early its wins and how late its losses come: the mean of (middle of
            the goal range - goal) * turns.
        exact: `[C]` whether a value has no error, since nothing in it is estimated; None: none is.
    """

    moves: Ragged
    values: FloatArray
    stderrs: FloatArray
    visits: IntArray
    promptness: FloatArray
    exact: BoolArray | None = None

    def choose(self, rng: np.random.Generator, ties: Ties) -> IntArray:
        """`[B]` the best move of each bag; ties that remain after `ties` are broken at random.

        Untried candidates come last. Promptness is ignored if some candidate was tried only once:
        equal values then mean little, and it would prefer a lucky end to a sound plan.
        """
        values = _put_last(self.values, self.visits == 0)
        several = self.visits.min(initial=2, where=self.visits > 0) > 1
        if ties is Ties.PROMPT and several:
            values = _put_last(self.promptness, ~_is_best(self.moves, values))
        return best_moves(self.moves, values, rng)

    def within(self, lows: FloatArray, highs: FloatArray, *, exact: bool) -> Estimates:
        """The same with values clipped to bounds; a value is exact where its bounds are equal.

        Args:
            lows, highs: `[C]` bounds of the values in the bag; may be infinite.
            exact: whether the bag is a whole information set: otherwise no value becomes exact.
        """
        is_exact = exact & np.isclose(lows, highs, rtol=TIE_TOLERANCE, atol=0)
        if self.exact is not None:
            is_exact |= self.exact
        return replace(self, values=np.clip(self.values, lows, highs), exact=is_exact)

    def without_rounding(self, goal_range: tuple[float, float]) -> FloatArray:
        """`[C]` the values, clipped to the goal range if only rounding led beyond it.

        Goals of real rulesheets may lie beyond it, so values that are farther off stay.
        """
        nearest = np.clip(self.values, *goal_range)
        tolerance = TIE_TOLERANCE * (goal_range[1] - goal_range[0])
        return np.where(np.abs(self.values - nearest) <= tolerance, nearest, self.values)

    def honest_errors(self, goal_range: tuple[float, float]) -> FloatArray:
        """`[C]` standard errors that few trials make larger: 0 for exact values only, NaN if
        unknown.

        They are as if each candidate had one more trial, half a goal range off its value: n equal
        trials leave an error of about half a goal range / n. In units of this error, means of as
        few as four trials are off with a standard deviation of .85 to 1.1, over scores of all kinds
        (without the added trial up to 1.4, and infinite if all trials are equal).
        """
        visits = np.maximum(self.visits, 1)
        largest = ((goal_range[1] - goal_range[0]) / 2) ** 2
        errors = np.sqrt((self.stderrs**2 * visits + largest / visits) / (visits + 1))
        return errors if self.exact is None else np.where(self.exact, 0.0, errors)

    def cautious_errors(self, goal_range: tuple[float, float]) -> FloatArray:
        """`[C]` standard errors from the noise of trials, cautious about few equal trials; infinite
        without trials.

        They are as if each candidate had two more trials, each half a goal range off its value. The
        error from the choice of entries is much the same for all candidates, so it is removed where
        it is visible: a mean of trials has at most the error of trials that win or lose.
        """
        visits = np.maximum(self.visits, 1)
        largest = ((goal_range[1] - goal_range[0]) / 2) ** 2
        # A single trial has no spread; then only the two added ones count.
        trials = np.where(np.isnan(self.stderrs), 0, visits)
        variances = np.minimum(np.nan_to_num(self.stderrs) ** 2 * visits, largest)
        errors = np.sqrt((trials * variances + 2 * largest) / (trials + 2) / visits)
        return np.where(self.visits > 0, errors, np.inf)


def best_moves(moves: Ragged, values: FloatArray, rng: np.random.Generator) -> IntArray:
    """`[B]` the move of highest value of each bag, `UNKNOWN` for a bag without candidates.

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
    """Indices of the highest value, and of all values equal to it.

    >>> import numpy as np
    >>> equally_best(np.array([50.0, 75.0, 75.0 - 1e-10]))
    array([1, 2])
    """
    threshold = values.max() - TIE_TOLERANCE * np.abs(values).max()
    return np.flatnonzero(values >= threshold)


def _is_best(moves: Ragged, values: FloatArray) -> BoolArray:
    """`[C]` whether a candidate has the highest value of its bag, up to `TIE_TOLERANCE`."""
    counts = moves.counts
    bags = np.flatnonzero(counts)
    if not len(bags):
        return np.zeros(0, dtype=np.bool_)
    starts = moves.offsets[:-1][bags]
    best = np.maximum.reduceat(values, starts)
    scale = np.maximum(np.abs(best), np.maximum.reduceat(np.abs(values), starts))
    return np.asarray(values >= np.repeat(best - TIE_TOLERANCE * scale, counts[bags]))


def _put_last(values: FloatArray, last: BoolArray) -> FloatArray:
    """`[C]` the values, where those in `last` are lowered below all others."""
    return values - np.where(last, 1.0 + 2 * np.abs(values).max(initial=0.0), 0.0)


def candidates(machine: Machine, bags: Bags) -> Ragged:
    """For each bag the moves that are legal in at least one entry, in order of appearance.

    A depleted bag has none.
    """
    sets = bags.sets
    legal = machine.legal(sets.states, bags.role, allow_stuck=True)
    set_of = segment_ids(legal.offsets[sets.offsets])
    # By first appearance, since move ids depend on the machine's earlier work.
    first, _ = first_seen_columns([set_of, legal.values])
    moves = legal.values[first]
    of_sets = offsets_of(np.bincount(set_of[first], minlength=len(sets)))
    offsets, indices = take_segments(of_sets, bags.segment)
    return Ragged(offsets, moves[indices])


class Tally:
    """Sums of trials of C candidates, round by round; a round's weight is its number of trials.

    A round of several trials shows its own variance. A round of a single trial, usual when trials
    are slow, does not; but such rounds are independent draws of the same value, so several of them
    do. An unknown variance is assumed to equal that of the other trials.
    """

    def __init__(self, num_candidates: int) -> None:
        self._values = np.zeros(num_candidates)
        self._variances = np.zeros(num_candidates)
        self._visits = np.zeros(num_candidates, dtype=np.int64)
        self._promptness = np.zeros(num_candidates)
        # Rounds of a single trial: their number, the sums of their values and squares.
        self._singles = np.zeros(num_candidates, dtype=np.int64)
        self._single_values = np.zeros(num_candidates)
        self._single_squares = np.zeros(num_candidates)

    def join(self, tally: Tally) -> None:
        """Add the trials of another tally of the same candidates."""
        self._values += tally._values
        self._variances += tally._variances
        self._visits += tally._visits
        self._promptness += tally._promptness
        self._singles += tally._singles
        self._single_values += tally._single_values
        self._single_squares += tally._single_squares

    def least_visits(self, subset: IntArray | None = None) -> int:
        """Least number of trials of any candidate, or of any in a subset."""
        visits = self._visits if subset is None else self._visits[subset]
        return int(visits.min()) if len(visits) else 0

    def add(self, results: Results, count: int, *, exact: bool) -> None:
        """Add a round of `count` trials of each candidate.

        It skips candidates whose trials are incomplete.

        Args:
            exact: the entries are a whole information set, so that only playouts vary; otherwise
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
        # A difference of two large sums: equal values may leave a rounding residue.
        spread[spread <= _ROUNDING * self._single_squares] = 0.0
        several = singles > 1
        variances = self._variances + np.where(
            several, singles * spread / np.maximum(singles - 1, 1), 0.0
        )
        informative = self._visits - np.where(several, 0, singles)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(variances / informative / self._visits))


def _sums(groups: IntArray, values: FloatArray, size: int) -> FloatArray:
    """`[size]` sum of the values of each group."""
    return np.asarray(np.bincount(groups, values, minlength=size), dtype=np.float64)


def _variance_of_means(results: Results, size: int, *, exact: bool) -> FloatArray:
    """`[C]` estimated variance of each candidate's value in this round."""
    owner, share = results.trials.candidate, results.trials.share
    count = np.maximum(results.counts, 1)
    mean = results.totals / count
    squares = np.maximum(results.squares - results.totals * mean, 0.0)
    visits = _sums(owner, results.counts.astype(np.float64), size)
    entries = np.bincount(owner, minlength=size)
    value = results.values(size)
    freedom = np.maximum(visits - entries, 0)
    pooled = _sums(owner, squares, size) / np.maximum(freedom, 1)
    overall = _sums(owner, squares + results.counts * (mean - value[owner]) ** 2, size)
    # A stratum with a single trial does not show its spread: use the pooled one.
    pooled = np.where(freedom > 0, pooled, overall / np.maximum(visits - 1, 1))
    variances = np.where(count > 1, squares / np.maximum(count - 1, 1), pooled[owner])
    by_playouts = _sums(owner, share**2 * variances / count, size)
    if exact:
        return by_playouts
    # Entries are a sample: the spread between their means contains both sources of error, but with
    # few entries it may be small by chance.
    spread = _sums(owner, (share * (mean - value[owner])) ** 2, size)
    return np.maximum(by_playouts, spread * entries / np.maximum(entries - 1, 1))
