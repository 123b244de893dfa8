"""Exact values of policies that are tables over what environments show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.labs.learning.env import Environment, Episodes
from ggp.labs.learning.env.exact import ExactGame
from ggp.machine.games import load_program
from tests.support.games import machine_of_game


def environment(game: str, lanes: int = 1, **options: Any) -> Environment:
    machine = machine_of_game(game, "propnet")
    return Environment(load_program(game), machine, lanes, Episodes(**options))


def test_uniform_play_in_kuhn_poker_is_worth_what_is_known() -> None:
    game = ExactGame(environment("kuhn_poker"))
    worths = game.worth(*(np.ones(sets.masks.shape) for sets in game.sets))
    # In chips: 1/8 to player 1, and 11/12 to gain for both together; 25 goals are a chip.
    np.testing.assert_allclose(worths.values, [50 + 25 / 8, 50 - 25 / 8])
    assert worths.nash_conv == pytest.approx(25 * 11 / 12)
    assert game.worth(*(np.zeros(s.masks.shape) for s in game.sets)).nash_conv == worths.nash_conv


def test_an_equilibrium_of_kuhn_poker_has_nothing_to_gain() -> None:
    """Kuhn's solution where player 1 never bets at first."""
    env = environment("kuhn_poker")
    game = ExactGame(env)
    names = env.names
    yes: dict[
        tuple[str, str], dict[str, float]
    ] = {  # how often a card bets, or calls a bet, by role
        ("player1", "bet"): {"jack": 0, "queen": 0, "king": 0},
        ("player1", "call"): {"jack": 0, "queen": 1 / 3, "king": 1},
        ("player2", "bet"): {"jack": 1 / 3, "queen": 0, "king": 1},
        ("player2", "call"): {"jack": 0, "queen": 1 / 3, "king": 1},
    }
    policies = []
    for role, sets in zip(env.roles, game.sets, strict=True):
        table = np.zeros(sets.masks.shape)
        for row, path in enumerate(sets.paths):
            card = names.token_text(int(path[0, 1])).removeprefix("(dealt ").removesuffix(")")
            opens = sets.masks[row, names.move("bet")]
            move, alternative = ("bet", "check") if opens else ("call", "fold")
            table[row, names.move(move)] = yes[role, move][card]
            table[row, names.move(alternative)] = 1 - yes[role, move][card]
        policies.append(table)
    worths = game.worth(*policies)
    assert worths.nash_conv == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(worths.values, [875 / 18, 925 / 18])


@pytest.mark.parametrize("name", ["kuhn_poker", "spy_vs_spy", "strategy_fusion"])
def test_sets_are_those_that_come_up_in_play(name: str) -> None:
    env = environment(name, 2000, restarts=False)
    game = ExactGame(env)
    known_sets = [
        {
            path.tobytes(): mask.tobytes()
            for path, mask in zip(role_sets.paths, role_sets.masks, strict=True)
        }
        for role_sets in game.sets
    ]
    paths_met: list[set[bytes]] = [set() for _ in known_sets]
    turn = env.reset(3)
    while not turn.ended.all():
        for role in range(len(env.roles)):
            for lane in np.flatnonzero(turn.masks[:, role].sum(axis=1) > 1).tolist():
                path = turn.paths[lane, role].tobytes()
                assert known_sets[role][path] == turn.masks[lane, role].tobytes()
                paths_met[role].add(path)
        turn = env.step(env.sample_legal())
    assert [len(role_sets) for role_sets in paths_met] == [
        len(role_sets) for role_sets in known_sets
    ]


def test_all_players_are_needed() -> None:
    with pytest.raises(ConfigError, match="all players"):
        ExactGame(environment("kuhn_poker", roles=["player1"]))
    with pytest.raises(ConfigError, match="with paths"):
        ExactGame(environment("kuhn_poker", paths=False))
