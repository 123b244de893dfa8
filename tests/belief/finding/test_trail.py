"""Bags of earlier turns: which ones are remembered, and particles redrawn from them."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.belief.bags import initial_segments
from ggp.belief.finding.earlier import NEAR, BagHistory
from ggp.machine import Machine
from tests.belief.test_bags import distribution, move_array, percept_array
from tests.support.games import machine_of_rules
from tests.support.plain.enumeration import Path, random_paths

PLACES, TURNS = 14, 40

RING = f"""
(role random) (role seer) (init (at 0)) (init (turn 0))
(legal random left) (legal random right) (legal seer wait)
{" ".join(f"(after {i} {(i + 1) % PLACES})" for i in range(PLACES))}
{" ".join(f"(succ {i} {i + 1})" for i in range(TURNS))}
(<= (next (at ?y)) (true (at ?x)) (after ?x ?y) (does random right))
(<= (next (at ?x)) (true (at ?y)) (after ?x ?y) (does random left))
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= (sees seer ping) (true (at 0)))
(<= terminal (true (turn {TURNS})))
(goal random 0) (goal seer 0)
"""
"""A token moves around a ring, and is heard only where it passes 0."""


def followed(machine: Machine, path: Path, seed: int, **options: object) -> list[Bags]:
    belief = HyperPlaySampler(machine, PathTree(machine), **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    bags = [belief.start(1)]
    for move, percepts in path:
        turn = move_array(machine, move), percept_array(machine, percepts)
        last_bag = bags[-1]
        if last_bag.depleted[0]:
            bags.append(belief.at(belief.tree.extend(last_bag.paths, *turn), 1, rng))
        else:
            bags.append(belief.advance(last_bag, *turn, rng))
    return bags


def test_older_turns_are_remembered_more_sparsely() -> None:
    machine = machine_of_rules(RING)
    bag = initial_segments(machine, 1, keep_views=False)
    tree, trail = PathTree(machine), BagHistory()
    nodes = [1]
    for turn in range(1, 101):
        move, percepts = move_array(machine, "wait"), percept_array(machine, ())
        nodes += tree.extend(np.array(nodes[-1:]), move, percepts).tolist()
        trail.keep(nodes[-1], turn, bag)
    back = [back for back, _ in trail.starts(tree, nodes[-1])]
    assert back[: NEAR - 1] == [1, 2, 3]
    assert back == sorted(back)
    assert len(back) < 20
    assert back[-1] >= 50
    gaps = np.diff(back)
    assert (gaps <= 1 + np.array(back[:-1])).all()
    numbers = tree.prune(np.array(nodes[-1:]), trail.views)
    trail.renumber(numbers)
    assert [b for b, _ in trail.starts(tree, int(numbers[nodes[-1]]))] == back


def test_particles_redrawn_from_earlier_bags_are_sound_and_last_longer() -> None:
    machine = machine_of_rules(RING)
    dead = {True: 0, False: 0}
    for seed in range(8):
        path = random_paths(machine, TURNS - 1, seed)[1]
        exact = followed(machine, path, 0, capacity=1, exact=1000)
        for follows in dead:
            bags = followed(
                machine, path, seed, capacity=2, exact=0, max_attempts=50, follows=follows
            )
            for whole, bag in zip(exact, bags, strict=True):
                assert distribution(machine, bag).keys() <= distribution(machine, whole).keys()
                dead[follows] += bool(bag.depleted[0])
    assert dead[True] == 0
    assert dead[False] > 0


@pytest.mark.verify
def test_redrawn_bags_have_the_right_weights_on_average() -> None:
    """With a few particles each, the mean over many bags comes near the posterior."""
    machine = machine_of_rules(RING)
    path = random_paths(machine, TURNS - 1, 3)[1]
    whole = distribution(machine, followed(machine, path, 0, capacity=1, exact=1000)[-1])
    mean_weights = dict.fromkeys(whole, 0.0)
    samples = 30
    for seed in range(samples):
        bags = followed(machine, path, seed, capacity=6, exact=0, follows=True)
        for state, weight in distribution(machine, bags[-1]).items():
            mean_weights[state] += weight / samples
    distance = sum(abs(mean_weights[state] - share) for state, share in whole.items()) / 2
    assert distance < 0.15
