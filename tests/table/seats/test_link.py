"""The link between a match in a worker process and the server."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from typing import Any

import pytest

from ggp.gdl.games import find_game
from match_runner.match.conditions import Conditions
from match_runner.table import seating
from match_runner.table.seating import (
    HUMAN,
    LinkBrokenError,
    Message,
    StepReports,
    TableTask,
    WorkerLink,
)
from match_runner.workers.executor import LocalPool, WorkerFailedError

FEW, LARGE = 200, 20_000


def tell_much() -> str:
    link = WorkerLink()
    for number in range(FEW):
        link.send({"kind": "frame", "number": number, "padding": "x" * LARGE})
    return "all"


def repeat() -> int:
    """Sends back its messages until the match is ended; then it tries once more."""
    messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
    link = WorkerLink(messages.put)
    link.send({"kind": "here"})
    while (message := messages.get()) is not None:
        link.send(message)
    link.send({"kind": "too late"})
    return 0


@pytest.fixture(name="pool")
def _pool() -> Iterator[LocalPool]:
    pool = LocalPool(1)
    yield pool
    pool.close()


def test_all_messages_of_a_worker_arrive_before_its_work_counts_as_done(pool: LocalPool) -> None:
    news_read: list[Any] = []
    assert (
        pool.submit(tell_much, (), lambda news: news_read.append(json.loads(news))).result()
        == "all"
    )
    assert [message["number"] for message in news_read] == list(range(FEW))


def test_a_worker_hears_the_server_and_that_the_match_is_ended(pool: LocalPool) -> None:
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    for turn in range(2):  # what was meant for one match does not reach the next
        call = pool.submit(repeat, (), messages.put)
        assert json.loads(messages.get(timeout=60)) == {"kind": "here"}
        for move in ("a", "b" * LARGE):
            message = {"kind": "move", "move": move, "turn": turn}
            assert pool.send(call, message)
            assert json.loads(messages.get(timeout=60)) == message
        for _ in range(2):
            pool.send(call, None)
        with pytest.raises(WorkerFailedError, match="the match was ended") as caught:
            call.result(60)
        assert isinstance(caught.value.__cause__, LinkBrokenError)
        assert not pool.send(call, {"kind": "move"})
        assert messages.empty()


def test_a_match_that_was_ended_is_not_prepared() -> None:
    class BrokenLink(WorkerLink):
        def __init__(self) -> None:
            """Listen to nobody."""

        def send(self, message: Message) -> None:
            if message["kind"] == "frame":
                raise LinkBrokenError("the match was ended")

    rules = find_game("tic_tac_toe").read_text(encoding="utf-8")
    players = {"xplayer": HUMAN, "oplayer": "random"}
    task = TableTask("tic_tac_toe", rules, None, players, 0, Conditions(None), None)
    link = BrokenLink()
    with pytest.raises(LinkBrokenError):
        seating._prepare(task, link, seating._Mail(), StepReports(link))
