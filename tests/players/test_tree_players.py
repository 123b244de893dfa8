"""Players that search with trees: proofs, knowledge of opponents, clocks."""

from __future__ import annotations

import time

import numpy as np
import pytest

import ggp
from ggp.machine import Machine, role_index
from ggp.machine.base import States
from ggp.players import BeliefPlayer, Decision, make_player, parse_spec
from ggp.search.anytime import Deadline
from tests.search.trees.test_paths_tree import SOMETIMES
from tests.support.games import machine_of_game, machine_of_rules

SECRET = """
(role us) (role them) (role random) (init (at 0)) (bit 0) (bit 1)
(<= (legal random (pick ?b)) (bit ?b) (true (at 0)))
(<= (legal random wait) (true (at 1)))
(<= (legal us wait) (true (at 0)))
(<= (legal us ?m) (offer ?m) (true (at 1))) (offer bet) (offer pass)
(<= (legal them wait) (true (at 0)))
(<= (legal them (guess ?b)) (bit ?b) (true (at 1)))
(<= (sees us (picked ?b)) (does random (pick ?b)))
(<= (next (picked ?b)) (does random (pick ?b)))
(<= (next (at 1)) (true (at 0))) (<= (next (at 2)) (true (at 1)))
(<= (next found) (does them (guess ?b)) (true (picked ?b)))
(<= (next passed) (does us pass))
(<= terminal (true (at 2)))
(<= (goal us 30) (true passed))
(<= (goal us 100) (not (true passed)) (not (true found)))
(<= (goal us 0) (not (true passed)) (true found))
(<= (goal them 0) (not (true found))) (<= (goal them 100) (true found)) (goal random 0)
"""
"""We know a bit that they must guess. Betting on their mistake is worth 50: they do not know."""


def player(spec: str, machine: Machine, role: int = 0, seed: int = 0) -> BeliefPlayer:
    belief_player = make_player(parse_spec(spec), machine, role, np.random.default_rng(seed))
    assert isinstance(belief_player, BeliefPlayer)
    return belief_player


def value_of(decision: Decision, move: str) -> float:
    (value,) = (estimate.value for estimate in decision.values if estimate.move == move)
    assert value is not None
    return value


def test_simulated_opponents_lack_our_knowledge() -> None:
    machine = machine_of_rules(SECRET, "propnet")
    thinker = player("ismcts:trials=2000", machine)
    thinker.observe("wait", ["(picked 1)"])
    decision = thinker.choose()
    assert decision.fault is None
    assert value_of(decision, "bet") == pytest.approx(50, abs=14)
    assert decision.move == "bet"
    knowing = player("ismcts:trials=2000,outside=0,guided=0", machine)
    knowing.observe("wait", ["(picked 1)"])
    assert value_of(knowing.choose(), "bet") < 15


def best_value(machine: Machine, states: States, role: int) -> float:
    """The minimax value for a role of a game in which two roles take turns."""
    if machine.terminal(states)[0]:
        return float(machine.goals(states)[0, role])
    moves = [machine.legal(states, r)[0] for r in (0, 1)]
    mover = 0 if len(moves[0]) > 1 or len(moves[1]) == 1 else 1
    values = []
    for move in moves[mover].tolist():
        joint = [int(moves[0][0]), int(moves[1][0])]
        joint[mover] = move
        values.append(best_value(machine, machine.step(states, np.array([joint])).states, role))
    return max(values) if mover == role else min(values)


@pytest.mark.parametrize("seed", range(4))
def test_mcts_proves_what_moves_in_tic_tac_toe_are_worth(seed: int) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    rng = np.random.default_rng(seed)
    thinker = player("mcts:trials=20000", machine)
    states = machine.initial(1)
    for _ in range(4):
        legal = [machine.legal(states, role)[0] for role in (0, 1)]
        joint = np.array([[int(rng.choice(moves)) for moves in legal]])
        states, percepts = machine.step(states, joint)
        texts = machine.percept_texts(int(percepts[0, 0]))
        thinker.observe(machine.move_text(int(joint[0, 0])), texts)
    decision = thinker.choose()
    # All is proved long before 20,000 walks.
    assert sum(value.visits for value in decision.values) < 5_000
    other_move = int(machine.legal(states, 1)[0][0])
    worth = {}
    for move in machine.legal(states, 0)[0].tolist():
        successor = machine.step(states, np.array([[move, other_move]])).states
        worth[machine.move_text(move)] = best_value(machine, successor, 0)
    proved = {estimate.move: estimate.value for estimate in decision.values if estimate.stderr == 0}
    best = max(worth.values())
    assert worth[decision.move] == best
    assert best == 100 or len(proved) == len(worth)
    assert all(proved[move] == worth[move] for move in proved if best < 100)


HIDE_AND_SEEK = """
(role us) (role them) (init (at 0)) (side left) (side right)
(<= (legal them (hide ?s)) (side ?s) (true (at 0))) (<= (legal them wait) (true (at 1)))
(<= (legal us wait) (true (at 0))) (<= (legal us (seek ?s)) (side ?s) (true (at 1)))
(<= (next (hidden ?s)) (does them (hide ?s))) (<= (next (hidden ?s)) (true (hidden ?s)))
(<= (next found) (does us (seek ?s)) (true (hidden ?s)))
(<= (next (at 1)) (true (at 0))) (<= (next (at 2)) (true (at 1)))
(<= terminal (true (at 2)))
(<= (goal us 100) (true found)) (<= (goal us 0) (not (true found)))
(<= (goal them 0) (true found)) (<= (goal them 100) (not (true found)))
"""
"""Plain GDL: we know where they hide, unless we missed that turn."""


@pytest.mark.parametrize("percepts", [None, ["(did us wait)", "(did them (hide left))"]])
def test_no_value_is_proved_after_a_missed_turn(percepts: list[str] | None) -> None:
    thinker = player("mcts:trials=500", machine_of_rules(HIDE_AND_SEEK, "propnet"))
    thinker.observe("wait", percepts)
    values = {value.move: value for value in thinker.choose().values}
    left, right = values["(seek left)"], values["(seek right)"]
    if percepts is None:
        assert left.value == pytest.approx(50, abs=15)
        assert right.value == pytest.approx(50, abs=15)
        assert left.stderr
    else:
        assert (left.value, left.stderr) == (100, 0)


LONGER = ("tic_tac_toe", "krieg_tic_tac_toe")
"""Matches of these are played once; in the other games, the same seed plays the same match."""


@pytest.mark.parametrize("name", ["mcts", "ismcts", "resolve"])
@pytest.mark.parametrize(
    "game",
    [
        *LONGER,
        "kuhn_poker",
        "banker_and_thief",
        "monty_hall",
        "cooperative_spies",
        pytest.param(SOMETIMES, id="sometimes_legal"),
    ],
)
def test_whole_matches_are_played_without_a_fault(name: str, game: str) -> None:
    opened = ggp.load(game)
    roles = [role for role in opened.roles if role != "random"]
    spec = f"{name}:trials=150"
    runs = []
    for _ in range(1 if game in LONGER else 2):
        record = ggp.play_match(opened, dict.fromkeys(roles, spec), seed=1)
        decisions = [d for turn in record.turns for d in turn.decisions.values()]
        assert decisions
        assert all(decision.fault is None for decision in decisions)
        runs.append([(decision.move, decision.values) for decision in decisions])
    assert runs[-1] == runs[0]


@pytest.mark.parametrize("backend", ["prolog", "propnet"])
@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_a_decision_ends_with_its_clock(backend: str, seconds: float) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", backend)
    thinker = player("ismcts", machine)
    deadline = Deadline(time.monotonic() + seconds, time.monotonic)
    decision = thinker.choose(deadline)
    assert deadline.left_s() > -0.5
    assert decision.move in {v.move for v in decision.values} or decision.fault


def test_the_tree_is_kept_for_the_next_turn() -> None:
    machine = machine_of_game("connect_four", "propnet")
    fresh, thinker = (player("mcts:trials=2000", machine) for _ in range(2))
    thinker.choose()
    for candidate in (fresh, thinker):
        for move, percepts in [
            ("(drop 4)", ["(did second noop)", "(did first (drop 4))"]),
            ("noop", ["(did second (drop 5))", "(did first noop)"]),
        ]:
            candidate.observe(move, percepts)
    visits = [
        sum(value.visits for value in candidate.choose().values) for candidate in (fresh, thinker)
    ]
    assert visits[0] == 2000
    assert visits[1] > 2010


def test_a_budget_of_states_is_kept() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    decision = player("ismcts:states=20000", machine).choose()
    assert 10_000 < decision.states_visited < 22_000


def test_mcts_equals_ismcts_in_games_without_hidden_information() -> None:
    machine = machine_of_game("connect_four", "propnet")
    role = role_index(machine, machine.roles[0])
    decisions = [
        player(f"{n}trials=500,outside=0", machine, role).choose() for n in ("mcts:", "ismcts:")
    ]
    assert decisions[0].values == decisions[1].values
