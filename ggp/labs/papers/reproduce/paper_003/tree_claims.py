"""Claims of paper 003 about its heat maps, and numbers computed by others, judged by our trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from ggp.labs.papers.reproduce.paper_003.tree_cells import TreeCell, TreeScores
from ggp.labs.papers.reproduce.results import FEWEST_ROUNDS, Claim
from ggp.statistics.intervals import Interval, interval_text, student_interval

_Measured = Mapping[TreeCell, Sequence[TreeScores]]
_Value = Callable[[TreeScores], float]

EXPECTED: Mapping[TreeCell, float] = {
    TreeCell(0.0, 0.75, 0.5): -0.234,
    TreeCell(0.5, 0.75, 0.5): -0.129,
    TreeCell(0.9, 0.75, 0.6): -0.075,
    TreeCell(0.5, 0.75, 0.3): -0.107,
    TreeCell(0.9, 0.5, 0.6): -0.110,
}
"""Scores of PIMC against the equilibrium, computed independently."""

TOLERANCE = 0.015
NOTHING = 0.003
"""Tolerance of a score of 0, as nobody finds an equilibrium exactly."""

RANDOM_ALTERNATING = -0.42
"""Score of random play against an equilibrium found by alternating updates at `UPDATES`, computed
independently; -0.62 with simultaneous ones."""

UPDATES = TreeCell(0.8, 0.75, 0.6)
SKAT = TreeCell(0.9, 0.75, 0.6)
"""Cell about where Skat and Hearts lie in Figure 6."""

EXTRA = (TreeCell(0.9, 0.5, 0.6),)

_TENTHS = tuple(step / 10 for step in range(11))


def mean_of(trees: Sequence[TreeScores], value: _Value) -> float:
    """Mean of a value over trees."""
    return sum(map(value, trees)) / len(trees)


def of_pimc(trees: _Measured) -> list[Claim]:
    """Claims about Figure 3."""
    claims = [
        _near(f"PIMC at {cell}", expected, TOLERANCE, trees[cell], _pimc)
        for cell, expected in EXPECTED.items()
    ]
    known = [cell for cell in trees if cell.disambiguation == 1]
    claims.append(_nothing("PIMC where everybody knows the world (df = 1)", known, trees))
    decided = [cell for cell in trees if cell.leaf_correlation == 1 and cell.bias in (0, 1)]
    claims.append(
        _nothing("PIMC where one side wins all leaves (lc = 1, b = 0 or 1)", decided, trees)
    )
    by_df = [mean_of(trees[TreeCell(0.5, 0.75, df)], _pimc) for df in _TENTHS]
    worst = _TENTHS[by_df.index(min(by_df))]
    claims += [
        _judged(
            "PIMC loses most in the middle of disambiguation (lc = 0.5, b = 0.75)",
            "paper: mid-range",
            f"at df = {worst:g}: {min(by_df):.3f}",
            0.2 <= worst <= 0.8,
            trees,
        ),
        _growing(
            "PIMC loses less as leaf correlation grows (df = 0.3, mean of all biases)",
            [[TreeCell(lc, b, 0.3) for b in _TENTHS] for lc in _TENTHS[::2]],
            trees,
            _pimc,
        ),
        _order(
            "with df = 0.8, though, low correlation is good for PIMC (lc = 0.5, 0; b = 0.75)",
            [TreeCell(0.5, 0.75, 0.8), TreeCell(0.0, 0.75, 0.8)],
            trees,
            _pimc,
        ),
        _near(
            f"PIMC where Skat is ({SKAT})",
            -0.1,
            0.05,
            trees[SKAT],
            _pimc,
            "paper: about -0.1 ± 0.05",
        ),
    ]
    return claims


def of_random(trees: _Measured) -> list[Claim]:
    """Claims about Figure 4."""
    return [
        _near(f"random at {UPDATES}", RANDOM_ALTERNATING, 0.03, trees[UPDATES], _random),
        _order(
            "random play loses more as disambiguation grows (lc = 0.5, b = 0.75)",
            [TreeCell(0.5, 0.75, df) for df in (0.9, 0.6, 0.3, 0.0)],
            trees,
            _random,
        ),
        _near(
            "random with lc = 1 and b = 1 plays perfectly",
            0.0,
            NOTHING,
            trees[TreeCell(1.0, 1.0, 0.3)],
            _random,
            "paper: 0",
        ),
    ]


def of_gain(trees: _Measured) -> list[Claim]:
    """Claims about Figure 5."""
    return [
        _order(
            "PIMC gains more over random play as disambiguation grows (lc = 0.5, b = 0.75)",
            [TreeCell(0.5, 0.75, df) for df in (0.0, 0.3, 0.6, 0.9)],
            trees,
            _gain,
        ),
        _near(
            f"gain where Skat is ({SKAT})",
            0.4,
            0.05,
            trees[SKAT],
            _gain,
            "paper: 0.4",
            "How an equilibrium meets random moves depends on how it was found: by simultaneous "
            "updates the gain is 0.47.",
        ),
    ]


def _pimc(trees: TreeScores) -> float:
    return trees.pimc


def _random(trees: TreeScores) -> float:
    return trees.random


def _gain(trees: TreeScores) -> float:
    return trees.pimc - trees.random


def _near(
    text: str,
    expected: float,
    tolerance: float,
    trees: Sequence[TreeScores],
    value: _Value,
    said: str = "",
    reason: str = "",
) -> Claim:
    """Claim that agrees if the mean is within the tolerance."""
    interval = student_interval([value(each) for each in trees])
    return Claim(
        text,
        said or f"computed: {expected:.3f} ± {tolerance:g}",
        score_text(interval),
        abs(mean_of(trees, value) - expected) <= tolerance if len(trees) >= FEWEST_ROUNDS else None,
        reason,
    )


def _nothing(text: str, cells: Sequence[TreeCell], trees: _Measured) -> Claim:
    found = [mean_of(trees[cell], _pimc) for cell in cells]
    most = max(map(abs, found))
    return _judged(text, f"0 ± {NOTHING:g}", f"at most {most:.4f}", most <= NOTHING, trees)


def _order(text: str, cells: Sequence[TreeCell], trees: _Measured, value: _Value) -> Claim:
    """Claim that agrees if the value grows from cell to cell."""
    return _growing(text, [[cell] for cell in cells], trees, value)


def _growing(
    text: str, cells: Sequence[Sequence[TreeCell]], trees: _Measured, value: _Value
) -> Claim:
    """Claim that agrees if the mean value of some cells grows from one list of them to the next."""
    found = [sum(mean_of(trees[cell], value) for cell in some) / len(some) for some in cells]
    return _judged(
        text,
        "paper",
        " < ".join(f"{each:.3f}" for each in found),
        all(one < two for one, two in pairwise(found)),
        trees,
    )


def _judged(text: str, expected: str, ours: str, agrees: bool, trees: _Measured) -> Claim:
    enough = min(map(len, trees.values())) >= FEWEST_ROUNDS
    return Claim(text, expected, ours, agrees if enough else None)


def score_text(interval: Interval) -> str:
    """A score as `-0.234 [-0.241, -0.227]`."""
    return interval_text(interval, ".3f")
