"""Records and series that lie in the table's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.gdl.normalize import load
from match_runner.match.record_files import write_record
from match_runner.match.referee import play_match
from match_runner.match.seats import set_up
from match_runner.series.plan import Series, SeriesGame
from match_runner.series.runner import run_series
from match_runner.series.store import open_store
from match_runner.table.clerk import standings
from match_runner.workers.inline import InlineExecutor
from tests.table.live import LiveTable, live_table

GAME = "monty_hall"


def play_series(folder: Path, rounds: int) -> None:
    """Play a small series, or go on with it."""
    program = load(GAME)
    players = {"lucky": "random", "first": "legal"}
    series = Series(players, (SeriesGame(GAME, program, rounds),))
    with open_store(folder, series) as store:
        run_series(series, store, InlineExecutor(), lambda match: None)


@pytest.fixture(scope="module")
def folder(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record, a series, and files that are neither."""
    found = tmp_path_factory.mktemp("shelf")
    arena = set_up(GAME, load(GAME), {"candidate": "random"})
    (found / "records").mkdir()
    write_record(play_match(arena, 3), found / "records")
    (found / "notes.json").write_text("[]")
    play_series(found / "runs" / "spring", 2)
    return found


@pytest.fixture(scope="module")
def shelf(folder: Path) -> Iterator[LiveTable]:
    with live_table(folder) as running:
        yield running


def test_records_of_the_folder_are_replayed(shelf: LiveTable, folder: Path) -> None:
    names = shelf.get("/api/lobby")["records"]
    (name,) = [each for each in names if each != "notes.json"]
    record = json.loads((folder / name).read_text())
    told = shelf.get(f"/api/records/{name}")
    assert told["match"]["goals"] == record["goals"]
    assert [t["moves"] for t in told["turns"][1:]] == [t["joint_move"] for t in record["turns"]]
    frame = shelf.get(f"/api/records/{name}/turns/1")
    assert frame["percepts"] == record["turns"][0]["percepts"]
    with shelf.stream(f"/api/records/{name}/mind?role=candidate&turn=1") as events:
        assert next(events)["event"] == "belief"


@pytest.mark.parametrize("name", ["notes.json", "nothing.json", "../x.json", "%2e%2e/x.json"])
def test_what_is_no_record_of_the_folder_is_refused(shelf: LiveTable, name: str) -> None:
    status, _, body = shelf.request("GET", f"/api/records/{name}")
    assert status in (400, 404)
    assert b"error" in body


def test_series_are_shown_with_their_standings_as_they_grow(shelf: LiveTable, folder: Path) -> None:
    (before,) = shelf.get("/api/series")["series"]
    assert (before["name"], before["played"], before["games"]) == ("runs/spring", 4, [GAME])
    assert {each["player"] for each in before["standings"]} == {"lucky", "first"}
    play_series(folder / "runs" / "spring", 3)
    (after,) = shelf.get("/api/series")["series"]
    assert after["played"] == 6


def test_a_series_that_is_damaged_says_so(tmp_path: Path) -> None:
    (tmp_path / "series.sqlite").write_bytes(b"nothing of the kind" * 100)
    with live_table(tmp_path) as table:
        (found,) = table.get("/api/series")["series"]
        assert "cannot be read" in found["error"]


def test_standings_are_those_of_the_command(folder: Path) -> None:
    told = standings(folder / "runs" / "spring")
    lucky = next(each for each in told["standings"] if each["player"] == "lucky")
    assert lucky["matches"] == told["played"] / 2
    assert 0 <= lucky["score"]["value"] <= 100
