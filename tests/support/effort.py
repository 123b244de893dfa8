"""How much of what is long is done: a part with the test command, all with `make verify`.

Cases of a test that take seconds, and teach what its other cases teach, are marked; properties are
tried with fewer examples.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

THOROUGH = os.environ.get("GGP_THOROUGH") == "1"
"""Set by `make verify`."""


def rarely(cases: Iterable[Any], long: Container[Any]) -> list[Any]:
    """Cases for `parametrize`, of which some are left to `make verify`.

    Args:
        cases: all of them; tuples where there are several arguments.
        long: those that take long.
    """
    return [_marked(case) if case in long else case for case in cases]


def examples(number: int) -> int:
    """How many examples Hypothesis tries: so many, or a quarter of them."""
    return number if THOROUGH else max(number // 4, 10)


def _marked(case: Any) -> ParameterSet:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.verify)
