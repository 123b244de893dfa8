"""Which candidate moves are tried on which entries how often, and what came of it.

For each candidate a bag's entries are tried in proportion to their weights. For weights .6, .3, .1:

    10 trials    6, 3 and 1
    4 trials     one each; who gets the fourth is drawn
    2 trials     entries are drawn by weight, and count as often as they were drawn

Shapes: B bags, C candidates of all bags, T trials, S strata: (candidate, entry) pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ggp.belief import Bags
from ggp.belief.resample import draw_counts
from ggp.machine.arrays import offsets_of, segment_ids, take_segments
from ggp.machine.base import BoolArray, FloatArray, IntArray, PlayoutSums, Ragged


@dataclass(frozen=True)
class Trials:
    """Trials of candidate moves on entries of bags; those of a stratum are neighbours.

    Attributes:
        offsets: `[S + 1]` trials of each stratum; each has some.
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
        """Strata of some of the trials, and how many of these each of them has."""
        first = int(np.searchsorted(self.offsets, start, side="right")) - 1
        last = int(np.searchsorted(self.offsets, end, side="left"))
        bounds = np.clip(self.offsets[first : last + 1], start, end)
        return slice(first, last), bounds[1:] - bounds[:-1]


def allocate(
    weights: FloatArray, offsets: IntArray, count: int, rng: np.random.Generator
) -> IntArray:
    """`[N]` how many of `count` trials of each bag each of its weighted entries gets.

    Where there are enough trials every entry gets at least one, and the others are
    distributed by weight; else the entries are drawn by weight.

    Args:
        weights: `[N]`, summing to 1 in each bag.
        offsets: `[B + 1]` entries of each bag.
    """
    sizes = offsets[1:] - offsets[:-1]
    enough = sizes <= count
    each = np.repeat(enough, sizes)
    wanted = np.where(each, np.maximum(weights * count - 1.0, 0.0), weights)
    missing = np.where(enough, count - sizes, count)
    return each + draw_counts(wanted, offsets, missing, rng.random(len(sizes)))


def plan_trials(
    bags: Bags,
    moves: Ragged,
    count: int,
    rng: np.random.Generator,
    chosen: IntArray | None = None,
    *,
    by_entry: bool = False,
) -> Trials:
    """`count` trials of every candidate of the chosen bags (default: all), bag by bag.

    All candidates of a bag are tried on the same entries, so that their differences are
    not blurred by the choice of entries.

    Args:
        moves: the candidates of each bag.
        chosen: increasing.
        by_entry: all trials of one entry are neighbours, which makes them cheaper; else all of
            one candidate, so that some are complete where the time runs out.
    """
    chosen = np.arange(len(bags)) if chosen is None else chosen
    sets = bags.sets
    set_of = segment_ids(sets.offsets)
    weights = np.exp(sets.log_weights)
    weights /= np.bincount(set_of, weights)[set_of]
    offsets, entries = take_segments(sets.offsets, bags.segment[chosen])
    repeats = allocate(weights[entries], offsets, count, rng)
    sizes = offsets[1:] - offsets[:-1]
    by_draw = np.repeat(sizes > count, sizes)
    # Drawn entries count as often as they were drawn: the draws had their weights already.
    shares = np.where(by_draw, repeats / count, weights[entries])
    used = np.flatnonzero(repeats)
    used_offsets = np.searchsorted(used, offsets)
    num_moves = (moves.offsets[1:] - moves.offsets[:-1])[chosen]
    if by_entry:
        # Every entry used gets a copy of the bag's list of candidates.
        owners = np.repeat(chosen, np.diff(used_offsets))
        strata, candidate = take_segments(moves.offsets, owners)
        at = np.repeat(used, np.diff(strata))
    else:
        # Every candidate of a bag gets a copy of the bag's list of entries used.
        _, candidates = take_segments(moves.offsets, chosen)
        strata, at = take_segments(used_offsets, np.repeat(np.arange(len(chosen)), num_moves))
        at = used[at]
        candidate = np.repeat(candidates, np.diff(strata))
    return Trials(
        offsets_of(repeats[at]), candidate, shares[at], entries[at], moves.values[candidate]
    )


class Results:
    """Goal values of trials, summed up in each stratum.

    Args:
        trials: what they are results of.
        middle: see below.

    Attributes:
        middle: of the goal range, if errors and promptness are wanted; None where the values
            are enough.
        counts: `[S]` trials that have a result.
        totals: `[S]` sum of their goal values.
        squares: `[S]` sum of the squares of these.
        promptness: `[S]` sum of (middle - goal) * turns: how soon wins come, how late losses.
    """

    def __init__(self, trials: Trials, middle: float | None = None) -> None:
        self.trials = trials
        self.counts = np.zeros(len(trials.candidate), dtype=np.int64)
        self.totals = np.zeros(len(trials.candidate))
        self.squares = np.zeros(len(trials.candidate))
        self.promptness = np.zeros(len(trials.candidate))
        self.middle = middle

    def add(self, start: int, goals: FloatArray, turns: IntArray) -> None:
        """Add the goal values of trials from `start` on, and how many turns each took."""
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
        """Add the trials from `start` on, `counts` of each of their strata, which are summed up."""
        first = int(np.searchsorted(self.trials.offsets, start, side="right")) - 1
        strata = slice(first, first + len(counts))
        self.counts[strata] += counts
        self.totals[strata] += sums.goals
        if self.middle is not None:
            self.squares[strata] += sums.squares
            self.promptness[strata] += self.middle * sums.steps - sums.goal_steps

    def complete(self, num_candidates: int) -> BoolArray:
        """`[C]` candidates all of whose trials, of which there are some, have results."""
        planned = np.bincount(self.trials.candidate, minlength=num_candidates)
        open_ = self.trials.candidate[self.counts < self.trials.counts]
        return np.asarray((planned > 0) & (np.bincount(open_, minlength=num_candidates) == 0))

    def values(self, num_candidates: int) -> FloatArray:
        """`[C]` value of each candidate; only that of complete ones means anything."""
        return self.means(self.totals, num_candidates)

    def means(self, totals: FloatArray, num_candidates: int) -> FloatArray:
        """`[C]` weighted mean over strata of `[S]` sums over their trials."""
        means = totals / np.maximum(self.counts, 1)
        sums = np.bincount(self.trials.candidate, self.trials.share * means, num_candidates)
        return np.asarray(sums, dtype=np.float64)
