"""Sheets with moves of `random` of several parts, small enough to be listed as well."""

from __future__ import annotations

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.optimise import optimise
from ggp.machine.propnet.play.parted_machine import machine_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine

DEAL = """
(role left) (role right) (role random)
(<= (card ?c) (succ ?c ?d)) (card 8)
(succ 1 2)(succ 2 3)(succ 3 4)(succ 4 5)(succ 5 6)(succ 6 7)(succ 7 8)
(init (phase deal left))
(<= (init (deck ?c)) (card ?c))
(next_phase left right)
(<= (legal random (deal ?p ?a ?b)) (true (phase deal ?p)) (true (deck ?a)) (true (deck ?b))
  (distinct ?a ?b))
(<= (legal random wait) (true (phase play)))
(<= (legal ?p wait) (role ?p) (distinct ?p random) (true (phase deal ?q)))
(<= (legal ?p (play ?c)) (true (phase play)) (true (hand ?p ?c)))
(<= (dealt ?c) (does random (deal ?p ?c ?b)))
(<= (dealt ?c) (does random (deal ?p ?a ?c)))
(<= (next (deck ?c)) (true (deck ?c)) (not (dealt ?c)))
(<= (next (hand ?p ?c)) (does random (deal ?p ?c ?b)))
(<= (next (hand ?p ?c)) (does random (deal ?p ?a ?c)))
(<= (next (first ?p ?c)) (does random (deal ?p ?c ?b)))
(<= (next (first ?p ?c)) (true (first ?p ?c)))
(<= (next (odd)) (true (phase deal left)) (not (does random (deal left 3 5))))
(<= (next (hand ?p ?c)) (true (hand ?p ?c)) (not (does ?p (play ?c))))
(<= (next (phase deal right)) (true (phase deal left)))
(<= (next (phase play)) (true (phase deal right)))
(<= (next (phase end)) (true (phase play)))
(<= (next (played ?p ?c)) (does ?p (play ?c)))
(<= (sees ?p (got ?c)) (does random (deal ?p ?c ?b)))
(<= (sees ?p (got ?c)) (does random (deal ?p ?b ?c)))
(<= (sees ?p (first ?c)) (does random (deal ?p ?c ?b)) (succ ?c 4))
(<= (sees ?p (they ?m)) (does ?q ?m) (role ?p) (distinct ?p ?q) (true (phase play)))
(<= (less ?a ?b) (succ ?a ?b))
(<= (less ?a ?c) (succ ?a ?b) (less ?b ?c))
(<= terminal (true (phase end)))
(<= (goal left 100) (true (played left ?a)) (true (played right ?b)) (less ?b ?a))
(<= (goal left 0) (true (played left ?a)) (true (played right ?b)) (less ?a ?b))
(<= (goal right 100) (true (played left ?a)) (true (played right ?b)) (less ?a ?b))
(<= (goal right 0) (true (played left ?a)) (true (played right ?b)) (less ?b ?a))
(<= (goal ?p 50) (role ?p) (distinct ?p random) (not (true (phase end))))
"""
"""Two cards for each of two players from a deck that shrinks; percepts tell some of it."""

ORDER = """
(role left) (role random)
(thing a) (thing b) (thing c) (thing d) (thing e)
(init (step 1))
(<= (legal random (order ?v ?w ?x ?y ?z)) (true (step 1)) (thing ?v) (thing ?w) (thing ?x)
  (thing ?y) (thing ?z)
  (distinct ?v ?w) (distinct ?v ?x) (distinct ?v ?y) (distinct ?v ?z) (distinct ?w ?x) (distinct
  ?w ?y) (distinct ?w ?z) (distinct ?x ?y) (distinct ?x ?z) (distinct ?y ?z))
(<= (legal random noop) (true (step 2)))
(<= (legal left noop) (true (step 1)))
(<= (legal left (guess ?x)) (thing ?x) (true (step 2)))
(<= (next (last ?z)) (does random (order ?v ?w ?x ?y ?z)))
(<= (next (at 1 ?v)) (does random (order ?v ?w ?x ?y ?z)))
(<= (next (adjacent)) (does random (order a b ?x ?y ?z)))
(<= (next (step 2)) (true (step 1)))
(<= (next (guessed ?x)) (does left (guess ?x)))
(<= (next (last ?z)) (true (last ?z)))
(<= (next adjacent) (true adjacent))
(<= (sees left (middle ?x)) (does random (order ?v ?w ?x ?y ?z)))
(<= (next (step 3)) (true (step 2)))
(<= terminal (true (step 3)))
(<= (goal left 100) (true (guessed ?x)) (true (last ?x)))
(<= hit (true (guessed ?x)) (true (last ?x)))
(<= (goal left 30) (not hit) (true adjacent))
(<= (goal left 0) (not hit) (not (true adjacent)))
"""
"""A permutation of five things."""

SHIPS = """
(role gunner) (role random)
(num 1)(num 2)(num 3)(num 4)
(succ 1 2)(succ 2 3)(succ 3 4)
(direction across)(direction down)
(<= (covers ?x ?y ?d ?x ?y) (num ?x) (num ?y) (direction ?d))
(<= (covers ?x ?y across ?x2 ?y) (num ?y) (succ ?x ?x2))
(<= (covers ?x ?y down ?x ?y2) (num ?x) (succ ?y ?y2))
(<= (inside ?x ?y across) (succ ?x ?z) (num ?y))
(<= (inside ?x ?y down) (num ?x) (succ ?y ?z))
(<= (overlap ?x1 ?y1 ?d1 ?x2 ?y2 ?d2) (covers ?x1 ?y1 ?d1 ?x ?y) (covers ?x2 ?y2 ?d2 ?x ?y))
(init (step 1))
(<= (legal random (place (ship ?x1 ?y1 ?d1) (ship ?x2 ?y2 ?d2))) (true (step 1)) (inside ?x1 ?y1
  ?d1) (inside ?x2 ?y2 ?d2)
  (not (overlap ?x1 ?y1 ?d1 ?x2 ?y2 ?d2)))
(<= (legal random calm) (true (step 1)))
(<= (legal random storm) (true (step 1)))
(<= (legal random calm) (true (step 2)))
(<= (legal gunner wait) (true (step 1)))
(<= (legal gunner (shoot ?x ?y)) (num ?x) (num ?y) (true (step 2)))
(<= (next (at ?x ?y)) (does random (place ?s (ship ?x2 ?y2 ?d))) (covers ?x2 ?y2 ?d ?x ?y))
(<= (next (at ?x ?y)) (does random (place (ship ?x2 ?y2 ?d) ?s)) (covers ?x2 ?y2 ?d ?x ?y))
(<= (next (at ?x ?y)) (true (at ?x ?y)))
(<= (next stormy) (does random storm))
(<= (next (target ?x ?y)) (does gunner (shoot ?x ?y)))
(<= (sees gunner (row ?y)) (does random (place (ship ?x ?y across) ?s)))
(<= (sees gunner none) (does random ?m) (quiet ?m))
(quiet calm) (quiet storm)
(<= (next (step 2)) (true (step 1)))
(<= (next (step 3)) (true (step 2)))
(<= terminal (true (step 3)))
(<= hit (true (target ?x ?y)) (true (at ?x ?y)))
(<= (goal gunner 100) hit)
(<= (goal gunner 40) (not hit) (true stormy))
(<= (goal gunner 0) (not hit) (not (true stormy)))
"""
"""Two ships that must not overlap, beside two other moves in the same state."""

DRAW = """
(role left) (role random)
(succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7)
(<= (less ?a ?b) (succ ?a ?b))
(<= (less ?a ?c) (succ ?a ?b) (less ?b ?c))
(init (step 1))
(<= (legal random (draw ?a ?b ?c)) (true (step 1)) (less ?a ?b) (less ?b ?c))
(<= (legal random noop) (true (step 2)))
(<= (legal left noop) (true (step 1)))
(<= (legal left (guess ?x)) (true (step 2)) (less 1 ?x))
(<= (next (drawn ?a)) (does random (draw ?a ?b ?c)))
(<= (next (drawn ?b)) (does random (draw ?a ?b ?c)))
(<= (next (drawn ?c)) (does random (draw ?a ?b ?c)))
(<= (next (drawn ?c)) (true (drawn ?c)))
(<= (next (guessed ?x)) (does left (guess ?x)))
(<= (sees left (least ?a)) (does random (draw ?a ?b ?c)))
(<= (next (step 2)) (true (step 1)))
(<= (next (step 3)) (true (step 2)))
(<= terminal (true (step 3)))
(<= hit (true (guessed ?x)) (true (drawn ?x)))
(<= (goal left 100) hit)
(<= (goal left 0) (not hit))
"""
"""Three of seven, in ascending order."""

STUCK = """
(role left) (role random)
(init (step 1)) (init (deck a)) (init (deck b)) (init (deck c))
(<= (legal random (deal ?a ?b)) (true (deck ?a)) (true (deck ?b)) (distinct ?a ?b))
(legal left noop)
(<= (dealt ?a) (does random (deal ?a ?b)))
(<= (dealt ?b) (does random (deal ?a ?b)))
(<= (next (deck ?c)) (true (deck ?c)) (not (dealt ?c)))
(<= (next (step 2)) (true (step 1)))
(<= (next (step 3)) (true (step 2)))
(<= terminal (true (step 3)))
(goal left 0)
"""
"""Two cards of three are dealt, and then there are no two left."""

SHEETS = {"deal": DEAL, "order": ORDER, "ships": SHIPS, "draw": DRAW}


def machine_listing(rules: str, listed: float | None) -> PropnetMachine:
    """The machine of some rules; moves of one kind are made by parts if more than so many."""
    program = normalize(parse(rules))
    circuit = optimise(build_circuit(ground(program, listed=listed))).circuit
    return machine_of(circuit, is_gdl2=program.is_gdl2)
