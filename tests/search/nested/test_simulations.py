"""Simulations in which every role acts on its own knowledge, against a clock."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.machine.base import IntArray
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.simulations import Simulator
from tests.support.games import machine_of_game


def test_nobody_decides_when_the_time_has_passed_in_search_of_particles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_game("krieg_tic_tac_toe")
    belief = HyperPlaySampler(machine, PathTree(machine), capacity=4, keep_views=True)
    now_s = [0.0]
    at = belief.at

    def slowly(paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        now_s[0] += 1.0 * role
        return at(paths, role, rng)

    decided: list[int] = []

    def policy(bags: Bags, rng: np.random.Generator) -> IntArray:
        decided.append(bags.role)
        return np.full(len(bags), machine.legal(machine.initial(1), bags.role).values[0])

    monkeypatch.setattr(belief, "at", slowly)
    deadline = Deadline(1.0, lambda: now_s[0])
    bag = belief.start(0)
    simulator = Simulator(machine, belief, policy, deadline)
    move = machine.legal(bag.sets.states, 0).values[:1]
    assert bag.sets.views is not None
    with pytest.raises(OutOfTime):
        simulator.run(bag.sets.states, bag.sets.views, 0, move, np.random.default_rng(0))
    assert decided == [0]  # the second role's particles took the rest of the time
