"""Games of OpenSpiel solved, against the literature and against our own rulesheets."""

from __future__ import annotations

import numpy as np
import pytest

import ggp
from ggp.machine import Machine
from ggp.machine.abilities import utilities_of
from ggp.players import make_player, parse_spec
from ggp.solve import build_tree, exploit, sample_policy, solve, solve_tree
from tests.support.games import backend_for_search, machine_of_game


@pytest.mark.parametrize(
    ("name", "utility"),
    [
        ("kuhn_poker", -1 / 18),
        ("leduc_poker", -0.0856064),
        ("liars_dice(dice_sides=4)", 0.0625),
        pytest.param("liars_dice", -0.0271318, marks=pytest.mark.verify),
    ],
)
def test_first_player_gets_what_the_literature_says(name: str, utility: float) -> None:
    machine = machine_of_game(f"openspiel:{name}", "openspiel")
    solution = solve(machine)
    utilities = utilities_of(machine, solution.profile.values)
    assert utilities["p0"] == pytest.approx(utility, abs=1e-6)
    assert utilities["p1"] == pytest.approx(-utility, abs=1e-6)
    assert solution.profile.nash_conv < 1e-6


def test_utilities_are_printed_beside_values_where_there_are_any() -> None:
    for name, backend in (("openspiel:kuhn_poker", "openspiel"), ("kuhn_poker", "prolog")):
        report = ggp.solve(ggp.load(name, backend=backend)).report().values
        assert ("utilities" in report) == (backend == "openspiel")
        if backend == "openspiel":
            assert report["utilities"] == {"p0": -0.055555556, "p1": 0.055555556}
            assert report["values"]["p0"] == pytest.approx(100 * (2 - 1 / 18) / 4)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "tic_tac_toe"])
def test_our_rulesheet_and_openspiel_have_the_same_solution_up_to_scale(name: str) -> None:
    theirs = machine_of_game(f"openspiel:{name}", "openspiel")
    ours = machine_of_game(name, backend_for_search(name))
    values = [list(solve(machine).profile.values.values()) for machine in (ours, theirs)]
    # What a unit of utility is worth in goals of ours: of the widest spread that a match has.
    spreads = [goal_spread(machine) for machine in (ours, theirs)]
    middles = [sum(value_pair) / 2 for value_pair in values]
    edge = [
        (value_pair[0] - middle) / spread
        for value_pair, middle, spread in zip(values, middles, spreads, strict=True)
    ]
    assert edge[0] == pytest.approx(edge[1], abs=1e-6)


def goal_spread(machine: Machine) -> float:
    goals = machine.playout(machine.initial(3000), np.random.default_rng(0)).goals[:, :2]
    return float(goals.max() - goals.min())


def test_players_are_exploited_on_games_of_openspiel() -> None:
    machine = machine_of_game("openspiel:kuhn_poker", "openspiel")
    tree = build_tree(machine)
    strategies = solve_tree(tree).profile.strategies
    spec = parse_spec("random")
    samples = [
        sample_policy(tree, n, lambda role, rng: make_player(spec, machine, role, rng), 20, 0)
        for n in range(2)
    ]
    exploitation = exploit(tree, strategies, samples, 0)
    assert set(exploitation.roles) == {"p0", "p1"}
    assert exploitation.nash_conv > 10
