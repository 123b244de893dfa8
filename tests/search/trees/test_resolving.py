"""Subgame search: its passes against plain Python, what grows, and what is solved."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.machine.base import FloatArray
from ggp.search.anytime import Deadline
from ggp.search.trees.growing import new_actions, new_node
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.resolving import SLIP, WORLDS, Resolving, solve
from ggp.search.trees.selection import relative_shares
from ggp.search.trees.tree_search import Elsewhere
from ggp.search.trees.tree_tables import CHANCE, NO_NODE, LaneSettings, new_nodes
from tests.search.trees.slow_tree import grow_without_kernel
from tests.search.trees.test_growing import contents
from tests.search.trees.test_paths_tree import SOMETIMES
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

GAMES = ("kuhn_poker", "krieg_tic_tac_toe", "banker_and_thief", SOMETIMES)


def machine_of(game: str) -> Machine:
    return (machine_of_rules if "(" in game else machine_of_game)(game, "propnet")


def search_of(
    machine: Machine, seed: int, turns: int = 0, role: int = 0, *, by_kernel: bool = True
) -> Resolving:
    """A search from the bag of a role after random moves."""
    tree = PathsTree(machine, PathTree(machine), LaneSettings(guided=True))
    if not by_kernel:
        grow_without_kernel(tree)
    belief = HyperPlaySampler(machine, tree.paths, capacity=100, keep_views=True)
    rng, bags, state = np.random.default_rng(seed), belief.start(role), machine.initial()
    for _ in range(turns):
        moves = np.array(
            [[rng.choice(machine.legal(state, r).values) for r in range(len(machine.roles))]]
        )
        state, percepts = machine.step(state, moves)
        bags = belief.advance(bags, moves[:, role], percepts[:, role], rng)
    return Resolving(tree, bags, rng, None, Elsewhere(belief, 0.5))


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("turns", [0, 1])
def test_an_iteration_is_that_of_plain_python(game: str, turns: int) -> None:
    machine = machine_of(game)
    search = search_of(machine, 3, turns)
    search.send(300)
    tree, game_now, now = search._tree, search._game, search._now
    worlds, nodes = tree.tables
    before, regrets = now.strategy.copy(), nodes.regret.copy()
    solve(worlds, nodes, game_now, now, search._chance, -1, 1, 7.0)
    learner = max(role for role in range(len(machine.roles)) if role != search._chance)
    owner = nodes.role[nodes.owner[: tree.nodes.num_actions]]
    strategy = now.strategy.copy()
    strategy[: len(owner)][owner == learner] = before[: len(owner)][owner == learner]

    children = defaultdict(list)
    for world in game_now.order[: game_now.sizes[WORLDS]].tolist():
        if worlds.parent[world] >= 0:
            children[int(worlds.parent[world])].append(world)
    gains: dict[int, float] = defaultdict(float)

    def actions_of(world: int, role: int) -> list[int]:
        first, count = worlds.first[world, role], worlds.counts[world, role]
        if first < 0:
            return [int(worlds.listed[-1 - first + k]) for k in range(count)]
        return list(range(first, first + count))

    def shares_of(world: int, role: int) -> FloatArray:
        """Probability of each legal move of a role in a world."""
        node, count = int(worlds.node[world, role]), int(worlds.counts[world, role])
        if node == NO_NODE:
            return np.ones(1)
        if node == CHANCE:
            first = worlds.first[world, role]
            return np.asarray(np.diff(worlds.chance_cdf[first : first + count], prepend=0.0))
        legal: FloatArray = strategy[actions_of(world, role)]
        legal = legal + (1 - legal.sum()) / count
        return legal if role == learner else (1 - SLIP) * legal + SLIP / count

    def gain_of(world: int, others: float) -> float:
        if not children[world]:
            return others * float(worlds.value[world, learner])
        shares = [shares_of(world, role) for role in range(len(machine.roles))]
        node, gain = int(worlds.node[world, learner]), 0.0
        outcomes: dict[int, float] = defaultdict(float)
        for child in children[world]:
            position = worlds.code[child]
            chance = [float(shares[role][position[role]]) for role in range(len(shares))]
            own = chance[learner] if node >= 0 else 1.0
            chance[learner] = 1.0
            outcome = gain_of(child, others * float(np.prod(chance)))
            outcomes[int(position[learner])] += outcome
            gain += own * outcome
        if node >= 0:
            legal = actions_of(world, learner)
            mean = sum(outcomes.values()) / len(legal)
            for action in np.flatnonzero(nodes.owner[: tree.nodes.num_actions] == node).tolist():
                gains[action] += outcomes[legal.index(action)] if action in legal else mean
        return gain

    for k, root in enumerate(game_now.roots.tolist()):
        reach = np.delete(game_now.reach[k], learner)
        gain_of(root, float(game_now.weights[k] * reach.prod()))
    assert gains
    for action, gain in gains.items():
        assert now.gains[action] == pytest.approx(gain)
        siblings = np.flatnonzero(nodes.owner[: tree.nodes.num_actions] == nodes.owner[action])
        mean = sum(strategy[sibling] * gains[sibling] for sibling in siblings.tolist())
        assert nodes.regret[action] == pytest.approx(
            max(regrets[action] + gain - mean, 0.0), abs=1e-9
        )


@pytest.mark.parametrize("game", GAMES)
def test_all_joint_moves_of_a_world_are_its_children_or_none_is(game: str) -> None:
    machine = machine_of(game)
    search = search_of(machine, 5)
    search.send(200)
    worlds, children = search._tree.tables[0], defaultdict(set)
    num_worlds = search._tree.num_worlds
    for world in range(num_worlds):
        if worlds.parent[world] >= 0:
            children[int(worlds.parent[world])].add(tuple(worlds.code[world].tolist()))
    assert len(children) >= 3
    for world, codes in children.items():
        assert codes == set(product(*(range(count) for count in worlds.counts[world])))
        first = search._game.first_child[world]
        assert (worlds.parent[first : first + len(codes)] == world).all()


@pytest.mark.parametrize("game", GAMES)
def test_both_ways_grow_the_same_subgame(game: str) -> None:
    machine, trees = machine_of(game), []
    for by_kernel in (True, False):
        search = search_of(machine, 5, 1, by_kernel=by_kernel)
        search.send(200)
        trees.append(contents(search._tree))
    for (name, by_kernel_column), (_, plain_column) in zip(*trees, strict=True):
        assert by_kernel_column == plain_column, name


@pytest.mark.parametrize("role", [0, 1])
def test_strategy_of_a_matrix_game_is_the_mixed_equilibrium(role: int) -> None:
    machine = machine_of_rules(PENNIES, "propnet")
    search = search_of(machine, 1, role=role)
    search.send(500)
    strategy = search.strategy()
    moves = [machine.move_text(move) for move in search.moves.values.tolist()]
    assert dict(zip(moves, strategy.tolist(), strict=True)) == pytest.approx(
        {"(show head)": 2 / 7, "(show tail)": 5 / 7}, abs=0.01
    )
    value = {0: 100 * 2 / 7, 1: 100 * 5 / 7}[role]
    assert search.estimates().values == pytest.approx([value, value], abs=2)


def test_same_seed_gives_the_same_strategy() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    strategies = []
    for _ in range(2):
        search = search_of(machine, 5, 3)
        search.send(300)
        strategies.append(search.strategy().tolist())
    assert strategies[0] == strategies[1]


def test_a_search_that_is_out_of_time_goes_on_later() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    search, looks = search_of(machine, 5, 2), iter(range(100_000))
    for ticks in (3.0, 6.0, 20.0):
        began = next(looks)
        search._deadline = Deadline(began + ticks, lambda: float(next(looks)))
        search.run(search._deadline)
    search._deadline = None
    search.send(200)
    worlds = search._tree.tables[0]
    first = search._game.first_child[: search._tree.num_worlds]
    for world in np.flatnonzero(first >= 0).tolist():
        number = int(worlds.counts[world].prod())
        assert (worlds.parent[first[world] : first[world] + number] == world).all()
    values = worlds.value[: search._tree.num_worlds]
    assert ((values >= 0) & (values <= 1)).all()
    assert search.strategy().sum() == pytest.approx(1)


def test_shares_of_moves_are_relative_to_even_play() -> None:
    nodes = new_nodes()
    for path, averages in enumerate(([3.0, 0.0, 1.0], [0.0, 0.0])):
        first = new_actions(
            nodes, new_node(nodes, 0, path), 10 * path + np.arange(3), 0, len(averages)
        )
        nodes.average[first : first + len(averages)] = averages
    shares = np.empty(6)
    at = np.array([0, 0, 0, 1, -1, 0], dtype=np.int32)
    relative_shares(nodes, at, np.array([0, 1, 2, 10, 0, 99]), shares)
    assert shares.tolist() == [3 * 0.75, 0.0, 3 * 0.25, 1.0, 1.0, 1.0]
