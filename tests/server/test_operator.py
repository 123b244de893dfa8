"""Messages about matches to the operator of a server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ggp.gdl.games import find_game, list_games, read_rulesheet
from ggp.players import Decision
from ggp.server import settings
from ggp.server.hosted_match import game_of
from ggp.server.operator import SOURCES, MoveTally, StatusFile
from ggp.server.settings import HostOptions
from ggp.server.workers.pair import MoveToSend
from tests.server.live import GUESSING, eventually, live_server, start
from tests.support.commands import json_of, run

PICKING = """
(role me) (role you) (init (step 0)) (succ 0 1) (succ 1 2) (bit 0) (bit 1)
(<= (legal ?r (pick ?b)) (role ?r) (bit ?b))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next won) (does me (pick 1)) (true (step 1)))
(<= terminal (true (step 2)))
(<= (goal me 70) (true won)) (<= (goal me 30) (not (true won))) (goal you 0)
"""
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages so far."""
    return [record.getMessage() for record in caplog.records if record.name == settings.__name__]


def test_operator_is_notified_when_a_match_begins_and_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", settings.__name__)
    names = ("open", "hidden", "broken")
    with live_server(HostOptions("legal", backend="prolog", matches=3)) as server:
        assert server.post(start("open", PICKING, "me")) == "ready"
        assert server.post("(PLAY open NIL)") == "(pick 0)"
        assert server.post("(PLAY open ((pick 1) (pick 0)))") == "(pick 0)"
        assert server.post("(STOP open ((pick 1) (pick 0)))") == "done"
        assert server.post(start("hidden")) == "ready"
        move = server.post("(PLAY hidden 0 NIL NIL)")
        move = server.post(f"(PLAY hidden 1 {move} ((hint 1)))")
        move = server.post(f"(PLAY hidden 2 {move} ((hint 0)))")
        assert server.post(f"(STOP hidden 3 {move} ((hint 1)))") == "done"
        eventually(lambda: len(lines_of(caplog)) == 4)
        assert server.post(start("broken")) == "ready"
        assert server.post("(ABORT broken)") == "aborted"
        eventually(lambda: len(lines_of(caplog)) == 6)
    open_match, hidden, broken = (
        [line for line in lines_of(caplog) if f"match {name}" in line] for name in names
    )
    size = len(" ".join(PICKING.split()))
    assert re.fullmatch(
        rf"{TIME} match open: other rules \({size} characters\), we are me, clocks 30 and 10 s, "
        r"from 127\.0\.0\.1, prolog",
        open_match[0],
    )
    assert re.search(
        r" match open, me: stop after 2 turns, 2 faults, score 70, prolog; 2 moves \(2 \w+\), "
        r"2 with particles, slowest \d+\.\d\d s, no kills$",
        open_match[1],
    )
    score = 100 if move == "(guess 0)" else 0
    assert f"guesser: stop after 3 turns, no faults, score {score}, prolog; 3 moves" in hidden[1]
    assert broken[1].endswith(
        ": abort after no turns, no faults, score unknown, prolog; 0 moves, no kills"
    )


@pytest.mark.parametrize("game", list_games())
def test_games_that_come_with_ggp_are_recognised(game: str) -> None:
    rules = [str(rule).upper() for rule in read_rulesheet(game).rules]
    assert game_of("\n".join(reversed(rules))) == game
    assert game_of("\n".join(rules[1:])) == ""


def test_other_rules_are_not_recognised_however_long_or_deep() -> None:
    longest = max(find_game(game).stat().st_size for game in list_games())
    for rules in (GUESSING, "", "(" * 1000, "(role a)" * longest):
        assert game_of(rules) == ""


def decision(particles: int) -> Decision:
    return Decision("a", (), particles, exact=False, states_visited=0, seconds=0.1, fault=None)


@pytest.mark.parametrize(
    ("choice", "source"),
    [
        (MoveToSend("a", "thinker", True, decision(3)), "search"),
        (MoveToSend("a", "understudy", False, decision(1)), "understudy"),
        (MoveToSend("a", "understudy", True, decision(0)), "guess"),
        (MoveToSend("a", "last resort", False, None), "last resort"),
    ],
)
def test_moves_are_counted_by_their_source(choice: MoveToSend, source: str) -> None:
    tally = MoveTally()
    tally.add(choice, 1.25)
    tally.add(choice, 0.5)
    num = 2 if source in ("search", "understudy") else 0
    assert tally.text(1) == f"2 moves (2 {source}), {num} with particles, slowest 1.25 s, 1 kill"
    assert tally.to_json()["sources"] == dict.fromkeys(SOURCES, 0) | {source: 2}


def test_status_shows_the_matches_of_running_servers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert "no server of yours is running" in run("status").output
    file = StatusFile(9147, "legal")
    with live_server(HostOptions("legal", backend="prolog", show=file.write)) as server:
        assert server.post(start("m")) == "ready"
        assert server.post("(PLAY m 0 NIL NIL)") in ("(guess 0)", "(guess 1)")
        eventually(lambda: json_of("status")["servers"][0]["matches"][0]["with_particles"] == 1)
        ((match,),) = (server["matches"] for server in json_of("status")["servers"])
        assert (match["match"], match["role"], match["backend"]) == ("m", "guesser", "prolog")
        assert (match["turns"], match["kills"], match["sources"]["last resort"]) == (0, 0, 0)
        assert "port 9147: legal" in run("status").output
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        (tmp_path / "ggp" / "servers" / "9148.json").write_text(f'{{"pid": {dead.pid}}}')
        (tmp_path / "ggp" / "servers" / "9149.json").write_text("nonsense")
        assert len(json_of("status")["servers"]) == 1
    file.remove()
    assert json_of("status") == {"servers": []}
