"""What the lobby shows of a game: what is hidden, how long it takes, and its first choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ggp.errors import ConfigError
from ggp.gdl.games import find_game
from match_runner.pictures.side_file import side_file_of
from match_runner.table import match_manager
from match_runner.table import worker_tasks as previews
from match_runner.table.options import Offers
from match_runner.table.worker_tasks import TURNS, preview
from tests.table.live import SECRETS, WORDS, LiveTable, live_table


def preview_of(game: str) -> Any:
    path = find_game(game)
    return preview(game, path.read_text(encoding="utf-8"), side_file_of(path))


@pytest.mark.parametrize(
    ("game", "hidden", "turns"),
    [
        ("kuhn_poker", ["cards"], {"least": 3, "most": 4, "ends": True}),
        ("meier", ["dice"], {"least": 3, "most": 12, "ends": True}),
        ("monty_hall", ["car"], {"least": 3, "most": 3, "ends": True}),
        ("krieg_tic_tac_toe", ["the board"], {"least": 7, "most": 13, "ends": True}),
        ("tic_tac_toe", [], {"least": 7, "most": 9, "ends": True}),
        ("spy_vs_spy", ["which wire is armed"], {"least": 2, "most": 2, "ends": True}),
    ],
)
def test_it_says_what_is_hidden_and_how_many_turns_a_match_takes(
    game: str, hidden: list[str], turns: dict[str, Any]
) -> None:
    shown = preview_of(game)
    assert (shown["hidden"], shown["turns"]) == (hidden, turns)


def test_it_draws_the_first_choice_as_its_role_knows_it() -> None:
    shown = preview_of("kuhn_poker")
    own, other = (hand["cards"][0]["symbol"] for hand in shown["picture"]["cards"])
    assert own in ("J", "Q", "K")
    assert other == "?"
    assert shown["moves"] == ["bet", "check"]
    assert shown["roles"] == ["player1", "player2"]
    assert shown["has_chance"]


def test_nobodys_secret_is_in_the_picture() -> None:
    shown = json.dumps(preview("secrets", SECRETS, None))
    assert any(word in shown for word in WORDS["alice"])
    assert not any(word in shown for word in WORDS["bob"])


def test_a_game_that_does_not_end_is_left_after_some_turns() -> None:
    rules = "(role a) (init (n 1)) (legal a go) (legal a on) (<= (next (n 1)) (true (n 1)))"
    endless = preview("endless", f"{rules} (<= terminal (true (n 2))) (goal a 1)", None)
    assert endless["turns"] == {"least": TURNS, "most": TURNS, "ends": False}


TOLD = """
(role a) (role b) (mark x) (mark y) (init free) (init (control a)) (opponent a b)
(<= (legal ?r (put ?m)) (true (control ?r)) (mark ?m)) (<= (legal a noop) (true (control b)))
(<= (legal b noop) (true (control a))) (<= (next (control b)) (true (control a)))
(<= (next (at ?r ?m)) (does ?r (put ?m))) (<= (next (at ?r ?m)) (true (at ?r ?m)))
(<= (sees ?q (put ?r ?m)) (role ?q) (does ?r (put ?m)))
(<= terminal (true (at b ?m))) (goal a 50) (goal b 50)
"""


def test_moves_are_not_hidden_if_everybody_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preview("told", TOLD, None)["hidden"] == []
    monkeypatch.setattr(previews, "MAX_S", 0.0)
    assert preview("told", TOLD, None)["hidden"] is None


def test_a_game_is_looked_at_once_even_if_it_cannot_be_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = tmp_path / "games"
    games.mkdir()
    (games / "broken.gdl").write_text("(role a)")
    asked = []
    ask = match_manager.MatchManager._ask

    async def count(manager: Any, pool: Any, function: Any, *args: Any) -> Any:
        asked.append(function)
        return await ask(manager, pool, function, *args)

    monkeypatch.setattr(match_manager.MatchManager, "_ask", count)
    with live_table(tmp_path / "table", offers=Offers(games=games)) as table:
        (broken,) = (g["name"] for g in table.get("/api/lobby")["games"] if "broken" in g["name"])
        for _ in range(2):
            reply = table.get(f"/api/preview?game={broken}", status=400)
            assert "no rule for `legal`" in reply["error"]
    assert asked.count(preview) == 1


def test_rules_that_cannot_be_played_are_an_error_of_one_line() -> None:
    with pytest.raises(ConfigError, match="no rule for `legal`") as error:
        preview("broken", "(role a)", None)
    assert "\n" not in str(error.value)


def test_an_error_names_no_place_in_a_file_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ConfigError("<term>:1:1: error: too deep")

    monkeypatch.setattr(previews, "_preview", fail)
    with pytest.raises(ConfigError, match=r"^too deep$"):
        preview("broken", "(role a)", None)


def test_the_lobby_asks_for_games_that_it_offers(table: LiveTable) -> None:
    assert table.get("/api/preview?game=kuhn_poker")["hidden"] == ["cards"]
    assert "unknown game" in table.get("/api/preview?game=nothing", status=400)["error"]
    table.get("/api/preview", status=400)
    assert table.stranger().get("/api/preview?game=kuhn_poker", status=403)


def test_the_last_state_of_a_match_is_drawn_and_kept(table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "random", "oplayer": "random"}, seed=2)["id"]
    frame = table.over(match)["frame"]
    assert table.get(f"/api/matches/{match}/picture") == frame["state"]


def test_a_match_of_people_has_no_picture_for_others_before_its_end(table: LiveTable) -> None:
    match = table.begin("secrets", {"alice": "human", "bob": "random"}, rules=SECRETS)
    table.get(f"/api/matches/{match['id']}/picture", status=403)
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})
    table.get(f"/api/matches/{match['id']}/picture")
