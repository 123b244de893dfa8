"""Many matches of `ggp serve`, refereed over HTTP: no illegal move, no late answer, none lost.

Every game of ours is played, the served player in every role, chance players in the others.
The same command continues a run that was stopped. Exit code 0: nothing went wrong, else 1.

    python scripts/endurance.py --out runs/endurance --matches 200 --jobs 4

With `--load N`, N processes that only compute run beside it. With `--other hyperplay` the others
take their time, so that the served player has idle time while they think.

Every few seconds the resident memory, open files and number of the server's processes are written
to DIR/memory.csv (Linux only). With `--flat` memory that rises is a failure, too.
"""

from __future__ import annotations

import contextlib
import csv
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import click
import numpy as np

from benchmarks.children import busy
from ggp.cli.arguments import FolderPath
from ggp.console import guarded, print_rich
from ggp.errors import ConfigError
from ggp.gdl.games import LONG_GAMES, list_games
from ggp.gdl.normalize import load
from ggp.report import Table
from match_runner.match.server_log import read_log
from match_runner.series.outcomes import Played
from match_runner.series.plan import Series
from match_runner.series.store import open_store
from match_runner.tournament import read_tournament
from tests.controllers.season import served
from tests.support.process_tree import entry_of, resident_kb, started_by

SERVED, OTHER = "served", "chance"

SAMPLE_EVERY_S = 5.0

WARM_UP_SHARE = 0.15
"""The first part of a run does not count: caches fill."""

MAX_GROWTH_MB = 8.0
MAX_GROWTH_SHARE = 0.1
"""Memory is flat if its straight line over the run rises by less than the larger of these."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of the matches in which the served player took part.

    Attributes:
        matches: how many.
        moves: it was asked for.
        faults: what it did wrong, by kind.
        errors: matches that ended before their time.
        seconds: its answers took, sorted.
    """

    matches: int
    moves: int
    faults: Counter[str]
    errors: int
    seconds: Sequence[float]


@dataclass(frozen=True, slots=True)
class Logged:
    """What the server's logs say of the matches.

    Attributes:
        ends: how they ended.
        sources: who chose the moves.
        sampled: particles of each decision of the thinker that rests on a sample, sorted.
        exact: its decisions that rest on the whole information set.
    """

    ends: Counter[str]
    sources: Counter[str]
    sampled: Sequence[int]
    exact: int


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
@click.option("--out", type=FolderPath(), required=True)
@click.option("--matches", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--player", default="hyperplay2", show_default=True)
@click.option("--play-clock", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--start-clock", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--dialect", type=click.Choice(["gdl2", "gdl2-old"]), default="gdl2")
@click.option("--scramble", is_flag=True)
@click.option("--game", "games", multiple=True, help="Only this game; may be repeated.")
@click.option("--other", default="random", show_default=True, help="Who plays against it.")
@click.option("--load", type=click.IntRange(min=0), default=0, help="Processes that only compute.")
@click.option("--flat", "must_be_flat", is_flag=True, help="Fail if memory rises.")
def main(
    out: Path,
    matches: int,
    jobs: int,
    player: str,
    play_clock: int,
    start_clock: int,
    dialect: str,
    scramble: bool,
    games: tuple[str, ...],
    other: str,
    load: int,
    must_be_flat: bool,
) -> None:
    """Hold the matches and say what came of them."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = games or tuple(game for game in list_games() if game not in LONG_GAMES)
    file = out / "endurance.toml"
    options = (
        "--player",
        player,
        "--matches",
        str(2 * jobs),
        "--log",
        str((out / "logs").resolve()),
    )
    with busy(load), served(*options, log=out / "server.txt") as server:
        file.write_text(
            f"games = {list(chosen)}\nrounds = {_rounds(chosen, matches)}\n"
            f"play_clock = {play_clock}\nstart_clock = {start_clock}\n"
            f'dialect = "{dialect}"\nscramble = {str(scramble).lower()}\n'
            f'[players]\n{SERVED} = "{server.address}"\n{OTHER} = "{other}"\n'
        )
        command = [sys.executable, "-m", "match_runner", "tournament", str(file)]
        command += ["--out", str(out), "--jobs", str(jobs)]
        with subprocess.Popen(command) as tournament:
            samples = watch(server.pid, tournament, out / "memory.csv")
    plan = read_tournament(file)
    with open_store(out, plan) as store:
        found = examine(plan, store.matches())
    logged = read_logs(out / "logs")
    _show(found, logged, play_clock)
    is_flat = _show_memory(samples)
    lost = sum(logged.ends.values()) - logged.ends["stop"]
    failed = tournament.returncode or found.faults or found.errors or lost
    sys.exit(1 if failed or (must_be_flat and not is_flat) else 0)


def watch(keeper: int, tournament: subprocess.Popen[bytes], file: Path) -> list[Sample]:
    """Samples until the tournament ends; written to a file as they come."""
    samples: list[Sample] = []
    began_s = time.monotonic()
    serving, template = server_and_template(keeper)
    with file.open("w", newline="") as output:
        writer = csv.writer(output)
        writer.writerow(field.name for field in fields(Sample))
        while tournament.poll() is None:
            # It is the child of the process that keeps its socket, which would start another.
            if server_and_template(keeper) != (serving, template):
                tournament.kill()
                raise ConfigError("the server died")
            samples.append(sample(serving, template, time.monotonic() - began_s))
            writer.writerow(astuple(samples[-1]))
            output.flush()
            with contextlib.suppress(subprocess.TimeoutExpired):
                tournament.wait(SAMPLE_EVERY_S)
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
    return round((resident_kb(pid) or 0) / 1024, 1)


def growth(samples: Sequence[Sample], name: str) -> tuple[float, float]:
    """Mean of a field after the warm-up, and how much its straight line rises meanwhile."""
    counted = samples[int(WARM_UP_SHARE * len(samples)) :]
    x = np.array([each.seconds for each in counted])
    y = np.array([float(getattr(each, name)) for each in counted])
    if len(x) < 3:
        return float(y.mean()) if len(y) else 0.0, 0.0
    slope = float(np.polyfit(x, y, 1)[0])
    return float(y.mean()), slope * float(x[-1] - x[0])


def examine(plan: Series, matches: Sequence[Played]) -> Findings:
    """What the records say of the served player."""
    number = plan.names.index(SERVED)
    own = [match for match in matches if number in match.planned.seating.values()]
    faults: Counter[str] = Counter()
    seconds = []
    moves = 0
    for match in own:
        roles = [role for role, player in match.planned.seating.items() if player == number]
        for turn in match.record.turns:
            moves += len(roles)
            faults.update(fault.kind for fault in turn.faults if fault.role in roles)
            seconds += [turn.decisions[r].seconds for r in roles if r in turn.decisions]
    errors = sum(match.record.error is not None for match in own)
    return Findings(len(own), moves, faults, errors, sorted(seconds))


def read_logs(folder: Path) -> Logged:
    """How the matches ended for the server, who chose its moves, and out of what."""
    ends: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    sampled: list[int] = []
    exact = 0
    for path in sorted(folder.glob("*.jsonl")):
        events = read_log(path)
        ends[str(events[-1].get("why", "no end"))] += 1
        decisions = [e for e in events if e["event"] == "decision"]
        sources.update(str(e["source"]) for e in decisions)
        thought = [e for e in decisions if e["source"] == "thinker"]
        exact += sum(bool(e["exact"]) for e in thought)
        sampled += [int(e["particles"]) for e in thought if not e["exact"]]
    return Logged(ends, sources, sorted(sampled), exact)


def _rounds(games: Sequence[str], matches: int) -> int:
    """Rounds until the served player has had that many matches."""
    a_round = 0
    for game in games:
        a_round += min(2, sum(role != "random" for role in load(game).roles))
    return math.ceil(matches / a_round)


def _show(found: Findings, logged: Logged, play_clock: int) -> None:
    def counted(counter: Counter[str]) -> str:
        return ", ".join(f"{count} {name}" for name, count in counter.most_common()) or "none"

    seconds = found.seconds or [0.0]
    thought = [s for s in seconds if s > play_clock / 4] or [0.0]
    sampled = logged.sampled or [0]
    late = sum(s > play_clock for s in seconds)
    rows = [
        ("matches with the served player", f"{found.matches}"),
        ("moves asked of it", f"{found.moves}"),
        ("faults", counted(found.faults)),
        ("matches broken off", f"{found.errors}"),
        ("answers after the play clock, grace not counted", f"{late}"),
        ("seconds an answer: median", f"{seconds[len(seconds) // 2]:.2f}"),
        ("of those that took a quarter of the clock", f"{thought[len(thought) // 2]:.2f}"),
        ("seconds an answer: 99 %", f"{seconds[len(seconds) * 99 // 100]:.2f}"),
        ("seconds an answer: longest", f"{seconds[-1]:.2f}"),
        ("ends in the server's logs", counted(logged.ends)),
        ("who chose the moves", counted(logged.sources)),
        ("decisions in whole information sets", f"{logged.exact}"),
        ("decisions in samples", f"{len(logged.sampled)}"),
        ("without a particle", f"{sum(n == 0 for n in logged.sampled)}"),
        ("particles of a sample: median", f"{sampled[len(sampled) // 2]}"),
        ("particles of a sample: 10 % have at most", f"{sampled[len(sampled) // 10]}"),
    ]
    print_rich(Table(("", "#"), rows))


def _show_memory(samples: Sequence[Sample]) -> bool:
    """Show how memory grew; whether it is flat."""
    rows, all_flat = [], True
    for name in ("server_mb", "server_files", "workers", "largest_mb", "workers_mb"):
        mean, rise = growth(samples, name)
        is_flat = rise <= max(MAX_GROWTH_MB, MAX_GROWTH_SHARE * mean)
        all_flat &= is_flat
        rows.append((name, f"{mean:.1f}", f"{rise:+.1f}", "flat" if is_flat else "RISES"))
    print_rich(Table(("", "#mean", "#rise over the run", ""), rows))
    return all_flat


if __name__ == "__main__":
    guarded(main)()
