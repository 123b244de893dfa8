"""Records and series that lie in the table's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.gdl.normalize import load
from match_runner.match.records import write_record
from match_runner.match.referee import play_match
from match_runner.match.seats import set_up
from match_runner.series.holding import run_series
from match_runner.series.plan import Series, SeriesGame
from match_runner.series.store import open_store
from match_runner.table.match_folder import StoredFiles
from match_runner.table.worker_tasks import standings
from match_runner.workers.executor import InlineExecutor
from tests.table.live import SECRETS, WORDS, LiveTable, live_table
from tests.table.server_logs import Turn, write_log

GAME = "monty_hall"

CALLS = """
(role left) (role right) (init (step 0)) (succ 0 1) (succ 1 2)
(<= (legal ?r (name heads)) (role ?r))
(<= (legal ?r (name tails)) (role ?r))
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
(<= (next (called ?r ?what)) (does ?r (name ?what)))
(<= same (true (called left ?what)) (true (called right ?what)))
(<= terminal (true (step 2)))
(<= (goal left 100) same) (<= (goal left 0) (not same))
(<= (goal right 0) same) (<= (goal right 100) (not same))
"""
"""Everybody hears every move, and the second calls decide."""


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
    stored_folder = tmp_path_factory.mktemp("stored")
    arena = set_up(GAME, load(GAME), {"candidate": "random"})
    (stored_folder / "records").mkdir()
    write_record(play_match(arena, 3), stored_folder / "records")
    (stored_folder / "notes.json").write_text("[]")
    play_series(stored_folder / "runs" / "spring", 2)
    logs = stored_folder / "logs"
    logs.mkdir()
    calls = [("(name heads)", "(name heads)"), ("(name tails)", "(name heads)")]
    percepts = [("(name heads)", "(name tails)"), ("(name heads)", "(name heads)")]
    turns = [(*call, percept) for call, percept in zip(calls, percepts, strict=True)]
    write_log(logs, "calls.1", "left", CALLS, turns, style="ggp-base")
    turns_written: list[Turn] = [
        ("noop", "noop", ("(your bandicoot)",)),
        ("(name low)", "(name low)", None),
    ]
    write_log(logs, "secrets.1", "bob", SECRETS, turns_written, style="gdl2")
    write_log(logs, "broken.1", "bob", SECRETS, turns_written[:1], style="gdl2", why=None)
    (logs / "other.jsonl").write_text('{"event": "something else"}\n')
    return stored_folder


def log_of(stored: LiveTable, match: str) -> tuple[str, Any]:
    """The path of a log among the records, and its view."""
    (log,) = (log for log in stored.get("/api/lobby")["logs"] if log["match"] == match)
    path = f"/api/records/{log['name']}"
    return path, stored.get(path)


@pytest.fixture(scope="module")
def stored(folder: Path) -> Iterator[LiveTable]:
    with live_table(folder) as running:
        yield running


def test_records_of_the_folder_are_replayed(stored: LiveTable, folder: Path) -> None:
    names = stored.get("/api/lobby")["records"]
    (name,) = [file for file in names if file != "notes.json"]
    record = json.loads((folder / name).read_text())
    record_view = stored.get(f"/api/records/{name}")
    assert record_view["match"]["goals"] == record["goals"]
    assert [t["moves"] for t in record_view["turns"][1:]] == [
        t["joint_move"] for t in record["turns"]
    ]
    frame = stored.get(f"/api/records/{name}/turns/1")
    assert frame["percepts"] == record["turns"][0]["percepts"]
    with stored.stream(f"/api/records/{name}/mind?role=candidate&turn=1") as events:
        assert next(events)["event"] == "belief"


def test_logs_of_the_server_are_listed(stored: LiveTable, folder: Path) -> None:
    logs = stored.get("/api/lobby")["logs"]
    assert {log["match"] for log in logs} == {"calls.1", "secrets.1", "broken.1"}
    assert {(log["role"], log["player"]) for log in logs} == {
        ("left", "hyperplay2"),
        ("bob", "hyperplay2"),
    }
    elsewhere = StoredFiles(folder / "records", folder / "logs")
    assert sorted(log["name"] for log in elsewhere.logs()) == sorted(log["name"] for log in logs)
    assert elsewhere.path(logs[0]["name"]).is_file()


def test_a_log_that_tells_all_moves_shows_the_state(stored: LiveTable) -> None:
    path, log_view = log_of(stored, "calls.1")
    assert log_view["match"]["goals"] == {"left": 100, "right": 0}
    assert (log_view["match"]["roles"], log_view["match"]["error"]) == (["left", "right"], None)
    assert [turn["moves"] for turn in log_view["turns"]] == [
        {},
        {"left": "(name heads)", "right": "(name tails)"},
        {"left": "(name heads)", "right": "(name heads)"},
    ]
    last = log_view["frame"]
    assert last["over"]
    assert last["faults"] == [
        {"role": "left", "text": "answered (name tails), but (name heads) was played"}
    ]
    assert "known" not in last
    decision = stored.get(f"{path}/turns/1")["decisions"]["left"]
    assert (decision["move"], decision["values"][0]["value"]) == ("(name heads)", 70.0)
    assert "called" in json.dumps(last["state"])


def test_a_log_of_hidden_moves_shows_what_the_role_knew(stored: LiveTable) -> None:
    path, log_view = log_of(stored, "secrets.1")
    assert log_view["match"]["roles"] == ["bob"]
    assert log_view["match"]["goals"] == {"bob": 0}
    assert log_view["frame"]["known"] == {"states": 3, "exact": False}
    first, second = (stored.get(f"{path}/turns/{turn}") for turn in (1, 2))
    assert (first["moves"], first["percepts"]) == ({"bob": "noop"}, {"bob": ["(your bandicoot)"]})
    assert (second["moves"], second["percepts"]) == ({"bob": "(name low)"}, {"bob": []})
    assert "bandicoot" in json.dumps(first["state"])
    assert not any(word in json.dumps(second["state"]) for word in WORDS["alice"])
    with stored.stream(f"{path}/mind?role=bob&turn=1") as events:
        belief = next(events)["data"]
    assert (belief["quality"]["how"], belief["quality"]["entries"]) == ("exact", 3)
    assert stored.request("GET", f"{path}/mind?role=alice&turn=1")[0] == 404


def test_a_log_that_breaks_off_says_so(stored: LiveTable) -> None:
    _, log_view = log_of(stored, "broken.1")
    assert len(log_view["turns"]) == 1
    assert log_view["match"]["error"].startswith("in the log: it breaks off")


@pytest.mark.parametrize(
    "name", ["logs/other.jsonl", "notes.json", "nothing.json", "../x.json", "%2e%2e/x.json"]
)
def test_paths_that_are_no_records_of_the_folder_are_refused(stored: LiveTable, name: str) -> None:
    status, _, body = stored.request("GET", f"/api/records/{name}")
    assert status in (400, 404)
    assert b"error" in body


def test_series_are_shown_with_their_standings_as_they_grow(
    stored: LiveTable, folder: Path
) -> None:
    (earlier,) = stored.get("/api/series")["series"]
    assert (earlier["name"], earlier["played"], earlier["games"]) == ("runs/spring", 4, [GAME])
    assert {entry["player"] for entry in earlier["standings"]} == {"lucky", "first"}
    play_series(folder / "runs" / "spring", 3)
    (later,) = stored.get("/api/series")["series"]
    assert later["played"] == 6


@pytest.mark.verify
def test_a_series_that_is_damaged_says_so(tmp_path: Path) -> None:
    (tmp_path / "series.sqlite").write_bytes(b"nothing of the kind" * 100)
    with live_table(tmp_path) as table:
        (entry,) = table.get("/api/series")["series"]
        assert "cannot read" in entry["error"]


@pytest.mark.verify
def test_standings_are_those_of_the_command(folder: Path) -> None:
    report = standings(folder / "runs" / "spring")
    lucky = next(entry for entry in report["standings"] if entry["player"] == "lucky")
    assert lucky["matches"] == report["played"] / 2
    assert 0 <= lucky["score"]["value"] <= 100
