"""Matches of rules that cannot be ground: no turn waits for grounding, and one backend plays."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from ggp.protocol.lobby import Lobby
from ggp.server.match_log import restore
from ggp.server.settings import HostOptions
from tests.server.live import events, eventually, live_server, pid_of, start
from tests.support.sheets.hopeless import poker

PLAYER = "hyperplay:n=2,states=200"
START = start("m", poker(), "ann", "600 600")


WITHOUT_CIRCUIT = ("prolog", "relational")
"""What such rules are played on: the slower one where machine code is not in the cache."""


def of_thinker(folder: Path, kind: str, report: str = "") -> list[dict[str, Any]]:
    """Lines of the log about the thinker."""
    return [
        e
        for e in events(folder, "m")
        if e["event"] == kind and e.get("worker") == "thinker" and e.get("what", "") == report
    ]


def test_hopeless_rules_are_played_without_a_circuit_from_the_first_move(tmp_path: Path) -> None:
    with live_server(HostOptions(PLAYER, log_folder=tmp_path)) as server:
        assert server.post(START) == "ready"
        assert server.post("(PLAY m nil)").upper() in {"WAIT", "TURN"}
        decision = next(e for e in events(tmp_path, "m") if e["event"] == "decision")
        assert decision["source"] == "thinker"
        (backend,) = (e["backend"] for e in of_thinker(tmp_path, "backend"))
        assert backend in WITHOUT_CIRCUIT
        warnings = [e["text"] for kind in ("foreseen", "said") for e in of_thinker(tmp_path, kind)]
        assert any("ground rules" in text and "(<= sorted " in text for text in warnings)


def test_worker_that_takes_over_plays_on_the_same_backend(tmp_path: Path) -> None:
    with live_server(HostOptions(PLAYER, log_folder=tmp_path)) as server:
        assert server.post(START) == "ready"
        looked = len(of_thinker(tmp_path, "said"))
        os.kill(pid_of(tmp_path, "m", "thinker"), signal.SIGKILL)
        eventually(lambda: len(of_thinker(tmp_path, "worker", "built")) == 2)
        announcements = of_thinker(tmp_path, "worker", "built")
        first, second = (event["text"].partition(",")[0] for event in announcements)
        assert first == second
        assert first in WITHOUT_CIRCUIT
        assert len(of_thinker(tmp_path, "said")) == looked > 0  # nothing was tried again
        assert len(of_thinker(tmp_path, "backend")) == 1
    (restored,) = restore(tmp_path, Lobby("ggp"), time.monotonic())
    assert restored.backend == first
