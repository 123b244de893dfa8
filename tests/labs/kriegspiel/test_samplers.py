"""The samplers of papers 001 and 002, against exact sets."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import SAMPLERS, Bags, PathTree, Sampler, SamplerSettings, make_sampler
from ggp.belief.finder import Setting
from ggp.labs.kriegspiel.samplers import depth_first
from ggp.machine import Machine, role_index
from ggp.machine.base import UNKNOWN
from tests.support.games import machine_of_game, machine_of_rules
from tests.support.plain.enumeration import Fluents, Path, complete_paths, distance, posterior

OTHERS = [name for name in SAMPLERS if name != "hyperplay"]

X_WAITS: Path = [("(mark 2 2)", ()), ("noop", ()), ("noop", ("your_move",)), ("(mark 1 1)", ())]
"""O has tried the middle; then X has marked a corner."""

PHANTOM: Path = [
    ("(drop 3)", ("(landed 1)",)),
    ("noop", ("your_move",)),
    ("(drop 3)", ("(landed 3)",)),
    ("noop", ("your_move",)),
]
"""O's first disc fell on ours."""


def followed(
    kind: str,
    machine: Machine,
    role: int,
    path: Path,
    *,
    capacity: int = 64,
    views: bool = False,
    seed: int = 0,
    pool: int = 20_000,
) -> tuple[Sampler, Bags]:
    sampler = make_sampler(
        kind,
        machine,
        PathTree(machine),
        SamplerSettings(exact=0, pool=pool),
        capacity=capacity,
        keep_views=views,
    )
    bags = sampler.start(role)
    rng = np.random.default_rng(seed)
    for move, percepts in path:
        moves = np.array([machine.move_id(move or "")], dtype=np.int64)
        seen = UNKNOWN if percepts is None else machine.percept_id(percepts)
        bags = sampler.advance(bags, moves, np.array([seen], dtype=np.int64), rng)
    return sampler, bags


def weights_of(machine: Machine, bags: Bags) -> dict[Fluents, float]:
    states = machine.fluents(bags.states_of(0))
    return dict(zip(states, bags.weights_of(0).tolist(), strict=True))


@pytest.mark.parametrize("kind", ["aos", "aosp", "hs"])
@pytest.mark.parametrize("views", [False, True])
def test_boards_that_agree_with_everything_are_possible(kind: str, views: bool) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    expected = posterior(machine, 0, X_WAITS)
    sampler, bags = followed(kind, machine, 0, X_WAITS, views=views, capacity=4)
    found = weights_of(machine, bags)
    assert found.keys() <= expected.keys()
    assert sampler.sound
    assert bags.sound
    assert not sampler.enumerates
    assert not bags.exact.any()
    if kind == "aos":
        assert len(bags.sets.states) == 4
    elif not views:
        assert found.keys() == expected.keys()  # a pool leaves nothing out while it is small
        assert len(set(found.values())) == 1


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
    found = set(weights_of(machine, bags))
    assert found == last_consistent(machine, 0, PHANTOM)
    # That our disc fell on the third row is forgotten.
    assert found > set(posterior(machine, 0, PHANTOM))
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
    grown = sampler.grown(bags, 1, rng)
    assert len(grown.sets.states) == 1
    assert set(weights_of(machine, grown)) <= set(posterior(machine, 0, PHANTOM))
    more = sampler.grown(grown, 1, rng)
    moves = np.array([machine.move_id("(drop 1)")], dtype=np.int64)
    seen = np.array([machine.percept_id(["(landed 1)"])], dtype=np.int64)
    after = sampler.advance(more, moves, seen, rng)
    assert not after.depleted[0]


def test_a_hybrid_fills_up_its_pool() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    possible = set(posterior(machine, 0, PHANTOM))
    for seed in range(20):
        _, bags = followed("hs", machine, 0, PHANTOM, pool=4, seed=seed, capacity=8)
        found = weights_of(machine, bags)
        assert set(found) <= last_consistent(machine, 0, PHANTOM)
        assert 4 <= len(found) <= 8
        assert len({round(weight, 9) for weight in found.values()}) == 1
        assert not bags.sound
        if set(found) & possible and set(found) - possible:
            return
    raise AssertionError("boards of both kinds were to be there")


def test_a_hybrid_whose_pool_is_large_enough_is_sound() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    sampler, bags = followed("hs", machine, 0, PHANTOM, capacity=3)
    assert set(weights_of(machine, bags)) == set(posterior(machine, 0, PHANTOM))
    assert sampler.sound
    assert bags.sound


@pytest.mark.parametrize("kind", OTHERS)
def test_what_nothing_agrees_with_has_no_boards(kind: str) -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    _, bags = followed(kind, machine, 0, [("noop", ("red",))])
    assert bags.depleted[0]


@pytest.mark.parametrize("kind", OTHERS)
def test_what_was_not_told_constrains_nothing(kind: str) -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    _, bags = followed(kind, machine, 0, [("noop", None), ("ask", None)])
    assert len(bags.sets.states) == 2


@pytest.mark.parametrize("kind", OTHERS)
def test_views_are_what_others_have_seen(kind: str) -> None:
    machine = machine_of_game("spy_vs_spy", "propnet")
    sampler, bags = followed(kind, machine, 0, [("(arm red tell)", ())], views=True)
    views = bags.sets.views
    assert views is not None
    assert (views[:, 0] == bags.paths[0]).all()
    assert {tuple(sampler.tree.texts(int(node))) for node in views[:, 1]} == {
        ("noop / ((armed red))",)
    }


@pytest.mark.parametrize("kind", OTHERS)
def test_same_seed_gives_the_same_boards(kind: str) -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    found = [weights_of(machine, followed(kind, machine, 0, PHANTOM, seed=5)[1]) for _ in range(2)]
    assert list(found[0].items()) == list(found[1].items())


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
        found = depth_first(setting, 0, int(path[0]), np.random.default_rng(seed))
        (fluents,) = machine.fluents(found.states)
        assert "(first 1)" in fluents
