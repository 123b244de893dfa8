"""The demonstration of `make play`: HyperPlay-II and HyperPlay play the same bomb game."""

from __future__ import annotations

from ggp.launch import launch

if __name__ == "__main__":  # before the slow imports
    launch("match_runner.demo")

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ggp.console import bar_of, console_on, guarded
from ggp.gdl.normalize import load
from ggp.machine.definition import GameDefinition
from ggp.players import Decision
from match_runner.cli.play import PlaySummary, summarize
from match_runner.match.records import MatchRecord
from match_runner.match.referee import play_match
from match_runner.match.seats import build_machines, set_up
from match_runner.match.views import percepts_text, plain, values_table
from match_runner.series.holding import run_series, snapshot_of
from match_runner.series.plan import series_of_roles
from match_runner.series.store import open_store
from match_runner.workers.executor import InlineExecutor

GAME, ROLE = "exploding_bomb", "agent"
PLAYERS = (("HyperPlay-II", "hyperplay2:n=8"), ("HyperPlay", "hyperplay"))
SEED = 1
NUM_MATCHES = 20

_STORY = (
    "Chance arms a bomb with the red or the blue wire, and the agent does not see which. The "
    "agent may wait, or ask which wire it was, which costs 10 points. Then it cuts a wire. Cutting "
    "the armed wire stops the bomb (100 points, or 90 after asking); cutting the other one sets it "
    "off (0 points)."
)

_LESSON = (
    "Look at turn 2. HyperPlay tries each move on both possible bombs, and plays on at random. No "
    "answer can change such a playout, so asking seems to cost 10 points for nothing (45 against "
    "50). It waits, and cuts blindly. HyperPlay-II asks, because it plays on like an agent that "
    "knows only its own percepts. For that agent the answer decides which wire to cut, so asking "
    "is certainly worth 90, and waiting only 50."
)


def main() -> None:
    """Play and show the demonstration; an error becomes one line and an exit code."""
    guarded(run)(console_on(sys.stdout))


def run(out: Console) -> None:
    """Play and show one match of each player, then a short series."""
    program = load(GAME)
    machines = build_machines(program)
    arenas = [set_up(GAME, program, {ROLE: spec}, machines) for _, spec in PLAYERS]
    records = [play_match(arena, SEED) for arena in arenas]
    out.print(Text("The exploding bomb", style="bold"))
    out.print(_STORY)
    out.print()
    out.print(_match_table(records, out.encoding))
    out.print()
    out.print(_LESSON)
    out.print()
    out.print(_series_table([_play_series(program, spec) for _, spec in PLAYERS]))
    out.print("What to try next:", style="bold")
    for command in (
        "match-runner play monty_hall --player candidate=hyperplay2",
        "match-runner play spy_vs_spy --player spy1=hyperplay2:n=8",
        "ggp evaluate spy_vs_spy --role spy1 --player hyperplay2:n=8",
    ):
        out.print(f"  {_runnable(command)}", soft_wrap=True)


def _match_table(records: Sequence[MatchRecord], encoding: str) -> Table:
    """Table of both matches, side by side, a row for each turn."""
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    table.add_column(f"seed {SEED}", style="dim")
    for name, spec in PLAYERS:
        table.add_column(Text(f"{name} ({spec})"), min_width=28)
    for number in range(max(len(record.turns) for record in records)):
        table.add_row(f"Turn {number + 1}", style="bold")
        percepts = [r.turns[number - 1].percepts[ROLE] if number else () for r in records]
        table.add_row("sees", *map(percepts_text, percepts))
        turns = [record.turns[number] for record in records]
        table.add_row("values", *(_values(t.decisions[ROLE], encoding) for t in turns))
        table.add_row("plays", *(plain(t.joint_move[ROLE], "bold") for t in turns))
        table.add_row(
            "chance", *(plain(t.joint_move["random"], "dim") for t in turns), end_section=True
        )
    table.add_row("Score", *(f"{record.goals[ROLE]:g}" for record in records), style="bold")
    return table


def _values(decision: Decision, encoding: str) -> RenderableType:
    if len(decision.values) == 1:
        return Text("(its only move)", style="dim")
    return Group(values_table(decision, encoding))


def _play_series(program: GameDefinition, spec: str) -> PlaySummary:
    series = series_of_roles(GAME, program, {ROLE: spec}, NUM_MATCHES, seed=SEED)
    with (
        open_store(None, series) as store,
        bar_of(NUM_MATCHES, f"{NUM_MATCHES} matches of {spec}") as advance,
    ):
        run_series(series, store, InlineExecutor(), lambda match: advance())
        return summarize(snapshot_of(series, store))


def _series_table(summaries: Sequence[PlaySummary]) -> Table:
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column(f"{NUM_MATCHES} matches each")
    table.add_column(Text("mean score [99 %]"), justify="right")
    table.add_column("states visited a match", justify="right")
    for (name, spec), summary in zip(PLAYERS, summaries, strict=True):
        visited = summary.states_visited[ROLE] // NUM_MATCHES
        table.add_row(Text(f"{name} ({spec})"), Text(format(summary.scores[ROLE])), f"{visited:,}")
    return table


def _runnable(command: str) -> str:
    """A command that works here even if the virtual environment is not activated."""
    tool, _, rest = command.partition(" ")
    script = Path(sys.executable).parent / tool
    if shutil.which(tool) or not script.exists():
        return command
    folder = Path.cwd()
    path = script.relative_to(folder) if script.is_relative_to(folder) else script
    return f"{path} {rest}"
