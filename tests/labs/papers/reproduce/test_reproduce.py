"""`match-runner reproduce`: small tables and figures, and the files written about them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner, Result
from matplotlib.image import imread

from ggp.errors import MatchError
from ggp.labs.papers.reproduce import cli, figures
from ggp.labs.papers.reproduce.figures import EXACT, PROMPT, SAMPLED, Figure
from ggp.labs.papers.reproduce.paper_004.figure3 import FIGURE_3
from ggp.labs.papers.reproduce.paper_004.figure4 import FIGURE_4
from ggp.labs.papers.reproduce.paper_004.figure5 import FIGURE_5
from ggp.labs.papers.reproduce.paper_004.others import LIMITATION
from ggp.labs.papers.reproduce.paper_004.tables import TABLE_1, TABLE_2
from ggp.labs.papers.reproduce.published import random_against_greedy
from ggp.labs.papers.reproduce.report import write_results
from ggp.labs.papers.reproduce.results import Experiment, Point, RunSettings
from ggp.labs.papers.reproduce.results import Result as Made
from ggp.statistics import STUDENT, Interval
from match_runner.cli import main
from match_runner.workers.executor import InlineExecutor, WorkerCrashError

pytestmark = pytest.mark.usefixtures("compiled")

T = TypeVar("T")


class Here(InlineExecutor):
    """Runs every task immediately in this process, and counts the tasks."""

    def __init__(self) -> None:
        self.done = 0

    def submit(self, function: Callable[..., T], args: tuple[Any, ...]) -> Future[T]:
        self.done += 1
        return super().submit(function, args)


def settings(folder: Path, matches: int = 4) -> RunSettings:
    return RunSettings(matches, long=False, seed=0, backend="auto", folder=folder)


def make(experiment: Experiment, run_settings: RunSettings) -> tuple[Made, int]:
    """An experiment made in this process, and how much it took."""
    steps = []
    result = experiment.run(run_settings, Here(), lambda: steps.append(1))
    assert len(steps) == experiment.size(run_settings)
    return result, len(steps)


class Crashing(Here):
    """Loses a worker with each piece of work that it is given for the first time."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.tries: dict[str, int] = {}

    def submit(self, function: Callable[..., T], args: tuple[Any, ...]) -> Future[T]:
        key = repr(args)
        self.tries[key] = self.tries.get(key, 0) + 1
        if self.tries[key] > self.most:
            return super().submit(function, args)
        future: Future[T] = Future()
        future.set_exception(WorkerCrashError("a worker process died"))
        return future


def claims_of(result: Made) -> dict[str, bool | None]:
    return {claim.text: claim.agrees for claim in result.claims}


def test_the_expected_score_of_random_play_is_the_one_worked_out_by_hand() -> None:
    assert random_against_greedy() == pytest.approx((125 / 11 + 50) / 2)


def test_table_1(tmp_path: Path) -> None:
    result, _ = make(TABLE_1, settings(tmp_path))
    values = {(p.series, p.at): p.value for p in result.points}
    assert len(values) == 8
    assert values["HyperPlay-II", "round 1: ask"] == Interval(90.0, 90.0, 90.0, STUDENT)
    assert values["HyperPlay-II", "round 2: cut unarmed"] == Interval(0.0, 0.0, 0.0, STUDENT)
    assert values["HyperPlay-II", "round 2: cut armed"] == Interval(90.0, 90.0, 90.0, STUDENT)
    assert values["HyperPlay", "round 1: ask"].value == pytest.approx(45, abs=2)
    assert values["HyperPlay", "round 1: wait"].value == pytest.approx(50, abs=2)
    assert set(claims_of(result).values()) == {True}


def test_table_2(tmp_path: Path) -> None:
    result, _ = make(TABLE_2, settings(tmp_path))
    assert set(claims_of(result).values()) == {True}
    for point in result.points:
        expected = {"tell": (60, 20), "hide": (40, 40)}[point.at.split()[-1]]
        assert point.value.value == pytest.approx(
            expected[point.series == "HyperPlay-II"], abs=6 if point.at.endswith("hide") else 2
        )


def test_a_worker_that_dies_costs_one_decision_of_a_table(tmp_path: Path) -> None:
    run_settings = settings(tmp_path, 2)
    lossless = TABLE_2.run(run_settings, Here(), lambda: None)
    assert TABLE_2.run(run_settings, Crashing(1), lambda: None) == lossless
    with pytest.raises(MatchError, match="decision 0 of table2 was tried 3 times"):
        TABLE_2.run(run_settings, Crashing(9), lambda: None)


def only(figure: Figure, *indices: int) -> Figure:
    return replace(figure, indices=indices)


@pytest.mark.verify
def test_figure_3_has_both_curves_and_hyperplay(tmp_path: Path) -> None:
    result, work = make(only(FIGURE_3, 1), settings(tmp_path, 2))
    assert work == 2 * 2 + 3 * 2
    assert [(p.series, p.at, p.count) for p in result.points] == [
        *((EXACT, at, 2) for at in ("0", "1")),
        *((SAMPLED, at, 2) for at in ("0", "1")),
        *((PROMPT, at, 2) for at in ("0", "1")),
        ("HyperPlay", "hyperplay:n=6", 2),
    ]
    assert result.points[3].player == "hyperplay2:n=1,exact=0,ties=random"
    assert claims_of(result)["HyperPlay (hyperplay:n=6) announces immediately"] is True


@pytest.mark.verify
def test_figure_4_compares_with_equal_states_and_with_a_strong_player(tmp_path: Path) -> None:
    result, _ = make(only(FIGURE_4, 8), settings(tmp_path))
    by_name = {(p.series, p.at): p for p in result.points}
    assert list(by_name) == [
        *((curve, at) for curve in (EXACT, SAMPLED, PROMPT) for at in ("0", "8")),
        ("against hyperplay:n=8", "8"),
    ]
    for curve in (EXACT, SAMPLED, PROMPT):
        point = by_name[curve, "8"]
        assert point.states is not None
        assert point.opponent_states == pytest.approx(point.states, rel=0.15)
    strong = by_name["against hyperplay:n=8", "8"]
    assert strong.value.value == 70
    claims = claims_of(result)
    assert claims["HyperPlay (hyperplay:n=8) as banker puts 100 into its bank"] is True
    assert claims["and keeps nothing"] is True
    assert claims["HyperPlay-II (n = 8) against 4,096 playouts a candidate"] is None
    assert {(row.series, row.at, row.role, row.turn) for row in result.states} == {
        (curve, "8", *at)
        for curve in (EXACT, SAMPLED, PROMPT)
        for at in (("banker", 2), ("thief", 3))
    }
    assert claims["HyperPlay-II (n = 8) as banker puts 40 into its bank"] is True


@pytest.mark.verify
def test_figure_5_tells_who_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Neither the strong opponent nor how sets are made matters to what is told.
    monkeypatch.setattr(figures, "STRONG", "hyperplay:n=2")
    exact = replace(figures.CURVES[SAMPLED], options=figures.CURVES[EXACT].options)
    monkeypatch.setitem(figures.CURVES, SAMPLED, exact)
    result, _ = make(only(FIGURE_5, 1), settings(tmp_path, 2))
    texts = [claim.text for claim in result.claims]
    assert [text.split(":")[0] for text in texts] == [
        *[f"HyperPlay-II (n = 1), {EXACT}"] * 4,
        *[f"HyperPlay-II (n = 1), {SAMPLED}"] * 3,
        *[f"HyperPlay-II (n = 1), {PROMPT}"] * 3,
    ]
    assert all(" of 2" in claim.ours for claim in result.claims if "scans" in claim.text)


@pytest.mark.verify
def test_experiments_whose_matches_all_crash_claim_nothing(tmp_path: Path) -> None:
    results = [
        experiment.run(settings(tmp_path, 2), Crashing(9), lambda: None)
        for experiment in (only(FIGURE_3, 1), LIMITATION)
    ]
    for result in results:
        assert result.failures
        assert {claim.agrees for claim in result.claims} == {None}
        assert {point.value.value for point in result.points} == {None}
    assert write_results(results, settings(tmp_path, 2), "0", "report")[0].exists()


@pytest.mark.verify
def test_matches_already_played_are_not_repeated(tmp_path: Path) -> None:
    limitation = LIMITATION
    first, _ = make(limitation, settings(tmp_path))
    executor = Here()
    repeated = limitation.run(settings(tmp_path), executor, lambda: None)
    assert executor.done == 0
    assert repeated == first


# ---------------------------------------------------------------- the command


@contextmanager
def executor_here(*_: object) -> Iterator[Here]:
    yield Here()


@pytest.fixture(autouse=True)
def _play_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "open_executor", executor_here)


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *args], prog_name="match-runner")


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures with their smallest indices only."""
    experiments: Mapping[str, Experiment] = {
        **cli.EXPERIMENTS,
        "figure3": only(FIGURE_3, 1),
        "figure4": only(FIGURE_4, 1),
    }
    quick = {name: e for name, e in experiments.items() if name not in ("figure5", "larger")}
    monkeypatch.setattr(cli, "EXPERIMENTS", quick)


@pytest.mark.verify
def test_all_writes_a_table_and_a_figure_of_each_and_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch)
    result = run("all", "--matches", "2", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    names = ("table1", "table2", "figure3", "figure4", "limitation")
    report = (tmp_path / "report.md").read_text()
    data = json.loads((tmp_path / "report.json").read_text())
    assert tuple(entry["name"] for entry in data) == names
    for name, entry in zip(names, data, strict=True):
        rows = list(csv.DictReader((tmp_path / f"{name}.csv").open()))
        assert len(rows) == len(entry["points"])
        for row, point in zip(rows, entry["points"], strict=True):
            assert (row["series"], row["at"]) == (point["series"], point["at"])
            assert float(row["value"]) == point["value"]["value"]
        picture = imread(tmp_path / f"{name}.png")
        assert picture.shape[:2] == (630, 1050)
        assert picture.std() > 0.05
        assert f"![{entry['title']}]({name}.png)" in report
    line = "| round 1: ask, HyperPlay-II | paper: 90.00 ± 0.00 | 90.00 ± 0.00 | agree |  |"
    assert line in report
    assert "Table 1: values in the Exploding Bomb, on propnet\n" in result.stdout
    assert f"report: {tmp_path / 'report.md'}\n" in result.stdout


def test_json_lists_the_results(tmp_path: Path) -> None:
    result = run("table2", "--matches", "2", "--out", str(tmp_path), "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert [entry["name"] for entry in report["results"]] == ["table2"]
    assert report["files"] == [
        str(tmp_path / f"table2.{ending}") for ending in ("md", "json", "csv", "png")
    ]
    assert all(Path(file).exists() for file in report["files"])


def test_every_experiment_of_the_paper_can_be_named() -> None:
    names = {"table1", "table2", "figure3", "figure4", "figure5", "limitation", "larger"}
    assert set(cli.EXPERIMENTS) == names


@pytest.mark.verify
def test_matches_can_be_added_and_other_settings_need_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("limitation", "--matches", "2").exit_code == 0
    folder = ("--out", "runs/limitation")
    assert run("limitation", "--matches", "4", *folder).exit_code == 0
    result = run("limitation", "--matches", "4", "--seed", "1", *folder)
    assert result.exit_code == 2
    assert "was made with --seed 0, not 1" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("figure9", "--out", "x"), "figure9"),
        (("table1", "--out", "x", "--matches", "1"), "1"),
        (("table1", "--out", "x", "--matches", "5"), "5 is odd"),
        (("table1", "--out", "/dev/null/x"), "/dev/null"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(args: tuple[str, ...], message: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_interrupt_keeps_files_that_are_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped:
        name = "stopped"

        def size(self, _: RunSettings) -> int:
            return 1

        def run(self, *_: object) -> Made:
            raise KeyboardInterrupt

    monkeypatch.setattr(cli, "EXPERIMENTS", {"table2": TABLE_2, "stopped": Stopped()})
    result = run("all", "--matches", "2", "--out", str(tmp_path))
    assert result.exit_code == 130
    assert (tmp_path / "table2.csv").exists()
    assert (tmp_path / "report.partial.md").exists()
    assert not (tmp_path / "report.md").exists()
    assert "interrupted after 1 of 2; the same command continues\n" in result.stderr


def test_an_error_keeps_files_that_are_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        name = "broken"

        def size(self, _: RunSettings) -> int:
            return 1

        def run(self, *_: object) -> Made:
            raise MatchError("no cluster any more")

    monkeypatch.setattr(cli, "EXPERIMENTS", {"table2": TABLE_2, "broken": Broken()})
    result = run("all", "--matches", "2", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert (tmp_path / "report.partial.md").exists()
    assert result.stderr == "error: no cluster any more\n"


def test_a_point_without_interval_is_drawn(tmp_path: Path) -> None:
    from ggp.labs.papers.reproduce.report import draw

    points = (
        Point("a", "x", Interval(40.0), 1, 1, "random"),
        Point("a", "y", Interval(None), 0, 0, "x"),
    )
    draw(Made("one", "One", "", "mean score", points, ()), tmp_path / "one.png")
    assert imread(tmp_path / "one.png").std() > 0.01
