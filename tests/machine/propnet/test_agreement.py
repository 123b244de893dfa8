"""The propositional network against the Prolog machine, on random matches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ggp.errors import ReasonerLimitError
from ggp.gdl.normalize import load
from ggp.machine import Limits, build_machine
from tests.support.comparing.agreement import play_both
from tests.support.effort import rarely
from tests.support.games import MODEST_GAMES, SHARED, SLOW_TO_REFEREE, machine_of_game

MATCHES, STEPS = 40, 60

SHARED_MATCHES = int(os.environ.get("GGP_AGREEMENT_MATCHES", "2"))
SHARED_STEPS = int(os.environ.get("GGP_AGREEMENT_STEPS", "6"))
GROUNDING_S = float(os.environ.get("GGP_AGREEMENT_GROUNDING_S", "1"))
"""By default a glance at every fourth rulesheet by others, if it grounds at once; with more of
each, and time, a thorough look at all."""

RULESHEETS = sorted(
    str(path.relative_to(SHARED))
    for folder in ("gdl1", "gdl2")
    for path in SHARED.glob(f"{folder}/*")
)[:: 4 if SHARED_MATCHES <= 2 else 1]

TOO_SLOW_ON_PROLOG = {"gdl1/amazonsTorus.kif", "gdl1/chess.kif"}
LONG = {"gdl1/amazonsTorus.kif", "gdl1/brawl.kif", "gdl1/checkers-cylinder-mustjump.kif"}


@pytest.mark.parametrize("name", MODEST_GAMES)
def test_both_backends_play_the_same_game(name: str) -> None:
    prolog, propnet = machine_of_game(name, "prolog"), machine_of_game(name, "propnet")
    matches, steps = SLOW_TO_REFEREE.get(name, (MATCHES, STEPS))
    assert play_both(prolog, propnet, matches=matches, max_steps=steps) >= matches


@pytest.mark.parametrize("name", rarely(RULESHEETS, {*RULESHEETS[1::2], *LONG}))
def test_both_backends_play_the_same_rulesheet_by_others(name: str) -> None:
    if name in TOO_SLOW_ON_PROLOG and SHARED_MATCHES > 2:
        pytest.skip("a handful of states a second on Prolog")
    program = load(str(Path(SHARED) / name))
    try:
        propnet = build_machine(program, "propnet", Limits(grounding_seconds=GROUNDING_S))
    except ReasonerLimitError:
        pytest.skip(f"does not ground within {GROUNDING_S:g} s")
    prolog = build_machine(program, "prolog")
    num_steps = play_both(prolog, propnet, matches=SHARED_MATCHES, max_steps=SHARED_STEPS)
    assert num_steps >= SHARED_MATCHES
    prolog.close()
