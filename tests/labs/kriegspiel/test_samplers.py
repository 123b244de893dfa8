"""The samplers of papers 001 and 002, against exact sets."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import PathTree
from ggp.belief.sampler import Setting
from ggp.labs.kriegspiel.samplers import depth_first
from ggp.machine import Machine, role_index
from tests.belief.samplers.test_conformance import PHANTOM, followed, weights_of
from tests.support.games import machine_of_game, machine_of_rules
from tests.support.plain.enumeration import Fluents, Path, complete_paths, distance, posterior

X_WAITS: Path = [("(mark 2 2)", ()), ("noop", ()), ("noop", ("your_move",)), ("(mark 1 1)", ())]
"""O has tried the middle; then X has marked a corner."""


@pytest.mark.parametrize("kind", ["aos", "aosp", "hs"])
@pytest.mark.parametrize("views", [False, True])
def test_boards_that_agree_with_all_observations_are_possible(kind: str, views: bool) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    expected = posterior(machine, 0, X_WAITS)
    sampler, bags = followed(kind, machine, 0, X_WAITS, views=views, capacity=4)
    weights = weights_of(machine, bags)
    assert weights.keys() <= expected.keys()
    assert sampler.sound
    assert bags.sound
    assert not sampler.enumerates
    assert not bags.exact.any()
    if kind == "aos":
        assert len(bags.sets.states) == 4
    elif not views:
        assert weights.keys() == expected.keys()  # a pool leaves nothing out while it is small
        assert len(set(weights.values())) == 1


def test_random_histories_have_the_weights_of_the_posterior() -> None:
    machine = machine_of_game("kuhn_poker", "propnet")
    path: Path = [("noop", ("(dealt queen)",)), ("noop", ("bet",))]
    role = role_index(machine, "player2")
    _, bags = followed("aos", machine, role, path)
    assert distance(weights_of(machine, bags), posterior(machine, role, path)) < 0.06


def last_consistent(machine: Machine, role: int, path: Path) -> set[Fluents]:
    """Where own moves and the last percepts lead, whatever was seen before, with the same moves."""
    forgotten: Path = [(move, None) for move, _ in path[:-1]]
    forgotten.append(path[-1])
    (state, *_) = next(complete_paths(machine, role, path))
    legal = set(machine.legal(state, role).values.tolist())
    return {
        machine.fluents(state)[0]
        for state, *_ in complete_paths(machine, role, forgotten)
        if set(machine.legal(state, role).values.tolist()) == legal
    }


def test_the_last_observation_is_all_that_is_remembered() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    sampler, bags = followed("los", machine, 0, PHANTOM, capacity=1000)
    boards = set(weights_of(machine, bags))
    assert boards == last_consistent(machine, 0, PHANTOM)
    # That our disc fell on the third row is forgotten.
    assert boards > set(posterior(machine, 0, PHANTOM))
    assert not sampler.sound
    assert not bags.sound


def test_a_pool_lives_on_what_it_has() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    whole = set(posterior(machine, 0, PHANTOM[:2]))
    _, bags = followed("aosp", machine, 0, PHANTOM[:2], pool=4)
    assert len(bags.sets.states) == 2
    assert set(weights_of(machine, bags)) < whole
    sizes = [
        len(followed("aosp", machine, 0, PHANTOM, pool=4, seed=seed)[1].sets.states)
        for seed in range(20)
    ]
    assert 0 in sizes  # it has died: the disc on ours was none of its boards
    assert max(sizes) > 0


def test_a_dead_pool_stays_dead_until_a_history_is_found() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    for seed in range(20):
        sampler, bags = followed("aosp", machine, 0, PHANTOM, pool=4, seed=seed)
        if bags.depleted[0]:
            break
    rng = np.random.default_rng(0)
    assert sampler.at(bags.paths, 0, rng).depleted[0]
    # It is not made anew from the start of the match either.
    turn = (np.array([machine.move_id("noop")]), np.array([machine.percept_id(())]))
    visited = machine.states_visited
    assert sampler.at(sampler.tree.extend(bags.paths, *turn), 0, rng).depleted[0]
    assert machine.states_visited == visited
    assert sampler.at(bags.paths, 0, rng).depleted[0]
    larger = sampler.enlarge(bags, 1, rng)
    assert len(larger.sets.states) == 1
    assert set(weights_of(machine, larger)) <= set(posterior(machine, 0, PHANTOM))
    largest = sampler.enlarge(larger, 1, rng)
    moves = np.array([machine.move_id("(drop 1)")], dtype=np.int64)
    seen = np.array([machine.percept_id(["(landed 1)"])], dtype=np.int64)
    following = sampler.advance(largest, moves, seen, rng)
    assert not following.depleted[0]


def test_a_hybrid_fills_up_its_pool() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    possible = set(posterior(machine, 0, PHANTOM))
    for seed in range(20):
        _, bags = followed("hs", machine, 0, PHANTOM, pool=4, seed=seed, capacity=8)
        weights = weights_of(machine, bags)
        assert set(weights) <= last_consistent(machine, 0, PHANTOM)
        assert 4 <= len(weights) <= 8
        assert len({round(weight, 9) for weight in weights.values()}) == 1
        assert not bags.sound
        if set(weights) & possible and set(weights) - possible:
            return
    raise AssertionError("boards of both kinds were to be there")


def test_a_hybrid_whose_pool_is_large_enough_is_sound() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    sampler, bags = followed("hs", machine, 0, PHANTOM, capacity=3)
    assert set(weights_of(machine, bags)) == set(posterior(machine, 0, PHANTOM))
    assert sampler.sound
    assert bags.sound


TRAP = """
(role seer) (role random) (bit 0) (bit 1) (init (at 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal random (toss ?b)) (bit ?b)) (legal seer wait)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (next (first ?b)) (true (at 0)) (does random (toss ?b)))
(<= (next (first ?b)) (true (first ?b)))
(<= (sees seer (told ?b)) (true (at 3)) (true (first ?b)))
(<= terminal (true (at 4)) (true (first 0)) (true (at 9))) (goal seer 0) (goal random 0)
"""


def test_a_search_goes_back_to_where_it_went_wrong() -> None:
    machine = machine_of_rules(TRAP, "propnet")
    tree = PathTree(machine)
    wait = np.array([machine.move_id("wait")], dtype=np.int64)
    path = np.array([0], dtype=np.int64)
    for percepts in ((), (), (), ("(told 1)",)):
        path = tree.extend(path, wait, np.array([machine.percept_id(percepts)], dtype=np.int64))
    for seed in range(6):
        setting = Setting(machine, tree, capacity=1, max_attempts=0)
        sets = depth_first(setting, 0, int(path[0]), np.random.default_rng(seed))
        (fluents,) = machine.fluents(sets.states)
        assert "(first 1)" in fluents
