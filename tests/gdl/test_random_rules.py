"""Random rulesheets: stable by seed, of constant sum, and as hidden as was asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ggp.gdl.random_rules import RandomRules, larger, small
from ggp.players.choosing import SOLVED_STATES, look_into
from ggp.solve import build_tree
from tests.support.commands import json_of
from tests.support.effort import rarely
from tests.support.games import machine_of_rules
from tests.support.paths import legal_sets, matches, spread

GAMES = 20


def test_a_game_is_the_same_for_its_seed_in_every_version() -> None:
    digest = hashlib.sha256(RandomRules(seed=1).text().encode()).hexdigest()
    assert digest == "fd3cb283ab4f52d821d49b0486ac01389fe929df421560f1384b78097ac99795"
    assert RandomRules(seed=1).text() != RandomRules(seed=2).text()


@pytest.mark.parametrize("roles", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_shared_out_and_roles_know_their_moves(seed: int, roles: int) -> None:
    machine = machine_of_rules(RandomRules(seed, roles=roles).text(), "propnet")
    played = machine.playout(machine.initial(200), np.random.default_rng(0))
    assert played.finished.all()
    assert (played.steps == 4).all()
    assert (played.goals[:, :roles].sum(axis=1) == 100).all()
    for turn in matches(machine, 200, seed):
        for role in range(roles):
            assert spread(turn.paths[:, role], legal_sets(turn.legal[role])).max() == 1


@pytest.mark.parametrize(("hidden", "most"), [(0.0, 1), (1.0, 4)])
def test_a_role_knows_the_node_unless_it_is_hidden(hidden: float, most: int) -> None:
    machine = machine_of_rules(RandomRules(3, hidden=hidden, turns=5).text(), "propnet")
    turns = list(matches(machine, 500, 0))
    spreads = [spread(t.paths[:, 0], machine.groups(t.states)).max() for t in turns]
    assert max(spreads) == most


@pytest.mark.parametrize("games", rarely((3, GAMES), (GAMES,)))
@pytest.mark.parametrize("make", [small, larger])
def test_games_of_each_size_are_in_order(
    make: Callable[[int], RandomRules], games: int, tmp_path: Path
) -> None:
    files = [str(tmp_path / f"game{seed}.gdl") for seed in range(games)]
    for seed, file in enumerate(files):
        Path(file).write_text(make(seed).text(), encoding="utf-8")
    for report in json_of("validate", *files, "--strict", "--play", "40"):
        assert (report["ok"], report["diagnostics"]) == (True, [])
        play = report["play"]
        assert (play["ended"], play["troubles"]) == (play["matches"], [])
        assert sum(role["mean"] for role in play["roles"].values()) == pytest.approx(100)


@pytest.mark.parametrize("seed", rarely(range(GAMES), range(2, GAMES)))
def test_games_of_both_sizes_are_solved_by_auto(seed: int) -> None:
    for make, is_small in ((small, True), (larger, False)):
        machine = machine_of_rules(make(seed).text(), "propnet")
        assert look_into(machine, SOLVED_STATES).part_of is not None
        tree = build_tree(machine)
        assert tree.is_constant_sum
        assert (tree.num_states < 1_000) == is_small
        assert (sum(map(len, tree.sets)) < 200) == is_small


def test_chance_moves_as_often_as_was_asked_for() -> None:
    assert "(role random)" not in RandomRules(0, chance=0).text()
    assert "(choice random 3 a)" in RandomRules(0, chance=1).text()
