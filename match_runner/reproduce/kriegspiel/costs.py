"""What the cells on the whole board will cost, told before they are played.

A turn of a player costs a fixed time, and a time for each sample. Both are measured in the first
turns of a game against random play, at a hundredth and a twentieth of the papers' samples; larger
numbers of samples are extrapolated from these two, and the line says so. Games differ much in
length, so this tells hours from days. Of cells that were begun, the games so far tell more.
"""

from __future__ import annotations

import math
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
"""Turns of a game that are played to measure a player: pools are full and have begun to die."""

FIRST_TURNS = 6
"""Turns that do not count: machine code is read from the cache in them."""

TURNS = 220
"""Turns of a game, refused tries included: the mean of games of the papers' players."""

SO_FAR, MEASURED, EXTRAPOLATED = "as so far", "measured", "extrapolated"


def costs(
    cells: Sequence[tuple[Duel, Settings]], settings: Settings, executor: Executor
) -> Iterator[str]:
    """Lines that say what each cell that is not finished will cost, and all of them.

    Args:
        cells: cells to play, each with its number of games.
    """
    turns = _Turns(settings, executor)
    total_s = 0.0
    for duel, own in cells:
        if not duel.budget or duel.equal_states:
            continue
        stored = stored_duel(duel, own)
        ending = None if stored is None else stored.held.ending
        left = own.matches - (0 if stored is None else len(stored.matches))
        if left <= 0 or (ending is not None and ending.outcome is not None):
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


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a turn of a player, and whether they were not measured at its samples."""

    seconds: float
    is_extrapolated: bool


class _Turns:
    """Seconds of a turn of players, each measured once."""

    def __init__(self, settings: Settings, executor: Executor) -> None:
        self._settings, self._executor = settings, executor
        self._measured: dict[str, float] = {}

    def cost(self, player: str) -> Cost:
        """The mean cost of a turn, of its own or of the other."""
        few, more = (self._at(player, budget) for budget in (HUNDREDTH, TWENTIETH))
        wanted = _samples(player)
        for measured in (few, more):
            if _samples(measured) == wanted:
                return Cost(self._seconds(measured), is_extrapolated=False)
        fixed, later = self._seconds(few), self._seconds(more)
        a_sample = max(0.0, later - fixed) / (_samples(more) - _samples(few))
        return Cost(fixed + a_sample * (wanted - _samples(few)), is_extrapolated=True)

    def _at(self, player: str, budget: str) -> str:
        """The same player with the samples of a budget."""
        name = player.partition(":")[0]
        return sampled(name, budget, int(given(player).get("depth", 1)))

    def _seconds(self, player: str) -> float:
        if player not in self._measured:
            self._measured[player] = _seconds_a_turn(player, self._settings, self._executor)
        return self._measured[player]


def _samples(player: str) -> int:
    options = given(player)
    return int(options.get("histories", options.get("worlds", 1)))


def _seconds_a_turn(player: str, settings: Settings, executor: Executor) -> float:
    """Mean seconds of a turn of the first ones of a game; those of the other count too."""
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
        conditions=replace(game.conditions, max_turns=MEASURED_TURNS, clock=Clock.CPU),
    )
    record: MatchRecord = executor.submit(play, (task,)).result()
    decisions = [turn.decisions.get(game.seats[0]) for turn in record.turns[FIRST_TURNS:]]
    return math.fsum(each.seconds for each in decisions if each is not None) / max(
        len(decisions), 1
    )


def _seconds_so_far(cell: PlayedDuel) -> float:
    """Mean seconds that both players thought in a game."""
    times = [
        math.fsum(decision.seconds for _, _, decision in match.decisions())
        for match in cell.matches
    ]
    return math.fsum(times) / len(times)
