"""The examples in docstrings print the output they show, in every module that has some."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from tests.support.games import REPOSITORY

FILES = sorted(
    file for root in ("ggp", "match_runner") for file in REPOSITORY.glob(f"{root}/**/*.py")
)
EXAMPLES = {
    ".".join(file.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"): count
    for file in FILES
    if (count := file.read_text(encoding="utf-8").count(">>> "))
}
"""Modules with examples, and how many statements these have."""

NEEDS = {
    "ggp.labs.learning.env.gymnasium_env": "gymnasium",
    "ggp.labs.learning.env.pettingzoo_env": "pettingzoo",
    "ggp.labs.openspiel": "pyspiel",
}
"""The names that the modules of a name, and below it, import."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_what_they_show(name: str) -> None:
    for part, library in NEEDS.items():
        if f"{name}.".startswith(f"{part}."):
            pytest.importorskip(library)
    outcome = doctest.testmod(import_module(name))
    assert (outcome.attempted, outcome.failed) == (EXAMPLES[name], 0)


def test_many_modules_have_examples() -> None:
    assert len(EXAMPLES) > 60
    assert sum(EXAMPLES.values()) > 250
