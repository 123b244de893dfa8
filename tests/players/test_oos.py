"""The player `oos`: near an equilibrium, by the probabilities it reports."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine import role_index
from ggp.players import make_player, parse_spec
from ggp.solve import build_tree, exploit, sample_policy, solve_tree
from tests.support.games import machine_of_game


@pytest.mark.parametrize(("game", "most"), [("kuhn_poker", 1.5), ("spy_vs_spy", 3.0)])
def test_it_comes_near_an_equilibrium(game: str, most: float) -> None:
    machine = machine_of_game(game, "propnet")
    tree = build_tree(machine)
    equilibrium = solve_tree(tree).profile.strategies
    spec = parse_spec("oos:trials=100000")
    policies = [
        sample_policy(tree, role, lambda r, rng: make_player(spec, machine, r, rng), 1, 7)
        for role in range(len(tree.players))
    ]
    assert exploit(tree, equilibrium, policies, 0).nash_conv < most


@pytest.mark.verify
def test_it_draws_its_move_from_the_probabilities_it_reports() -> None:
    machine = machine_of_game("spy_vs_spy", "propnet")
    role = role_index(machine, next(r for r in machine.roles if r != "random"))
    chances = []
    for seed in range(40):
        player = make_player(
            parse_spec("oos:trials=300"), machine, role, np.random.default_rng(seed)
        )
        decision = player.choose(value_forced=True)
        assert decision.fault is None
        assert decision.probabilities is not None
        assert sum(decision.probabilities.values()) == pytest.approx(1)
        assert decision.probabilities[decision.move] > 0
        assert {value.move for value in decision.values} == set(decision.probabilities)
        chances.append(decision.probabilities[decision.move])
    assert len(set(chances)) > 1
