"""Gates that are built in bulk equal gates built one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ggp.machine.circuit import FALSE, TRUE
from ggp.machine.propnet.compile import gates
from ggp.machine.propnet.compile.gates import Builder


@pytest.mark.parametrize("are_many", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_gates_made_together_are_those_made_one_by_one(
    seed: int, are_many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "MANY_GROUPS", 0 if are_many else gates.MANY_GROUPS)
    rng = random.Random(seed)
    several, single = Builder(4), Builder(4)
    for _ in range(4):
        literals_of_gates = [
            [rng.choice((FALSE, *[TRUE] * 3, *range(2, 10))) for _ in range(rng.randrange(5))]
            for _ in range(rng.randrange(12))
        ]
        gate_literals = several.all_of_each(
            np.array([len(literals) for literals in literals_of_gates], dtype=np.int64),
            np.array([x for literals in literals_of_gates for x in literals], dtype=np.int32),
        )
        assert gate_literals.tolist() == [single.all_of(literals) for literals in literals_of_gates]
        assert several.gates == single.gates


def test_a_conjunction_of_nothing_is_true() -> None:
    nothing = np.zeros(0, dtype=np.int32)
    assert Builder(1).all_of_each(np.zeros(2, dtype=np.int64), nothing).tolist() == [TRUE, TRUE]
    assert Builder(1).all_of_each(np.zeros(0, dtype=np.int64), nothing).tolist() == []
