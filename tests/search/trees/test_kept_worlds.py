"""Worlds kept from decision to decision agree with the machine, and are found again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.machine.base import IntArray
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.tree_search import TreeSearch
from ggp.search.trees.tree_tables import CHANCE, LISTED, NO_NODE, UPPER, LaneSettings
from tests.search.trees.test_paths_tree import SOMETIMES
from tests.support.games import machine_of_game, machine_of_rules

LOW = (1 << UPPER) - 1


class Follower:
    """A tree and a bag of one role, which follow a random match."""

    def __init__(self, machine: Machine, role: int = 0, **settings: Any) -> None:
        self.machine, self.role = machine, role
        self.tree = PathsTree(machine, PathTree(machine), LaneSettings(**settings))
        self.belief = HyperPlaySampler(
            machine, self.tree.paths, capacity=64, exact=2000, keep_views=True
        )
        self.bag: Bags = self.belief.start(role)
        self.state = machine.initial(1)
        self.rng = np.random.default_rng(0)

    def search(self, submitted: int | None = None) -> TreeSearch:
        return TreeSearch(self.tree, self.bag, self.rng, None, submitted=submitted)

    def go_on(self, joint: list[int] | None = None, *, prune: bool = True) -> None:
        """Play a turn, random if not given, and forget what can no longer be."""
        roles = range(len(self.machine.roles))
        if joint is None:
            joint = [int(self.rng.choice(self.machine.legal(self.state, r)[0])) for r in roles]
        self.state, percepts = self.machine.step(self.state, np.array([joint]))
        own_moves = np.array([joint[self.role]])
        self.bag = self.belief.advance(self.bag, own_moves, percepts[:, self.role], self.rng)
        if not prune:
            return
        numbers = self.tree.paths.prune(self.bag.nodes, self.belief.views)
        for holder in (self.belief, self.tree):
            holder.renumber(numbers)
        self.bag = self.bag.renumbered(numbers)

    def roots(self) -> IntArray:
        """Worlds of the bag, -1 where the tree has none."""
        views = self.bag.sets.views
        assert views is not None
        return self.tree._table.find(self.bag.sets.states, views)


def joint_move(tree: PathsTree, world: int) -> tuple[list[int], list[int]]:
    """The moves that lead to a world from its parent, and those refused before, by the tables."""
    worlds, nodes = tree._worlds, tree.nodes.table
    parent, moves, refused = int(worlds.parent[world]), [], []
    for role in range(worlds.code.shape[1]):
        code, first = int(worlds.code[world, role]), int(worlds.first[parent, role])
        at, action = code & LOW, (code >> UPPER) - 1
        kind = int(worlds.node[parent, role])
        if kind == NO_NODE:
            moves.append(first)
        elif kind == CHANCE:
            moves.append(int(worlds.chance_move[first + at]))
        else:
            moves.append(
                int(nodes.move[first + at if first >= 0 else worlds.listed[-1 - first + at]])
            )
        refused.append(int(nodes.move[action]) if action >= 0 else -1)
    return moves, refused


def check(tree: PathsTree, *, paths: bool = True) -> None:
    """Compare all worlds of a tree with what the machine says.

    Args:
        paths: whether their paths are those that roles follow.
    """
    machine, worlds, nodes = tree.machine, tree._worlds, tree.nodes
    size = tree.num_worlds
    states = tree._table.states.take(np.arange(size))
    linked = np.flatnonzero(worlds.parent[:size] >= 0)
    joint_moves = [joint_move(tree, world) for world in linked.tolist()]
    moves = np.array([pair[0] for pair in joint_moves], dtype=np.int64).reshape(
        -1, len(machine.roles)
    )
    refused = np.array([pair[1] for pair in joint_moves], dtype=np.int64).reshape(moves.shape)
    parents = worlds.parent[linked].astype(np.int64)
    stepped, percepts = machine.step(states.take(parents), moves)
    group = machine.groups(machine.concatenate([states.take(linked), stepped]))
    assert (group[: len(linked)] == group[len(linked) :]).all()
    for role in range(len(machine.roles)):
        if role == machine.random_role:
            continue
        seen = tree.views_of(np.arange(size))[:, role]
        if paths:
            paths_told = tree.paths.extend(
                seen[parents], moves[:, role], percepts[:, role], refused[:, role]
            )
            assert (paths_told == seen[linked]).all()
        has_node = worlds.node[:size, role] >= 0
        assert (nodes.table.path[worlds.node[:size, role][has_node]] == seen[has_node]).all()
        assert (nodes.of_path[seen[has_node]] == worlds.node[:size, role][has_node]).all()
    assert (worlds.over[:size] == machine.terminal(states)).all()
    # Each world is where it is looked for.
    placed = worlds.slots[worlds.slots >= 0]
    assert sorted(placed.tolist()) == linked.tolist()


@pytest.mark.parametrize(
    ("game", "turns"),
    [("tic_tac_toe", 4), ("krieg_tic_tac_toe", 3), ("meier", 2), (SOMETIMES, 1)],
    ids=["tic_tac_toe", "krieg_tic_tac_toe", "meier", "sometimes"],
)
def test_worlds_that_are_kept_are_what_the_machine_says(game: str, turns: int) -> None:
    is_rules = game is SOMETIMES  # where legal moves have to be listed
    machine = machine_of_rules(game, "propnet") if is_rules else machine_of_game(game, "propnet")
    follower = Follower(machine)
    forgotten = 0
    for _ in range(turns):
        follower.search().send(1500)
        check(follower.tree)
        forgotten += follower.tree.num_worlds
        follower.go_on()
        check(follower.tree)
        forgotten -= follower.tree.num_worlds
        assert (follower.roots() >= 0).any()
    assert forgotten > 0 or is_rules
    assert follower.tree._worlds.sizes[LISTED] > 0 or not is_rules


def test_a_decision_goes_on_in_the_worlds_of_the_one_before() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    follower = Follower(machine)
    follower.search().send(3000)
    follower.go_on()
    (root,) = follower.roots().tolist()
    assert root >= 0
    worlds, visited = follower.tree.num_worlds, machine.states_visited
    search = follower.search(submitted=int(machine.legal(follower.state, 0)[0][0]))
    assert (follower.tree.num_worlds, machine.states_visited) == (worlds, visited)
    search.send(100)
    check(follower.tree)


def test_worlds_below_the_particles_stay_where_there_is_little_room() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    follower = Follower(machine, most_worlds=1000)
    follower.search().send(5000)
    assert follower.tree.num_worlds == 1000
    follower.go_on(prune=False)
    assert (follower.roots() >= 0).all()
    follower.search()
    assert 1 < follower.tree.num_worlds < 600
    check(follower.tree)
    # A full tree that can be reached as a whole is kept: there is nothing better to remember.
    follower = Follower(machine, most_worlds=1000)
    follower.search().send(5000)
    follower.search()
    assert follower.tree.num_worlds == 1000


def test_lanes_that_wait_begin_with_the_submitted_move() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    follower = Follower(machine)
    move = int(machine.legal(follower.state, 0)[0][4])
    search, path = follower.search(submitted=move), int(follower.bag.paths[0])
    nodes = follower.tree.nodes
    with nodes.committed(path, move):
        search.send(500)
    sums = nodes.sums(path)
    assert sums.moves[sums.visits > 0].tolist() == [move]
    search.send(500)
    assert (nodes.sums(path).visits > 0).all()
