"""What games are worth, with what certainty, and by which method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ggp.gdl.random_rules import small
from ggp.solve import Solution, build_tree, solve, solve_tree
from ggp.solve.forest import Forest, Strategies, evaluate, walk
from ggp.solve.regret import cfr_plus
from ggp.solve.solver import INDUCTION, LINEAR, OPTIMUM, REGRET, equilibrium
from tests.solve.games import (
    ROCK_PAPER_SCISSORS,
    THREE_VOTERS,
    as_rules_say,
    brute_force,
    plain_tree,
    short_guessing,
    small_meier,
    uniform_strategy,
)
from tests.support.games import machine_of_game, machine_of_rules


def solved(name: str, backend: str = "prolog") -> Solution:
    return solve(machine_of_game(name, backend))


@pytest.mark.parametrize(
    ("name", "method", "values"),
    [
        ("kuhn_poker", LINEAR, {"player1": 875 / 18, "player2": 925 / 18}),
        ("spy_vs_spy", REGRET, {"spy1": 40, "spy2": 50}),
        ("banker_and_thief", REGRET, {"banker": 25, "thief": 25}),
        ("exploding_bomb", OPTIMUM, {"agent": 90}),
        ("monty_hall", OPTIMUM, {"candidate": 200 / 3}),
    ],
)
def test_games_of_the_paper_are_worth_what_is_known(
    name: str, method: str, values: dict[str, float]
) -> None:
    solution = solved(name)
    assert solution.profile.values == pytest.approx(values, abs=1e-6)
    assert solution.profile.method == method
    assert solution.profile.nash_conv < 1e-3
    assert solution.others == ()


@pytest.mark.verify
def test_guessing_a_number_can_always_score_100() -> None:
    solution = solved("number_guessing", "propnet")
    assert solution.profile.values == {"agent": 100}
    assert solution.tree.num_states < 200_000


def test_tic_tac_toe_is_a_draw_by_induction() -> None:
    solution = solved("tic_tac_toe", "propnet")
    assert solution.profile.values == {"xplayer": 50, "oplayer": 50}
    assert (solution.profile.method, solution.profile.nash_conv) == (INDUCTION, 0)
    assert solution.tree.num_states == 5478


@pytest.mark.verify
def test_meier_falls_apart_into_games_that_can_be_solved() -> None:
    solution = solved("meier", "propnet")
    assert solution.profile.values == pytest.approx(
        {"player1": 64.793901, "player2": 35.206099}, abs=1e-6
    )
    assert (solution.profile.method, solution.is_certain) == (LINEAR, True)
    assert solution.profile.nash_conv < 1e-9


def test_spies_may_babble_or_signal() -> None:
    solution = solved("cooperative_spies")
    assert solution.profile.values == {"spy1": 50, "spy2": 50}
    assert [profile.values for profile in solution.others] == [{"spy1": 100, "spy2": 100}]
    assert [profile.nash_conv for profile in (solution.profile, *solution.others)] == [0, 0]
    assert not solution.is_certain


def test_roles_that_move_at_once_mix() -> None:
    solution = solve(machine_of_rules(ROCK_PAPER_SCISSORS))
    assert solution.profile.method == LINEAR
    assert solution.profile.values == pytest.approx({"left": 50, "right": 50})
    for strategy in solution.profile.strategies:
        assert strategy[-3:] == pytest.approx([1 / 3] * 3)


def test_several_roles_get_a_profile_with_what_each_gains_by_deviating() -> None:
    solution = solve(machine_of_rules(THREE_VOTERS))
    assert solution.profile.values == {"ann": 75, "bob": 75, "cid": 75}
    assert solution.profile.gains == {"ann": 0, "bob": 0, "cid": 0}
    assert [set(profile.values.values()) for profile in solution.others] == [{100}]
    assert not solution.is_certain


def test_solutions_do_not_depend_on_whether_subgames_are_split_off() -> None:
    for name in ("kuhn_poker", "monty_hall", "exploding_bomb"):
        whole = solve(machine_of_game(name), split=False)
        assert whole.profile.values == pytest.approx(solved(name).profile.values, abs=1e-6)


@pytest.mark.parametrize("rules", [small_meier, short_guessing], ids=lambda rules: rules.__name__)
def test_subgames_put_together_are_worth_the_same(rules: Callable[[], str]) -> None:
    machine = machine_of_rules(rules(), "propnet")
    split, whole = solve(machine), solve(machine, split=False)
    assert split.profile.values == pytest.approx(whole.profile.values, abs=1e-6)
    assert split.profile.nash_conv < 1e-9 > whole.profile.nash_conv
    assert 2 * split.tree.num_states < whole.tree.num_states
    assert sum(map(len, split.tree.sets)) < sum(map(len, whole.tree.sets))


@pytest.mark.parametrize("seed", range(8))
def test_random_games_are_worth_the_same_in_parts(seed: int) -> None:
    machine = machine_of_rules(small(seed).text(), "propnet")
    split, whole = solve(machine), solve(machine, split=False)
    assert split.profile.values == pytest.approx(whole.profile.values, abs=1e-6)
    assert split.profile.nash_conv < 1e-6 > whole.profile.nash_conv


def test_an_equilibrium_is_one_by_brute_force() -> None:
    tree, reference = plain_tree("kuhn_poker"), brute_force("kuhn_poker")
    strategies = list(solve_tree(tree).profile.strategies)
    # Whole percents: as exact as brute force takes them here, and still nearly an equilibrium.
    exact = as_rules_say(tree, strategies)
    for role in tree.players:
        assert float(reference.best(role, exact) - reference.value(role, exact)) < 0.5


def test_regrets_and_the_linear_program_find_equally_good_profiles() -> None:
    tree = plain_tree("kuhn_poker")

    def regrets(forest: Forest) -> Strategies:
        return cfr_plus(forest, 1e-2)

    def program(forest: Forest) -> Strategies:
        profile = equilibrium(forest, 10)
        assert profile is not None
        return profile

    by_regrets, by_program = walk(tree, regrets), walk(tree, program)
    assert by_regrets.nash_conv <= 1e-2
    assert by_program.nash_conv < 1e-9
    assert by_regrets.values == pytest.approx(by_program.values, abs=1e-2)


def test_games_too_large_for_a_linear_program_are_left_to_regrets() -> None:
    tree = build_tree(machine_of_game("kuhn_poker"), split=True)
    solution = solve_tree(tree, most_seconds=1, most_leaves=10)
    assert solution.profile.method == REGRET
    assert solution.profile.nash_conv < 0.1
    assert solution.profile.values == pytest.approx(
        {"player1": 875 / 18, "player2": 925 / 18}, abs=0.1
    )


def test_uniform_play_in_kuhn_poker_can_be_exploited() -> None:
    tree = plain_tree("kuhn_poker")
    walked = evaluate(tree, [uniform_strategy(tree, player) for player in range(2)])
    # Against a best response -5/12 as first and -1/2 as second player, in chips of 25.
    assert 100 - walked.best == pytest.approx([50 - 25 / 2, 50 - 25 * 5 / 12])
    assert walked.nash_conv == pytest.approx(22 + 11 / 12)


def test_solutions_are_the_same_again() -> None:
    machine = machine_of_game("cooperative_spies")
    first, second = solve(machine, seed=3), solve(machine, seed=3)
    for first_profile, right in zip(
        (first.profile, *first.others), (second.profile, *second.others), strict=True
    ):
        for a, b in zip(first_profile.strategies, right.strategies, strict=True):
            assert np.array_equal(a, b)


def test_players_never_reached_by_themselves_still_answer_best() -> None:
    tree = build_tree(machine_of_game("kuhn_poker"))
    strategies = solve_tree(tree).profile.strategies
    for player, sets in enumerate(tree.sets):
        for number in range(len(sets)):
            history = " ".join(tree.paths.texts(int(sets.paths[number])))
            moves = [tree.machine.move_text(move) for move in sets.moves_of(number).tolist()]
            if "king" in history and "call" in moves:
                start = int(sets.offsets[number])
                assert strategies[player][start + moves.index("call")] == 1
