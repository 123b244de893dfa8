"""Matches against `ggp serve` for an hour, the memory of its processes sampled: flat or not?

Several referees in processes of their own hold matches of all our games over HTTP, one after
the other. Every few seconds the resident memory, open files and number of the server's
processes are written to DIR/memory.csv. Exit code 0: memory is flat, and nothing went wrong.

    python scripts/soak.py --minutes 60 --out runs/soak
"""

from __future__ import annotations

import contextlib
import csv
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from itertools import count
from pathlib import Path

import click
import numpy as np

from ggp.cli.arguments import FiniteRange, FolderPath
from ggp.console import guarded, print_rich
from ggp.errors import ConfigError
from ggp.gdl.games import LONG_GAMES, list_games
from ggp.gdl.normalize import load
from ggp.report import Table
from match_runner.match.conditions import Conditions
from match_runner.match.referee import play_match
from match_runner.match.seats import build_machines, set_up
from match_runner.remote.remote_players import RemoteConditions
from tests.controllers.season import served
from tests.support.process_tree import entry_of, started_by

WARM_UP_SHARE = 0.15
"""The first part of a run does not count: caches fill."""

MAX_GROWTH_MB = 8.0
MAX_GROWTH_SHARE = 0.1
"""Memory is flat if its straight line over the run rises by less than the larger of these."""

_START_CLOCK_S = 10


@dataclass(frozen=True, slots=True)
class Sample:
    """The server's processes at one moment.

    Attributes:
        seconds: since the beginning.
        server_mb: resident memory of the server.
        server_files: its open files.
        workers: processes that it has started.
        largest_mb: resident memory of the largest of them.
        workers_mb: of all of them together.
    """

    seconds: float
    server_mb: float
    server_files: int
    workers: int
    largest_mb: float
    workers_mb: float


@click.command()
@click.option("--minutes", type=FiniteRange(min=0, min_open=True), default=60.0)
@click.option("--out", type=FolderPath(), default=Path("runs/soak"))
@click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--player", default="hyperplay2", show_default=True)
@click.option("--play-clock", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--every", type=FiniteRange(min=0.1), default=5.0, help="Seconds a sample.")
@click.option("--referee", "referee", nargs=3, hidden=True, help="Be one: address, number, end.")
def main(
    minutes: float,
    out: Path,
    jobs: int,
    player: str,
    play_clock: int,
    every: float,
    referee: tuple[str, str, str] | None,
) -> None:
    """Hold matches for some time and say whether memory is flat."""
    if referee is not None:
        hold_matches(referee[0], int(referee[1]), float(referee[2]), play_clock)
        return
    out.mkdir(parents=True, exist_ok=True)
    end_s = time.time() + 60 * minutes
    options = ("--player", player, "--matches", str(2 * jobs))
    with served(*options, log=out / "server.txt") as server:
        command = [sys.executable, __file__, "--play-clock", str(play_clock)]
        command += ["--referee", server.address]
        referees = [
            subprocess.Popen([*command, str(n), str(end_s)], stdout=subprocess.PIPE, text=True)
            for n in range(jobs)
        ]
        try:
            samples = watch(server.pid, referees, out / "memory.csv", every)
            said = "".join(child.communicate()[0] for child in referees)
        finally:
            for child in referees:
                child.kill()
    played = Counter(said.split())
    played["fault"] += sum(child.returncode != 0 for child in referees)
    sys.exit(0 if report(samples, played) else 1)


def hold_matches(address: str, number: int, end_s: float, play_clock_s: int) -> None:
    """Hold matches until a time; prints `match`, or `fault` for each thing that went wrong."""
    games = [game for game in list_games() if game not in LONG_GAMES]
    programs = {game: load(game) for game in games}
    conditions = Conditions(
        play_clock_s=float(play_clock_s), remote=RemoteConditions(start_clock_s=_START_CLOCK_S)
    )
    for seed in count(1000 * number):
        if time.time() >= end_s:
            return
        program = programs[games[seed % len(games)]]
        roles = [role for role in program.roles if role != "random"]
        players = dict.fromkeys(roles, "random")
        players[roles[seed // len(games) % len(roles)]] = address
        arena = set_up(
            games[seed % len(games)], program, players, build_machines(program, "propnet")
        )
        record = play_match(arena, seed, conditions)
        print("match", *("fault" for _ in record.errors), flush=True)
        for error in record.errors:
            print(f"{games[seed % len(games)]}, seed {seed}: {error}", file=sys.stderr, flush=True)


def watch(
    keeper: int,
    referees: Sequence[subprocess.Popen[str]],
    file: Path,
    every_s: float,
) -> list[Sample]:
    """Samples until a referee has ended; written to a file as they come."""
    samples: list[Sample] = []
    began_s = time.monotonic()
    serving, template = server_and_template(keeper)
    with file.open("w", newline="") as output:
        writer = csv.writer(output)
        writer.writerow(field.name for field in fields(Sample))
        while all(child.poll() is None for child in referees):
            # It is the child of the process that keeps its socket, which would start another.
            if server_and_template(keeper) != (serving, template):
                raise ConfigError("the server died")
            samples.append(sample(serving, template, time.monotonic() - began_s))
            writer.writerow(astuple(samples[-1]))
            output.flush()
            time.sleep(every_s)
    return samples


def server_and_template(keeper: int) -> tuple[int, ...]:
    """The processes that serve and that workers are forked from."""
    return tuple(sorted(started_by(keeper), key=lambda pid: entry_of(pid) != ""))


def sample(server: int, template: int, seconds: float) -> Sample:
    """What the system tells of a server and its workers, those that are ready too."""
    workers = [resident_mb(pid) for pid in started_by(template)]
    return Sample(
        round(seconds, 1),
        resident_mb(server),
        len(list(Path(f"/proc/{server}/fd").iterdir())),
        len(workers),
        max(workers, default=0.0),
        round(sum(workers), 1),
    )


def resident_mb(pid: int) -> float:
    """Resident memory of a process, 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def growth(samples: Sequence[Sample], name: str) -> tuple[float, float]:
    """Mean of a field after the warm-up, and how much its straight line rises meanwhile."""
    counted = samples[int(WARM_UP_SHARE * len(samples)) :]
    x = np.array([each.seconds for each in counted])
    y = np.array([float(getattr(each, name)) for each in counted])
    if len(x) < 3:
        return float(y.mean()) if len(y) else 0.0, 0.0
    slope = float(np.polyfit(x, y, 1)[0])
    return float(y.mean()), slope * float(x[-1] - x[0])


def report(samples: Sequence[Sample], played: Counter[str]) -> bool:
    """Show what came of it; whether all is well."""
    rows, flat = [], True
    for name in ("server_mb", "server_files", "workers", "largest_mb", "workers_mb"):
        mean, rise = growth(samples, name)
        is_flat = rise <= max(MAX_GROWTH_MB, MAX_GROWTH_SHARE * mean)
        flat &= is_flat
        rows.append((name, f"{mean:.1f}", f"{rise:+.1f}", "flat" if is_flat else "RISES"))
    print_rich(Table(("", "#mean", "#rise over the run", ""), rows))
    print(f"{played['match']} matches, {played['fault']} faults, {len(samples)} samples")
    return flat and played["match"] > 0 and not played["fault"]


if __name__ == "__main__":
    guarded(main)()
