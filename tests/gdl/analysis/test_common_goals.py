"""Games in which all players want the same are found from their rules, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.formal import shares_goals
from ggp.gdl.games import list_games
from ggp.gdl.normalize import load, normalize
from ggp.machine import build_machine
from ggp.machine.base import player_roles

RULES = "role(ann). role(ben). role(random). terminal :- true(over). init(safe). "
RULES += "legal(R, go) :- role(R). next(over) :- does(ann, go). next(safe) :- true(safe). "


def test_shared_goals_are_shared_in_every_match() -> None:
    shared = [name for name in list_games() if shares_goals(load(name))]
    assert shared == ["cooperative_spies"]
    machine = build_machine(load("cooperative_spies"), "prolog")
    playouts = machine.playout(machine.initial(50), np.random.default_rng(0))
    goals = playouts.goals[:, player_roles(machine)]
    assert (goals == goals[:, :1]).all()
    assert len(np.unique(goals)) > 1


@pytest.mark.parametrize(
    ("goals", "shared"),
    [
        ("goal(R, 100) :- role(R), distinct(R, random), true(safe).", True),
        ("goal(ann, 100) :- true(safe). goal(ben, 100) :- true(safe).", True),
        ("goal(ann, 100) :- true(safe). goal(ben, 100) :- true(over).", False),
        ("goal(ann, 100) :- true(safe). goal(ben, 50) :- true(safe).", False),
        ("goal(R, 100) :- role(R), true(has(R)). next(has(ann)) :- true(safe).", False),
        ("friend(ann). goal(R, 100) :- friend(R). goal(ben, 0).", False),
        ("friend(ann). goal(R, 100) :- role(R), not friend(R).", False),
    ],
)
def test_conditions_on_the_role_decide(goals: str, shared: bool) -> None:
    assert shares_goals(normalize(parse(RULES + goals))) is shared
