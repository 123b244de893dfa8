"""Whether two samples come from one distribution, so that thousands of comparisons can be judged.

Both tests ask what exchanging the samples' members at random would give. The variance of a z-score
is then 1 exactly, whatever the distribution and however rare what matters is; and the p-value of a
table is uniform, also where its cells are few and small. So the z-scores and p-values of many
comparisons have known distributions, and a systematic difference shows in them long before it
shows in one comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from ggp.machine.base import FloatArray, IntArray

_EXCHANGES = 1999
"""How often the members of a table are exchanged."""

_LEAST = 20
"""Members of a cell of a table; smaller cells are put together."""


class Summary(NamedTuple):
    """What many comparisons say together.

    Attributes:
        num_scores: how many z-scores there are.
        mean, mean_error: their mean, 0 is expected, and its standard error.
        deviation, deviation_error: the root of their mean square, 1 is expected.
        largest: the z-score farthest from 0.
        largest_p: how probable one as far is among so many.
        num_tables: how many p-values of tables there are.
        uniformity_p: p-value of the Kolmogorov-Smirnov test that these are uniform.
        smallest: the smallest of them.
        smallest_p: how probable one as small is among so many.
    """

    num_scores: int
    mean: float
    mean_error: float
    deviation: float
    deviation_error: float
    largest: float
    largest_p: float
    num_tables: int
    uniformity_p: float
    smallest: float
    smallest_p: float

    def stands_out(self, chance: float) -> list[str]:
        """Comparisons less probable than `chance` if there is no difference."""
        scores = {
            "the mean of the z-scores": _two_sided(self.mean, self.mean_error),
            "the deviation of the z-scores": _two_sided(self.deviation - 1, self.deviation_error),
            "the largest z-score": self.largest_p,
            "the distribution of the p-values": self.uniformity_p,
            "the smallest p-value": self.smallest_p,
        }
        return [test for test, p in scores.items() if p < chance]


def z_score(first: FloatArray, second: FloatArray) -> float | None:
    """The difference of the means in standard errors; None if all values are the same."""
    pooled = np.concatenate([first, second])
    if (pooled == pooled[0]).all():
        return None
    error = np.sqrt(pooled.var(ddof=1) * (1 / len(first) + 1 / len(second)))
    return float((first.mean() - second.mean()) / error)


def table_p(first: IntArray, second: IntArray, rng: np.random.Generator) -> float | None:
    """The p-value of chi-square for two samples of labels; None if there is one cell only.

    Labels that are rare in both samples together make one cell. The p-value is the place of
    chi-square among those of tables with the same margins, ties by lot. Where it is larger than
    all of these, that of the chi-square distribution is taken if it is smaller.
    """
    _, labels = np.unique(np.concatenate([first, second]), return_inverse=True)
    totals = _pooled(np.bincount(labels), labels)
    if totals is None:
        return None
    cells, counts = totals
    table = np.bincount(cells[: len(first)], minlength=len(counts))
    tables = rng.multivariate_hypergeometric(counts, len(first), size=_EXCHANGES)
    expected = counts * (len(first) / len(cells))
    # Both rows of a table differ from what is expected by the same, so one row tells all. Rounded,
    # so that tables that are as far away tie.
    far, distances = (
        np.round((((cell_table - expected) ** 2) / expected).sum(axis=-1), 9)
        for cell_table in (table, tables)
    )
    larger, ties = np.count_nonzero(distances > far), np.count_nonzero(distances == far)
    p = float((larger + rng.random() * (ties + 1)) / (_EXCHANGES + 1))
    if larger + ties == 0:
        chi_square = far * len(cells) / len(second)
        p = min(p, float(stats.chi2.sf(chi_square, len(counts) - 1)))
    return p


def summarize(groups: Sequence[Sequence[float]], tables: Sequence[float]) -> Summary:
    """All comparisons together.

    Errors are told by how groups differ, but are at least those of independent z-scores: a few
    groups may be alike by accident.

    Args:
        groups: z-scores; those of a group are of the same matches, and may depend on each other.
        tables: p-values of tables, independent of each other.
    """
    scores = np.array([z for group in groups for z in group])
    size = len(scores)
    square = float(np.mean(scores**2))
    mean = float(scores.mean())
    mean_error = _error([sum(group) - len(group) * mean for group in groups], size)
    square_error = _error([sum(z * z - square for z in group) for group in groups], size)
    largest = float(scores[np.abs(scores).argmax()])
    smallest = float(min(tables, default=1.0))
    return Summary(
        num_scores=size,
        mean=mean,
        mean_error=max(mean_error, size**-0.5),
        deviation=square**0.5,
        deviation_error=max(square_error / (2 * square**0.5), (2 * size) ** -0.5),
        largest=largest,
        largest_p=_among(size, 2 * float(stats.norm.sf(abs(largest)))),
        num_tables=len(tables),
        uniformity_p=float(stats.kstest(tables, "uniform").pvalue) if tables else 1.0,
        smallest=smallest,
        smallest_p=_among(len(tables), smallest),
    )


def _pooled(counts: IntArray, labels: IntArray) -> tuple[IntArray, IntArray] | None:
    """Labels of cells that are large enough, and their sizes; None if there is one only."""
    order = np.argsort(counts, kind="stable")
    rare = int(np.count_nonzero(counts < _LEAST))
    if 0 < counts[order[:rare]].sum() < _LEAST:
        rare += 1
    cell_of = np.zeros(len(counts), dtype=np.int64)
    cell_of[order] = np.maximum(np.arange(len(counts)) - max(rare - 1, 0), 0)
    cells = cell_of[labels]
    sizes = np.bincount(cells)
    return (cells, sizes) if len(sizes) > 1 else None


def _error(sums: Sequence[float], size: int) -> float:
    """The standard error of a mean, from sums over independent groups."""
    return float(np.sqrt(np.sum(np.square(sums))) / size)


def _among(size: int, p: float) -> float:
    """How probable it is that the smallest of so many p-values is as small."""
    return float(-np.expm1(size * np.log1p(-min(p, 1 - 1e-12)))) if size else 1.0


def _two_sided(value: float, error: float) -> float:
    return 2 * float(stats.norm.sf(abs(value) / error))
