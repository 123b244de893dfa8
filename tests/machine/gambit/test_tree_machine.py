"""Games from files of Gambit's, played, against values worked out by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import ggp
from ggp.errors import IllegalMoveError, MachineError
from ggp.machine import Machine, build_machine
from ggp.machine.base import is_open
from ggp.machine.gambit.tree_machine import TreeMachine
from ggp.machine.games import read_program
from tests.machine.gambit.test_files import EFG, PATHS
from tests.support.games import machine_of_game


def tree(name: str) -> TreeMachine:
    machine = machine_of_game(str(PATHS[name]), "tree")
    assert isinstance(machine, TreeMachine)
    return machine


def machine_of_text(text: str) -> Machine:
    return build_machine(read_program(text))


def even_values(machine: Machine) -> list[float]:
    """The goals of the roles when all players move evenly at random, over the whole tree."""
    states, weights = machine.initial(), np.ones(1)
    values = np.zeros(len(machine.roles))
    while len(weights):
        over = machine.terminal(states)
        values += weights[over] @ machine.goals(states)[over]
        states, weights = states.take(np.flatnonzero(~over)), weights[~over]
        lanes, rows, parts = [], [], []
        legal = [machine.legal(states, role) for role in range(len(machine.roles))]
        chance = machine.chance(states)
        for lane, weight in enumerate(weights.tolist()):
            lists = [moves[lane].tolist() for moves in legal]
            for row in product(*lists):
                part = weight / np.prod([len(moves) for moves in lists])
                if machine.random_role is not None:
                    probabilities = slice(chance.offsets[lane], chance.offsets[lane + 1])
                    place = chance.moves[probabilities].tolist().index(row[machine.random_role])
                    part *= chance.probabilities[probabilities][place] * len(
                        lists[machine.random_role]
                    )
                lanes.append(lane)
                rows.append(row)
                parts.append(part)
        if not rows:
            break
        states = machine.step(states.take(np.array(lanes)), np.array(rows)).states
        weights = np.array(parts)
    return values.tolist()


HEADS, TAILS, WAITS = np.array([[1, 1 / 3, -2 / 3], [3 / 2, 15 / 2, -1], [-4 / 3, 22 / 3, 26 / 3]])
"""What even play is worth in `late_call.efg` after each way into its branches, by hand."""

BY_HAND = {
    "one_card.efg": [-1 / 4, 1 / 4, 0],
    "late_call.efg": [*(np.array([-1, 0, 1]) / 2 + HEADS / 8 + TAILS * 3 / 8 + WAITS / 2), 0],
    "dilemma.nfg": [-3 / 2, -3 / 2],
    "three.nfg": [0, 1 / 3, 1 / 2],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_even_play_is_worth_what_it_is_by_hand(name: str) -> None:
    assert even_values(tree(name)) == pytest.approx(BY_HAND[name])


@pytest.mark.parametrize("name", BY_HAND)
def test_playouts_are_worth_as_much(name: str) -> None:
    machine, matches = tree(name), 20_000
    playouts = machine.playout(machine.initial(matches), np.random.default_rng(1))
    assert playouts.finished.all()
    errors = playouts.goals.std(axis=0) / np.sqrt(matches)
    assert (np.abs(playouts.goals.mean(axis=0) - BY_HAND[name]) <= 4 * errors).all()


def test_playouts_count_the_turns_in_which_all_wait() -> None:
    machine = tree("late_call.efg")
    playouts = machine.playout(machine.initial(500), np.random.default_rng(1))
    assert set(playouts.steps.tolist()) == {3, 4}  # with tails, nobody waits for player 3
    cut = machine.playout(machine.initial(500), np.random.default_rng(1), max_steps=3)
    assert (cut.steps <= 3).all()
    assert cut.finished.sum() == (playouts.steps == 3).sum()


def test_waiting_roles_are_told_when_they_act_and_nothing_else() -> None:
    machine = tree("late_call.efg")
    noop = machine.move_id("noop")
    wait = np.array([[machine.move_id("wait"), noop, noop, noop]])
    states, percepts = machine.step(machine.initial(), wait)
    assert machine.fluents(states) == [("(node 15)", "(turns_until 2)")]
    for turns_left in (1, 0):
        assert [machine.percept_texts(percept) for percept in percepts[0].tolist()] == [()] * 4
        assert machine.legal(states, 2).values.tolist() == [noop]
        states, percepts = machine.step(states, np.full((1, 4), noop))
        assert machine.fluents(states) == [
            ("(node 15)", *([f"(turns_until {turns_left})"] * turns_left))
        ]
    seen = [machine.percept_texts(percept) for percept in percepts[0].tolist()]
    assert seen == [(), (), ("(information_set 1)",), ()]
    moves = machine.legal(states, 2).values.tolist()
    assert list(map(machine.move_text, moves)) == ["a!", "a", "move_3"]
    assert [machine.move_words(states, 2, move) for move in moves] == ["A!", "a?", ""]
    assert machine.state_words(states) == "wait"
    assert machine.knowledge_words(states, 2) == "blind"


def test_moves_of_chance_without_probability_are_none() -> None:
    text = EFG + 'c "" 1 "" { "a" 0 "b" 1/3 "c" 2/3 } 0 t "" 0 t "" 1 "" { 3 0 } t "" 2 "" { 0 3 }'
    machine = machine_of_text(text)
    chance = machine.chance(machine.initial())
    assert list(map(machine.move_text, chance.moves.tolist())) == ["b", "c"]
    assert chance.probabilities.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert even_values(machine)[:2] == pytest.approx([1, 2])
    playouts = machine.playout(machine.initial(300), np.random.default_rng(1))
    assert set(map(tuple, playouts.goals[:, :2].tolist())) == {(3, 0), (0, 3)}


def test_joint_moves_are_seen_where_every_information_set_is_one_node() -> None:
    assert is_open(tree("dilemma.nfg"))
    assert not is_open(tree("one_card.efg"))
    machine = tree("dilemma.nfg")
    tell, stay = machine.move_id("tell"), machine.move_id("Stay")
    states, percepts = machine.step(machine.initial(), np.array([[tell, stay]]))
    seen = machine.percept_texts(int(percepts[0, 0]))
    assert seen == ("(did column stay)", "(did row tell)")
    assert machine.percept_id(["(did row Tell)", "(did column stay)"]) == percepts[0, 1]
    assert machine.goals(states).tolist() == [[0, -3]]


def test_moves_that_are_not_legal_are_refused() -> None:
    machine = tree("one_card.efg")
    noop = machine.move_id("noop")
    with pytest.raises(IllegalMoveError, match="bet is not legal for ann; legal moves: noop"):
        machine.step(machine.initial(), np.array([[machine.move_id("bet"), noop, noop]]))


def test_states_that_were_written_are_read_again() -> None:
    machine = tree("late_call.efg")
    noop = machine.move_id("noop")
    wait = np.array([[machine.move_id("wait"), noop, noop, noop]])
    states = machine.concatenate([machine.initial(), machine.step(machine.initial(), wait).states])
    reread = tree("late_call.efg").from_written(machine.written(states))
    assert machine.fluents(reread) == machine.fluents(states)
    with pytest.raises(MachineError, match="is no state of this game"):
        machine.from_written([("100000",)])


def test_a_tree_with_too_much_waiting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.machine.gambit.tree_machine.MAX_POSITIONS", 18)
    game = read_program(PATHS["late_call.efg"].read_text(), "late_call.efg")
    with pytest.raises(MachineError, match=r"late_call.efg has more than 18 nodes, or turns"):
        build_machine(game)


def test_players_play_games_with_payoffs_of_any_size() -> None:
    text = PATHS["one_card.efg"].read_text().replace("2, -2", "2000, -2000")
    record = ggp.play_match(ggp.load(text), {"ann": "hyperplay2:n=2", "bob": "ismcts:trials=64"})
    assert record.goals["ann"] == -record.goals["bob"]  # type: ignore[operator]
    belief = ggp.load(text).belief("bob", [("noop", []), ("noop", ["(information_set 1)"])])
    assert belief.probability("(node 3)") == pytest.approx(0.5)


def test_payoffs_on_the_way_count() -> None:
    text = EFG + 'p "" 1 1 "" { "a" "b" } 1 "" { 1 2 } t "" 2 "" { 10 20 } t "" 0'
    machine = machine_of_text(text)
    moves = [[machine.move_id("a"), machine.move_id("noop")]]
    successors = machine.step(machine.initial(), np.array(moves)).states
    assert machine.goals(machine.initial()).tolist() == [[1, 2]]
    assert machine.goals(successors).tolist() == [[11, 22]]
    assert machine.goal_range == (1, 22)
