"""Trees are the same whether a kernel asks the circuit by itself or Python does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ggp.belief import PathTree
from ggp.belief.policy_models import LateMoves
from ggp.machine import Machine
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.turns import Lister
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.tree_tables import LaneSettings
from tests.search.trees.slow_tree import grow_without_kernel
from tests.search.trees.test_paths_tree import BANDIT, SOMETIMES
from tests.support.games import machine_of_game, machine_of_rules

GAMES = ("phantom_ttt", "krieg_tic_tac_toe", "connect_four", "kuhn_poker", "banker_and_thief")

ODD_GOALS = """
(role us) (role them) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal ?r (go ?s)) (role ?r) (side ?s)) (side 1) (side 2)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (next (up ?s)) (does us (go ?s))) (<= (sees them (went ?s)) (does us (go ?s)))
(<= terminal (true (at 3)))
(<= (goal us 100) (true (up 1))) (<= (goal us 30) (role us)) (<= (goal them 0) (true (up 2)))
"""
"""Where we went up 1, we have two goal values and the others none."""


def grow(
    tree: PathsTree, *, by_kernel: bool, lanes: int = 60, deadline: Deadline | None = None
) -> PathsTree:
    """The tree after some waves from the start of the game."""
    assert on_circuit(tree.machine)
    if not by_kernel:
        grow_without_kernel(tree)
    machine, rng = tree.machine, np.random.default_rng(7)
    views = np.arange(len(machine.roles))[None]
    worlds = tree.add_particles(machine.initial(1), views, 0)
    learns = np.ones((lanes, len(machine.roles)), dtype=np.bool_)
    for _ in range(8):
        tree.wave(np.repeat(worlds, lanes), learns, rng, deadline)
    return tree


def contents(tree: PathsTree) -> list[tuple[str, Any]]:
    """All that a tree holds."""
    worlds, nodes = tree._worlds, tree.nodes.table
    num_worlds, listed, chances = worlds.sizes.tolist()
    num_nodes, num_actions = nodes.sizes.tolist()
    over = worlds.over[:num_worlds]
    lengths = {"listed": listed, "chance_move": chances, "chance_cdf": chances}
    columns = [
        (name, getattr(worlds, name)[: lengths.get(name, num_worlds)].tolist())
        for name in worlds._fields
        if name not in ("sizes", "slots", "first", "value")
    ]
    # Only these are set where the game is over, and elsewhere.
    columns += [("first", worlds.first[:num_worlds][~over].tolist())]
    columns += [("value", worlds.value[:num_worlds][over].tolist())]
    for name in nodes._fields[1:]:
        column = getattr(nodes, name)
        size = num_nodes if name in ("role", "path", "first_action", "last_action") else 0
        size = size or (num_nodes if name in ("selections", "trust") else num_actions)
        columns.append((name, column[:size].tolist()))
    states = tree.machine.fluents(tree._table.states.take(np.arange(num_worlds)))
    columns += [("states", states), ("views", tree._table.views[:num_worlds].tolist())]
    paths = tree.paths
    columns += [("paths", paths._rows.tolist()), ("depths", paths._depths[: len(paths)].tolist())]
    return columns


def assert_same_trees(machine: Machine, model: bool = False, **settings: Any) -> None:
    """Grow a tree in both ways, and compare all that they hold."""
    pair = []
    for by_kernel in (True, False):
        paths = PathTree(machine)
        late = LateMoves(machine, paths, 0, lambda move: ((), machine.move_text(move)))
        tree = PathsTree(machine, paths, LaneSettings(**settings), late if model else None)
        pair.append(contents(grow(tree, by_kernel=by_kernel)))
    for (name, by_kernel_column), (_, plain_column) in zip(*pair, strict=True):
        assert by_kernel_column == plain_column, name


@pytest.mark.parametrize("game", GAMES)
def test_both_ways_grow_the_same_tree(game: str) -> None:
    assert_same_trees(machine_of_game(game, "propnet"))


@pytest.mark.parametrize("rules", [BANDIT, SOMETIMES, ODD_GOALS])
def test_both_ways_grow_the_same_tree_with_chance_moves_not_known_to_be_legal_and_odd_goals(
    rules: str,
) -> None:
    assert_same_trees(machine_of_rules(rules, "propnet"))


def test_both_ways_grow_the_same_tree_where_lanes_are_guided_and_roles_may_be_late() -> None:
    assert_same_trees(machine_of_game("phantom_ttt", "propnet"), guided=True, model=True)


def test_both_ways_grow_the_same_tree_where_worlds_run_out() -> None:
    assert_same_trees(machine_of_game("krieg_tic_tac_toe", "propnet"), most_worlds=300)


def test_there_is_room_however_little_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("make_room", "learn"):
        calls: list[int] = []
        whole = getattr(Lister, name)
        monkeypatch.setattr(
            Lister, name, lambda *args, w=whole, c=calls: (c.append(1), w(*args))[1]
        )
        assert_same_trees(machine_of_game("kuhn_poker", "propnet"))
        assert calls


def test_a_wave_that_is_out_of_time_leaves_nothing_under_way() -> None:
    machine = machine_of_game("phantom_ttt", "propnet")
    tree = PathsTree(machine, PathTree(machine))
    looks = iter(range(1000))
    with pytest.raises(OutOfTime):
        grow(tree, by_kernel=True, deadline=Deadline(3.0, lambda: float(next(looks))))
    assert not tree.nodes.table.pending[: tree.nodes.num_actions].any()
    tree = grow(tree, by_kernel=True)
    assert not tree.nodes.table.pending[: tree.nodes.num_actions].any()
