"""The examples in docstrings of the library, the protocol and their tools print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "ggp",
    "ggp.library.games",
    "ggp.library.matches",
    "ggp.library.solved",
    "ggp.protocol.forms",
    "ggp.protocol.path",
    "ggp.protocol.reading",
    "ggp.protocol.session",
    "ggp.protocol.spelling",
    "ggp.registry",
    "ggp.report",
    "ggp.server.workers.pair",
    "ggp.statistics",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
