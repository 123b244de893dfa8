"""Matches at the table: questions and texts for people, hidden facts, and resumed matches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from match_runner.match.records import (
    TakenBack,
    check_record,
    read_record,
    record_from_json,
    rules_of,
)
from match_runner.table import match_manager
from match_runner.table.options import Offers
from tests.table.live import SECRETS, WORDS, LiveTable, live_table, seats_of
from tests.table.many_seats import play_rounds

COMPUTERS = {"xplayer": "random", "oplayer": "random"}


def record_of(table: LiveTable, folder: Path, match: str) -> Any:
    table.over(match)
    return read_record(folder / "matches" / match / "record.json")


def test_no_more_people_have_a_match_than_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match_manager, "MAX_WITH_PEOPLE", 1)
    game, players = "krieg_tic_tac_toe", {"xplayer": "human", "oplayer": "random"}
    request = {"game": game, "players": players}
    with live_table(tmp_path) as table:
        table.begin(game, players)
        refused = table.post("/api/matches", request, status=400)
        assert "there are 1 matches with people already; end one of them first" in str(refused)


@pytest.mark.verify
def test_twenty_people_play_at_once() -> None:
    report = play_rounds(20, 2, "random")
    assert len(report["rounds"]) == 2


def test_a_match_of_computers_is_played_recorded_and_replayed(tmp_path: Path) -> None:
    players = {"xplayer": "mine", "oplayer": "random"}
    with live_table(tmp_path, offers=Offers(players={"mine": "random"})) as table:
        match = table.begin("krieg_tic_tac_toe", players, seed=5)
        finished = table.over(match["id"])
        assert finished["match"]["players"] == players
        record = record_of(table, tmp_path, match["id"])
        assert record.players == COMPUTERS
        states = check_record(record, rules_of(record))
        assert len(finished["turns"]) == len(states) == len(record.turns) + 1
        assert finished["match"]["goals"] == dict(record.goals)
        first = table.get(f"/api/matches/{match['id']}/turns/1")
        assert first["moves"] == dict(record.turns[0].joint_move)
        table.get(f"/api/matches/{match['id']}/turns/{len(states)}", status=404)
    with live_table(tmp_path) as table:  # another server finds it, and plays it again
        assert table.get("/api/lobby")["matches"][0]["id"] == match["id"]
        with table.stream("/api/events") as events:
            assert next(events)["data"]["status"] == "over"
        replayed = table.get(f"/api/matches/{match['id']}")
        assert [turn["moves"] for turn in replayed["turns"]] == [
            t["moves"] for t in finished["turns"]
        ]


def test_the_same_seed_plays_the_same_match(table: LiveTable) -> None:
    def turns(seed: int) -> Any:
        match = table.begin("krieg_tic_tac_toe", COMPUTERS, seed=seed)["id"]
        return [turn["moves"] for turn in table.over(match)["turns"]]

    assert turns(11) == turns(11)
    assert turns(11) != turns(12)


def test_seeds_of_several_matches_count_upwards(table: LiveTable) -> None:
    data = {"game": "tic_tac_toe", "players": COMPUTERS, "seed": 40, "matches": 3}
    ids = [match["id"] for match in table.post("/api/matches", data)["matches"]]
    assert [table.over(match)["match"]["seed"] for match in ids] == [40, 41, 42]


def test_a_person_plays_a_whole_match(table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "random"})
    (seat,) = seats_of(match).values()
    for turn in range(9):
        view = table.until(f"/api/seats/{seat}", lambda t: t["ask"] or t["match"]["goals"])
        if view["ask"] is None:
            break
        assert view["ask"]["turn"] == turn
        assert len(view["turns"]) == turn + 1
        table.play(seat)
    assert table.over(match["id"])["match"]["error"] is None


def test_a_move_must_be_asked_for_and_legal(table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "random"})
    (seat,) = seats_of(match).values()
    table.until(f"/api/seats/{seat}", lambda view: view["ask"])
    path = f"/api/seats/{seat}/move"
    assert "not legal" in table.post(path, {"turn": 0, "move": "(mark 9 9)"}, 400)["error"]
    assert "not your move" in table.post(path, {"turn": 1, "move": "(mark 1 1)"}, 400)["error"]
    table.post(path, {"turn": 0, "move": "(mark 1 1)"})
    assert "not your move" in table.post(path, {"turn": 0, "move": "(mark 1 2)"}, 400)["error"]
    table.post("/api/seats/nobody/move", {"turn": 0, "move": "noop"}, 404)
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})


def secrets_match(table: LiveTable) -> Any:
    players = {"alice": "human", "bob": "human"}
    return table.begin("secrets", players, rules=SECRETS, seed=3)


def test_messages_to_a_seat_never_hold_secrets_of_another(table: LiveTable) -> None:
    match = secrets_match(table)
    tokens, seats = match["seats"], seats_of(match)
    events_of: dict[str, bytes] = {}
    for seat in seats.values():
        table.play(seat)
    for role, seat in seats.items():
        view = table.until(
            f"/api/seats/{seat}", lambda t: t["ask"] is not None and t["ask"]["turn"] == 1
        )
        assert view["turns"][1]["percepts"][0].startswith("(your ")
        with table.stream(f"/api/seats/{seat}/events") as events:
            first_events = [next(events) for _ in range(4)]
        paths = [f"/api/seats/{seat}", *(f"/api/seats/{seat}/turns/{n}" for n in (0, 1))]
        paths += ["/api/lobby", f"/api/matches/{match['id']}"]
        events_of[role] = json.dumps(first_events).encode()
        events_of[role] += b"".join(table.request("GET", path)[2] for path in paths)
    for role, opponent in (("alice", "bob"), ("bob", "alice")):
        assert any(word.encode() in events_of[role] for word in WORDS[role])
        assert not any(word.encode() in events_of[role] for word in WORDS[opponent])
        assert tokens[opponent].encode() not in events_of[role]
        assert match["key"].encode() not in events_of[role]
    for seat in seats.values():
        table.play(seat)
    view = table.over(match["id"])  # and afterwards everybody may know
    text = json.dumps(view)
    assert all(any(word in text for word in WORDS[role]) for role in WORDS)


def test_a_match_with_people_is_watched_by_its_key_only(table: LiveTable) -> None:
    match = secrets_match(table)
    path = f"/api/matches/{match['id']}"
    table.until(f"{path}?key={match['key']}", lambda view: view["frame"])
    for query in ("", "?key=", "?key=guess", f"/turns/0?key={match['seats']['alice']}"):
        assert table.get(f"{path}{query}", 403)["error"].startswith("people play")
    assert table.request("GET", f"{path}/events")[0] == 403
    assert table.request("GET", f"{path}/mind?role=alice&turn=0")[0] == 403
    table.post(f"{path}/end", {"key": "guess"}, 403)
    assert table.get("/api/lobby")["matches"][0]["seed"] is None
    table.post(f"{path}/end", {"key": match["key"]})
    assert table.over(match["id"])["match"]["error"] == "the match was ended"


@pytest.mark.verify
def test_where_everybody_sees_everything_spectators_see_all_but_minds(table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "hyperplay:n=2"})
    (seat,) = seats_of(match).values()
    table.play(seat)
    table.play(seat, "noop")  # now the other has thought
    path = f"/api/matches/{match['id']}"
    seen = table.until(path, lambda view: len(view["turns"]) == 3)
    assert seen["sees"] == "board"
    assert seen["frame"]["decisions"] == {}
    whole = table.get(f"{path}?key={match['key']}")
    assert whole["frame"]["decisions"]["oplayer"]["values"]
    assert whole["frame"]["state"] == seen["frame"]["state"]
    table.post(f"{path}/end", {"key": match["key"]})


@pytest.mark.verify
def test_a_clock_that_runs_out_makes_a_random_legal_move(table: LiveTable) -> None:
    players = {"xplayer": "human", "oplayer": "random"}
    match = table.begin("tic_tac_toe", players, human_clock_s=0.2)
    record = table.over(match["id"])
    assert record["match"]["error"] is None
    late = [turn["faults"] for turn in record["turns"][1:]]
    assert all(faults[0]["text"] == "gave no answer within 0.2 s" for faults in late)


@pytest.mark.verify
def test_a_seat_says_which_moves_it_can_know_to_be_legal(table: LiveTable) -> None:
    """White's own men are known; whether a try is possible hidden men decide."""
    match = table.begin("krieg_tic_tac_toe", {"xplayer": "human", "oplayer": "random"}, seed=1)
    (seat,) = seats_of(match).values()
    view = table.play(seat)
    assert all(move["sure"] for move in view["ask"]["moves"])
    assert view["frame"]["known"] == {"states": 1, "exact": True}
    view = table.until(f"/api/seats/{seat}", lambda t: t["ask"] and t["ask"]["turn"] == 1)
    assert all(move["sure"] for move in view["ask"]["moves"])
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})


def test_a_server_that_is_started_anew_goes_on_with_a_match(tmp_path: Path) -> None:
    """Chance and the other player go on as in a match that was not broken off."""
    players = {"alice": "human", "bob": "human"}

    def play_on(table: LiveTable, match: Any) -> None:
        table.sit(match)
        for seat in seats_of(match).values():
            table.play(seat, "(name high)")

    with live_table(tmp_path / "whole") as table:
        whole = table.begin("secrets", players, rules=SECRETS, seed=8)
        for seat in seats_of(whole).values():
            table.play(seat)
        play_on(table, whole)
        expected = record_of(table, tmp_path / "whole", whole["id"])
    with live_table(tmp_path / "broken") as table:
        match = table.begin("secrets", players, rules=SECRETS, seed=8)
        seat = seats_of(match)["alice"]
        for seat_of_role in seats_of(match).values():
            table.play(seat_of_role)
        view_before = table.until(
            f"/api/seats/{seat}", lambda t: t["ask"] and t["ask"]["turn"] == 1
        )
    with live_table(tmp_path / "broken") as table:
        table.sit(match)
        view_after = table.until(f"/api/seats/{seat}", lambda view: view["ask"])
        for name in ("turns", "ask", "role", "match"):
            assert view_after[name] == view_before[name]
        with table.stream(f"/api/seats/{seat}/events", view_before["last"]) as events:
            assert next(events)["event"] == "reset"
        play_on(table, match)
        resumed_record = record_of(table, tmp_path / "broken", match["id"])
    with live_table(tmp_path / "broken") as table:  # what the seat saw is gone, the truth is not
        table.sit(match)
        last = len(resumed_record.turns)
        assert table.get(f"/api/seats/{seat}")["played"] == last
        assert table.get(f"/api/seats/{seat}/truth/{last}")["over"]
    assert [t.joint_move for t in resumed_record.turns] == [t.joint_move for t in expected.turns]
    assert resumed_record.goals == expected.goals


@pytest.mark.verify
def test_turns_that_were_cut_off_are_played_again(tmp_path: Path) -> None:
    with live_table(tmp_path) as table:
        match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "random"})
        (seat,) = seats_of(match).values()
        table.play(seat)
        table.until(f"/api/seats/{seat}", lambda t: t["ask"] and t["ask"]["turn"] == 1)
    turns_file = tmp_path / "matches" / match["id"] / "turns.jsonl"
    turns_file.write_bytes(turns_file.read_bytes() + b'{"joint_move": {"xpl')
    with live_table(tmp_path) as table:
        table.sit(match)
        view = table.until(f"/api/seats/{seat}", lambda view: view["ask"])
        assert view["ask"]["turn"] == 1
        table.play(seat, "noop")
        table.until(f"/api/seats/{seat}", lambda t: t["ask"] and t["ask"]["turn"] == 2)
    assert len(turns_file.read_bytes().splitlines()) == 2


@pytest.mark.verify
def test_nothing_that_happens_is_missed_when_a_connection_breaks(table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "human"})
    seats = seats_of(match)
    path = f"/api/matches/{match['id']}/events?key={match['key']}"
    seen: list[int] = []
    last = None
    for _ in range(3):
        for seat in seats.values():
            table.play(seat)
        with table.stream(path, last) as events:
            for event in events:
                last = event.get("id", last)
                if event["event"] == "frame":
                    seen.append(event["data"]["turn"])
                    if len(seen) in (2, 3, 4):
                        break
    assert seen == [0, 1, 2, 3]
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})


def test_the_lobby_hears_of_matches_as_they_begin_and_end(table: LiveTable) -> None:
    last = table.get("/api/lobby")["last"]
    with table.stream(f"/api/events?after={last}") as events:
        match = table.begin("tic_tac_toe", COMPUTERS)["id"]
        for event in events:
            if event["data"]["id"] == match and event["data"]["status"] == "over":
                break
    assert event["data"]["goals"] is not None


def test_secrets_on_disk_are_for_this_user_only(tmp_path: Path) -> None:
    with live_table(tmp_path) as table:
        table.begin("tic_tac_toe", COMPUTERS)
        assert (tmp_path / "matches").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["(role", "", "(<= (legal a b) (nothing)) (role a)", "\x00" * 9])
def test_rules_that_cannot_be_played_say_why(table: LiveTable, text: str) -> None:
    answer = table.post("/api/rules", {"rules": text})
    assert not answer["ok"]
    assert answer["diagnostics"][0]["message"]
    data = {"game": "mine", "rules": text, "players": {"a": "random"}}
    assert table.post("/api/matches", data, 400)["error"]


@pytest.mark.verify
def test_ten_thousand_fluents_and_very_long_names_are_shown_in_part(table: LiveTable) -> None:
    numbers, name = " ".join(f"(n {i})" for i in range(100)), "x" * 990
    rules = f"""(role solo) {numbers} (init (named {name}))
    (<= (init (holds ?x ?y)) (n ?x) (n ?y)) (<= (next (holds ?x ?y)) (true (holds ?x ?y)))
    (<= (next (named ?who)) (true (named ?who))) (<= (next over) (does solo (greet ?who)))
    (<= (legal solo (greet ?who)) (true (named ?who))) (<= terminal (true over)) (goal solo 1)"""
    record = table.over(table.begin("large", {"solo": "random"}, rules=rules)["id"])
    assert record["match"]["goals"] == {"solo": 1}
    picture = record["frame"]["state"]
    assert len(json.dumps(picture)) < 2_000_000
    assert name not in json.dumps(picture)
    assert "and 5,002 more" in [fact["text"] for fact in picture["facts"]]


def test_rules_with_a_mistake_say_where(table: LiveTable) -> None:
    answer = table.post(
        "/api/rules", {"rules": SECRETS.replace("(true (step 1))", "(ture (step 1))")}
    )
    (diagnostic, *_) = answer["diagnostics"]
    assert diagnostic["line"] > 0
    assert "ture" in diagnostic["context"][diagnostic["caret"] :]


def test_after_a_move_is_taken_back_the_match_goes_on_from_before_it(table: LiveTable) -> None:
    """Everybody knows what they knew then, and the same moves lead to the same answers."""
    players = {"xplayer": "human", "oplayer": "random"}
    match = table.begin("krieg_tic_tac_toe", players, seed=5)
    (seat,) = seats_of(match).values()
    path = f"/api/seats/{seat}"
    first = table.play(seat, "(mark 2 2)")
    table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 1)
    table.play(seat, "noop")
    later = table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 2)
    table.post(f"{path}/back", {})
    assert len(table.get(path)["turns"]) == 1
    again = table.until(path, lambda now: now["ask"])
    assert (again["ask"]["moves"], again["frame"]) == (first["ask"]["moves"], first["frame"])
    table.play(seat, "(mark 2 2)")
    table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 1)
    table.play(seat, "noop")
    same = table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 2)
    assert same["frame"]["state"] == later["frame"]["state"]
    table.post(f"{path}/back", {})
    table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 0)
    table.post(f"{path}/resign", {})
    record = table.get(f"/api/matches/{match['id']}/record")
    assert record["turns"] == []
    assert record["error"] == "xplayer resigned"
    assert [taken["move"] for taken in record["taken_back"]] == ["(mark 2 2)"] * 2
    assert record_from_json(record).taken_back[0] == TakenBack(0, "xplayer", "(mark 2 2)")


def test_a_match_that_ends_before_it_hears_of_a_move_taken_back_is_played_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = match_manager.MatchManager._send

    def send_late(manager: Any, match: Any, message: Any) -> None:
        if message["kind"] == "back":  # as if the clock had run out at the same time
            message = {"kind": "move", "role": "a", "turn": 1, "move": "go"}
        send(manager, match, message)

    monkeypatch.setattr(match_manager.MatchManager, "_send", send_late)
    rules = """(role a) (legal a go) (legal a on) (init (n 0)) (succ 0 1) (succ 1 2) (goal a 1)
    (<= (next (n ?y)) (true (n ?x)) (succ ?x ?y)) (<= terminal (true (n 2)))"""
    with live_table(tmp_path) as table:
        match = table.begin("two_turns", {"a": "human"}, rules=rules)
        (seat,) = seats_of(match).values()
        path = f"/api/seats/{seat}"
        table.play(seat, "go")
        table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 1)
        table.post(f"{path}/back", {})
        table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 0)
        table.play(seat, "on")
        table.until(path, lambda now: now["ask"] and now["ask"]["turn"] == 1)
        table.play(seat, "on")
        record = record_of(table, tmp_path, match["id"])
    assert [turn.joint_move["a"] for turn in record.turns] == ["on", "on"]
    assert record.taken_back == (TakenBack(0, "a", "go"),)
