"""`python -m tests.table.watchers`: many matches, watched by many, with nothing lost.

Matches of `random` players are played one after the other, with a pause before each turn. All
connections follow each of them, break off once in it, and ask for what they missed. In the end
every watcher must have seen every turn of every match once, in order, as the record has it. The
latency is from when the server heard of a turn until a watcher had read it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.table.live import LiveTable, live_table

GAME = "krieg_tic_tac_toe"
BREAK_AT = 3
"""Every connection breaks off after its third frame of a match, and comes back."""


@dataclass
class Watcher:
    """One connection.

    Attributes:
        delays_s: from the turn to the reading of it, where it was read as it happened.
        problems: lost or changed turns, a line each.
    """

    delays_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def follow(self, table: LiveTable, match: str) -> None:
        """Follow a match to its end."""
        try:
            self._follow(table, match)
        except Exception as error:
            self.problems.append(f"{match}: {error!r}")

    def _follow(self, table: LiveTable, match: str) -> None:
        answer = table.get(f"/api/matches/{match}")
        if answer["match"]["status"] == "over":
            self.problems.append(f"{match} was over before it was watched")
            return
        moves = [turn["moves"] for turn in answer["turns"]]
        last: str | None = answer["last"]
        breaks = True
        while last is not None:
            with table.stream(f"/api/matches/{match}/events", last) as events:
                for event in events:
                    last = event.get("id", last)
                    if event["event"] == "frame":
                        moves.append(event["data"]["moves"])
                        self.delays_s.append(time.time() - event["data"]["sent_s"])
                        if breaks and len(moves) == BREAK_AT:
                            breaks = False
                            self.delays_s.pop()
                            break
                    elif event["event"] == "end":
                        last = None
                        break
        whole = [turn["moves"] for turn in table.get(f"/api/matches/{match}")["turns"]]
        if moves != whole:
            self.problems.append(f"{match}: saw {len(moves)} states of {len(whole)}")


def watch(num_matches: int, num_watchers: int, pause_s: float) -> dict[str, Any]:
    """Play and watch; what came of it."""
    with tempfile.TemporaryDirectory() as folder, live_table(Path(folder)) as table:
        players = {"xplayer": "random", "oplayer": "random"}
        warm = table.begin(GAME, players)["id"]
        table.over(warm)
        watchers = [Watcher() for _ in range(num_watchers)]
        with ThreadPoolExecutor(num_watchers) as threads:
            for seed in range(num_matches):
                match = table.begin(GAME, players, seed=seed, pause_s=pause_s)["id"]
                list(threads.map(lambda watcher, m=match: watcher.follow(table, m), watchers))
    delays_ms = 1000 * np.array([delay for watcher in watchers for delay in watcher.delays_s])
    return {
        "matches": num_matches,
        "connections": num_watchers,
        "updates": len(delays_ms),
        "p50_ms": round(float(np.percentile(delays_ms, 50)), 1),
        "p99_ms": round(float(np.percentile(delays_ms, 99)), 1),
        "max_ms": round(float(delays_ms.max()), 1),
        "load": os.getloadavg()[0],
        "problems": [problem for watcher in watchers for problem in watcher.problems],
    }


def main() -> None:
    """Measure, and print what came of it; exit with 1 where something was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=50)
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.1)
    options = parser.parse_args()
    report = watch(options.matches, options.connections, options.pause)
    print(json.dumps(report, indent=2))
    raise SystemExit(bool(report["problems"]))


if __name__ == "__main__":
    main()
