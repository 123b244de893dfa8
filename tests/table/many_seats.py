"""`python -m tests.table.many_seats`: many people at one table, each in a match of their own.

Everybody moves at the same time, and waits until it is their turn again. What an answer costs is
the CPU time of the server and of all its workers from the moves until all may move again, thinking
included, divided by the number of people.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from ggp.run import processes
from tests.support.process_tree import started_by
from tests.table.live import LiveTable, live_table, seats_of

GAME, ROLE, OTHER = "krieg_tic_tac_toe", "xplayer", "oplayer"


def play_rounds(num_people: int, num_rounds: int, opponent: str) -> dict[str, Any]:
    """Begin a match for each of some people, and have all of them move a few times.

    Returns:
        CPU seconds to begin a match, and of an answer in each round; the longest wait for one.
    """
    with tempfile.TemporaryDirectory() as folder, live_table(Path(folder)) as table:
        began_s = _cpu_s()
        players = {ROLE: "human", OTHER: opponent}
        seats = [seats_of(table.begin(GAME, players))[ROLE] for _ in range(num_people)]
        for seat in seats:
            table.until(f"/api/seats/{seat}", lambda seat_view: seat_view["ask"])
        start: dict[str, Any] = {"people": num_people, "begin_cpu_s": _share(began_s, num_people)}
        rounds = []
        with ThreadPoolExecutor(num_people) as people:
            for _ in range(num_rounds):
                began_s = _cpu_s()
                waits = list(people.map(partial(_move, table), seats))
                cpu_s = _share(began_s, num_people)
                rounds.append({"answer_cpu_s": cpu_s, "longest_wait_s": round(max(waits), 2)})
        return {**start, "rounds": rounds}


def _move(table: LiveTable, seat: str) -> float:
    """Move as soon as it is the seat's turn; seconds until it is again."""
    began_s = time.monotonic()
    turn = table.play(seat)["ask"]["turn"]
    table.until(
        f"/api/seats/{seat}",
        lambda seat_view: seat_view["ask"] and seat_view["ask"]["turn"] != turn,
    )
    return time.monotonic() - began_s


def _share(began_s: float, num_people: int) -> float:
    return round((_cpu_s() - began_s) / num_people, 3)


def _cpu_s() -> float:
    """CPU time of this process and of all that it has started."""
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        ticks += sum(map(int, processes.state_and_cpu(pid)[1].split()))
        waiting += started_by(pid)
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--opponent", default="hyperplay")
    options = parser.parse_args()
    print(json.dumps(play_rounds(options.people, options.rounds, options.opponent), indent=2))


if __name__ == "__main__":
    main()
