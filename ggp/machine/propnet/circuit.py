"""A game as a circuit of AND gates with inverted wires.

A *net* is an input or the output of a gate; a *literal* is `2 * net + inverted`. Net 0 is the
constant false, so literal 0 is false and literal 1 true. `x or y` is `not (not x and not y)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FALSE = 0
TRUE = 1
"""The literals of the constants."""

Literals = NDArray[np.int32]


@dataclass(frozen=True)
class Loop:
    """Gates `start` to `end` (exclusive) that depend on each other: they are evaluated again and
    again from `initial[end - start]` (bool) until nothing changes, which is their least
    fixpoint."""

    start: int
    end: int
    initial: NDArray[np.bool_]


@dataclass(frozen=True)
class Outputs:
    """Named literals of one role: moves or percepts, sorted by name, or goal values.

    Of the goal values that hold, the first counts, so they are in the order of the rules that
    give them, and one may occur several times.
    """

    names: tuple[str, ...]
    literals: Literals


@dataclass(frozen=True)
class Circuit:
    """A game as a circuit.

    Its nets, in order, are the constant, one for each fluent, one for each move of each role (in
    the order of `legal[role].names`, role after role), and one for each gate. The literals of a
    gate come before it, except within a `Loop`.

    Attributes:
        roles: names in the order of the rulesheet.
        fluents: fluents that can change, sorted.
        initial: `[F]` whether each holds in the initial state.
        constant: fluents that hold in every reachable state, sorted.
        offsets: `[G + 1]` literals of each gate.
        literals: inputs of the gates; a gate has two or more (in a `Loop`: one or more).
        loops: in order, not overlapping.
        next: `[F]` literal of each fluent in the next state.
        legal: the moves that each role can ever have, and the literals for when they are legal.
        sees: the percepts of each role.
        goals: the goal values of each role.
        terminal: the literal of `terminal`.
    """

    roles: tuple[str, ...]
    fluents: tuple[str, ...]
    initial: NDArray[np.bool_]
    constant: tuple[str, ...]
    offsets: NDArray[np.int64]
    literals: Literals
    loops: tuple[Loop, ...]
    next: Literals
    legal: tuple[Outputs, ...]
    sees: tuple[Outputs, ...]
    goals: tuple[Outputs, ...]
    terminal: int

    @property
    def num_inputs(self) -> int:
        """Number of fluents and moves."""
        return len(self.fluents) + sum(len(outputs.names) for outputs in self.legal)

    @property
    def num_gates(self) -> int:
        return len(self.offsets) - 1

    @property
    def num_literals(self) -> int:
        """Number of inputs of all gates together."""
        return len(self.literals)
