"""Places of matches at a server with sockets: they free their workers; addresses may be refused."""

from __future__ import annotations

import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from ggp.errors import ConfigError
from ggp.protocol import lobby as lobbies
from ggp.protocol.lobby import Lobby
from ggp.protocol.reading import Request
from ggp.server import host
from ggp.server.match_log import LogFolder, restore
from ggp.server.settings import HostOptions, is_heard, parse_network
from tests.protocol.doubles import receive
from tests.server.live import (
    events,
    eventually,
    is_asked,
    live_server,
    read_reply,
    request,
    start,
)
from tests.support.commands import error_line

QUICK = "hyperplay:n=2,states=500"
GUESSES = {"(guess 0)", "(guess 1)"}
CLOCKS = "60 60"
"""Nothing is late on a busy machine."""

OF_WORKERS = ("worker", "said", "decision", "foreseen", "backend")

AT_ONCE_S = -60.0
"""For `SLACK_S`: matches are overdue as soon as they wait."""


def kinds(folder: Path, match: str) -> list[str]:
    """The kinds of events in the log of a match; workers' events are left out."""
    match_events = [e for e in events(folder, match) if e["event"] not in OF_WORKERS]
    return [": ".join([e["event"], *([e["why"]] if "why" in e else [])]) for e in match_events]


def started(folder: Path, match: str) -> int:
    """Number of workers that were started for a match."""
    return sum(e["event"] == "worker" and e["what"] == "started" for e in events(folder, match))


@pytest.mark.verify
def test_match_whose_stop_was_lost_gives_way_and_may_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        assert server.post(start("ghost", clocks=CLOCKS)) == "ready"
        assert server.post("(PLAY ghost 0 NIL NIL)") in GUESSES
        with monkeypatch.context() as impatient:
            impatient.setattr(lobbies, "SLACK_S", AT_ONCE_S)
            assert server.post(start("next", clocks=CLOCKS)) == "ready"
        eventually(lambda: kinds(tmp_path, "ghost")[-1] == "end: gave way")
        assert server.post("(PLAY next 0 NIL NIL)") in GUESSES
        with ThreadPoolExecutor() as pool:  # it waits for room
            late = pool.submit(server.post, "(PLAY ghost 1 (guess 0) ((hint 1)))")
            assert not wait([late], timeout=0.5).done
            assert server.post("(STOP next 1 (guess 0) ((hint 1)))") == "done"
            assert late.result() in {*GUESSES, "pass"}
        assert [line for line in kinds(tmp_path, "ghost") if line != "note"] == [
            *("begin", "received", "sent", "received", "sent"),
            *("end: gave way", "resumed", "received", "sent"),
        ]
        assert started(tmp_path, "ghost") >= 4


def test_start_waits_for_a_match_that_will_have_to_give_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lobbies, "SLACK_S", AT_ONCE_S + 2.0)
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        assert server.post(start("ghost", clocks=CLOCKS)) == "ready"
        assert server.post("(PLAY ghost 0 NIL NIL)") in GUESSES
        assert server.post(start("next", clocks=CLOCKS)) == "ready"
        assert server.post("(PLAY next 0 NIL NIL)") in GUESSES
    assert "end: gave way" in kinds(tmp_path, "ghost")


@pytest.mark.verify
def test_match_that_found_no_room_is_played_from_its_first_turn_on(tmp_path: Path) -> None:
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        assert server.post(start("first", clocks=CLOCKS)) == "ready"
        assert server.post(start("second", clocks=CLOCKS)) == "busy"
        assert server.post("(STOP first NIL)") == "done"
        assert server.post("(PLAY second 0 NIL NIL)") in GUESSES
        assert [line for line in kinds(tmp_path, "second") if line != "note"] == [
            *("begin", "received", "received", "sent")
        ]
    # A server after it goes on with it: the log has the start message too.
    lobby = Lobby("ggp")
    (restored,) = restore(tmp_path, lobby, time.monotonic())
    assert restored.opening.start.match_id == "second"
    (session,) = lobby.live
    assert session.sender == "127.0.0.1"


def test_restored_match_that_is_silent_for_a_clock_frees_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        assert server.post(start("m", clocks=CLOCKS)) == "ready"
        assert server.post("(PLAY m 0 NIL NIL)") in GUESSES
    assert kinds(tmp_path, "m")[-1] == "end: server ended"
    monkeypatch.setattr("ggp.server.host.FORGET_EVERY_S", 0.2)
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        assert "busy" in server.post("(INFO)")
        monkeypatch.setattr(lobbies, "SLACK_S", AT_ONCE_S)
        eventually(lambda: kinds(tmp_path, "m")[-1] == "end: gave way")
        assert "available" in server.post("(INFO)")


def test_only_allowed_addresses_are_heard() -> None:
    loopback, elsewhere = parse_network("127.0.0.0/8"), parse_network("10.0.0.1")
    with live_server(HostOptions("random", networks=(elsewhere,))) as server:
        assert server.exchange(request("(INFO)")) == (403, "this address is not allowed")
    with live_server(HostOptions("random", networks=(elsewhere, loopback))) as server:
        assert server.exchange(request("(INFO)"))[0] == 200


@pytest.mark.parametrize(
    ("network", "address", "expected"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.7/24", "10.0.0.2", True),
        ("10.0.0.0/24", "::ffff:10.0.0.2", True),
        ("::1", "::1", True),
        ("fe80::/10", "fe80::1%eth0", True),
        ("::/0", "10.0.0.1", False),
        ("0.0.0.0/0", "", False),
    ],
)
def test_network_contains_its_addresses_only(network: str, address: str, expected: bool) -> None:
    assert is_heard(address, [parse_network(network)]) is expected


@pytest.mark.parametrize("text", ["", "localhost", "10.0.0", "10.0.0.0/33", "10.0.0.1:9147"])
def test_malformed_network_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not an IP address or network"):
        parse_network(text)
    message = error_line("serve", "--player", "random", "--port", "0", "--allow", text)
    assert "is not an IP address or network" in message


def test_peer_address_is_given_without_its_port() -> None:
    for peer, address in (("10.0.0.1:9147", "10.0.0.1"), ("::1:9147", "::1"), ("?", "")):
        assert Request("", 0.0, peer).sender == address


# ---------------------------------------------------------------- controllers that are killed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what was taken")
def test_match_whose_answer_cannot_be_delivered_gives_way_at_once(tmp_path: Path) -> None:
    with live_server(HostOptions("legal", log_folder=tmp_path)) as server:
        assert server.post(start("ghost", clocks=CLOCKS)) == "ready"

        def ask_and_go() -> None:
            with server.connect() as asking:
                asking.sendall(request("(PLAY ghost 0 NIL NIL)"))

        server.call(ask_and_go)  # in its thread: the client is gone before it answers
        eventually(lambda: "undelivered" in kinds(tmp_path, "ghost"))
        assert server.post(start("next", clocks=CLOCKS)) == "ready"
        eventually(lambda: kinds(tmp_path, "ghost")[-1] == "end: gave way")


def test_match_gives_way_at_once_when_its_controller_dies_while_waiting(
    tmp_path: Path,
) -> None:
    with live_server(HostOptions("hyperplay:n=2", log_folder=tmp_path)) as server:
        assert server.post(start("ghost", clocks=CLOCKS)) == "ready"
        with server.connect() as asking:
            asking.sendall(request("(PLAY ghost 0 NIL NIL)"))
            eventually(lambda: is_asked(tmp_path, "ghost"))
            time.sleep(2 * host.AT_ONCE_S)
        eventually(lambda: server.call(lambda: server.host.lobby.live[0].is_abandoned))
        assert server.post(start("next", clocks="1 60")) == "ready"
        eventually(lambda: kinds(tmp_path, "ghost")[-1] == "end: gave way")


@pytest.mark.verify
def test_match_gives_way_when_its_controller_dies_right_after_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "AT_ONCE_S", 0.0)  # every client waits for longer
    with live_server(HostOptions("hyperplay:n=2", log_folder=tmp_path)) as server:
        assert server.post(start("ghost", clocks=CLOCKS)) == "ready"
        with server.connect() as asking:
            asking.sendall(request("(PLAY ghost 0 NIL NIL)"))
        eventually(lambda: server.call(lambda: server.host.lobby.live[0].is_abandoned))
        assert server.post(start("next", clocks="1 60")) == "ready"
        eventually(lambda: kinds(tmp_path, "ghost")[-1] == "end: gave way")


def test_delivered_answer_keeps_the_place(tmp_path: Path) -> None:
    with live_server(HostOptions("legal", log_folder=tmp_path)) as server:
        assert server.post(start("m", clocks=CLOCKS)) == "ready"
        with server.connect() as asking:
            asking.sendall(request("(PLAY m 0 NIL NIL)"))
            asking.shutdown(socket.SHUT_WR)  # says that this is all
            assert read_reply(asking)[1] in GUESSES
        assert server.post(start("next", clocks="1 1")) == "busy"
    assert "undelivered" not in kinds(tmp_path, "m")


def test_match_that_gave_way_is_known_after_a_restart(tmp_path: Path) -> None:
    log = LogFolder(tmp_path).begin("m")
    log.begin(match="m")
    log.write("received", text=start("m", clocks=CLOCKS), peer="10.0.0.1:80")
    log.write("sent", text="ready")
    log.write("received", text="(PLAY m 0 NIL NIL)", peer="10.0.0.1:80")
    log.write("sent", text="(guess 0)", turn=0)
    log.write("resumed")
    log.write("end", why="gave way")
    log.close()
    for _ in range(2):  # after the next one, too
        lobby = Lobby("ggp")
        (restored,) = restore(tmp_path, lobby, time.monotonic())
        assert (restored.has_place, lobby.live) == (False, ())
        assert lobby.is_waiting("m")
    receipt = receive(lobby, "(PLAY m 1 (guess 0) ((hint 1)))", time.monotonic() + 1.0)
    assert receipt.began is not None
    assert receipt.ask is not None
    assert receipt.ask.turn == 1


def test_log_tells_when_the_server_was_alive_for_the_last_time(tmp_path: Path) -> None:
    log = LogFolder(tmp_path).begin("m")
    log.begin(match="m")
    log.write("received", text=start("m", clocks=CLOCKS), peer="10.0.0.1:80")
    assert log.path is not None
    os.utime(log.path, (0, 0))
    before_s = time.monotonic()
    log.beat()
    after_s = time.monotonic()
    log.close()
    (restored,) = restore(tmp_path, Lobby("ggp"), time.monotonic())
    assert before_s - 0.1 < restored.alive_s < after_s + 0.1


def test_match_that_gave_way_goes_on_in_its_log_after_a_restart(tmp_path: Path) -> None:
    options = HostOptions("legal", log_folder=tmp_path)
    with live_server(options) as server:
        assert server.post(start("m", clocks=CLOCKS)) == "ready"
        assert server.post("(PLAY m 0 NIL NIL)") in GUESSES
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text().replace("server ended", "gave way"))
    with live_server(options) as server:
        assert server.post("(INFO)").startswith("((name ggp) (status available)")
        assert server.post("(PLAY m 1 (guess 0) ((hint 1)))") in {*GUESSES, "pass"}
    kinds_since = kinds(tmp_path, "m")[kinds(tmp_path, "m").index("end: gave way") :]
    assert [kind for kind in kinds_since if kind != "note"] == [
        *("end: gave way", "resumed", "received", "sent", "end: server ended")
    ]
