"""`match-runner reproduce 003-...`: heat maps of synthetic trees, and Kuhn's table."""

from __future__ import annotations

import contextlib
import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from matplotlib.image import imread

from ggp.errors import ConfigError
from ggp.labs.papers.reproduce import cli
from ggp.labs.papers.reproduce.paper_003 import trees as tree_figures
from ggp.labs.papers.reproduce.paper_003.kuhn_table import KuhnTable
from ggp.labs.papers.reproduce.paper_003.trees import (
    FILE,
    TREE_FIGURES,
    TreeCell,
    Trees,
    TreeScores,
    measure,
    measure_cells,
)
from ggp.labs.papers.reproduce.results import Result, RunSettings
from match_runner.cli import main
from match_runner.workers.executor import InlineExecutor


def settings(folder: Path, matches: int = 2) -> RunSettings:
    return RunSettings(matches, long=False, seed=0, backend="auto", folder=folder)


def stub(trees: Trees) -> list[TreeScores]:
    """Scores as the paper's: better with correlation, worst in the middle of disambiguation."""
    lc, b, df = trees.cell
    settled = lc == 1 and b in (0, 1)
    pimc = 0.0 if settled else -(0.3 - 0.1 * lc) * 4 * df * (1 - df)
    random = 0.0 if settled else -0.1 - 0.6 * df
    return [
        TreeScores(pimc + 0.001 * (k % 2), 2 * pimc, random, 2 * random, 0.01)
        for k in range(trees.first, trees.first + trees.count)
    ]


def figure_result(name: str, folder: Path, matches: int = 2) -> Result:
    (figure,) = (figure for figure in TREE_FIGURES if figure.name == name)
    steps: list[int] = []
    result = figure.run(settings(folder, matches), InlineExecutor(), lambda: steps.append(1))
    assert len(steps) == figure.size(settings(folder, matches))
    return result


# ---------------------------------------------------------------- trees


@pytest.mark.verify
def test_trees_do_not_depend_on_how_they_are_grouped() -> None:
    cell = TreeCell(0.5, 0.75, 0.5)
    all_four = measure(Trees(cell, 0, 4, seed=3))
    assert measure(Trees(cell, 2, 2, seed=3)) == all_four[2:]
    assert measure(Trees(cell, 0, 1, seed=4)) != all_four[:1]
    assert all(tree.nash_conv <= 0.01 for tree in all_four)
    assert all(tree.pimc_best_response <= tree.pimc + 0.01 for tree in all_four)


def test_trees_that_are_kept_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[Trees] = []

    def counting(trees: Trees) -> list[TreeScores]:
        batches.append(trees)
        return stub(trees)

    monkeypatch.setattr(tree_figures, "measure", counting)
    cells = [TreeCell(0.0, 0.5, 0.5), TreeCell(1.0, 0.5, 0.5)]

    def run(matches: int) -> Any:
        return measure_cells(cells, settings(tmp_path, matches), InlineExecutor(), lambda: None)

    run(2)
    first = list(batches)
    assert [(batch.cell, batch.first, batch.count) for batch in first] == [(c, 0, 2) for c in cells]
    longer = run(4)
    assert [(batch.first, batch.count) for batch in batches[2:]] == [(2, 2)] * 2
    assert longer == {cell: stub(Trees(cell, 0, 4, 0)) for cell in cells}
    run(4)
    assert len(batches) == 4


def test_trees_that_are_missing_in_between_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_figures, "measure", stub)
    cell = TreeCell(0.5, 0.5, 0.5)
    lines = [
        {"cell": cell, "first": first, "scores": stub(Trees(cell, first, count, 0))}
        for first, count in ((10, 3), (27, 1))
    ]
    (tmp_path / FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    steps: list[int] = []
    run_settings = settings(tmp_path, 30)
    trees = measure_cells([cell], run_settings, InlineExecutor(), lambda: steps.append(1))
    assert trees == {cell: stub(Trees(cell, 0, 30, 0))}
    assert len(steps) == 30


def test_a_line_that_was_cut_off_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_figures, "measure", stub)
    cells = [TreeCell(0.0, 0.5, 0.5), TreeCell(1.0, 0.5, 0.5)]
    whole = measure_cells(cells, settings(tmp_path), InlineExecutor(), lambda: None)
    file = tmp_path / FILE
    file.write_text(file.read_text()[:-9])
    repeated = measure_cells(cells, settings(tmp_path), InlineExecutor(), lambda: None)
    assert repeated == whole
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 2
    file.write_text("{}\n")
    with pytest.raises(ConfigError, match="line 1, holds no trees"):
        measure_cells(cells, settings(tmp_path), InlineExecutor(), lambda: None)


# ---------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "003-figure3",
            ["PIMC against an equilibrium"] * 3 + ["PIMC against a best response"] * 3,
        ),
        ("003-figure4", ["random against an equilibrium"] * 3),
        ("003-figure5", ["PIMC less random"] * 3),
    ],
)
def test_a_figure_has_three_panels_of_what_it_shows(
    name: str, rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_figures, "measure", stub)
    result = figure_result(name, tmp_path)
    assert [panel.row for panel in result.panels] == rows
    assert [panel.title for panel in result.panels[:3]] == [
        "(a) disambiguation 0.3",
        "(b) bias 0.75",
        "(c) leaf correlation 0.5",
    ]
    labels = [(panel.x, panel.y) for panel in result.panels[:3]]
    assert labels == [
        ("leaf correlation", "bias"),
        ("leaf correlation", "disambiguation"),
        ("bias", "disambiguation"),
    ]
    panel = result.panels[1]
    cell = TreeCell(panel.xs[2], 0.75, panel.ys[4])
    points = {(point.series, point.at): point.value.value for point in result.points}
    assert panel.values[4][2] == pytest.approx(points[panel.row, str(cell)])


@pytest.mark.parametrize(("matches", "verdicts"), [(2, {None}), (20, {True, False})])
def test_claims_are_judged_from_twenty_trees_on(
    matches: int, verdicts: set[bool | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_figures, "measure", stub)
    result = figure_result("003-figure3", tmp_path, matches)
    agree = {claim.text: claim.agrees for claim in result.claims}
    assert set(agree.values()) == verdicts
    if matches == 20:
        assert agree["PIMC where everybody knows the world (df = 1)"] is True
        assert (
            agree["PIMC loses less as leaf correlation grows (df = 0.3, mean of all biases)"]
            is True
        )
        # The stub loses more, not less, where correlation is low and disambiguation high.
        assert [text for text, is_true in agree.items() if not is_true and "df = 0.8" in text]


# ---------------------------------------------------------------- Kuhn


def test_kuhns_table(tmp_path: Path) -> None:
    result = KuhnTable().run(settings(tmp_path), InlineExecutor(), lambda: None)
    claims = {claim.text: claim for claim in result.claims}
    wrong = claims.pop("PIMC, player 1, against a best response")
    assert (wrong.expected, wrong.ours, wrong.agrees) == ("paper: -0.083", "-1/6 = -0.167", False)
    assert wrong.reason.startswith("It is exactly -1/6, however ties are broken. A queen")
    assert {claim.agrees for claim in claims.values()} == {True}
    assert claims["random, player 1, against an equilibrium"].ours == "-1/6 = -0.167"
    assert claims["random, player 2, against an equilibrium"].ours.startswith("-1/6 to -1/18 =")
    assert claims["PIMC, player 2, against an equilibrium"].ours == "1/18 = 0.056"
    assert claims["random, player 1, against a best response"].ours == "-5/12 = -0.417"


# ---------------------------------------------------------------- the command


def run(*args: str) -> Any:
    return CliRunner().invoke(main, ["reproduce", *args], prog_name="match-runner")


def executor_here(*_: object) -> Any:
    return contextlib.nullcontext(InlineExecutor())


def test_003_is_all_of_its_paper_and_everything_is_all_papers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_003 = ["003-figure3", "003-figure4", "003-figure5", "003-table1", "003-figure6"]
    assert [e.name for e in cli.experiments_of("003")] == of_003
    of_004 = [e.name for e in cli.experiments_of("all")]
    assert not set(of_004) & set(of_003)
    assert [e.name for e in cli.experiments_of("everything")] == of_004 + of_003
    for name in of_003:
        assert [e.name for e in cli.experiments_of(name)] == [name]


@pytest.mark.verify
def test_003_writes_heat_maps_and_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "open_executor", executor_here)
    monkeypatch.setattr(tree_figures, "measure", stub)
    monkeypatch.delitem(cli.PAPER_003, "003-figure6")
    result = run("003", "--matches", "2", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    report = (tmp_path / "003.md").read_text()
    assert report.startswith(
        "# The experiments of Long, Sturtevant, Buro & Furtak (AAAI 2010) again"
    )
    sizes = {"003-figure3": 960, "003-figure4": 510, "003-figure5": 510}
    for name, height in sizes.items():
        picture = imread(tmp_path / f"{name}.png")
        assert picture.shape[:2] == (height, 1590)
        assert picture.std() > 0.05
        assert f"({name}.png)" in report
        rows = list(csv.DictReader((tmp_path / f"{name}.csv").open()))
        assert f"All {len(rows)} points: `{name}.csv`." in report
    assert imread(tmp_path / "003-table1.png").std() > 0.01
    assert "| PIMC, player 1, against a best response | paper: -0.083 | -1/6 = -0.167 |" in report
    data = json.loads((tmp_path / "003.json").read_text())
    assert [len(entry["panels"]) for entry in data] == [6, 3, 3, 0]


@pytest.mark.verify
def test_quick_measures_ten_trees_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "open_executor", executor_here)
    monkeypatch.setattr(tree_figures, "measure", stub)
    monkeypatch.setattr(
        cli, "PAPER_003", {"003-figure4": replace(TREE_FIGURES[1], claims=lambda _: [])}
    )
    monkeypatch.setattr(tree_figures, "STEPS", (0.0, 1.0))
    result = run("003-figure4", "--quick", "--out", str(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    points = json.loads(result.stdout)["results"][0]["points"]
    assert {point["count"] for point in points} == {10}
