"""Breaking off what takes too long."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from ggp.machine.propnet.optimise.work import (
    NEVER,
    TookTooLong,
    WorkDeadline,
    patience,
    unbroken,
)

INTERRUPTED_QUESTIONS = """
import time
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.optimise.work import TookTooLong, WorkDeadline, patience
from ggp.machine.propnet.optimise.proofs import SearchLimit, Solver
from ggp.machine.propnet.optimise.work import Work

rules = "(role player) (init a) (legal player wait) (<= (next b) (true a)) "
rules += "(<= terminal (true b)) (goal player 100)"
circuit = build_circuit(ground(normalize(parse(rules))))
work = Work(10**9)
literal = 2 * (1 + circuit.fluents.index("a"))
solver, limit = Solver(circuit, [literal], work), SearchLimit(10, work.most)
for i in range(400):
    try:
        with patience(WorkDeadline(clock_s=time.monotonic() + 1e-4 + i % 50 * 1e-6)):
            while True:
                solver.find([solver.literal(literal)], lambda example: None, limit)
    except TookTooLong:
        pass
print("came to its end")
"""
"""With no care taken, clingo ends the process within the first hundred or so."""


@pytest.mark.verify
def test_questions_may_be_broken_off_at_any_moment() -> None:
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_QUESTIONS],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stdout == "came to its end\n", run.stderr


def test_an_interrupt_in_an_unbroken_section_comes_after_it() -> None:
    events = []
    with (  # noqa: PT012
        pytest.raises(TookTooLong),
        patience(WorkDeadline(clock_s=time.monotonic() + 0.02)),
    ):
        with unbroken():
            time.sleep(0.05)
            events.append("inside")
        events.append("behind")
    assert events == ["inside"]


def test_work_that_ends_in_time_is_not_interrupted() -> None:
    with patience(WorkDeadline(time.process_time() + 60, time.monotonic() + 60)), unbroken():
        pass
    with patience(NEVER), unbroken():
        pass


def test_processor_time_is_counted_by_itself() -> None:
    with patience(WorkDeadline(process_s=time.process_time() + 0.02)):
        time.sleep(0.05)
    with (  # noqa: PT012
        pytest.raises(TookTooLong),
        patience(WorkDeadline(process_s=time.process_time() + 0.02)),
    ):
        while True:
            pass
