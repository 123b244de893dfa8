"""The percepts of our players against OpenSpiel's information states, over whole games."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.machine.abilities import Wordy
from tests.support.games import REPOSITORY, machine_of_game

PAGE = REPOSITORY / "docs" / "reference" / "other-engines.md"

GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "goofspiel(num_cards=3)",
    "goofspiel(num_cards=3,imp_info=True)",
    "tiny_hanabi",
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2)",
)

COUNTED = {
    "leduc_poker": (936, 936),
    "liars_dice(dice_sides=3)": (192, 192),
    "liars_dice_ir(dice_sides=3)": (192, 186),
    "dark_hex(board_size=2)": (134, 134),
    "dark_hex(board_size=2,obstype=reveal-nothing)": (134, 134),
    "dark_hex_ir(board_size=2)": (134, 42),
}
"""Information sets here, and different strings there."""


def paths_and_states(machine: Machine) -> dict[int, set[tuple[int, str]]]:
    """For each player the pairs (path, information state) at which it moves, in the whole game."""
    assert isinstance(machine, Wordy)
    roles = range(len(machine.roles))
    numbers: dict[tuple[int, int, int], int] = {}
    pairs_of: dict[int, set[tuple[int, str]]] = defaultdict(set)
    states, paths = machine.initial(), [(-1,) * len(roles)]
    while len(states):
        legal = [machine.legal(states, role) for role in roles]
        noop = machine.move_id("noop")
        lanes, rows = [], []
        for lane, path in enumerate(paths):
            lane_state = states.take(np.array([lane]))
            for role in roles:
                if role != machine.random_role and legal[role][lane].tolist() not in ([], [noop]):
                    pairs_of[role].add((path[role], machine.knowledge_words(lane_state, role)))
            for row in product(*(legal[role][lane].tolist() for role in roles)):
                lanes.append(lane)
                rows.append(row)
        if not rows:
            break
        moves = np.array(rows, dtype=np.int64)
        states, percepts = machine.step(states.take(np.array(lanes)), moves)
        paths = [
            tuple(
                numbers.setdefault((paths[lane][role], row[role], seen[role]), len(numbers))
                for role in roles
            )
            for lane, row, seen in zip(lanes, rows, percepts.tolist(), strict=True)
        ]
    return pairs_of


@pytest.mark.parametrize("name", GAMES)
def test_paths_are_information_states_one_to_one(name: str) -> None:
    pairs_of = paths_and_states(machine_of_game(f"openspiel:{name}", "openspiel"))
    for pairs in pairs_of.values():
        assert len(pairs) == len({path for path, _ in pairs}) == len({text for _, text in pairs})
    assert sum(map(len, pairs_of.values())) > 1


@pytest.mark.parametrize("name", COUNTED)
def test_paths_tell_no_less_than_information_states(name: str) -> None:
    """Players that forget, or do not count turns, know less there; elsewhere both are the same."""
    pairs_of = paths_and_states(machine_of_game(f"openspiel:{name}", "openspiel"))
    pairs = {(player, *pair) for player, found in pairs_of.items() for pair in found}
    paths, texts = {pair[:2] for pair in pairs}, {(pair[0], pair[2]) for pair in pairs}
    assert len(pairs) == len(paths)
    assert (len(paths), len(texts)) == COUNTED[name]
    page = PAGE.read_text(encoding="utf-8")
    assert f"| `openspiel:{name}` | {len(paths)} | {len(texts)} |" in page
