"""Moves that percepts may stem from: none that they do stem from is ever left out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.analysis import told_moves
from ggp.gdl.analysis.told_moves import Causes
from ggp.gdl.normalize import normalize
from ggp.machine.abilities import InfersMoves
from ggp.search.moves import random_moves
from tests.support.games import machine_of_game

RULES = """
(role north) (role south) (role random)
(card 1) (card 2) (card 3) (suit 1 red) (suit 2 red) (suit 3 black)
(linked 1 2) (<= (joined ?a ?b) (linked ?a ?b)) (<= (joined ?a ?c) (linked ?a ?b) (joined ?b ?c))
(<= (legal random (deal ?p ?a ?b)) (role ?p) (card ?a) (card ?b))
(<= (legal ?p (say ?c)) (card ?c) (role ?p) (distinct ?p random))
(<= (legal ?p (say (twice ?c ?c))) (card ?c) (role ?p) (distinct ?p random))
(<= (dealt ?p ?a) (does random (deal ?p ?a ?b)))
(<= (dealt ?p ?b) (does random (deal ?p ?a ?b)) (not (true closed)))
(<= (chain ?a) (dealt north ?a)) (<= (chain ?a) (chain ?b) (linked ?b ?a))
(<= (sees ?p (got ?a)) (dealt ?p ?a))
(<= (sees ?p (colour ?s)) (dealt ?p ?a) (suit ?a ?s))
(<= (sees ?p (heard ?m)) (role ?p) (does ?q (say ?m)) (distinct ?p ?q))
(<= (sees north (far ?a)) (chain ?a))
(<= (sees north (both ?a ?c)) (does random (deal north ?a ?b)) (does south (say ?c)))
(<= (sees north (same ?a)) (does random (deal ?p ?a ?b)) (does random (deal ?p ?b ?a)))
(<= (sees north moved) (does random ?m)) (<= (sees north (joins ?b)) (dealt ?p ?a) (joined ?a ?b))
(<= (next closed) (true closed)) (<= terminal (true closed))
(goal north 50) (goal south 50) (goal random 0)
"""
DEALS = [f"(deal {p} {a} {b})" for p, a, b in product(("north", "south"), "123", "123")]
SAYINGS = ["(say 1)", "(say 2)", "(say (twice 1 1))", "(say (twice 1 2))"]


@pytest.mark.parametrize(
    ("percept", "mover", "moves"),
    [
        ("(got 2)", "random", [m for m in DEALS if "north" in m and "2" in m]),
        ("(colour black)", "random", [m for m in DEALS if "north" in m and "3" in m]),
        ("(same 2)", "random", ["(deal north 2 2)", "(deal south 2 2)"]),
        ("(both 1 2)", "random", ["(deal north 1 1)", "(deal north 1 2)", "(deal north 1 3)"]),
        ("(both 1 2)", "south", ["(say 2)"]),
        ("(unheard 1)", "random", []),
        # Somebody else may have said it; a relation that recurs is not followed.
        ("(heard (twice 1 1))", "south", None),
        ("(far 2)", "random", None),
        ("(got 2)", "south", None),
        ("moved", "random", None),
        ("(joins 2)", "random", DEALS),
    ],
)
def test_forms_are_those_of_all_proofs(percept: str, mover: str, moves: list[str] | None) -> None:
    forms = Causes(normalize(parse(RULES))).forms(percept, "north", mover)
    left = None if forms is None else [m for m in DEALS + SAYINGS if forms.fullmatch(m)]
    assert left == moves


def test_many_proofs_leave_every_move_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_moves, "MAX_PROOFS", 4)
    assert Causes(normalize(parse(RULES))).forms("(colour red)", "north", "random") is None


@pytest.mark.parametrize("game", ["kuhn_poker", "meier", "mastermind", "battleships_in_fog"])
def test_moves_that_were_made_are_possible(game: str) -> None:
    machine, rng = machine_of_game(game), np.random.default_rng(0)
    assert isinstance(machine, InfersMoves)
    roles, states, excluded = range(len(machine.roles)), machine.initial(8), 0
    for _ in range(5):
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        if not len(states):
            break
        joint = np.column_stack([random_moves(machine, states, role, rng) for role in roles])
        legal = [machine.legal(states, role) for role in roles]
        states, percepts = machine.step(states, joint)
        for lane, (role, mover) in product(range(len(joint)), product(roles, roles)):
            moves = legal[mover][lane]
            mask = machine.may_cause(moves, mover, int(percepts[lane, role]), role)
            if mask is not None:
                assert joint[lane, mover] in moves[mask]
                excluded += len(moves) - int(mask.sum())
    assert excluded or game == "mastermind"  # there the state decides what is seen
