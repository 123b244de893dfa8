"""Machines against the plain reference, step by step, on random matches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.gdl import parse, read_rulesheet
from ggp.gdl.normalize import load, normalize
from tests.support.comparing.walks import walk_together
from tests.support.effort import rarely
from tests.support.games import (
    BACKENDS,
    MODEST_GAMES,
    SLOW_TO_REFEREE,
    build_here,
    machine_of_game,
    machine_of_shared,
    path_of_shared,
)
from tests.support.plain.reference import Reference

MATCHES, STEPS = 3, 40

SHARED_MATCHES = {
    "gdl1/buttons.kif": 1,
    "gdl1/blocksWorldSerial.kif": 1,
    "gdl1/connectFour.kif": 1,
    "gdl1/coloredtrails.kif": 1,
    "gdl1/doubletoetictac.kif": 1,
    "gdl1/eightPuzzle.kif": 1,
    "gdl1/firefighter.kif": 1,
    "gdl1/haystack.kif": 1,
    "gdl1/hanoi_6_disks.kif": 1,
    "gdl1/lightsOnSimul4.kif": 1,
    "gdl1/maze.kif": 1,
    "gdl1/minichess.kif": 1,
    "gdl1/nim4.kif": 1,
    "gdl1/ticTacToe.kif": 1,
    "gdl2/guessSix.gdl": 1,
    "gdl2/kriegTTT_4x4.gdl": 1,
    "gdl2/mastermind.gdl": 1,
    "gdl2/montyhall.gdl": 1,
    "gdl2/transit.gdl": 1,
}
"""Rulesheets by others, and how many matches to play."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODEST_GAMES)
def test_game_plays_as_its_rules_say(name: str, backend: str) -> None:
    reference = Reference(read_rulesheet(name).rules)
    matches, steps = SLOW_TO_REFEREE.get(name, (MATCHES, STEPS))
    for seed in range(matches):
        walk_together(machine_of_game(name, backend), reference, seed=seed, max_steps=steps)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", rarely(SHARED_MATCHES, [*SHARED_MATCHES][::2]))
def test_rulesheet_by_others_plays_as_its_rules_say(name: str, backend: str) -> None:
    machine = machine_of_shared(name, backend)
    reference = Reference(read_rulesheet(path_of_shared(name)).rules)
    for seed in range(SHARED_MATCHES[name]):
        walk_together(machine, reference, seed=seed, max_steps=25)


@pytest.mark.verify
def test_rulesheet_that_needs_repairs_plays_as_its_normalised_rules_say() -> None:
    name = "gdl2/sushi_go.kif"
    machine = machine_of_shared(name)
    reference = Reference.of_program(load(path_of_shared(name)))
    walk_together(machine, reference, seed=0, max_steps=4)


_held = st.sampled_from(["(true p)", "(not (true p))", "(true q)", "(true done)", "(value ?v)"])
_bodies = st.lists(_held | st.builds("(or {} {})".format, _held, _held), max_size=2)
_goal_rules = st.lists(
    st.builds(
        lambda role, value, body: f"(<= (goal {role} {value}) (value ?v) {' '.join(body)})",
        st.sampled_from(["a", "b", "?r"]),
        st.sampled_from(["0", "50", "100", "?v"]),
        _bodies,
    ),
    max_size=12,
)


@pytest.mark.verify
@settings(max_examples=12, deadline=None)
@given(
    _goal_rules, st.sampled_from(["", "(init p)", "(init q)", "(init p) (init q)"]), st.booleans()
)
def test_of_several_goals_the_same_counts_everywhere(
    goals: list[str], init: str, looks: bool
) -> None:
    text = f"""
    (role a) (role b) {init} (<= (legal ?r go) (role ?r)) (value 20) (value 70)
    (<= (next ?f) (true ?f)) (next done) (<= terminal (true done))
    {"(<= (next q) (goal a 50))" if looks else ""}
    """ + "\n".join(goals)
    program = normalize(parse(text))
    reference = Reference(parse(text).rules)
    for backend in BACKENDS:
        machine = build_here(program, backend)
        walk_together(machine, reference, seed=0, max_steps=2)
        start = machine.initial(3)
        successor = reference.step(reference.initial(), {"a": "go", "b": "go"}).state
        playouts = machine.playout(start, np.random.default_rng(0))
        assert playouts.goals.tolist() == [[reference.goal(successor, role) for role in "ab"]] * 3
        machine.close()
