"""A player with another history reuses the information sets of an earlier player."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief.move_models import UNIFORM
from ggp.players import BeliefPlayer, Context, make_player, parse_spec, player_of
from ggp.players.auto import Auto
from ggp.players.parts.search_player import SearchPlayer
from ggp.search.moves import random_moves
from tests.support.games import machine_of_game

Turn = tuple[str, tuple[str, ...]]


@pytest.mark.parametrize("spec", ["hyperplay:n=2", "ismcts:states=200", "auto:solve=0"])
def test_sets_that_an_earlier_player_knew_are_not_enumerated_again(spec: str) -> None:
    machine = machine_of_game("leduc_poker")
    turns = observed_turns(3)

    def player(earlier: BeliefPlayer | Auto | None = None) -> BeliefPlayer | Auto:
        rng = np.random.default_rng(0)
        belief = None if earlier is None else earlier.belief
        new_player = player_of(parse_spec(spec), Context(machine, 0, rng, belief=belief))
        assert isinstance(new_player, BeliefPlayer | Auto)
        return new_player

    first, independent = player(), player()
    for follower in (first, independent):
        for move, percepts in turns:
            follower.observe(move, percepts)
    successor = player(first)
    visited = machine.states_visited
    for move, percepts in turns[:2]:
        successor.observe(move, percepts)
    assert machine.states_visited == visited
    # Now a turn that differs from the earlier player's: the own move is missing.
    successor.observe(None, turns[2][1])
    latecomer = player()
    for move, percepts in turns[:2]:
        latecomer.observe(move, percepts)
    latecomer.observe(None, turns[2][1])
    assert successor.choose().particles == latecomer.choose().particles >= 1
    assert successor.choose().exact


def observed_turns(count: int) -> list[Turn]:
    """The first role's turns in a random match."""
    machine, rng = machine_of_game("leduc_poker"), np.random.default_rng(2)
    state, turns = machine.initial(1), list[Turn]()
    for _ in range(count):
        roles = range(len(machine.roles))
        joint = np.column_stack([random_moves(machine, state, role, rng) for role in roles])
        state, percepts = machine.step(state, joint)
        assert not machine.terminal(state)[0]
        texts = machine.percept_texts(int(percepts[0, 0]))
        turns.append((machine.move_text(int(joint[0, 0])), texts))
    return turns


@pytest.mark.parametrize(
    "spec", ["hyperplay2:n=2,model=threshold", "ismcts:states=200,model=threshold"]
)
def test_a_player_that_takes_over_a_belief_keeps_its_model(spec: str) -> None:
    machine, rng = machine_of_game("leduc_poker"), np.random.default_rng(0)
    first = make_player(parse_spec(spec), machine, 0, rng)
    assert isinstance(first, SearchPlayer)
    successor = player_of(parse_spec(spec), Context(machine, 0, rng, belief=first.belief))
    assert isinstance(successor, SearchPlayer)
    assert successor.model is first.model
    assert successor.model is not UNIFORM
