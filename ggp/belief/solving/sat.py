"""SAT solvers: `clause_solver` returns python-sat's if it is installed, else clingo's.

The unrolling passes clauses in and reads models out. Both solvers count conflicts, so that a limit
means the same on every computer. python-sat is much faster for many witnesses; clingo is always
installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from ggp.machine.base import IntArray

ENGINE = "minisat22"
"""A solver of python-sat that tries our guesses first, so that witnesses differ."""


class ClauseSolver(Protocol):
    """Finds values of propositions, numbered from 1, that satisfy clauses.

    A literal is a proposition, or its negative number.

    Attributes:
        conflicts: number of conflicts so far.
    """

    conflicts: int

    def add(self, clauses: Sequence[Sequence[int]]) -> None:
        """Add clauses of literals."""
        ...

    def guess(self, literals: Sequence[int]) -> None:
        """Set the literals to try first."""
        ...

    def solve(self, conflicts: int) -> bool | None:
        """Whether the clauses are satisfiable; None if more conflicts are needed to decide."""
        ...

    def model(self) -> IntArray:
        """The literals that hold in the last solution."""
        ...

    def close(self) -> None:
        """Free its memory."""
        ...


def clause_solver() -> ClauseSolver:
    """A new instance of the best installed solver."""
    return PySat() if find_spec("pysat") is not None else Clasp()


class PySat:
    """A `ClauseSolver` of python-sat."""

    def __init__(self) -> None:
        from pysat.solvers import Solver

        self._solver: Any = Solver(name=ENGINE)
        self.conflicts = 0

    def add(self, clauses: Sequence[Sequence[int]]) -> None:
        self._solver.append_formula(clauses)

    def guess(self, literals: Sequence[int]) -> None:
        self._solver.set_phases(literals)

    def solve(self, conflicts: int) -> bool | None:
        old_conflicts = self._solver.accum_stats()["conflicts"]
        self._solver.conf_budget(conflicts)
        is_satisfiable: bool | None = self._solver.solve_limited()
        self.conflicts += self._solver.accum_stats()["conflicts"] - old_conflicts
        return is_satisfiable

    def model(self) -> IntArray:
        return np.array(self._solver.get_model(), dtype=np.int64)

    def close(self) -> None:
        self._solver.delete()


class Clasp:
    """The solver in clingo: clauses as constraints on freely chosen atoms."""

    def __init__(self) -> None:
        from clingo import Control

        self._control = Control(["--warn=none", "--heuristic=Domain", "--seed=1"])
        self._num_atoms = 0
        self._values: list[int] = []
        self._num_guesses = 0
        self.conflicts = 0

    def add(self, clauses: Sequence[Sequence[int]]) -> None:
        with self._control.backend() as backend:
            greatest = max((abs(literal) for clause in clauses for literal in clause), default=0)
            while self._num_atoms < greatest:
                atom = backend.add_atom()
                self._num_atoms += 1
                assert atom == self._num_atoms
                backend.add_rule([atom], choice=True)
            for clause in clauses:
                backend.add_rule([], [-literal for literal in clause])

    def guess(self, literals: Sequence[int]) -> None:
        from clingo.backend import HeuristicType

        # No guess can be withdrawn, so later guesses get a higher priority.
        self._num_guesses += 1
        with self._control.backend() as backend:
            for literal in literals:
                if abs(literal) <= self._num_atoms:
                    value = 1 if literal > 0 else -1
                    backend.add_heuristic(
                        abs(literal), HeuristicType.Sign, value, self._num_guesses, []
                    )

    def solve(self, conflicts: int) -> bool | None:
        self._control.configuration.solve.solve_limit = f"{conflicts},umax"  # type: ignore[union-attr]
        with self._control.solve(yield_=True) as handle:
            model = handle.model()
            if model is not None:
                self._values = [
                    atom if model.is_true(atom) else -atom for atom in range(1, self._num_atoms + 1)
                ]
            answer = handle.get()
        self.conflicts += int(self._control.statistics["solving"]["solvers"]["conflicts"])
        if answer.unsatisfiable:
            return False
        return True if model is not None else None

    def model(self) -> IntArray:
        return np.array(self._values, dtype=np.int64)

    def close(self) -> None:
        return
