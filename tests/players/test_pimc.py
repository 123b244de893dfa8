"""`pimc`: its values in games that are solved for a clairvoyant, ties, errors and clocks."""

from __future__ import annotations

import json
import time
from itertools import count

import numpy as np
import pytest
from click.testing import CliRunner

from ggp.errors import ConfigError, GoalError
from ggp.machine import Machine, role_index
from ggp.players import BeliefPlayer, Decision, make_player, parse_spec
from ggp.search.anytime import Deadline
from match_runner.cli import main as match_runner
from tests.players.test_players import HIDDEN_BIT
from tests.support.commands import json_of
from tests.support.games import MODEST_GAMES, machine_of_game, machine_of_rules

Turn = tuple[str, tuple[str, ...]]

STATES_A_SECOND = 30_000
"""States a second on the clock of these tests."""


NOTHING: Turn = ("noop", ())


def player_of(machine: Machine, role: str, spec: str = "pimc", seed: int = 0) -> BeliefPlayer:
    rng = np.random.default_rng(seed)
    player = make_player(parse_spec(spec), machine, role_index(machine, role), rng)
    assert isinstance(player, BeliefPlayer)
    return player


def decide(
    game: str,
    role: str,
    *history: Turn,
    spec: str = "pimc",
    seed: int = 0,
    backend: str = "propnet",
) -> Decision:
    player = player_of(machine_of_game(game, backend), role, spec, seed)
    for move, percepts in history:
        player.observe(move, percepts)
    decision = player.choose()
    assert decision.fault is None
    return decision


def values(decision: Decision) -> dict[str, float]:
    assert {value.stderr for value in decision.values} == {0.0}
    return {value.move: value.value for value in decision.values if value.value is not None}


# ---------------------------------------------------------------- games that are solved


def test_it_never_asks_for_the_wire() -> None:
    for seed in range(5):
        decision = decide("exploding_bomb", "agent", NOTHING, seed=seed)
        assert values(decision) == {"wait": 100, "ask": 90}
        assert decision.move == "wait"


def test_it_tells_the_other_spy() -> None:
    decision = decide("spy_vs_spy", "spy1", backend="prolog")
    assert values(decision) == {
        f"(arm {colour} {how})": 20 if how == "tell" else 0
        for colour in ("red", "blue")
        for how in ("tell", "hide")
    }
    assert decision.probabilities is None or set(decision.probabilities.values()) == {0.5}
    assert decision.move.endswith(" tell)")


def test_it_switches_doors() -> None:
    decision = decide("monty_hall", "candidate", ("(choose 1)", ()), ("noop", ("(opened 3)",)))
    assert values(decision) == pytest.approx({"stay": 100 / 3, "switch": 200 / 3})
    assert decision.move == "switch"


KUHN = {
    ("jack", None): {"check": 25, "bet": 0},
    ("queen", None): {"check": 50, "bet": 37.5},
    ("king", None): {"check": 75, "bet": 75},
    ("jack", "bet"): {"fold": 25, "call": 0},
    ("queen", "bet"): {"call": 50, "fold": 25},
    ("king", "bet"): {"call": 100, "fold": 25},
}


@pytest.mark.parametrize(("card", "bet"), KUHN)
def test_kuhn_poker_values_are_those_of_open_cards(card: str, bet: str | None) -> None:
    dealt: Turn = ("noop", (f"(dealt {card})",))
    if bet is None:
        decision = decide("kuhn_poker", "player1", dealt)
    else:
        decision = decide("kuhn_poker", "player2", dealt, ("noop", (bet,)))
    expected = KUHN[card, bet]
    assert values(decision) == expected
    assert expected[decision.move] == max(expected.values())


def test_every_deposit_is_lost_to_a_clairvoyant_banker() -> None:
    decision = decide("banker_and_thief", "banker", ("noop", ("(own east)",)))
    assert set(values(decision).values()) == {0.0}
    # Of moves that are equally bad, the greedy one scores most against thieves who know nothing.
    assert decision.move == "(deposit 100 0)"


@pytest.mark.parametrize("role", ["xplayer", "oplayer"])
def test_tic_tac_toe_is_solved_from_the_start(role: str) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    player = player_of(machine, role)
    if role == "oplayer":
        player.observe("noop", ("(did oplayer noop)", "(did xplayer (mark 1 1))"))
    decision = player.choose()
    assert decision.fault is None
    assert (decision.particles, decision.exact) == (1, True)
    worth = values(decision)
    assert max(worth.values()) == 50
    if role == "oplayer":
        assert [move for move, value in worth.items() if value == 50] == ["(mark 2 2)"]
    else:
        assert set(worth.values()) == {50}
    assert worth[decision.move] == 50


# ---------------------------------------------------------------- ties


def test_hyperplay_values_break_ties() -> None:
    """To a clairvoyant every move of number guessing is worth 100."""
    for seed in range(3):
        decision = decide("number_guessing", "agent", NOTHING, seed=seed)
        assert set(values(decision).values()) == {100.0}
        hyperplay = decide("number_guessing", "agent", NOTHING, spec="hyperplay", seed=seed)
        assert decision.move == hyperplay.move
        assert decision.probabilities is None


def test_equal_moves_are_drawn_by_lot_on_request() -> None:
    king: Turn = ("noop", ("(dealt king)",))
    decisions = [
        decide("kuhn_poker", "player1", king, spec="pimc:ties=random", seed=seed)
        for seed in range(10)
    ]
    assert {decision.move for decision in decisions} == {"check", "bet"}
    assert all(d.probabilities == {"check": 0.5, "bet": 0.5} for d in decisions)
    assert decide("kuhn_poker", "player1", king).probabilities is None


def test_moves_that_hyperplay_values_equally_are_drawn_by_lot() -> None:
    machine = machine_of_rules(HIDDEN_BIT.replace("(goal seer 0)", "(goal seer 100)"), "propnet")
    moves = set()
    for seed in range(10):
        seer = player_of(machine, "seer", seed=seed)
        seer.observe("wait", None)
        seer.observe("wait", ())
        decision = seer.choose()
        assert decision.probabilities == {"(guess 0)": 0.5, "(guess 1)": 0.5}
        moves.add(decision.move)
    assert moves == {"(guess 0)", "(guess 1)"}


# ---------------------------------------------------------------- options, errors, clocks


@pytest.mark.parametrize("game", MODEST_GAMES)
@pytest.mark.parametrize("spec", ["pimc:steps=500,worlds=4", "pimc:states=3000"])
def test_same_seed_gives_the_same_decision(game: str, spec: str) -> None:
    machine = machine_of_game(game, "propnet")
    role = next(r for r in machine.roles if r != "random")
    decisions = [player_of(machine, role, spec, seed=3).choose(value_forced=True) for _ in range(2)]
    assert decisions[0].fault is None
    assert decisions[0].values == decisions[1].values
    assert decisions[0].move == decisions[1].move
    assert {value.value is None for value in decisions[0].values} == {False}


@pytest.mark.parametrize("budget", [100, 2_000, 20_000])
def test_budgets_of_states_are_kept(budget: int) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    player = player_of(machine, "xplayer", f"pimc:states={budget}")
    decision = player.choose()
    # Every candidate is tried once in each of two ways, whatever the budget.
    assert decision.states_visited < 1.2 * budget + 500
    assert decision.states_visited > 0.5 * budget


def test_conflicting_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="give either steps or states"):
        parse_spec("pimc:steps=5,states=5")
    with pytest.raises(ConfigError, match="ties=random or ties=hyperplay"):
        parse_spec("pimc:ties=prompt")
    with pytest.raises(ConfigError, match="ties=random or ties=prompt"):
        parse_spec("hyperplay:ties=hyperplay")


def test_worlds_that_cannot_be_solved_leave_hyperplay_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_game("exploding_bomb")
    player = player_of(machine, "agent")
    player.observe(*NOTHING)

    def fail(*_: object) -> None:
        raise GoalError("a goal value that is no number")

    monkeypatch.setattr(machine, "goals", fail)
    decision = player.choose()
    assert decision.fault is None
    estimates = {value.move: value.value for value in decision.values}
    assert estimates == {"wait": pytest.approx(50, abs=5), "ask": pytest.approx(45, abs=5)}


@pytest.mark.parametrize("game", ["krieg_tic_tac_toe", "breakthrough", "exploding_bomb", "meier"])
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.3])
def test_answers_come_in_time(game: str, seconds: float) -> None:
    machine = machine_of_game(game, "propnet")
    role = next(r for r in machine.roles if r != "random")
    player = player_of(machine, role)
    player.choose(Deadline(time.monotonic() + 0.05, time.monotonic), value_forced=True)
    deadline = Deadline(time.monotonic() + seconds, time.monotonic)
    decision = player.choose(deadline, value_forced=True)
    assert deadline.left_s() > -0.5
    assert decision.move
    if seconds > 0.1:
        assert decision.fault is None
        assert all(value.visits for value in decision.values)


@pytest.mark.parametrize("seconds", [0.05, 0.5, 5.0])
def test_a_slow_machine_answers_in_time_and_solves_what_it_can(seconds: float) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    player = player_of(machine, "xplayer")
    looks = count()

    def clock() -> float:
        return machine.states_visited / STATES_A_SECOND + 1e-5 * next(looks)

    for seed in range(3):
        deadline = Deadline(clock() + seconds, clock)
        decision = player.choose(deadline)
        assert deadline.left_s() > -0.5 - 0.1 * seconds
        assert decision.fault is None
        assert seed or len(decision.values) == 9


@pytest.mark.verify
def test_candidates_with_noisy_answers_are_all_tried_equally_often() -> None:
    """The best of noisy values looks good: a candidate dropped early would never catch up."""
    machine = machine_of_game("connect_four", "propnet")
    looks = count()

    def clock() -> float:
        return machine.states_visited / 1e6 + 1e-5 * next(looks)

    decision = player_of(machine, "first").choose(Deadline(clock() + 3.0, clock))
    assert len({value.visits for value in decision.values}) == 1
    assert decision.values[0].visits > 8


@pytest.mark.verify
def test_a_solved_game_is_not_thought_about_until_the_deadline() -> None:
    machine = machine_of_game("kuhn_poker", "propnet")
    player = player_of(machine, "player1")
    player.observe("noop", ("(dealt queen)",))
    player.choose(Deadline(time.monotonic() + 0.3, time.monotonic))
    deadline = Deadline(time.monotonic() + 5.0, time.monotonic)
    decision = player.choose(deadline)
    assert values(decision) == {"check": 50, "bet": 37.5}
    assert deadline.left_s() > 3.0


def test_reports_are_made_while_it_thinks() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    reports: list[Decision] = []
    player = make_player(
        parse_spec("pimc"), machine, 0, np.random.default_rng(0), report=reports.append
    )
    decision = player.choose(Deadline(time.monotonic() + 0.5, time.monotonic))
    assert len(reports) > 2
    assert {value.value for value in reports[0].values} == {None}
    assert all(value.visits for value in reports[-1].values)
    assert {value.move for value in decision.values} >= {report.move for report in reports}


# ---------------------------------------------------------------- commands


@pytest.mark.parametrize(("game", "role"), [("kuhn_poker", "player2"), ("exploding_bomb", "agent")])
def test_whole_matches_are_played(game: str, role: str) -> None:
    command = ("play", game, "--player", f"{role}=pimc:steps=3000", "--matches", "2", "--json")
    outcome = CliRunner(catch_exceptions=False).invoke(match_runner, command)
    report = json.loads(outcome.stdout)
    assert [match["errors"] for match in report["matches"]] == [[], []]


def test_values_of_commands_are_those_of_the_player() -> None:
    report = json_of("evaluate", "spy_vs_spy", "--role", "spy1", "--player", "pimc")
    assert {entry["move"]: entry["value"] for entry in report["moves"]} == {
        "(arm red tell)": 20,
        "(arm blue tell)": 20,
        "(arm red hide)": 0,
        "(arm blue hide)": 0,
    }


def test_exploit_measures_its_distance_from_optimal_play() -> None:
    report = json_of("exploit", "kuhn_poker", "--player", "pimc", "--samples", "3")
    assert report["nash_conv"] > 2
