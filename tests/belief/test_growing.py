"""Bags that grow: samples of one path are pooled, and larger bags are advanced."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.belief.sampler import Setting
from ggp.machine import Machine
from tests.belief.test_bags import (
    LATE_LOW,
    UNEQUAL_PARENTS,
    bag_of,
    chance_node,
    distribution,
    left_share,
    move_array,
    percept_array,
)
from tests.support.effort import rarely
from tests.support.games import machine_of_rules
from tests.support.plain.enumeration import Path, posterior

SEEN = "(<= (sees seer zero) (true (picked ?y)) (true (at 1)) (parity ?y 0))"


def sampler(
    machine: Machine,
    *,
    capacity: int,
    exact: int = 0,
    room: int = 0,
    max_attempts: int = Setting.usual_attempts,
) -> HyperPlaySampler:
    belief = HyperPlaySampler(
        machine, PathTree(machine), capacity=capacity, exact=exact, max_attempts=max_attempts
    )
    belief.room = room
    return belief


def advanced(belief: HyperPlaySampler, path: Path, rng: np.random.Generator) -> Bags:
    bag = belief.start(1)
    for move, percepts in path:
        machine = belief.machine
        bag = belief.advance(bag, move_array(machine, move), percept_array(machine, percepts), rng)
    return bag


@pytest.mark.verify
@pytest.mark.parametrize("size", rarely([1, 3], {1}))
def test_samples_count_by_their_likelihood(size: int) -> None:
    """Half of all samples of one particle are `left`, each of weight 1; but a quarter is right."""
    machine = machine_of_rules(UNEQUAL_PARENTS)
    assert left_share(posterior(machine, 1, LATE_LOW)) == pytest.approx(1 / 4)
    belief = sampler(machine, capacity=1)
    rng = np.random.default_rng(0)
    bag = advanced(belief, LATE_LOW, rng)
    assert not bag.exact[0]
    belief.room = 1000
    draws = 600 // size
    for _ in range(draws):
        bag = belief.enlarge(bag, size, rng)
    error = (0.25 * 0.75 / (draws * size)) ** 0.5
    assert left_share(distribution(machine, bag)) == pytest.approx(1 / 4, abs=4 * error)
    assert len(distribution(machine, bag)) > 60  # of 80
    assert np.exp(bag.sets.log_weights).sum() == pytest.approx(1)


def test_a_large_bag_outweighs_a_small_sample_by_its_draws() -> None:
    machine = machine_of_rules(UNEQUAL_PARENTS)
    belief = sampler(machine, capacity=16, room=16)
    rng = np.random.default_rng(3)
    bag = advanced(belief, LATE_LOW, rng)
    old_weights = distribution(machine, bag)
    new_weights = distribution(machine, belief.enlarge(bag, 1, rng))
    kept_share = sum(new_weights.get(state, 0.0) for state in old_weights)
    assert kept_share > 0.8  # one draw of seventeen, be it as heavy as three


@pytest.mark.verify
def test_enlarged_bags_fit_their_room_and_keep_expectations() -> None:
    machine = machine_of_rules(UNEQUAL_PARENTS)
    belief = sampler(machine, capacity=8, room=24)
    shares = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        bag = advanced(belief, LATE_LOW, rng)
        for _ in range(4):
            bag = belief.enlarge(bag, 16, rng)
        assert bag.sets.counts[0] == 24
        shares.append(left_share(distribution(machine, bag)))
    assert np.mean(shares) == pytest.approx(1 / 4, abs=4 * np.std(shares) / 40**0.5)


def test_a_bag_is_advanced_with_as_many_entries_as_there_is_room() -> None:
    machine = machine_of_rules(chance_node(300, SEEN))
    path: Path = [("wait", ())]
    for room in (0, 64):
        belief = sampler(machine, capacity=4, room=room)
        assert advanced(belief, path, np.random.default_rng(0)).sets.counts[0] == max(room, 4)


def test_no_room_changes_nothing() -> None:
    machine = machine_of_rules(chance_node(300, SEEN))
    path: Path = [("wait", ()), ("wait", ("zero",))]
    plain = bag_of(machine, 1, path, capacity=4, exact=0)
    belief = sampler(machine, capacity=4)
    bag = advanced(belief, path, np.random.default_rng(0))
    assert distribution(machine, bag) == distribution(machine, plain)


def test_an_exact_bag_and_a_search_that_is_stopped_add_nothing() -> None:
    machine = machine_of_rules(UNEQUAL_PARENTS)
    rng = np.random.default_rng(0)
    exact = sampler(machine, capacity=2, exact=1000, room=100)
    bag = advanced(exact, LATE_LOW, rng)
    assert exact.enlarge(bag, 50, rng) is bag
    sampled = sampler(machine, capacity=2, room=100)
    bag = advanced(sampled, LATE_LOW, rng)
    sampled.stop = lambda: True
    assert sampled.enlarge(bag, 50, rng) is bag


def test_an_empty_bag_gets_the_particles_of_a_new_sample() -> None:
    machine = machine_of_rules(chance_node(300, SEEN))
    belief = sampler(machine, capacity=1, room=50, max_attempts=0)
    rng = np.random.default_rng(1)
    bag = belief.start(1)
    bag = belief.advance(bag, move_array(machine, "wait"), percept_array(machine, ()), rng)
    while True:  # until the one particle disagrees
        next_bag = belief.advance(
            bag, move_array(machine, "wait"), percept_array(machine, ("zero",)), rng
        )
        if next_bag.depleted[0]:
            break
        bag = belief.at(bag.paths, 1, rng)
    grown_bag = belief.enlarge(next_bag, 60, rng)
    assert not grown_bag.depleted[0]
    expected = posterior(machine, 1, [("wait", ()), ("wait", ("zero",))])
    assert set(distribution(machine, grown_bag)) <= set(expected)


@pytest.mark.verify
def test_no_more_lanes_are_stepped_between_two_looks_than_allowed() -> None:
    machine = machine_of_rules(chance_node(3000, SEEN))
    belief = sampler(machine, capacity=512)
    visited = [0]

    def look() -> bool:
        visited.append(machine.states_visited)
        return False

    belief.stop, belief.lanes_at_once = look, lambda: 100
    visited[0] = machine.states_visited
    advanced(belief, [("wait", ()), ("wait", ("zero",))], np.random.default_rng(0))
    assert visited[-1] - visited[0] > 3000
    assert max(np.diff(visited)) <= 200  # completions of a particle stay together
