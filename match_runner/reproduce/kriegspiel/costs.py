"""What the cells on the whole board will cost, told before they are played.

The cost of a decision is its number of samples times the time for one: measured in the first turns
of a game against random play with the fewest samples, and carried over to the others. Of cells that
were begun, the games so far tell more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ggp.clocks import Clock
from match_runner.match.records import MatchRecord
from match_runner.reproduce.duels import Duel, PlayedDuel, program_of, series_of, stored_duel
from match_runner.reproduce.kriegspiel.cells import (
    BOARD,
    HUNDREDTH,
    given,
    sampled,
    short,
)
from match_runner.reproduce.results import Settings
from match_runner.series.match_task import MatchTask, play
from match_runner.workers.executor import Executor

MEASURED_TURNS = 16
"""Turns of a game that are played to measure a player."""

DECISIONS = 60
"""Decisions of a player in a game between several moves, without other tries after refused ones:
games of the papers' players are over after so many."""


def costs(
    cells: Sequence[tuple[Duel, Settings]], settings: Settings, executor: Executor
) -> Iterator[str]:
    """Lines that say what each cell that is not finished will cost, and all of them.

    Args:
        cells: cells to play, each with its number of games.
    """
    a_sample: dict[str, float] = {}
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
            for player in map(_cheapest, duel.players):
                if player not in a_sample:
                    a_sample[player] = _seconds_a_sample(player, settings, executor)
            seconds = math.fsum(_seconds(player, a_sample) for player in duel.players)
        else:
            seconds = _seconds_so_far(stored)
        total_s += left * seconds
        yield (
            f"{' against '.join(map(short, duel.players))}, {duel.budget}: {left} games at most, "
            f"{seconds:,.1f} s each, {left * seconds / 3600:,.2f} core-hours"
        )
    if total_s:
        yield f"in all at most {total_s / 3600:,.1f} core-hours"


def _cheapest(player: str) -> str:
    """The same player with the fewest samples."""
    name = player.partition(":")[0]
    return sampled(name, HUNDREDTH, int(given(player).get("depth", 1)))


def _samples(player: str) -> int:
    options = given(player)
    return int(options.get("histories", options.get("worlds", 1)))


def _seconds(player: str, a_sample: Mapping[str, float]) -> float:
    return DECISIONS * _samples(player) * a_sample[_cheapest(player)]


def _seconds_a_sample(player: str, settings: Settings, executor: Executor) -> float:
    """Mean seconds of a decision in the first turns of a game, for each sample."""
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
    decisions = [turn.decisions.get(game.seats[0]) for turn in record.turns]
    taken = [each.seconds for each in decisions if each is not None and len(each.values) > 1]
    return math.fsum(taken) / max(len(taken), 1) / _samples(player)


def _seconds_so_far(cell: PlayedDuel) -> float:
    """Mean seconds that both players thought in a game."""
    times = [
        math.fsum(decision.seconds for _, _, decision in match.decisions())
        for match in cell.matches
    ]
    return math.fsum(times) / len(times)
