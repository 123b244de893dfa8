"""HTTP as odd clients use it, over real sockets."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from ggp.server.settings import HostOptions, ServerLimits
from tests.server.live import (
    GUESSING,
    LiveServer,
    eventually,
    live_server,
    read_reply,
    request,
    start,
)

REQUEST_S = 1.0
BODY = "(INFO)"
FREE = (200, "((name ggp) (status available) (species alien))")
LIMITS = ServerLimits(
    body_bytes=50_000,
    header_bytes=4_000,
    request_s=REQUEST_S,
    connections=8,
    chunks=1_000,
    pending_bytes=100_000,
)


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    with live_server(HostOptions("random", limits=LIMITS)) as running:
        yield running


@pytest.fixture(autouse=True)
def _still_serves(server: LiveServer) -> Iterator[None]:
    yield
    assert server.exchange(request(BODY)) == FREE


@pytest.mark.parametrize(
    "text",
    [
        f"POST / HTTP/1.0\r\nContent-length: 6\r\n\r\n{BODY}",
        f"POST / HTTP/1.0\nContent-length: 6\n\n{BODY}",
        f"POST /any/path?x=1 HTTP/1.1\r\nHost: here\r\nContent-Length: 6\r\n\r\n{BODY}",
        f"POST / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: 6\r\n\r\n{BODY}",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n(INFO)\r\n0\r\n\r\n",
        f"POST / HTTP/1.0\r\nContent-length: 10\r\n\r\n  {BODY}\r\n",
        f"POST / HTTP/1.0\r\nContent-length: 6\r\n\r\n{BODY}trailing garbage",
        f"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n{BODY}",
        f"post / HTTP/1.0\r\nContent-length: 6\r\n\r\n{BODY}",
        f"POST / HTTP/1.0\r\n\r\n{BODY}",
        f"POST / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n\r\n {BODY}\r\n",
        f"POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Content-Length: 6\r\n\r\n{BODY}",
        f"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n{BODY}" * 3,
    ],
    ids=[
        "no-host",
        "bare-line-feeds",
        "path",
        "keep-alive",
        "chunked",
        "white-space",
        "trailing",
        "expect",
        "lower-case",
        "no-length",
        "no-length-keep-alive",
        "upgrade",
        "pipelined",
    ],
)
def test_request_is_understood(server: LiveServer, text: str) -> None:
    with server.connect() as connection:
        connection.sendall(text.encode())
        received = b""
        while chunk := connection.recv(1 << 16):  # the server closes, whatever was asked
            received += chunk
    assert received.endswith(FREE[1].encode())
    assert received.count(FREE[1].encode()) == 1


@pytest.mark.parametrize("path", ["http://host:9147/", "*", "game", "?x", "//", "/%ff%00%zz%2e"])
def test_path_does_not_matter(server: LiveServer, path: str) -> None:
    head = f"POST {path} HTTP/1.0\r\nContent-length: 6\r\n\r\n"
    assert server.exchange(f"{head}{BODY}".encode()) == FREE


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"PUT / HTTP/1.1\r\nHost: h\r\n\r\n\0", 405),
        (b"FOO * HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", 405),
        (b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 405),
        (b"NONSENSE\r\n\r\nNONSENSE\r\n\r\n", 400),
        (
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n(INFO)\r\n0\r\n",
            400,
        ),
        (
            b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 99999\r\n\r\n",
            413,
        ),
        (b"POST / HTTP/1.0\r\n\r\n)(INFO)(", 408),
        (b"POST / HTTP/1.0\r\nContent-length: 7\r\n\r\n(INFO)", 408),
    ],
    ids=["put", "foo", "connect", "http2", "no-http", "chunk-lie", "expect", "no-end", "no-byte"],
)
def test_refusal_is_one_whole_reply_that_browsers_may_read(
    server: LiveServer, message: bytes, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    with server.connect() as connection:
        connection.sendall(message)
        received = b""
        while chunk := connection.recv(1 << 16):
            received += chunk
    head, _, body = received.lower().partition(b"\r\n\r\n")
    assert head.startswith(b"http/1.1 %d " % expected)
    assert b"connection: close" in head
    assert b"access-control-allow-origin: *" in head
    assert b"content-length: %d" % len(body) in head
    assert received.count(b"HTTP/1.1 ") == 1
    assert len([text for text in caplog.messages if "refused" in text]) == 1


def test_body_without_length_ends_when_the_client_stops_sending(server: LiveServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST / HTTP/1.0\r\n\r\n(INFO")  # closing parentheses may be missing
        connection.shutdown(socket.SHUT_WR)
        assert read_reply(connection) == FREE


def test_body_without_length_may_come_in_pieces(server: LiveServer) -> None:
    body = start("pieces", "(role guesser) (role random)", clocks="1 1")
    with server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in f"POST / HTTP/1.0\r\n\r\n{body}".encode():
            connection.sendall(bytes([byte]))
        assert read_reply(connection) == (200, "ready")
    assert server.exchange(b"POST / HTTP/1.0\r\n\r\n( ABORT pieces )") == (200, "aborted")


def test_request_may_arrive_byte_by_byte(server: LiveServer) -> None:
    with server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request(BODY):
            connection.sendall(bytes([byte]))
        assert read_reply(connection) == FREE


def test_length_counted_in_characters_loses_no_text(server: LiveServer) -> None:
    match = "é日本\U0001f4a3é日本\U0001f4a3"
    body = start(match, clocks="1 1")
    assert server.exchange(request(body)) == (200, "ready")
    message = request(f"(ABORT {match})")
    with server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(message[:-9])
        time.sleep(0.05)
        connection.sendall(message[-9:])
        assert read_reply(connection) == (200, "aborted")


def test_length_counted_in_characters_loses_no_word_of_a_long_text(server: LiveServer) -> None:
    facts = "(word жжжжжжжжжж) " * 600
    body = start("many_words", rules=GUESSING + facts, clocks="1 1")
    assert len(body.encode()) - len(body) > LIMITS.header_bytes
    assert server.exchange(request(body)) == (200, "ready")
    assert server.exchange(request("(ABORT many_words)")) == (200, "aborted")


def test_overstated_length_does_not_hang(server: LiveServer) -> None:
    with server.connect() as connection:
        connection.sendall(request(BODY, length=1000))
        connection.shutdown(socket.SHUT_WR)  # says that this is all
        assert read_reply(connection) == FREE
    status, text = server.exchange(request(BODY, length=1000))
    assert (status, "not complete after 1 s" in text) == (408, True)


@pytest.mark.parametrize("message", [b"", b"POST / HT", b"POST / HTTP/1.0\r\nContent-le"])
def test_unfinished_request_times_out(server: LiveServer, message: bytes) -> None:
    status, _ = server.exchange(message)
    assert status == 408


def test_client_may_close_its_writing_side_early(server: LiveServer) -> None:
    with server.connect() as connection:
        connection.sendall(request(BODY))
        connection.shutdown(socket.SHUT_WR)
        assert read_reply(connection) == FREE
    with server.connect() as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""


def test_client_that_never_reads_costs_nothing(server: LiveServer) -> None:
    idle = []
    for _ in range(3):
        connection = server.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        connection.sendall(request(BODY))
        idle.append(connection)
    assert server.exchange(request(BODY)) == FREE
    eventually(lambda: server.call(lambda: num_connections(server)) == 0)
    for connection in idle:
        connection.close()


def test_broken_connection_costs_nothing(server: LiveServer) -> None:
    for cut in (1, 20, 100, len(request(BODY))):
        connection = server.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # RST
        connection.sendall(request(BODY)[:cut])
        connection.close()
    # What comes later has its answer later: the server has seen all of these, and logged them here.
    assert server.exchange(request(BODY)) == FREE
    eventually(lambda: server.call(lambda: num_connections(server)) == 0)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\n\n", 400),
        (b"NONSENSE\r\n\r\n", 400),
        (b"POST / HTTP/1.0\r\nContent-length: -5\r\n\r\n", 400),
        (b"POST / HTTP/1.0\r\nContent-length: 5\r\nContent-length: 6\r\n\r\n(INFO)", 400),
        (b"POST / HTTP/1.0\r\nX: " + b"x" * 10_000, 400),
        (b"POST / HTTP/1.0\r\nX: " + b"x" * 10_000 + b"\r\nContent-length: 6\r\n\r\n(INFO)", 400),
        (b"POST / HTTP/1.0\r\n" + b"X: x\r\n" * 1_000 + b"Content-length: 6\r\n\r\n(INFO)", 400),
        (b"POST / HTTP/1.0\r\nContent-length: 999999999999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.0\r\nContent-length: 60000\r\n\r\n" + b"(" * 60_000, 413),
        (b"POST / HTTP/1.0\r\nContent-length: 2000\r\n\r\n" + b"(" * 2_000, 400),
        (b"POST / HTTP/1.0\r\nContent-length: 40000\r\n\r\n" + b"x" * 40_000, 400),
        (
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"fff0\r\n"
            + b"x" * 0xFFF0
            + b"\r\n0\r\n\r\n",
            413,
        ),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"1\r\n \r\n" * (LIMITS.chunks + 1),
            400,
        ),
        (b"POST / HTTP/1.0\r\nContent-length: 2000000\r\n\r\n" + b"(" * 2_000_000, 413),
        (b"POST / HTTP/1.0\r\n\r\n" + b"(" * 2_000_000, 413),
        (b"PUT / HTTP/1.0\r\nContent-length: 2000000\r\n\r\n" + b"(" * 2_000_000, 405),
        (b"NONSENSE\r\n\r\n" + b"(" * 2_000_000, 400),
    ],
    ids=[
        "tls",
        "no-http",
        "negative-length",
        "two-lengths",
        "long-header",
        "long-header-at-once",
        "many-headers",
        "huge-length",
        "long-body",
        "deep",
        "long-symbol",
        "long-chunk",
        "bad-chunk",
        "many-chunks",
        "still-sending",
        "still-sending-without-length",
        "still-sending-put",
        "still-sending-no-http",
    ],
)
def test_oversized_requests_are_refused(server: LiveServer, message: bytes, expected: int) -> None:
    status, text = server.exchange(
        message
    )  # the reply is not lost, though all of it was sent first
    assert (status, bool(text)) == (expected, True)


def test_client_that_sends_without_end_is_cut_off(server: LiveServer) -> None:
    with server.connect() as connection:
        connection.sendall(request("", length=10**9))
        with pytest.raises(ConnectionError):
            connection.sendall(b"(" * 100_000_000)


def test_answered_connection_that_stays_open_takes_no_place(server: LiveServer) -> None:
    answered = [server.connect() for _ in range(LIMITS.connections)]
    for connection in answered:
        connection.sendall(b"PUT / HTTP/1.0\r\n\r\n")
        assert read_reply(connection)[0] == 405
    assert [server.exchange(request(BODY)) for _ in answered] == [FREE] * len(answered)
    for connection in answered:
        connection.close()


def test_excess_connections_displace_silent_ones(server: LiveServer) -> None:
    idle = [server.connect() for _ in range(3 * LIMITS.connections)]
    assert server.exchange(request(BODY)) == FREE
    assert server.call(lambda: num_connections(server)) <= LIMITS.connections
    for connection in idle[: 2 * LIMITS.connections]:
        assert connection.recv(1000).startswith(b"HTTP/1.1 503 ")
        assert connection.recv(1000) == b""
    for connection in idle:
        connection.close()
    eventually(lambda: server.call(lambda: num_connections(server)) == 0)


def test_unfinished_long_requests_take_bounded_memory(server: LiveServer) -> None:
    idle = [server.connect() for _ in range(3)]
    for connection in idle:
        connection.sendall(request("(" * 50_000)[:-100])
    assert read_reply(idle[0]) == (503, "too much is being sent at once")
    assert server.exchange(request(BODY)) == FREE
    assert read_reply(idle[2])[0] == 408
    for connection in idle:
        connection.close()


def num_connections(server: LiveServer) -> int:
    return len(server.http.connections)
