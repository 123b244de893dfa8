"""The pair of a match: who starts first, and what is sent where nobody knows a move."""

from __future__ import annotations

import asyncio
import time

import pytest

from ggp.errors import BackendUnavailableError
from ggp.protocol.path import PathTurn
from ggp.protocol.session import Ask
from ggp.server.match_log import MatchLog
from ggp.server.workers.nursery import Nursery
from ggp.server.workers.orders import Setup
from ggp.server.workers.pair import MoveToSend, WorkerPair, last_resort
from ggp.server.workers.pool import WorkerPool, WorkerProcess

SETUP = Setup("(role a)", "a", "random", "prolog", 1, 1.0, 1 << 30)
LONG_AGO_S = -100.0


class NoPool(WorkerPool):
    """The system starts no process."""

    def __init__(self) -> None:
        super().__init__(Nursery(lambda channel, anew: None), 1 << 30)
        self.asked: list[bool] = []

    async def take(self, *, light: bool) -> WorkerProcess:
        self.asked.append(light)
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
    assert last_resort([PathTurn(move, submitted=sent) for move, sent in turns]) == expected


def test_without_workers_the_move_comes_from_what_the_server_told() -> None:
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
        while len(pool.asked) < 2:
            await asyncio.sleep(0)
        await pair.close()
        return pool.asked

    light, heavy = asyncio.run(run())[:2]
    assert (light, heavy) == (True, False)
