"""Trees whose lanes go by what moves were worth in playouts."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine.on_circuit import on_circuit
from ggp.search.leaf_values import MOST, UNIT, MoveAverages
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.tree_search import TreeSearch
from ggp.search.trees.tree_tables import CALM
from tests.search.trees.test_paths_tree import BANDIT, search_of, tree_of, values_of
from tests.support.games import machine_of_game, machine_of_rules


def guided(name: str, count: int, seed: int = 0) -> tuple[PathsTree, TreeSearch]:
    tree, search = search_of(machine_of_game(name, "propnet"), seed=seed, proves=True, guided=True)
    search.send(count)
    return tree, search


def test_values_are_chances_and_visits_go_to_the_best() -> None:
    machine = machine_of_rules(BANDIT, "propnet")
    tree, search = search_of(machine, guided=True)
    search.send(4000)
    assert tree.leaves.is_guided
    assert values_of(search, machine)["(pull 2)"] == pytest.approx(75, abs=3)
    assert search.estimates().visits.sum() == 4000
    assert search.estimates().visits.max() > 3000


@pytest.mark.parametrize(
    ("game", "choices", "explores"),
    [
        ("tic_tac_toe", 1_000, False),
        ("tic_tac_toe", 200_000, True),
        ("krieg_tic_tac_toe", 200_000, False),
    ],
)
def test_more_is_explored_where_many_choices_were_made_and_everybody_knows_everything(
    game: str, choices: int, explores: bool
) -> None:
    tree, search = search_of(machine_of_game(game, "propnet"), guided=True)
    search.send(64)
    nodes, place = tree.nodes.table, tree.nodes.of_path[0]
    first, actions = nodes.first_action[place], len(search.moves.values)
    trials = np.full(actions, 50)
    trials[0] = choices - trials[1:].sum()
    # A third further behind than the bonus would make up for if it did not grow.
    deficit = 1.3 * CALM * tree.settings.exploration * np.sqrt(np.log(choices) / 50)
    means = np.full(actions, 0.9 - deficit)
    means[0] = 0.9
    for k in range(actions):
        nodes.visits[first + k] = trials[k]
        nodes.goals[first + k] = nodes.discounted[first + k] = trials[k] * means[k]
    nodes.selections[place] = choices
    search.send(1)
    assert (nodes.visits[first] == trials[0]) == explores


def test_the_same_seed_gives_the_same_values_and_nothing_is_left_under_way() -> None:
    (tree, first), (_, second) = guided("tic_tac_toe", 1500), guided("tic_tac_toe", 1500)
    assert first.estimates().values.tolist() == second.estimates().values.tolist()
    nodes = tree.nodes.table
    num_nodes, num_actions = nodes.sizes.tolist()
    visits = np.bincount(nodes.owner[:num_actions], nodes.visits[:num_actions], num_nodes)
    assert not nodes.pending[:num_actions].any()
    assert (visits == nodes.selections[:num_nodes]).all()


def test_proved_values_are_the_true_values() -> None:
    _, search = guided("tic_tac_toe", 20_000)
    estimates = search.estimates()
    # With best play nobody wins.
    assert (estimates.values[search.sure()] == 50).all()
    assert estimates.values.max() == pytest.approx(50, abs=15)


def test_only_circuits_draw_by_weight() -> None:
    assert not tree_of(machine_of_rules(BANDIT, "prolog"), guided=True).leaves.is_guided
    assert not tree_of(machine_of_rules(BANDIT, "propnet")).leaves.is_guided


def test_moves_that_were_worth_more_weigh_more() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    assert on_circuit(machine)
    averages = MoveAverages(machine)
    assert (averages.weights == UNIT).all()
    averages.credits[0, :, 0], averages.credits[0, :, 1] = 1000, 50_000
    averages.credits[0, 0, 1], averages.credits[0, 1, 1] = 100_000, 0
    averages.update()
    assert averages.weights[0, 0] == MOST
    assert averages.weights[0, 1] == 1
    assert (averages.weights[0, 2:] == UNIT).all()
    assert averages.values[0, :3] == pytest.approx([1, 0, 0.5], abs=0.02)
    weights = averages.weights
    averages.credits[0, 0, 1] = 0
    averages.update()
    assert averages.weights is weights  # no news
    averages.fade()
    averages.credits *= 2.5
    averages.update()
    assert averages.weights[0, 0] == 1


@pytest.mark.parametrize("goal", [-1_000_000, -1000, 1_000_000])
def test_goals_beyond_all_bounds_lead_to_no_other_actions(goal: int) -> None:
    machine = machine_of_rules(BANDIT.replace("100", str(goal)), "propnet")
    tree, search = search_of(machine, guided=True)
    search.send(1000)
    assert (tree.leaves.averages() >= 0).all()
    assert (tree.leaves.averages() <= 1).all()
    assert search.estimates().visits.sum() == 1000


def test_worlds_of_particles_have_no_code() -> None:
    """Room for worlds may hold anything before, and codes are followed where worlds are kept."""
    machine = machine_of_game("tic_tac_toe", "propnet")
    tree = tree_of(machine)
    tree._worlds.code[:] = -1
    worlds = tree.add_particles(machine.initial(3), np.tile(np.arange(2), (3, 1)), 0)
    assert not tree._worlds.code[worlds].any()
