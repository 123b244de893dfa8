"""The values of nets in random matches, and proofs that something always holds."""

from __future__ import annotations

import numpy as np

from ggp.machine.propnet.circuit import FALSE, Circuit
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.knowledge import Knowledge
from ggp.machine.propnet.optimise.proofs.induction import assume_legal_moves
from ggp.machine.propnet.optimise.proofs.sampling import Words, moves_matter, sample
from ggp.machine.propnet.optimise.proofs.solver import Example, Limit, Solver

MOST_LITERALS = 2_000
"""Literals of circuits up to which gates are compared. With larger ones that takes a third of the
time of all passes, and their playouts become 4 % faster at most; with smaller ones, up to 18 %."""

NUM_WORDS = 8
NUM_STEPS = 12
"""Random matches: words of 64 lanes, and turns."""

WORDS_A_STEP = 20
STEPS_TO_LOOK = 20
STEPS_A_LITERAL = 2
STEPS_TO_LEARN = 4
"""Work: words of random matches that count as a step, steps to look for an example among them, and
for each literal looked at, and steps for each net of an example from the solver."""

CONFLICTS = 300
"""Number of conflicts allowed to a proof."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)


class Evidence:
    """Random matches of a circuit, and the knowledge about its fluents.

    Attributes:
        moves_matter: for each net whether it depends on moves; then it need only be right in
            lanes in which a legal move is made.
        values: `[P, W]` values of nets in random matches.
        running: `[W]` whether a move was made.
        used: `[W]` lanes in use: those of examples are filled one by one.
    """

    def __init__(self, draft: Draft, knowledge: Knowledge, until: int) -> None:
        circuit = draft.circuit
        num_nets = draft.first_net + circuit.num_gates
        samples = sample(circuit, range(num_nets), num_words=NUM_WORDS, num_steps=NUM_STEPS, seed=1)
        self.values: Words = samples.values.reshape(num_nets, -1)
        self.running: Words = samples.running.reshape(-1)
        self.used: Words = np.full_like(self.running, _ONES)
        self.moves_matter = moves_matter(circuit)
        self._limit = Limit(CONFLICTS, until)
        self._solvers = [_solver(circuit, knowledge, running) for running in (False, True)]
        self._num_examples = 0
        self._work = knowledge.work
        self._work.spend(self.values.size // WORDS_A_STEP)

    def where_it_matters(self, net: int) -> Words:
        """`[W]` the lanes in which a net must be right."""
        return self.running if self.moves_matter[net] else self.used

    def words(self, literal: int) -> Words:
        """`[W]` the values of a literal."""
        words: Words = self.values[literal >> 1] ^ (_ONES if literal & 1 else _NONE)
        return words

    def never(self, net: int, literals: list[int]) -> bool:
        """Whether literals certainly never hold together where a net matters."""
        if FALSE in literals:
            return True
        self._work.spend(STEPS_TO_LOOK + STEPS_A_LITERAL * len(literals))
        seen = self.where_it_matters(net)
        for literal in literals:
            seen = seen & self.words(literal)
        # A counterexample at hand saves the question.
        if seen.any():
            return False
        running = self.moves_matter[net]
        solver = self._solvers[running]

        def learn(example: Example) -> None:
            self._learn(example, solver, running)

        signs = [solver.sign(literal) for literal in literals]
        return solver.find(signs, learn, self._limit) is False

    def _learn(self, example: Example, solver: Solver, running: bool) -> None:
        """Add an example to the lanes."""
        self._work.spend(STEPS_TO_LEARN * len(self.values))
        if self._num_examples % 64 == 0:
            none = np.zeros((len(self.values), 1), dtype=np.uint64)
            self.values = np.concatenate([none, self.values], axis=1)
            self.running = np.concatenate([none[0], self.running])
            self.used = np.concatenate([none[0], self.used])
        bit = np.uint64(1 << self._num_examples % 64)
        self._num_examples += 1
        held = [example(solver.sign(2 * net)) for net in range(len(self.values))]
        self.used[0] |= bit
        self.values[:, 0] |= np.where(np.array(held), bit, _NONE)
        if running:
            self.running[0] |= bit


def _solver(circuit: Circuit, knowledge: Knowledge, running: bool) -> Solver:
    """A solver that assumes what is known of fluents, and maybe that a legal move is made."""
    first_net = 1 + circuit.num_inputs
    gates = range(2 * first_net, 2 * (first_net + circuit.num_gates), 2)
    solver = Solver(circuit, gates, knowledge.work)
    with solver.add() as add:
        if running:
            assume_legal_moves(circuit, solver, add)
        for nets, exact in knowledge.groups_of_nets(circuit):
            signs = [solver.sign(2 * net) for net in nets]
            add.forbid([add.two_of(signs)])
            if exact:
                add.forbid([-sign for sign in signs])
    return solver
