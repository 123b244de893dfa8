"""The events that browsers get, and how they ask for those they missed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from match_runner.table import held_match
from match_runner.table.held_match import EventLog


async def _take(stream: AsyncIterator[str], count: int) -> list[str]:
    return [await anext(stream) for _ in range(count)]


def test_each_audience_gets_its_own_entries_in_order() -> None:
    async def check() -> None:
        log = EventLog()
        log.add("all", "frame", {"n": 0})
        log.add("seat:a", "frame", {"own": 0})
        log.add("all", "frame", {"n": 1})
        first, second = await _take(log.follow("all", ""), 2)
        assert first.endswith('event: frame\ndata: {"n": 0}\n\n')
        assert second.endswith('event: frame\ndata: {"n": 1}\n\n')
        (own_entry,) = await _take(log.follow("seat:a", ""), 1)
        assert '{"own": 0}' in own_entry

    asyncio.run(check())


def test_a_reader_that_reconnects_gets_the_entries_after_its_last() -> None:
    async def check() -> None:
        log = EventLog()
        for number in range(5):
            log.add("all", "frame", {"n": number})
        seen = (await _take(log.follow("all", ""), 3))[-1]
        last = seen.partition("\n")[0].removeprefix("id: ")
        missed = await _take(log.follow("all", last), 2)
        assert [text.rpartition('{"n": ')[2][0] for text in missed] == ["3", "4"]

    asyncio.run(check())


def test_a_reader_of_another_servers_log_has_to_start_over() -> None:
    async def check() -> None:
        earlier_log, log = EventLog(), EventLog()
        earlier_log.add("all", "frame", {})
        log.add("all", "frame", {})
        (text,) = await _take(log.follow("all", earlier_log.last), 1)
        assert "event: reset" in text
        assert text.startswith(f"id: {log.last}\n")

    asyncio.run(check())


def test_news_of_the_moment_are_told_as_they_are_when_somebody_looks() -> None:
    async def check() -> None:
        log = EventLog()
        for number in range(3):
            log.show("all", "thought a", "thought", {"n": number})
        stream = log.follow("all", "")
        (only,) = await _take(stream, 1)
        assert only == 'event: thought\ndata: {"n": 2}\n\n'
        log.clear("thought a")
        log.add("all", "frame", {"n": 9})
        assert "frame" in await anext(stream)

    asyncio.run(check())


def test_a_reader_that_waits_wakes_up_and_ends_with_the_log() -> None:
    async def check() -> None:
        log = EventLog()
        texts: list[str] = []

        async def read() -> None:
            texts.extend([text async for text in log.follow("all", "")])

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        log.add("all", "frame", {})
        await asyncio.sleep(0)
        log.close()
        await asyncio.wait_for(reading, 5)
        assert len(texts) == 1

    asyncio.run(check())


@pytest.mark.parametrize("place", ["{}-" + "9" * 5000, "{}-9", "{}-", "{}-x", "{}", "{}--1"])
def test_an_unknown_place_in_the_log_starts_over(place: str) -> None:
    async def check() -> None:
        log = EventLog()
        log.add("all", "frame", {})
        (text,) = await _take(log.follow("all", place.format(log.epoch)), 1)
        assert "event: reset" in text
        (text,) = await _take(log.follow("all", place.format("x")), 1)
        assert "event: reset" in text

    asyncio.run(check())


def test_a_reader_hears_a_beat_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_match, "BEAT_S", 0.01)

    async def check() -> None:
        assert await _take(EventLog().follow("all", ""), 2) == ["event: beat\ndata: {}\n\n"] * 2

    asyncio.run(check())
