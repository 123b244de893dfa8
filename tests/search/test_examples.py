"""Examples in the docstrings of searching, solving and studying games."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = {
    "ggp.search.anytime": 3,
    "ggp.search.budgets": 5,
    "ggp.search.estimates": 7,
    "ggp.solve": 5,
    "ggp.solve.following": 9,
    "ggp.solve.solver": 4,
    "ggp.solve.tree_builder": 3,
    "ggp.study.lengths": 5,
    "ggp.study.names": 5,
    "ggp.study.properties": 5,
    "ggp.study.rehearsal": 4,
}
"""Modules with examples, and the number of statements that each has at least."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_the_results_that_they_show(name: str) -> None:
    results = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.attempted >= MODULES[name]
    assert results.failed == 0
