"""Playouts on Prolog draw moves evenly, and end where a role has none."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Machine, build_machine

WALK = """
(role a) (role random) (role b)
(s 0 1) (s 1 2) (s 2 3) (s 3 4) (s 4 5) (s 5 6) (t 0 1) (t 1 2) (t 2 3) (t 3 4) (t 4 5) (t 5 6)
(init (at 3)) (init (time 0))
(<= (legal a left) (true (at ?x))) (<= (legal a right) (true (at ?x)))
(<= (legal random (flip ?x)) (true (time ?t)) (s ?x ?y)) (legal b wait)
(<= (next (at ?y)) (does a right) (true (at ?x)) (s ?x ?y))
(<= (next (at ?x)) (does a left) (true (at ?y)) (s ?x ?y))
(<= (next (coin ?x)) (does random (flip ?x)))
(<= (next (time ?y)) (true (time ?x)) (t ?x ?y))
(<= (next (time 0)) (true (time 6)))
(<= terminal (true (at 0))) (<= terminal (true (at 6)))
(<= (goal a 100) (true (at 6))) (<= (goal a 0) (not (true (at 6))))
(<= (goal b 100) (true (coin 5))) (<= (goal b 0) (not (true (coin 5)))) (goal random 0)
"""
"""The gambler's ruin beside coins: from the middle the game ends on either side after 9 steps."""

STUCK = """
(role a) (role b) (role random) (s 0 1) (s 1 2) (s 2 3) (s 3 4) (s 4 5) (n 1) (n 2) (n 3)
(init (time 0))
(<= (legal a (take ?x)) (n ?x)) (<= (legal random (give ?x)) (n ?x))
(<= (legal b (take ?x)) (n ?x) (not stuck)) (<= stuck (true (time 3)) (true (took 1)))
(<= (next (took ?x)) (does a (take ?x))) (<= (next (given ?x)) (does random (give ?x)))
(<= (next (time ?y)) (true (time ?x)) (s ?x ?y))
(<= terminal (true (time 5)))
(<= (goal a 100) (true (took 2))) (<= (goal a 0) (not (true (took 2))))
(<= (goal b 100) (true (given 2))) (<= (goal b 0) (not (true (given 2)))) (goal random 0)
"""
"""In every third game the second role has no move after three steps, but those beside it have."""


def _machine(rules: str = WALK) -> Machine:
    return build_machine(normalize(parse(rules)), "prolog")


def test_moves_are_drawn_evenly_and_by_themselves() -> None:
    machine = _machine()
    playouts = machine.playout(machine.initial(1000), np.random.default_rng(3))
    assert playouts.finished.all()
    assert playouts.goals[:, 0].mean() == pytest.approx(50, abs=6)
    assert playouts.goals[:, 2].mean() == pytest.approx(100 / 6, abs=5)
    assert playouts.steps.mean() == pytest.approx(9, abs=1)
    one_step = machine.playout(machine.initial(1000), np.random.default_rng(4), 1)
    assert (one_step.steps == 1).all()
    machine.close()


def test_a_playout_ends_where_a_role_has_no_move() -> None:
    machine = _machine(rules=STUCK)
    playouts = machine.playout(machine.initial(400), np.random.default_rng(2))
    assert set(zip(playouts.steps.tolist(), playouts.finished.tolist(), strict=True)) == {
        (3, False),
        (5, True),
    }
    assert playouts.finished.mean() == pytest.approx(2 / 3, abs=0.12)
    machine.close()
