"""Beliefs where moves of `random` are made part by part: those of the listed moves."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.machine.abilities import InParts
from ggp.machine.base import UNKNOWN
from tests.support.plain.enumeration import Fluents, Path, distance, posterior
from tests.support.sheets.part_sheets import SHEETS, machine_listing

PATHS: dict[str, Path] = {
    "deal": [("wait", ("(first 3)", "(got 3)", "(got 5)")), ("wait", ())],
    "order": [("noop", ("(middle c)",))],
    "ships": [("wait", ("(row 2)",))],
    "draw": [("noop", ("(least 2)",))],
}
"""What the first role may have been told."""


def believed(
    machine: Machine, path: Path, *, capacity: int, exact: int, seed: int
) -> dict[Fluents, float]:
    belief = HyperPlaySampler(machine, PathTree(machine), capacity=capacity, exact=exact)
    rng = np.random.default_rng(seed)
    bags = belief.start(0)
    for move, percepts in path:
        moves = np.array([machine.move_id(move or "")])
        seen = UNKNOWN if percepts is None else machine.percept_id(percepts)
        bags = belief.advance(bags, moves, np.array([seen]), rng)
    found: dict[Fluents, float] = {}
    states = machine.fluents(bags.states_of(0))
    for fluents, weight in zip(states, bags.weights_of(0).tolist(), strict=True):
        found[fluents] = found.get(fluents, 0.0) + weight
    return found


@pytest.mark.parametrize("name", SHEETS)
class TestPosterior:
    def test_exact_sets_are_the_posterior(self, name: str) -> None:
        machine = machine_listing(SHEETS[name], 10)
        assert isinstance(machine, InParts)
        wanted = posterior(machine_listing(SHEETS[name], None), 0, PATHS[name])
        found = believed(machine, PATHS[name], capacity=1, exact=100_000, seed=0)
        assert found == pytest.approx(wanted)

    def test_sampled_bags_are_right_on_average(self, name: str) -> None:
        machine = machine_listing(SHEETS[name], 10)
        wanted = posterior(machine_listing(SHEETS[name], None), 0, PATHS[name])
        mean: dict[Fluents, float] = {}
        for seed in range(30):
            found = believed(machine, PATHS[name], capacity=40, exact=0, seed=seed)
            assert set(found) <= set(wanted)
            for fluents, weight in found.items():
                mean[fluents] = mean.get(fluents, 0.0) + weight / 30
        assert distance(mean, wanted) < 0.15
