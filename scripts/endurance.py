"""Many matches of `ggp serve`, refereed over HTTP: no illegal move, no late answer, none lost.

Every game of ours is played, the served player in every role, chance players in the others.
The same command continues a run that was stopped. Exit code 0: nothing went wrong, else 1.

    python scripts/endurance.py --out runs/endurance --matches 200 --jobs 4

With `--load N`, N processes that only compute run beside it. With `--other hyperplay` the others
take their time, so that the served player has idle time while they think.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.children import busy
from ggp.cli.arguments import FolderPath
from ggp.console import guarded, print_rich
from ggp.gdl.games import LONG_GAMES, list_games
from ggp.gdl.normalize import load
from ggp.report import Table
from match_runner.match.server_log import read_log
from match_runner.series.outcomes import Played
from match_runner.series.plan import Series
from match_runner.series.store import open_store
from match_runner.tournament import read_tournament
from tests.controllers.season import served

SERVED, OTHER = "served", "chance"


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
        code = subprocess.run(command, check=False).returncode
    plan = read_tournament(file)
    with open_store(out, plan) as store:
        found = examine(plan, store.matches())
    logged = read_logs(out / "logs")
    _show(found, logged, play_clock)
    lost = sum(logged.ends.values()) - logged.ends["stop"]
    sys.exit(1 if code or found.faults or found.errors or lost else 0)


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


if __name__ == "__main__":
    guarded(main)()
