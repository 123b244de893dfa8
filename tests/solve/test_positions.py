"""Games solved position by position, against trees of sequences and linear programs."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import SolvingError
from ggp.machine.base import FloatArray
from ggp.solve import TreeBounds, build_tree, positions, solve
from ggp.solve.forest import evaluate
from ggp.solve.positions import PositionBounds, PositionPart, PositionSolution, solve_positions
from tests.solve.games import ROCK_PAPER_SCISSORS
from tests.support.games import machine_of_game, machine_of_rules

BOUNDS = PositionBounds(100_000)

COLLECTING = """
(role left) (role random) (role right)
(index 1) (index 2) (index 3)
(worth 1 1) (worth 2 1) (worth 3 2)
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(init (turn 0)) (init (score left 0)) (init (score right 0))
(<= (legal ?r (dig ?i)) (index ?i) (role ?r) (distinct ?r random) (not (true (empty ?i))))
(<= (legal left rest) (true (turn 1)))
(<= (legal random (bless ?i)) (index ?i) (not (true (empty ?i))))
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= (next (empty ?i)) (true (empty ?i)))
(<= (next (empty ?i)) (does random (bless ?i)))
(<= (alone left) (does left (dig ?i)) (not (does right (dig ?i))))
(<= (alone right) (does right (dig ?i)) (not (does left (dig ?i))))
(<= (gains ?r) (alone ?r) (does ?r (dig ?i)) (worth ?i 1))
(<= (gains ?r) (does ?r (dig ?i)) (does random (bless ?i)))
(<= (next (score ?r ?n)) (true (score ?r ?m)) (gains ?r) (succ ?m ?n))
(<= (next (score ?r ?m)) (true (score ?r ?m)) (not (gains ?r)))
(<= (more ?a ?b) (succ ?b ?a))
(<= (more ?a ?c) (succ ?b ?a) (more ?b ?c))
(<= (sees ?r (did ?q ?m)) (role ?r) (does ?q ?m))
(<= terminal (true (turn 2)))
(goal random 0)
(<= (ahead ?r) (true (score ?r ?a)) (true (score ?q ?b)) (distinct ?r ?q) (more ?a ?b))
(<= (goal ?r 100) (ahead ?r))
(<= (goal left 0) (ahead right)) (<= (goal right 0) (ahead left))
(<= (goal left 50) (not (ahead left)) (not (ahead right)))
(<= (goal right 50) (not (ahead left)) (not (ahead right)))
"""
"""Moves at once and by chance, in unequal numbers, for two turns."""


def solved(rules: str) -> PositionSolution:
    return solve_positions(machine_of_rules(rules, "propnet"), BOUNDS)


@pytest.mark.parametrize("rules", [ROCK_PAPER_SCISSORS, COLLECTING], ids=["hands", "collecting"])
def test_values_are_those_of_the_tree(rules: str) -> None:
    solution = solved(rules)
    expected = solve(machine_of_rules(rules, "propnet")).profile.values
    assert solution.values == pytest.approx(tuple(expected.values()), abs=1e-6)
    assert solution.nash_conv < 1e-9
    assert solution.is_at_once


@pytest.mark.parametrize("rules", [ROCK_PAPER_SCISSORS, COLLECTING], ids=["hands", "collecting"])
def test_nobody_can_exploit_what_is_played_in_any_information_set(rules: str) -> None:
    machine = machine_of_rules(rules, "propnet")
    solution = solve_positions(machine, BOUNDS)
    tree = build_tree(machine)
    strategies = []
    for player, role in enumerate(tree.players):
        part, sets = PositionPart(solution, role), tree.sets[player]
        strategy = np.ones(int(sets.offsets[-1]))
        for number, path in enumerate(sets.paths.tolist()):
            at: int | None = part.start
            for node in tree.paths.beginnings(np.array([path]))[1:]:
                move, seen, _ = tree.paths.last_turns(node)[0].tolist()
                assert at is not None
                at = part.after(at, move, seen)
            assert at is not None
            choices = part.choices(at)
            assert choices is not None
            shares = dict(zip(choices[0].tolist(), choices[1].tolist(), strict=True))
            start = int(sets.offsets[number])
            for k, move in enumerate(sets.moves_of(number).tolist()):
                strategy[start + k] = shares[move]
        strategies.append(strategy)
    assert evaluate(tree, strategies).nash_conv == pytest.approx(0, abs=1e-6)


def test_kernels_do_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = solved(COLLECTING)
    monkeypatch.setattr(positions, "back_up", positions.back_up.py_func)
    written = solved(COLLECTING)
    assert written.values == pytest.approx(compiled.values, abs=1e-9)
    for plain_plan, compiled_plan in zip(written.plans, compiled.plans, strict=True):
        assert np.concatenate(plain_plan) == pytest.approx(np.concatenate(compiled_plan), abs=1e-6)


def test_games_in_turns_are_solved_too() -> None:
    solution = solve_positions(machine_of_game("tic_tac_toe", "propnet"), BOUNDS)
    assert (solution.values, solution.nash_conv, solution.is_at_once) == ((50, 50), 0, False)
    assert solution.graph.num_positions == 5478


def plans(payoffs: FloatArray) -> tuple[float, float]:
    """What either player is sure to get, or not to give away, by the kernels' plans."""
    rows, columns = payoffs.shape
    most = max(rows, columns) + 1
    padded = np.zeros((most, most))
    padded[:rows, :columns] = payoffs
    x, y = np.zeros(rows), np.zeros(columns)
    tableau, labels = np.zeros((most, most)), np.zeros(2 * most, dtype=np.int64)
    positions.solve_matrix(padded, rows, columns, x, y, tableau, labels)
    assert x.sum() == pytest.approx(1)
    assert y.sum() == pytest.approx(1)
    assert min(x.min(), y.min()) >= 0
    return float((x @ payoffs).min()), float((payoffs @ y).max())


@pytest.mark.parametrize("seed", range(40))
def test_plans_of_a_matrix_are_best_responses_to_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 8, 2).tolist()
    # Few different payoffs make most pivots ties.
    even, spread = 50.0 * rng.integers(0, 3, shape), rng.normal(50, 30, shape)
    row_plan, most = plans(np.asarray(even if seed % 2 else spread, dtype=np.float64))
    assert row_plan == pytest.approx(most, abs=1e-7)


def test_games_that_are_too_large_are_refused() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    for bounds, message in (
        (PositionBounds(1000), "more than 1,000 positions"),
        (PositionBounds(100_000, joint_moves=500), "500 joint moves"),
        (PositionBounds(100_000, turns=3), "after 3 turns"),
        (PositionBounds(100_000, at_once_by=200), "take turns"),
        (PositionBounds(100_000, is_over=lambda: True), "time is up"),
    ):
        with pytest.raises(SolvingError, match=message):
            solve_positions(machine, bounds)


def test_linear_programs_that_would_take_long_are_refused() -> None:
    machine = machine_of_rules(ROCK_PAPER_SCISSORS, "propnet")
    with pytest.raises(
        SolvingError, match="9 joint moves in a position after 0 turns, more than 8"
    ):
        solve_positions(machine, PositionBounds(1000, payoffs=8))
    assert solve_positions(machine, PositionBounds(1000, payoffs=9)).values[0] == pytest.approx(50)


def test_solving_can_be_stopped_at_any_part() -> None:
    machine = machine_of_rules(COLLECTING, "propnet")
    for solve_it in (
        lambda stop: solve_positions(machine, BOUNDS._replace(is_over=stop)),
        lambda stop: build_tree(machine, TreeBounds(is_over=stop)),
    ):
        calls: list[int] = []

        def never(calls: list[int] = calls) -> bool:
            calls.append(len(calls))
            return False

        solve_it(never)
        for last in range(len(calls)):
            moments = iter(range(last + 1))
            with pytest.raises(SolvingError, match="time is up"):
                solve_it(lambda moments=moments, last=last: next(moments, last) == last)


def test_games_without_a_constant_sum_are_refused() -> None:
    rules = ROCK_PAPER_SCISSORS.replace("(goal ?r 50)", "(goal ?r 60)")
    with pytest.raises(SolvingError, match="does not lose"):
        solved(rules)
