"""Tables and reports, for people and for programs."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from ggp.console import print_rich, show_report
from ggp.report import Report, Table, rounded
from ggp.statistics import Interval

TABLE = Table(
    ("name", ("#share", ".2f"), ("#num", ",")),
    [("a\x07b", 0.5, 1234), ("<c>", None, None), ("d", Interval(0.25, 0.1), 1)],
    "of all",
)


def test_values_are_written_by_the_format_of_their_column() -> None:
    assert TABLE.texts() == [["a\x07b", "0.50", "1,234"], ["<c>", "-", "-"], ["d", "0.25", "1"]]
    assert f"{Interval(0.25, 0.125, 0.5).percent:.1f}" == "25.0 [12.5, 50.0]"
    assert (f"{Interval(None)}", f"{Interval(1.0, 0.5, 2.0)}") == ("-", "1.00 [0.50, 2.00]")
    assert Interval(1.0, 0.5, 2.0).error == 1.0


def test_a_table_is_safe_in_terminals_and_notebooks() -> None:
    console = Console(width=60, record=True, file=StringIO())
    console.print(TABLE)
    lines = console.export_text().splitlines()
    assert lines[0].strip() == "of all"
    assert lines[1].split() == ["name", "share", "num"]
    assert any(line.split() == ["a", "b", "0.50", "1,234"] for line in lines)
    assert "&lt;c&gt;" in TABLE.html()
    assert TABLE.html().count("text-align:right") == 2 * 4


@pytest.mark.parametrize("width", [10, 30, 60])
def test_no_number_is_cut_however_narrow_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("ggp.console._PIPE_WIDTH", width)
    numbers = [10**k for k in range(5, 9)]
    print_rich(Table([(f"#goal of player{n}", ",") for n in range(4)], [numbers]))
    shown = capsys.readouterr().out
    assert [number for number in numbers if f"{number:,}" not in shown] == []
    assert shown.count("player") == 4
    assert "…" not in shown


def test_a_report_is_for_people_or_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    def parts() -> list[Table | str]:
        return [Table(("#n",), [(1,)]), "a\tline <b>"]

    report = Report({"n": 1}, parts()).seeded(3, "propnet")
    show_report(report, as_json=True)
    assert capsys.readouterr().out == '{\n  "n": 1,\n  "seed": 3,\n  "backend": "propnet"\n}\n'
    show_report(report, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["a\tline <b>", "seed 3, on propnet"]
    assert "&lt;b&gt;" in Report(1, parts())._repr_html_()


def test_rounding_goes_into_values() -> None:
    noisy = {"a": [0.1 + 0.2, (1 / 3, None)], "n": 7, "t": "x", "b": True}
    assert rounded(noisy, 3) == {"a": [0.3, [0.333, None]], "n": 7, "t": "x", "b": True}
