"""The benchmark of loading: which seconds count for which phase, and the table it shows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.apart.load_phases import Phases
from benchmarks.loading import measure_sheet, sheets_in, show_loading


def test_time_of_an_inner_phase_does_not_count_for_the_outer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [0.0]
    monkeypatch.setattr("benchmarks.apart.load_phases.time.process_time", lambda: now_s[0])

    def work(seconds: float) -> None:
        now_s[0] += seconds

    module = SimpleNamespace(part=work)
    phases = Phases()
    phases.watch(module, "part", "part")

    def whole() -> None:
        work(1.0)
        module.part(2.0)
        module.part(4.0)

    phases.run("whole", whole)
    assert phases.seconds == {"whole": 1.0, "part": 6.0}


@pytest.mark.verify
def test_a_sheet_is_measured_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "inner" / "walk.gdl"
    sheet.parent.mkdir()
    sheet.write_text(
        "(role a) (s 1 2) (s 2 3) (init (at 1)) (<= (legal a go) (true (at ?x)))"
        "(<= (next (at ?y)) (true (at ?x)) (s ?x ?y) (does a go)) (<= terminal (true (at 3)))"
        "(<= (goal a 100) (true (at 3)))"
    )
    (broken := tmp_path / "broken.kif").write_text("(role a")
    assert sheets_in(tmp_path, tmp_path / "missing") == [broken, sheet]
    rows = [measure_sheet(path) for path in (broken, sheet)]
    assert "terminal" in rows[0]["failed"]
    assert rows[1]["literals"] <= rows[1]["built_literals"]
    assert sum(rows[1]["phases"].values()) <= rows[1]["cpu_s"]
    show_loading(rows)
    output = capsys.readouterr().out
    assert "1 sheets, CPU seconds" in output
    assert "walk" in output
    assert "invariants" in output
