"""The line between a match in a worker process and the server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from match_runner.table.seats.link import LinkBrokenError, LinkExchange, Message, WorkerLink


def test_all_that_a_worker_said_is_heard_before_its_work_counts_as_done(tmp_path: Path) -> None:
    """Its result comes another way, and is often there first."""

    def work(path: str) -> None:
        link = WorkerLink(path, "key", lambda message: None)
        for number in range(200):
            link.send({"kind": "frame", "number": number, "padding": "x" * 20_000})
        link.close()

    async def check() -> None:
        exchange = LinkExchange(tmp_path)
        await exchange.open()
        heard: list[Any] = []
        exchange.expect("key", heard.append)
        await asyncio.to_thread(work, exchange.path)
        await exchange.all_heard("key")
        exchange.forget("key")
        assert [message["number"] for message in heard] == list(range(200))
        await exchange.close()

    asyncio.run(check())


def test_a_worker_that_is_done_before_the_server_has_seen_it_is_heard(tmp_path: Path) -> None:
    async def check() -> None:
        exchange = LinkExchange(tmp_path)
        await exchange.open()
        heard: list[Any] = []
        exchange.expect("key", heard.append)
        link = WorkerLink(exchange.path, "key", lambda message: None)  # nothing else runs meanwhile
        link.send({"kind": "lines"})
        link.close()
        await exchange.all_heard("key")
        exchange.forget("key")
        assert heard == [{"kind": "lines"}]
        await exchange.close()

    asyncio.run(check())


def test_nobody_waits_for_a_worker_that_was_forgotten(tmp_path: Path) -> None:
    """A match may be ended when its worker has just finished, before or while it is waited for."""

    async def check() -> None:
        exchange = LinkExchange(tmp_path)
        exchange.expect("early", lambda message: None)
        exchange.forget("early")
        await asyncio.wait_for(exchange.all_heard("early"), 1.0)
        exchange.expect("late", lambda message: None)
        waiting = asyncio.ensure_future(exchange.all_heard("late"))
        await asyncio.sleep(0)
        exchange.forget("late")
        await asyncio.wait_for(waiting, 1.0)

    asyncio.run(check())


def test_a_worker_hears_the_server_and_that_it_is_gone(tmp_path: Path) -> None:
    async def check() -> None:
        exchange = LinkExchange(tmp_path)
        await exchange.open()
        said: asyncio.Queue[Any] = asyncio.Queue()
        told: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        exchange.expect("key", said.put_nowait)

        def hear(message: Message | None) -> None:
            loop.call_soon_threadsafe(told.put_nowait, message)

        link = await asyncio.to_thread(WorkerLink, exchange.path, "key", hear)
        link.send({"kind": "ask"})
        assert await said.get() == {"kind": "ask"}
        assert exchange.send("key", {"kind": "move"})
        assert await told.get() == {"kind": "move"}
        exchange.forget("key")
        assert await told.get() is None
        with pytest.raises(LinkBrokenError):
            link.send({"kind": "ask"})
        link.close()
        await exchange.close()

    asyncio.run(check())


def test_who_does_not_know_the_key_is_not_heard(tmp_path: Path) -> None:
    async def check() -> None:
        exchange = LinkExchange(tmp_path)
        await exchange.open()
        heard: list[Any] = []
        exchange.expect("key", heard.append)
        gone = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hear(message: Message | None) -> None:
            loop.call_soon_threadsafe(gone.set)

        link = await asyncio.to_thread(WorkerLink, exchange.path, "guess", hear)
        await asyncio.wait_for(gone.wait(), 10)
        assert heard == []
        link.close()
        await exchange.close()

    asyncio.run(check())


def test_a_worker_without_a_server_says_so(tmp_path: Path) -> None:
    with pytest.raises(LinkBrokenError, match="the table is gone"):
        WorkerLink(str(tmp_path / "none.sock"), "key", lambda message: None)
