"""Complete paths that agree with the last turns of an incomplete one, found by solving clauses.

Forward sampling draws turn by turn, and finds nothing if one path in 2^60 agrees with the last
percepts. A *window* begins with states that are known to be possible, some turns back, and is
unrolled from there on (`unrolling`). Each solution is a complete path of the window, a *witness*:
it is replayed on the machine, so that results are sound whatever the clauses say. If there is no
solution, none of the states leads to where the role is.

Witnesses differ because each search begins with its own guess: a random match from one of the
states, with the role's own moves, whatever its percepts. The solver repairs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.solving.replay import IncompletePath, Paths, replayed
from ggp.belief.solving.sat import ClauseSolver, clause_solver
from ggp.belief.solving.unrolling import Contradiction, Unrolling
from ggp.machine.abilities import FluentBits, InParts, OnCircuit
from ggp.machine.base import IntArray, Machine, States

MOST_STARTS = 64
"""States in which a window begins, at most."""

CONFLICTS_AT_ONCE = 500
"""Solver conflicts between two looks at the clock."""

MOST_SIGNS = 30_000_000
"""Signs of the gates of a window: bounds memory, to some 500 MB including the solver's."""


def can_unroll(machine: Machine) -> bool:
    """Whether a game is on a circuit without loops, in which the moves of `random` are listed."""
    return (
        isinstance(machine, OnCircuit)
        and isinstance(machine, FluentBits)
        and not isinstance(machine, InParts)
        and not machine.circuit.loops
    )


def is_solvable(machine: Machine) -> bool:
    """Whether windows can be unrolled: for a game of GDL-II on a circuit without loops, in which
    the moves of `random` are listed."""
    return (
        can_unroll(machine)
        and isinstance(machine, OnCircuit)
        and any(outputs.names for outputs in machine.circuit.sees)
    )


@dataclass
class Spent:
    """The budget of a search.

    Attributes:
        conflicts: the number left.
        stop: when true, the search is given up.
    """

    conflicts: int
    stop: Callable[[], bool]

    @property
    def is_over(self) -> bool:
        return self.conflicts <= 0 or self.stop()


class Window:
    """The turns of a path from some states on; later turns can be added as the match goes on.

    Attributes:
        role: the argument.
        turns: `[T, 3]` the turns it was opened for.
        is_empty: whether it is proved that no path of the window agrees.
        is_too_large: whether it needs more memory than allowed.

    Args:
        machine: see `is_solvable`.
        role: the role whose path it is.
        states: K states, at most `MOST_STARTS`.
        model: how the other roles are believed to move.
    """

    def __init__(
        self,
        machine: Machine,
        role: int,
        states: States,
        model: MoveModel = UNIFORM,
    ) -> None:
        assert isinstance(machine, FluentBits)
        assert isinstance(machine, OnCircuit)
        self.role = role
        self.turns: IntArray = np.zeros((0, 3), dtype=np.int64)
        self._model = model
        self._machine, self._states = machine, states
        bits = machine.fluent_bits(states)[:, : len(machine.circuit.fluents)]
        self._unrolling = Unrolling(machine, role, bits)
        self._solver: ClauseSolver | None = None
        self.is_empty = self.is_too_large = False

    @property
    def path(self) -> IncompletePath:
        """What the role did and saw in the turns it was opened for."""
        return IncompletePath(self._machine, self.role, self.turns, self._model)

    def open(self, turns: IntArray, budget: Spent) -> bool:
        """Unroll some turns and load the solver; false if that was stopped, or needs too much
        memory. A later call continues where it was stopped.

        Args:
            turns: `[T, 3]` see `PathTree.last_turns`; begins with the turns it was opened for
                before.
        """
        self.turns = turns
        try:
            for turn in turns[self._unrolling.num_turns :].tolist():
                self._unrolling.add(*turn)
                self.is_too_large = self._unrolling.num_signs > MOST_SIGNS
                if self.is_too_large or budget.stop():
                    return False
        except Contradiction:
            self.is_empty = True
            return True
        if self._solver is None:
            self._solver = clause_solver()
        for clauses in self._unrolling.clauses():
            self._solver.add(clauses)
            if budget.stop():
                return False
        return True

    def close(self) -> None:
        """Free the solver's memory."""
        if self._solver is not None:
            self._solver.close()
            self._solver = None

    def witnesses(self, count: int, budget: Spent, rng: np.random.Generator) -> Paths | None:
        """Up to `count` paths, which may be equal; None if there is none, or none was found.

        `is_empty` tells which.
        """
        if self._solver is None:
            return None
        starts: list[int] = []
        moves: list[IntArray] = []
        while len(starts) < count and not self.is_empty and not budget.is_over:
            self._solver.guess(self._unrolling.guess(rng))
            found = self._solve(self._solver, budget)
            if found is False:
                self.is_empty = True
            if not found:
                break
            start, made = self._unrolling.read(self._solver.model())
            starts.append(start if start >= 0 else int(rng.integers(len(self._states))))
            moves.append(made)
        if not starts:
            return None
        begun = self._states.take(np.array(starts))
        paths = replayed(self.path, begun, np.array(starts), np.stack(moves), rng)
        return paths if len(paths) else None

    def _solve(self, solver: ClauseSolver, budget: Spent) -> bool | None:
        while not budget.is_over:
            before = solver.conflicts
            found = solver.solve(min(CONFLICTS_AT_ONCE, budget.conflicts))
            budget.conflicts -= max(solver.conflicts - before, 1)
            if found is not None:
                return found
        return None
