"""Fluents that never change are no part of states on Prolog, which says what the circuit says."""

from __future__ import annotations

import numpy as np

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import build_machine
from tests.support.comparing.agreement import play_both

MAZE = """
(role a) (s 1 2) (s 2 3) (s 3 4) (s 4 5) (init (at 1)) (init (wall 3)) (init dark) (init (wall 5))
(<= (free ?x ?y) (s ?x ?y) (not (true (wall ?y))))
(<= (free ?x ?y) (s ?x ?z) (not (true (at ?z))) (free ?z ?y))
(<= (legal a (to ?y)) (true (at ?x)) (free ?x ?y)) (legal a wait)
(<= (next (wall ?x)) (true (wall ?x))) (<= (next dark) (true dark))
(<= (next (at ?y)) (does a (to ?y))) (<= (next (at ?x)) (true (at ?x)) (does a wait))
(<= terminal (true (at 4)) (true dark)) (<= (goal a 100) (true (at 4))) (goal a 0)
"""


def test_what_never_changes_is_left_out_of_states_and_told_all_the_same() -> None:
    program = normalize(parse(MAZE))
    prolog, propnet = build_machine(program, "prolog"), build_machine(program, "propnet")
    (fluents,) = prolog.fluents(prolog.initial())
    assert fluents == ("(at 1)", "(wall 3)", "(wall 5)", "dark")
    assert play_both(prolog, propnet, matches=5, max_steps=8) > 5
    steps = prolog.playout(prolog.initial(20), np.random.default_rng(0)).steps
    assert steps.min() >= 1
    prolog.close()
