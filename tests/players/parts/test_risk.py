"""Moves that may be refused: a game whose player does not see which of two doors is locked."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Machine
from ggp.players import Decision, make_player, parse_spec
from ggp.players.parts.belief_player import doubtful_moves, prudent, sure_share
from ggp.players.player import MoveValue
from tests.support.games import machine_of_rules

PLAYERS = (
    "legal",
    "random",
    "hyperplay:n=4",
    "hyperplay2:n=2",
    "ismcts:trials=50",
    "pimc",
    "resolve",
)


def doors(prize: int, handle: int) -> str:
    """Two doors, of which chance locks one; to try the locked one is illegal. Waiting is safe."""
    return f"""
    (role guest) (role random) (init closed) (door left) (door right)
    (<= (legal random (lock ?d)) (door ?d) (true closed))
    (<= (legal random noop) (not (true closed)))
    (<= (legal guest noop) (true closed))
    (<= (legal guest wait) (not (true closed)))
    (<= (legal guest (open ?d)) (door ?d) (not (true closed)) (not (true (locked ?d))))
    (<= (next (locked ?d)) (does random (lock ?d)))
    (<= (next opened) (does guest (open ?d)))
    (<= (next waited) (does guest wait))
    (<= (goal guest {prize}) (true opened)) (<= (goal guest {handle}) (true waited))
    (<= (goal guest 0) (not (true opened)) (not (true waited))) (goal random 0)
    (<= terminal (true opened)) (<= terminal (true waited))
    (<= (sees guest nothing) (true never))
    """


def decided(machine: Machine, spec: str, seed: int, executed: str | None = "noop") -> Decision:
    player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(seed))
    player.observe(executed, [])
    return player.choose()


@pytest.mark.parametrize("spec", PLAYERS)
def test_doubtful_moves_are_avoided_unless_they_are_better(spec: str) -> None:
    machine = machine_of_rules(doors(50, 50), "propnet")
    decisions = [decided(machine, spec, seed) for seed in range(6)]
    assert {decision.move for decision in decisions} == {"wait"}
    assert all(decision.fault is None for decision in decisions)
    for decision in decisions:
        assert decision.probabilities is None or decision.probabilities == {"wait": 1.0}


@pytest.mark.parametrize("spec", ["hyperplay:n=4", "auto"])
def test_doubtful_moves_are_played_if_they_are_better(spec: str) -> None:
    machine = machine_of_rules(doors(100, 10), "propnet")
    assert decided(machine, spec, 0).move.startswith("(open ")


def test_a_player_that_missed_its_moves_avoids_moves_that_are_rarely_legal() -> None:
    rules = doors(100, 10).replace("(door left) (door right)", "(door a) (door b) (door c)")
    rules = rules.replace("(legal random (lock ?d))", "(legal random (open_only ?d))")
    rules = rules.replace(
        "(next (locked ?d)) (does random (lock ?d))",
        "(next (only ?d)) (does random (open_only ?d))",
    )
    rules = rules.replace("(not (true (locked ?d)))", "(true (only ?d))")
    machine = machine_of_rules(rules, "propnet")
    moves = [decided(machine, "hyperplay:n=4", 0, executed).move for executed in ("noop", None)]
    assert moves[0].startswith("(open ")
    assert moves[1] == "wait"


def test_where_no_move_is_sure_a_player_that_missed_its_moves_plays_a_likely_one() -> None:
    rules = """
    (role guest) (role random) (init closed) (key 1) (key 2) (key 3) (prize a 100) (prize b 30)
    (prize x 0) (prize y 0) (opens 1 a) (opens 1 x) (opens 2 b) (opens 2 y) (opens 3 b) (opens 3 y)
    (<= (legal random (take ?k)) (key ?k) (true closed))
    (<= (legal random noop) (not (true closed)))
    (<= (legal guest noop) (true closed))
    (<= (legal guest (open ?d)) (true (key ?k)) (opens ?k ?d))
    (<= (next (key ?k)) (does random (take ?k))) (<= (next (opened ?d)) (does guest (open ?d)))
    (<= terminal (true (opened ?d))) (<= (goal guest ?g) (true (opened ?d)) (prize ?d ?g))
    (<= (goal guest 0) (not terminal)) (goal random 0) (<= (sees guest nothing) (true never))
    """
    machine = machine_of_rules(rules, "propnet")
    moves = [decided(machine, "hyperplay:n=8", 0, executed).move for executed in ("noop", None)]
    assert moves == ["(open a)", "(open b)"]


@pytest.mark.parametrize("spec", ["random", "hyperplay:n=4,ties=random"])
def test_players_that_take_risks_play_doubtful_moves(spec: str) -> None:
    machine = machine_of_rules(doors(50, 50), "propnet")
    risky = f"{spec}{',' if ':' in spec else ':'}risk=play"
    moves = {decided(machine, risky, seed).move for seed in range(12)}
    assert len(moves) > 1


def test_policies_without_doubtful_moves_are_reported_and_drawn() -> None:
    rules = doors(50, 50) + "(<= (legal guest sleep) (not (true closed)))"
    machine = machine_of_rules(rules, "propnet")
    decisions = [decided(machine, "random", seed) for seed in range(30)]
    assert {decision.move for decision in decisions} == {"wait", "sleep"}
    for decision in decisions:
        assert decision.probabilities == pytest.approx({"sleep": 0.5, "wait": 0.5})


LOOSE = """
    (role walker) (role random) (init (at a)) (step a b) (step b c)
    (<= (legal walker (go ?x ?y)) (true (at ?x)))
    (<= (legal walker (jump ?y)) (near ?y))
    (legal walker stay) (legal random noop)
    (<= (legal walker (go b c)) (true (at b)))
    (<= (near ?y) (true (at a))) (<= (near b) (true (at b)))
    (<= (next (at ?y)) (does walker (go ?x ?y)) (step ?x ?y))
    (<= (next (at ?y)) (does walker (jump ?y)) (step a ?y))
    (<= (next (at ?x)) (does walker stay) (true (at ?x)))
    (<= terminal (not (true (at a)))) (<= (goal ?r 50) (role ?r)) (sees walker nothing)
"""
"""Two moves have a variable that nothing binds, one of them through another relation."""


def test_moves_of_variables_that_nothing_binds_are_found() -> None:
    program = normalize(parse(LOOSE), lenient=True)
    assert sorted(map(str, doubtful_moves(program))) == ["(go ?x ?y)", "(jump ?y)"]
    assert doubtful_moves(normalize(parse(doors(1, 0)))) == ()


@pytest.mark.parametrize("spec", ["random", "hyperplay:n=2"])
def test_move_that_every_reading_allows_is_preferred_and_that_is_logged_once(
    spec: str, caplog: pytest.LogCaptureFixture
) -> None:
    program = normalize(parse(LOOSE), lenient=True)
    machine = machine_of_rules(LOOSE, "propnet")
    rng = np.random.default_rng(1)
    player = make_player(parse_spec(spec), machine, 0, rng, program=program)
    for _ in range(3):
        assert player.choose().move == "stay"
        player.observe("stay", ["nothing"])
    assert caplog.text.count("may consider moves like (go ?x ?y), (jump ?y) illegal") == 1


def value(move: str, mean: float | None, stderr: float | None = 1.0) -> MoveValue:
    return MoveValue(move, mean, stderr, 5)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([value("a", 60), value("b", 50), value("c", 55)], None),  # better by more than the error
        ([value("a", 56), value("b", 50), value("c", 55)], "c"),
        ([value("a", 90, 40.0), value("b", 50), value("c", 55)], "c"),
        ([value("a", 90, None), value("b", 50), value("c", 55)], "c"),  # a single trial
        ([value("a", None, None), value("b", None, None)], "b"),
        ([], "b"),
    ],
)
def test_prudent_choice(values: list[MoveValue], expected: str | None) -> None:
    assert prudent("a", values, {"b", "c"}) == expected


def test_a_sure_move_stays_and_so_does_any_move_without_sure_ones() -> None:
    assert prudent("a", [value("a", 1), value("b", 90)], {"a", "b"}) is None
    assert prudent("a", [value("a", 1)], set()) is None
    assert sure_share({"a": 0.5, "b": 0.25, "c": 0.25}, {"b", "c"}) == {"b": 0.5, "c": 0.5}
    assert sure_share({"a": 1.0}, {"b"}) == {}
