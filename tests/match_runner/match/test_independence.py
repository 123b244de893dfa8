"""A decision depends on nothing but the player's own incomplete path.

Two complete paths that look alike to a role but end in different states are found by random
walks; the player is then seated in a match along either. What the referee knows of the
others' moves and percepts is made known to the machines in between, in different orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import cycle
from typing import NamedTuple

import numpy as np
import pytest

from ggp.gdl.normalize import load
from ggp.machine import Machine, build_machine
from ggp.players import Decision, make_player, parse_spec
from ggp.search.moves import random_moves
from tests.support.games import MODEST_GAMES, backend_for_search, machine_of_game
from tests.support.plain.enumeration import complete_paths

NOTHING_HIDDEN = {"breakthrough", "connect_four", "othello", "tic_tac_toe"}
NUM_WALKS = 100
NUM_SEARCHES = 2

SPECS = ("hyperplay2:n=2", "hyperplay2:n=2,exact=0", "hyperplay:n=2", "hyperplay:n=2,exact=0")
"""Each game is played by one of them: with whole information sets, or with samples."""

TOO_LONG = {
    (game, "hyperplay2:n=2,exact=0") for game in ("kriegspiel_king_rook", "phantom_connect_four")
}
"""Sampled bags of simulated roles are searched for again and again in long matches."""


class Walk(NamedTuple):
    """A complete path from the start, in KIF.

    Attributes:
        joint_moves: of each turn, in role order.
        percepts: of each turn, in role order.
        state: fluents at the end.
    """

    joint_moves: tuple[tuple[str, ...], ...]
    percepts: tuple[tuple[tuple[str, ...], ...], ...]
    state: tuple[str, ...]

    def path_of(self, role: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The role's incomplete path."""
        turns = zip(self.joint_moves, self.percepts, strict=True)
        return tuple((moves[role], seen[role]) for moves, seen in turns)


class Pair(NamedTuple):
    role: int
    left: Walk
    right: Walk


@cache
def pair_of(game: str) -> Pair | None:
    """Walks that one role with a choice cannot tell apart: the longest found."""
    machine = machine_of_game(game, backend_for_search(game))
    rng = np.random.default_rng(0)
    seen: dict[tuple[int, object], Walk] = {}
    pairs = []
    walks = [_walk(machine, rng) for _ in range(NUM_WALKS)]
    for search_walks in walks:
        for walk, choices in search_walks:
            for role, num_choices in enumerate(choices):
                if role == machine.random_role or num_choices < 2:
                    continue
                twin = seen.setdefault((role, walk.path_of(role)), walk)
                if twin.state != walk.state:
                    pairs.append(Pair(role, twin, walk))
    if not pairs:
        pairs = [
            pair
            for search_walks in walks[:NUM_SEARCHES]
            for pair in _other_walks(machine, *search_walks[-1])
        ]
    return max(pairs, key=lambda pair: len(pair.left.joint_moves), default=None)


def _other_walks(machine: Machine, walk: Walk, choices: list[int]) -> Iterator[Pair]:
    """For each role with a choice a walk it cannot tell from this one, by search."""
    for role, num_choices in enumerate(choices):
        if role == machine.random_role or num_choices < 2:
            continue
        for state, _, turns in complete_paths(machine, role, list(walk.path_of(role))):
            moves = [tuple(map(machine.move_text, row)) for row, _ in turns]
            percepts = [tuple(map(machine.percept_texts, percept_ids)) for _, percept_ids in turns]
            twin = Walk(tuple(moves), tuple(percepts), machine.fluents(state)[0])
            if twin.state != walk.state:
                yield Pair(role, walk, twin)
                break


def _walk(machine: Machine, rng: np.random.Generator) -> list[tuple[Walk, list[int]]]:
    """Every state of a random match but the last, with each role's number of moves."""
    state = machine.initial(1)
    moves: list[tuple[str, ...]] = []
    percepts: list[tuple[tuple[str, ...], ...]] = []
    walks_found = []
    while not machine.terminal(state)[0]:
        roles = range(len(machine.roles))
        choices = [len(machine.legal(state, role).values) for role in roles]
        walks_found.append(
            (Walk(tuple(moves), tuple(percepts), machine.fluents(state)[0]), choices)
        )
        row = [int(random_moves(machine, state, role, rng)[0]) for role in roles]
        stepped = machine.step(state, np.array([row]))
        moves.append(tuple(map(machine.move_text, row)))
        percepts.append(tuple(machine.percept_texts(int(p)) for p in stepped.percepts[0]))
        state = stepped.states
    return walks_found


def referee(machine: Machine, walk: Walk) -> None:
    """Play a walk on a machine, so that it knows states, moves and percepts of all roles."""
    state = machine.initial(1)
    for moves in walk.joint_moves:
        row = [machine.move_id(move) for move in moves]
        stepped = machine.step(state, np.array([row], dtype=np.int64))
        for role in range(len(machine.roles)):
            machine.legal(stepped.states, role, allow_stuck=True)
            machine.percept_texts(int(stepped.percepts[0, role]))
        state = stepped.states


def decide(machine: Machine, role: int, spec: str, walk: Walk) -> Decision:
    """The decision of a new player who was in a match that went like this."""
    player = make_player(parse_spec(spec), machine, role, np.random.default_rng(5))
    for move, percepts in walk.path_of(role):
        player.observe(move, percepts, submitted=move)
    return replace(player.choose(), seconds=0.0)


def fresh(game: str) -> Machine:
    return build_machine(load(game), backend_for_search(game))


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_games_hide_something(game: str) -> None:
    assert (pair_of(game) is None) == (game in NOTHING_HIDDEN)


@pytest.mark.parametrize(
    ("game", "spec"),
    [
        (game, spec)
        for game, spec in zip(MODEST_GAMES, cycle(SPECS), strict=False)
        if game not in NOTHING_HIDDEN and (game, spec) not in TOO_LONG
    ],
)
def test_a_decision_depends_on_the_incomplete_path_only(game: str, spec: str) -> None:
    pair = pair_of(game)
    assert pair is not None
    assert pair.left.path_of(pair.role) == pair.right.path_of(pair.role)
    assert pair.left.state != pair.right.state
    decisions = [
        _own_machine(game, pair, spec, pair.left),
        *_shared_machine(game, pair, spec, (pair.left, pair.right)),
        *_shared_machine(game, pair, spec, (pair.right, pair.left)),
    ]
    assert len(decisions[0].values) > 1
    assert decisions[0].fault is None
    for decision in decisions[1:]:
        assert decision == decisions[0]


def _own_machine(game: str, pair: Pair, spec: str, walk: Walk) -> Decision:
    """On a machine of the player's own, as the referee sees to."""
    return decide(fresh(game), pair.role, spec, walk)


def _shared_machine(game: str, pair: Pair, spec: str, walks: Sequence[Walk]) -> list[Decision]:
    """On a machine that the referee and the players of both matches share."""
    machine = fresh(game)
    decisions = []
    for walk in walks:
        referee(machine, walk)
        decisions.append(decide(machine, pair.role, spec, walk))
    return decisions
