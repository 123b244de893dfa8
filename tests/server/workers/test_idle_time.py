"""Workers and servers between messages: players ponder, and transmission is measured."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ggp.gdl import find_game
from ggp.players import Decision
from ggp.protocol.path import PathTurn
from ggp.search.anytime import Deadline
from ggp.server.latency import Latency
from ggp.server.settings import HostOptions
from ggp.server.workers import worker_match
from ggp.server.workers.orders import (
    FIRST_LOOK,
    FIRST_LOOK_S,
    Answer,
    MachineBuilt,
    MoveReport,
    PlayerReady,
    Think,
)
from tests.players.parts.test_depletion import HAYSTACK
from tests.search.test_timed_machine import SlowClock
from tests.server.live import LiveServer, live_server, start
from tests.server.workers.test_worker import Dialogue, setup, with_worker
from tests.support.effort import rarely
from tests.support.games import machine_of_game

SEER = replace(setup(HAYSTACK, "hyperplay2:n=4,exact=0"), role="seer")
WAITED = PathTurn("wait", (), "wait", True)


def test_idle_worker_finds_more_particles_and_answers_questions_at_once() -> None:
    async def scenario(dialogue: Dialogue) -> None:
        dialogue.worker.send(SEER)
        dialogue.worker.send(Think(1, 0, (WAITED, WAITED), time.monotonic()))
        thin = await dialogue.final(1)
        assert 0 < thin.particles <= 32
        took_s = []
        for number in range(2, 100):
            await asyncio.sleep(0.05 * number)  # little of it is the worker's on a busy machine
            asked_s = time.monotonic()
            dialogue.worker.send(Think(number, 2, (), asked_s))
            decision = await dialogue.final(number)
            took_s.append(time.monotonic() - asked_s)
            if decision.particles >= 64:
                break
        assert decision.particles >= 64
        assert np.median(took_s) < 0.5  # most of it is choosing, on a busy machine

    with_worker(scenario)


class Ponderer:
    """A player that records the time it had to ponder, and may raise."""

    def __init__(self) -> None:
        self.left_s: list[float] = []
        self.raises = False
        self.states_visited = 0

    def observe(self, *args: object, **kwargs: object) -> None:
        """Ignore the turn."""

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        return Decision("(guess 0)", (), 1, True, 0, 0.0)

    def ponder(self, deadline: Deadline) -> None:
        self.left_s.append(deadline.left_s())
        if self.raises:
            raise ValueError("a mistake")


def test_error_while_pondering_costs_only_the_player(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    players: list[Ponderer] = []

    def make(*args: object, **kwargs: object) -> Ponderer:
        players.append(Ponderer())
        return players[-1]

    monkeypatch.setattr(worker_match, "player_of", make)
    answers: list[Answer] = []
    orders = [False]
    match = worker_match.WorkerMatch(answers.append, lambda: orders[0])
    match.build(setup())
    match.ponder()
    assert 0 < players[0].left_s[0] <= worker_match.PONDER_S
    orders[0] = True  # a newer order: the time is up whenever it looks
    match.ponder()
    assert players[0].left_s[1] < 0
    orders[0], players[0].raises = False, True
    match.ponder()
    assert any("while nobody waited" in record.getMessage() for record in caplog.records)
    order = Think(1, 0, (), time.monotonic() + 5)
    match.take_note(order)
    match.think(order)
    assert len(players) == 2
    assert isinstance(answers[-1], MoveReport)
    assert answers[-1].decision.is_sound


class Preparer(Ponderer):
    """A player that records the time limit of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, float]] = []

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        assert deadline is not None
        self.calls.append(("choose", deadline.left_s()))
        return super().choose(deadline, value_forced=value_forced)

    def prepare(self, deadline: Deadline) -> None:
        self.calls.append(("prepare", deadline.left_s()))


@pytest.mark.parametrize(("turns", "prepares"), [((), True), ((WAITED,), False)])
def test_player_gets_the_start_clock_except_for_a_first_look(
    turns: tuple[PathTurn, ...], prepares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = Preparer()
    monkeypatch.setattr(worker_match, "player_of", lambda *args, **kwargs: player)
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(answers.append, lambda: False)
    match.build(setup())
    assert not player.calls
    order = Think(FIRST_LOOK, 0, turns, time.monotonic() + 30)
    match.take_note(order)
    match.think(order)
    assert [name for name, _ in player.calls] == ["prepare", "choose"][not prepares :]
    if prepares:
        assert 20 < player.calls[0][1] <= 30 - FIRST_LOOK_S
    assert player.calls[-1][1] <= FIRST_LOOK_S
    assert isinstance(answers[-1], MoveReport)
    match.ponder()
    assert not player.left_s  # the move is not made: nothing comes of it
    question = Think(1, len(turns), (), time.monotonic() + 30)
    match.take_note(question)
    match.think(question)
    assert player.calls[-1][0] == "choose"
    assert player.calls[-1][1] > 20
    match.ponder()
    assert player.left_s


def play_turns(server: LiveServer, match: str, turns: int) -> None:
    server.post(start(match, HAYSTACK, "seer", "20 1"))
    move = server.post(f"(PLAY {match} 0 NIL NIL)")
    for turn in range(1, turns):
        move = server.post(f"(PLAY {match} {turn} {move} NIL)")


class RecordedLatency(Latency):
    """Records its measurements."""

    def __init__(self) -> None:
        super().__init__()
        self.overruns_s: list[float] = []
        self.gaps_s: list[float] = []
        self.trips_s: list[float] = []

    def overran(self, seconds: float) -> None:
        self.overruns_s.append(seconds)
        super().overran(seconds)

    def proved(self, gap_s: float) -> None:
        self.gaps_s.append(gap_s)
        super().proved(gap_s)

    def round_trip(self, seconds: float) -> None:
        self.trips_s.append(seconds)
        super().round_trip(seconds)


@pytest.mark.parametrize("margin_s", rarely([None, 0.4], {0.4}))
@pytest.mark.verify
def test_a_server_measures_transmission_unless_its_margin_is_set(
    margin_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    latency = RecordedLatency()
    monkeypatch.setattr("ggp.server.latency.Latency", lambda: latency)
    with live_server(HostOptions("hyperplay:n=2,exact=0", margin_s=margin_s)) as server:
        play_turns(server, "way", 3)
    if margin_s is not None:
        assert not latency.gaps_s
        return
    assert len(latency.overruns_s) == 3
    assert len(latency.gaps_s) == 2
    assert max(latency.gaps_s) < 1.0
    if sys.platform == "linux":
        assert 0 < max(latency.trips_s) < 1.0
    assert 0.05 <= latency.margin_s(0.5) < 0.5 or max(latency.overruns_s) > 0.05


def test_a_slow_machine_is_announced_before_the_player_looks_into_the_game(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SlowClock()
    machine = clock.slowed(machine_of_game("kuhn_poker"), lane_s=0.1)
    monkeypatch.setattr(worker_match, "build_machine", lambda *args, **kwargs: machine)
    clocks = SimpleNamespace(monotonic=clock, process_time=clock)
    monkeypatch.setattr(worker_match, "time", clocks)
    answers: list[tuple[type[Answer], float]] = []
    asked_s = 2.0
    match = worker_match.WorkerMatch(
        lambda answer: answers.append((type(answer), clock.now_s)), lambda: clock.now_s > asked_s
    )
    match.build(replace(setup(find_game("kuhn_poker").read_text(), "auto"), role="player1"))
    assert [kind for kind, _ in answers] == [MachineBuilt, PlayerReady]
    assert answers[0][1] < 0.1
    assert answers[1][1] < asked_s + 0.3
    asked_s, order = np.inf, Think(1, 0, (), clock.now_s + 5)
    match.take_note(order)
    match.think(order)
    assert answers[-1][0] is MoveReport
    assert answers[-1][1] < order.deadline_s + 1
    decided_s = answers[-1][1]
    match.ponder()
    assert decided_s < clock.now_s < decided_s + worker_match.PONDER_S + 1
