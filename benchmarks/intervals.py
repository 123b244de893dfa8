"""How often 99 % intervals miss the mean: `python -m benchmarks.intervals`.

Scores are drawn from distributions such as games have, whose means are known. Intervals by betting
(`ggp.statistics`) are compared with those that are only used of many rounds
whose number was fixed beforehand (`fixed_interval`): of few rounds, after looking again and again,
and where the best of many players is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache

import click
import numpy as np

from ggp.console import print_json, print_rich, spinner
from ggp.report import Table
from ggp.statistics import GOALS, LEVEL, NUM_BETS, fixed_interval
from match_runner.series.verdicts import DIFFERENCES, judge

FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

FEW = (3, 5, 10, 20, 50)
"""Rounds."""

PEEKED = 200
"""Rounds up to which bets are looked at, after each of them."""

LOOKS = tuple(range(5, 51, 5))
"""Rounds after which the others are looked at."""

_CHUNK = 1_000
_SEED = 0


@dataclass(frozen=True, slots=True)
class Case:
    """Independent scores of rounds.

    Attributes:
        values, shares: what they may be, and how often each is.
        bounds: what they may be at least and at most.
    """

    values: tuple[float, ...]
    shares: tuple[float, ...]
    bounds: tuple[float, float] = GOALS

    @property
    def mean(self) -> float:
        """The one that intervals should hold."""
        return math.fsum(v * p for v, p in zip(self.values, self.shares, strict=True))

    def draw(self, rng: np.random.Generator, *shape: int) -> FloatArray:
        """Scores of an array's shape."""
        return rng.choice(np.array(self.values, dtype=np.float64), shape, p=self.shares)


_SKEWED = tuple(0.6 * 0.4**n / (1 - 0.4**11) for n in range(11))

CASES: Mapping[str, Case] = {
    "win, draw or loss": Case((0, 50, 100), (1 / 3, 1 / 3, 1 / 3)),
    "win or loss, even": Case((0, 100), (0.5, 0.5)),
    "win or loss, 1 in 10": Case((0, 100), (0.9, 0.1)),
    "win or loss, 9 in 10": Case((0, 100), (0.1, 0.9)),
    "mostly draws": Case((0, 50, 100), (0.1, 0.8, 0.1)),
    "0, 10 ... 100, mostly low": Case(tuple(range(0, 101, 10)), _SKEWED),
    "90, sometimes 0": Case((0, 90), (0.05, 0.95)),
    "10, sometimes 100": Case((10, 100), (0.97, 0.03)),
    "difference of equals": Case((-100, 0, 100), (0.25, 0.5, 0.25), DIFFERENCES),
    "difference, +10 or -90": Case((-90, 10), (0.1, 0.9), DIFFERENCES),
    "difference, small": Case((-5, 0, 5), (0.3, 0.4, 0.3), DIFFERENCES),
}
"""Scores and paired differences, by name."""

SCORES = CASES["win, draw or loss"]
NUM_PLAYERS, PLAYED = 8, 10
"""Of the choice: equal players, and rounds that they play."""


@dataclass(frozen=True, slots=True)
class Misses:
    """Shares of runs in which an interval missed the mean.

    Attributes:
        betting, resampled: by rounds; `resampled` is of `fixed_interval`.
        peeking: by betting, after any of up to `PEEKED` rounds.
        resampled_peeking: after any of `LOOKS`.
    """

    betting: Mapping[int, float]
    peeking: float
    resampled: Mapping[int, float]
    resampled_peeking: float | None


def misses_of(
    name: str, rounds: tuple[int, ...], repeats: int, seed: int, resampled: int = 0
) -> Misses:
    """Simulate one of `CASES`.

    Args:
        rounds: how many are played, sorted.
        repeats: runs by betting.
        resampled: runs of the other intervals, each of which takes milliseconds.
    """
    case = CASES[name]
    rng = np.random.default_rng(seed)
    missed = np.zeros(PEEKED, dtype=np.int64)
    ever = 0
    for first in range(0, repeats, _CHUNK):
        missed_here = _missed_by_betting(case, case.draw(rng, min(_CHUNK, repeats - first), PEEKED))
        missed += missed_here.sum(axis=0)
        ever += int(missed_here.any(axis=1).sum())
    shares = {num: int(missed[num - 1]) / repeats for num in rounds}
    if not resampled:
        return Misses(shares, ever / repeats, {}, None)
    looks = sorted({*rounds, *LOOKS})
    samples = case.draw(rng, resampled, max(looks))
    misses = cache(lambda values: _misses_resampled(case, values))
    missed_here = np.array([[misses(tuple(sorted(run[:n]))) for n in looks] for run in samples])
    return Misses(
        shares,
        ever / repeats,
        {num: float(missed_here[:, looks.index(num)].mean()) for num in rounds},
        float(missed_here[:, [looks.index(num) for num in LOOKS]].any(axis=1).mean()),
    )


def wrong_choices(repeats: int, resampled: int, seed: int) -> dict[str, float]:
    """How often one of several equal players is said to be surely worse than the best one.

    Of equal players each is the best, so the first stands for it.

    Args:
        repeats, resampled: runs by betting, and among them those of the other intervals.
    """
    rng = np.random.default_rng(seed)
    names = [str(number) for number in range(NUM_PLAYERS)]
    corrected = plain = 0
    for number in range(repeats):
        scores = SCORES.draw(rng, PLAYED, NUM_PLAYERS)
        verdict = judge(names, [dict(enumerate(row)) for row in scores.tolist()], 0, fixed=False)
        assert verdict is not None
        corrected += names[0] not in (verdict.best, *verdict.as_good)
        if number < resampled and verdict.best != names[0]:
            gains = scores[:, int(verdict.best)] - scores[:, 0]
            interval = fixed_interval(gains.tolist(), _SEED, DIFFERENCES)
            plain += (interval.low or 0.0) > 0
    return {"betting, corrected": corrected / repeats, "resampled": plain / max(1, resampled)}


def _missed_by_betting(
    case: Case, samples: FloatArray
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """`[R, T]` whether the bounds after so many rounds of a run leave out the mean: all at once,
    where `bounds_of` looks at one run at one time."""
    low, high = case.bounds
    bound = math.log(2 / (1 - LEVEL))
    missed = np.zeros(samples.shape, dtype=bool)
    scaled, mean = (samples - low) / (high - low), (case.mean - low) / (high - low)
    bets = np.arange(1, NUM_BETS + 1) / NUM_BETS
    for values, at in ((scaled, mean), (1 - scaled, 1 - mean)):
        wealth = np.zeros(samples.shape)
        for bet in bets:
            with np.errstate(divide="ignore"):
                gains = np.log1p(bet * (values / at - 1)).cumsum(axis=1)
            wealth += np.exp(np.minimum(gains, 700.0)) / NUM_BETS
        missed |= np.log(wealth) >= bound
    return missed


def _misses_resampled(case: Case, values: tuple[float, ...]) -> bool:
    interval = fixed_interval(values, _SEED, case.bounds)
    assert interval.low is not None
    assert interval.high is not None
    return not interval.low <= case.mean <= interval.high


@click.command()
@click.option("--repeats", default=20_000, show_default=True, help="Runs by betting.")
@click.option("--resampled", default=500, show_default=True, help="Runs of the other intervals.")
@click.option("--seed", default=_SEED, show_default=True, help="Seed of what is drawn.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(repeats: int, resampled: int, seed: int, as_json: bool) -> None:
    """How often 99 % intervals miss the mean, in percent: by betting, and resampled as they would
    be of a fixed number of rounds."""
    misses = {}
    for name in CASES:
        with spinner(name):
            misses[name] = misses_of(name, FEW, repeats, seed, resampled)
    with spinner("choices"):
        choices = wrong_choices(resampled, resampled, seed)
    if as_json:
        print_json({"misses": {n: asdict(m) for n, m in misses.items()}, "choices": choices})
        return
    head = ("%", *(f"#{num}" for num in FEW), "#any")
    click.echo(f"by betting; any: looked at after each of {PEEKED} rounds")
    rows = [(n, *_percent(*m.betting.values(), m.peeking)) for n, m in misses.items()]
    print_rich(Table(head, rows))
    click.echo(f"resampled or exact binomial; any: after 5, 10 ... {LOOKS[-1]} rounds")
    rows = [
        (n, *_percent(*m.resampled.values(), m.resampled_peeking or 0.0)) for n, m in misses.items()
    ]
    print_rich(Table(head, rows))
    click.echo(f"the best of {NUM_PLAYERS} equal players left out after {PLAYED} rounds")
    print_rich(Table(("", "#%"), [(name, *_percent(s)) for name, s in choices.items()]))


def _percent(*shares: float) -> tuple[str, ...]:
    return tuple(f"{100 * share:.1f}" for share in shares)


if __name__ == "__main__":
    main()
