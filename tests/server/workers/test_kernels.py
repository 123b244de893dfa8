"""Kernels are compiled before anybody is told where the server listens."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ggp.machine
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.players import make_player, parse_spec
from ggp.players.auto import Auto
from ggp.players.parts import learnt_values
from ggp.players.player import Preparing
from ggp.server.workers import kernels
from tests.players.test_choose_move import Ticking
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
import socket

def fill_cache(player, backend, tell):
    try:
        socket.create_connection(("127.0.0.1", {port}), timeout=30)
    except ConnectionRefusedError:
        print("refused", flush=True)
    tell(1, 2)
    return True

kernels.are_cached = lambda *_: False
kernels.fill_cache = fill_cache
"""
CACHED = """
kernels.are_cached = lambda *_: True
kernels.fill_cache = lambda *_: 1 / 0
"""
TAKES_LONG = """
kernels.are_cached = lambda *_: False
kernels._ENTRY = "tests.server.workers.test_kernels:take_long"
"""


def take_long(*_: str) -> None:
    """An entry that takes longer than anybody waits."""
    print("it compiles", file=sys.stderr, flush=True)
    time.sleep(60)


def serve(changes: str) -> subprocess.Popen[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return commands.start(
        "-c", SERVE.format(changes=changes.replace("{port}", str(port)), port=port)
    )


def test_players_learn_while_their_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every match would compile those of nets again, in its start clock."""
    begun: list[bool] = []
    monkeypatch.setattr(learnt_values, "learnt_values", lambda *_: begun.append(True))
    machine = machine_of_rules(kernels._OPEN_EXAMPLE, "propnet")
    for spec in Auto.PLAYS:
        if "learn" in spec:
            program = normalize(parse(kernels._OPEN_EXAMPLE))
            player = make_player(
                parse_spec(spec), machine, 0, np.random.default_rng(0), program=program
            )
            assert isinstance(player, Preparing)
            player.prepare(Ticking(1e-3).deadline(kernels._START_S))
    assert begun == [True]


@pytest.mark.verify
@pytest.mark.parametrize(
    ("changes", "first"), [(COMPILES, ["refused\n"]), (CACHED, [])], ids=["compiled", "cached"]
)
def test_server_listens_once_kernels_are_compiled(changes: str, first: list[str]) -> None:
    process = serve(changes)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in first] == first
    assert process.stdout.readline().startswith("random listens on ")
    process.terminate()
    output, said = process.communicate(timeout=30)
    assert output == ""
    assert said.startswith("compiling machine code") == bool(first)
    assert said.count("\n") == len(first)


@pytest.mark.verify
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_server_that_compiles_ends_without_a_word(number: int) -> None:
    process = serve(TAKES_LONG)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("compiling machine code")
    assert process.stderr.readline() == "it compiles\n"
    process.send_signal(number)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


def test_what_was_compiled_is_noted_for_the_same_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where there is nothing left to compile in the tests' own cache, this takes seconds.
    real = kernels._notes
    monkeypatch.setattr(
        kernels, "_notes", lambda *about: [tmp_path / each.name for each in real(*about)][:1]
    )
    assert not kernels.are_cached("hyperplay2:n=2", "auto")
    told: list[tuple[int, int]] = []
    assert kernels.fill_cache("hyperplay2:n=2", "auto", lambda *news: told.append(news))
    assert told == [(done, 4) for done in (1, 2, 3, 4)]  # two examples, each on two machines
    (note,) = tmp_path.iterdir()
    files = [Path(file) for file in json.loads(note.read_text())["files"]]
    assert {"play", "query", "plan", "pick_best", "joint_of"} <= {
        file.name.split(".")[1].split("-")[0] for file in files
    }
    assert kernels.are_cached("hyperplay2:n=4", "auto")
    assert not kernels.are_cached("random", "auto")
    assert {"ggp.server.workers.worker_match", "ggp.search.trials"} <= {
        *kernels.modules_of("hyperplay2:n=4", "auto")
    }
    removed = [*map(str, files), str(tmp_path / "removed.nbi")]
    note.write_text(json.dumps({"files": removed, "modules": []}))
    assert not kernels.are_cached("hyperplay2:n=2", "auto")
    note.write_text("nonsense")
    assert not kernels.are_cached("hyperplay2:n=2", "auto")


def test_what_another_user_compiled_is_not_taken_for_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def folders() -> list[Path]:
        return [note.parent for note in kernels._notes("random", "auto")]

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    beside = Path(ggp.machine.__file__).parent / "__pycache__"
    assert beside in folders()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert beside not in folders()
    assert folders()


def compiled_for(player: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the kernels that are compiled for a player; the note on them is in `folder`."""
    real = kernels._notes
    monkeypatch.setattr(
        kernels, "_notes", lambda *about: [folder / each.name for each in real(*about)][:1]
    )
    assert kernels.fill_cache(player, "auto")
    (note,) = folder.iterdir()
    files = json.loads(note.read_text())["files"]
    return {Path(file).name.split(".")[1].split("-")[0] for file in files}


@pytest.mark.verify
def test_kernels_of_players_that_play_in_its_place_are_compiled_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = compiled_for("auto", tmp_path, monkeypatch)
    # Both examples are too small for `auto` to search by itself; `prove` is for open games only,
    # and `make_turns` for choosing among games in which something is hidden.
    assert {"walk", "prove", "play", "make_turns"} <= names
    assert "ggp.study.properties" in kernels.modules_of("auto", "auto")


@pytest.mark.verify
def test_kernels_of_boards_are_compiled_for_a_player_with_declared_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = "los:evaluation=kriegspiel"
    names = compiled_for(player, tmp_path, monkeypatch)
    assert {"value_masks", "play_captures", "make_turns"} <= names
    assert kernels.are_cached(player, "auto")
    assert not kernels.are_cached("los", "auto")


def test_child_that_fails_is_told_and_the_server_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernels, "_ENTRY", "builtins:abs")
    assert kernels.fill_cache("random", "auto")
    assert "kernels could not be compiled before the first match" in caplog.text
