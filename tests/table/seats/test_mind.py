"""Minds: what a role may believe, and what is thought of its moves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.table.live import LiveTable, seats_of


def look(table: LiveTable, path: str) -> dict[str, list[Any]]:
    """Everything a look into a mind tells, by kind."""
    told: dict[str, list[Any]] = {}
    with table.stream(path) as events:
        for event in events:
            told.setdefault(event["event"], []).append(event["data"])
    return told


@pytest.fixture(scope="module")
def bomb(table: LiveTable) -> str:
    """A match of the bomb: in its second turn the agent may ask, or wait."""
    match: str = table.begin("exploding_bomb", {"agent": "random"}, seed=3)["id"]
    table.over(match)
    return match


def test_hyperplay_waits_and_hyperplay2_asks(table: LiveTable, bomb: str) -> None:
    told = look(table, f"/api/matches/{bomb}/mind?role=agent&turn=1")
    (belief,) = told["belief"]
    assert (belief["quality"]["how"], belief["quality"]["entries"]) == ("exact", 2)
    final = {each["player"]: each["decision"] for each in told["values"] if each["final"]}
    assert {name: each["move"] for name, each in final.items()} == {
        "hyperplay": "wait",
        "hyperplay2": "ask",
    }
    assert told["done"]


def test_lines_of_play_go_on_by_what_each_role_would_know(table: LiveTable, bomb: str) -> None:
    """Who asked knows the wire, and who waited has to guess."""

    def lines(move: str, first: int) -> list[Any]:
        path = f"/api/matches/{bomb}/mind?role=agent&turn=1&move={move}&line={first}"
        (told,) = look(table, path)["lines"]
        assert all(line["turns"][0]["agent"] == move for line in told["lines"])
        return list(told["lines"])

    asked = [*lines("ask", 0), *lines("ask", 4)]
    assert [line["seed"] for line in asked] == list(range(8))
    assert {line["goal"] for line in asked} == {90}
    for line in asked:
        (armed,) = line["supposed"]
        assert line["turns"][-1]["agent"] == armed.replace("armed", "cut")
    waited = [*lines("wait", 0), *lines("wait", 4)]
    assert {line["goal"] for line in waited} == {0, 100}
    assert lines("ask", 0) == asked[:4]
    assert lines("nonsense", 0) == []


@pytest.mark.verify
def test_what_holds_with_which_probability_is_told(table: LiveTable, bomb: str) -> None:
    (belief,) = look(table, f"/api/matches/{bomb}/mind?role=agent&turn=1")["belief"]
    shown = str(belief["picture"])
    assert "0.5" in shown
    assert "round 1" in shown


def test_after_the_last_turn_there_is_nothing_to_think(table: LiveTable, bomb: str) -> None:
    last = len(table.get(f"/api/matches/{bomb}")["turns"]) - 1
    told = look(table, f"/api/matches/{bomb}/mind?role=agent&turn={last}")
    assert "values" not in told
    (belief,) = told["belief"]
    assert (belief["quality"]["entries"], belief["picture"]) == (0, None)


@pytest.mark.parametrize("query", ["role=nobody&turn=1", "role=agent&turn=99", "role=agent&turn=x"])
def test_there_is_no_mind_of_nobody(table: LiveTable, bomb: str, query: str) -> None:
    assert table.request("GET", f"/api/matches/{bomb}/mind?{query}")[0] in (400, 404)


@pytest.mark.verify
def test_what_players_think_is_told_while_they_do(table: LiveTable) -> None:
    begun = table.begin("krieg_tic_tac_toe", {"xplayer": "human", "oplayer": "hyperplay2:n=2"})
    (seat,) = seats_of(begun).values()
    path = f"/api/matches/{begun['id']}/events?key={begun['key']}"
    with table.stream(path) as events:
        table.play(seat)
        table.play(seat)
        thoughts = (event["data"] for event in events if event["event"] == "thought")
        thought = next(each for each in thoughts if len(each["decision"]["values"]) > 1)
    assert thought["role"] == "oplayer"
    table.post(f"/api/matches/{begun['id']}/end", {"key": begun["key"]})
