"""The examples in docstrings of the learning lab."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "env",
    "env.environment",
    "env.gymnasium_env",
    "env.pettingzoo_env",
    "env.turn",
    "selfplay",
    "selfplay.policies",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    if name.endswith(("gymnasium_env", "pettingzoo_env")):
        pytest.importorskip(name.removeprefix("env.").removesuffix("_env"))
    outcome = doctest.testmod(import_module(f"ggp.labs.learning.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
