"""What the cells on the whole board will cost, told before they are played.

A player is timed in the first turns of a game against random play: with few samples in many turns,
since turns in the middle of a game cost more than those of the opening. With many samples that
would take as long as some games; then it is timed in the opening only, and the rest of the game is
taken to cost as many times as much as with few samples: the line says that it is extrapolated.
Games differ much in length, so all this tells hours from days. Of cells that were begun, the games
so far tell more. If the time for playing is limited, no player is timed after a tenth of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ggp.clocks import Clock
from match_runner.match.records import MatchRecord
from match_runner.reproduce.duels import Duel, PlayedDuel, program_of, series_of, stored_duel
from match_runner.reproduce.kriegspiel.cells import (
    BOARD,
    HUNDREDTH,
    TWENTIETH,
    given,
    sampled,
    short,
)
from match_runner.reproduce.results import Settings
from match_runner.series.match_task import MatchTask, play
from match_runner.workers.executor import Executor

MEASURED_TURNS = 80
"""Turns of a game that are played to time a player."""

OPENING_TURNS = 24
"""Turns that are played to time a player with many samples."""

FIRST_TURNS = 6
"""Turns that do not count: machine code is read from the cache in them, and pools are small."""

TURNS = 220
"""Turns of a game, refused tries included: the mean of games of the papers' players."""

TIMED_SHARE = 0.1
"""Of the time for playing: no player is timed after that."""

FEW = 2
"""A player with this many times the samples of a twentieth of the papers' is timed as it is."""

LEAST_S = 1e-4
"""No turn is taken to cost less than this."""

SO_FAR, MEASURED, EXTRAPOLATED = "as so far", "measured", "extrapolated"


def costs(
    cells: Sequence[tuple[Duel, Settings]], settings: Settings, executor: Executor
) -> Iterator[str]:
    """Lines that say what each cell that is not finished will cost, and all of them.

    Args:
        cells: cells to play, each with its number of games.
    """
    turns = _Turns(settings, executor)
    timed_until_s = time.monotonic() + TIMED_SHARE * settings.seconds
    total_s, untimed = 0.0, 0
    for duel, own in cells:
        if not duel.budget or duel.equal_states:
            continue
        stored = stored_duel(duel, own)
        ending = None if stored is None else stored.held.ending
        left = own.matches - (0 if stored is None else len(stored.matches))
        if left <= 0 or (ending is not None and ending.outcome is not None):
            continue
        if stored is None and time.monotonic() >= timed_until_s:
            untimed += 1
            continue
        if stored is None:
            each = [turns.cost(player) for player in duel.players]
            seconds = TURNS * math.fsum(cost.seconds for cost in each)
            how = EXTRAPOLATED if any(cost.is_extrapolated for cost in each) else MEASURED
        else:
            seconds, how = _seconds_so_far(stored), SO_FAR
        total_s += left * seconds
        yield (
            f"{' against '.join(map(short, duel.players))}, {duel.budget}: {left} games at most, "
            f"about {seconds:,.0f} s each ({how}), {left * seconds / 3600:,.2f} core-hours"
        )
    if total_s:
        yield f"in all at most about {total_s / 3600:,.1f} core-hours"
    if untimed:
        yield f"not timed, since that would take too much of the time to play: {untimed} more"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a turn of a player, and whether they are extrapolated."""

    seconds: float
    is_extrapolated: bool


class _Turns:
    """Seconds of a turn of players, each timed once."""

    def __init__(self, settings: Settings, executor: Executor) -> None:
        self._settings, self._executor = settings, executor
        self._timed: dict[tuple[str, int], list[float]] = {}

    def cost(self, player: str) -> Cost:
        """The mean cost of a turn, of its own or of the other."""
        name, depth = player.partition(":")[0], int(given(player).get("depth", 1))
        fewer = sampled(name, TWENTIETH, depth)
        if _samples(player) <= FEW * _samples(fewer):
            return Cost(_mean(self._seconds(player, MEASURED_TURNS)), is_extrapolated=False)
        game = self._seconds(fewer, MEASURED_TURNS)
        opening = _mean(game[: OPENING_TURNS - FIRST_TURNS])
        times = _mean(self._seconds(player, OPENING_TURNS)) / max(opening, LEAST_S)
        return Cost(times * _mean(game), is_extrapolated=True)

    def _seconds(self, player: str, turns: int) -> list[float]:
        if (player, turns) not in self._timed:
            found = _seconds_of_turns(player, turns, self._settings, self._executor)
            self._timed[player, turns] = found
        return self._timed[player, turns]


def _samples(player: str) -> int:
    options = given(player)
    return int(options.get("histories", options.get("worlds", 1)))


def _mean(seconds: Sequence[float]) -> float:
    return math.fsum(seconds) / max(len(seconds), 1)


def _seconds_of_turns(
    player: str, turns: int, settings: Settings, executor: Executor
) -> list[float]:
    """What a player took in the first turns of a game, its own and those of the other."""
    duel = Duel(BOARD, (player, sampled("random", HUNDREDTH)), "")
    series = series_of(duel, replace(settings, matches=2, until=None))
    (game,) = series.games
    task = MatchTask(
        game=game.name,
        source=game.program.source.name,
        rules=program_of(duel.game).source.text,
        backend=settings.backend,
        limits=settings.limits,
        players=dict(zip(game.seats, duel.players, strict=True)),
        seed=settings.seed,
        conditions=replace(game.conditions, max_turns=turns, clock=Clock.CPU),
    )
    record: MatchRecord = executor.submit(play, (task,)).result()
    decisions = [turn.decisions.get(game.seats[0]) for turn in record.turns[FIRST_TURNS:]]
    return [0.0 if each is None else each.seconds for each in decisions]


def _seconds_so_far(cell: PlayedDuel) -> float:
    """Mean seconds that both players thought in a game."""
    return _mean(
        [
            math.fsum(decision.seconds for _, _, decision in match.decisions())
            for match in cell.matches
        ]
    )
