"""Pools of AOSP on five by five, against all boards that agree with what a player has seen.

A pool dies of its limit alone: until it is first cut, it is the whole set.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from ggp.belief import PathTree, SamplerSettings, make_sampler
from ggp.machine import Machine
from tests.support.games import machine_of_game
from tests.support.plain.enumeration import Fluents, Path

WHITE, NO_LIMIT = 0, 1_000_000


def seen_by_white(machine: Machine, seed: int, turns: int) -> Path:
    """White's moves and percepts in a random game."""
    rng, state = np.random.default_rng(seed), machine.initial(1)
    path: Path = []
    for _ in range(turns):
        row = [rng.choice(machine.legal(state, role)[0]) for role in range(len(machine.roles))]
        stepped = machine.step(state, np.array([row]))
        if machine.terminal(stepped.states)[0]:
            break
        percepts = machine.percept_texts(int(stepped.percepts[0, WHITE]))
        path.append((machine.move_text(int(row[WHITE])), percepts))
        state = stepped.states
    return path


def all_sets(machine: Machine, path: Path) -> Iterator[set[Fluents]]:
    """All boards that agree with a path, after each turn: every move of Black on every board."""
    states = machine.initial(1)
    for move, percepts in path:
        moves = machine.legal(states, 1)
        lanes = np.repeat(np.arange(len(states)), moves.counts)
        rows = np.column_stack([np.full(len(lanes), machine.move_id(move or "")), moves.values])
        stepped = machine.step(states.take(lanes), rows)
        agrees = stepped.percepts[:, WHITE] == machine.percept_id(percepts or ())
        agrees &= ~machine.terminal(stepped.states)
        texts = machine.fluents(stepped.states)
        first = {texts[lane]: lane for lane in np.flatnonzero(agrees).tolist()}
        states = stepped.states.take(np.array(list(first.values()), dtype=np.int64))
        yield set(first)


def pools(machine: Machine, path: Path, limit: int) -> Iterator[set[Fluents]]:
    """The pool after each turn."""
    settings = SamplerSettings(exact=0, pool=limit)
    sampler = make_sampler("aosp", machine, PathTree(machine), settings, capacity=NO_LIMIT)
    bags, rng = sampler.start(WHITE), np.random.default_rng(0)
    for move, percepts in path:
        moves, seen = machine.move_id(move or ""), machine.percept_id(percepts or ())
        bags = sampler.advance(bags, np.array([moves]), np.array([seen]), rng)
        yield set(machine.fluents(bags.states_of(0)))


@pytest.mark.parametrize("seed", range(6))
def test_a_pool_that_is_not_cut_is_the_whole_set(seed: int) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    path = seen_by_white(machine, seed, 14)
    expected = list(all_sets(machine, path))
    assert len(expected[-1]) > 1
    assert list(pools(machine, path, NO_LIMIT)) == expected


def test_a_pool_that_is_cut_loses_its_last_board_while_a_hundred_agree() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    sizes_at_death = []  # of the whole set
    for seed in range(7, 16):
        path = seen_by_white(machine, seed, 16)
        expected = list(all_sets(machine, path))
        for limit in (4, 8, 16):
            cut = list(pools(machine, path, limit))
            assert all(pool <= every for pool, every in zip(cut, expected, strict=True))
            assert all(after == set() for before, after in pairwise(cut) if before == set())
            if not cut[-1]:
                turn = cut.index(set())
                assert max(map(len, expected[:turn])) > limit  # only then it had been cut
                sizes_at_death.append(len(expected[turn]))
    assert len(sizes_at_death) > 3
    assert max(sizes_at_death) > 100
