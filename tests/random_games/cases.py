"""Roles of random games, with their paths, for the tests of this folder."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, IntArray
from tests.random_games.generator import PlainGame, random_game
from tests.random_games.reference import Path, Turn, posterior, random_path
from tests.support.games import machine_of_rules

FEW, MANY = 16, 400
"""Games in the test command, and in `make verify`."""


some_games = pytest.mark.parametrize(
    "seeds",
    [range(FEW), pytest.param(range(FEW, MANY), marks=pytest.mark.verify)],
    ids=["few", "many"],
)
"""Some of them in the test command, the others in `make verify`."""


class Case(NamedTuple):
    """A role of a game, and its path."""

    game: PlainGame
    machine: Machine
    role: int
    path: Path


def case(seed: int, backend: str = "propnet") -> Case:
    rng = random.Random(f"case {seed}")
    game = random_game(seed)
    machine = machine_of_rules(game.rules, backend)
    role = rng.randrange(2)
    return Case(game, machine, role, random_path(game, role, rng.randint(1, 3), rng))


def numbered(at: Case, path: Path) -> IntArray:
    """`[T, 3]` the turns in the machine's ids."""

    def of(turn: Turn) -> list[int]:
        move, percepts, refused = UNKNOWN, UNKNOWN, UNKNOWN
        if turn.move is not None:
            move = at.machine.move_id(turn.move) or 0
        if turn.percepts is not None:
            percepts = at.machine.percept_id(turn.percepts) or 0
        if turn.refused is not None:
            refused = at.machine.move_id(turn.refused) or 0
        return [move, percepts, refused]

    return np.array([of(turn) for turn in path], dtype=np.int64).reshape(len(path), 3)


def node_of(at: Case, tree: PathTree, path: Path) -> IntArray:
    node = np.array([at.machine.roles.index(at.game.roles[at.role])])
    for turn in numbered(at, path):
        node = tree.extend(node, *(np.array([x]) for x in turn))
    return node


def role_of(at: Case) -> int:
    return at.machine.roles.index(at.game.roles[at.role])


def exact_bag(at: Case, tree: PathTree, *, keep_views: bool = False) -> Bags:
    """The whole information set of the role's path."""
    sampler = HyperPlaySampler(at.machine, tree, capacity=1, exact=10_000, keep_views=keep_views)
    return sampler.at(node_of(at, tree, at.path), role_of(at), np.random.default_rng(0))


def changed(path: Path, rng: random.Random, at: Case) -> Path:
    """The path with a turn not known, a move refused before it, or other percepts."""
    turns = list(path)
    place = rng.randrange(len(turns))
    kind = rng.choice(("untold", "move", "percepts", "refused", "wrong"))
    move, percepts, _ = turns[place]
    if kind == "untold":
        turns[place] = Turn(None, None)
    elif kind == "move":
        turns[place] = Turn(None, percepts)
    elif kind == "percepts":
        turns[place] = Turn(move, None)
    elif kind == "refused":
        moves = {m for legal in at.game.legal.values() for m in legal[at.role]} - {move}
        if moves:
            turns[place] = Turn(move, percepts, rng.choice(sorted(moves)))
    else:
        seen = sorted({p[at.role] for _, p in at.game.after.values()})
        turns[place] = Turn(move, rng.choice(seen))
    return tuple(turns)


def odd_case(seed: int) -> Case:
    """A case; in every other one a turn may be unknown in part, or a move was refused."""
    at = case(seed)
    if seed % 2 and at.path:
        path = changed(at.path, random.Random(f"odd {seed}"), at)
        if posterior(at.game, at.role, path):
            return at._replace(path=path)
    return at
