"""Nets that say the same, and literals that say nothing new, by sampling and proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import FALSE, Circuit
from ggp.machine.propnet.passes.draft import Draft
from ggp.machine.propnet.passes.induction import assume_legal_moves
from ggp.machine.propnet.passes.knowledge import Knowledge
from ggp.machine.propnet.passes.sampling import Words, sample
from ggp.machine.propnet.passes.solver import Example, Limit, Solver

MAX_GATES = 8_000
"""Larger circuits are left alone."""

NUM_WORDS = 8
MAX_STEPS = 120
SAMPLED_WORDS = 4_000_000
"""Nets times words times steps to look at."""

CONFLICTS = 300
"""How hard to try to prove each guess."""

TIME_SHARE = 0.3
"""How much of the time that is left may be spent here."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def sweep(circuit: Circuit, knowledge: Knowledge) -> Circuit:
    """Merge nets that agree in every reachable state, and drop literals that others imply.

    What depends on moves need only be right while the game runs. Guesses come from random
    matches and are proved from what is known of fluents.
    """
    if circuit.num_gates > MAX_GATES:
        return circuit
    draft = Draft(circuit)
    found = _Sweep(draft, knowledge)
    found.merge()
    found.drop_literals()
    return draft.finish()


class _Sweep:
    def __init__(self, draft: Draft, knowledge: Knowledge) -> None:
        self._draft = draft
        now = time.monotonic()
        self._until_s = now + TIME_SHARE * (knowledge.until_s - now)
        circuit = draft.circuit
        num_nets = draft.first_net + circuit.num_gates
        steps = min(MAX_STEPS, max(1, SAMPLED_WORDS // (NUM_WORDS * num_nets)))
        samples = sample(circuit, range(num_nets), num_words=NUM_WORDS, num_steps=steps, seed=1)
        self._values: Words = samples.values.reshape(num_nets, -1)
        self._running: NDArray[np.uint64] = samples.running.reshape(-1)
        self._moves_matter = [False] * num_nets
        for net in range(1 + len(circuit.fluents), num_nets):
            self._moves_matter[net] = net < draft.first_net or any(
                self._moves_matter[x >> 1] for x in draft.gates[net - draft.first_net]
            )
        self._solvers = [_solver(circuit, knowledge, running) for running in (False, True)]

    def merge(self) -> None:
        """Let nets become the one of least effort among those they agree with."""
        guesses = list(self._alike())
        refuted: set[int] = set()
        for net, literal in guesses:
            if time.monotonic() > self._until_s:
                break
            moves_matter = self._moves_matter[net]

            def learn(
                example: Example,
                solver: Solver = self._solvers[moves_matter],
                moves: bool = moves_matter,
            ) -> None:
                for other, meant in guesses:
                    # An example of a state says nothing of what legal moves do.
                    if (moves or not self._moves_matter[other]) and (
                        example(solver.sign(2 * other)) != example(solver.sign(meant))
                    ):
                        refuted.add(other)

            if net not in refuted and all(
                self._never(net, [2 * net + inverted, literal ^ inverted ^ 1], learn)
                for inverted in (0, 1)
            ):
                self._draft.becomes[net] = literal

    def drop_literals(self) -> None:
        """Drop literals that hold wherever the others of a gate do."""
        draft = self._draft
        for net in draft.free_gates():
            gate = draft.gates[net - draft.first_net]
            if net in draft.becomes or time.monotonic() > self._until_s:
                continue
            kept = list(gate)
            for literal in sorted(gate, reverse=True):
                others = [x for x in kept if x != literal]
                question = [*others, literal ^ 1]
                if self._never_seen(net, question) and self._never(net, question, _ignore):
                    kept = others
            if len(kept) < len(gate):
                draft.change(net, kept)

    def _alike(self) -> Iterator[tuple[int, int]]:
        """Nets and literals of other nets that were always the same."""
        efforts = _efforts(self._draft)
        order = sorted(range(len(efforts)), key=lambda net: (efforts[net], net))
        tables: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        for net in order:
            words = self._values[net]
            inverted = int(words[0] & np.uint64(1))
            if inverted:
                words = words ^ _ONES
            # The first lane runs, so that the mask below does not change its bit.
            running = (words & self._running).tobytes()
            key = running if self._moves_matter[net] else words.tobytes()
            literal = tables[self._moves_matter[net]].setdefault(key, 2 * net + inverted)
            if literal >> 1 != net:
                if net >= self._draft.first_net and not self._draft.in_loop(net):
                    yield net, literal ^ inverted
            elif not self._moves_matter[net]:
                tables[1].setdefault(running, literal)

    def _never_seen(self, net: int, literals: list[int]) -> bool:
        """Whether literals never held together in a random match."""
        words = (
            self._running.copy() if self._moves_matter[net] else np.full_like(self._running, _ONES)
        )
        for literal in literals:
            words &= self._values[literal >> 1] ^ (_ONES if literal & 1 else np.uint64(0))
            if not words.any():
                return True
        return False

    def _never(self, net: int, literals: list[int], on_example: Callable[[Example], None]) -> bool:
        """Whether it is certain that literals never hold together where a net matters."""
        if FALSE in literals:
            return True
        solver = self._solvers[self._moves_matter[net]]
        signs = [solver.sign(literal) for literal in literals]
        return solver.find(signs, on_example, Limit(CONFLICTS, self._until_s)) is False


def _ignore(example: Example) -> None:
    pass


def _efforts(draft: Draft) -> list[int]:
    """How many gates each net depends on, itself included; more for gates of loops."""
    below = [0] * (draft.first_net + len(draft.gates))
    for net, gate in enumerate(draft.gates, draft.first_net):
        mask = 1 << net - draft.first_net
        for literal in gate:
            mask |= below[literal >> 1]
        below[net] = mask
    return [mask.bit_count() for mask in below]


def _solver(circuit: Circuit, knowledge: Knowledge, running: bool) -> Solver:
    """A solver that knows what is known of fluents, and maybe that a legal move is made."""
    first_net = 1 + circuit.num_inputs
    solver = Solver(circuit, range(2 * first_net, 2 * (first_net + circuit.num_gates), 2))
    with solver.add() as add:
        if running:
            assume_legal_moves(circuit, solver, add)
        for nets, exact in knowledge.groups_of_nets(circuit):
            signs = [solver.sign(2 * net) for net in nets]
            add.forbid([add.two_of(signs)])
            if exact:
                add.forbid([-sign for sign in signs])
        for one, other in knowledge.pairs_of_literals(circuit):
            add.forbid([solver.sign(one), solver.sign(other)])
    return solver
