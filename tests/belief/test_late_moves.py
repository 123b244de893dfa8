"""Opponents that may be late: their moves mix two ways to play a whole match."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ggp.belief import PathTree
from ggp.belief.policy_models import LATE as BY_DEFAULT
from ggp.belief.policy_models import OFTEN, LateMoves
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine.base import Ragged
from ggp.players import SearchPlayer, make_player, parse_spec
from ggp.players.options.opponents import model_of
from tests.support.games import build_here, machine_of_game

LATE = 0.25

UNSEEN = """
(role us) (role them) (init (at 0)) (next_to 0 1) (next_to 1 2) (next_to 2 3)
(pick c) (pick a) (pick b)
(<= (legal us wait)) (<= (legal them (take a)) (true (at 9))) (<= (legal them (take ?x)) (pick ?x))
(<= (next (at ?m)) (true (at ?n)) (next_to ?n ?m))
(<= (next (took ?x)) (does them (take ?x))) (<= (next (took ?x)) (true (took ?x)))
(<= (sees us yes) (does them (take a)))
(<= terminal (true (at 3))) (goal us 50) (goal them 50)
"""
"""They pick three times; we only hear an `a`. Of their moves, `c` comes first in the rules."""


def test_moves_of_a_match_mix_late_and_prompt_play() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    tree = PathTree(machine)
    model = LateMoves(machine, tree, 0, lambda move: ((), machine.move_text(move)), LATE)
    drops = [machine.move_id(f"(drop {column})") for column in (3, 1, 2)]
    nothing = machine.percept_id(())
    for match in product(drops, repeat=3):
        path, log_likelihood = np.array([1]), 0.0
        for drop in match:
            moves = Ragged(np.array([0, 3]), np.array(drops))
            log_likelihood += model.log_likelihoods_at(1, path, moves)[drops.index(drop)]
            path = tree.extend(path, np.array([drop]), np.array([nothing]))
        firsts = match.count(drops[1])
        if_late = (OFTEN + (1 - OFTEN) / 3) ** firsts * ((1 - OFTEN) / 3) ** (3 - firsts)
        expected = LATE * if_late + (1 - LATE) / 27
        assert np.exp(log_likelihood) == pytest.approx(expected)


def test_a_long_path_can_be_evaluated_for_the_first_time() -> None:
    """As after most of a long match without any particle."""
    machine = machine_of_game("phantom_connect_four", "propnet")
    tree = PathTree(machine)
    model = LateMoves(machine, tree, 0, lambda move: ((move,), ""), LATE)
    moves, path = Ragged(np.array([0, 2]), np.array([1, 2])), np.array([1])
    for _ in range(5):
        model.shares(1, path, moves)
        path = tree.extend(path, np.array([1]), np.array([0]))
    _, trust = model.shares(1, path, moves)
    for _ in range(2000):
        path = tree.extend(path, np.array([2]), np.array([0]))
    # Moves at paths that were never evaluated say nothing.
    _, later = model.shares(1, np.repeat(path, 2), Ragged(np.array([0, 2, 4]), np.tile([1, 2], 2)))
    is_late = trust[0] / OFTEN
    odds = (1 - OFTEN) * is_late / (1 - is_late)
    assert later.tolist() == pytest.approx([OFTEN * odds / (1 + odds)] * 2)


@pytest.mark.parametrize("late", [1, 50])
def test_silence_makes_a_late_role_more_likely(late: int) -> None:
    program = normalize(parse(UNSEEN))
    machine = build_here(program, "propnet")
    spec = parse_spec(f"ismcts:model=late:{late}")
    player = make_player(spec, machine, 0, np.random.default_rng(0), program=program)
    assert isinstance(player, SearchPlayer)
    for _ in range(2):
        player.observe("wait", [])
    # Of their moves, the two that we do not hear of: likely as a late and as a prompt role.
    likely = {"c": (OFTEN + (1 - OFTEN) / 3, 1 / 3), "b": ((1 - OFTEN) / 3, 1 / 3)}
    share = np.array([late / 100, 1 - late / 100])
    expected = {
        frozenset(pair): float(
            share @ np.prod([likely[pick] for pick in pair], axis=0) * (1 + (pair[0] != pair[1]))
        )
        for pair in ("cc", "cb", "bb")
    }
    bag = player.tracker.bag
    weights: dict[frozenset[str], float] = {}
    for state, weight in zip(
        machine.fluents(bag.states_of(0)), bag.weights_of(0).tolist(), strict=True
    ):
        took = frozenset(fluent[6] for fluent in state if fluent.startswith("(took"))
        weights[took] = weights.get(took, 0.0) + weight
    total = sum(expected.values())
    assert weights == pytest.approx({took: weight / total for took, weight in expected.items()})


def test_late_roles_play_the_move_that_the_rules_mention_first() -> None:
    program = normalize(parse(UNSEEN))
    machine = build_here(program, "propnet")
    tree = PathTree(machine)
    model = model_of("late", machine, tree, 0, np.random.default_rng(0), program)
    assert isinstance(model, LateMoves)
    moves = machine.legal(machine.initial(), 1)
    shares, trust = model.shares(1, np.array([1]), moves)
    assert {
        machine.move_text(move): share for move, share in zip(moves[0], shares, strict=True)
    } == {
        "(take c)": 1.0,
        "(take a)": 0.0,
        "(take b)": 0.0,
    }
    assert trust.tolist() == pytest.approx([BY_DEFAULT * OFTEN])
