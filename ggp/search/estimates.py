"""Candidate moves of bags, their trials, and estimates of their values from these.

Searches plan trials, add their `Results` to a `Tally`, and return its `Estimates`; players choose
by these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from ggp.belief import Bags
from ggp.machine.abilities import PlayoutSums
from ggp.machine.arrays import first_seen_columns, offsets_of, segment_ids, take_segments
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, Ragged
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.on_circuit import on_circuit

# ------------------------------------------------------------------------
# Plans trials of candidate moves on the entries of bags, and sums up their goals.
#
# For each candidate a bag's entries are tried in proportion to their weights (stratified sampling).
# For weights .6, .3, .1:
#
#     10 trials    6, 3 and 1
#     4 trials     one each; the fourth is drawn
#     2 trials     entries are drawn by weight, with repetition
#
# Shapes: B bags, C candidates of all bags, T trials, S strata: (candidate, entry) pairs.


@dataclass(frozen=True)
class Trials:
    """Trials of candidate moves on entries of bags; the trials of a stratum are neighbours.

    Attributes:
        offsets: `[S + 1]` trials of each stratum; none is empty.
        candidate: `[S]` index into the values of the candidates.
        share: `[S]` weight of the stratum in the candidate's value; sums to 1 for each.
        lanes: `[S]` index into the states of the bags' sets.
        moves: `[S]` the candidate move.
    """

    offsets: IntArray
    candidate: IntArray
    share: FloatArray
    lanes: IntArray
    moves: IntArray

    def __len__(self) -> int:
        """Number of trials."""
        return int(self.offsets[-1])

    @property
    def counts(self) -> IntArray:
        """`[S]` trials of each stratum."""
        return self.offsets[1:] - self.offsets[:-1]

    def part(self, start: int, end: int) -> tuple[slice, IntArray]:
        """The strata of trials `start` to `end`, and how many of these trials each has."""
        first = int(np.searchsorted(self.offsets, start, side="right")) - 1
        last = int(np.searchsorted(self.offsets, end, side="left"))
        bounds = np.clip(self.offsets[first : last + 1], start, end)
        return slice(first, last), bounds[1:] - bounds[:-1]


def plan_trials(
    bags: Bags,
    moves: Ragged,
    count: int,
    rng: np.random.Generator,
    bag_ids: IntArray | None = None,
    *,
    by_entry: bool = False,
) -> Trials:
    """`count` trials of every candidate of the chosen bags (default: all), bag by bag.

    Common random numbers: all candidates of a bag are tried on the same entries, so that the choice
    of entries does not blur their differences.

    Args:
        moves: the candidates of each bag.
        bag_ids: increasing indices of bags.
        by_entry: make all trials of one entry neighbours, which is cheaper; otherwise all trials of
            one candidate, so that some are complete if time runs out.
    """
    bag_ids = np.arange(len(bags)) if bag_ids is None else bag_ids
    sets = bags.sets
    set_of = segment_ids(sets.offsets)
    weights = np.exp(sets.log_weights)
    weights /= np.bincount(set_of, weights)[set_of]
    sizes = sets.counts[bags.segment[bag_ids]]
    # A candidate is tried on at most `count` entries.
    max_strata = int((np.minimum(sizes, count) * moves.counts[bag_ids]).sum())
    lanes, candidate, counts = (np.empty(max_strata, dtype=np.int64) for _ in range(3))
    shares = np.empty(max_strata)
    repeats = np.empty(sizes.max(initial=0), dtype=np.int64)
    starts = rng.random(len(bag_ids))
    size = plan.for_steps(max_strata + int(sizes.sum()))(
        sets.offsets,
        weights,
        bags.segment,
        moves.offsets,
        bag_ids,
        count,
        starts,
        by_entry,
        repeats,
        lanes,
        candidate,
        counts,
        shares,
    )
    tried_moves = moves.values[candidate[:size]]
    offsets = offsets_of(counts[:size])
    return Trials(offsets, candidate[:size], shares[:size], lanes[:size], tried_moves)


def plan_round(
    bags: Bags,
    moves: Ragged,
    count: int,
    rng: np.random.Generator,
    subset: IntArray | None = None,
) -> Trials:
    """`count` trials of every candidate of all bags, or of a subset of candidates.

    Args:
        moves: the candidates of each bag.
        subset: increasing indices into `moves.values`.
    """
    if subset is None:
        return plan_trials(bags, moves, count, rng)
    subset_moves = Ragged(np.searchsorted(subset, moves.offsets), moves.values[subset])
    trials = plan_trials(bags, subset_moves, count, rng)
    return replace(trials, candidate=subset[trials.candidate])


class Results:
    """Goal values of trials, summed up in each stratum.

    Args:
        trials: the trials.
        middle: see below.

    Attributes:
        middle: of the goal range; None to omit errors and promptness.
        counts: `[S]` trials that have a result.
        totals: `[S]` sum of their goal values.
        squares: `[S]` sum of the squares of these.
        promptness: `[S]` sum of (middle - goal) * turns: large for early wins and late losses.
    """

    def __init__(self, trials: Trials, middle: float | None = None) -> None:
        self.trials = trials
        self.counts = np.zeros(len(trials.candidate), dtype=np.int64)
        self.totals = np.zeros(len(trials.candidate))
        self.squares = np.zeros(len(trials.candidate))
        self.promptness = np.zeros(len(trials.candidate))
        self.middle = middle

    def add(self, start: int, goals: FloatArray, turns: IntArray) -> None:
        """Add the goal values of trials from `start` on, and the number of turns of each."""
        if not len(goals):
            return
        strata, counts = self.trials.part(start, start + len(goals))
        begins = offsets_of(counts)[:-1]
        self.counts[strata] += counts
        self.totals[strata] += np.add.reduceat(goals, begins)
        if self.middle is not None:
            self.squares[strata] += np.add.reduceat(goals * goals, begins)
            prompt = (self.middle - goals) * turns
            self.promptness[strata] += np.add.reduceat(prompt, begins)

    def add_sums(self, start: int, counts: IntArray, sums: PlayoutSums) -> None:
        """Add sums of trials from `start` on, which are `counts` trials of each stratum."""
        first = int(np.searchsorted(self.trials.offsets, start, side="right")) - 1
        strata = slice(first, first + len(counts))
        self.counts[strata] += counts
        self.totals[strata] += sums.goals
        if self.middle is not None:
            self.squares[strata] += sums.squares
            self.promptness[strata] += self.middle * sums.steps - sums.goal_steps

    def complete(self, num_candidates: int) -> BoolArray:
        """`[C]` whether a candidate has trials, and all of them have results."""
        planned = np.bincount(self.trials.candidate, minlength=num_candidates)
        open_ = self.trials.candidate[self.counts < self.trials.counts]
        return np.asarray((planned > 0) & (np.bincount(open_, minlength=num_candidates) == 0))

    def values(self, num_candidates: int) -> FloatArray:
        """`[C]` value of each candidate; meaningful only for complete ones."""
        return self.means(self.totals, num_candidates)

    def means(self, totals: FloatArray, num_candidates: int) -> FloatArray:
        """`[C]` weighted mean over strata of `[S]` sums over their trials."""
        means = totals / np.maximum(self.counts, 1)
        sums = np.bincount(self.trials.candidate, self.trials.share * means, num_candidates)
        return np.asarray(sums, dtype=np.float64)


@inlined
def _draw(
    weights: FloatArray, first: int, size: int, count: int, start: float, out: IntArray
) -> None:
    """Write to `out[:size]` how many of `count` trials each weighted entry gets.

    Systematic sampling: points at (start + k) * total / number for k = 0, 1, ... on the line of
    weights. If there are at least as many trials as entries, each entry first gets one trial, and
    only the rest is drawn, in proportion to max(weight * count - 1, 0). So an entry's number of
    trials differs from weight * count by less than 1 wherever that is possible.
    """
    enough = size <= count
    num_draws = count - size if enough else count
    # The first loop sums the demand; the second counts the points up to the end of each entry.
    total = 0.0
    for i in range(size):
        total += _demand(weights[first + i], count, enough)
    previous = 0
    end = 0.0
    for i in range(size):
        end += _demand(weights[first + i], count, enough)
        cumulative = num_draws
        if end < total:
            cumulative = int(np.ceil(end * (num_draws / total) - start))
            cumulative = min(max(cumulative, 0), num_draws)
        out[i] = cumulative - previous
        if enough:
            out[i] += 1
        previous = cumulative


@inlined
def _demand(weight: float, count: int, enough: bool) -> float:
    """What an entry is drawn in proportion to; `enough`: whether each has got a trial already."""
    return max(weight * count - 1.0, 0.0) if enough else weight


@kernel
def plan(
    set_offsets: IntArray,
    weights: FloatArray,
    segment: IntArray,
    move_offsets: IntArray,
    bag_ids: IntArray,
    count: int,
    starts: FloatArray,
    by_entry: bool,
    repeats: IntArray,
    entries: IntArray,
    candidate: IntArray,
    counts: IntArray,
    shares: FloatArray,
) -> int:
    """Write the `[S]` strata of all chosen bags: entry, candidate, trials, and share in the value.

    Args:
        weights: of all entries; they sum to 1 in each set.
        segment: set of each bag.
        move_offsets: candidates of each bag.
        starts: a random number for each chosen bag.
        repeats: scratch, as long as the largest set.

    Returns:
        S.
    """
    begin = 0
    for k in range(len(bag_ids)):
        bag = bag_ids[k]
        first = set_offsets[segment[bag]]
        size = set_offsets[segment[bag] + 1] - first
        _draw(weights, first, size, count, starts[k], repeats)
        num_moves = move_offsets[bag + 1] - move_offsets[bag]
        num_used = 0
        for i in range(size):
            if repeats[i]:
                num_used += 1
        rank = 0
        for i in range(size):
            if repeats[i] == 0:
                continue
            # Entries that were drawn by weight count equally for each draw.
            share = weights[first + i] if size <= count else repeats[i] / count
            for move in range(num_moves):
                row = begin + (rank * num_moves + move if by_entry else move * num_used + rank)
                entries[row] = first + i
                candidate[row] = move_offsets[bag] + move
                counts[row] = repeats[i]
                shares[row] = share
            rank += 1
        begin += num_used * num_moves
    return begin


@kernel
def pick_best(
    offsets: IntArray, values: FloatArray, tolerance: float, points: FloatArray, best: IntArray
) -> None:
    """Write to `best` `[B]` the index of the best candidate of each bag, -1 if it has none.

    Args:
        offsets: `[B + 1]` candidates of each bag.
        tolerance: values are equal if they differ by this, relative to the larger one.
        points: `[B]` random numbers from 0 to 1, which break ties.
    """
    for bag in range(len(best)):
        best[bag] = -1
        first, end = offsets[bag], offsets[bag + 1]
        if first == end:
            continue
        highest, scale = values[first], abs(values[first])
        for k in range(first, end):
            highest = max(highest, values[k])
            scale = max(scale, abs(values[k]))
        threshold = highest - tolerance * scale
        ties = 0
        for k in range(first, end):
            if values[k] >= threshold:
                ties += 1
        nth = int(points[bag] * ties)
        for k in range(first, end):
            if values[k] >= threshold:
                if nth == 0:
                    best[bag] = k
                nth -= 1


# ------------------------------------------------------------------------
# Candidate moves, and the estimates of their values.

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
    sets, of_sets = bags.sets, None
    if on_circuit(machine):
        of_sets = machine.candidates(sets.states, bags.role, sets.offsets)
    if of_sets is None:
        legal = machine.legal(sets.states, bags.role, allow_stuck=True)
        set_of = segment_ids(legal.offsets[sets.offsets])
        # By first appearance, since move ids depend on the machine's earlier work.
        first, _ = first_seen_columns([set_of, legal.values])
        counts = np.bincount(set_of[first], minlength=len(sets))
        of_sets = Ragged(offsets_of(counts), legal.values[first])
    offsets, indices = take_segments(of_sets.offsets, bags.segment)
    return Ragged(offsets, of_sets.values[indices])


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
