"""A role's information about a turn, in the ids of its machine.

Moves and percepts that do not occur in the rules constrain nothing, and are logged.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ggp.belief import DRAWN
from ggp.gdl import canonical_term
from ggp.machine.base import UNKNOWN, Machine

_log = logging.getLogger(__name__)


def move_of(machine: Machine, text: str | None) -> int:
    """The id of a move; `UNKNOWN` if it is not told, or not known."""
    if text is None:
        return UNKNOWN
    found = machine.move_id(canonical_term(text))
    if found is None:
        _log.warning("unknown move %s: it is ignored", text)
        return UNKNOWN
    return found


def percepts_of(machine: Machine, texts: Sequence[str] | None) -> int:
    """The id of a set of percepts; `UNKNOWN` if it is not told, or not known."""
    if texts is None:
        return UNKNOWN
    found = machine.percept_id([canonical_term(text) for text in texts])
    if found is None:
        _log.warning("unknown percepts %s: they are ignored", " ".join(texts))
        return UNKNOWN
    return found


def refused_of(machine: Machine, executed: int, submitted: str | None, in_time: bool) -> int:
    """The last argument of `PathTree.extend`: what the submission tells about an executed move."""
    if executed == UNKNOWN:
        return UNKNOWN
    if submitted is None:
        return UNKNOWN if in_time else DRAWN
    answered = machine.move_id(canonical_term(submitted))
    if answered == executed:
        return UNKNOWN
    # A move that is not in the rules is legal nowhere: it rules nothing out.
    return answered if in_time and answered is not None else DRAWN
