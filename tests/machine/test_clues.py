"""Moves that may be behind percepts: none that is is ever left out, and few others are kept."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.belief.turns import open_moves
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, IntArray, States
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play import percepts as circuit_percepts
from ggp.search.moves import random_moves
from tests.support.games import machine_of_game, machine_of_rules

GAMES = (
    "krieg_tic_tac_toe",
    "battleships_in_fog",
    "kuhn_poker",
    "spy_vs_spy",
    "exploding_bomb",
    "mastermind",
    "banker_and_thief",
    "meier",
)
"""With hidden moves of chance and of others, alone and at the same time."""

SEEN_BY_STATE = {"krieg_tic_tac_toe", "mastermind"}
"""Games whose percepts depend on the state, so percepts alone rule no move out."""

CARDS = 12
REVEALED = (
    "(role seer) (role dealer) (role random) (init flop) "
    + "".join(f"(card {c}) " for c in range(CARDS))
    + "".join(f"(below {a} {b}) " for a, b in combinations(range(CARDS), 2))
    + """
    (<= (legal random (reveal ?a ?b ?c)) (true flop) (below ?a ?b) (below ?b ?c))
    (<= (legal random noop) (not (true flop)))
    (legal dealer noop) (legal seer wait)
    (<= (legal seer (take ?c)) (true (open ?c)))
    (<= (next (open ?a)) (does random (reveal ?a ?b ?c)))
    (<= (next (open ?b)) (does random (reveal ?a ?b ?c)))
    (<= (next (open ?c)) (does random (reveal ?a ?b ?c)))
    (<= (sees seer (low ?a)) (does random (reveal ?a ?b ?c)))
    (<= (sees seer (high ?c)) (does random (reveal ?a ?b ?c)) (not (secret ?b)))
    (<= (secret ?b) (does random (reveal ?a ?b ?c)) (below 6 ?b))
    (<= (sees dealer (all ?a ?b ?c)) (does random (reveal ?a ?b ?c)))
    (<= terminal (not (true flop)) (true over)) (<= (next over) (true (open 0)))
    (goal seer 50) (goal dealer 50) (goal random 0)
    """
)
"""Three of twelve cards: the seer sees the lowest, and the highest unless the middle one is
high."""


@pytest.mark.parametrize("most_gates", [circuit_percepts.MAX_GATES, 12])
@pytest.mark.parametrize("game", GAMES)
def test_no_move_that_is_behind_percepts_is_left_out(
    game: str, most_gates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_percepts, "MAX_GATES", most_gates)
    machine = machine_of_game(game, "propnet")
    assert on_circuit(machine)
    rng = np.random.default_rng(3)
    states: States = machine.initial(4)
    roles = range(len(machine.roles))
    num_behind = num_legal = 0
    for _ in range(6):
        going = np.flatnonzero(~machine.terminal(states))
        if not len(going):
            break
        states = states.take(going)
        first = states.take(np.zeros(1, dtype=np.int64))
        legal = [machine.legal(first, role)[0].tolist() for role in roles]
        every = list(product(*legal))
        places = rng.choice(len(every), min(len(every), 300), replace=False)
        joint = np.array([every[place] for place in places])
        stepped = machine.step(first.take(np.zeros(len(joint), dtype=np.int64)), joint)
        for role, mover in product(roles, roles):
            for moves, percepts in zip(joint, stepped.percepts[:, role], strict=True):
                moves_behind = machine.legal_behind(first, mover, np.array([percepts]), role, 0)
                if moves_behind is None:
                    continue
                candidates, totals = moves_behind
                assert moves[mover] in candidates[0]
                assert set(candidates[0].tolist()) <= set(legal[mover])
                assert totals[0] == len(legal[mover])
                num_behind, num_legal = (
                    num_behind + len(candidates[0]),
                    num_legal + len(legal[mover]),
                )
        moves = np.column_stack([random_moves(machine, states, role, rng) for role in roles])
        states = machine.step(states, moves).states
    assert 0 < num_behind <= num_legal
    assert num_behind < num_legal or game in SEEN_BY_STATE


def test_percepts_tell_which_of_many_moves_of_chance_was_made() -> None:
    machine = machine_of_rules(REVEALED, "propnet")
    percept_texts = (["(all 1 5 7)"], ["(high 9)", "(low 2)"], ["(low 2)"])
    seen = [machine.percept_id(percepts) for percepts in percept_texts]
    assert None not in seen
    ids = np.array(seen, dtype=np.int64)
    assert moves_behind_percepts(machine, ids[[0, 0, 0]], 1) == [["(reveal 1 5 7)"]] * 3
    texts = moves_behind_percepts(machine, ids, 0)
    assert len(texts[0]) == 220  # the seer never sees that
    assert texts[1] == [f"(reveal 2 {b} 9)" for b in (3, 4, 5, 6)]
    assert texts[2] == sorted(f"(reveal 2 {b} {c})" for b in range(7, 11) for c in range(b + 1, 12))
    # What is not told says nothing; few moves are all kept.
    assert [len(moves) for moves in moves_behind_percepts(machine, np.full(3, UNKNOWN), 0)] == [
        220
    ] * 3
    assert [len(moves) for moves in moves_behind_percepts(machine, ids, 0, 219)] == [220, 4, 10]
    assert [len(moves) for moves in moves_behind_percepts(machine, ids, 0, 220)] == [220] * 3


def test_percepts_that_came_suffice_where_too_many_did_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_rules(REVEALED, "propnet")
    monkeypatch.setattr(circuit_percepts, "MAX_GATES", 6)
    seen = machine.percept_id(["(all 1 5 7)"])
    assert seen is not None
    assert moves_behind_percepts(machine, np.array([seen]), 1) == [["(reveal 1 5 7)"]]


def moves_behind_percepts(
    machine: Machine, percepts: IntArray, role: int, more_than: int = 0
) -> list[list[str]]:
    """Moves of chance at the start that may be behind percepts of a role."""
    assert on_circuit(machine)
    start = machine.initial(len(percepts))
    moves_behind = machine.legal_behind(start, 2, percepts, role, more_than)
    assert moves_behind is not None
    moves, totals = moves_behind
    assert totals.tolist() == [220] * len(percepts)
    return [sorted(map(machine.move_text, moves[lane].tolist())) for lane in range(len(percepts))]


@pytest.mark.parametrize("game", ["krieg_tic_tac_toe", "battleships_in_fog", "mastermind"])
def test_exact_sets_are_the_same_with_clues_and_without(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of_game(game, "propnet")
    assert weights(machine, monkeypatch, 10**9) == pytest.approx(weights(machine, monkeypatch, 0))


def weights(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, many_moves: int
) -> dict[object, float]:
    """The exact information sets of all roles along one random match, with weights."""
    monkeypatch.setattr(open_moves, "MANY_MOVES", many_moves)
    rng = np.random.default_rng(5)
    tree = PathTree(machine)
    sampler = HyperPlaySampler(machine, tree, capacity=16, exact=3_000)
    roles = [role for role in range(len(machine.roles)) if role != machine.random_role]
    bags = {role: sampler.start(role) for role in roles}
    state = machine.initial(1)
    weight_of: dict[object, float] = {}
    for turn in range(4):
        every = range(len(machine.roles))
        joint = np.column_stack([random_moves(machine, state, role, rng) for role in every])
        stepped = machine.step(state, joint)
        state = stepped.states
        if machine.terminal(state)[0]:
            break
        for role in roles:
            seen = stepped.percepts[:, role]
            bags[role] = bag = sampler.advance(bags[role], joint[:, role], seen, rng)
            assert bag.exact[0]
            texts = machine.fluents(bag.states_of(0))
            for text, weight in zip(texts, bag.weights_of(0).tolist(), strict=True):
                weight_of[turn, role, text] = weight
    return weight_of
