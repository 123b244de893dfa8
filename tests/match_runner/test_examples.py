"""Examples in docstrings."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "ggp.statistics",
        "match_runner.match.records",
        "match_runner.match.referee",
        "match_runner.series.plan",
        "match_runner.series.verdicts",
        "match_runner.tournament",
    ],
)
def test_examples_show_what_happens(module: str) -> None:
    results = doctest.testmod(import_module(module))
    assert results.attempted > 0
    assert results.failed == 0
