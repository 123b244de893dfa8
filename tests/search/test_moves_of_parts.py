"""Drawing moves of `random` that are not listed, and players in a game that deals offers."""

from __future__ import annotations

import numpy as np
import pytest

import ggp
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Machine, build_machine
from ggp.machine.abilities import InParts, Prover
from ggp.search.moves import MoveLists, is_legal, random_moves, some_chance
from tests.support.games import REPOSITORY, machine_of_rules
from tests.support.sheets.part_sheets import DEAL, machine_listing

DECK_BUILDING = REPOSITORY / "benchmarks" / "sheets" / "deck_building.gdl"


def test_moves_are_their_own_positions() -> None:
    machine = machine_listing(DEAL, 10)
    states, chance = machine.initial(50), int(machine.random_role or 0)
    lists = MoveLists(machine, states, chance)
    assert set(lists.counts.tolist()) == {56}
    lanes = np.arange(50)
    drawn = lists.draw(lanes, np.random.default_rng(0))
    moves = lists.at(lanes, drawn)
    assert (lists.find(lanes, moves) == drawn).all()
    assert is_legal(machine, states, chance, moves).all()
    assert lists.find(lanes[:1], np.array([machine.move_id("wait")])).tolist() == [-1]
    assert len(np.unique(random_moves(machine, states, chance, np.random.default_rng(1)))) > 10


def test_many_moves_are_sampled_and_few_are_listed() -> None:
    machine = machine_listing(DEAL, 10)
    few, many = (some_chance(machine, machine.initial(2), most, 0) for most in (56, 8))
    assert np.diff(few.offsets).tolist() == [56, 56]
    assert len(np.unique(few.moves[:56])) == 56
    assert np.diff(many.offsets).tolist() == [8, 8]
    assert many.probabilities.tolist() == [1 / 8] * 16


def test_of_long_lists_some_moves_are_drawn_and_short_ones_stay() -> None:
    # 3 moves at first, and 600 after the first of them.
    machine = machine_of_rules(
        "(role random) (role seer) (init start) "
        + "".join(f"(number {i}) " for i in range(600))
        + """
        (legal seer wait) (<= (legal random (pick ?n)) (number ?n) (true long))
        (<= (legal random a) (not (true long))) (<= (legal random b) (not (true long)))
        (<= (legal random c) (not (true long)))
        (<= (next long) (does random a)) (<= (next start) (does random b))
        (<= terminal (true never)) (<= (next never) (true never)) (goal seer 0) (goal random 0)
        """,
        "propnet",
    )
    start = machine.initial(1)
    wait, first = machine.move_id("wait"), machine.move_id("a")
    joint = np.array([[first, wait]]) if machine.random_role == 0 else np.array([[wait, first]])
    states = machine.concatenate([start, machine.step(start, joint).states, start])
    found = some_chance(machine, states, 8, 0)
    assert np.diff(found.offsets).tolist() == [3, 8, 3]
    assert found.probabilities.tolist() == pytest.approx([1 / 3] * 3 + [1 / 8] * 8 + [1 / 3] * 3)
    assert len(np.unique(found.moves[3:11])) == 8
    drawn = [some_chance(machine, states, 8, seed).moves[3:11] for seed in range(600)]
    counts = np.bincount(np.unique(np.concatenate(drawn), return_inverse=True)[1])
    assert len(counts) == 600
    assert counts.mean() == 8


@pytest.fixture(scope="module")
def deck_building() -> Machine:
    return build_machine(normalize(parse(DECK_BUILDING.read_text())), "propnet")


@pytest.mark.verify
def test_offers_of_a_deck_building_game_agree_with_prolog(deck_building: Machine) -> None:
    machine = deck_building
    assert isinstance(machine, InParts)
    reference = build_machine(normalize(parse(DECK_BUILDING.read_text())), "prolog")
    prover = reference
    assert isinstance(prover, Prover)
    chance, rng = int(machine.random_role or 0), np.random.default_rng(4)
    state, other = machine.initial(), reference.initial()
    assert machine.count_chance(state).tolist() == [90 * 89 * 88]
    while not machine.terminal(state)[0]:
        row = [random_moves(machine, state, role, rng)[0] for role in range(3)]
        theirs = [reference.move_id(machine.move_text(int(move))) for move in row]
        assert prover.is_legal(other, chance, theirs[chance] or 0)
        stepped = machine.step(state, np.array([row]))
        wanted = reference.step(other, np.array([theirs]))
        state, other = stepped.states, wanted.states
        assert machine.fluents(state) == reference.fluents(other)
        for seen, told in zip(stepped.percepts[0], wanted.percepts[0], strict=True):
            assert machine.percept_texts(int(seen)) == reference.percept_texts(int(told))
    assert (machine.goals(state) == reference.goals(other)).all()


@pytest.mark.verify
def test_players_believe_what_they_were_offered() -> None:
    game = ggp.load(str(DECK_BUILDING))
    record = ggp.play_match(game, {"left": "hyperplay:n=2", "right": "random"}, seed=3)
    assert not [fault for turn in record.turns for fault in turn.faults]
    assert set(record.goals.values()) <= {0, 50, 100}
