"""Plans trials of candidate moves on the entries of bags, and sums up their goals.

Searches plan a round, play its trials, add their goals to `Results`, and those to a `Tally`.

For each candidate a bag's entries are tried in proportion to their weights (stratified sampling).
For weights .6, .3, .1:

    10 trials    6, 3 and 1
    4 trials     one each; the fourth is drawn
    2 trials     entries are drawn by weight, with repetition

Shapes: B bags, C candidates of all bags, T trials, S strata: (candidate, entry) pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ggp.belief import Bags
from ggp.machine.abilities import PlayoutSums
from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, Ragged
from ggp.machine.compiling.jit import inlined, kernel


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
    lanes, candidates, counts = (np.empty(max_strata, dtype=np.int64) for _ in range(3))
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
        candidates,
        counts,
        shares,
    )
    tried_moves = moves.values[candidates[:size]]
    offsets = offsets_of(counts[:size])
    return Trials(offsets, candidates[:size], shares[:size], lanes[:size], tried_moves)


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
        demand = weights[first + i]
        if enough:
            demand = demand * count - 1.0
            if demand < 0.0:
                demand = 0.0
        total += demand
    previous = 0
    end = 0.0
    for i in range(size):
        demand = weights[first + i]
        if enough:
            demand = demand * count - 1.0
            if demand < 0.0:
                demand = 0.0
        end += demand
        cumulative = num_draws
        if end < total:
            cumulative = int(np.ceil(end * (num_draws / total) - start))
            if cumulative < 0:
                cumulative = 0
            if cumulative > num_draws:
                cumulative = num_draws
        out[i] = cumulative - previous
        if enough:
            out[i] += 1
        previous = cumulative


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
    candidates: IntArray,
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
                candidates[row] = move_offsets[bag] + move
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
            if values[k] > highest:
                highest = values[k]
        for k in range(first, end):
            if abs(values[k]) > scale:
                scale = abs(values[k])
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
