"""Trees in worlds: against worlds that are solved, and worlds that must not learn of each other."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN
from ggp.search.anytime import Deadline
from ggp.search.trees.tree_tables import LaneSettings
from ggp.search.worlds.clairvoyant import clairvoyant_values
from ggp.search.worlds.world_search import WorldTrees, WorldTreeSearch
from tests.players.test_players import HIDDEN_BIT
from tests.search.trees.test_kept_worlds import check
from tests.support.games import machine_of_game, machine_of_rules


def bag_after(machine: Machine, role: int, turns: int, seed: int = 0) -> Bags:
    """The whole information set of a role after so many turns of a random match."""
    rng = np.random.default_rng(seed)
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=64, exact=2000)
    bag, state = sampler.start(role), machine.initial(1)
    for _ in range(turns):
        joint = [rng.choice(machine.legal(state, j)[0]) for j in range(len(machine.roles))]
        state, percepts = machine.step(state, np.array([joint]))
        bag = sampler.advance(bag, np.array([joint[role]]), percepts[:, role], rng)
    return bag


@pytest.mark.parametrize(
    ("game", "role", "turns"),
    [("tic_tac_toe", 0, 4), ("krieg_tic_tac_toe", 0, 4), ("krieg_tic_tac_toe", 1, 6)],
)
def test_what_is_proved_in_a_world_is_its_exact_value(game: str, role: int, turns: int) -> None:
    machine = machine_of_game(game, "propnet")
    bag = bag_after(machine, role, turns)
    states = bag.states_of(0)
    exact, solved = clairvoyant_values(
        machine, states, role, np.random.default_rng(0), most_steps=1_000_000
    )
    assert solved
    search = WorldTreeSearch(machine, bag, np.random.default_rng(1))
    search.send(60_000)
    proved, errors = 0, []
    for world, path in enumerate(search._paths.tolist()):
        of_move = dict(
            zip(exact.moves[world].tolist(), exact.take(np.array([world])).values, strict=True)
        )
        sums = search._tree.nodes.sums(path)
        assert set(sums.moves.tolist()) == set(of_move)
        for move, proof in zip(sums.moves.tolist(), sums.proofs.tolist(), strict=True):
            assert proof < 0 or 100 * proof == of_move[move]
            proved += proof >= 0
        # The move it likes best is a best one, whether that is proved or not.
        likes = int(sums.moves[int(sums.visits.argmax())])
        errors.append(max(of_move.values()) - of_move[likes])
    assert proved
    assert np.mean(errors) < 2


def test_a_world_learns_nothing_of_another() -> None:
    machine = machine_of_rules(HIDDEN_BIT)
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=4, exact=10)
    rng = np.random.default_rng(0)
    bag = sampler.start(0)
    wait = machine.legal(machine.initial(1), 0)[0]
    for _ in range(2):
        bag = sampler.advance(bag, wait, np.array([UNKNOWN]), rng)  # it was told nothing
    assert len(bag.lanes_of(0)) == 2
    search = WorldTreeSearch(machine, bag, rng)
    search.send(200)
    found = search.estimates()
    # In each world one guess is right for certain: either is worth 50 in the mean of both.
    assert found.values.tolist() == [50.0, 50.0]
    assert found.visits.min() > 0


def test_trees_are_as_large_as_is_allowed() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    bag = bag_after(machine, 0, 6)
    trees = WorldTrees(machine, LaneSettings(most_worlds=500, proves=True))
    search = WorldTreeSearch(machine, bag, np.random.default_rng(0), trees=(trees, 0))
    search.send(5_000)
    assert search._tree.num_worlds == max(500, len(bag.lanes_of(0)))
    assert search.estimates().visits.sum() == 5_000


def test_paths_are_worlds() -> None:
    machine = machine_of_game("tic_tac_toe")
    trees = WorldTrees(machine)
    worlds = trees.begin_in(machine.initial(3), 0)
    assert trees.views_of(worlds).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_search_goes_on_in_the_trees_of_the_turn_before() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    rng, trees = np.random.default_rng(1), WorldTrees(machine)
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=64, exact=2000)
    state, bag = machine.initial(1), sampler.start(0)
    for turn in range(3):
        search = WorldTreeSearch(machine, bag, rng, trees=(trees, min(turn, 1)))
        roots = search._roots.worlds
        group = machine.groups(
            machine.concatenate([bag.sets.states, trees._known.states.take(roots)])
        )
        assert (group[: len(roots)] == group[len(roots) :]).all()
        # What was learnt in the states that are now possible is not lost.
        carried = search.estimates().visits.sum() if turn == 2 else 0
        assert carried > 0 or turn < 2
        search.send(2000)
        joint = [int(rng.choice(machine.legal(state, j)[0])) for j in (0, 1)]
        state, percepts = machine.step(state, np.array([joint]))
        bag = sampler.advance(bag, np.array(joint[:1]), percepts[:, 0], rng)


def test_trees_with_little_room_keep_what_is_below_the_worlds() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    trees = WorldTrees(machine, LaneSettings(most_worlds=1000, proves=True))
    rng = np.random.default_rng(0)
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=4, exact=10)
    bag = sampler.start(0)
    WorldTreeSearch(machine, bag, rng, trees=(trees, 0)).send(5000)
    assert trees.num_worlds == 1000
    joint = np.array([[int(machine.legal(machine.initial(1), j)[0][0]) for j in (0, 1)]])
    _, percepts = machine.step(machine.initial(1), joint)
    bag = sampler.advance(bag, joint[:, 0], percepts[:, 0], rng)
    search = WorldTreeSearch(machine, bag, rng, trees=(trees, 1), submitted=int(joint[0, 1]))
    assert 1 < trees.num_worlds < 600
    worlds = np.arange(trees.num_worlds)
    assert trees.views_of(worlds).tolist() == [[2 * k, 2 * k + 1] for k in worlds.tolist()]
    assert search._roots.worlds.tolist() == [0]
    check(trees, paths=False)
    search.wait(Deadline.after(0.1))
    check(trees, paths=False)
