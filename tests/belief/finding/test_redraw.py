"""Whole histories are redrawn where chance deals many cards before any is revealed.

The histories are checked against OpenSpiel, and their weights against enumerated sets.
"""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.belief.bags import Segments, one_set
from ggp.belief.finding.earlier import redraws_of
from ggp.gdl import canonical_term
from ggp.labs.openspiel.machine.spiel_machine import SpielMachine
from ggp.labs.openspiel.machine.terms import InformationState
from ggp.machine import Machine, build_machine
from ggp.machine.base import UNKNOWN, States
from ggp.machine.games import load_program
from ggp.search.moves import random_moves

ROLE = 1

Turns = list[tuple[str, tuple[str, ...]]]
"""Move and percepts of the role in each turn."""


def fresh(name: str) -> SpielMachine:
    machine = build_machine(load_program(f"openspiel:{name}"))
    assert isinstance(machine, SpielMachine)
    return machine


def walked(machine: Machine, seed: int, num_turns: int) -> tuple[Turns, list[int]]:
    """The role's moves and percepts in the first turns of a random match, and all actions."""
    rng = np.random.default_rng(seed)
    state, turns, actions = machine.initial(), [], []
    for _ in range(num_turns):
        roles = range(len(machine.roles))
        row = [int(random_moves(machine, state, role, rng)[0]) for role in roles]
        state, percepts = machine.step(state, np.array([row]))
        seen = machine.percept_texts(int(percepts[0, ROLE]))
        turns.append((machine.move_text(row[ROLE]), seen))
        actions.append(max(row) - 1)
    return turns, actions


def path_of(
    machine: Machine, tree: PathTree, turns: Turns, path: np.ndarray[Any, Any] | None = None
) -> np.ndarray[Any, Any]:
    """The role's path with these turns, from the start or from another path."""
    path = np.array([ROLE]) if path is None else path
    for move, percepts in turns:
        ids = machine.move_id(move), machine.percept_id([canonical_term(p) for p in percepts])
        path = tree.extend(path, *(np.array([number], dtype=np.int64) for number in ids))
    return path


def histories(sets: Segments) -> list[tuple[int, ...]]:
    nodes: Any = sets.states
    return [tuple(node.state.history()) for node in nodes.nodes]


def sets_of_latecomer(machine: Machine, turns: Turns, seed: int = 0, **options: Any) -> Segments:
    """The bag of a player that comes to a match late."""
    tree = PathTree(machine)
    sampler = HyperPlaySampler(machine, tree, follows=True, exact=0, **options)
    bags = sampler.at(path_of(machine, tree, turns), ROLE, np.random.default_rng(seed))
    return bags.sets.take(bags.segment)


@pytest.mark.parametrize(
    ("name", "num_turns", "words"),
    [("skat", 36, "observation_string"), ("hearts", 67, "information_state_string")],
)
def test_bags_survive_where_hands_are_revealed_late(name: str, num_turns: int, words: str) -> None:
    turns, true_actions = walked(fresh(name), 2, num_turns)
    machine = fresh(name)
    sets = sets_of_latecomer(machine, turns, capacity=4, keep_views=True)
    drawn_histories = histories(sets)
    assert len(set(drawn_histories)) == len(drawn_histories) >= 4
    assert not sets.exact[0]
    assert tuple(true_actions) not in drawn_histories  # one of very many
    root = machine.initial().nodes[0].state
    for actions in drawn_histories:
        truth, state = root.clone(), root.clone()
        for true_action, action in zip(true_actions, actions, strict=True):
            truth.apply_action(true_action)
            state.apply_action_with_legality_check(action)
            assert getattr(state, words)(ROLE) == getattr(truth, words)(ROLE)
            assert (state.current_player() == ROLE) == (truth.current_player() == ROLE)
    assert sets.views is not None
    assert (sets.views[:, ROLE] == sets.views[0, ROLE]).all()


def test_a_bag_survives_a_deal_and_is_refilled_after_it() -> None:
    turns, _ = walked(fresh("skat"), 3, 40)
    machine = fresh("skat")
    tree, rng = PathTree(machine), np.random.default_rng(0)
    sampler = HyperPlaySampler(machine, tree, follows=True, exact=0, capacity=8)
    bags = sampler.start(ROLE)
    for move, percepts in turns:
        move_ids = np.array([machine.move_id(move)], dtype=np.int64)
        percept_ids = np.array([machine.percept_id(percepts)], dtype=np.int64)
        bags = sampler.advance(bags, move_ids, percept_ids, rng)
        assert 4 <= bags.sets.counts[bags.segment[0]] <= 8
        assert bags.weights_of(0).sum() == pytest.approx(1)


WEIGHED = (
    ("leduc_poker", 4, 300),
    (
        "battleship(board_width=3,board_height=2,ship_sizes=[1;2],ship_values=[1;1],num_shots=2)",
        5,
        600,
    ),
)
"""Small games, turns of them, and histories drawn. In the second, the first ship of the other
leaves more or fewer places for its second: histories are not equally likely."""


@pytest.mark.verify
@pytest.mark.parametrize(("name", "num_turns", "count"), WEIGHED, ids=["leduc_poker", "battleship"])
def test_histories_are_drawn_by_their_prior(name: str, num_turns: int, count: int) -> None:
    machine = fresh(name)
    turns, _ = walked(machine, 0, num_turns)
    tree = PathTree(machine)
    path = path_of(machine, tree, turns)
    exact = HyperPlaySampler(machine, tree, capacity=8)
    bags = exact.at(path, ROLE, np.random.default_rng(0))
    assert bags.exact[0]
    redraws = redraws_of(machine, tree, ROLE, int(path[0]), np.random.default_rng(0))
    rows, ends = redraws.draw(machine.initial(), count, lambda: False)
    drawn_histories = [tuple((row.max(axis=1) - 1).tolist()) for row in rows]
    assert drawn_histories == histories(one_set(ends))
    shares = Counter(drawn_histories)
    posterior = dict(zip(histories(bags.sets), bags.weights_of(0).tolist(), strict=True))
    assert len(posterior) > 2
    assert shares.keys() <= posterior.keys()
    distance = (
        sum(abs(shares[history] / len(rows) - posterior[history]) for history in posterior) / 2
    )
    assert distance < 0.15


def test_redraws_depend_only_on_the_incomplete_path() -> None:
    turns, actions = walked(fresh("skat"), 4, 34)
    other_histories = histories(sets_of_latecomer(fresh("skat"), turns, capacity=2))
    bags = []
    for true_actions in (actions, other_histories[0]):
        machine = fresh("skat")  # which the referee of one match or the other has used before
        state: Any = machine.initial()
        for action in true_actions:
            node = state.nodes[0]
            row = [0] * len(machine.roles)
            row[node.player] = action + 1
            state, percepts = machine.step(state, np.array([row]))
            for percept in percepts[0].tolist():
                machine.percept_texts(percept)
        bags.append(histories(sets_of_latecomer(machine, turns, capacity=4)))
    assert bags[0] == bags[1]


def test_percepts_carry_words_to_players_in_the_same_process_only() -> None:
    turns, _ = walked(fresh("skat"), 1, 32)
    (text,) = (percept for percept in turns[-1][1] if percept != "your_move")
    assert isinstance(text, InformationState)
    assert "Hand:" in text.words
    assert canonical_term(text) is text
    unpickled = pickle.loads(pickle.dumps(text))
    assert unpickled == text
    assert type(unpickled) is str
    machine = fresh("skat")
    number = machine.percept_id([text])
    assert number is not None
    assert machine.percept_texts(number) == (text,)
    assert number == machine.percept_id([str(text)])


@pytest.mark.parametrize(
    ("name", "num_turns", "missed"), [("skat", 34, 33), ("hearts", 58, 48), ("hearts", 68, 64)]
)
def test_missed_turns_rule_out_no_history(name: str, num_turns: int, missed: int) -> None:
    turns, _ = walked(fresh(name), 1, num_turns)
    machine = fresh(name)
    tree = PathTree(machine)
    unknown = np.array([UNKNOWN])
    path = path_of(machine, tree, turns[:missed])
    path = tree.extend(path, unknown, unknown)
    path = path_of(machine, tree, turns[missed + 1 :], path)
    sampler = HyperPlaySampler(machine, tree, follows=True, exact=0, capacity=4)
    bags = sampler.at(path, ROLE, np.random.default_rng(0))
    assert bags.sets.counts[0] >= 4
    for actions in histories(bags.sets):
        assert len(actions) == num_turns
        state: States = machine.initial()
        for turn, action in enumerate(actions):
            node: Any = state
            row = np.zeros((1, len(machine.roles)), dtype=np.int64)
            row[0, node.nodes[0].player] = action + 1
            state, percepts = machine.step(state, row)
            if turn != missed:
                assert machine.move_text(int(row[0, ROLE])) == turns[turn][0]
                assert machine.percept_texts(int(percepts[0, ROLE])) == turns[turn][1]
