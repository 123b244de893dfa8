"""Outcome sampling: its kernels against plain Python, and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.search.trees.growing import new_actions, new_node
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.selection import ByRegret, learn_regrets, match_regrets, relative_shares
from ggp.search.trees.tree_search import Elsewhere, Matching, OutcomeSampling
from ggp.search.trees.tree_tables import RECORDS, Nodes, Wave, new_nodes, new_wave
from tests.support.games import machine_of_game, machine_of_rules

PENNIES = """
(role even) (role odd) (init (at 0)) (side head) (side tail)
(<= (legal ?r (show ?s)) (role ?r) (side ?s))
(<= (next over) (true (at 0)))
(<= (next (even 3)) (does even (show head)) (does odd (show head)))
(<= (next (even 1)) (does even (show tail)) (does odd (show tail)))
(<= (sees ?r nothing) (role ?r) (true never))
(<= terminal (true over))
(<= (goal even 100) (true (even 3))) (<= (goal even 40) (true (even 1)))
(<= (goal even 0) (not (true (even 3))) (not (true (even 1))))
(<= (goal odd 0) (true (even 3))) (<= (goal odd 60) (true (even 1)))
(<= (goal odd 100) (not (true (even 3))) (not (true (even 1))))
"""
"""Both show a side. Even wins 100 by two heads, 40 by two tails: both show head with 2/7."""


def nodes_of(regrets: list[list[float]]) -> Nodes:
    """Nodes 0, 1, ... of role 0 whose actions have regrets."""
    nodes = new_nodes()
    for path, values in enumerate(regrets):
        node = new_node(nodes, 0, path)
        moves = 10 * node + np.arange(len(values))
        first = new_actions(nodes, node, moves, 0, len(values))
        nodes.regret[first : first + len(values)] = values
    return nodes


def lanes_of(size: int, roles: int = 2, key: int = 1) -> Wave:
    """Lanes of which role 0 learns."""
    learns = np.tile(np.arange(roles) == 0, (size, 1))
    return new_wave(np.zeros(size, dtype=np.int64), learns, key)


def regrets_of(size: int, weight: float) -> ByRegret:
    return ByRegret(0.4, weight, np.ones(size), np.ones((size, 2)))


@pytest.mark.filterwarnings("ignore:overflow")  # as it is meant: machine code says nothing
def test_actions_are_drawn_by_positive_regret_and_evenly_by_who_explores() -> None:
    nodes = nodes_of([[3.0, -5.0, 1.0, 0.0]])
    size = 4000
    for role, evenly in ((1, 0.0), (0, 0.4)):
        wave, rule = lanes_of(size), regrets_of(size, 0.0)
        counts = np.zeros(4)
        for lane in range(size):
            wave.sizes[RECORDS] = lane
            action = match_regrets(nodes, wave, lane, 0, role, rule)
            counts[action] += 1
            expected = evenly / 4 + (1 - evenly) * [0.75, 0, 0.25, 0][action]
            assert wave.probability[lane] == pytest.approx(expected)
            assert rule.odds[lane] == pytest.approx(1 / expected)
            assert rule.reach[lane, role] == pytest.approx([0.75, 0, 0.25, 0][action])
        shares = evenly / 4 + (1 - evenly) * np.array([0.75, 0, 0.25, 0])
        assert counts / size == pytest.approx(shares, abs=0.04)


@pytest.mark.filterwarnings("ignore:overflow")
def test_average_grows_by_how_probable_the_strategy_makes_the_node() -> None:
    nodes = nodes_of([[3.0, -5.0, 1.0]])
    rule = regrets_of(1, 2.0)
    rule.odds[0], rule.reach[0, 1] = 5.0, 0.5
    match_regrets(nodes, lanes_of(1), 0, 0, 1, rule)
    assert nodes.average[:3] == pytest.approx([2 * 5 * 0.5 * 0.75, 0, 2 * 5 * 0.5 * 0.25])


def test_regrets_are_those_of_plain_python() -> None:
    regrets = [[2.0, 1.0], [0.5, 0.0, 1.5]]
    nodes = nodes_of(regrets)
    nodes.visits[:5], nodes.goals[:5] = [3, 1, 0, 2, 5], [1.5, 1.0, 0.0, 0.5, 4.0]
    expected = (nodes.goals[:5] + 0.5) / (nodes.visits[:5] + 1)
    wave, rule = lanes_of(1), regrets_of(1, 1.0)
    # First action 1 of the first node, then action 0 of the second.
    wave.action[:2], wave.previous[:2], wave.head[0] = [1, 2], [-1, 0], 1
    wave.probability[:2] = [0.4, 0.3]
    nodes.pending[[1, 2]] = 1
    nodes.selections[:2] = 1
    rule.odds[0], rule.reach[0] = 7.0 / (0.4 * 0.3), [0.0, 0.9]
    learn_regrets(nodes, wave, rule, np.array([[0.8, 0.2]]), np.array([True]))

    worth, wanted = 0.8, {}
    for first, values, action, num_draws, odds in (
        (2, regrets[1], 0, 0.3, 7 * 0.9 / 0.4),
        (0, regrets[0], 1, 0.4, 7 * 0.9),
    ):
        strategy = np.array(values) / sum(values)
        worths = expected[first : first + len(values)].copy()
        worths[action] += (worth - worths[action]) / num_draws
        worth = float(strategy @ worths)
        for k, value in enumerate(values):
            wanted[first + k] = max(value + odds * (worths[k] - worth), 0.0)
    assert nodes.regret[:5] == pytest.approx([wanted[k] for k in range(5)])
    assert nodes.visits[:5].tolist() == [3, 2, 1, 2, 5]
    assert not nodes.pending[:5].any()


def test_lane_that_is_not_done_teaches_nothing() -> None:
    nodes, wave = nodes_of([[2.0, 1.0]]), lanes_of(1)
    wave.head[0], wave.previous[0], wave.probability[0] = 0, -1, 0.5
    nodes.pending[0] = nodes.selections[0] = 1
    learn_regrets(nodes, wave, regrets_of(1, 1.0), np.zeros((1, 2)), np.array([False]))
    assert nodes.regret[:2].tolist() == [2.0, 1.0]
    assert (nodes.pending[0], nodes.selections[0], nodes.visits[0]) == (0, 0, 0)


def test_shares_of_moves_are_relative_to_even_play() -> None:
    nodes = nodes_of([[3.0, -5.0, 1.0], [0.0, -1.0]])
    shares = np.empty(5)
    at = np.array([0, 0, 0, 1, -1], dtype=np.int32)
    relative_shares(nodes, at, np.array([0, 1, 2, 10, 0]), shares)
    assert shares.tolist() == [3 * 0.75, 0.0, 3 * 0.25, 1.0, 1.0]


def search_of(machine: Machine, role: int, seed: int, **matching: float) -> OutcomeSampling:
    tree = PathsTree(machine, PathTree(machine))
    belief = HyperPlaySampler(machine, tree.paths, capacity=100, keep_views=True)
    rng = np.random.default_rng(seed)
    bags = belief.start(role)
    return OutcomeSampling(
        tree, bags, rng, None, Elsewhere(belief, 0.5), matching=Matching(**matching)
    )


@pytest.mark.parametrize("from_start", [0.1, 0.0])
@pytest.mark.parametrize("role", [0, 1])
def test_strategy_of_a_matrix_game_is_the_mixed_equilibrium(role: int, from_start: float) -> None:
    machine = machine_of_rules(PENNIES, "propnet")
    search = search_of(machine, role, 1, from_start=from_start)
    search.send(200_000)
    strategy = search.strategy(search.estimates())
    moves = [machine.move_text(move) for move in search.moves.values.tolist()]
    assert dict(zip(moves, strategy.tolist(), strict=True)) == pytest.approx(
        {"(show head)": 2 / 7, "(show tail)": 5 / 7}, abs=0.03
    )


def test_same_seed_gives_the_same_strategy() -> None:
    machine = machine_of_game("kuhn_poker", "propnet")
    strategies = []
    for _ in range(2):
        search = search_of(machine, 0, 5)
        search.send(3000)
        strategies.append(search.strategy(search.estimates()).tolist())
    assert strategies[0] == strategies[1]
