"""The player `resolve`: near an equilibrium, by the probabilities it reports."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine import role_index
from ggp.players import make_player, parse_spec
from ggp.solve import build_tree, exploit, sample_policy, solve_tree
from tests.support.games import machine_of_game, machine_of_rules

GIFT = """
(role us) (role them) (init (at 0)) (side left) (side right)
(<= (legal them stop) (true (at 0))) (<= (legal them (hide ?s)) (side ?s) (true (at 0)))
(<= (legal them (give ?s)) (side ?s) (true (at 0))) (<= (legal them wait) (true (at 1)))
(<= (legal us wait) (true (at 0))) (<= (legal us (take ?s)) (side ?s) (true (at 1)))
(<= (next stopped) (does them stop))
(<= (next (at 1)) (true (at 0))) (<= (next (at 2)) (true (at 1)))
(<= (next (gift ?s)) (does them (give ?s))) (<= (next (gift ?s)) (true (gift ?s)))
(<= (sees us (gift ?s)) (does them (give ?s)))
(<= (next (hidden ?s)) (does them (hide ?s))) (<= (next (hidden ?s)) (true (hidden ?s)))
(<= (next taken) (does us (take ?s)) (true (gift ?s)))
(<= (next found) (does us (take ?s)) (true (hidden ?s)))
(<= terminal (true stopped)) (<= terminal (true (at 2)))
(<= (goal us 100) (true taken)) (<= (goal us 60) (true found))
(<= (goal us 0) (not (true taken)) (not (true found)))
(<= (goal them 0) (true taken)) (<= (goal them 40) (true found))
(<= (goal them 100) (not (true taken)) (not (true found)))
"""
"""They should stop, and win all: to hide may cost 60, and to give all, if we take the gift."""


@pytest.mark.parametrize(("game", "most"), [("kuhn_poker", 0.3), ("spy_vs_spy", 0.3)])
def test_it_comes_near_an_equilibrium(game: str, most: float) -> None:
    machine = machine_of_game(game, "propnet")
    tree = build_tree(machine)
    equilibrium = solve_tree(tree).profile.strategies
    spec = parse_spec("resolve")
    policies = [
        sample_policy(tree, role, lambda r, rng: make_player(spec, machine, r, rng), 1, 7)
        for role in range(len(tree.players))
    ]
    assert exploit(tree, equilibrium, policies, 0).nash_conv < most


@pytest.mark.parametrize("side", ["left", "right"])
def test_it_knows_what_to_do_where_nobody_should_come(side: str) -> None:
    machine = machine_of_rules(GIFT, "propnet")
    role = role_index(machine, "us")
    player = make_player(parse_spec("resolve:trials=1000"), machine, role, np.random.default_rng(1))
    player.observe("wait", [f"(gift {side})"])
    decision = player.choose()
    assert decision.move == f"(take {side})"
    assert decision.probabilities is not None
    assert decision.probabilities[decision.move] == pytest.approx(1)


def test_it_has_values_however_few_its_walks() -> None:
    machine = machine_of_game("spy_vs_spy", "propnet")
    for trials in (1, 8, 16, 24):
        player = make_player(
            parse_spec(f"resolve:trials={trials}"), machine, 1, np.random.default_rng(0)
        )
        values = player.choose(value_forced=True).values
        assert all(value.value is not None for value in values)


WIDE = """
(role us) (role them) (init start) (digit 1) (digit 2) (digit 3) (digit 4) (digit 5) (digit 6)
(digit 7) (<= (legal ?r (say ?a ?b)) (role ?r) (digit ?a) (digit ?b))
(<= (next same) (does us (say ?a ?b)) (does them (say ?a ?b))) (<= (next over) (true start))
(<= (sees us nothing) (true never)) (<= terminal (true over))
(<= (goal us 100) (true same)) (<= (goal us 0) (not (true same)))
(<= (goal them 0) (true same)) (<= (goal them 100) (not (true same)))
"""
"""Both say one of 49 things in the same turn."""


def test_too_many_joint_moves_are_left_to_a_tree_that_need_not_hold_all() -> None:
    machine = machine_of_rules(WIDE, "propnet")
    player = make_player(parse_spec("resolve:trials=2000"), machine, 0, np.random.default_rng(0))
    decision = player.choose()
    assert decision.fault is None
    assert all(value.value is not None for value in decision.values)


ONE_OF_MANY = """
(role us) (role them) (init start) (digit 0) (digit 1) (digit 2) (digit 3) (digit 4) (digit 5)
(digit 6) (digit 7) (digit 8) (digit 9) (bit 0) (bit 1)
(<= (legal us (say ?a ?b ?c)) (digit ?a) (digit ?b) (bit ?c)) (legal them noop)
(<= (next over) (true start)) (<= (sees us nothing) (true never))
(<= terminal (true over)) (goal us 50) (goal them 50)
"""
"""One of 200 moves, whose result is the same."""


def test_a_move_may_be_rare_where_all_are() -> None:
    machine = machine_of_rules(ONE_OF_MANY, "propnet")
    player = make_player(parse_spec("resolve:trials=2000"), machine, 0, np.random.default_rng(0))
    decision = player.choose()
    assert decision.fault is None
    assert decision.probabilities is not None
    assert list(decision.probabilities.values()) == pytest.approx([1 / 200] * 200)


@pytest.mark.verify
def test_it_draws_its_move_from_the_probabilities_it_reports() -> None:
    machine = machine_of_game("spy_vs_spy", "propnet")
    role = role_index(machine, next(r for r in machine.roles if r != "random"))
    for seed in range(40):
        player = make_player(
            parse_spec("resolve:trials=300"), machine, role, np.random.default_rng(seed)
        )
        decision = player.choose(value_forced=True)
        assert decision.fault is None
        assert decision.probabilities is not None
        assert sum(decision.probabilities.values()) == pytest.approx(1)
        assert decision.probabilities[decision.move] > 0
        assert {value.move for value in decision.values} == set(decision.probabilities)
