"""Decisions as JSON, for logs, workers' lines, records and pages, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from ggp.players.elsewhere.from_json import read
from ggp.players.player import Decision

MAX_SHOWN_VALUES = 500
"""Most moves of a value table that are passed on, the best first."""

LATER_FIELDS = frozenset({"probabilities", "guessed", "quality"})
"""Fields that decisions written by earlier versions lack."""


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision as JSON values; of very many candidates only the best are kept, or none."""
    values, probabilities = decision.values, decision.probabilities
    if probabilities is not None and len(probabilities) > MAX_SHOWN_VALUES:
        decision = replace(decision, probabilities=None)
    if len(values) > MAX_SHOWN_VALUES:
        best = sorted(values, key=lambda v: -1e300 if v.value is None else v.value)
        values = tuple(sorted(best[-MAX_SHOWN_VALUES:], key=lambda v: v.move))
    return {**asdict(decision), "values": [asdict(value) for value in values]}


def decision_from_json(data: object, where: str, raises: Callable[[str], Exception]) -> Decision:
    """A decision from JSON values; see `ggp.players.elsewhere.from_json.read` for errors."""
    return read(Decision, data, where, raises, LATER_FIELDS)
