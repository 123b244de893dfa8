"""Fleets that chance places in one move, and scans that show a truth among lies: rules, and truth.

Each of two captains has two ships of two cells on a sea of its own. In turns they scan, or fire at
a cell. A scan shows three ships, of which one is the other's and two are not. Fire is seen by both.
On 4 by 4 cells chance has 50,176 moves at first; 224 of them agree with the own ships.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

Ship = tuple[str, int, int]
"""Which way it lies, and its first cell."""

Cell = tuple[int, int]

TURNS = 9
"""Turns after placing."""


class Seen(NamedTuple):
    """What a captain knows of the other's ships.

    Attributes:
        scans: three ships each.
        hits, misses: cells that were fired at.
    """

    scans: list[frozenset[Ship]]
    hits: list[Cell]
    misses: list[Cell]

    def fits(self, fleet: frozenset[Ship]) -> bool:
        """Whether these may be the ships."""
        covered = {cell for ship in fleet for cell in covers(ship)}
        return (
            all(len(fleet & scan) == 1 for scan in self.scans)
            and covered.issuperset(self.hits)
            and covered.isdisjoint(self.misses)
        )


def ships(size: int) -> list[Ship]:
    """All there may be, in the order that chance names them."""
    across = [("across", x, y) for x in range(1, size) for y in range(1, size + 1)]
    return across + [("along", x, y) for x in range(1, size + 1) for y in range(1, size)]


def covers(ship: Ship) -> tuple[Cell, Cell]:
    """Its cells."""
    way, x, y = ship
    return (x, y), ((x + 1, y) if way == "across" else (x, y + 1))


def fleets(size: int) -> list[frozenset[Ship]]:
    """Two ships that do not meet."""
    pairs = combinations(ships(size), 2)
    return [frozenset(two) for two in pairs if not {*covers(two[0])} & {*covers(two[1])}]


def rules(size: int) -> str:
    """The rulesheet, for a sea of so many cells a side."""
    names = ships(size)
    facts = [f"(ship {term(ship)})" for ship in names]
    facts += [f"(covers {term(s)} {x} {y})" for s in names for x, y in covers(s)]
    facts += [f"(before {term(s)} {term(t)})" for s, t in combinations(names, 2)]
    facts += [f"(apart {term(s)} {term(t)})" for s, t in combinations(names, 2) if _are_apart(s, t)]
    facts += [f"(succ {number} {number + 1})" for number in range(TURNS)]
    return "\n".join([*facts, _RULES, f"(<= terminal (true (turn {TURNS})))"])


def term(ship: Ship) -> str:
    """It in KIF."""
    return f"({' '.join(map(str, ship))})"


def _are_apart(first: Ship, second: Ship) -> bool:
    return not {*covers(first)} & {*covers(second)}


_RULES = """
(role west) (role east) (role random)
(other west east) (other east west)
(init placing) (init (control west))

(<= (legal random (place ?a ?b ?c ?d)) (true placing) (apart ?a ?b) (apart ?c ?d))
(<= (placed west ?a) (does random (place ?a ?b ?c ?d)))
(<= (placed west ?b) (does random (place ?a ?b ?c ?d)))
(<= (placed east ?c) (does random (place ?a ?b ?c ?d)))
(<= (placed east ?d) (does random (place ?a ?b ?c ?d)))

(<= (theirs ?s) (true (control ?p)) (other ?p ?q) (true (has ?q ?s)))
(<= (false ?s) (ship ?s) (not (theirs ?s)))
(<= (legal random (show ?s ?t ?u)) (theirs ?s) (false ?t) (false ?u) (before ?s ?t) (before ?t ?u))
(<= (legal random (show ?s ?t ?u)) (false ?s) (theirs ?t) (false ?u) (before ?s ?t) (before ?t ?u))
(<= (legal random (show ?s ?t ?u)) (false ?s) (false ?t) (theirs ?u) (before ?s ?t) (before ?t ?u))
(<= (shows ?s) (does random (show ?s ?t ?u)))
(<= (shows ?t) (does random (show ?s ?t ?u)))
(<= (shows ?u) (does random (show ?s ?t ?u)))

(<= (legal ?p noop) (role ?p) (true placing) (other ?p ?q))
(<= (legal ?q noop) (not (true placing)) (true (control ?p)) (other ?p ?q))
(<= playing (not (true placing)))
(<= (legal ?p scan) playing (true (control ?p)))
(<= (legal ?p (fire ?x ?y)) playing (true (control ?p)) (covers ?s ?x ?y)
    (not (true (fired ?p ?x ?y))))

(<= (next (has ?p ?s)) (placed ?p ?s))
(<= (next (has ?p ?s)) (true (has ?p ?s)))
(<= (next (turn 0)) (true placing))
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= (next (control west)) (true placing))
(<= (next (control ?q)) playing (true (control ?p)) (other ?p ?q))
(<= (next (fired ?p ?x ?y)) (does ?p (fire ?x ?y)))
(<= (next (fired ?p ?x ?y)) (true (fired ?p ?x ?y)))

(<= (strikes ?p ?x ?y) (does ?p (fire ?x ?y)) (other ?p ?q) (true (has ?q ?s)) (covers ?s ?x ?y))
(<= (sees ?p (mine ?s)) (placed ?p ?s))
(<= (sees ?p (shown ?s)) (does ?p scan) (shows ?s))
(<= (sees ?r (hit ?x ?y)) (other ?r ?q) (strikes ?p ?x ?y))
(<= (sees ?r (miss ?x ?y)) (other ?r ?q) (does ?p (fire ?x ?y)) (not (strikes ?p ?x ?y)))

(<= (sunk ?p ?s) (true (has ?p ?s)) (other ?p ?q) (covers ?s ?x ?y) (covers ?s ?u ?v)
    (distinct (at ?x ?y) (at ?u ?v)) (true (fired ?q ?x ?y)) (true (fired ?q ?u ?v)))
(<= (afloat ?p) (true (has ?p ?s)) (not (sunk ?p ?s)))
(<= (lost ?p) playing (other ?p ?q) (not (afloat ?p)))
(<= terminal (lost ?p))
(<= (goal ?p 100) (other ?p ?q) (lost ?q) (not (lost ?p)))
(<= (goal ?p 0) (lost ?p))
(<= nobody_lost (not (lost west)) (not (lost east)))
(<= (goal ?p 50) (other ?p ?q) nobody_lost)
(goal random 0)
"""
