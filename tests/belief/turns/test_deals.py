"""Deals of a growing deck: thousands of moves of chance, of which one agrees with our percepts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.machine.base import IntArray, States
from ggp.search.moves import random_moves
from tests.support.games import machine_of_rules

BUYER = 0


def growing_deck(first: int, turns: int) -> str:
    """Rules of a game in which three cards are drawn in each turn, and the buyer sees which.

    The deck has `first` cards, and one more after every second turn. The rival secretly adds to one
    of two piles; in some states a clash hints at which one.
    """
    piles = range(3 * turns + 1)
    facts = [f"(init (deck {first})) (init (turn 0)) (init (pile red 0)) (init (pile blue 0))"]
    facts += [f"(below {a} {b})" for b in range(first + turns) for a in range(b)]
    facts += [f"(sum {a} {b} {a + b})" for a, b in product(piles, range(4))]
    facts += [f"(hue {a} {('red', 'blue')[a % 2]})" for a in range(first + turns)]
    facts += [f"(even {a}) (grows {a + 1})" for a in piles[::2]]
    return f"""
    (role buyer) (role rival) (role random) {" ".join(facts)}
    (<= (legal random (draw ?a ?b ?c)) (true (deck ?n)) (below ?a ?n) (below ?b ?n) (below ?c ?n)
        (distinct ?a ?b) (distinct ?a ?c) (distinct ?b ?c))
    (legal rival (keep red 0)) (legal rival (keep red 2))
    (legal rival (keep blue 1)) (legal rival (keep blue 3))
    (legal buyer wait)
    (<= (drawn ?a ?b ?c) (does random (draw ?a ?b ?c)))
    (<= (sees buyer (first ?a)) (drawn ?a ?b ?c))
    (<= (sees buyer (second ?b)) (drawn ?a ?b ?c))
    (<= (sees buyer (third ?c)) (drawn ?a ?b ?c))
    (<= (sees buyer clash) (drawn ?a ?b ?c) (hue ?a ?x) (does rival (keep ?x ?n))
        (true (pile ?x ?m)) (even ?m))
    (<= (next (pile ?x ?m)) (does rival (keep ?x ?n)) (true (pile ?x ?k)) (sum ?k ?n ?m))
    (<= (next (pile ?x ?m)) (true (pile ?x ?m)) (does rival (keep ?y ?n)) (distinct ?x ?y))
    (<= (next (deck ?n)) (true (deck ?n)) (true (turn ?t)) (not (grows ?t)))
    (<= (next (deck ?m)) (true (deck ?n)) (sum ?n 1 ?m) (true (turn ?t)) (grows ?t))
    (<= (next (turn ?t)) (true (turn ?s)) (sum ?s 1 ?t))
    (<= terminal (true (turn {turns}))) (goal buyer 50) (goal rival 50) (goal random 0)
    """


class Turn:
    """One turn of a random match: the buyer's move and percepts, and its bag after them."""

    def __init__(self, move: IntArray, percepts: IntArray, bags: Bags) -> None:
        self.move, self.percepts, self.bags = move, percepts, bags


def match(sampler: HyperPlaySampler, seed: int) -> Iterator[Turn]:
    machine, rng = sampler.machine, np.random.default_rng(seed)
    state, bags = machine.initial(1), sampler.start(BUYER)
    while True:
        joint = np.column_stack([random_moves(machine, state, role, rng) for role in range(3)])
        state, percepts = machine.step(state, joint)
        if machine.terminal(state)[0]:
            return
        move, seen = joint[:, BUYER], percepts[:, BUYER]
        bags = sampler.advance(bags, move, seen, rng)
        yield Turn(move, seen, bags)


@pytest.mark.parametrize(
    ("backend", "capacity", "first", "turns"),
    [("relational", 16, 6, 31), ("prolog", 4, 6, 31), ("propnet", 8, 8, 4)],
)
def test_no_particle_is_lost_though_one_of_thousands_of_deals_agrees(
    backend: str, capacity: int, first: int, turns: int
) -> None:
    machine = machine_of_rules(growing_deck(first, turns), backend)
    sampler = HyperPlaySampler(
        machine, PathTree(machine), capacity=capacity, exact=0, rescues=False
    )
    visited = machine.states_visited
    counts = [len(turn.bags.sets.states) for turn in match(sampler, seed=1)]
    assert len(counts) == turns - 1
    assert min(counts) > 0
    assert min(counts[turns // 2 :]) >= capacity // 2
    # Of each entry only the moves of the rival are tried.
    assert machine.states_visited - visited < 5 * (capacity + 1) * turns


@pytest.mark.parametrize("backend", ["relational", "prolog"])
def test_weights_equal_those_of_every_deal_played_plainly(backend: str) -> None:
    rules = growing_deck(4, 6)
    machine, plain = machine_of_rules(rules, backend), machine_of_rules(rules, "prolog")
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=4, exact=1000)
    prior = {plain.fluents(plain.initial(1))[0]: (1.0, plain.initial(1))}
    for turn in match(sampler, seed=3):
        assert turn.bags.exact[0]
        prior = posterior(plain, prior, sorted(machine.percept_texts(int(turn.percepts[0]))))
        total = sum(weight for weight, _ in prior.values())
        texts = machine.fluents(turn.bags.states_of(0))
        weights = dict(zip(texts, turn.bags.weights_of(0).tolist(), strict=True))
        assert weights == pytest.approx({key: weight / total for key, (weight, _) in prior.items()})
        assert np.exp(turn.bags.sets.log_masses[0]) == pytest.approx(total)


def posterior(
    machine: Machine, prior: dict[tuple[str, ...], tuple[float, States]], seen: list[str]
) -> dict[tuple[str, ...], tuple[float, States]]:
    """The probabilities of states after one more turn in which the buyer sees these percepts."""
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    reached: dict[tuple[str, ...], States] = {}
    for weight, state in prior.values():
        joint = np.array(list(product(*(machine.legal(state, role)[0] for role in range(3)))))
        states, percepts = machine.step(state.take(np.zeros(len(joint), dtype=np.int64)), joint)
        for lane, text in enumerate(machine.fluents(states)):
            if list(machine.percept_texts(int(percepts[lane, BUYER]))) == seen:
                sums[text] += weight / len(joint)
                reached[text] = states.take(np.array([lane]))
    return {text: (total, reached[text]) for text, total in sums.items()}
