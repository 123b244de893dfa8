"""The pair of workers of a match: which starts first, and the moves when none is known."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from ggp.errors import BackendUnavailableError
from ggp.players import Decision
from ggp.protocol.path import Fit, PathTurn
from ggp.protocol.session import Ask
from ggp.server.match_log import MatchLog
from ggp.server.workers import pair as pair_module
from ggp.server.workers.nursery import Nursery
from ggp.server.workers.orders import (
    FIRST_LOOK,
    Answer,
    MachineBuilt,
    MoveReport,
    Setup,
    Think,
    Up,
)
from ggp.server.workers.pair import MoveToSend, WorkerPair, WorkerSlot, last_resort
from ggp.server.workers.pool import WorkerPool, WorkerProcess
from tests.server.live import PATIENCE_S
from tests.server.workers.test_pool import HANGS, ShellPool, WorkerLog, says, until

SETUP = Setup("(role a)", "a", "random", "prolog", 1, 1.0, 1 << 30)
LONG_AGO_S = -100.0


class NoPool(WorkerPool):
    """A pool of a system that starts no process."""

    def __init__(self) -> None:
        super().__init__(Nursery(lambda channel, anew: None), 1 << 30)
        self.requests: list[bool] = []

    async def take(self, *, light: bool) -> WorkerProcess:
        self.requests.append(light)
        raise BackendUnavailableError("a worker process", "none are left")


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([], "nil"),
        (["a"], "a"),
        (["a", "a"], "a"),
        (["mark1", "noop"], "mark1"),
        (["mark1", "noop", "mark2"], "noop"),
        (["mark1", "noop", "mark2", "noop", "mark3"], "noop"),
        (["noop", "mark1", "noop", "mark2", "noop"], "mark2"),
        (["a", "b", "c", "d"], "d"),
        (["mark1", "noop", "mark2", "noop", "noop"], "noop"),
        (["a", None], "a"),
        ([None, "a"], "a"),
        (["a", None, "b"], "b"),
        (["a", "b", None], "b"),
        (["noop", "mark1", "noop", "noop", "mark2", "noop"], "noop"),
        (["noop", "noop", "mark1", "noop", "noop", "mark2", "noop", "noop"], "mark2"),
        ([None, None, None], "nil"),
    ],
)
def test_last_resort_is_the_likeliest_of_our_moves(moves: list[str | None], expected: str) -> None:
    assert last_resort([PathTurn(move) for move in moves]) == expected


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([("b", "a")], "b"),
        ([("a", "a"), ("b", "a")], "b"),
        ([("a", "a"), ("c", "c"), ("b", "a")], "c"),
        ([("noop", "noop"), ("a", "a"), ("noop", "a")], "noop"),
        ([("b", "a"), ("a", "b")], "nil"),
        ([("c", "c"), ("b", "a"), ("a", "b")], "c"),
        ([("b", "a"), ("c", "c"), ("d", "d"), ("a", "a")], "a"),
    ],
)
def test_last_resort_repeats_no_move_that_the_server_has_just_replaced(
    turns: list[tuple[str, str]], expected: str
) -> None:
    assert (
        last_resort([PathTurn(move, submitted=submitted) for move, submitted in turns]) == expected
    )


def test_last_resort_is_the_move_executed_after_similar_percepts() -> None:
    # Who is to move hears of it, and moves on after a refusal.
    turns = [
        PathTurn("noop", ("(yours)",)),
        PathTurn("a1", ("(refused a1)", "(yours)")),
        PathTurn("a2", ("(theirs)",)),
        PathTurn("noop", ("(yours)",)),
        PathTurn("b1", ("(theirs)",)),
        PathTurn("noop", ("(theirs)",)),
        PathTurn("noop", ("(yours)",)),
        PathTurn("c1", ("(refused c1)", "(yours)")),
    ]
    assert last_resort(turns) == "a2"
    assert last_resort([*turns, PathTurn("c2", ("(theirs)",))]) == "noop"
    assert last_resort(turns[:-1]) == "b1"


class Guesser(WorkerSlot):
    """A worker without particles, whose moves are known beforehand."""

    def __init__(self, name: str, *args: Any, **options: Any) -> None:
        super().__init__(name, *args, **options)
        self._moves, self.is_built = {"thinker": ["a", "b"], "understudy": ["c", "d"]}[name], True

    def think(self, order: Think) -> None:
        decision = Decision(self._moves.pop(0), (), 0, False, 0, 0.0, "no particles")
        self.report, self.idle, self.lost = MoveReport(order.number, True, decision), True, True


def test_where_no_reading_fits_the_move_is_that_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_module, "WorkerSlot", Guesser)
    first, second = (PathTurn("a"), PathTurn("b")), (PathTurn("b"),)

    async def run() -> MoveToSend:
        pair = WorkerPair(NoPool(), SETUP, MatchLog(None, "m"))
        deadline_s = time.monotonic() + PATIENCE_S
        choice = await pair.choose(Ask(1, 1, True, first, 0.0, deadline_s, (second,)), deadline_s)
        await pair.close()
        return choice

    choice = asyncio.run(run())
    assert (choice.move, choice.fit) == ("a", Fit(None, 1))


class Latecomer(WorkerSlot):
    """A thinker that only knows a move for the second reading; an understudy that knows none."""

    def __init__(self, name: str, *args: Any, **options: Any) -> None:
        super().__init__(name, *args, **options)
        self.is_built = True

    def think(self, order: Think) -> None:
        self.lost = self.idle = self.name == "thinker" and not order.is_doubt
        if self.name == "thinker" and order.is_doubt:
            sound = Decision("b", (), 4, False, 0, 0.0, None)
            self.report, self.idle = MoveReport(order.number, True, sound), True


def test_while_no_move_is_known_readings_are_tried_even_after_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_module, "WorkerSlot", Latecomer)

    async def run() -> MoveToSend:
        pair = WorkerPair(NoPool(), SETUP, MatchLog(None, "m"))
        now_s = time.monotonic()
        ask = Ask(1, 1, True, (PathTurn("a"),), 0.0, now_s - 1.0, ((PathTurn("b"),),))
        choice = await pair.choose(ask, now_s + PATIENCE_S)
        await pair.close()
        return choice

    choice = asyncio.run(run())
    assert (choice.move, choice.fit) == ("b", Fit(1, 1))


def test_without_workers_the_move_comes_from_the_history() -> None:
    history = (
        PathTurn("noop"),
        PathTurn(None, None, "(mark 1 1)", True),
        PathTurn("noop", submitted="x"),
    )

    async def run() -> MoveToSend:
        pair = WorkerPair(NoPool(), SETUP, MatchLog(None, "m"))
        pair.start(time.monotonic())
        deadline_s = time.monotonic() + LONG_AGO_S
        choice = await pair.choose(Ask(1, 1, True, history, 0.0, deadline_s, ()), deadline_s)
        await pair.close()
        return choice

    assert asyncio.run(run()) == MoveToSend("(mark 1 1)", "last resort", False, None)


def test_understudy_is_started_first() -> None:
    async def run() -> list[bool]:
        pool = NoPool()
        pair = WorkerPair(pool, SETUP, MatchLog(None, "m"))
        pair.start(time.monotonic())
        while len(pool.requests) < 2:
            await asyncio.sleep(0)
        await pair.close()
        return pool.requests

    light, heavy = asyncio.run(run())[:2]
    assert (light, heavy) == (True, False)


def test_understudy_on_the_machine_of_the_thinker_takes_over() -> None:
    def script(backend: str) -> str:
        report = MoveReport(FIRST_LOOK, True, Decision("a", (), 1, True, 0, 0.0))
        answers: list[Answer] = [Up(()), MachineBuilt(backend, ("a",), 0.0), report]
        return f"{'; '.join(map(says, answers))}; {HANGS}"

    async def run() -> None:
        plain, fast, log = script("prolog"), script("relational"), WorkerLog()
        pool = ShellPool(plain, fast, fast, plain)
        pair = WorkerPair(pool, replace(SETUP, backend="auto"), log)
        await pair.get_ready(1, time.monotonic() + PATIENCE_S)
        first, *_ = pool.workers
        deadline_s = time.monotonic() + PATIENCE_S
        for number in count(2):
            if first.ended:
                break
            pair.hurry(number)
            await pair.choose(Ask(number, 1, True, (), 0.0, deadline_s), deadline_s)
            await asyncio.sleep(0.01)
        *_, successor = pool.workers
        successor.kill("a test")
        await until(lambda: len(log.texts("understudy", "built")) == 3)
        backends = [text.partition(",")[0] for text in log.texts("understudy", "built")]
        assert backends == ["prolog", "relational", "prolog"]  # which is ready in a moment again
        assert pool.lights == [True, False, False, True]
        assert pair.kills == 1
        await pair.close()
        await pool.close()

    asyncio.run(run())
