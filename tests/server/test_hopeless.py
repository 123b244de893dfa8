"""Matches of rules that cannot be ground: nobody waits for that, and one backend plays them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.server.settings import HostOptions
from tests.server.live import LiveServer, events, eventually, live_server, pid_of, start
from tests.support.hopeless import poker

LEGAL = {"WAIT", "TURN"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LiveServer]:
    options = HostOptions("hyperplay:n=2,states=200", log_folder=folder, matches=2)
    with live_server(options) as server:
        yield server


def of_worker(folder: Path, match: str, kind: str, what: str = "") -> list[dict[str, Any]]:
    """Lines of the log about the thinker."""
    return [
        e
        for e in events(folder, match)
        if e["event"] == kind and e.get("worker") == "thinker" and e.get("what", "") == what
    ]


def test_hopeless_rules_are_played_on_prolog_from_the_first_move(
    server: LiveServer, folder: Path
) -> None:
    assert server.post(start("first", poker(), "ann", "600 600")) == "ready"
    assert server.post("(PLAY first nil)").upper() in LEGAL
    decision = next(e for e in events(folder, "first") if e["event"] == "decision")
    assert decision["source"] == "thinker"
    assert [e["backend"] for e in of_worker(folder, "first", "backend")] == ["prolog"]
    said = [e["text"] for e in events(folder, "first") if e["event"] in ("foreseen", "said")]
    assert any("ground rules" in text and "(<= sorted " in text for text in said)


def test_worker_that_takes_over_plays_on_the_same_backend(server: LiveServer, folder: Path) -> None:
    assert server.post(start("second", poker(), "ann", "600 600")) == "ready"
    looked = len(of_worker(folder, "second", "said"))
    os.kill(pid_of(folder, "second", "thinker"), signal.SIGKILL)
    eventually(lambda: len(of_worker(folder, "second", "worker", "built")) == 2)
    built = of_worker(folder, "second", "worker", "built")
    assert [each["text"].partition(",")[0] for each in built] == ["prolog", "prolog"]
    assert len(of_worker(folder, "second", "said")) == looked > 0  # nothing was tried again
    assert len(of_worker(folder, "second", "backend")) == 1
