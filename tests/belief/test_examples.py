"""Examples in docstrings of beliefs and players."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [
    "belief.bags",
    "belief.paths",
    "belief.sampler",
    "belief.turns.resample",
    "players.options.option_fields",
    "players.parts.risk",
    "players.player",
    "players.spec",
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str) -> None:
    outcome = doctest.testmod(import_module(f"ggp.{module}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
