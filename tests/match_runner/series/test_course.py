"""The course of a series as a table and a chart, of stored series too."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from contextlib import closing
from math import fsum
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from match_runner import tournament as summary
from match_runner.cli import main
from match_runner.series.comparison import summarize
from match_runner.series.course import (
    ALL_GAMES,
    ALL_ROLES,
    EXPECTED,
    GOAL,
    MAX_POINTS,
    MEASURES,
    SCORE,
    SECONDS,
    STATES,
    Course,
    Row,
    _points,
    course_of,
)
from match_runner.series.holding import Snapshot, read_series
from match_runner.series.plan import Series
from match_runner.series.store import FILE
from match_runner.tournament import read_tournament
from tests.match_runner.series.comparisons import StoppedError, play, series_of

PLAYERS = ("hyperplay:n=2", "random")
TOURNAMENT = """
games = ["kuhn_poker", "exploding_bomb"]
rounds = 2
[players]
smart = "hyperplay:n=2"
dice = "random"
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


@pytest.fixture(scope="module")
def series() -> Series:
    return series_of("kuhn_poker", *PLAYERS, rounds=3)


@pytest.fixture(scope="module")
def folder(series: Series, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison that has been played."""
    place = tmp_path_factory.mktemp("series")
    play(series, place)
    return place


@pytest.fixture(scope="module")
def snapshot(series: Series, folder: Path) -> Snapshot:
    return play(series, folder)[0]


def of(course: Course, measure: str, role: str = ALL_ROLES) -> list[Row]:
    return course.of("kuhn_poker", PLAYERS[0], role, measure)


def test_the_last_score_is_that_of_the_tables(snapshot: Snapshot) -> None:
    course = course_of(snapshot)
    scores = of(course, SCORE)
    assert [row.at for row in scores] == [row.num for row in scores] == [1, 2, 3]
    last, total = scores[-1], summarize(snapshot).players[0].score
    assert (last.value, last.low, last.high) == (total.value, total.low, total.high)
    assert scores[0].low is None  # one round says nothing of how certain it is


def test_rows_by_turn_are_means_of_the_records(snapshot: Snapshot) -> None:
    course = course_of(snapshot)
    role = "player1"
    matches = [match for match in snapshot.matches if match.planned.seating[role] == 0]
    goals = of(course, GOAL, role)
    assert fsum(row.value * row.num for row in goals) == fsum(m.scored[role] for m in matches)
    assert {row.at for row in goals} == {len(match.record.turns) for match in matches}
    second = [match.record.turns[1].decisions[role] for match in matches]
    assert all(len(decision.values) > 1 for decision in second)
    values_of_move = [
        v.value for d in second for v in d.values if v.move == d.move and v.value is not None
    ]
    values = {row.at: row for row in of(course, EXPECTED, role)}
    assert values[2].value == pytest.approx(fsum(values_of_move) / len(values_of_move))
    states = {row.at: row for row in of(course, STATES, role)}
    assert states[2].value == pytest.approx(fsum(d.states_visited for d in second) / len(second))
    assert of(course, SECONDS, role)[0].at == 2
    assert {row.measure for row in course.rows} == set(MEASURES)


def test_long_series_have_scores_at_some_rounds() -> None:
    assert _points(0) == []
    assert _points(3) == [1, 2, 3]
    points = _points(12_345)
    assert len(points) == MAX_POINTS
    assert points == sorted(set(points))
    assert points[-1] == 12_345


@pytest.mark.verify
def test_show_writes_what_compare_writes(folder: Path, tmp_path: Path) -> None:
    outputs = ("--csv", str(tmp_path / "a.csv"), "--plot", str(tmp_path / "a.svg"))
    settings = ("--matches", "6", "--seed", "0", "--out", str(folder))
    compared_run = run("compare", "kuhn_poker", "--players", *PLAYERS, *settings, *outputs)
    assert compared_run.exit_code == 0, compared_run.output
    outputs = ("--csv", str(tmp_path / "b.csv"), "--plot", str(tmp_path / "b.svg"))
    output = run("show", str(folder), *outputs)
    assert output.exit_code == 0, output.output
    assert output.stdout == compared_run.stdout
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(Row._fields)
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


def test_show_knows_everything_of_a_series(series: Series, folder: Path) -> None:
    report = json.loads(run("show", str(folder), "--json").stdout)
    expected = summarize(play(series, folder)[0]).to_json()
    assert report == json.loads(json.dumps(expected))


@pytest.mark.verify
def test_a_tournament_is_shown_with_all_its_games(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(TOURNAMENT)
    snapshot, _ = play(read_tournament(file), tmp_path / "t")
    course = course_of(snapshot)
    assert course.scopes == ("kuhn_poker", "exploding_bomb", ALL_GAMES)
    assert [row.at for row in course.of(ALL_GAMES, "smart", ALL_ROLES, SCORE)] == [1, 2, 3, 4]
    assert {row.role for row in course.rows if row.game == ALL_GAMES} == {ALL_ROLES}
    report = run("show", str(tmp_path / "t"), "--json", "--plot", str(tmp_path / "t.png"))
    assert json.loads(report.stdout) == json.loads(
        json.dumps(summary.summarize(snapshot).to_json())
    )
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_an_unfinished_series_can_be_shown(series: Series, tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        play(series, tmp_path, stop_after=1)
    snapshot = read_series(tmp_path)
    assert (len(snapshot.matches), snapshot.planned) == (1, 6)
    assert not snapshot.fixed
    assert "1 of 6 matches" in run("show", str(tmp_path)).stdout


def test_series_that_cannot_be_shown_or_drawn_are_one_line_errors(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "series.sqlite").write_text("no such thing")
    for args, message in (
        (("show", str(tmp_path)), "holds no series: it has no series.sqlite"),
        (("show", str(tmp_path / "broken")), "file is not a database"),
        (("show", str(folder), "--plot", "x.bmp"), "give a file that ends in .png, .svg, .pdf"),
        (("show", str(folder), "--csv", str(tmp_path / "no" / "x.csv")), "cannot write"),
    ):
        result = run(*args)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_settings_that_were_damaged_are_said_in_a_line(folder: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as connection:
        (text,) = connection.execute("SELECT value FROM settings WHERE name = 'games'").fetchone()
    (game,) = json.loads(text).values()
    for number, (wrong, message) in enumerate(
        (
            ({"kuhn_poker": game | {"play_clock": "soon"}}, "could not convert string to float"),
            ({"meier": game}, "its matches are of no game of the series"),
        )
    ):
        damaged = shutil.copytree(folder, tmp_path / str(number))
        with closing(sqlite3.connect(damaged / FILE)) as connection, connection:
            connection.execute(
                "UPDATE settings SET value = ? WHERE name = 'games'", (json.dumps(wrong),)
            )
        result = run("show", str(damaged), "--plot", str(tmp_path / "x.svg"))
        assert result.exit_code == 2, result.output
        assert message in result.stderr
