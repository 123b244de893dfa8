"""Clairvoyant values: worlds solved, against plain recursion; limits, playouts and clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.gdl.random_rules import RandomRules
from ggp.machine import Machine
from ggp.machine.base import FloatArray, Ragged, States
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.clairvoyant import (
    ClairvoyantValues,
    SharedWorlds,
    WorldSearch,
    clairvoyant_values,
    table_of,
)
from ggp.search.layers import CostLimit, CountLimit
from ggp.search.parts import run_search
from ggp.search.playouts import PlayoutSearch
from tests.support.games import machine_of_game, machine_of_rules
from tests.support.plain.clairvoyant import TWO_AT_ONCE, Recursion, reached

MATCHING = """
(role left) (role right)
(init start)
(<= (legal ?r up) (role ?r) (true start))
(<= (legal ?r down) (role ?r) (true start))
(<= (next same) (does left ?m) (does right ?m))
(<= terminal (not (true start)))
(<= (goal left 100) (true same))
(<= (goal left 0) (not (true same)))
(<= (goal right 0) (true same))
(<= (goal right 100) (not (true same)))
"""
"""Both choose at once, and want the opposite."""

DEAD_END = """
(role a) (role b) (init (at start))
(<= (legal a on) (true (at start))) (<= (legal a out) (true (at start)))
(<= (legal a wait) (not (true (at start)))) (<= (legal b wait) (true (at start)))
(<= (next (at pit)) (does a on)) (<= (next (at end)) (does a out))
(<= terminal (true (at end)))
(goal a 40) (goal b 60)
"""
"""`on` leads to where b has no move, though the game is not over."""

COIN = """
(role a) (role random) (init start) (side 1) (side 2) (side 3)
(<= (legal random (toss ?s)) (true start) (side ?s))
(<= (legal random wait) (not (true start)))
(<= (legal a wait) (true start))
(<= (legal a (call ?s)) (true (up ?s)))
(<= (legal a safe) (true (up ?s)) (distinct ?s 1))
(<= (sees a nothing) (true never))
(<= (next (up ?s)) (does random (toss ?s)))
(<= (next (paid 90)) (does a (call ?s)))
(<= (next (paid 30)) (does a safe))
(<= (next over) (not (true start)))
(<= terminal (true over))
(<= (goal a ?v) (true (paid ?v))) (goal random 0)
"""
"""The legal moves depend on a coin that the role does not see."""

MOST = 400_000
"""Joint moves that are enough to solve the games here."""


def fast(name: str) -> Machine:
    return machine_of_game(name, "propnet")


def players_of(machine: Machine) -> list[int]:
    return [r for r in range(len(machine.roles)) if r != machine.random_role]


def by_move(machine: Machine, state: States, role: int) -> dict[str, float]:
    estimates, solved = clairvoyant_values(machine, state, role, np.random.default_rng(0), MOST)
    assert solved
    assert not estimates.variances.any()
    moves = estimates.moves[0].tolist()
    return {machine.move_text(m): v for m, v in zip(moves, estimates.values.tolist(), strict=True)}


def states_after(machine: Machine, *turns: Mapping[str, str]) -> States:
    """The state after moves; roles that are not named do nothing."""
    state = machine.initial(1)
    for turn in turns:
        joint = [machine.move_id(turn.get(role, "noop")) for role in machine.roles]
        state = machine.step(state, np.array([joint])).states
    return state


def start_of(machine: Machine, role: int, turns: int = 0, exact: int = 300) -> Bags:
    """The bag of a role that saw nothing while it waited."""
    tree = PathTree(machine)
    sampler = HyperPlaySampler(machine, tree, capacity=64, exact=exact)
    bag, rng = sampler.start(role), np.random.default_rng(0)
    for _ in range(turns):
        (move,) = machine.legal(bag.states_of(0).take(np.array([0])), role)[0].tolist()
        bag = sampler.advance(bag, np.array([move]), np.array([0]), rng)
    return bag


# ---------------------------------------------------------------- solved


@pytest.mark.parametrize(
    ("cards", "expected"),
    [
        (("jack", "queen"), {"check": 25, "bet": 0}),
        (("queen", "jack"), {"check": 75, "bet": 75}),
        (("queen", "king"), {"check": 25, "bet": 0}),
        (("king", "queen"), {"check": 75, "bet": 75}),
    ],
)
def test_kuhn_poker_with_open_cards(cards: tuple[str, str], expected: dict[str, float]) -> None:
    machine = machine_of_game("kuhn_poker")
    state = states_after(machine, {"random": f"(deal {' '.join(cards)})"})
    assert by_move(machine, state, 0) == expected


def test_a_bomb_whose_wire_is_known_needs_no_question() -> None:
    machine = machine_of_game("exploding_bomb")
    state = states_after(machine, {"random": "(arm red)"})
    assert by_move(machine, state, 0) == {"wait": 100, "ask": 90}


def test_a_clairvoyant_banker_can_save_nothing() -> None:
    machine = machine_of_game("banker_and_thief")
    state = machine.initial(1)
    while len(machine.legal(state, 0)[0]) == 1:
        joint = [machine.legal(state, role)[0][0] for role in range(len(machine.roles))]
        state = machine.step(state, np.array([joint])).states
    assert set(by_move(machine, state, machine.roles.index("banker")).values()) == {0.0}


def test_tic_tac_toe_has_5478_states_and_is_a_draw() -> None:
    machine = fast("tic_tac_toe")
    worlds = SharedWorlds(machine, machine.initial(3), 0)
    worlds.grow(CountLimit(MOST))
    assert worlds.solved
    assert worlds.layers.num_states == 5_478
    assert worlds.values().values.tolist() == [50.0] * 27
    assert by_move(machine, machine.initial(1), 1) == {"noop": 50.0}


SMALL = [
    *("kuhn_poker", "spy_vs_spy", "monty_hall", "cooperative_spies", "exploding_bomb"),
    "banker_and_thief",
]


@pytest.mark.parametrize("game", SMALL)
def test_values_are_those_of_plain_recursion(game: str) -> None:
    slow, machine = machine_of_game(game), fast(game)
    for role in players_of(machine):
        expected = Recursion(slow, role)
        for turns in range(3):
            moves = expected.of_moves(reached(slow, turns, seed=turns))
            assert by_move(slow, reached(slow, turns, seed=turns), role) == pytest.approx(moves)
        assert by_move(machine, machine.initial(1), role) == pytest.approx(
            expected.of_moves(slow.initial(1))
        )


@pytest.mark.parametrize(("game", "turns"), [("tic_tac_toe", 4), ("krieg_tic_tac_toe", 12)])
def test_values_of_subtrees_are_those_of_plain_recursion(game: str, turns: int) -> None:
    machine = fast(game)
    for seed in range(3):
        state = reached(machine, turns, seed)
        for role in players_of(machine):
            assert by_move(machine, state, role) == pytest.approx(
                Recursion(machine, role).of_moves(state)
            )


@pytest.mark.parametrize("seed", range(8))
def test_moves_made_at_once_by_many_are_those_of_plain_recursion(seed: int) -> None:
    machine = machine_of_rules(RandomRules(seed, roles=3, chance=0.5).text())
    for role in players_of(machine):
        state = machine.initial(1)
        assert by_move(machine, state, role) == pytest.approx(
            Recursion(machine, role).of_moves(state)
        )


def test_who_chooses_at_once_with_others_is_taken_to_choose_first() -> None:
    machine = machine_of_rules(MATCHING)
    for role in range(2):
        assert set(by_move(machine, machine.initial(1), role).values()) == {0.0}


def test_others_to_whom_all_is_equal_answer_with_every_move() -> None:
    machine = machine_of_rules(TWO_AT_ONCE)
    assert by_move(machine, machine.initial(1), 0) == {"up": 50, "down": 50}


def test_a_game_that_cannot_go_on_is_worth_the_middle() -> None:
    machine = machine_of_rules(DEAD_END)
    assert by_move(machine, machine.initial(1), 0) == {"on": 50, "out": 40}


def test_worlds_share_their_states_and_keep_their_own_values() -> None:
    machine = fast("kuhn_poker")
    deals = [("jack", "queen"), ("king", "queen"), ("jack", "queen")]
    states = [states_after(machine, {"random": f"(deal {' '.join(deal)})"}) for deal in deals]
    mixed = machine.concatenate([*states, states_after(machine, {}, {"player1": "check"}, {})][:3])
    estimates, _ = clairvoyant_values(machine, mixed, 0, np.random.default_rng(0), MOST)
    assert estimates.values.tolist() == [
        value for state in states for value in by_move(machine, state, 0).values()
    ]


def test_a_world_that_is_over_has_no_moves() -> None:
    machine = fast("exploding_bomb")
    turns = ({"random": "(arm red)"}, {"agent": "wait"}, {"agent": "(cut red)"})
    states = machine.concatenate([states_after(machine, *turns), states_after(machine, *turns[:2])])
    estimates, solved = clairvoyant_values(machine, states, 0, np.random.default_rng(0), MOST)
    assert solved
    assert estimates.moves.counts.tolist() == [0, 2]
    assert sorted(estimates.values.tolist()) == [0, 100]
    estimates, solved = clairvoyant_values(machine, states.take(np.array([0, 0])), 0, RNG, MOST)
    assert (solved, estimates.moves.counts.tolist()) == (True, [0, 0])


RNG = np.random.default_rng(5)


# ---------------------------------------------------------------- limits


def test_worlds_that_are_too_large_are_played_out() -> None:
    machine = fast("tic_tac_toe")
    estimates, solved = clairvoyant_values(machine, machine.initial(1), 0, RNG, 100)
    assert not solved
    assert estimates.values.min() < estimates.values.max()  # a draw, if it were solved
    assert estimates.variances.all()


def test_answers_that_are_too_many_are_drawn() -> None:
    machine = machine_of_rules(TWO_AT_ONCE)
    states = machine.initial(400)
    estimates, solved = clairvoyant_values(machine, states, 1, RNG, 3)
    assert not solved
    assert estimates.values.tolist() == [50.0] * 800
    estimates, solved = clairvoyant_values(machine, states, 0, RNG, 3)
    assert not solved
    assert estimates.values.mean() == pytest.approx(50, abs=5)


def test_a_layer_whose_states_are_too_many_to_be_valued_is_taken_back() -> None:
    machine = fast("tic_tac_toe")
    worlds = SharedWorlds(machine, machine.initial(1), 0)
    worlds.grow(CountLimit(100))
    # 9 and 72 joint moves fit, but 16 playouts of 72 states are more than 4 a joint move.
    assert len(worlds.layers.layers) == 1
    assert len(worlds.layers.open) == 9
    worlds.play_out(100, RNG)
    assert worlds.values().values == pytest.approx(_after_one_move(machine), abs=15)


def _after_one_move(machine: Machine) -> FloatArray:
    """HyperPlay values of the moves of the first player of tic-tac-toe."""
    search = PlayoutSearch(machine, start_of(machine, 0), np.random.default_rng(1))
    search.round(20_000)
    return search.estimates().values


def test_without_any_layer_values_are_hyperplay_values() -> None:
    machine = fast("krieg_tic_tac_toe")
    bag = start_of(machine, 0)
    search = WorldSearch(machine, bag, np.random.default_rng(3), CountLimit(0))
    plain = PlayoutSearch(machine, bag, np.random.default_rng(3))
    for either in (search, plain):
        either.round(50)
    assert not search.looks_ahead
    assert search.estimates().values.tolist() == plain.estimates().values.tolist()


def test_where_nobody_else_has_a_choice_values_are_those_of_playouts() -> None:
    """One turn of number guessing: chance has drawn, and the agent alone moves."""
    machine = fast("mastermind")
    bag = start_of(machine, 0, turns=1)
    search = WorldSearch(machine, bag, np.random.default_rng(3), CountLimit(7_000))
    assert (search.solved, search.looks_ahead) == (False, True)
    search.round(40)
    estimates = search.estimates()
    plain = PlayoutSearch(machine, bag, np.random.default_rng(4))
    plain.round(40_000)
    expected = plain.estimates()
    # Each value is a mean over worlds: no maximum was taken of noisy ones.
    assert len(search.worlds.layers.layers) == 1
    error = 5 * np.sqrt(estimates.stderrs**2 + expected.stderrs**2).max()
    assert estimates.values == pytest.approx(expected.values, abs=error)


def test_more_rounds_make_errors_smaller_and_values_right() -> None:
    machine = fast("tic_tac_toe")
    bag = start_of(machine, 0)
    search = WorldSearch(machine, bag, np.random.default_rng(0), CountLimit(150))
    errors = []
    for size in (16, 240, 3840):
        search.round(size)
        errors.append(search.estimates().stderrs.max())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    repeated = WorldSearch(machine, bag, np.random.default_rng(1), CountLimit(150))
    repeated.round(4096)
    difference = repeated.estimates().values - search.estimates().values
    assert (np.abs(difference) < 5 * np.hypot(errors[2], repeated.estimates().stderrs)).all()


def test_only_states_below_the_candidates_chosen_are_played_out() -> None:
    machine = fast("tic_tac_toe")
    search = WorldSearch(machine, start_of(machine, 0), RNG, CountLimit(150))
    search.round(10)
    first_estimates, visits = search.estimates(), machine.states_visited
    search.round(1000, np.array([2, 5]))
    estimates = search.estimates()
    assert (estimates.visits - first_estimates.visits).tolist() == [
        1000 if c in (2, 5) else 0 for c in range(9)
    ]
    assert (estimates.values != first_estimates.values).tolist() == [c in (2, 5) for c in range(9)]
    num_first = machine.states_visited - visits
    search.round(1000)
    assert machine.states_visited - visits - num_first > 3 * num_first


# ---------------------------------------------------------------- worlds of a bag


def test_a_move_that_is_illegal_in_a_world_counts_as_the_mean_of_the_legal_ones() -> None:
    legal = Ragged(np.array([0, 2, 3, 3]), np.array([7, 8, 8]))
    seen = ClairvoyantValues(legal, np.array([100.0, 20.0, 60.0]), np.array([4.0, 8.0, 6.0]))
    table, variances = table_of(seen, np.array([8, 7]), 50.0)
    assert table.tolist() == [[20, 100], [60, 60], [50, 50]]
    assert variances.tolist() == [[8, 4], [6, 6], [0, 0]]
    assert seen.take(np.array([1, 0])).values.tolist() == [60, 100, 20]


def test_moves_that_may_be_illegal_are_valued_over_all_worlds() -> None:
    machine = machine_of_rules(COIN)
    bag = start_of(machine, 0, turns=1)
    search = WorldSearch(machine, bag, RNG, CountLimit(MOST))
    estimates = search.estimates()
    values = {
        machine.move_text(m): v
        for m, v in zip(estimates.moves.values.tolist(), estimates.values.tolist(), strict=True)
    }
    # Side 1: 90 alone is legal; sides 2 and 3: 90 and 30, whose mean is 60.
    assert values == pytest.approx(
        {"(call 1)": (90 + 60 + 60) / 3, "(call 2)": (90 + 90 + 60) / 3}
        | {"(call 3)": (90 + 60 + 90) / 3, "safe": (90 + 30 + 30) / 3}
    )
    assert search.solved
    assert estimates.stderrs.tolist() == [0.0] * 4
    assert estimates.visits.tolist() == [3] * 4
    search.round(10)
    assert search.estimates().values.tolist() == estimates.values.tolist()


def test_all_of_an_exact_set_are_worlds_and_samples_are_drawn_from() -> None:
    machine = fast("mastermind")
    exact = start_of(machine, 0, turns=1)
    search = WorldSearch(machine, exact, RNG, CountLimit(7_000), most_worlds=4)
    assert search.estimates().visits.tolist() == [0] * len(search.moves.values)
    search.round(2)
    number = len(exact.sets.states)
    assert number > 4
    assert set(search.estimates().visits.tolist()) == {2 * number}
    sampled = start_of(machine, 0, turns=1, exact=0)
    if not sampled.exact[0]:
        search = WorldSearch(machine, sampled, RNG, CountLimit(7_000), most_worlds=4)
        search.round(2)
        assert search.estimates().visits.max() <= 8


def test_errors_of_a_sample_tell_how_much_worlds_differ() -> None:
    machine = machine_of_rules(COIN)
    bag = start_of(machine, 0, turns=1, exact=0)
    sets = replace(bag.sets, exact=np.zeros_like(bag.sets.exact))
    estimates = WorldSearch(machine, replace(bag, sets=sets), RNG, CountLimit(MOST)).estimates()
    assert (estimates.stderrs > 5).all()


# ---------------------------------------------------------------- clocks


@pytest.mark.parametrize("seconds", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("game", ["krieg_tic_tac_toe", "breakthrough", "connect_four"])
def test_deadlines_are_kept_and_layers_grow_with_the_time(game: str, seconds: float) -> None:
    machine = fast(game)
    bag = start_of(machine, 0)
    looks = count()

    def clock() -> float:
        return machine.states_visited / 30_000 + 1e-5 * next(looks)

    deadline = Deadline(clock() + seconds, clock)
    limit = CostLimit(clock, seconds, joint_cost=1 / 30_000, playout_cost=10 / 30_000)
    search = WorldSearch(machine, bag, np.random.default_rng(0), limit, deadline)
    estimates = run_search(search, machine, 1, deadline)
    assert deadline.left_s() > -0.5 - 0.1 * seconds
    if seconds >= 1:
        assert estimates.visits.min() >= 8
        assert len(search.worlds.layers.layers) >= (2 if seconds > 1 else 1)


def test_a_round_without_time_says_so() -> None:
    machine = fast("krieg_tic_tac_toe")
    search = WorldSearch(
        machine, start_of(machine, 0), RNG, CountLimit(500), Deadline(0.0, lambda: -1e9)
    )
    search.round(1)
    late = WorldSearch(
        machine, start_of(machine, 0), RNG, CountLimit(500), Deadline(0.0, lambda: 1)
    )
    with pytest.raises(OutOfTime):
        late.round(1)
    assert not late.estimates().visits.any()
