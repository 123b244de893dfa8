"""Rules that nobody can ground, though every single state of their games is small."""

from __future__ import annotations

from itertools import combinations

CARDS = 60
HAND = 5


def poker(cards: int = CARDS, hand: int = HAND) -> str:
    """Cards are dealt one by one, and a full hand is judged as a whole.

    The rule that judges joins all cards that may be at each place: 60^5 hands. The conditions that
    compare every two of them leave nothing to split off. In a state each place has one card.
    """
    names = [f"?c{i}" for i in range(hand)]
    hands = " ".join(f"(true (hand {i} {name}))" for i, name in enumerate(names))
    distinct_names = " ".join(f"(above {a} {b})" for a, b in combinations(names, 2))
    facts = " ".join(f"(card {i})" for i in range(cards))
    places = " ".join(f"(place {i} {i + 1})" for i in range(hand))
    return f"""(role ann) (role random) {facts} {places} (init (at 0))
(<= (higher ?x ?y) (after ?y ?x)) (<= (higher ?x ?z) (higher ?x ?y) (after ?z ?y))
{" ".join(f"(after {i} {i + 1})" for i in range(cards - 1))}
(<= (above ?x ?y) (higher ?x ?y) (not (true (upside down))))
(<= (above ?x ?y) (higher ?y ?x) (true (upside down)))
(<= (dealt ?c) (true (hand ?i ?c)))
(<= (legal random (deal ?c)) (card ?c) (not (dealt ?c)))
(legal ann wait) (legal ann turn)
(<= (next (hand ?i ?c)) (does random (deal ?c)) (true (at ?i)))
(<= (next (hand ?i ?c)) (true (hand ?i ?c)))
(<= (next (at ?j)) (true (at ?i)) (place ?i ?j))
(<= (next (upside down)) (does ann turn))
(<= (sees ann ?c) (does random (deal ?c)))
(<= sorted {hands} {distinct_names})
(<= terminal (true (at {hand})))
(<= (goal ann 100) sorted) (<= (goal ann 0) (not sorted)) (goal random 0)
"""


def rolls(dice: int = 10) -> str:
    """A player says how all dice fell: 6^10 moves, which no chance makes part by part."""
    names = [f"?d{i}" for i in range(dice)]
    faces = " ".join(f"(face {name})" for name in names)
    return f"""(role ann) {" ".join(f"(face {i})" for i in range(1, 7))}
(init first)
(<= (legal ann (roll {" ".join(names)})) {faces})
(<= (next (rolled {names[0]} {names[-1]})) (does ann (roll {" ".join(names)})))
(<= (next over) (true first)) (<= terminal (true over))
(goal ann 50)
"""


def attacks(size: int = 24) -> str:
    """A relation of seven arguments says who attacks whom across which square."""
    axis = " ".join(f"(n {i})" for i in range(size))
    line = "?x ?y ?a ?b ?u ?v"
    bound = " ".join(f"(n {name})" for name in line.split())
    return f"""(role white) (role black) {axis} (init (cell 0 0 white)) (init (cell 1 5 black))
(<= (across ?r {line}) (true (cell ?x ?y ?r)) {bound} (not (true (cell ?a ?b ?r))) (distinct ?x ?a))
(<= (legal ?r (go ?x ?y ?u ?v)) (true (cell ?x ?y ?r)) (n ?u) (n ?v)
    (across ?r ?x ?y ?u ?v ?x ?v) (across ?r ?x ?y ?u ?y ?u ?v))
(<= (forked ?x ?y ?u ?v) (across white {line}) (across black ?u ?v ?b ?a ?y ?x)
    (across ?r ?a ?y ?u ?b ?x ?v))
(<= (next (cell ?u ?v ?r)) (does ?r (go ?x ?y ?u ?v)) (not (forked ?x ?y ?u ?v)))
(<= (next (cell ?x ?y ?r)) (does ?r (go ?x ?y ?u ?v)) (forked ?x ?y ?u ?v))
(<= terminal (true (cell 3 3 ?r))) (<= (goal ?r 50) (role ?r))
"""
