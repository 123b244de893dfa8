"""Random rulesheets: stable by seed, of constant sum, and as hidden as was asked for."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from ggp.gdl.random_rules import RandomRules
from tests.support.games import machine_of_rules
from tests.support.paths import legal_sets, matches, spread


def test_a_game_is_the_same_for_its_seed_in_every_version() -> None:
    digest = hashlib.sha256(RandomRules(seed=1).text().encode()).hexdigest()
    assert digest == "28e882c26a40a4dfbe0b599c79248457367161c258413b67573c6ec951dd593c"
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


def test_chance_moves_as_often_as_was_asked_for() -> None:
    assert "(role random)" not in RandomRules(0, chance=0).text()
    assert "(choice random 3 a)" in RandomRules(0, chance=1).text()
