"""The players' option `states`."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.players import Decision, make_player, parse_spec
from ggp.run.clocks import cpu_seconds
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_game


def decide(game: str, spec: str, turn: int = 0, seed: int = 0) -> Decision:
    """A player's decision at the start, as if it were a later turn of which it knows nothing."""
    machine = machine_of_game(game)
    player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(seed))
    for _ in range(turn):
        player.observe(None, None)
    return player.choose(value_forced=True)


@pytest.mark.parametrize(
    ("game", "spec", "budget"),
    [
        ("krieg_tic_tac_toe", "hyperplay:n=3", 5_000),
        ("krieg_tic_tac_toe", "hyperplay:n=3", 50_000),
        ("kuhn_poker", "hyperplay2:n=2", 3_000),
        ("exploding_bomb", "hyperplay2:n=2", 3_000),
    ],
)
def test_a_budget_is_used_and_not_passed(game: str, spec: str, budget: int) -> None:
    decision = decide(game, f"{spec},states={budget}")
    # No trial costs exactly what the one before did.
    assert 0.9 * budget <= decision.states_visited <= 1.01 * budget
    assert len({value.visits for value in decision.values}) == 1


def test_a_budget_too_small_still_tries_every_candidate() -> None:
    decision = decide("krieg_tic_tac_toe", "hyperplay:states=1")
    assert {value.visits for value in decision.values} == {1}


def test_the_same_seed_gives_the_same_numbers() -> None:
    spec = "hyperplay2:n=2,states=4000"
    once, repeated, reseeded = (decide("kuhn_poker", spec, seed=seed) for seed in (3, 3, 4))
    assert (once.values, once.states_visited) == (repeated.values, repeated.states_visited)
    assert once.values != reseeded.values


def test_every_turn_has_its_budget_and_the_last_one_stays() -> None:
    spec = "hyperplay:exact=0,states=4000/2000/1000"
    visited = [decide("krieg_tic_tac_toe", spec, turn).states_visited for turn in (0, 1, 2, 3)]
    for num_visited, budget in zip(visited, (4000, 2000, 1000, 1000), strict=True):
        assert 0.8 * budget <= num_visited <= budget


@pytest.mark.verify
def test_trials_that_cost_nothing_come_to_an_end() -> None:
    # The last move of the bomb ends the game: equal moves of equal states are made once.
    machine = machine_of_game("exploding_bomb")
    player = make_player(
        parse_spec("hyperplay:states=100000"), machine, 0, np.random.default_rng(0)
    )
    player.observe("noop", [])
    player.observe("wait", [])
    decision = player.choose()
    assert sum(value.visits for value in decision.values) <= 100_000


@pytest.mark.parametrize("name", ["hyperplay", "hyperplay2"])
def test_a_clock_ends_a_search_before_its_budget_does(name: str) -> None:
    machine = machine_of_game("krieg_tic_tac_toe")
    spec = parse_spec(f"{name}:n=2,states=1000000000")
    player = make_player(spec, machine, 0, np.random.default_rng(0))
    # Of CPU time, so that a busy machine does not leave it too little.
    decision = player.choose(Deadline(cpu_seconds() + 0.3, cpu_seconds))
    assert decision.fault is None
    assert 100 < decision.states_visited < 1_000_000_000


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hyperplay:states=0", "option 'states' of player hyperplay must be from 1 to"),
        ("hyperplay:states=5//6", "option 'states' of player hyperplay needs a whole number"),
        ("hyperplay:states", "option 'states' of player hyperplay needs a whole number"),
        ("hyperplay:states=5,states=6", "option 'states' of player hyperplay is given twice"),
        ("hyperplay:states=5,playouts=6", "player hyperplay: give either playouts or states"),
        ("legal:states=5", "unknown option 'states' of player legal; options: risk"),
    ],
)
def test_bad_budgets_are_refused(spec: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spec(spec)
    assert message in str(caught.value)
