"""Whatever is sent, the server answers or refuses, and the next honest match still works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggp.server.settings import HostOptions, ServerLimits
from tests.server.live import GUESSING, LiveServer, live_server, read_reply, request, start
from tests.support.effort import examples

MATCHES = 2
REPLIES = {"ready", "busy", "done", "aborted", "nil", "pass", "(guess 0)", "(guess 1)"}
HONEST = "honest"

fuzzing = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    limits = ServerLimits(body_bytes=20_000, header_bytes=2_000, request_s=60.0, connections=16)
    options = HostOptions("legal", matches=MATCHES, limits=limits)
    with live_server(options) as running:
        yield running
        play_honestly(running)


def play_honestly(server: LiveServer) -> None:
    """A whole match; matches that nonsense began are aborted before."""
    for serial in [
        session.start.match_id for session in server.call(lambda: server.host.lobby.live)
    ]:
        assert server.post(f"(ABORT {serial})") == "aborted"
    assert server.post(start(HONEST, clocks="60 60")) == "ready"
    for news in ("NIL NIL", "(guess 0) ((hint 0))", "(guess 0) ((hint 1))"):
        turn = ("NIL NIL", "(guess 0) ((hint 0))", "(guess 0) ((hint 1))").index(news)
        assert server.post(f"(PLAY {HONEST} {turn} {news})") in REPLIES - {"nil", "busy"}
    assert server.post(f"(STOP {HONEST} 3 pass ())") == "done"


def exchange(server: LiveServer, message: bytes) -> tuple[int, str]:
    """Status and reply; (0, "") if the server closed before it was all sent."""
    try:
        with server.connect() as connection:
            connection.sendall(message)
            connection.shutdown(1)
            return read_reply(connection)
    except ConnectionError:
        return 0, ""


@fuzzing
@given(st.binary(max_size=3_000))
def test_bytes_are_answered_or_refused(server: LiveServer, message: bytes) -> None:
    status, _ = exchange(server, message)
    assert status in (0, 200, 400, 405, 413)
    assert server.post("(ping)") == "ready"


@fuzzing
@given(
    st.sampled_from(["POST", "GET", "PUT", "post", ""]),
    st.sampled_from(["HTTP/1.0", "HTTP/1.1", "HTTP/2", "FTP"]),
    st.lists(
        st.tuples(
            st.sampled_from(
                ["Content-Length", "Transfer-Encoding", "Host", "Connection", "Expect", "Upgrade"]
            ),
            st.sampled_from(["0", "6", "-1", "1e9", "chunked", "x", "", "keep-alive", "websocket"]),
        ),
        max_size=4,
    ),
    st.binary(max_size=200),
)
def test_headers_are_answered_or_refused(
    server: LiveServer, method: str, version: str, fields: list[tuple[str, str]], body: bytes
) -> None:
    lines = [f"{method} / {version}", *(f"{name}: {value}" for name, value in fields), "", ""]
    exchange(server, "\r\n".join(lines).encode() + body)
    assert server.post("(ping)") == "ready"


atoms = st.sampled_from(
    [
        *(
            "nil",
            "a",
            "b",
            "0",
            "1",
            "7",
            "99999999",
            "-1",
            "guesser",
            "random",
            "?x",
            "pass",
            "<=",
        ),
        *("role", "init", "true", "does", "next", "legal", "sees", "goal", "terminal", "not", "or"),
        *("'quoted", "halt", "shell", "a.b", "\\", '"', "é", "\x00", "[a|b]", "{}", "!", "x" * 200),
    ]
)
terms = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=4).map(lambda terms: f"({' '.join(terms)})")
)
names = st.sampled_from(["n1", "n2", "n3", HONEST, "../x", "nil"])
clocks = st.sampled_from(["0 0", "1 1", "0 1", "1", "-1 5", "x y", "1e3 1"])
rulesheets = st.just(GUESSING) | st.lists(terms, max_size=6).map(" ".join)
messages = st.one_of(
    st.builds("(START {} {} ({}) {})".format, names, atoms, rulesheets, clocks),
    st.builds("(PLAY {} {} {} ({}))".format, names, atoms, terms, terms),
    st.builds("(PLAY {} ({}))".format, names, terms),
    st.builds("(PLAY {} {})".format, names, terms),
    st.builds("(STOP {} {} {} {})".format, names, atoms, terms, terms),
    st.builds("(ABORT {})".format, names),
    st.builds("(PREVIEW ({}) {})".format, rulesheets, clocks),
    st.builds("({} {})".format, st.sampled_from(["INFO", "PING", "PLAY", "FLY", ""]), terms),
    terms,
)


@fuzzing
@given(st.lists(messages, min_size=1, max_size=8))
def test_well_formed_nonsense_is_answered_or_refused(server: LiveServer, texts: list[str]) -> None:
    for text in texts:
        status, reply = exchange(server, request(text.replace("\n", " ")))
        assert status in (200, 400)
        assert "\n" not in reply
        assert reply
    assert server.post("(ping)") == "ready"
