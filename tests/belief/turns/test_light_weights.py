"""Entries that are too light for a float beside others keep their weight."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.belief.bags import choose_entries
from ggp.machine.arrays import log_sums
from ggp.machine.base import UNKNOWN
from ggp.players import make_player, parse_spec
from tests.support.games import machine_of_rules

CHOICES, TURNS = 40, 220

LOPSIDED = (
    "(role seer) (role random) (role other) (init (at 0)) "
    + "".join(f"(succ {i} {i + 1}) " for i in range(TURNS + 3))
    + "".join(f"(number {i}) " for i in range(CHOICES))
    + f"""
    (side left) (side right)
    (<= (legal random (pick ?s)) (side ?s) (true (at 0)))
    (<= (legal random noop) (not (true (at 0))))
    (<= (legal other (choose ?n)) (number ?n) (true (side right)) (not (true (at {TURNS}))))
    (<= (legal other noop) (true (side left)))
    (<= (legal other noop) (true (at {TURNS}))) (<= (legal other noop) (true (at 0)))
    (legal seer wait) (legal seer watch)
    (<= (sees seer none) (does other (choose ?n)) (distinct ?n 0))
    (<= (sees seer right) (true (at {TURNS})) (true (side right)))
    (<= (next (side ?s)) (does random (pick ?s)))
    (<= (next (side ?s)) (true (side ?s)))
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= terminal (true (at {TURNS + 3})))
    (goal seer 50) (goal random 0) (goal other 0)
    """
)
"""On the right every turn without percepts has a likelihood of 1 / 40, on the left 1."""


def turns() -> list[tuple[str, list[str]]]:
    return [("wait", [])] * TURNS + [("wait", ["right"])]


@pytest.mark.parametrize("exact", [0, 100])
@pytest.mark.parametrize("capacity", [4, 100])
def test_the_only_entry_left_has_all_the_weight_however_light_it_was(
    exact: int, capacity: int
) -> None:
    machine = machine_of_rules(LOPSIDED, "propnet")
    belief = HyperPlaySampler(machine, PathTree(machine), capacity=capacity, exact=exact)
    rng = np.random.default_rng(0)
    bag: Bags = belief.start(0)
    wait = np.array([machine.move_id("wait")])
    for number, (_, percepts) in enumerate(turns()):
        seen = np.array([machine.percept_id(percepts)])
        bag = belief.advance(bag, wait, seen, rng)
        assert np.isfinite(bag.sets.log_weights).all()
        assert len(bag.weights_of(0)) == (2 if number < TURNS else 1)
    assert bag.weights_of(0).tolist() == [1.0]
    assert "(side right)" in machine.fluents(bag.states_of(0))[0]


@pytest.mark.parametrize("spec", ["random", "hyperplay:n=2", "hyperplay:n=2,exact=0"])
def test_a_player_decides_when_only_the_lightest_entry_is_left(spec: str) -> None:
    machine = machine_of_rules(LOPSIDED, "propnet")
    player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(0))
    for move, percepts in turns():
        player.observe(move, percepts)
    decision = player.choose(value_forced=True)
    assert decision.fault is None
    assert all(v.value in (50.0, None) for v in decision.values)


def test_sums_of_groups_are_in_units_of_their_own() -> None:
    logs = np.array([0.0, -2000.0, -2000.0, -5000.0, 700.0])
    sums = log_sums(logs, np.array([0, 1, 1, 3, 0]), 4)
    assert sums == pytest.approx([700.0, -2000.0 + np.log(2), -np.inf, -5000.0])


@pytest.mark.verify
@pytest.mark.parametrize("limit", [2, 3, 5])
def test_room_left_by_heavy_entries_goes_to_the_lightest(limit: int) -> None:
    """Two heavy entries, three that underflow to 0 as floats, and one that does beside these."""
    logs = np.array([np.log(0.5), -3000.0, -1000.0, np.log(0.5), -1000.0, -1000.0 - np.log(2)])
    offsets = np.array([0, 6])
    counts, trials = np.zeros(6), 2_000
    sums = np.zeros(6)
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        entries, new, _ = choose_entries(logs, offsets, np.array([limit]), rng)
        assert len(entries) == limit
        assert np.isfinite(new).all()
        assert {0, 3} <= {*entries.tolist()}
        counts[entries] += 1
        light = entries[(entries != 0) & (entries != 3)]
        assert new[np.isin(entries, [0, 3])] == pytest.approx(np.log(0.5))
        sums[light] += np.exp(new[np.isin(entries, light)] + 1000.0)
    assert counts[1] == 0
    if limit > 2:  # no expectation has moved
        assert sums / trials == pytest.approx([0, 0, 1, 0, 1, 0.5], abs=0.1)


def test_impossible_moves_of_chance_are_no_completions() -> None:
    machine = machine_of_rules(LOPSIDED, "propnet")
    real = machine.chance

    class Loaded:
        """The machine without its circuit, and `random` never picks its first move of two."""

        def __getattr__(self, name: str) -> object:
            if name == "circuit":
                raise AttributeError(name)
            return getattr(machine, name)

        def chance(self, states: object) -> object:
            outcomes = real(states)  # type: ignore[arg-type]
            sizes = np.diff(outcomes.offsets)
            chances = np.where(np.repeat(sizes, sizes) == 2, 0.0, outcomes.probabilities)
            last = outcomes.offsets[1:][sizes == 2] - 1
            chances[last] = 1.0
            return outcomes._replace(probabilities=chances)

    loaded = Loaded()
    belief = HyperPlaySampler(loaded, PathTree(loaded), capacity=4, exact=0)  # type: ignore[arg-type]
    unknown = np.array([UNKNOWN])
    bag = belief.advance(belief.start(0), unknown, unknown, np.random.default_rng(0))
    assert bag.weights_of(0).tolist() == [1.0]
