"""The examples in docstrings of the bridge to OpenSpiel."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

pytest.importorskip("pyspiel")

MODULES = ("machine.games", "rulesheets", "rulesheets.turns", "twins")


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    outcome = doctest.testmod(import_module(f"ggp.labs.openspiel.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
