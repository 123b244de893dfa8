"""Ground rules, the result of grounding from which circuits are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ALWAYS = 0
"""In place of the atom of something that always holds."""

Named = tuple[tuple[str, int], ...]
"""(term as canonical KIF, atom) sorted by text; the atom is `ALWAYS` for what always holds."""


@dataclass(frozen=True)
class GroundProgram:
    """The ground rules of a game. Atoms are numbers from 1; terms without an atom never hold.

    An atom holds if the conditions of one of its rules hold. Atoms of `true` and `does` have
    no rules: a state and a joint move give their values. Positive recursion may remain;
    negation is stratified.

    Attributes:
        roles: names in the order of the rulesheet.
        heads: `[N]` atom of each rule.
        offsets: `[N + 1]` where the conditions of each rule start.
        conditions: atoms, negative where they must not hold.
        initial: fluents of the initial state, sorted.
        fluents: `true` of every possible fluent.
        next: `next` of fluents.
        does: for each role, `does` of every possible move.
        legal: for each role, `legal` of moves.
        sees: for each role, `sees` of percepts.
        goals: for each role, `goal` of values in the order in which they count: a value once for
            each rule that gives it, in the order of the rules, the highest first of one rule.
        terminal: the atom of `terminal`, `ALWAYS`, or None where it never holds.
    """

    roles: tuple[str, ...]
    heads: NDArray[np.int32]
    offsets: NDArray[np.int64]
    conditions: NDArray[np.int32]
    initial: tuple[str, ...]
    fluents: Named
    next: Named
    does: tuple[Named, ...]
    legal: tuple[Named, ...]
    sees: tuple[Named, ...]
    goals: tuple[Named, ...]
    terminal: int | None
