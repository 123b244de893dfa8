"""`auto` plays the part of a solved game, and else lets the player search that suits the game."""

from __future__ import annotations

import time
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from ggp.gdl.normalize import load
from ggp.gdl.random_rules import larger
from ggp.machine import Machine
from ggp.machine.compiling.disk_cache import FOLDER_VARIABLE
from ggp.players import Context, make_player, parse_spec, player_of
from ggp.players.auto import Auto
from ggp.players.choosing import ACCURACY, SolvedPlayer, look_into
from ggp.players.hyperplay2 import HyperPlay2
from ggp.players.ismcts import ISMCTS
from ggp.players.mcts import MCTS
from ggp.players.puzzle import Puzzle
from ggp.players.resolve import Resolve
from ggp.search.anytime import Deadline
from ggp.solve import build_tree, exploit, sample_policy, solve_tree
from ggp.solve.exploitation import sample_reached
from ggp.solve.forest import evaluate
from match_runner.match.referee import play_match
from tests.match_runner.support import arena_of
from tests.search.test_timed_machine import SlowClock
from tests.solve.games import ROCK_PAPER_SCISSORS
from tests.support.effort import rarely
from tests.support.games import backend_for_search, machine_of_game, machine_of_rules


def auto_player(machine: Machine, role: int = 0, spec: str = "auto", seed: int = 0) -> Auto:
    player = make_player(parse_spec(spec), machine, role, np.random.default_rng(seed))
    assert isinstance(player, Auto)
    return player


def chosen_type(game: str, spec: str = "auto") -> type:
    return type(auto_player(machine_of_game(game, backend_for_search(game)), spec=spec).player)


@pytest.mark.parametrize("game", ["kuhn_poker", "monty_hall", "number_guessing", "exploding_bomb"])
def test_small_games_of_one_player_or_constant_sum_are_solved(game: str) -> None:
    assert chosen_type(game) is SolvedPlayer


@pytest.mark.parametrize(
    ("game", "player"),
    [
        pytest.param("tic_tac_toe", MCTS, marks=pytest.mark.verify),  # small, but nothing is hidden
        ("breakthrough", MCTS),
        ("spy_vs_spy", HyperPlay2),  # small, but not of constant sum
        ("cooperative_spies", HyperPlay2),
        ("krieg_tic_tac_toe", ISMCTS),
        ("dark_hex", ISMCTS),
        ("battleships_in_fog", HyperPlay2),  # clairvoyance would be worth a lot
    ],
)
def test_other_games_are_searched(game: str, player: type) -> None:
    assert chosen_type(game) is player


def test_option_solve_limits_the_games_that_are_solved() -> None:
    machine = machine_of_game("kuhn_poker", "propnet")
    for spec in ("auto:solve=0", "auto:solve=20"):
        assert isinstance(auto_player(machine, spec=spec).player, Resolve)
    assert chosen_type("kuhn_poker", "auto:solve=0") is ISMCTS  # on Prolog nothing is measured
    assert chosen_type("number_guessing", "auto:solve=0") is HyperPlay2  # it has to ask first


@pytest.mark.parametrize("seed", rarely(range(1, 7), [1, 2, 3, 5, 6]))
def test_what_is_too_large_for_linear_programs_is_nearly_solved(seed: int) -> None:
    machine = machine_of_rules(larger(seed).text(), "propnet")
    tree = build_tree(machine)

    def make(role: int, rng: np.random.Generator) -> Auto:
        player = auto_player(machine, role)
        assert isinstance(player.player, SolvedPlayer)
        return player

    policies = [sample_reached(tree, player, make, 1, seed=0)[0] for player in range(2)]
    nash_conv = evaluate(tree, [policy.strategy() for policy in policies]).nash_conv
    assert 0 < nash_conv <= ACCURACY * tree.goal_spread


@pytest.mark.parametrize("seed", [1, 4])
def test_what_is_somewhat_too_large_to_solve_is_solved_from_turn_to_turn(seed: int) -> None:
    machine = machine_of_rules(larger(seed).text(), "propnet")
    chosen = auto_player(machine, spec="auto:solve=0")
    assert isinstance(chosen.player, Resolve)
    decision = chosen.choose(value_forced=True)
    assert decision.fault is None
    assert decision.probabilities is not None


def test_a_large_game_is_examined_only_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    program, machine = load("kuhn_poker"), machine_of_game("kuhn_poker")
    assert not look_into(machine, 20, program).is_small
    visited = machine.states_visited
    assert not look_into(machine, 20, program).is_small
    assert machine.states_visited == visited
    assert look_into(machine, 10_000, program).is_small


@pytest.mark.parametrize(
    ("game", "backend", "model"),
    [
        ("krieg_tic_tac_toe", "propnet", "late"),
        ("blind_breakthrough", "propnet", "uniform"),
        ("krieg_tic_tac_toe", "prolog", "uniform"),
    ],
)
def test_opponents_may_be_late_if_they_have_few_moves(game: str, backend: str, model: str) -> None:
    player = auto_player(machine_of_game(game, backend)).player
    assert isinstance(player, ISMCTS)
    assert player.options.model == model


def test_nobody_can_exploit_it_in_a_solved_game() -> None:
    machine = machine_of_game("kuhn_poker")
    tree = build_tree(machine)
    samples = [
        sample_policy(tree, player, lambda role, rng: auto_player(machine, role), 1, seed=0)
        for player in range(2)
    ]
    gains = exploit(tree, solve_tree(tree).profile.strategies, samples, seed=0)
    assert gains.nash_conv == pytest.approx(0, abs=1e-6)


def test_simultaneous_moves_are_mixed_in_games_without_hidden_information() -> None:
    machine = machine_of_rules(ROCK_PAPER_SCISSORS, "propnet")
    moves = []
    for seed in range(60):
        decision = auto_player(machine, role=seed % 2, seed=seed).choose()
        assert decision.probabilities == pytest.approx(
            {"rock": 1 / 3, "paper": 1 / 3, "scissors": 1 / 3}
        )
        moves.append(decision.move)
    assert min(map(moves.count, ("rock", "paper", "scissors"))) > 8


@pytest.mark.verify
def test_games_of_openspiel_are_solved_as_well() -> None:
    pytest.importorskip("pyspiel")
    machine = machine_of_game("openspiel:leduc_poker", "openspiel")
    assert isinstance(auto_player(machine).player, SolvedPlayer)


def test_larger_games_are_solved_on_a_start_clock() -> None:
    player = auto_player(machine_of_game("kuhn_poker", "propnet"), spec="auto:solve=40")
    kinds = [type(player.player).__name__]
    for seconds in (0, 60):
        player.prepare(Deadline.after(seconds))
        kinds.append(type(player.player).__name__)
    assert kinds == ["Resolve", "Resolve", "SolvedPlayer"]
    assert player.states_visited == 0


@pytest.mark.verify
def test_moves_are_drawn_by_the_reported_probabilities() -> None:
    machine = machine_of_game("kuhn_poker")
    moves: list[str] = []
    for seed in range(300):
        # The second player, with a jack, after a check.
        player = auto_player(machine, role=1, seed=seed)
        player.observe("noop", ["(dealt jack)"])
        player.observe("noop", ["check"])
        decision = player.choose()
        assert decision.fault is None
        assert decision.probabilities == pytest.approx({"bet": 1 / 3, "check": 2 / 3})
        moves.append(decision.move)
    assert moves.count("bet") == pytest.approx(100, abs=30)


@pytest.mark.verify
def test_every_number_is_guessed_as_well_as_possible() -> None:
    arena = arena_of("number_guessing", "agent=auto")
    for seed in range(8):
        record = play_match(arena, seed)
        assert not record.errors
        assert record.goals["agent"] == 100


@pytest.mark.parametrize(
    ("game", "backend", "plain", "later"),
    [
        ("kuhn_poker", "prolog", ISMCTS, SolvedPlayer),
        ("tic_tac_toe", "relational", MCTS, MCTS),
        ("cooperative_spies", "propnet", ISMCTS, HyperPlay2),
    ],
)
def test_on_a_slow_machine_a_plainer_player_answers_until_the_game_is_examined(
    game: str, backend: str, plain: type, later: type
) -> None:
    clock = SlowClock()
    machine = clock.slowed(machine_of_game(game, backend), lane_s=0.02)
    rng = np.random.default_rng(0)
    player = player_of(
        parse_spec("auto"), Context(machine, 1, rng, clock, ready_by=Deadline(1.0, clock))
    )
    assert isinstance(player, Auto)
    assert type(player.player) is plain
    assert clock.now_s < 1.2
    due_s = clock.now_s + 5
    decision = player.choose(Deadline(due_s, clock))
    assert decision.is_sound
    assert clock.now_s < due_s + 1
    for _ in range(2):
        idle_s = clock.now_s + 10
        player.ponder(Deadline(idle_s, clock))
        assert clock.now_s < idle_s + 2
    assert type(player.player) is later


@pytest.mark.parametrize("resumed", [0, 1, 2])
def test_the_player_that_suits_the_game_goes_on_where_the_plainer_one_stopped(resumed: int) -> None:
    machine, clock = copy(machine_of_game("kuhn_poker")), SlowClock()  # its choice is not cached
    context = Context(machine, 1, np.random.default_rng(0), clock, ready_by=Deadline(0.0, clock))
    player = player_of(parse_spec("auto"), context)
    assert isinstance(player, Auto)
    turns = [("noop", (card,), "noop", True) for card in ("(dealt jack)", "check")]
    if resumed:  # with the belief of another player
        earlier = player_of(parse_spec("ismcts"), Context(machine, 1, np.random.default_rng(1)))
        assert isinstance(earlier, ISMCTS)
        for move, percepts, *_ in turns[:resumed]:
            earlier.observe(move, percepts)
        assert player.resume(earlier.snapshot(), turns) == resumed
    for move, percepts, *_ in turns[resumed:]:
        player.observe(move, percepts)
    assert isinstance(player.player, ISMCTS)
    decision = player.choose()
    assert decision.probabilities == pytest.approx({"bet": 1 / 3, "check": 2 / 3})


def test_a_missed_turn_ends_the_solved_part_but_not_the_match() -> None:
    player = auto_player(machine_of_game("number_guessing", "propnet"))
    player.observe("noop", [])
    player.observe("(lessthan 9)", None)
    decision = player.choose()
    assert decision.fault is None
    assert decision.probabilities is None
    assert any(value.value is not None for value in decision.values)


PUZZLE = """
(role us) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal us ?m) (step ?m)) (step left) (step right)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (next astray) (does us right) (true (at ?n)) (succ ?n 3))
(<= (next astray) (true astray))
(<= terminal (true (at 3)))
(<= (goal us 0) (true astray)) (<= (goal us 100) (not (true astray)))
"""


def test_a_puzzle_is_solved() -> None:
    player = auto_player(machine_of_rules(PUZZLE))
    assert type(player.player) is Puzzle
    for _ in range(2):
        player.observe("right", ["(did us right)"])  # plain GDL: all moves are percepts
    decision = player.choose()
    assert decision.fault is None
    assert decision.move == "left"


@pytest.mark.parametrize(("spec", "thinks"), [("puzzle", True), ("puzzle:ponder=0", False)])
def test_puzzles_are_searched_while_others_think(spec: str, thinks: bool) -> None:
    machine = machine_of_rules(PUZZLE)
    player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(0))
    assert isinstance(player, Puzzle)
    visited = machine.states_visited
    player.ponder(Deadline.after(0.1))
    assert (machine.states_visited > visited) == thinks


@pytest.mark.parametrize("game", ["kuhn_poker", "tic_tac_toe", "krieg_tic_tac_toe"])
@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_it_answers_in_time(game: str, seconds: float) -> None:
    machine = machine_of_game(game, "propnet")
    player = auto_player(machine)
    player.choose(Deadline(time.process_time(), time.process_time))  # kernels are loaded
    deadline = Deadline(time.process_time() + seconds, time.process_time)
    decision = player.choose(deadline)
    assert deadline.left_s() > -0.5
    legal = machine.legal(machine.initial(1), 0).values.tolist()
    assert decision.move in {machine.move_text(move) for move in legal}


@pytest.mark.parametrize("game", ["kuhn_poker", "tic_tac_toe", "spy_vs_spy"])
def test_the_same_seed_gives_the_same_match(game: str) -> None:
    arena = arena_of(game, *(f"{role}=auto" for role in load(game).roles if role != "random"))
    records = [play_match(arena, seed=3) for _ in range(2)]
    assert [turn.joint_move for turn in records[0].turns] == [
        turn.joint_move for turn in records[1].turns
    ]
    assert not records[0].errors


def test_states_visited_for_solving_do_not_count_for_decisions() -> None:
    player = auto_player(machine_of_game("number_guessing", "propnet"))
    player.observe("noop", [])
    assert player.choose().states_visited <= player.states_visited < 1000
