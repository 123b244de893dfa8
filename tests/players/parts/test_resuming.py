"""A player that begins with the snapshot of another goes on as if it had followed the match."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from ggp.machine.games import load_program
from ggp.players import BeliefPlayer, Context, parse_spec, player_of
from ggp.players.auto import Auto
from ggp.players.player import Believing, ObservedTurn
from ggp.search.moves import random_moves
from tests.support.games import machine_of_game

GAME = "krieg_tic_tac_toe"


def a_player(spec: str, backend: str = "propnet", game: str = GAME) -> BeliefPlayer | Auto:
    machine, program = machine_of_game(game, backend), load_program(game)
    rng = np.random.default_rng(0)
    player = player_of(parse_spec(spec), Context(machine, 0, rng, program=program))
    assert isinstance(player, BeliefPlayer | Auto)
    assert isinstance(player, Believing)
    return player


def turns_of(count: int, seed: int = 1) -> list[ObservedTurn]:
    """A random match as the first role observes it."""
    machine, rng = machine_of_game(GAME, "propnet"), np.random.default_rng(seed)
    state, turns = machine.initial(1), list[ObservedTurn]()
    for _ in range(count):
        roles = range(len(machine.roles))
        joint = np.column_stack([random_moves(machine, state, role, rng) for role in roles])
        state, percepts = machine.step(state, joint)
        assert not machine.terminal(state)[0]
        move = machine.move_text(int(joint[0, 0]))
        turns.append((move, machine.percept_texts(int(percepts[0, 0])), move, True))
    return turns


def observe(player: BeliefPlayer | Auto, turns: list[ObservedTurn]) -> None:
    for move, percepts, submitted, in_time in turns:
        player.observe(move, percepts, submitted=submitted, in_time=in_time)


def inner(player: BeliefPlayer | Auto) -> BeliefPlayer:
    return player.player if isinstance(player, Auto) else player


@pytest.mark.parametrize("backend", ["propnet", "prolog", "relational"])
@pytest.mark.parametrize("spec", ["hyperplay2:n=3", "random"])
def test_a_resumed_player_has_the_same_bag_now_and_a_turn_later(spec: str, backend: str) -> None:
    turns = turns_of(6)
    first, resumed = a_player(spec), a_player(spec, backend)
    observe(first, turns[:5])
    visited = resumed.states_visited
    assert resumed.resume(first.snapshot(), turns[:5]) == 5
    assert resumed.states_visited == visited  # nothing is followed again
    for new_turns in ([], turns[5:]):
        observe(first, new_turns)
        observe(resumed, new_turns)
        bags = [inner(player).tracker.bag for player in (first, resumed)]
        shares = []
        for player, bag in zip((first, resumed), bags, strict=True):
            by_state: dict[tuple[str, ...], float] = defaultdict(float)
            fluents = inner(player).machine.fluents(bag.states_of(0))
            for state, weight in zip(fluents, bag.weights_of(0), strict=True):
                by_state[state] += weight
            shares.append(by_state)
        assert shares[0] == pytest.approx(shares[1])
        assert bags[0].exact[0] == bags[1].exact[0]
        assert bags[0].sets.log_masses == pytest.approx(bags[1].sets.log_masses)
    decision = resumed.choose()
    assert decision.fault is None
    assert decision.particles == len(bags[0].sets.states) > 1
    assert inner(resumed).turn == 6


def test_turns_after_the_snapshot_are_left_to_be_observed() -> None:
    turns = turns_of(6)
    first, resumed = a_player("hyperplay2:n=3"), a_player("auto:solve=0")
    observe(first, turns[:4])
    assert resumed.resume(first.snapshot(), turns) == 4
    observe(resumed, turns[4:])
    assert resumed.choose().particles > 0


def test_a_snapshot_of_another_path_is_not_used() -> None:
    turns = turns_of(5)
    first = a_player("hyperplay2:n=3")
    observe(first, turns)
    snapshot = first.snapshot()
    histories: list[list[ObservedTurn]] = [
        turns[:4],
        turns_of(5, seed=2),
        [*turns[:4], ("noop", turns[4][1], "noop", True)],
        [(move, None, submitted, in_time) for move, _, submitted, in_time in turns],
    ]
    for history in histories:
        resumed = a_player("hyperplay2:n=3")
        assert resumed.resume(snapshot, history) == inner(resumed).turn == 0
        assert inner(resumed).tracker.bag.paths[0] == 0


def test_an_answer_that_was_not_sure_to_be_legal_is_recognised() -> None:
    """Where the server does not say which move was executed, histories assume our answer."""
    turns = turns_of(4)
    unsure = [*turns[:3], (None, *turns[3][1:])]
    first, resumed, other = (a_player("hyperplay2:n=3") for _ in range(3))
    observe(first, unsure)
    assert resumed.resume(first.snapshot(), turns) == 4
    assert not inner(resumed).tracker.was_told_all
    late = [*turns[:3], (*turns[3][:3], False)]
    assert other.resume(first.snapshot(), late) == 0


def test_a_player_that_needs_views_does_not_resume_without_them() -> None:
    turns = turns_of(5)
    plain, informed = a_player("random"), a_player("hyperplay2:n=3")
    observe(plain, turns)
    assert informed.resume(plain.snapshot(), turns) == 0
    observe(informed, turns)
    resumed = a_player("random")
    assert resumed.resume(informed.snapshot(), turns) == 5
    assert inner(resumed).tracker.bag.sets.views is None


def test_a_sampled_bag_is_thinned_to_the_size_of_the_player() -> None:
    turns = turns_of(5)
    rich, poor = a_player("hyperplay:n=6,exact=0"), a_player("hyperplay:n=2,exact=0,states=9")
    observe(rich, turns)
    bag = inner(rich).tracker.bag
    sampled = replace(bag.sets, exact=np.zeros(1, dtype=np.bool_))
    inner(rich).tracker.bag = replace(bag, sets=sampled)
    assert poor.resume(rich.snapshot(), turns) == 5
    assert len(inner(poor).tracker.bag.sets.states) == 4 < len(sampled.states)


def test_solutions_are_followed_from_the_first_turn() -> None:
    player = a_player("auto", game="monty_hall")
    turn: ObservedTurn = ("(choose 1)", [], "(choose 1)", True)
    observe(player, [turn])
    resumed = a_player("auto", game="monty_hall")
    assert player.snapshot()
    assert resumed.resume(player.snapshot(), [turn]) == 0
