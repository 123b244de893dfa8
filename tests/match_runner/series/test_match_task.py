"""A match of a series, as a worker plays it."""

from __future__ import annotations

import gc
import time
from typing import ClassVar

import pytest

from ggp.belief import Bags
from ggp.gdl import parse
from ggp.gdl.games import find_game
from ggp.gdl.normalize import normalize
from ggp.machine import Limits
from ggp.machine.compiling import jit
from ggp.machine.games import load_program
from ggp.players.first_legal import FirstLegal
from ggp.players.player import Choice
from ggp.search.anytime import Deadline
from match_runner.match.conditions import Conditions
from match_runner.match.seats import set_up
from match_runner.series import match_task
from match_runner.series.match_task import MatchTask, _rehearsed, play, rehearse
from match_runner.workers.executor import close_idle

CLOCK_S = 0.8


class Loads(FirstLegal):
    """Takes longer than the clock for its first decisions, as if something was compiled."""

    decisions, slow = 0, 1

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        Loads.decisions += 1
        if Loads.decisions <= self.slow:
            time.sleep(1.5 * CLOCK_S)
        return super().decide(bag, deadline)


class Counts(FirstLegal):
    """Remembers which roles had a choice."""

    roles: ClassVar[set[int]] = set()

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        self.roles.add(self.role)
        return super().decide(bag, deadline)


def task(play_clock_s: float | None, *, in_process: bool = True) -> MatchTask:
    return MatchTask(
        "exploding_bomb",
        "exploding_bomb",
        find_game("exploding_bomb").read_text(),
        "prolog",
        Limits(),
        {"agent": f"{__name__}:Loads"},
        0,
        Conditions(play_clock_s, in_process=in_process),
    )


@pytest.mark.verify
def test_code_that_a_player_loads_first_costs_no_time_of_a_clock() -> None:
    Loads.decisions = 0
    assert not play(task(None)).faults
    assert Loads.decisions == 2  # nothing is rehearsed without a clock
    Loads.decisions = 0
    assert not play(task(CLOCK_S)).faults
    assert Loads.decisions == 4
    assert not play(task(CLOCK_S)).faults
    assert Loads.decisions == 6


def test_a_rehearsal_is_repeated_until_all_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_task, "_rehearsed", {})
    monkeypatch.setattr(Loads, "decisions", 0)
    monkeypatch.setattr(Loads, "slow", 3)  # two in the first rehearsal, one in the second
    monkeypatch.setattr(jit, "num_loaded", lambda: min(Loads.decisions, Loads.slow))
    assert not play(task(CLOCK_S)).faults
    assert Loads.decisions == 8


@pytest.mark.parametrize("own_process", [False, True])
def test_only_a_process_of_ours_keeps_what_is_loaded_from_the_collector(
    own_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr(match_task, "_rehearsed", {})
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    play(task(CLOCK_S), own_process)
    assert frozen == [True] * own_process


def test_code_loaded_in_its_own_process_costs_no_time_either() -> None:
    _rehearsed.clear()
    for _ in range(2):
        assert not play(task(CLOCK_S, in_process=False)).faults
        close_idle()  # the next match finds none that has loaded anything


def test_a_game_that_starts_terminal_is_rehearsed_too() -> None:
    over = "(role agent) (init over) (legal agent go) (<= terminal (true over)) (goal agent 7)"
    program = normalize(parse(over))
    rehearse(set_up("over", program, {"agent": "random"}), over, own_process=False)


@pytest.mark.verify
def test_a_rehearsal_goes_on_until_everybody_has_had_a_choice() -> None:
    game = "openspiel:skat"  # where 32 cards are dealt first
    program = load_program(game)
    players = dict.fromkeys(("p0", "p1", "p2"), f"{__name__}:Counts")
    # By processor time: on a busy computer hands would not be found.
    rehearse(set_up(game, program, players, clock=time.process_time), game, own_process=False)
    assert Counts.roles == {0, 1, 2}
