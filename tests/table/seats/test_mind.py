"""Minds: a role's beliefs, and the values of its moves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.table.live import LiveTable, seats_of


def look(table: LiveTable, path: str) -> dict[str, list[Any]]:
    """All events of a look into a mind, by kind."""
    data_by_event: dict[str, list[Any]] = {}
    with table.stream(path) as events:
        for event in events:
            data_by_event.setdefault(event["event"], []).append(event["data"])
    return data_by_event


@pytest.fixture(scope="module")
def bomb(table: LiveTable) -> str:
    """A match of the bomb: in its second turn the agent may ask, or wait."""
    match: str = table.begin("exploding_bomb", {"agent": "random"}, seed=3)["id"]
    table.over(match)
    return match


def test_hyperplay_waits_and_hyperplay2_asks(table: LiveTable, bomb: str) -> None:
    events = look(table, f"/api/matches/{bomb}/mind?role=agent&turn=1")
    (belief,) = events["belief"]
    assert (belief["quality"]["how"], belief["quality"]["entries"]) == ("exact", 2)
    final = {entry["player"]: entry["decision"] for entry in events["values"] if entry["final"]}
    assert {name: entry["move"] for name, entry in final.items()} == {
        "hyperplay": "wait",
        "hyperplay2": "ask",
    }
    assert events["done"]


def test_lines_of_play_go_on_by_what_each_role_would_know(table: LiveTable, bomb: str) -> None:
    """Who asked knows the wire, and who waited has to guess."""

    def lines(move: str, first: int) -> list[Any]:
        path = f"/api/matches/{bomb}/mind?role=agent&turn=1&move={move}&line={first}"
        (event,) = look(table, path)["lines"]
        assert all(line["turns"][0]["agent"] == move for line in event["lines"])
        return list(event["lines"])

    lines_asked = [*lines("ask", 0), *lines("ask", 4)]
    assert [line["seed"] for line in lines_asked] == list(range(8))
    assert {line["goal"] for line in lines_asked} == {90}
    for line in lines_asked:
        (armed,) = line["supposed"]
        assert line["turns"][-1]["agent"] == armed.replace("armed", "cut")
    waited = [*lines("wait", 0), *lines("wait", 4)]
    assert {line["goal"] for line in waited} == {0, 100}
    assert lines("ask", 0) == lines_asked[:4]
    assert lines("nonsense", 0) == []


@pytest.mark.verify
def test_the_probability_of_each_fluent_is_shown(table: LiveTable, bomb: str) -> None:
    (belief,) = look(table, f"/api/matches/{bomb}/mind?role=agent&turn=1")["belief"]
    picture = str(belief["picture"])
    assert "0.5" in picture
    assert "round 1" in picture


def test_after_the_last_turn_minds_say_what_they_last_believed(table: LiveTable, bomb: str) -> None:
    last = len(table.get(f"/api/matches/{bomb}")["turns"]) - 1
    events = look(table, f"/api/matches/{bomb}/mind?role=agent&turn={last}")
    assert "values" not in events
    (belief,) = events["belief"]
    (before,) = look(table, f"/api/matches/{bomb}/mind?role=agent&turn={last - 1}")["belief"]
    assert belief["quality"]["entries"] >= 1
    assert (belief["last"], before["last"]) == (True, False)
    assert belief["picture"] == before["picture"]


@pytest.mark.parametrize("query", ["role=nobody&turn=1", "role=agent&turn=99", "role=agent&turn=x"])
def test_a_role_without_a_player_has_no_mind(table: LiveTable, bomb: str, query: str) -> None:
    assert table.request("GET", f"/api/matches/{bomb}/mind?{query}")[0] in (400, 404)


@pytest.mark.verify
def test_thoughts_of_players_are_streamed_while_they_think(table: LiveTable) -> None:
    match = table.begin("krieg_tic_tac_toe", {"xplayer": "human", "oplayer": "hyperplay2:n=2"})
    (seat,) = seats_of(match).values()
    path = f"/api/matches/{match['id']}/events?key={match['key']}"
    with table.stream(path) as events:
        table.play(seat)
        table.play(seat)
        thoughts = (event["data"] for event in events if event["event"] == "thought")
        thought = next(thought for thought in thoughts if len(thought["decision"]["values"]) > 1)
    assert thought["role"] == "oplayer"
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})
