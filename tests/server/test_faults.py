"""Faults in the middle of matches: every move that can be answered is a legal one, in time."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ggp.protocol.messages import WIRE_STYLES, print_message
from ggp.server.settings import HostOptions
from ggp.server.workers import pair, pool
from tests.players.parts.test_depletion import HAYSTACK
from tests.protocol.doubles import Referee
from tests.server.live import (
    GUESSING,
    LiveServer,
    events,
    eventually,
    is_alive,
    is_asked,
    live_server,
    pid_of,
    request,
    start,
)
from tests.support.effort import rarely

QUICK = "hyperplay:n=2,states=500"
"""Thinks for a number of states, so that it is done long before the clock is."""

THINKING = "hyperplay:n=2,states=500/1000000000/500"
"""Thinks for all of the play clock in the second turn."""

STYLE = WIRE_STYLES["gdl2"]
WORKERS = ("thinker", "understudy")

Fault = Callable[[LiveServer, Path, str], None]


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "HANG_S", 1.0)
    monkeypatch.setattr(pool, "SILENT_S", 2.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LiveServer]:
    with live_server(HostOptions(THINKING, log_folder=folder, matches=2)) as running:
        yield running


def referee_of(match: str) -> Referee:
    return Referee(GUESSING, "guesser", STYLE, match_id=match)


def opening_of(referee: Referee, play_clock_s: int = 60) -> str:
    message = replace(referee.start, start_clock_s=60, play_clock_s=play_clock_s)
    return print_message(message, STYLE)


def send(number: int, *workers: str) -> Fault:
    """A signal to workers of a match."""

    def inject(server: LiveServer, folder: Path, match: str) -> None:
        for worker in workers:
            os.kill(pid_of(folder, match, worker), number)

    return inject


def take_memory(server: LiveServer, folder: Path, match: str) -> None:
    """Lower the memory limit below the workers' use until all are killed."""
    pool = server.host.pool
    pids = [pid_of(folder, match, worker) for worker in WORKERS]
    limit_bytes = pool.memory_bytes
    server.call(lambda: setattr(pool, "memory_bytes", 1 << 20))
    eventually(lambda: not any(map(is_alive, pids)))
    server.call(lambda: setattr(pool, "memory_bytes", limit_bytes))


FAULTS: dict[str, tuple[Fault, str]] = {
    "thinker killed": (send(signal.SIGKILL, "thinker"), "signal 9"),
    "understudy killed": (send(signal.SIGKILL, "understudy"), "signal 9"),
    "both killed": (send(signal.SIGKILL, *WORKERS), "signal 9"),
    "thinker stopped": (send(signal.SIGSTOP, "thinker"), "it "),
    "both stopped": (send(signal.SIGSTOP, *WORKERS), "it "),
    "memory taken": (take_memory, "it took more memory than 1 MB"),
}
"""Faults that are injected, and the causes that the log names."""


@pytest.mark.verify
@pytest.mark.parametrize("name", rarely(FAULTS, FAULTS.keys() - {"thinker killed"}))
def test_fault_while_thinking_costs_no_move(server: LiveServer, folder: Path, name: str) -> None:
    fault, cause = FAULTS[name]
    match = name.replace(" ", "-")
    referee = referee_of(match)
    assert server.post(opening_of(referee, play_clock_s=2)) == "ready"
    with ThreadPoolExecutor() as pool:
        while not referee.is_over:
            move = pool.submit(server.post, print_message(referee.play(), STYLE))
            if referee.turn == 1:
                eventually(lambda: is_asked(folder, match))
                fault(server, folder, match)
            referee.execute(move.result())  # demands a legal move
    eventually(lambda: deaths(folder, match))
    assert deaths(folder, match)[0].startswith(cause)
    assert server.post(print_message(referee.stop(), STYLE)) == "done"


def deaths(folder: Path, match: str) -> list[str]:
    """How workers of a match died, according to its log."""
    lines = [e for e in events(folder, match) if e["event"] == "worker" and e["what"] == "died"]
    return [str(line["text"]) for line in lines]


@pytest.mark.verify
def test_workers_that_died_between_turns_are_replaced(tmp_path: Path) -> None:
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        referee = referee_of("m")
        assert server.post(opening_of(referee)) == "ready"
        while not referee.is_over:
            if referee.turn:
                for worker in WORKERS:
                    os.kill(pid_of(tmp_path, "m", worker), signal.SIGKILL)
            referee.execute(server.post(print_message(referee.play(), STYLE)))
        assert server.post(print_message(referee.stop(), STYLE)) == "done"
    decisions = [e for e in events(tmp_path, "m") if e["event"] == "decision"]
    assert [e["fault"] for e in decisions] == [None] * 3
    assert all(e["particles"] >= 1 for e in decisions)  # the new ones know the history


@pytest.mark.verify
def test_question_can_be_repeated_after_a_broken_connection(
    server: LiveServer, folder: Path
) -> None:
    referee = referee_of("cut")
    assert server.post(opening_of(referee, play_clock_s=2)) == "ready"
    while not referee.is_over:
        message = print_message(referee.play(), STYLE)
        with server.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.sendall(request(message))
            eventually(lambda: num_received(folder, "cut") == 2 * referee.turn + 2)
        referee.execute(server.post(message))
    assert server.post("(ABORT cut)") == "aborted"
    assert len([e for e in events(folder, "cut") if e["event"] == "decision"]) == 3


def num_received(folder: Path, match: str) -> int:
    return sum(event["event"] == "received" for event in events(folder, match))


@pytest.mark.verify
def test_repeated_and_reordered_messages_cost_no_move(tmp_path: Path) -> None:
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        referee = referee_of("m")
        opening = opening_of(referee)
        old: list[tuple[str, str]] = []
        assert [server.post(opening) for _ in range(2)] == ["ready"] * 2
        while not referee.is_over:
            message = print_message(referee.play(), STYLE)
            reply = server.post(message)
            old.append((message, reply))
            assert [server.post(text) for text, _ in old] == [answer for _, answer in old]
            assert server.post(opening) == "ready"
            referee.execute(reply)
        stop = print_message(referee.stop(), STYLE)
        assert [server.post(stop) for _ in range(2)] == ["done"] * 2
        assert server.post(old[0][0]) == old[0][1]


@pytest.mark.verify
def test_message_of_a_later_turn_releases_the_earlier_question(tmp_path: Path) -> None:
    with live_server(HostOptions("hyperplay:n=2", log_folder=tmp_path)) as server:
        assert server.post(start("m", clocks="60 60")) == "ready"
        with ThreadPoolExecutor() as pool:
            early = pool.submit(server.post, "(PLAY m 0 NIL NIL)")
            eventually(lambda: num_received(tmp_path, "m") == 2)
            time.sleep(1.0)  # no log says when a first legal move is known
            late = pool.submit(server.post, "(PLAY m 1 (guess 0) ((hint 1)))")
            # Long before the clock of 60 s:
            assert early.result() in ("(guess 0)", "(guess 1)")
            assert not late.done()
            assert server.post("(STOP m 2 pass ())") == "done"
            assert late.result() in ("(guess 0)", "(guess 1)", "pass")


@pytest.mark.parametrize("how", rarely(["ended", "killed"], {"ended"}))
def test_restarted_server_resumes_its_matches(tmp_path: Path, how: str) -> None:
    referee = referee_of("m")
    options = HostOptions(QUICK, log_folder=tmp_path)
    with live_server(options) as server:
        assert server.post(opening_of(referee)) == "ready"
        assert server.post(start("over", clocks="60 60")) == "busy"
        referee.execute(server.post(print_message(referee.play(), STYLE)))
        if how == "killed":  # as the log ends then
            (log,) = tmp_path.glob("m.*")
            remainder = log.read_text()
            cut = '{"t": 1.0, "event": "rec'
    if how == "killed":
        log.write_text(remainder + cut)
    with live_server(options) as server:
        assert "busy" in server.post("(INFO)")
        while not referee.is_over:
            referee.execute(server.post(print_message(referee.play(), STYLE)))
        assert server.post(print_message(referee.stop(), STYLE)) == "done"
    decisions = [e for e in events(tmp_path, "m") if e["event"] == "decision"]
    assert [e["turn"] for e in decisions] == [0, 1, 2]
    assert [e["fault"] for e in decisions] == [None] * 3
    with live_server(options) as server:
        assert "available" in server.post("(INFO)")


def test_match_goes_on_after_our_move_was_replaced(tmp_path: Path) -> None:
    # The server says it played another move, though ours was legal and in time.
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        assert server.post(start("m", clocks="60 60")) == "ready"
        moves = {"(guess 0)", "(guess 1)"}
        answered = server.post("(PLAY m 0 NIL NIL)")
        (executed,) = moves - {answered}
        assert server.post(f"(PLAY m 1 {executed} ((hint 1)))") in {*moves, "pass"}
        decision = [e for e in events(tmp_path, "m") if e["event"] == "decision"][-1]
        assert decision["fault"] is None
        assert decision["particles"] >= 1


@pytest.mark.verify
def test_worker_that_keeps_dying_is_always_replaced(tmp_path: Path) -> None:
    with live_server(HostOptions(QUICK, log_folder=tmp_path)) as server:
        assert server.post(start("m", clocks="60 60")) == "ready"
        for number in range(pair.MAX_LIVES):
            eventually(partial(_has_built, tmp_path, "thinker", number + 1))
            os.kill(pid_of(tmp_path, "m", "thinker"), signal.SIGKILL)
        eventually(partial(_has_built, tmp_path, "thinker", pair.MAX_LIVES + 1))
        began_s = time.monotonic()
        assert server.post("(PLAY m 0 NIL NIL)") in ("(guess 0)", "(guess 1)")
        assert time.monotonic() - began_s < 60


def _has_built(folder: Path, worker: str, times: int) -> bool:
    announcements = [
        e for e in events(folder, "m") if e["event"] == "worker" and e["what"] == "built"
    ]
    return [event["worker"] for event in announcements].count(worker) >= times


def test_a_belief_outlives_its_workers_and_its_server(tmp_path: Path) -> None:
    options, answers = HostOptions("random", backend="propnet", log_folder=tmp_path), ["NIL NIL"]

    def play(server: LiveServer, turn: int) -> int:
        """Play a turn; returns the states visited for our move."""
        answers.append(f"{server.post(f'(PLAY m {turn} {answers[-1]})')} ()")
        decision = [e for e in events(tmp_path, "m") if e["event"] == "decision"][-1]
        assert decision["source"] == "thinker"
        assert decision["particles"] > 0
        return int(decision["states_visited"])

    def stored_turns() -> list[int]:
        return [
            b["turn"]
            for f in tmp_path.glob("*.beliefs")
            for b in json.loads(f.read_text()).values()
        ]

    with live_server(options) as server:
        assert server.post(start("m", HAYSTACK, "seer", "60 60")) == "ready"
        of_a_turn = max(play(server, turn) for turn in range(9))
        eventually(lambda: stored_turns() == [8, 8])
        for worker in WORKERS:
            os.kill(pid_of(tmp_path, "m", worker), signal.SIGKILL)
        assert play(server, 9) <= of_a_turn  # not nine turns anew
        eventually(lambda: 9 in stored_turns())
    with live_server(options) as server:
        assert play(server, 10) <= 2 * of_a_turn
        assert server.post(f"(STOP m 11 {answers[-1]})") == "done"
        eventually(lambda: not list(tmp_path.glob("*.beliefs")))
