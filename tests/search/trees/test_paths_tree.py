"""Trees over incomplete paths: statistics, choices, bounds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.errors import ConfigError
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, IntArray, States
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.leaf_values import LeafValues
from ggp.search.trees import paths_tree
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.tree_search import WAITING_S, Roots, TreeSearch
from ggp.search.trees.tree_tables import ACTIONS, KEEP, LARGE, LaneSettings, wider
from tests.search.trees.slow_tree import SlowTree, grow_without_kernel, leaf
from tests.support.games import machine_of_game, machine_of_rules

BANDIT = """
(role us) (role random) (init start)
(<= (legal us (pull ?a)) (arm ?a) (true start)) (arm 1) (arm 2) (arm 3)
(<= (legal random (throw ?n)) (number ?n))
(number 0) (number 1) (number 2) (number 3)
(wins 1 0) (wins 2 0) (wins 2 1) (wins 2 2) (wins 3 0) (wins 3 1)
(<= (next won) (does us (pull ?a)) (does random (throw ?n)) (wins ?a ?n))
(<= (next over) (true start)) (<= terminal (true over))
(<= (goal us 100) (true won)) (<= (goal us 0) (not (true won))) (goal random 0)
(<= (sees us nothing) (true never))
"""
"""Arm a wins in one, three and two of four throws."""

SOMETIMES = """
(role us) (role random) (init (at 0)) (side 1) (side 2)
(<= (legal random (toss ?s)) (side ?s) (true (at 0)))
(<= (legal random wait) (not (true (at 0))))
(<= (legal us wait) (true (at 0)))
(<= (legal us safe) (not (true (at 0))))
(<= (legal us other) (not (true (at 0))))
(<= (legal us risky) (true (up 1)) (true (at 1)))
(<= (sees us hint) (true never))
(<= (next (up ?s)) (does random (toss ?s))) (<= (next (up ?s)) (true (up ?s)))
(succ 0 1) (succ 1 2) (succ 2 3)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (next good) (does us risky)) (<= (next good) (true good))
(<= terminal (true (at 2)))
(<= (goal us 100) (true good)) (<= (goal us 20) (not (true good))) (goal random 0)
"""
"""`risky` wins where it is legal: for one side of a coin that nobody shows."""


def tree_of(machine: Machine, **settings: Any) -> PathsTree:
    return PathsTree(machine, PathTree(machine), LaneSettings(**settings))


def search_of(
    machine: Machine, turns: int = 0, seed: int = 0, **settings: Any
) -> tuple[PathsTree, TreeSearch]:
    """A search for the first role, which got no percepts and made its only move for some turns."""
    tree = tree_of(machine, **settings)
    belief = HyperPlaySampler(machine, tree.paths, capacity=100, keep_views=True)
    rng = np.random.default_rng(seed)
    bags = belief.start(0)
    for _ in range(turns):
        moves = machine.legal(bags.sets.states, 0).values[:1]
        bags = belief.advance(bags, moves, np.full(1, UNKNOWN), rng)
    return tree, TreeSearch(tree, bags, rng)


def test_chance_has_no_values_to_search_for() -> None:
    machine = machine_of_game("kuhn_poker")
    tree = tree_of(machine)
    belief = HyperPlaySampler(machine, tree.paths, capacity=10, keep_views=True)
    bags = belief.start(machine.roles.index("random"))
    with pytest.raises(ConfigError, match="take a bag of player1, player2"):
        TreeSearch(tree, bags, np.random.default_rng(0))


def values_of(search: TreeSearch, machine: Machine) -> dict[str, float]:
    estimates = search.estimates()
    texts = map(machine.move_text, estimates.moves.values.tolist())
    return dict(zip(texts, estimates.values.tolist(), strict=True))


@pytest.mark.parametrize("backend", ["prolog", "propnet"])
def test_values_of_a_bandit_are_its_chances_and_its_visits_go_to_the_best(backend: str) -> None:
    machine = machine_of_rules(BANDIT, backend)
    _, search = search_of(machine)
    search.send(4000)
    estimates = search.estimates()
    values = values_of(search, machine)
    assert values["(pull 2)"] == pytest.approx(75, abs=3)
    assert estimates.visits.sum() == 4000
    assert estimates.visits.max() > 3000
    best = int(estimates.visits.argmax())
    assert machine.move_text(int(estimates.moves.values[best])) == "(pull 2)"
    assert estimates.stderrs[best] == pytest.approx(
        100 * np.sqrt(3 / 16 / estimates.visits[best]), rel=0.1
    )


@pytest.mark.parametrize(
    "game", ["tic_tac_toe", "krieg_tic_tac_toe", "kuhn_poker", "banker_and_thief", "spy_vs_spy"]
)
def test_statistics_are_those_of_a_plain_tree(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game(game, "propnet")

    def made_up(_: object, states: States, *__: object) -> tuple[object, IntArray]:
        lanes = [states.take(np.array([k])) for k in range(len(states))]
        goals = [
            machine.goals(action)[0] / 100 if machine.terminal(action)[0] else leaf(action)
            for action in lanes
        ]
        shape = (len(states), len(machine.roles))
        return np.array(goals).reshape(shape), np.zeros(len(states), dtype=np.int64)

    monkeypatch.setattr(LeafValues, "of_leaves", made_up)
    tree = tree_of(machine)
    slow = SlowTree(machine, tree.paths, tree.settings.exploration, KEEP)
    start, views = machine.initial(1), np.arange(len(machine.roles))
    worlds = tree.add_particles(start, views[None], 0)
    slow.meet(start, views.tolist(), (0,), 0)
    rng, twin = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(300):
        tree.wave(worlds, np.ones((1, len(machine.roles)), dtype=np.bool_), rng)
        slow.lane(start, views.tolist(), 0, int(twin.integers(0, 1 << 64, dtype=np.uint64)))
    assert len(tree) == len(slow.nodes) > 3
    for path, node in slow.nodes.items():
        sums = tree.nodes.sums(path)
        assert sums.moves.tolist() == list(node.actions)
        assert sums.visits.tolist() == [action.visits for action in node.actions.values()]
        assert sums.goals.tolist() == pytest.approx([a.goals for a in node.actions.values()])
        mild = [action.discounted for action in node.actions.values()]
        assert sums.discounted.tolist() == pytest.approx(mild)


@pytest.mark.parametrize("game", ["tic_tac_toe", "krieg_tic_tac_toe", "kuhn_poker"])
def test_a_wave_adds_every_lane_and_leaves_nothing_under_way(game: str) -> None:
    machine = machine_of_game(game, "propnet")
    tree, search = search_of(machine, turns=game == "kuhn_poker")
    for _ in range(3):
        search.send(2000)
    nodes = tree.nodes.table
    num_nodes, num_actions = nodes.sizes.tolist()
    visits = np.bincount(nodes.owner[:num_actions], nodes.visits[:num_actions], num_nodes)
    assert not nodes.pending[:num_actions].any()
    assert (visits == nodes.selections[:num_nodes]).all()
    assert search.estimates().visits.sum() == 6000


def test_a_choice_depends_on_the_node_only() -> None:
    machine = machine_of_rules(SOMETIMES, "propnet")
    tree, search = search_of(machine, turns=1)
    search.send(4000)
    estimates = search.estimates()
    values = values_of(search, machine)
    # Where it is not legal a random legal move is made: half the time 100, else 20.
    assert values["risky"] == pytest.approx(60, abs=3)
    assert values["safe"] == pytest.approx(20)
    assert values["other"] == pytest.approx(20)
    assert estimates.visits.sum() == 4000
    # Where it was refused we know that: it is another path.
    path = int(tree.nodes.table.path[0])
    refused = {int(row[2]) for row in tree.paths.last_turns(np.arange(path + 1, len(tree.paths)))}
    assert machine.move_id("risky") in refused


def test_weights_of_particles_are_respected() -> None:
    roots = Roots(np.arange(3), np.array([0.5, 0.3, 0.2]), np.ones((3, 2), dtype=np.bool_))
    draws = roots.draw(1000, np.random.default_rng(0))
    assert np.bincount(draws).tolist() == pytest.approx([500, 300, 200], abs=1)


def test_worlds_are_bounded_and_lanes_go_on_without_them() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    tree, search = search_of(machine, most_worlds=200)
    search.send(5000)
    assert tree.num_worlds == 200
    estimates = search.estimates()
    assert estimates.visits.sum() == 5000
    assert (estimates.visits > 5).all()


@pytest.mark.parametrize("by_kernel", [False, True])
def test_a_wave_that_runs_out_of_time_leaves_no_trace(
    by_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    tree, search = search_of(machine)
    search.send(1000)
    sums_before = [sums.tolist() for sums in tree.nodes.sums(0)]
    size = tree.num_worlds
    if by_kernel:  # a wave ends before the clock is looked at again
        monkeypatch.setattr(tree.leaves, "of_leaves", lambda *_: _raise())
    else:
        grow_without_kernel(tree)
        looks = iter([False, True])
        monkeypatch.setattr(paths_tree, "check", lambda _: _raise() if next(looks) else None)
    with pytest.raises(OutOfTime):
        search.send(50)
    assert [sums.tolist() for sums in tree.nodes.sums(0)] == sums_before
    assert not tree.nodes.table.pending[: tree.nodes.table.sizes[ACTIONS]].any()
    assert tree.num_worlds > size


def _raise() -> None:
    raise OutOfTime


def test_search_ends_at_its_deadline() -> None:
    machine = machine_of_game("connect_four", "propnet")
    tree, warm = search_of(machine)
    warm.send(100)
    belief = HyperPlaySampler(machine, tree.paths, capacity=100, keep_views=True)
    deadline = Deadline(time.monotonic() + 0.3, time.monotonic)
    search = TreeSearch(tree, belief.start(0), np.random.default_rng(0), deadline)
    search.run(deadline)
    assert -0.5 < deadline.left_s() < 0.1


def test_nodes_of_forgotten_paths_are_forgotten_and_others_are_as_before() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    tree, search = search_of(machine)
    search.send(3000)
    paths = tree.paths
    # What follows the first role's most tried move, and what the other knows then.
    nodes, size = tree.nodes.table, len(tree)
    children = [
        int(path)
        for path in nodes.path[:size]
        if paths.depth(int(path)) == 2 and int(nodes.role[tree.nodes.of_path[path]]) == 0
    ]
    living = np.array(children[:1])
    text = paths.texts(children[0])
    sums_before = tree.nodes.sums(children[0])
    assert sums_before.visits.sum() > 0
    numbers = paths.prune(living, tree.views)
    tree.renumber(numbers)
    assert 0 < len(tree) < size
    sums_after = tree.nodes.sums(int(numbers[children[0]]))
    assert paths.texts(int(numbers[children[0]])) == text
    for before_column, after_column in zip(sums_before, sums_after, strict=True):
        assert before_column.tolist() == after_column.tolist()
    num_nodes, num_actions = tree.nodes.table.sizes.tolist()
    assert (tree.nodes.table.owner[:num_actions] < num_nodes).all()
    assert (
        sum(len(tree.nodes.sums(int(p)).moves) for p in tree.nodes.table.path[:num_nodes])
        == num_actions
    )


def test_actions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (paths_tree, paths_tree):
        monkeypatch.setattr(module, "MAX_ACTIONS", 2000)
    machine = machine_of_game("tic_tac_toe", "propnet")
    tree, search = search_of(machine)
    search.send(3000)
    assert 1000 < tree.nodes.table.sizes[ACTIONS] < 3000
    assert search.estimates().visits.sum() == 3000


def test_waves_grow_though_each_has_a_cost_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    tree = tree_of(machine)
    belief = HyperPlaySampler(machine, tree.paths, capacity=100, keep_views=True)
    now_s, sizes = [0.0], []
    deadline = Deadline(2.0, lambda: now_s[0])
    search = TreeSearch(tree, belief.start(0), np.random.default_rng(0), deadline)

    def wave(worlds: IntArray, *_: object) -> None:
        size = len(worlds)
        now_s[0] += 0.035 + 1e-5 * size
        sizes.append(size)

    monkeypatch.setattr(tree, "wave", wave)
    search.run(deadline)
    assert max(sizes) > 500
    assert 1.8 < now_s[0] <= 2.0


def test_a_decision_knows_what_waves_cost_in_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    tree = tree_of(machine, guided=True)
    belief = HyperPlaySampler(machine, tree.paths, capacity=100, keep_views=True)
    now_s, sizes = [0.0], []

    def wave(worlds: IntArray, *_: object) -> None:
        now_s[0] += 0.02 + 1e-3 * len(worlds)  # as in dark_chess
        sizes.append(len(worlds))

    monkeypatch.setattr(tree, "wave", wave)
    firsts = []
    for end_s in (0.2, 0.4):
        deadline = Deadline(end_s, lambda: now_s[0])
        firsts.append(len(sizes))
        TreeSearch(tree, belief.start(0), np.random.default_rng(0), deadline).run(deadline)
        now_s[0] = end_s
    assert sizes[firsts[0]] == 1
    assert sizes[firsts[1]] >= 32


@pytest.mark.parametrize("waits", [False, True])
def test_waves_are_not_nearly_all_fixed_cost_also_while_nobody_waits(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    tree = tree_of(machine, guided=True)
    belief = HyperPlaySampler(machine, tree.paths, capacity=100, keep_views=True)
    now_s, longest_s, lanes = [0.0], [0.0], [0]
    deadline = Deadline(2.0, lambda: now_s[0])
    search = TreeSearch(tree, belief.start(0), np.random.default_rng(0), deadline)

    def wave(worlds: IntArray, *_: object) -> None:
        size = len(worlds)
        took_s = 0.027 + 3e-4 * size  # as in kriegspiel_5x5
        now_s[0] += took_s
        longest_s[0] = max(longest_s[0], took_s)
        lanes[0] += size

    monkeypatch.setattr(tree, "wave", wave)
    if waits:
        search.wait(deadline)
    else:
        search.run(deadline)
    assert 3e-4 * lanes[0] > 0.4 * now_s[0]
    assert not waits or longest_s[0] <= WAITING_S
    assert 1.8 < now_s[0] <= 2.0


def test_a_large_array_gets_all_the_room_at_once_and_a_small_one_no_more_than_it_may_need() -> None:
    small = wider(np.arange(10), 20, max_rows=10 * LARGE)
    assert len(small) == 80
    assert small[:10].tolist() == list(range(10))
    large = wider(small, LARGE, max_rows=10 * LARGE)
    assert len(large) == 10 * LARGE
    assert large[:10].tolist() == list(range(10))
    assert wider(large, 10 * LARGE, max_rows=10 * LARGE) is large
