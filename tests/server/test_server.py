"""The server over real sockets: whole matches, several at once, clocks, messages of strangers."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.errors import ConfigError
from ggp.gdl import find_game
from ggp.protocol.messages import WIRE_STYLES
from ggp.run.sockets import listen
from ggp.server.match_log import MatchLog
from ggp.server.settings import HostOptions, ServerLimits, margin_of
from tests.protocol.doubles import Referee
from tests.protocol.transcripts import SCENES
from tests.server.live import (
    GUESSING,
    LiveServer,
    events,
    eventually,
    is_alive,
    is_asked,
    live_server,
    pid_of,
    read_reply,
    request,
    start,
)
from tests.support import commands
from tests.support.commands import error_line
from tests.support.effort import rarely

MATCHES = 2

QUICK = "hyperplay:n=2,states=2000"
"""Thinks for a number of states, so that it is done long before the clock is."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LiveServer]:
    limits = ServerLimits(body_bytes=100_000, request_s=60.0)
    options = HostOptions(QUICK, name="tester", matches=MATCHES, log_folder=folder, limits=limits)
    with live_server(options) as running:
        yield running


@pytest.fixture(scope="module")
def first_legal() -> Iterator[LiveServer]:
    with live_server(HostOptions("legal")) as running:
        yield running


@pytest.mark.parametrize("style", rarely(WIRE_STYLES, [*WIRE_STYLES][1::2]))
def test_whole_match_is_played_in_every_dialect(server: LiveServer, style: str) -> None:
    game, role = ("tic_tac_toe", "xplayer") if "gdl2" not in style else ("monty_hall", "candidate")
    rules = find_game(game).read_text()
    referee = Referee(rules, role, WIRE_STYLES[style], match_id=f"whole-{style}")
    referee.referee(server.post)  # demands legal moves in the server's spelling
    assert referee.is_over


@pytest.mark.parametrize("name", rarely(SCENES, [*SCENES][1:]))
def test_match_over_sockets_has_the_transcript_of_one_without(
    first_legal: LiveServer, name: str
) -> None:
    scene = replace(SCENES[name], player="legal")
    assert scene.transcript(first_legal.post) == scene.transcript()


def test_moves_come_in_time_and_are_logged(server: LiveServer, folder: Path) -> None:
    assert server.post(start("clock", clocks="60 2")) == "ready"
    began_s = time.monotonic()
    move = server.post("(PLAY clock NIL)")
    assert time.monotonic() - began_s < 60
    assert move in ("(guess 0)", "(guess 1)")
    assert server.post("(STOP clock ())") == "done"
    eventually(lambda: events(folder, "clock")[-1]["event"] == "end")
    lines = events(folder, "clock")
    assert [line["event"] for line in lines if line["event"] in ("begin", "received", "sent")] == [
        *("begin", "received", "sent", "received", "sent", "received", "sent")
    ]
    (decision,) = [line for line in lines if line["event"] == "decision"]
    assert decision["move"] == move
    assert decision["source"] == "thinker"
    assert {value["move"] for value in decision["values"]} == {"(guess 0)", "(guess 1)"}
    assert decision["particles"] >= 1
    assert lines[0]["match"] == "clock"
    assert lines[-1]["why"] == "stop"


@pytest.mark.verify
def test_info_is_answered_while_matches_think(tmp_path: Path) -> None:
    options = HostOptions("hyperplay2", name="thinker", matches=MATCHES, log_folder=tmp_path)
    with live_server(options) as server:
        names = [f"busy{number}" for number in range(MATCHES)]
        for name in names:
            assert server.post(start(name, clocks="60 2")) == "ready"
        moves: dict[str, str] = {}

        def play(name: str) -> None:
            moves[name] = server.post(f"(PLAY {name} NIL)")

        threads = [threading.Thread(target=play, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        eventually(lambda: all(is_asked(tmp_path, name) for name in names))
        assert server.post("(INFO)") == "((name thinker) (status busy) (species alien))"
        assert server.post("( ping )") == "ready"
        assert server.post(start("one-too-many")) == "busy"
        assert not moves
        for thread in threads:
            thread.join()
        assert {moves[name] for name in names} <= {"(guess 0)", "(guess 1)"}
        assert [server.post(f"(ABORT {name})") for name in names] == ["aborted"] * MATCHES


def test_unknown_match_is_busy_and_garbage_is_refused(server: LiveServer) -> None:
    assert server.post("(PLAY nowhere NIL)") == "busy"
    for body in ("", "garbage", "((((", "(FLY me)", "(START m)", "\0\0\0", "(" * 100_000):
        status, text = server.exchange(request(body))
        assert (status, bool(text)) == (400, True), body[:20]


def test_browsers_are_allowed_to_send_requests(server: LiveServer) -> None:
    for method in ("GET", "OPTIONS", "HEAD"):
        with server.connect() as connection:
            connection.sendall(f"{method} /any/path HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            reply = b""
            while chunk := connection.recv(1 << 16):
                reply += chunk
        assert reply.startswith(b"HTTP/1.1 200 ")
        for name in (b"origin: *", b"methods: POST, GET, OPTIONS", b"headers: Content-Type"):
            assert b"access-control-allow-" + name in reply


def test_other_methods_are_refused(server: LiveServer) -> None:
    status, _ = server.exchange(b"DELETE / HTTP/1.0\r\nContent-length: 0\r\n\r\n")
    assert status == 405


def test_messages_are_answered_even_if_the_rules_cannot_be_played(server: LiveServer) -> None:
    assert server.post(start("unplayable", "(role guesser) (foo bar)")) == "ready"
    assert server.post("(PLAY unplayable NIL)") == "nil"
    assert server.post("(STOP unplayable NIL)") == "done"
    assert server.post("(INFO)").count("available") == 1


def test_the_same_message_again_gets_the_same_answer(server: LiveServer) -> None:
    assert [server.post(start("twice", clocks="60 2")) for _ in range(2)] == ["ready"] * 2
    replies: list[str] = []
    threads = [
        threading.Thread(target=lambda: replies.append(server.post("(PLAY twice NIL)")))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    replies.append(server.post("(PLAY twice NIL)"))
    assert len(replies) == 4
    assert len(set(replies)) == 1
    assert server.post("(STOP twice NIL)") == "done"


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "a\\b", "..", "x" * 500, "é", "\0"])
def test_match_ids_cannot_name_paths(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    logs = [MatchLog(folder, name) for _ in range(2)]
    for log in logs:
        log.begin(match=name)
        log.close()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(written) == sorted(log.path for log in logs if log.path is not None)
    assert len(written) == 2
    assert all(path.parent == folder for path in written)


def test_a_machine_that_is_not_ready_answers_with_a_legal_move(
    server: LiveServer, folder: Path
) -> None:
    # Grounding takes more than the start clock: 8^8 instances of a rule.
    digits = " ".join(f"(digit {number})" for number in range(8))
    conditions = " ".join(f"(digit ?d{number})" for number in range(8))
    term = " ".join(f"?d{number}" for number in range(8))
    slow = f"{digits} (<= (next (seen {term})) {conditions} (does guesser (guess 0)))"
    assert server.post(start("slow", GUESSING + slow, clocks="2 2")) == "ready"
    assert server.post("(PLAY slow NIL)") in ("(guess 0)", "(guess 1)")
    assert server.post("(ABORT slow)") == "aborted"
    lines = list(events(folder, "slow"))
    (decision,) = [line for line in lines if line["event"] == "decision"]
    assert decision["source"] in ("understudy", "thinker")
    # Who of them was first does not matter: neither has the circuit. On a busy machine the thinker
    # may not even have begun.
    backends = {line["backend"] for line in lines if line["event"] == "backend"}
    assert backends in ({"prolog"}, {"relational"}, set())
    assert backends or decision["source"] == "understudy"


def test_margin_is_at_most_half_of_a_clock() -> None:
    assert margin_of(None)(2) == 0.5
    assert margin_of(None)(60) == 6
    assert margin_of(None)(0) == 0
    assert margin_of(3.0)(60) == 3
    assert margin_of(3.0)(2) == 1


def test_port_in_use_is_reported_in_one_line() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1 port {port}: "):
            listen("127.0.0.1", port)
        line = error_line("serve", "--player", "random", "--port", str(port))
        assert line.startswith(f"error: cannot listen on 127.0.0.1 port {port}: ")


@pytest.mark.parametrize(
    ("args", "phrase"),
    [
        (("--player", "nobody"), "unknown player 'nobody'"),
        (("--player", "random", "--host", "no.such.host.invalid"), "cannot listen on"),
        (("--player", "random", "--name", "two words"), "must be one word"),
        (("--player", "random", "--log", "/dev/null/logs"), "/dev/null"),
        (("--player", "random", "--host", "x" * 300), "cannot listen on xxx"),
        (("--player", "random", "--host", "\udcff"), "cannot listen on "),
        (("--player", "random", "--memory", "9" * 20), "is not in the range"),
    ],
    ids=["player", "host", "name", "log", "long host", "odd host", "memory"],
)
def test_bad_options_are_reported_in_one_line(args: tuple[str, ...], phrase: str) -> None:
    assert phrase in error_line("serve", "--port", "0", *args)


def serve(*options: str, ignores_interrupts: bool = False) -> tuple[subprocess.Popen[str], int]:
    """The command once it listens, and its port."""
    process = commands.start(
        "-m",
        "ggp",
        "serve",
        "--player",
        "random",
        "--port",
        "0",
        *options,
        ignores_interrupts=ignores_interrupts,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert " listens on http://127.0.0.1:" in line
    return process, int(line.rpartition(":")[2])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_serves_until_it_is_interrupted(tmp_path: Path, number: int) -> None:
    process, port = serve("--log", str(tmp_path))
    unfinished = socket.create_connection(("127.0.0.1", port))
    unfinished.sendall(request("(INFO)")[:-1])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request(start("m")))
        assert read_reply(connection) == (200, "ready")
    workers = [pid_of(tmp_path, "m", worker) for worker in ("thinker", "understudy")]
    process.send_signal(number)
    with unfinished:
        assert read_reply(unfinished) == (503, "the server ends")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    # That the unfinished request was refused, and that kernels were compiled if they had to be.
    (refused,) = [line for line in errors.splitlines() if not line.startswith("compil")]
    assert "the server ends" in refused
    assert events(tmp_path, "m")[-1]["why"] == "server ended"
    eventually(lambda: not any(map(is_alive, workers)))


@pytest.mark.verify
@pytest.mark.parametrize("numbers", [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT] * 2])
def test_server_that_has_just_started_ends_silently(numbers: list[signal.Signals]) -> None:
    process, _ = serve()
    for number in numbers:
        process.send_signal(number)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


@pytest.mark.verify
def test_server_in_the_background_of_a_shell_is_not_interrupted() -> None:
    process, port = serve(ignores_interrupts=True)
    process.send_signal(signal.SIGINT)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request("(INFO)"))
        assert read_reply(connection)[0] == 200
    process.terminate()
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


def test_server_process_loads_no_reasoner() -> None:
    program = "import ggp.server.http.http_server, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    modules = set(loaded.stdout.split())
    assert "ggp.server.http.http_server" in modules
    assert not modules & {"pyswip", "clingo", "numba", "ggp.machine.prolog.engine"}
