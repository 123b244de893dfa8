"""Others that may be late: what they do is a mixture of two ways to play a whole match."""

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
"""They pick three times; we hear of an `a`. Of their moves, `c` comes first in the rules."""


def test_what_a_role_does_in_a_match_is_a_mixture_of_being_late_and_prompt() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    tree = PathTree(machine)
    model = LateMoves(machine, tree, 0, lambda move: ((), machine.move_text(move)), LATE)
    drops = [machine.move_id(f"(drop {column})") for column in (3, 1, 2)]
    nothing = machine.percept_id(())
    for match in product(drops, repeat=3):
        path, log_likelihood = np.array([1]), 0.0
        for made in match:
            moves = Ragged(np.array([0, 3]), np.array(drops))
            log_likelihood += model.log_likelihoods_at(1, path, moves)[drops.index(made)]
            path = tree.extend(path, np.array([made]), np.array([nothing]))
        firsts = match.count(drops[1])
        if_late = (OFTEN + (1 - OFTEN) / 3) ** firsts * ((1 - OFTEN) / 3) ** (3 - firsts)
        expected = LATE * if_late + (1 - LATE) / 27
        assert np.exp(log_likelihood) == pytest.approx(expected)


def test_long_paths_may_be_asked_about_at_last() -> None:
    """As where no particle was left for most of a long match."""
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
    # What they did at paths that were never asked about says nothing.
    _, later = model.shares(1, np.repeat(path, 2), Ragged(np.array([0, 2, 4]), np.tile([1, 2], 2)))
    is_late = trust[0] / OFTEN
    odds = (1 - OFTEN) * is_late / (1 - is_late)
    assert later.tolist() == pytest.approx([OFTEN * odds / (1 + odds)] * 2)


@pytest.mark.parametrize("late", [1, 50])
def test_silence_makes_a_late_role_more_likely(late: int) -> None:
    program = normalize(parse(UNSEEN))
    machine = build_here(program, "propnet")
    spec = parse_spec(f"ismcts:model=late:{late}")
    made = make_player(spec, machine, 0, np.random.default_rng(0), program=program)
    assert isinstance(made, SearchPlayer)
    for _ in range(2):
        made.observe("wait", [])
    # Of their moves, the two that we do not hear of: likely as a late and as a prompt role.
    likely = {"c": (OFTEN + (1 - OFTEN) / 3, 1 / 3), "b": ((1 - OFTEN) / 3, 1 / 3)}
    share = np.array([late / 100, 1 - late / 100])
    expected = {
        frozenset(pair): float(
            share @ np.prod([likely[each] for each in pair], axis=0) * (1 + (pair[0] != pair[1]))
        )
        for pair in ("cc", "cb", "bb")
    }
    bag = made.tracker.bag
    found: dict[frozenset[str], float] = {}
    for state, weight in zip(
        machine.fluents(bag.states_of(0)), bag.weights_of(0).tolist(), strict=True
    ):
        took = frozenset(each[6] for each in state if each.startswith("(took"))
        found[took] = found.get(took, 0.0) + weight
    total = sum(expected.values())
    assert found == pytest.approx({took: each / total for took, each in expected.items()})


def test_words_that_come_first_in_the_rules_go_first() -> None:
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
