"""Who is let in: those with the table's link, those with a seat's, and nobody else."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from match_runner.table import guard
from match_runner.table.match_folder import MatchFolder
from match_runner.table.options import AllowedHosts
from tests.table.live import LiveTable, live_table, seats_of
from tests.table.test_stored_files import GAME

JSON = {"content-type": "application/json"}
OPEN = "/seat", "/static", "/api/alive"


@pytest.fixture(scope="module")
def started(table: LiveTable) -> Any:
    """A match that two people play, and that goes on."""
    players = {"xplayer": "human", "oplayer": "human"}
    return table.begin("krieg_tic_tac_toe", players)


def every_path(started: Any) -> list[tuple[str, str]]:
    """Everything there is to ask for, and more."""
    match = f"/api/matches/{started['id']}"
    seat = f"/api/seats/{seats_of(started)['xplayer']}"
    paths = ["/", "/nothing", f"/match/{started['id']}", f"/seat/{seats_of(started)['xplayer']}"]
    paths += ["/record/x.json", "/static/table.js", "/static/icon.svg", "/static/nothing"]
    paths += ["/api/lobby", "/api/events", "/api/alive", "/api/series", "/api/nothing"]
    paths += [match, f"{match}/events", f"{match}/turns/0", f"{match}/mind?role=xplayer&turn=0"]
    paths += [f"{match}?key={started['key']}", "/api/records/x.json", "/api/records/x.json/turns/0"]
    paths += [seat, f"{seat}/events", f"{seat}/turns/0", "//", "/static/../api/lobby"]
    posts = ["/api/rules", "/api/player", "/api/matches", f"{match}/end", f"{seat}/move"]
    return [("GET", p) for p in paths] + [("HEAD", p) for p in paths] + [("POST", p) for p in posts]


def status_of(table: LiveTable, method: str, path: str, **data: Any) -> int:
    body = json.dumps(data).encode() if method == "POST" else None
    return table.request(method, path, body, JSON if body else None)[0]


def test_without_a_token_there_is_403_and_nothing_else(table: LiveTable, started: Any) -> None:
    for cookies in ({}, {f"ggp-table-{table.port}": "guess"}, {"ggp-table-1": table.link[8:]}):
        stranger = table.stranger()
        stranger.cookies = cookies
        for method, path in every_path(started):
            status, headers, body = stranger.request(method, path, None, JSON)
            assert status == 403, (method, path)
            assert "set-cookie" not in headers
            assert body in (b"",) or b"you need a link" in body.lower()
            assert len(body) < 500
    assert status_of(table.stranger(), "PUT", "/api/lobby") == 403
    for odd in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        assert table.stranger().request("GET", "/api/lobby", None, odd)[0] == 403
    assert b"<h1>403: the link is missing</h1>" in table.stranger().request("GET", "/")[2]
    for link in ("/?token=", "/?token=guess", f"/api/lobby{table.link[1:]}", "/seat/x?token=x"):
        assert status_of(table.stranger(), "GET", link) == 403


def test_a_link_gives_a_cookie_and_leads_to_the_address_without_its_token(
    table: LiveTable,
) -> None:
    token = table.link.partition("=")[2]
    path = f"/match/x%20y?key=k%26&token={token}"
    status, headers, body = table.stranger().request("GET", path)
    assert (status, headers["location"], body) == (303, "/match/x%20y?key=k%26", b"")
    cookie = f"ggp-table-{table.port}={token}; HttpOnly; Path=/; SameSite=strict"
    assert headers["set-cookie"] == cookie
    status, headers, _ = table.stranger().request("GET", f"//evil.example/?token={token}")
    assert headers["location"] == "/evil.example/"
    # Who is in already may follow an old link.
    status, headers, _ = table.request("GET", "/?token=old")
    assert (status, headers["location"], "set-cookie" in headers) == (303, "/", False)


def test_behind_a_proxy_with_https_the_cookie_is_for_https_only(tmp_path: Path) -> None:
    names = AllowedHosts(origin="https://table.example")
    with live_table(tmp_path, names=names) as table:
        _, headers, _ = table.stranger().request("GET", table.link)
        assert "; Secure" in headers["set-cookie"]
        assert "age" not in headers["set-cookie"].lower()  # until the browser is closed


def test_a_link_from_another_site_passes_through_our_own_page(table: LiveTable) -> None:
    """Browsers send no strict cookie where a redirection of another site's link leads."""
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    status, answer, body = table.stranger().request("GET", table.link, headers=headers)
    assert (status, answer["refresh"]) == (200, "0; url=/")
    assert "set-cookie" in answer
    assert table.link[8:] not in body.decode()


def test_a_seats_link_lets_one_sit_there_and_do_nothing_else(
    table: LiveTable, started: Any
) -> None:
    person = table.stranger(started["links"]["xplayer"])
    seats = seats_of(started)
    own_seat = seats["xplayer"]
    question = person.until(f"/api/seats/{own_seat}", lambda view: view["ask"])
    assert (question["role"], question["more"], question["open_minds"]) == ("xplayer", False, False)
    for path in (f"/seat/{own_seat}", "/static/table.js", f"/api/seats/{own_seat}/turns/0"):
        assert status_of(person, "GET", path) == 200
    with person.stream(f"/api/seats/{own_seat}/events") as events:
        assert next(events)["event"] == "frame"
    with person.stream("/api/alive"):
        pass
    for method, path in every_path(started):
        if own_seat not in path and not path.startswith(OPEN):
            assert status_of(person, method, path, key=started["key"]) == 403, path
    other_seat = f"/api/seats/{seats['oplayer']}"
    move = {"turn": 0, "move": "(mark 1 1)"}
    assert (
        status_of(person, "GET", other_seat)
        == status_of(person, "GET", f"{other_seat}/events")
        == 403
    )
    assert status_of(person, "POST", f"{other_seat}/move", **move) == 403
    # The link of one seat opens no other: not under its address, not by another's cookie.
    token = started["seats"]["xplayer"]
    assert status_of(table.stranger(), "GET", f"/seat/{seats['oplayer']}?token={token}") == 403
    thief = table.stranger()
    thief.cookies = {f"ggp-seat-{table.port}-{seats['oplayer']}": token}
    assert status_of(thief, "GET", other_seat) == 403


def test_the_link_of_the_table_opens_no_seat(table: LiveTable, started: Any) -> None:
    host = table.stranger(table.link)
    for seat in seats_of(started).values():
        for path in (f"/seat/{seat}", f"/api/seats/{seat}", f"/api/seats/{seat}/events"):
            assert status_of(host, "GET", path) == 403
        assert status_of(host, "POST", f"/api/seats/{seat}/move", turn=0, move="noop") == 403
    assert status_of(host, "GET", "/api/lobby") == 200


def test_a_replay_is_not_for_those_with_a_seat_alone(table: LiveTable) -> None:
    match = table.begin(GAME, {"candidate": "human"}, seed=1)
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})
    person = table.stranger(match["links"]["candidate"])
    assert person.get(f"/api/seats/{seats_of(match)['candidate']}")["match"]["error"]
    assert status_of(person, "GET", f"/api/matches/{match['id']}") == 403
    assert status_of(person, "GET", f"/match/{match['id']}") == 403


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    class Secrets:
        @staticmethod
        def compare_digest(first: bytes, second: bytes) -> bool:
            compared.append((first, second))
            return secrets.compare_digest(first, second)

    monkeypatch.setattr(guard, "secrets", Secrets)
    door = guard.Door("table", {"a-0": "seat"}.get, is_secure=False)

    def seen(cookie: str) -> guard.Visitor:
        scope = {"type": "http", "headers": [(b"cookie", cookie.encode())], "server": ("", 80)}
        return door.visitor(scope)

    assert seen("ggp-table-80=table").is_host
    assert not seen("ggp-table-80=tabl\xe9").is_host
    assert not seen("ggp-table-8080=table; =; ;;").is_host
    assert seen("ggp-seat-80-a-0=seat; ggp-seat-80-b=").seats == {"a-0"}
    assert len(compared) == 5


def test_secrets_on_disk_stay_the_same_and_are_for_this_user_only(tmp_path: Path) -> None:
    folder = MatchFolder(tmp_path)
    token = folder.token()
    folder.close()
    reopened = MatchFolder(tmp_path)
    assert reopened.token() == token
    path = tmp_path / "matches" / "token"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.write_text("short")
    assert len(reopened.token()) == len(token)
    path.unlink()
    assert len({token, reopened.token()}) == 2
    reopened.close()
