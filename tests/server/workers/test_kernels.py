"""Kernels are compiled at the first start, while the server answers everybody."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import ggp.machine
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.labs.learning import learnt_values
from ggp.players import make_player, parse_spec
from ggp.players.auto import Auto
from ggp.players.player import Preparing
from ggp.server.settings import HostOptions
from ggp.server.workers import kernels
from tests.labs.kriegspiel.test_choose_move import Ticking
from tests.server.live import (
    PATIENCE_S,
    events,
    eventually,
    live_server,
    read_reply,
    request,
    start,
)
from tests.support import commands
from tests.support.games import machine_of_rules

SERVE = """
import time
from ggp.server.workers import kernels
{changes}
from ggp.launch import launch
import sys
sys.argv = ["ggp", "serve", "--player", "random", "--port", "{port}"]
launch("ggp.cli", prog_name="ggp")
"""
COMPILES = """
import asyncio

async def fill_cache(player, backend, tell):
    tell(1, 2)
    await asyncio.sleep({seconds})

kernels.are_cached = lambda *_: False
kernels.fill_cache = fill_cache
"""
CACHED = """
kernels.are_cached = lambda *_: True
kernels.fill_cache = lambda *_: 1 / 0
"""
TAKES_LONG = """
kernels.are_cached = lambda *_: False
from tests.server.workers.test_kernels import take_long
kernels.compile_all = take_long
"""
BUSY = "((name ggp) (status busy) (species alien))"
AVAILABLE = "((name ggp) (status available) (species alien))"


def take_long(*_: str) -> None:
    """Compile for longer than anybody waits."""
    print("it compiles", file=sys.stderr, flush=True)
    time.sleep(60)


def serve(changes: str) -> tuple[subprocess.Popen[str], int]:
    """`ggp serve` with changes to the module `kernels`, and its port."""
    port = free_port()
    return commands.start("-c", SERVE.format(changes=changes, port=port)), port


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def reply_on(port: int, body: str) -> tuple[int, str]:
    """Status and text of the reply to a message."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(request(body))
        return read_reply(connection)


def replies_until_available(port: int) -> set[str]:
    """All replies to requests for information, until somebody may begin a match."""
    texts: set[str] = set()
    while AVAILABLE not in texts:
        time.sleep(0.05)  # not to compete with the compilation
        status, text = reply_on(port, "(INFO)")
        assert status == 200
        texts.add(text)
    return texts


def until_listens(port: int) -> None:
    """Wait until the socket is open, which is before slow imports."""
    while True:
        with suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
            return
        time.sleep(0.01)


def test_nobody_is_turned_away_while_kernels_are_compiled(tmp_path: Path) -> None:
    is_compiled = False

    async def compile_slowly() -> None:
        while not is_compiled:
            await asyncio.sleep(0.01)

    def workers_ready() -> list[str]:
        return [e["worker"] for e in events(tmp_path, "m") if e.get("what") == "built"]

    options = HostOptions("random", backend="prolog", log_folder=tmp_path)
    with live_server(options, compile_slowly) as server, server.connect() as ping:
        assert server.post("(INFO)") == BUSY
        ping.sendall(request("(ping)"))
        assert server.post(start("m", clocks="1 60")) == "ready"
        with server.connect() as plays:
            plays.sendall(request("(PLAY m 0 NIL NIL)"))
            eventually(lambda: workers_ready() == ["understudy"])
            assert server.post("(INFO)") == BUSY
            is_compiled = True
            assert read_reply(plays)[1] in ("(guess 0)", "(guess 1)")
        assert read_reply(ping) == (200, "ready")
        assert workers_ready() == ["understudy", "thinker"]
        assert server.post("(ABORT m)") == "aborted"
        assert server.post("(INFO)") == AVAILABLE


def test_players_learn_while_their_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise every match would compile the kernels of nets again, in its start clock."""
    lessons: list[bool] = []
    monkeypatch.setattr(learnt_values.PolicyFiles, "learnt", lambda *_: lessons.append(True))
    machine = machine_of_rules(kernels.OPEN_EXAMPLE, "propnet")
    for spec in Auto.PLAYS:
        if "learn" in spec:
            program = normalize(parse(kernels.OPEN_EXAMPLE))
            player = make_player(
                parse_spec(spec), machine, 0, np.random.default_rng(0), program=program
            )
            assert isinstance(player, Preparing)
            player.prepare(Ticking(1e-3).deadline(kernels.START_S))
    assert lessons == [True]


@pytest.mark.verify
@pytest.mark.parametrize("changes", [COMPILES.format(seconds=1), CACHED], ids=["slow", "cached"])
def test_server_answers_from_the_first_moment_on(changes: str) -> None:
    process, port = serve(changes)
    until_listens(port)
    texts = replies_until_available(port)
    assert texts == ({AVAILABLE} if changes == CACHED else {AVAILABLE, BUSY})
    process.terminate()
    output, errors = process.communicate(timeout=30)
    assert output == f"random listens on http://127.0.0.1:{port}\n"
    assert ("compiling machine code, only once" in errors) == (changes != CACHED)


@pytest.mark.timed
def test_nobody_is_refused_while_an_empty_cache_is_filled(tmp_path: Path) -> None:
    caches = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "ggp", "serve", "--player", "random", "--port", str(port)],
        env={**os.environ, **caches},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until_listens(port)
        assert reply_on(port, "(INFO)") == (200, BUSY)
        assert reply_on(port, start("m", clocks="600 30")) == (200, "ready")
        assert reply_on(port, "(PLAY m 0 NIL NIL)")[1] in ("(guess 0)", "(guess 1)")
        assert reply_on(port, "(ABORT m)") == (200, "aborted")
        assert replies_until_available(port) <= {BUSY, AVAILABLE}
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=30)
    assert "ready" in errors
    assert process.returncode == 0


@pytest.mark.verify
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_server_ends_cleanly_while_it_compiles(number: int) -> None:
    process, port = serve(TAKES_LONG)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("compiling machine code")
    assert process.stderr.readline() == "it compiles\n"
    process.send_signal(number)
    assert process.communicate(timeout=30) == (f"random listens on http://127.0.0.1:{port}\n", "")
    assert process.returncode == 0


def test_compiled_kernels_are_noted_for_the_same_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This takes seconds if the cache of the tests has all kernels.
    folder = folder_of_notes(tmp_path, monkeypatch)
    assert not kernels.are_cached("hyperplay2:n=2", "auto")
    progress: list[tuple[int, int]] = []
    asyncio.run(kernels.fill_cache("hyperplay2:n=2", "auto", lambda *news: progress.append(news)))
    # Two examples, each on two machines.
    assert progress == [(number, 4) for number in (1, 2, 3, 4)]
    (note,) = folder.iterdir()
    files = [Path(file) for file in json.loads(note.read_text())["files"]]
    assert {"play", "run_query", "plan", "pick_best", "joint_of"} <= set(map(kernel_of, files))
    assert kernels.are_cached("hyperplay2:n=4", "auto")
    assert not kernels.are_cached("random", "auto")
    assert {"ggp.server.workers.worker_match", "ggp.search.estimates"} <= {
        *kernels.modules_of("hyperplay2:n=4", "auto")
    }
    removed = [*map(str, files), str(tmp_path / "removed.nbi")]
    note.write_text(json.dumps({"files": removed, "modules": []}))
    assert not kernels.are_cached("hyperplay2:n=2", "auto")
    note.write_text("nonsense")
    assert not kernels.are_cached("hyperplay2:n=2", "auto")


def compile_nothing(*_: str) -> dict[str, list[str]]:
    """A stand-in for `compile_all` that compiles nothing."""
    return {"files": [__file__], "modules": []}


def test_note_of_another_user_is_neither_read_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside_code, circuits = folder_of_notes(tmp_path, monkeypatch), tmp_path / "circuits"
    beside_code.mkdir(parents=True)
    monkeypatch.setenv("GGP_CACHE_DIR", str(circuits))
    monkeypatch.setattr(kernels, "compile_all", compile_nothing)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        asyncio.run(kernels.fill_cache("random", "auto"))
        assert kernels.are_cached("random", "auto")
        (note,) = circuits.glob("kernels-*.json")
        note.rename(beside_code / note.name)
        assert not kernels.are_cached("random", "auto")
    assert kernels.are_cached("random", "auto")


def folder_of_notes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where notes on kernels are kept in this test, as if ggp were in `folder`."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(ggp.machine, "__file__", str(folder / "__init__.py"))
    return folder / "__pycache__"


def compiled_for(player: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the kernels that are compiled for a player, with a note in `folder`."""
    notes = folder_of_notes(folder, monkeypatch)
    asyncio.run(kernels.fill_cache(player, "auto"))
    (note,) = notes.iterdir()
    return {kernel_of(Path(file)) for file in json.loads(note.read_text())["files"]}


def kernel_of(file: Path) -> str:
    """The kernel of an index file: numba's `module.kernel-LINE...`, or `ggp....kernel.cpython-...`
    of the package."""
    return file.name.split(".cpython")[0].split("-")[0].rpartition(".")[2]


@pytest.mark.verify
def test_kernels_of_players_that_auto_hands_over_to_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = compiled_for("auto", tmp_path, monkeypatch)
    # Both examples are too small for `auto` to search by itself; `prove` is for open games only,
    # and `make_turns` for choosing among games in which something is hidden.
    assert {"grow", "prove", "play", "make_turns"} <= names
    assert "ggp.study.properties" in kernels.modules_of("auto", "auto")


@pytest.mark.verify
def test_kernels_of_boards_are_compiled_for_a_player_with_declared_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = "los:evaluation=kriegspiel"
    names = compiled_for(player, tmp_path, monkeypatch)
    assert {"value_boards", "play_captures", "make_turns"} <= names
    assert kernels.are_cached(player, "auto")
    assert not kernels.are_cached("los", "auto")


def test_failed_compilation_is_logged_and_the_server_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernels, "compile_all", abs)
    asyncio.run(kernels.fill_cache("random", "auto"))
    assert "kernels could not be compiled before the first match" in caplog.text
