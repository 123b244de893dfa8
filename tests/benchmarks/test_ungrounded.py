"""Rulesheets that do not ground are games, and their rows say how fast each backend plays them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sheets import SHEETS, UNGROUNDED
from benchmarks.tables.fallback import INTERPRETERS, measure_fallback, measure_fallbacks
from ggp.errors import ReasonerLimitError
from ggp.gdl.normalize import load
from ggp.machine import Machine, States, build_machine
from tests.support.comparing.agreement import play_both

CHESS = next(sheet for sheet in UNGROUNDED if sheet.stem == "chess_by_attacks")

ALL = pytest.mark.parametrize("sheet", UNGROUNDED, ids=lambda sheet: sheet.stem)


@ALL
def test_the_rules_need_no_repair_and_say_what_they_are(sheet: Path) -> None:
    assert sheet not in SHEETS
    assert sheet.read_text(encoding="utf-8").startswith("; ")
    assert load(str(sheet), strict=True).diagnostics == ()


@pytest.mark.parametrize("backend", INTERPRETERS)
def test_chess_has_as_many_openings_as_books_say(backend: str) -> None:
    machine = build_machine(load(str(CHESS)), backend)
    states = machine.initial(1)
    for openings in (20, 400):
        states = after_every_joint_move(machine, states)
        assert len(states) == openings
    machine.close()


@pytest.mark.verify
@ALL
@pytest.mark.parametrize("backend", [name for name in INTERPRETERS if name != "prolog"])
def test_whatever_interprets_rules_plays_as_prolog_does(sheet: Path, backend: str) -> None:
    program = load(str(sheet))
    machine, prolog = build_machine(program, backend), build_machine(program, "prolog")
    assert play_both(machine, prolog, matches=2, max_steps=40) >= 2
    machine.close()
    prolog.close()


def test_a_row_has_the_speed_of_every_backend_and_its_ratio_to_prolog(tmp_path: Path) -> None:
    sheet = tmp_path / "short.kif"
    sheet.write_text(
        "(role solo) (init (at 0)) (succ 0 1) (succ 1 2)"
        "(<= (legal solo go) (true (at ?x)))"
        "(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))"
        "(<= terminal (true (at 2))) (goal solo 100)"
    )
    row = measure_fallback(sheet, 0.01, 1)
    interpreters = [name for name in INTERPRETERS if name != "prolog"]
    assert list(row) == ["game", *INTERPRETERS, *(f"{name}/prolog" for name in interpreters)]
    assert row["game"] == "short"
    assert all(row[name] > 0 for name in INTERPRETERS)


@pytest.mark.verify
def test_a_backend_that_passes_a_limit_has_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise ReasonerLimitError("bytes of tables", 1, "playouts")

    monkeypatch.setattr("benchmarks.tables.fallback.measure", fail)
    row = measure_fallback(CHESS, 0.01, 1)
    assert [value for name, value in row.items() if name != "game"] == [""] * (len(row) - 1)


def test_rulesheets_by_others_are_measured_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[Path] = []

    def note(path: Path, seconds: float, rounds: int) -> dict[str, object]:
        measured.append(path)
        return {"game": path.stem}

    monkeypatch.setattr("benchmarks.tables.fallback.measure_fallback", note)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name in ("a/sudoku.kif", "b/sudoku.kif", "b/other.kif"):
        (tmp_path / name).touch()
    measure_fallbacks(None, 1.0, 1)
    assert measured == list(UNGROUNDED)
    measured.clear()
    measure_fallbacks(tmp_path, 1.0, 1)
    assert measured == [*UNGROUNDED, tmp_path / "a" / "sudoku.kif"]


def after_every_joint_move(machine: Machine, states: States) -> States:
    """The successors of all states by all joint moves."""
    legal = [machine.legal(states, role) for role in range(len(machine.roles))]
    lanes: list[int] = []
    joint: list[tuple[int, ...]] = []
    for lane in range(len(states)):
        actions = list(product(*(moves[lane].tolist() for moves in legal)))
        joint += actions
        lanes += [lane] * len(actions)
    copies = states.take(np.array(lanes, dtype=np.int64))
    return machine.step(copies, np.array(joint, dtype=np.int64)).states
