"""Makes a circuit smaller without changing the game that it describes.

In comes a `Circuit`, out goes a smaller one, by a fixed list of passes (`PASSES`). Begin with
`draft`, a circuit while a pass changes it. `passes` has the passes; they share `work`, the steps
that they may take. `proofs` finds facts that gates do not show: guessed from random matches, then
proved by induction.

The invariant of every pass: in each reachable state, legal moves, `terminal` and goals stay the
same, and in each that is not terminal, so do the successor and the percepts after one legal move of
every role. In other cases outputs may change.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from ggp.machine.circuit import Circuit, PassReport
from ggp.machine.propnet.optimise.passes import (
    complement,
    extract,
    factor,
    flatten,
    fold_constants,
    use_invariants,
)
from ggp.machine.propnet.optimise.work import (
    NEVER,
    TookTooLong,
    Work,
    WorkDeadline,
    patience,
)

_log = logging.getLogger(__name__)

Pass = Callable[[Circuit, Work], Circuit]

MAX_STEPS = 10_000_000
"""Steps of work for one circuit, see `work`."""

STEPS_A_LITERAL = 2
"""Steps of work of a pass for each literal, besides the steps that it counts itself."""

LARGE = 30_000
"""Circuits of more literals are made smaller by `extract` before their fluents are analysed."""


def _extract_early(circuit: Circuit, work: Work) -> Circuit:
    # `extract` hides literals that `complement` looks for. So in smaller circuits, where waiting
    # costs little, it runs only after that.
    return extract(circuit, work) if circuit.num_literals > LARGE else circuit


def _leave(circuit: Circuit, _: Work) -> Circuit:
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

`docs/measured/ablation.md` measures the effect of each.
"""


class Optimised(NamedTuple):
    """A smaller circuit, and reports of the passes.

    Attributes:
        circuit: a circuit of the same game.
        reports: one for each pass that was finished.
        complete: whether no pass was broken off by the clock or by lack of memory: then every
            machine gives the same circuit.
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
        until: a pass that is not over by then is broken off without effect, and no further pass
            begins.
        max_steps: steps of work: no pass begins after they are used up, and long ones stop early.
    """
    reports: list[PassReport] = []
    work = Work(max_steps)
    vain: dict[Pass, Circuit] = {}
    for name, run in PASSES:
        if not work.remaining:
            break
        start_s = time.process_time()
        previous = circuit
        if vain.get(run) is circuit:
            run = _leave  # a pass that did nothing would do nothing again
        try:
            with patience(until):
                work.spend(STEPS_A_LITERAL * circuit.num_literals)
                circuit = run(circuit, work)
        except (TookTooLong, MemoryError) as error:
            _log.info("the pass %r was broken off: %s", name, type(error).__name__)
            return Optimised(previous, reports, complete=False)
        if circuit is previous:
            vain[run] = circuit
        reports.append(
            PassReport(
                name,
                previous.num_gates,
                previous.num_literals,
                circuit.num_gates,
                circuit.num_literals,
                time.process_time() - start_s,
            )
        )
    return Optimised(circuit, reports, complete=True)
