"""Puts questions about a circuit to the solver in clingo: can this ever hold?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.optimise.draft import gates_of
from ggp.machine.propnet.optimise.knowledge import Work
from ggp.machine.propnet.optimise.patience import unbroken

if TYPE_CHECKING:
    from clingo import Model
    from clingo.backend import Backend

Example = Callable[[int], bool]
"""Tells whether a sign holds in an example."""

CONFLICTS_A_STEP = 40
STEPS_TO_ASK = 1
STEPS_TO_BUILD = 5
"""Work for each atom: conflicts that are a step, and steps for a question and for a solver."""

QUICK = 300
"""Questions with a limit of no more conflicts than this are answered before being interrupted."""

LOOK_UP_S = 0.1
"""Seconds between two checks whether a longer question is to be interrupted."""


class SearchLimit(NamedTuple):
    """Bounds on a search: conflicts, and the `Work.spent` at which to stop."""

    conflicts: int
    until: int


class Solver:
    """The nets of a circuit for one state and one joint move, with any possible values.

    A *sign* is the solver's name for a literal; minus a sign is its negation. It is not encoded
    that loops are least fixpoints.
    """

    def __init__(self, circuit: Circuit, roots: Iterable[int], work: Work) -> None:
        """Encode a circuit for the solver.

        Args:
            circuit: the circuit of a game.
            roots: literals whose nets, and those they depend on, can be asked about.
            work: the count of work.
        """
        # Not needed for circuits that have been optimised before.
        from clingo import Control

        self._control = Control(["--warn=none"])
        self._atoms: list[int] = []
        self._work = work
        first_net = 1 + circuit.num_inputs
        gates = gates_of(circuit)
        free = set(range(1, first_net))
        for loop in circuit.loops:
            free.update(range(first_net + loop.start, first_net + loop.end))
        needed = [net in free or not net for net in range(first_net + len(gates))]
        for root in roots:
            needed[root >> 1] = True
        for net in range(len(needed) - 1, first_net - 1, -1):
            if needed[net] and net not in free:
                for literal in gates[net - first_net]:
                    needed[literal >> 1] = True
        with self._control.backend() as backend:
            # Net 0 has an atom that no rule makes true.
            self._atoms = [backend.add_atom() if each else 0 for each in needed]
            for net, atom in enumerate(self._atoms):
                if net in free:
                    backend.add_rule([atom], [], True)
                elif atom and net:
                    backend.add_rule([atom], [self.sign(x) for x in gates[net - first_net]])
        self._num_atoms = sum(map(bool, self._atoms))
        work.spend(STEPS_TO_BUILD * self._num_atoms)

    def sign(self, literal: int) -> int:
        """The sign of a literal."""
        atom = self._atoms[literal >> 1]
        return -atom if literal & 1 else atom

    def add(self) -> Additions:
        """A context manager for adding definitions and facts."""
        return Additions(self._control.backend())

    def find(
        self, assumed: Sequence[int], on_example: Callable[[Example], None], limit: SearchLimit
    ) -> bool | None:
        """Whether signs can hold together; None if that is too hard to decide.

        Args:
            assumed: the signs.
            on_example: called with an example if there is one.
            limit: the bounds on the search.
        """

        def tell(model: Model) -> None:
            on_example(model.is_true)

        affordable = CONFLICTS_A_STEP * (limit.until - self._work.spent) // self._num_atoms
        conflicts = min(limit.conflicts, affordable)
        if conflicts <= 0:
            return None
        # `configuration.solve` is made up at run time.
        self._control.configuration.solve.solve_limit = str(conflicts)  # type: ignore[union-attr]
        if conflicts <= QUICK:
            with unbroken():
                found = self._control.solve(assumptions=assumed, on_model=tell).satisfiable
            used = conflicts if found is None else 0
        else:
            # In a thread of its own, so that this one can be interrupted.
            with self._control.solve(assumptions=assumed, on_model=tell, async_=True) as search:
                while not search.wait(LOOK_UP_S):
                    pass
                found = search.get().satisfiable
            used = int(self._control.statistics["solving"]["solvers"]["conflicts"])
        self._work.spend(self._num_atoms * (STEPS_TO_ASK + used // CONFLICTS_A_STEP))
        return found


class Additions:
    """Makes signs; used as a context manager."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __enter__(self) -> Additions:
        self._backend.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        self._backend.__exit__(*error)  # type: ignore[no-untyped-call]

    def free(self) -> int:
        """A new sign that may hold or not."""
        atom = self._backend.add_atom()
        self._backend.add_rule([atom], [], True)
        return atom

    def all_of(self, signs: Iterable[int]) -> int:
        """A sign that holds where all of `signs` hold."""
        atom = self._backend.add_atom()
        self._backend.add_rule([atom], list(signs))
        return atom

    def any_of(self, signs: Iterable[int]) -> int:
        """A sign that holds where one of `signs` holds."""
        return -self.all_of([-sign for sign in signs])

    def two_of(self, signs: Iterable[int]) -> int:
        """A sign that holds where two or more of `signs` hold."""
        atom = self._backend.add_atom()
        self._backend.add_weight_rule([atom], 2, [(sign, 1) for sign in signs])
        return atom

    def forbid(self, signs: Iterable[int]) -> None:
        """Demand that `signs` never all hold."""
        self._backend.add_rule([], list(signs))
