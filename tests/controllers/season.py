"""Many matches as controllers play them, two at once, with more matches begun than there is room.

python -m tests.controllers --matches 200
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl import read_rulesheet
from ggp.gdl.program import RANDOM
from tests.controllers.controller import End, Kind, Plan, Renaming, Result, Sheet, play
from tests.support.games import MODEST_GAMES, REPOSITORY, SHARED

SHARED_SHEETS = (
    "gdl1/blocksWorldSerial.kif",
    "gdl1/breakthrough.kif",
    "gdl1/buttons.kif",
    "gdl1/coloredtrails.kif",
    "gdl1/connectFour.kif",
    "gdl1/doubletoetictac.kif",
    "gdl1/eightPuzzle.kif",
    "gdl1/firefighter.kif",
    "gdl1/hanoi_6_disks.kif",
    "gdl1/haystack.kif",
    "gdl1/lightsOnSimul4.kif",
    "gdl1/maze.kif",
    "gdl1/minichess.kif",
    "gdl1/nim4.kif",
    "gdl1/ticTacToe.kif",
    "gdl2/blind_breakthrough_5x5.gdl",
    "gdl2/dominion.kif",
    "gdl2/guessSix.gdl",
    "gdl2/kriegTTT_4x4.gdl",
    "gdl2/mastermind.gdl",
    "gdl2/montyhall.gdl",
    "gdl2/transit.gdl",
    "gdl2/vis_pacman3p.gdl",
)
"""Sheets by other authors that the reference evaluates fast enough."""

AT_ONCE = 2
FORGOTTEN_AFTER_S = 6
"""So long after a play clock the player gives the place of a silent match to another."""

_ADDRESS = re.compile(r"http://127\.0\.0\.1:([0-9]+)")


def sheets() -> list[Sheet]:
    """All our games except the long ones, and the sheets by others that are present."""
    paths = [SHARED / name for name in SHARED_SHEETS if (SHARED / name).exists()]
    chosen_sheets = []
    for name in (*MODEST_GAMES, *map(str, paths)):
        rulesheet = read_rulesheet(name)
        chosen_sheets.append(Sheet(Path(name).stem, rulesheet.source.text, rulesheet.rules))
    return chosen_sheets


def plans(games: Sequence[Sheet], matches: int, clocks: tuple[int, int]) -> Iterator[Plan]:
    """Matches of all games in turn, with every kind of controller, renaming and end."""
    rng = np.random.default_rng(1)
    kinds = {False: cycle([Kind.GGP_BASE, Kind.DRESDEN_2011]), True: cycle(list(Kind)[1:])}
    renamings, ends = cycle(list(Renaming)), cycle([End.STOP, End.STOP, End.LOST, End.KILLED])
    for number, sheet in zip(range(matches), cycle(games), strict=False):
        roles = [
            rule.head.args[0].name  # type: ignore[union-attr]
            for rule in sheet.rules
            if getattr(rule.head, "name", "") == "role"
        ]
        is_gdl2 = {"sees", RANDOM} & set(sheet.tokens) != set()
        role = str(rng.choice([role for role in roles if role != RANDOM]))
        yield Plan(
            match=f"m{number}",
            sheet=sheet,
            role=role,
            kind=next(kinds[is_gdl2]),
            renaming=next(renamings),
            end=next(ends),
            clocks=clocks,
            seed=number,
        )


def season(
    planned: Sequence[Plan], port: int, tell: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Play them, `AT_ONCE` at once; two of every four never end for the player.

    A controller that was killed, or whose STOP was lost, is there again once the player may
    forget the match: until then the player has to believe that it goes on.
    """

    def play_one(plan: Plan) -> Result:
        result = play(plan, port)
        tell(result)
        if plan.end is not End.STOP:
            time.sleep(plan.clocks[1] + FORGOTTEN_AFTER_S)
        return result

    with ThreadPoolExecutor(AT_ONCE) as controllers:
        return list(controllers.map(play_one, planned))


class Served(NamedTuple):
    """`ggp serve` in a process of its own."""

    pid: int
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def served(*options: str, log: Path | None = None) -> Iterator[Served]:
    """A server with these options.

    Args:
        log: the file for its standard error, which is discarded otherwise.

    Raises:
        ConfigError: it does not start.
    """
    with tempfile.TemporaryFile("w+") if log is None else log.open("w+") as file:
        command = [sys.executable, "-m", "ggp", "serve", "--port", "0", *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=file, text=True, cwd=REPOSITORY
        )
        assert process.stdout is not None
        try:
            match = next(filter(None, map(_ADDRESS.search, process.stdout)), None)
            if match is None:
                file.seek(0)
                raise ConfigError(f"the server does not start: {file.read()[-2000:]}")
            yield Served(process.pid, int(match.group(1)))
        finally:
            process.send_signal(signal.SIGTERM)
            process.stdout.close()
            process.wait(30)


def faults_of(results: Sequence[Result]) -> Counter[str]:
    """All faults by kind."""
    return sum((result.faults for result in results), Counter())
