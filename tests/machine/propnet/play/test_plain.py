"""Single states evaluated without kernels, and with them."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.propnet.play.answers import Answers, evaluate_plainly
from ggp.machine.propnet.play.kernels.block_kernels import NO_MOVES
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.percepts import MoveTable
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from tests.machine.propnet.circuits import random_circuit


def machine_of(name: str) -> PropnetMachine:
    if name == "loops":
        return PropnetMachine(random_circuit(3, with_loop=True), is_gdl2=True)
    machine = build_machine(load(name), "propnet")
    assert isinstance(machine, PropnetMachine)
    return machine


@pytest.mark.parametrize("name", ["loops", "kuhn_poker", "krieg_tic_tac_toe"])
def test_kernels_say_the_same(name: str) -> None:
    machine = machine_of(name)
    queries, rng = Queries(machine.circuit), np.random.default_rng(1)
    answers = Answers(queries, MoveTable(queries))
    # Any states: what circuits say of those that cannot be reached must agree, too.
    size = machine.initial().packed.shape[1]
    lanes = rng.integers(0, 1 << 64, size=(20, size), dtype=np.uint64)
    lanes[0] = machine.initial().packed[0]
    roles = range(len(machine.roles))
    for query in (queries.terminal, queries.goals, *map(queries.legal, roles)):
        values, _ = answers.evaluate(query, lanes, *NO_MOVES)
        assert (evaluate_plainly(query, lanes) == values).all()
        assert len(np.unique(values)) > 1 or query is queries.terminal
