"""Numbers of joint-move sequences per depth, of every game and of rulesheets by others."""

from __future__ import annotations

import pytest

from ggp.gdl import read_rulesheet
from tests.support.comparing.perft import perft, reference_perft
from tests.support.games import (
    BACKENDS,
    GAMES,
    machine_of_game,
    machine_of_shared,
    path_of_shared,
)
from tests.support.plain.reference import Reference

PATHS: dict[str, tuple[int, list[int]]] = {
    "banker_and_thief": (3, [2, 22, 44]),
    "banker_and_thief_sequential": (3, [5, 25, 125, 625, 3125, 15625, 78125]),
    "battleships_in_fog": (2, [16, 256, 5120, 97280]),
    "blind_breakthrough": (2, [13, 169, 2318]),
    "breakthrough": (2, [16, 256, 4308, 71478]),
    "connect_four": (2, [8, 64, 512, 4096, 32768]),
    "cooperative_spies": (3, [2, 4, 8]),
    "dark_chess": (1, [20, 400, 8902]),
    "dark_chess_4x4": (3, [8, 63, 680, 6303]),
    "dark_hex": (3, [9, 81, 648, 5112, 36288]),
    "dark_hex_5x5": (2, [25, 625, 15000]),
    "exploding_bomb": (3, [2, 4, 8]),
    "krieg_tic_tac_toe": (2, [9, 81, 648, 5112, 36288]),
    "kriegspiel": (1, [34]),
    "kriegspiel_5x5": (1, [15, 217]),
    "kriegspiel_king_rook": (2, [14, 140, 868, 8383]),
    "kuhn_poker": (4, [6, 12, 24, 12]),
    "leduc_poker": (4, [30, 60, 150, 390, 780, 1800, 2640, 2280, 1080, 240]),
    "mastermind": (1, [81, 6561]),
    "meier": (2, [36, 756, 1476, 25920]),
    "monty_hall": (3, [9, 12, 24]),
    "non_locality": (3, [2, 4, 4]),
    "number_guessing": (3, [16, 256, 4096, 61440, 921600]),
    "othello": (1, [4, 12, 56, 244, 1396, 8200]),
    "phantom_connect_four": (3, [6, 36, 216, 1296, 7776, 46656]),
    "phantom_ttt": (3, [9, 81, 144, 1152, 2016, 15120, 32256]),
    "spy_vs_spy": (2, [4, 8]),
    "strategy_fusion": (4, [2, 4, 4, 8]),
    "tic_tac_toe": (3, [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]),
}
"""Depth to which the reference counts as well; sequences of 1, 2, ... joint moves."""

MANY = 20_000
"""So many sequences of the last joint move are counted on the fast backend only."""

SHARED_PATHS: dict[str, tuple[int, list[int]]] = {
    "gdl1/blocksWorldSerial.kif": (4, [2, 7, 14, 28, 98, 196]),
    "gdl1/buttons.kif": (6, [3, 9, 27, 81, 243, 729]),
    "gdl1/coloredtrails.kif": (1, [18, 340]),
    "gdl1/connectFour.kif": (2, [8, 64, 512, 4096]),
    "gdl1/eightPuzzle.kif": (4, [2, 6, 16, 48, 128, 384]),
    "gdl1/hanoi_6_disks.kif": (6, [3, 8, 22, 62, 176, 506]),
    "gdl1/haystack.kif": (4, [3, 2, 4, 4]),
    "gdl1/maze.kif": (8, [1, 1, 2, 3, 5, 8, 12, 20]),
    "gdl1/minichess.kif": (1, [7, 15]),
    "gdl1/nim4.kif": (1, [64, 3520]),
    "gdl1/ticTacToe.kif": (3, [9, 72, 504, 3024, 15120]),
    "gdl2/guessSix.gdl": (6, [36, 1080, 32400, 972000, 29160000, 874800000]),
    "gdl2/kriegTTT_4x4.gdl": (1, [256]),
    "gdl2/montyhall.gdl": (3, [9, 12, 24]),
    "gdl2/transit.gdl": (4, [4, 16, 64, 240, 990]),
}


def test_every_game_is_counted() -> None:
    assert sorted(PATHS) == sorted(GAMES)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PATHS)
def test_game_has_as_many_paths_as_ever(name: str, backend: str) -> None:
    counts = PATHS[name][1]
    if backend == "prolog" and counts[-1] > MANY:
        counts = counts[:-1]
    assert perft(machine_of_game(name, backend), len(counts)) == counts


@pytest.mark.parametrize("name", PATHS)
def test_reference_counts_the_same_paths(name: str) -> None:
    depth, counts = PATHS[name]
    assert reference_perft(Reference(read_rulesheet(name).rules), depth) == counts[:depth]


@pytest.mark.parametrize("name", SHARED_PATHS)
def test_rulesheet_by_others_has_as_many_paths_as_the_reference_counts(name: str) -> None:
    depth, counts = SHARED_PATHS[name]
    for backend in BACKENDS:
        assert perft(machine_of_shared(name, backend), len(counts)) == counts
    reference = Reference(read_rulesheet(path_of_shared(name)).rules)
    assert reference_perft(reference, depth) == counts[:depth]


@pytest.mark.parametrize(
    "name",
    ["exploding_bomb", "kuhn_poker", "monty_hall", "non_locality", "spy_vs_spy", "strategy_fusion"],
)
def test_small_game_ends_where_its_table_ends(name: str) -> None:
    counts = PATHS[name][1]
    assert perft(machine_of_game(name), len(counts) + 3) == counts
