"""A match of a series, as a worker plays it."""

from __future__ import annotations

import time

from ggp.belief import Bags
from ggp.gdl.games import find_game
from ggp.machine import Limits
from ggp.players.belief_player import Choice
from ggp.players.first_legal import FirstLegal
from ggp.search.anytime import Deadline
from match_runner.match.referee import Conditions
from match_runner.series.match_task import MatchTask, play

CLOCK_S = 1.0


class Loads(FirstLegal):
    """Takes longer than the clock for its first decision, as if something was compiled."""

    decisions = 0

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        Loads.decisions += 1
        if Loads.decisions == 1:
            time.sleep(1.5 * CLOCK_S)
        return super().decide(bag, deadline)


def task(play_clock_s: float | None) -> MatchTask:
    return MatchTask(
        "exploding_bomb",
        "exploding_bomb",
        find_game("exploding_bomb").read_text(),
        "prolog",
        Limits(),
        {"agent": f"{__name__}:Loads"},
        0,
        Conditions(play_clock_s),
    )


def test_what_a_player_loads_at_first_costs_no_time_of_a_clock() -> None:
    Loads.decisions = 0
    assert not play(task(None)).faults
    assert Loads.decisions == 2  # nothing is rehearsed without a clock
    Loads.decisions = 0
    assert not play(task(CLOCK_S)).faults
    assert Loads.decisions == 4
    assert not play(task(CLOCK_S)).faults
    assert Loads.decisions == 6
