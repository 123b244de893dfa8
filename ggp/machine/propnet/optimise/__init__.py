"""Passes that make a circuit smaller without changing the game that it describes.

In comes a `Circuit`, out goes a smaller one. Begin with `draft`, a circuit while a pass changes it;
passes share `knowledge`: facts about the game, and how long they may take. `passes` are all of
them; `proofs` shows what a circuit's gates do not: guessed from random matches, then proved.

Passes may assume that states are reachable, and that every role makes one legal move in a
state that is not terminal.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from ggp.machine.circuit import Circuit
from ggp.machine.propnet.optimise.knowledge import (
    NEVER,
    CircuitKnowledge,
    PassReport,
    TookTooLong,
    Work,
    WorkDeadline,
    patience,
)
from ggp.machine.propnet.optimise.passes import (
    complement,
    extract,
    factor,
    flatten,
    fold_constants,
    use_invariants,
)

_log = logging.getLogger(__name__)

Pass = Callable[[Circuit, CircuitKnowledge], Circuit]

MAX_STEPS = 10_000_000
"""Steps of work for one circuit, see `work`."""

STEPS_A_LITERAL = 2
"""Steps of work of a pass for each literal, besides those that it counts itself."""

LARGE = 30_000
"""Least number of literals of a circuit that is made smaller before its fluents are analysed."""


def _extract_early(circuit: Circuit, knowledge: CircuitKnowledge) -> Circuit:
    # It hides some of what `complement` looks for, so it runs later where that costs little.
    return extract(circuit, knowledge) if circuit.num_literals > LARGE else circuit


def _leave(circuit: Circuit, _: CircuitKnowledge) -> Circuit:
    return circuit


PASSES: tuple[tuple[str, Pass], ...] = (
    ("factor", factor),
    ("constants", fold_constants),
    ("flatten", flatten),
    ("factor", factor),
    ("extract early", _extract_early),
    ("flatten", flatten),
    ("invariants", use_invariants),
    ("complement", complement),
    ("constants", fold_constants),
    ("extract", extract),
    ("factor", factor),
    ("extract", extract),
    ("flatten", flatten),
)
"""The passes in the order in which they run.

`docs/measured/ablation.md` says what each of them is worth.
"""


class Optimised(NamedTuple):
    """A smaller circuit, and how it was made.

    Attributes:
        circuit: a circuit of the same game.
        reports: one for each pass that was finished.
        complete: whether all passes were, as far as their work allows; such a circuit is the
            same wherever and whenever it is made.
    """

    circuit: Circuit
    reports: list[PassReport]
    complete: bool


def optimise(
    circuit: Circuit, until: WorkDeadline = NEVER, max_steps: int = MAX_STEPS
) -> Optimised:
    """A smaller circuit of the same game.

    In every reachable state it gives the same legal moves and goals, and for every legal joint
    move in one that is not terminal the same successor and percepts.

    Args:
        circuit: the circuit of a game.
        until: a pass that is not over by then is broken off and does not count, and no further pass
            begins.
        max_steps: steps of work: no pass begins when they are used up, and long ones stop early.
    """
    reports: list[PassReport] = []
    knowledge = CircuitKnowledge(Work(max_steps))
    vain: dict[Pass, tuple[Circuit, int]] = {}
    for name, run in PASSES:
        if not knowledge.work.left:
            break
        start_s = time.process_time()
        before = circuit
        # The same circuit again, of which no more is known, does not become smaller either.
        known = circuit, len(knowledge.groups)
        if run in vain and vain[run][0] is circuit and vain[run][1] == known[1]:
            run = _leave
        try:
            with patience(until):
                knowledge.work.spend(STEPS_A_LITERAL * circuit.num_literals)
                circuit = run(circuit, knowledge)
        except (TookTooLong, MemoryError) as error:
            _log.info("the pass %r was broken off: %s", name, type(error).__name__)
            return Optimised(before, reports, complete=False)
        if circuit is before:
            vain[run] = known
        reports.append(
            PassReport(
                name,
                before.num_gates,
                before.num_literals,
                circuit.num_gates,
                circuit.num_literals,
                time.process_time() - start_s,
            )
        )
    return Optimised(circuit, reports, complete=True)
