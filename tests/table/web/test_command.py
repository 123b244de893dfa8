"""`match-runner table` up to where it serves: access, messages, and the browser it opens."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import tempfile
import urllib.request
import webbrowser
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from match_runner.cli import main
from match_runner.match.records import TurnRecord
from match_runner.table import server, worker_tasks
from match_runner.table.match_folder import MatchFolder, MatchSetup
from match_runner.table.match_manager import MatchManager
from match_runner.table.options import Offers, TableOptions
from tests.support.commands import start


@pytest.fixture
def halls(monkeypatch: pytest.MonkeyPatch) -> list[MatchManager]:
    """The halls that were to be served; they are closed at once instead."""
    managers: list[MatchManager] = []

    class Server:
        def __init__(self, manager: MatchManager) -> None:
            managers.append(manager)

        def run(self, **_: Any) -> None:
            asyncio.run(managers[-1].close())

    monkeypatch.setattr(server, "table_server", Server)
    return managers


def table(folder: Path, *args: str) -> Result:
    command = ["table", "--port", "0", "--folder", str(folder), *args]
    return CliRunner(catch_exceptions=False).invoke(main, command)


def test_the_link_that_is_printed_has_the_token(tmp_path: Path, halls: list[MatchManager]) -> None:
    first, second = table(tmp_path), table(tmp_path)
    assert first.exit_code == second.exit_code == 0
    assert f"/?token={halls[0].token} (end" in first.stdout
    assert first.stderr == ""
    # A page that is open finds the server that is started anew.
    assert halls[0].token == halls[1].token
    assert table(tmp_path / "other").exit_code == 0
    assert halls[2].token != halls[0].token


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_leaves_no_files_when_it_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))
    args = ("table", "--port", "0", "--no-browser", "--folder", str(tmp_path))
    process = start("-m", "match_runner", *args, environment={"TMPDIR": str(temporary)})
    assert process.stdout is not None
    link = re.search(r"http://\S+", process.stdout.readline())
    assert link is not None
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link[0], timeout=60):  # which is answered once it runs
        assert any(temporary.iterdir())
    process.send_signal(number)
    assert process.wait(60) == 0
    temporary.rmdir()  # which is empty


def test_a_table_without_a_token_prints_a_warning(
    tmp_path: Path, halls: list[MatchManager]
) -> None:
    process = table(tmp_path, "--no-token")
    assert "token=" not in process.stdout
    assert "every user and every program of this machine" in process.stderr
    assert halls[0].token is None


@pytest.mark.parametrize(
    "elsewhere", [("--host", "0.0.0.0"), ("--host", "::"), ("--url", "https://table.example")]
)
def test_others_than_this_machine_need_a_token(
    tmp_path: Path, halls: list[MatchManager], elsewhere: tuple[str, ...]
) -> None:
    process = table(tmp_path, "--no-token", *elsewhere)
    assert process.exit_code == 2
    assert "--no-token is only for this machine" in process.stderr
    assert halls == []


def test_plain_http_for_others_is_warned_of(tmp_path: Path, halls: list[MatchManager]) -> None:
    assert "read and use the tokens" in table(tmp_path, "--host", "0.0.0.0").stderr
    process = table(tmp_path, "--host", "0.0.0.0", "--url", "https://Table.example/")
    assert process.stderr == ""
    assert "the table is at https://table.example/?token=" in process.stdout
    for url in (
        "table.example",
        "ftp://x",
        "https://x/table",
        "https://x?y",
        "http://[",
        "https://",
    ):
        assert "must be like" in table(tmp_path, "--url", url).stderr


def test_offers_are_checked_before_the_table_opens(
    tmp_path: Path, halls: list[MatchManager]
) -> None:
    for args, message in [
        (("--offer", "mine"), "must be NAME=SPEC"),
        (("--offer", "mine=nothing:Here"), "--offer mine: unknown player"),
        (("--games", str(tmp_path / "none")), "there is no folder"),
    ]:
        process = table(tmp_path, *args)
        assert (process.exit_code, message in process.stderr) == (2, True)
    assert halls == []
    games = tmp_path / "games"
    games.mkdir()
    (games / "mine.gdl").write_text("(role solo)")
    assert table(tmp_path, "--games", str(games), "--offer", "mine=mcts:states=9").exit_code == 0
    assert halls[0].options.offers.players == {"mine": "mcts:states=9"}
    assert "mine.gdl" in halls[0].options.offers.game_names()


def test_machine_code_is_compiled_ahead_once(
    tmp_path: Path, halls: list[MatchManager], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert table(tmp_path).exit_code == 0
    assert halls[0].options.compiles_ahead
    filled: list[tuple[str, str]] = []
    lowered: list[int] = []

    async def fill_cache(*about: str) -> None:
        filled.append((about[0], about[1]))

    monkeypatch.setattr(worker_tasks, "are_cached", lambda *about: about in filled)
    monkeypatch.setattr(worker_tasks, "is_in_package", lambda: False)
    monkeypatch.setattr(worker_tasks, "fill_cache", fill_cache)
    monkeypatch.setattr(os, "nice", lowered.append)
    for _ in range(2):
        worker_tasks.compile_ahead()
    assert (filled, lowered) == ([("auto", "auto")], [10])


def test_a_folder_is_for_one_table_at_a_time(tmp_path: Path, halls: list[MatchManager]) -> None:
    manager = MatchManager(TableOptions(tmp_path))
    try:
        process = table(tmp_path)
        assert process.exit_code == 2
        assert f"another process holds the table in {tmp_path}" in process.stderr
        assert f"process {os.getpid()} on " in process.stderr
        assert "since 2" in process.stderr
        assert process.stdout == ""
    finally:
        asyncio.run(manager.close())
    assert table(tmp_path).exit_code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_matches_in_a_folder_of_somebody_else_are_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "matches").mkdir()
    os.chown(tmp_path / "matches", 65534, 65534)
    assert "belongs to another user" in table(tmp_path).stderr


def test_the_browser_is_opened_without_telling_the_token_to_all_processes(
    tmp_path: Path, halls: list[MatchManager], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, str, int]] = []

    def look(address: str) -> None:
        path = Path(address.removeprefix("file://"))
        opened.append((address, path.read_text(), path.stat().st_mode & 0o777))

    class AtOnce:
        def __init__(self, target: Any, args: Any, daemon: bool) -> None:
            self.start = lambda: target(*args)

    monkeypatch.setattr(server, "threading", SimpleNamespace(Thread=AtOnce))
    monkeypatch.setattr(webbrowser, "open", look)
    table(tmp_path)  # nobody sits at a screen
    assert opened == []
    monkeypatch.setattr(server, "has_screen", lambda: True)
    table(tmp_path, "--no-browser")
    assert opened == []
    table(tmp_path)
    ((address, text, mode),) = opened
    token = halls[-1].token
    assert token is not None
    assert token not in address
    assert "url=http://localhost:" in text
    assert f"/?token={token}" in text
    assert mode == 0o600


@pytest.mark.parametrize(
    ("player", "offers", "said"),
    [
        ("evil:P", Offers(players={"other": "random"}), "unknown player 'evil'"),
        ("far", Offers(players={"far": "http://localhost:9"}), "remote players cannot continue"),
    ],
    ids=["not offered", "remote"],
)
def test_a_match_does_not_go_on_with_a_player_that_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, player: str, offers: Offers, said: str
) -> None:
    async def nothing(_: MatchManager) -> None:
        """No worker is needed."""

    monkeypatch.setattr(MatchManager, "_warm_up", nothing)
    setup = MatchSetup(
        id="0123456789",
        game="mine",
        rules="(role solo)",
        side_file=None,
        roles=("solo",),
        players={"solo": player},
        is_told=True,
        play_clock_s=None,
        human_clock_s=None,
        pause_s=0.0,
        seed=0,
        created_s=0.0,
        seats={},
        key="",
    )
    folder = MatchFolder(tmp_path)
    folder.keep(setup)
    folder.add_turn(setup.id, asdict(TurnRecord({}, {}, {}, {})))
    folder.close()

    async def check() -> str | None:
        manager = MatchManager(TableOptions(tmp_path, offers))
        await manager.open()
        while not manager.matches[setup.id].is_over:
            await asyncio.sleep(0)
        await manager.close()
        return manager.matches[setup.id].setup.error

    error = asyncio.run(check())
    assert error is not None
    assert said in error
