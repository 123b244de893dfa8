"""Examples in docstrings give the output that they show."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "compile.gates",
        "compile.rewriting.extents",
        "optimise.knowledge",
        "optimise.proofs",
        "play.layout.tape_layout",
    ],
)
def test_examples_of_docstrings_give_their_output(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"ggp.machine.propnet.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
