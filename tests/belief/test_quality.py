"""How good a bag is, in numbers and in words."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree, Quality, Sampler, in_words, quality_of
from ggp.belief.turns.one_turn import estimated_sizes
from ggp.labs.kriegspiel.samplers import Pool
from ggp.machine import Machine
from tests.belief.test_bags import move_array, percept_array
from tests.support.games import machine_of_rules
from tests.support.qualities import IN_WORDS

CELLS, TURNS = 40, 24

WALK = "\n".join(
    [
        "(role walker) (role waiter) (init (at 0)) (init (turn 0))",
        "(legal waiter noop) (legal walker left) (legal walker stay) (legal walker right)",
        *(f"(cell {k}) (beside {k} {(k + 1) % CELLS})" for k in range(CELLS)),
        *(f"(after {k} {k + 1})" for k in range(2 * TURNS)),
        "(<= (next (at ?y)) (true (at ?x)) (beside ?x ?y) (does walker right))",
        "(<= (next (at ?y)) (true (at ?x)) (beside ?y ?x) (does walker left))",
        "(<= (next (at ?x)) (true (at ?x)) (does walker stay))",
        "(<= (sees waiter tick) (does waiter noop))",
        "(<= (next (turn ?n)) (true (turn ?m)) (after ?m ?n))",
        f"(<= terminal (true (turn {2 * TURNS}))) (<= (goal ?r 50) (role ?r))",
    ]
)
"""A walker on a ring takes a step, or none, and nobody sees it: 3^24 paths lead to 40 states."""


@pytest.mark.parametrize("quality", IN_WORDS, ids=IN_WORDS.values())
def test_a_quality_is_put_in_words(quality: Quality) -> None:
    assert in_words(quality.as_json()) == IN_WORDS[quality]


def waited(machine: Machine, belief: Sampler, role: int) -> Bags:
    rng = np.random.default_rng(0)
    bag = belief.at(np.array([role]), role, rng)
    for _ in range(TURNS):
        noop, tick = move_array(machine, "noop"), percept_array(machine, ("tick",))
        bag = belief.advance(bag, noop, tick, rng)
    return bag


@pytest.mark.parametrize("capacity", [20, 36])
@pytest.mark.parametrize("kind", [HyperPlaySampler, Pool])
def test_a_sample_estimates_the_size_of_the_exact_set(
    kind: type[HyperPlaySampler] | type[Pool], capacity: int
) -> None:
    machine = machine_of_rules(WALK, "propnet")
    exact = waited(machine, HyperPlaySampler(machine, PathTree(machine), capacity=1), 1)
    exact_quality = quality_of(machine, exact)
    assert (exact_quality.how, exact_quality.entries, exact_quality.distinct) == (
        "exact",
        CELLS,
        CELLS,
    )
    assert exact_quality.log_size == pytest.approx(np.log(CELLS))
    tree = PathTree(machine)
    belief: Sampler
    if kind is Pool:
        belief = Pool(machine, tree, pool=capacity, capacity=capacity)
    else:
        belief = HyperPlaySampler(machine, tree, capacity=capacity, exact=0)
    quality = quality_of(machine, waited(machine, belief, 1))
    assert quality.how == "sampled"
    assert quality.log_size is not None
    assert CELLS / 2 < np.exp(quality.log_size) < 2 * CELLS


def test_unseen_states_are_estimated_from_states_seen_once_and_twice() -> None:
    rng = np.random.default_rng(0)
    for states, per_state, share in ((1000, 1, 0.1), (1000, 5, 0.05), (1000, 5, 0.5), (200, 9, 1)):
        total = states * per_state
        estimates = []
        for _ in range(20):
            sample = rng.permutation(np.repeat(np.arange(states), per_state))[: int(share * total)]
            times = np.unique(sample, return_counts=True)[1]
            estimates.append(estimated_sizes(times, np.zeros_like(times), np.array([float(total)])))
        assert np.mean(estimates) == pytest.approx(states, rel=0.1)


def test_estimates_do_not_depend_on_their_neighbours() -> None:
    times, set_of = np.array([1, 2, 1, 1, 3, 1, 1]), np.array([0, 0, 1, 1, 3, 4, 4])
    totals = np.array([30.0, 1e300, 7.0, 3.0, 2.0])
    together = estimated_sizes(times, set_of, totals)
    assert together[1:] == pytest.approx([1e300, 0, 1, 2])
    for number, total in enumerate(totals):
        times_of_set = times[set_of == number]
        single = estimated_sizes(times_of_set, np.zeros_like(times_of_set), np.array([total]))
        assert together[number] == pytest.approx(single[0])
