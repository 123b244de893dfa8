"""Cells of paper 003's heat maps: scores of strategies on synthetic trees, tree by tree.

Scores are stored as they come, one line of JSON for a few trees, in the folder of the run. So
figures share them, and a run that was stopped goes on. Tree k of every cell is drawn with the same
random numbers: cells then differ by their parameters more than by luck.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from ggp.errors import ConfigError, MatchError
from ggp.labs.papers.reproduce.results import RunSettings, Tell
from match_runner.workers.executor import Executor
from match_runner.workers.places import run_all

FILE = "003-trees.jsonl"

TREES_AT_ONCE = 25
"""Number of trees in a batch of work, about a second."""

_STREAM = 7


class TreeCell(NamedTuple):
    """A cell: parameters of trees, see `TreeModel`."""

    leaf_correlation: float
    bias: float
    disambiguation: float

    def __str__(self) -> str:
        return f"lc={self[0]:g} b={self[1]:g} df={self[2]:g}"


class TreeScores(NamedTuple):
    """Scores on one tree, see `ggp.labs.papers.synthetic.Scores`."""

    pimc: float
    pimc_best_response: float
    random: float
    random_best_response: float
    nash_conv: float


@dataclass(frozen=True, slots=True)
class Trees:
    """A batch of work: trees `first` to `first + count - 1` of a cell."""

    cell: TreeCell
    first: int
    count: int
    seed: int


def measure(trees: Trees) -> list[TreeScores]:
    """Measure the scores of trees, in order."""
    # Importing numba takes as long as a whole command that does not need it.
    from ggp.labs.papers.synthetic import TreeModel, draw_tree, equilibrium, pimc, scores, uniform

    model = TreeModel(*trees.cell)
    found = []
    for number in range(trees.first, trees.first + trees.count):
        sequence = np.random.SeedSequence(trees.seed, spawn_key=(_STREAM, number))
        tree = draw_tree(model, np.random.default_rng(sequence))
        best = equilibrium(tree)
        found.append(
            TreeScores(
                *scores(tree, pimc(tree), best.profile),
                *scores(tree, uniform(tree), best.profile),
                best.nash_conv,
            )
        )
    return found


def measure_cells(
    cells: Sequence[TreeCell], settings: RunSettings, executor: Executor, tell: Tell
) -> Mapping[TreeCell, Sequence[TreeScores]]:
    """Scores of `settings.matches` trees of each cell; only those not stored yet are measured.

    Args:
        tell: called for each tree.

    Raises:
        ConfigError: the file of trees cannot be used.
        MatchError: workers fail.
    """
    path = settings.folder / FILE
    try:
        kept = _kept(path)
        for cell in cells:
            for number in range(settings.matches):
                if (cell, number) in kept:
                    tell()
        with open(path, "a", encoding="utf-8") as file:

            def keep(trees: Trees, found: list[TreeScores]) -> None:
                _write(file, trees, found)
                for _ in range(_add(kept, trees.cell, trees.first, found)):
                    tell()

            failures = run_all(
                executor,
                measure,
                ((trees, trees) for trees in _missing(cells, kept, settings)),
                keep,
                lambda trees: f"the trees with {trees.cell}",
            )
    except OSError as error:
        raise ConfigError(f"cannot use {path}: {error.strerror or error}") from error
    if failures:
        raise MatchError(failures[0])
    return {cell: [kept[cell, number] for number in range(settings.matches)] for cell in cells}


_Kept = dict[tuple[TreeCell, int], TreeScores]


def _missing(cells: Iterable[TreeCell], kept: _Kept, settings: RunSettings) -> list[Trees]:
    work = []
    for cell in cells:
        for start in range(0, settings.matches, TREES_AT_ONCE):
            end = min(start + TREES_AT_ONCE, settings.matches)
            numbers = [k for k in range(start, end) if (cell, k) not in kept]
            if numbers:  # some between the first and the last may be measured again
                work.append(Trees(cell, numbers[0], 1 + numbers[-1] - numbers[0], settings.seed))
    return work


def _write(file: TextIO, trees: Trees, found: Sequence[TreeScores]) -> None:
    line = {"cell": trees.cell, "first": trees.first, "scores": found}
    file.write(json.dumps(line) + "\n")
    file.flush()


def _kept(path: Path) -> _Kept:
    """Read the scores that were measured before; a line that was cut off is ignored."""
    kept: _Kept = {}
    if not path.exists():
        return kept
    text = path.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        path.write_text(text, encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        try:
            read = json.loads(line)
            found = [TreeScores(*map(float, values)) for values in read["scores"]]
            _add(kept, TreeCell(*map(float, read["cell"])), int(read["first"]), found)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{path}, line {number}, holds no trees; remove the line or give another --out"
            ) from error
    return kept


def _add(kept: _Kept, cell: TreeCell, first: int, found: Sequence[TreeScores]) -> int:
    """Add scores of trees to `kept`; returns the number of new ones."""
    before = len(kept)
    for number, each in enumerate(found, first):
        kept[cell, number] = each
    return len(kept) - before
