"""Players that go on with drawn states when no particle is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.belief.samplers.last_observation import DrawnBoards
from ggp.machine import Machine
from ggp.machine.base import States
from ggp.players import BeliefPlayer, Context, Decision, make_player, parse_spec, player_of
from ggp.players.parts.search_player import board_maker_of
from ggp.search.anytime import Deadline
from ggp.search.moves import random_moves
from tests.support.effort import rarely
from tests.support.games import machine_of_game

GAME = "kriegspiel_5x5"


def pieces(machine: Machine, state: States, role: str) -> set[str]:
    (fluents,) = machine.fluents(state)
    return {f for f in fluents if f.startswith("(cell ") and f" {role} " in f}


def follow(
    machine: Machine,
    player: BeliefPlayer,
    turns: int,
    seed: int,
    deadline: Deadline | None = None,
) -> list[tuple[Decision, States]]:
    """The decisions of a player with one particle in a random match, and the true states."""
    rng = np.random.default_rng(seed)
    state = machine.initial(1)
    decisions = []
    for _ in range(turns):
        decisions.append((player.choose(deadline), state))
        joint = np.stack([random_moves(machine, state, role, rng) for role in range(2)], axis=1)
        stepped = machine.step(state, joint)
        if machine.terminal(stepped.states)[0]:
            break
        move = machine.move_text(int(joint[0, 0]))
        player.observe(move, machine.percept_texts(int(stepped.percepts[0, 0])))
        state = stepped.states
    return decisions


def losing_player(machine: Machine, options: str) -> BeliefPlayer:
    """A player with one particle whose belief neither searches nor solves for another."""
    rng, tree = np.random.default_rng(0), PathTree(machine)
    belief = HyperPlaySampler(machine, tree, capacity=1, exact=0, max_attempts=1, follows=True)
    spec = parse_spec(f"{options},boards=kriegspiel")
    player = player_of(spec, Context(machine, 0, rng, belief=belief))
    assert isinstance(player, BeliefPlayer)
    return player


@pytest.mark.parametrize(
    "spec",
    rarely(["hyperplay:playouts=1", "over:depth=1,histories=2"], {"over:depth=1,histories=2"}),
)
def test_players_go_on_with_boards_that_agree_with_what_was_seen_lately(spec: str) -> None:
    machine = machine_of_game(GAME, "propnet")
    player = losing_player(machine, spec)
    decisions = follow(machine, player, 50, seed=2)
    assert sum(decision.guessed > 0 for decision, _ in decisions) > 5
    first = next(at for at, (decision, _) in enumerate(decisions) if decision.guessed)
    for decision, _ in decisions[first:]:
        assert decision.guessed == decision.particles
        if decision.particles:
            assert "agree with what was seen lately" in (decision.fault or "")
    bag = player.tracker.spare_bag(None)
    assert bag is not None
    assert not bag.sound
    # It knows its own pieces, and the number of the opponent's.
    white = pieces(machine, decisions[-1][1], "white")
    black = pieces(machine, decisions[-1][1], "black")
    for lane in range(min(20, len(bag.sets.states))):
        board = bag.sets.states.take(np.array([lane]))
        assert pieces(machine, board, "white") == white
        assert len(pieces(machine, board, "black")) == len(black)


@pytest.mark.verify
def test_boards_are_drawn_before_an_urgent_move_is_due() -> None:
    machine = machine_of_game(GAME, "propnet")
    player = losing_player(machine, "hyperplay:playouts=1")
    decisions = follow(machine, player, 50, seed=2, deadline=Deadline(0.0, lambda: 1.0))
    faulty = [decision for decision, _ in decisions if decision.fault]
    assert len(faulty) > 5
    assert sum(decision.guessed > 0 for decision in faulty) > 0.9 * len(faulty)


def test_without_a_file_there_is_no_last_resort() -> None:
    machine = machine_of_game(GAME, "propnet")
    spec = parse_spec("hyperplay:n=2,exact=0")
    player = make_player(spec, machine, 0, np.random.default_rng(0))
    assert isinstance(player, BeliefPlayer)
    player.observe(None, None)  # now there are more states than particles
    bag = player.tracker.spare_bag(None)
    assert bag is not None
    assert bag.sound


@pytest.mark.verify
def test_drawn_boards_stop_when_asked_and_are_kept_for_the_path() -> None:
    machine = machine_of_game(GAME, "propnet")
    maker = board_maker_of("kriegspiel", machine)
    assert maker is not None
    belief, rng = HyperPlaySampler(machine, PathTree(machine), capacity=8), np.random.default_rng(2)
    patient, stopped = (DrawnBoards(machine, belief, 0, rng, maker) for _ in range(2))
    assert not patient.is_sound
    bags, state = belief.start(0), machine.initial(1)
    for _ in range(4):
        row = np.array([[random_moves(machine, state, role, rng)[0] for role in range(2)]])
        state, percepts = machine.step(state, row)
        for boards in (patient, stopped):
            boards.learn(int(bags.paths[0]), bags.sets.take(bags.segment))
        bags = belief.advance(bags, row[:, 0], percepts[:, 0], rng)
    lost = replace(bags, segment=np.arange(1), sets=belief.nothing(1))
    assert patient.helps(lost)[0]
    drawn_sets = patient.fill(lost, rng)
    assert len(drawn_sets.states)
    assert patient.fill(lost, rng) is drawn_sets
    num_moves = machine.legal(state, 0).counts[0]
    assert (machine.legal(drawn_sets.states, 0).counts == num_moves).all()
    belief.stop = lambda: True
    visited = machine.states_visited
    stopped.fill(lost, rng)
    assert machine.states_visited <= visited + 256
