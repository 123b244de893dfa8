"""The examples in docstrings of rules and machines run, and print what they show."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "ggp.gdl.games",
    "ggp.gdl.nearest",
    "ggp.gdl.normalize",
    "ggp.gdl.program",
    "ggp.gdl.source",
    "ggp.gdl.syntax.descriptions",
    "ggp.gdl.syntax.parser",
    "ggp.gdl.syntax.printer",
    "ggp.gdl.terms",
    "ggp.machine.arrays",
    "ggp.machine.base",
    "ggp.machine.gambit.games",
    "ggp.machine.games",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_show(name: str) -> None:
    counts = doctest.testmod(import_module(name))
    assert counts.attempted > 0
    assert counts.failed == 0
