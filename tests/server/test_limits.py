"""Limits on the cost of one stranger: long texts, large gaps, endless percepts, odd workers."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ggp.belief import snapshots
from ggp.cli.serve import serve
from ggp.errors import LocalProtocolError
from ggp.players.player import Decision
from ggp.protocol.lobby import Lobby
from ggp.protocol.path import MAX_CHARS, MAX_GAP
from ggp.protocol.reading import Request
from ggp.server import match_log
from ggp.server.host import LARGE_CHARS, Host
from ggp.server.match_log import LogFolder, MatchLog, restore
from ggp.server.settings import HostOptions, ServerLimits
from ggp.server.workers import orders
from ggp.server.workers.orders import Believed, MoveReport, read_answer, to_json
from tests.protocol.doubles import receive

RULES = "(role a) (role random) (<= (sees a (p ?x)) (does random ?x)) (<= (legal a b) (true x))"
LONG = "(x)" * LARGE_CHARS


def started(*, plays: bool = True) -> Lobby:
    lobby = Lobby("ggp")
    assert receive(lobby, f"(START m a ({RULES}) 10 10)", 0.0).began is not None
    if plays:
        assert receive(lobby, "(PLAY m 0 NIL NIL)", 1.0).ask is not None
    return lobby


def now(text: str) -> Request:
    """A request that arrives now."""
    return Request(text, time.monotonic())


@pytest.mark.parametrize("kind", ["PLAY", "(stop", " ( Abort"])
def test_long_texts_of_unknown_matches_are_not_read(kind: str) -> None:
    host = Host(HostOptions("random"))
    reply = asyncio.run(host.reply(now(f"{kind} nobody 3 b ({LONG}))")))
    assert (reply.text, reply.refused) == ("busy", True)


def test_long_texts_beyond_a_few_are_not_read() -> None:
    async def flood() -> list[str]:
        host = Host(HostOptions("random"))
        texts = [f"(nonsense {number} {LONG})" for number in range(20)]
        return [reply.text for reply in await asyncio.gather(*map(host.reply, map(now, texts)))]

    replies = asyncio.run(flood())
    read = [text for text in replies if text != "busy"]
    assert len(read) == HostOptions("random").limits.long_texts


@pytest.mark.verify
def test_connections_that_wait_for_the_same_answer_are_few() -> None:
    async def ask() -> list[str]:
        limits = ServerLimits(waiting=3)
        host = Host(HostOptions("random", limits=limits, margin_s=0.0))
        await host.open()
        try:
            start = f"(START m a ({RULES}) 1 1)"
            replies = await asyncio.gather(*(host.reply(now(start)) for _ in range(5)))
            return [reply.text for reply in replies]
        finally:
            await host.close()

    assert sorted(asyncio.run(ask())) == ["busy"] * 2 + ["ready"] * 3


def test_server_listens_to_this_machine_only_by_default() -> None:
    (host,) = (option for option in serve.params if option.opts == ["--host"])
    assert host.default == "127.0.0.1"


@pytest.mark.parametrize("plays", [False, True], ids=["at-first", "later"])
def test_large_gaps_are_refused_and_the_match_goes_on(plays: bool) -> None:
    lobby = started(plays=plays)
    refusal = receive(lobby, f"(PLAY m {MAX_GAP + 1} b ())", 2.0).refusal
    assert refusal is not None
    assert f"more than {MAX_GAP} turns are missing" in refusal
    receipt = receive(lobby, "(PLAY m 1 b ((p c)))", 3.0)
    assert receipt.ask is not None
    assert [turn.percepts for turn in receipt.ask.history] == [("(p c)",)]


def test_percepts_beyond_the_limit_count_as_unknown() -> None:
    lobby = started()
    percepts = " ".join(f"(p {'c' * 900}{number})" for number in range(500))
    history: list[tuple[str, ...] | None] = []
    for turn in range(1, 13):
        receipt = receive(lobby, f"(PLAY m {turn} b ({percepts}))", turn + 1.0)
        assert receipt.ask is not None
        history = [path_turn.percepts for path_turn in receipt.ask.history]
    assert [seen is not None for seen in history] == [True] * 8 + [False] * 4
    num_chars = sum(len(text) for seen in history if seen is not None for text in seen)
    assert num_chars <= MAX_CHARS


def test_size_of_the_log_folder_is_limited(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "mine.txt").write_text("x" * 50_000)
    folder = LogFolder(tmp_path, limit_bytes=100_000)
    for number in range(40):
        log = folder.begin(f"m{number}")
        log.write("note", text="x" * 2_000)
        log.close()
    written = list(tmp_path.glob("m*.jsonl"))
    assert 0 < len(written) < 20
    assert (tmp_path / "mine.txt").exists()
    (warning,) = caplog.messages
    assert "--log-limit" in warning
    # The same for the server after it.
    assert LogFolder(tmp_path, limit_bytes=100_000).begin("next").path is None


def test_log_that_is_full_says_so_and_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.server.match_log.MAX_BYTES", 1_000)
    log = MatchLog(tmp_path, "m")
    log.begin(match="m")
    log.write("received", text=f"(START m a ({RULES}) 10 10)")
    assert log.path is not None
    assert [match_log.path for match_log in restore(tmp_path, Lobby("ggp"), 0.0)] == [log.path]
    log.close()
    resumed = MatchLog(None, "m", resumes=log.path)
    for _ in range(100):
        resumed.write("note", text="x" * 80)
    lines = log.path.read_text().splitlines()
    assert json.loads(lines[-1])["why"] == "log full"
    assert len("\n".join(lines)) < 1_100
    assert restore(tmp_path, Lobby("ggp"), 0.0) == ()


@pytest.mark.parametrize(("hours", "is_played"), [(1, True), (3, False)])
def test_match_with_clocks_of_a_week_is_not_restored_after_a_day(
    tmp_path: Path, hours: int, is_played: bool
) -> None:
    log = MatchLog(tmp_path, "m")
    log.write("begin", format=1, time=(datetime.now(UTC) - timedelta(hours=hours)).isoformat())
    log.write("received", text=f"(START m a ({RULES}) 604800 604800)")
    log.close()
    lobby = Lobby("ggp", matches=1)
    assert len(restore(tmp_path, lobby, 1e6)) == is_played
    assert lobby.is_busy == is_played


def test_match_without_room_for_its_log_is_played(tmp_path: Path) -> None:
    async def play() -> list[str]:
        host = Host(HostOptions("random", log_folder=tmp_path, log_limit_bytes=0))
        await host.open()
        try:
            texts = (f"(START m a ({RULES}) 1 1)", "(ABORT m)")
            return [(await host.reply(now(text))).text for text in texts]
        finally:
            await host.close()

    assert asyncio.run(play()) == ["ready", "aborted"]
    assert list(tmp_path.iterdir()) == []


def test_beliefs_are_stored_beside_the_log_until_the_match_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sizes: list[int] = []
    log = MatchLog(tmp_path, "m", count=sizes.append)
    latest = {"thinker": Believed(7, "b" * 80), "understudy": Believed(5, "c" * 40)}
    for worker, belief in (("thinker", Believed(6, "a" * 99)), *latest.items()):
        log.keep(worker, belief)
    (stored,) = tmp_path.glob("*.beliefs")
    assert sum(sizes) == LogFolder(tmp_path).num_bytes
    assert log.path is not None
    log.end(match_log.SERVER_ENDED)
    resumed = MatchLog(None, "m", resumes=log.path, count=sizes.append)
    assert resumed.beliefs == latest
    resumed.keep("thinker", Believed(8, "d" * 120))
    assert sum(sizes) == LogFolder(tmp_path).num_bytes
    resumed.end("stop")
    assert not stored.exists()
    assert sum(sizes) == LogFolder(tmp_path).num_bytes
    for text in ("", "{}x", "[]", '{"thinker": 7}', '{"thinker": {"turn": "x"}}', "\udcff"):
        stored.write_text(text, errors="surrogateescape")
        assert MatchLog(None, "m", resumes=log.path).beliefs == {}
    assert "are not used" in caplog.text
    restore(tmp_path, Lobby("ggp"), 0.0)
    assert not stored.exists()  # of a match that does not go on


def test_oversized_belief_is_not_stored() -> None:
    text = "x" * orders.MAX_SNAPSHOT_CHARS
    assert read_answer(to_json(Believed(1, text))) == Believed(1, text)
    with pytest.raises(LocalProtocolError):
        read_answer(to_json(Believed(1, text + "x")))
    assert snapshots.MAX_CHARS <= orders.MAX_SNAPSHOT_CHARS


@pytest.mark.parametrize("move", ["a\nb", "\ud800", "x" * 200_000, "\x1b[2J"])
def test_answer_of_a_worker_with_a_malformed_move_is_refused(move: str) -> None:
    line = to_json(MoveReport(1, True, Decision("ok", (), 1, True, 0, 0.0)))
    fields = json.loads(line)
    fields["decision"]["move"] = move
    with pytest.raises(LocalProtocolError):
        read_answer(json.dumps(fields).encode())
