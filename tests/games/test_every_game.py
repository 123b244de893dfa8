"""Properties that every game of ours must have, checked in thousands of random matches."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import find_game, parse
from ggp.gdl.games import LONG_GAMES
from ggp.gdl.normalize import load, normalize
from ggp.machine import Machine
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from tests.support.games import GAMES, machine_of_game
from tests.support.paths import legal_sets, matches, spread

LANES = 1024
LANES_OF_LONG_GAMES = 48
PLAYOUTS = 20_000

ALL_KNOWING = {
    "banker_and_thief": {"banker"},
    "banker_and_thief_sequential": {"banker"},
    "breakthrough": {"white", "black"},
    "connect_four": {"first", "second"},
    "cooperative_spies": {"spy1"},
    "non_locality": {"max"},
    "othello": {"black", "white"},
    "spy_vs_spy": {"spy1"},
    "tic_tac_toe": {"xplayer", "oplayer"},
}
"""Roles that always know the state; all others are sometimes in doubt."""

LONGEST = {
    "banker_and_thief": 3,
    "banker_and_thief_sequential": 12,
    "battleships_in_fog": 22,
    "connect_four": 48,
    "cooperative_spies": 3,
    "dark_chess": 1000,
    "dark_chess_4x4": 300,
    "dark_hex": 17,
    "dark_hex_5x5": 49,
    "exploding_bomb": 3,
    "krieg_tic_tac_toe": 17,
    "kriegspiel": 1000,
    "kriegspiel_5x5": 1000,
    "kuhn_poker": 4,
    "leduc_poker": 10,
    "mastermind": 6,
    "meier": 63,
    "monty_hall": 3,
    "non_locality": 3,
    "number_guessing": 20,
    "othello": 120,
    "phantom_connect_four": 35,
    "phantom_ttt": 29,
    "spy_vs_spy": 2,
    "strategy_fusion": 4,
    "tic_tac_toe": 9,
}
"""Joint moves of the longest match where that can be said, and in kriegspiel and dark chess more
than any is likely to have; the others are bounded too: every move that is refused is so once in a
turn, and the turns are counted or lead forward."""

MEANS: dict[str, dict[str, float]] = {
    "banker_and_thief": {"banker": 25, "thief": 25},
    "banker_and_thief_sequential": {"banker": 16, "thief": 4},
    "battleships_in_fog": {"admiral": 51, "commodore": 49},
    "blind_breakthrough": {"white": 52.5, "black": 47.5},
    "breakthrough": {"white": 51, "black": 49},
    "connect_four": {"first": 56, "second": 44},
    "cooperative_spies": {"spy1": 50, "spy2": 50},
    "dark_chess": {"white": 50, "black": 50},
    "dark_chess_4x4": {"white": 54.3, "black": 45.7},
    "dark_hex": {"red": 67, "blue": 33},
    "dark_hex_5x5": {"red": 57.6, "blue": 42.4},
    "kriegspiel": {"white": 50, "black": 50},
    "kriegspiel_5x5": {"white": 50, "black": 50},
    "kriegspiel_king_rook": {"white": 2.7, "black": 97.3},
    "leduc_poker": {"player1": 49.7, "player2": 50.3},
    "mastermind": {"breaker": 3.6},
    "meier": {"player1": 52, "player2": 48},
    "non_locality": {"max": 50, "min": 50},
    "number_guessing": {"agent": 2.9},
    "othello": {"black": 46.7, "white": 53.3},
    "phantom_connect_four": {"first": 55.5, "second": 44.5},
    "phantom_ttt": {"xplayer": 64.4, "oplayer": 35.6},
    "strategy_fusion": {"max": 75, "min": 25},
}
"""Scores of random play, to within 1.5."""

SHARED_OUT = {
    "battleships_in_fog",
    "blind_breakthrough",
    "breakthrough",
    "connect_four",
    "dark_chess",
    "dark_chess_4x4",
    "dark_hex",
    "dark_hex_5x5",
    "krieg_tic_tac_toe",
    "kriegspiel",
    "kriegspiel_5x5",
    "kriegspiel_king_rook",
    "kuhn_poker",
    "leduc_poker",
    "meier",
    "non_locality",
    "othello",
    "phantom_connect_four",
    "phantom_ttt",
    "strategy_fusion",
    "tic_tac_toe",
}
"""Games in which the scores of the players sum to 100."""

LOWEST = {"leduc_poker": 11}
"""The lowest score in those where it is not 0."""


def played_as_ground(rules: str) -> Machine:
    """A machine of rules that are played once: making its circuit smaller would take longer."""
    program = normalize(parse(rules))
    return PropnetMachine(build_circuit(ground(program)), is_gdl2=True)


def players(machine: Machine) -> list[int]:
    return [role for role in range(len(machine.roles)) if role != machine.random_role]


def doubts(machine: Machine, rounds: int, lanes: int = LANES) -> tuple[set[str], set[str]]:
    """The roles that cannot always tell the state, and the roles that cannot tell their moves."""
    of_state, of_moves = set(), set()
    for seed, steady in enumerate([None, *players(machine) * rounds]):
        for turn in matches(machine, lanes, seed, steady=steady):
            states = machine.groups(turn.states)
            for role in players(machine):
                paths = turn.paths[:, role]
                if spread(paths, states).max() > 1:
                    of_state.add(machine.roles[role])
                if spread(paths, legal_sets(turn.legal[role])).max() > 1:
                    of_moves.add(machine.roles[role])
    return of_state, of_moves


@pytest.mark.parametrize("game", GAMES)
def test_game_breaks_no_formal_rule(game: str) -> None:
    assert load(game, strict=True).diagnostics == ()


@pytest.mark.parametrize("game", GAMES)
def test_roles_know_their_legal_moves_but_not_all_that_is_hidden(game: str) -> None:
    machine = machine_of_game(game, "propnet")
    if game in LONG_GAMES:
        of_state, of_moves = doubts(machine, rounds=1, lanes=LANES_OF_LONG_GAMES)
    else:
        of_state, of_moves = doubts(machine, rounds=3)
    assert of_moves == set()
    assert of_state == set(machine.roles) - {"random"} - ALL_KNOWING.get(game, set())


@pytest.mark.parametrize(
    ("game", "percept"),
    [
        ("krieg_tic_tac_toe", "?r refused"),
        ("dark_hex", "?p refused"),
        ("dark_hex_5x5", "?p refused"),
        ("phantom_ttt", "?p refused"),
        ("blind_breakthrough", "?p refused"),
        ("blind_breakthrough", "?q (lost ?u ?v)"),
        ("phantom_connect_four", "?p (landed ?y)"),
        ("kriegspiel_king_rook", "?p refused"),
        ("kriegspiel_king_rook", "black (placed ?x ?y)"),
        ("battleships_in_fog", "?p (placed ?x ?y)"),
        ("meier", "?q (claimed ?v)"),
    ],
)
def test_roles_do_not_know_their_legal_moves_without_this_percept(game: str, percept: str) -> None:
    lines = find_game(game).read_text().splitlines()
    remaining_lines = [line for line in lines if not line.startswith(f"(<= (sees {percept})")]
    assert len(remaining_lines) == len(lines) - 1
    _, of_moves = doubts(played_as_ground("\n".join(remaining_lines)), rounds=1)
    assert of_moves


@pytest.mark.parametrize("game", GAMES)
def test_random_play_ends_with_different_scores(game: str) -> None:
    machine = machine_of_game(game, "propnet")
    playouts = machine.playout(machine.initial(PLAYOUTS), np.random.default_rng(0))
    assert playouts.finished.all()
    assert playouts.steps.max() <= LONGEST.get(game, 200)
    goals = playouts.goals[:, players(machine)]
    assert (goals.min(axis=0) < goals.max(axis=0)).all()
    assert ((goals >= 0) & (goals <= 100)).all()
    if game in SHARED_OUT:
        assert (goals.sum(axis=1) == 100).all()
        lowest = LOWEST.get(game, 0)
        assert (goals.min(axis=0) == lowest).all()
        assert (goals.max(axis=0) == 100 - lowest).all()
    for role, mean in MEANS.get(game, {}).items():
        column = playouts.goals[:, machine.roles.index(role)]
        assert column.mean() == pytest.approx(mean, abs=1.5)
