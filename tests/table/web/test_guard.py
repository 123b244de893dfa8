"""Who may send requests to the table, and the headers of its answers."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from match_runner.table.guard import Door, Guard
from match_runner.table.options import AllowedHosts, RequestLimits
from tests.server.live import eventually
from tests.support.commands import start
from tests.table.live import LiveTable, live_table

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "LocalHost"])
def test_this_machine_has_three_names(table: LiveTable, name: str) -> None:
    status, _, _ = table.request("GET", "/api/lobby", headers={"host": f"{name}:{table.port}"})
    assert status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost", "localhost.evil.example:{port}", ""])
def test_a_host_name_rebound_to_this_machine_is_refused(table: LiveTable, host: str) -> None:
    headers = {"host": host.format(port=table.port)}
    status, _, body = table.request("GET", "/api/lobby", headers=headers)
    assert status == 421
    assert b"games" not in body


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://localhost:{port}"},
        {"origin": "http://localhost:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_from_elsewhere_is_refused(table: LiveTable, headers: dict[str, str]) -> None:
    sent_headers = {name: value.format(port=table.port) for name, value in headers.items()}
    for method, body in (("POST", b"{}"), ("GET", None)):
        status, _, _ = table.request(method, "/api/lobby", body, {**JSON, **sent_headers})
        assert status == 403


def test_a_link_from_elsewhere_leads_to_the_page(table: LiveTable) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert table.request("GET", "/", headers=headers)[0] == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_content_types_that_a_form_can_post_are_refused(table: LiveTable, kind: str) -> None:
    status, _, _ = table.request("POST", "/api/rules", b"{}", {"content-type": kind})
    assert status == 415


def test_other_methods_are_refused(table: LiveTable) -> None:
    assert [table.request(m, "/api/lobby")[0] for m in ("PUT", "DELETE", "OPTIONS")] == [405] * 3


def test_every_answer_says_what_a_browser_may_do_with_it(table: LiveTable) -> None:
    for path in ("/", "/static/table.js", "/api/lobby", "/nothing", "/api/seats/nobody"):
        _, headers, _ = table.request("GET", path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_where_there_is_nothing_a_page_says_so(table: LiveTable) -> None:
    for path in ("/nothing", "/match", "/a/b/c"):
        status, headers, body = table.request("GET", path)
        assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert b"/static/table.js" in body
    for path in ("/api/nothing", "/static/nothing"):
        assert table.get(path, 404)["error"]


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(table: LiveTable) -> None:
    page = table.request("GET", "/")[2].decode()
    assert "<script type" in page
    assert "style=" not in page
    assert "//" not in page.replace("<!doctype html>", "")


def test_files_beside_the_pages_are_not_served(table: LiveTable) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"):
        assert table.request("GET", path)[0] == 404


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/api/matches", b"[]", "object"),
        ("/api/matches", b"{", "not JSON"),
        ("/api/matches", b'{"game": "tic_tac_toe", "players": {}}', "players"),
        ("/api/matches", b'{"game": "../x", "players": {"a": "random"}}', "have names here"),
        ("/api/matches", b'{"game": "nothing", "players": {"a": "random"}}', "unknown game"),
        ("/api/matches", b'{"game": "tic_tac_toe", "players": {"xplayer": "human"}}', "role"),
        ("/api/rules", b'{"rules": 7}', "string"),
    ],
)
def test_a_faulty_request_is_answered_with_its_fault(
    table: LiveTable, path: str, body: bytes, message: str
) -> None:
    status, _, answer = table.request("POST", path, body, JSON)
    assert status == 400
    assert message in answer.decode()


def test_a_body_that_is_too_long_or_too_slow_is_refused(tmp_path: Path) -> None:
    with live_table(tmp_path, RequestLimits(body_bytes=1000, request_s=0.3)) as table:
        status, _, _ = table.request("POST", "/api/rules", b" " * 1001, JSON)
        assert status == 413
        headers = {**JSON, "content-length": "500"}
        status, _, _ = table.request("POST", "/api/rules", b"{", headers)
        assert status == 408
        with socket.create_connection(("127.0.0.1", table.port)) as silent:
            silent.sendall(b"GET / HTTP/1.1\r\n")
            began_s = time.monotonic()
            assert silent.recv(100) == b""
            assert time.monotonic() - began_s < 5


def test_connections_beyond_a_number_are_closed(tmp_path: Path) -> None:
    def is_answered() -> bool:
        with suppress(ConnectionError):
            return table.request("GET", "/api/lobby")[0] == 200
        return False

    most = 6
    with live_table(tmp_path, RequestLimits(connections=most, request_s=600)) as table:
        address = "127.0.0.1", table.port
        silent = [socket.create_connection(address, timeout=30) for _ in range(3 * most)]
        for connection in silent[most:]:
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        for connection in silent:
            connection.close()
        eventually(is_answered)


def answer_to(table: LiveTable, data: bytes, piece: int) -> bytes:
    """All that the table answers to bytes that are sent in pieces of some length."""
    with socket.create_connection(("127.0.0.1", table.port), timeout=30) as connection:
        for begin in range(0, len(data), piece):
            connection.sendall(data[begin : begin + piece])
        received = b""
        while chunk := connection.recv(1 << 16):
            received += chunk
        return received


@pytest.mark.parametrize("piece", [1 << 22, 1000], ids=["at once", "in pieces"])
def test_headers_that_are_too_long_are_refused_however_they_arrive(
    table: LiveTable, piece: int
) -> None:
    most = RequestLimits().header_bytes
    beginning = f"GET /api/lobby HTTP/1.1\r\nhost: localhost:{table.port}\r\nconnection: close\r\n"
    for length, status in ((most, 403), (most + 1, 431), (70_000, 431), (200_000, 431)):
        filling = "a" * (length - len(beginning) - len("x: \r\n\r\n"))
        answer = answer_to(table, f"{beginning}x: {filling}\r\n\r\n".encode(), piece)
        assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.endswith(b"headers of more than 16,384 bytes")


def test_whoever_sends_a_body_that_is_too_long_reads_why_it_is_refused(table: LiveTable) -> None:
    beginning = (
        f"POST /api/rules HTTP/1.1\r\nhost: localhost:{table.port}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {10 << 20}\r\n"
        + "".join(f"cookie: {name}={value}\r\n" for name, value in table.cookies.items())
    )
    answer = answer_to(table, f"{beginning}\r\n".encode() + b" " * (10 << 20), 1 << 24)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_rules_that_nest_too_deep_are_refused_before_anybody_reads_them(table: LiveTable) -> None:
    rules = "(role a)\n ; " + "(" * 200 + "\n" + "(" * 200_000
    for path, fields in (("/api/rules", {}), ("/api/matches", {"players": {"a": "random"}})):
        answer = table.post(path, {"game": "deep", "name": "deep", "rules": rules, **fields}, 400)
        assert answer["error"].startswith("rules:3:111: lists nest deeper than the limit of 110")


def test_streams_end_with_the_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as streams:
        with live_table(tmp_path) as table:
            paths = ["/api/alive", "/api/events"]
            opened = [streams.enter_context(table.stream(path)) for path in paths]
        for events in opened:
            assert list(events) == []  # it ends, and not by a connection that breaks
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []


def test_a_waiting_request_is_answered_when_the_table_closes() -> None:
    async def check() -> None:
        messages: list[Any] = []

        async def send(message: Any) -> None:
            messages.append(message)

        async def wait(*_: Any) -> Any:
            await asyncio.Event().wait()

        door = Door(None, lambda seat: None, is_secure=False)
        guard = Guard(wait, door, AllowedHosts(), RequestLimits())
        scope: Any = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
        scope |= {"headers": [(b"host", b"localhost:80")], "server": ("127.0.0.1", 80)}
        waiting = asyncio.ensure_future(guard(scope, wait, send))
        await asyncio.sleep(0)
        guard.stop()
        await waiting
        await guard(scope, wait, send)  # and so is who comes later
        assert [m["status"] for m in messages if "status" in m] == [503, 503]
        assert b"the table was ended" in messages[1]["body"]

    asyncio.run(check())


def test_a_proxy_may_stand_before_the_table() -> None:
    names = AllowedHosts(("box",), "https://table.example")
    server = ("10.0.0.2", 8080)
    for host in ("localhost:8080", "box:8080", "10.0.0.2:8080", "table.example"):
        assert names.has(host, server)
    for host in ("box", "10.0.0.3:8080", "table.example:8080", "evil.example:8080", ""):
        assert not names.has(host, server)
    assert AllowedHosts().has("[::1]:80", ("::1", 80))
    assert not AllowedHosts().has("", server)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.verify)]
)
def test_the_command_says_where_the_table_is_and_ends_in_order(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = start("-m", "match_runner", "table", "--port", "0", "--folder", str(tmp_path))
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    port = int(line.partition("localhost:")[2].partition("/")[0])
    table = LiveTable(port)
    link = line.partition(f":{port}")[2].partition(" ")[0]
    while True:
        try:
            table.enter(link)
            assert table.get("/api/lobby")["matches"] == []
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    with table.stream("/api/events") as events:
        process.send_signal(number)
        assert list(events) == []
    assert process.wait(30) == 0
    assert process.stderr.read() == ""
