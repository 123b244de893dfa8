"""Reports of how a circuit was made smaller, stored with it."""

from __future__ import annotations

from typing import NamedTuple


class PassReport(NamedTuple):
    """The report of a pass."""

    name: str
    gates_before: int
    literals_before: int
    gates_after: int
    literals_after: int
    seconds: float
