"""The contract of every sampler, whether it is ours, of a lab, or of an installed package."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import SAMPLERS, Bags, PathTree, Sampler, SamplerSettings, make_sampler
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN
from tests.support.games import machine_of_game
from tests.support.plain.enumeration import Fluents, Path, posterior

PHANTOM: Path = [
    ("(drop 3)", ("(landed 1)",)),
    ("noop", ("your_move",)),
    ("(drop 3)", ("(landed 3)",)),
    ("noop", ("your_move",)),
]
"""O's first disc fell on ours."""

pytestmark = pytest.mark.usefixtures("stranger")
kinds = pytest.mark.parametrize("kind", [*SAMPLERS, "lone"])


def followed(
    kind: str,
    machine: Machine,
    role: int,
    path: Path,
    *,
    capacity: int = 64,
    views: bool = False,
    seed: int = 0,
    pool: int = 20_000,
) -> tuple[Sampler, Bags]:
    sampler = make_sampler(
        kind,
        machine,
        PathTree(machine),
        SamplerSettings(exact=0, pool=pool),
        capacity=capacity,
        keep_views=views,
    )
    bags = sampler.start(role)
    rng = np.random.default_rng(seed)
    for move, percepts in path:
        moves = np.array([machine.move_id(move or "")], dtype=np.int64)
        seen = UNKNOWN if percepts is None else machine.percept_id(percepts)
        bags = sampler.advance(bags, moves, np.array([seen], dtype=np.int64), rng)
    return sampler, bags


def weights_of(machine: Machine, bags: Bags) -> dict[Fluents, float]:
    states = machine.fluents(bags.states_of(0))
    return dict(zip(states, bags.weights_of(0).tolist(), strict=True))


@kinds
def test_sound_bags_hold_only_possible_states(kind: str) -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    _, bags = followed(kind, machine, 0, PHANTOM)
    if bags.sound:
        assert weights_of(machine, bags).keys() <= posterior(machine, 0, PHANTOM).keys()


@kinds
def test_an_impossible_path_has_no_particles(kind: str) -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    _, bags = followed(kind, machine, 0, [("noop", ("red",))])
    assert bags.depleted[0]


@kinds
def test_missing_percepts_constrain_nothing(kind: str) -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    states: set[Fluents] = set()
    for seed in range(9):  # with room for a single particle it takes several
        _, bags = followed(kind, machine, 0, [("noop", None), ("ask", None)], seed=seed)
        states |= weights_of(machine, bags).keys()
        if len(states) == 2:
            return
    pytest.fail(f"one of the two bombs is never believed in: {states}")


@kinds
def test_views_are_the_paths_of_other_roles(kind: str) -> None:
    machine = machine_of_game("spy_vs_spy", "propnet")
    sampler, bags = followed(kind, machine, 0, [("(arm red tell)", ())], views=True)
    views = bags.sets.views
    assert views is not None
    assert (views[:, 0] == bags.paths[0]).all()
    assert {tuple(sampler.tree.texts(int(node))) for node in views[:, 1]} == {
        ("noop / ((armed red))",)
    }


@kinds
def test_same_seed_gives_the_same_boards(kind: str) -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    weights = [
        weights_of(machine, followed(kind, machine, 0, PHANTOM, seed=5)[1]) for _ in range(2)
    ]
    assert list(weights[0].items()) == list(weights[1].items())
