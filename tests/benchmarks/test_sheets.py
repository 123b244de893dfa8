"""Rulesheets that come with the benchmarks are games, and the same game on both backends."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.sheets import SHEETS
from ggp.gdl.normalize import load
from ggp.machine import Limits, build_machine
from ggp.study.rehearsal import rehearse
from tests.support.comparing.agreement import play_both

NAMES = [sheet.stem for sheet in SHEETS]

MATCHES, STEPS = 3, 40
PATIENT = Limits(grounding_seconds=120)


@pytest.mark.parametrize("sheet", SHEETS, ids=NAMES)
def test_the_rules_need_no_repair_and_say_what_they_are(sheet: Path) -> None:
    assert sheet.read_text(encoding="utf-8").startswith("; ")
    assert load(str(sheet), strict=True).diagnostics == ()


@pytest.mark.verify
@pytest.mark.parametrize("name", NAMES)
def test_matches_end_without_trouble(name: str) -> None:
    propnet = build_machine(load(str(SHEETS[NAMES.index(name)])), "propnet", PATIENT)
    playouts = rehearse(propnet, 50, seed=0)
    assert playouts.ended == 50
    assert playouts.troubles == ()


@pytest.mark.verify
@pytest.mark.parametrize("name", NAMES)
def test_both_backends_play_the_same(name: str) -> None:
    program = load(str(SHEETS[NAMES.index(name)]))
    prolog, propnet = build_machine(program, "prolog"), build_machine(program, "propnet", PATIENT)
    assert play_both(prolog, propnet, matches=MATCHES, max_steps=STEPS) >= MATCHES
    prolog.close()
