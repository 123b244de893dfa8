"""Every game plays as it did when its golden trace was written.

A trace is replayed, never drawn again; see regenerate.py.
"""

from __future__ import annotations

import pytest

from tests.golden.numbers import main
from tests.golden.regenerate import FOLDER, SEEDS, SEPARATOR
from tests.support.games import BACKENDS, GAMES, machine_of_game
from tests.support.traces import replayed_trace


def test_every_game_has_a_golden_trace_and_every_trace_a_game() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(GAMES), (
        "run python -m tests.golden.regenerate"
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GAMES)
def test_golden_trace_replays(name: str, backend: str) -> None:
    machine = machine_of_game(name, backend)
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    title, *matches = text.split(SEPARATOR)
    assert title == f"{name}: {' '.join(machine.roles)}\n"
    assert len(matches) == len(SEEDS)
    for match in matches:
        number, trace = match.split("\n", 1)
        expected = trace.rstrip("\n").splitlines()
        assert replayed_trace(machine, trace).splitlines() == expected, f"match {number}"


def test_numbers_for_the_tables_come_from_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["kuhn_poker", "non_locality"])
    lines = capsys.readouterr().out.splitlines()
    assert 'PATHS: "kuhn_poker": (4, [6, 12, 24, 12]),' in lines
    assert 'LONGEST: "kuhn_poker": 4,' in lines
    assert 'SHARED_OUT: "kuhn_poker",' in lines
    assert 'PATHS: "non_locality": (3, [2, 4, 4]),' in lines
    assert 'ALL_KNOWING: "non_locality": {"max"},' in lines
    assert 'MEANS: "non_locality": {"max": 49.7, "min": 50.3},' in lines
    main([])
    assert capsys.readouterr().err.startswith("usage: ")
