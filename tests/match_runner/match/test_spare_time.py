"""Players are given the start clock, once, and the time of others, in matches that count and have
clocks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from ggp.players import make_player, parse_spec
from ggp.players.player import Preparing
from ggp.search.anytime import Deadline
from match_runner.match.conditions import ConditionOptions, Conditions
from match_runner.match.referee import play_match
from match_runner.remote.remote_players import RemoteConditions
from tests.match_runner.support import Clock, Script, script_arena
from tests.support.games import machine_of_rules

LAMP = """
(role robot) (init (lamp 1)) (init (step 1))
(succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(<= (legal robot (press ?x)) (succ ?x ?z))
(<= (next (lamp ?y)) (does robot (press ?x)) (true (lamp ?x)) (succ ?x ?y))
(<= (next (lamp ?y)) (does robot (press ?x)) (true (lamp ?y)) (distinct ?x ?y))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 6)))
(<= (goal robot 100) (true (lamp 4)))
(<= (goal robot 20) (not (true (lamp 4))))
"""
"""A lamp is moved on where it is pressed: three of the five presses have to be the right ones."""

CLOCKS = Conditions(play_clock_s=4.0, remote=RemoteConditions(start_clock_s=7), prepares=True)


@dataclass
class Prepared(Script):
    """Also records its share of the start clock."""

    prepared: list[float] = field(default_factory=list)
    fails: bool = False

    def prepare(self, deadline: Deadline) -> None:
        assert not self.told
        self.prepared.append(deadline.left_s())
        if self.fails:
            raise ValueError("no idea")


def player(*, fails: bool = False) -> Prepared:
    return Prepared(["noop", "ask", "(cut red)"], Clock(), fails=fails)


def test_the_start_clock_is_given_once_where_there_are_clocks() -> None:
    ready = player()
    play_match(script_arena("exploding_bomb", ready.clock, agent=ready), 0, CLOCKS)
    assert ready.prepared == [7.0]
    for without in (Conditions(prepares=True), replace(CLOCKS, prepares=False)):
        counted = player()
        play_match(script_arena("exploding_bomb", counted.clock, agent=counted), 0, without)
        assert not counted.prepared


@pytest.mark.parametrize("start_clock", [0, 7])
def test_commands_give_the_start_clock_that_they_are_told(start_clock: int) -> None:
    options = ConditionOptions(play_clock_s=4.0, start_clock_s=start_clock)
    conditions = options.of_match(has_remote=False)
    ready = player()
    play_match(script_arena("exploding_bomb", ready.clock, agent=ready), 0, conditions)
    assert ready.prepared == ([7.0] if start_clock else [])


def test_nobody_prepares_for_a_rehearsal_or_for_a_match_that_has_begun() -> None:
    whole = play_match(script_arena("exploding_bomb", agent=player()), 0)
    ready = player()
    arena = script_arena("exploding_bomb", ready.clock, agent=ready)
    play_match(arena, 0, CLOCKS, counts=False)
    assert not ready.prepared
    later = Prepared(["ask", "(cut red)"], Clock())
    arena = script_arena("exploding_bomb", later.clock, agent=later)
    play_match(arena, 0, CLOCKS, earlier=whole.turns[:1])
    assert not later.prepared


def test_a_player_that_fails_to_prepare_has_a_fault_and_plays_on() -> None:
    ready = player(fails=True)
    record = play_match(script_arena("exploding_bomb", ready.clock, agent=ready), 0, CLOCKS)
    faults = [fault for turn in record.turns for fault in turn.faults]
    assert [fault.kind for fault in faults] == ["raised"]
    assert "at the start" in str(faults[0])
    assert [turn.joint_move["agent"] for turn in record.turns] == ["noop", "ask", "(cut red)"]


def test_a_puzzle_that_was_solved_on_the_start_clock_is_not_searched_again() -> None:
    machine = machine_of_rules(LAMP, "propnet")
    solver = make_player(parse_spec("puzzle"), machine, 0, np.random.default_rng(0))
    assert isinstance(solver, Preparing)
    solver.prepare(Deadline.after(60.0))
    visited = solver.states_visited
    assert visited > 0
    decision = solver.choose(Deadline.after(60.0))
    assert decision.states_visited - visited < 20


@dataclass
class Ponderer(Script):
    """Also records its share of the time of others, and the number of turns it knew then."""

    pondered: list[tuple[int, float]] = field(default_factory=list)
    fails: bool = False

    def ponder(self, deadline: Deadline) -> None:
        self.pondered.append((len(self.told), deadline.left_s()))
        assert self.clock is not None
        self.clock.now_s = deadline.at_s
        if self.fails:
            raise ValueError("no idea")


MARKS = ("(mark 1 1)", "(mark 2 1)", "(mark 1 2)", "(mark 2 2)", "(mark 1 3)")


def duel(*, ponder: bool = True, start_s: int = 0, fails: bool = False) -> tuple[Any, ...]:
    """A match in which xplayer takes 3, 0, 1, 0 and 0.5 s, oplayer 0, 1.5, 0, 2 and 0 s."""
    clock = Clock()
    xs = [mark if turn % 2 == 0 else "noop" for turn, mark in enumerate(MARKS)]
    os = ["noop" if turn % 2 == 0 else mark for turn, mark in enumerate(MARKS)]
    x = Ponderer(xs, clock, (3.0, 0.0, 1.0, 0.0, 0.5), fails=fails)
    o = Ponderer(os, clock, (0.0, 1.5, 0.0, 2.0, 0.0))
    remote = RemoteConditions(start_clock_s=start_s)
    conditions = replace(CLOCKS, ponder=ponder, remote=remote)
    record = play_match(script_arena("tic_tac_toe", clock, xplayer=x, oplayer=o), 0, conditions)
    assert record.goals == {"xplayer": 100, "oplayer": 0}
    return x, o, record


def test_players_ponder_as_long_as_the_slowest_of_the_others_took_longer() -> None:
    x, o, record = duel()
    assert x.pondered == [(1, 1.5), (3, 2.0)]
    assert o.pondered == [(0, 3.0), (2, 1.0), (4, 0.5)]
    assert not any(turn.faults for turn in record.turns)
    x, o, _ = duel(start_s=7)
    assert [x.pondered[0], o.pondered[0]] == [(0, 7.0), (0, 7.0)]
    assert len(x.pondered) == 3


def test_an_answer_that_is_late_gives_nobody_more_than_the_play_clock() -> None:
    clock = Clock()
    moves = ["noop" if turn % 2 else mark for turn, mark in enumerate(MARKS)]
    x = Ponderer(moves, clock, (60.0, 0.0, 0.0, 0.0, 0.0))
    o_moves = ["noop" if turn % 2 == 0 else mark for turn, mark in enumerate(MARKS)]
    o = Ponderer(o_moves, clock, (0.0, 0.0, 0.0, 0.0, 0.0))
    none = RemoteConditions(start_clock_s=0)
    conditions = replace(CLOCKS, ponder=True, max_turns=1, remote=none)
    play_match(script_arena("tic_tac_toe", clock, xplayer=x, oplayer=o), 0, conditions)
    assert o.pondered == [(0, 4.0)]


def test_nobody_ponders_unless_the_match_is_played_so() -> None:
    x, o, _ = duel(ponder=False, start_s=7)
    assert not x.pondered
    assert not o.pondered


def test_a_player_that_fails_to_ponder_has_a_fault_and_plays_on() -> None:
    _, _, record = duel(fails=True)
    faults = [fault for turn in record.turns for fault in turn.faults]
    assert [(fault.role, fault.kind) for fault in faults] == [("xplayer", "raised")] * 2
    assert "while it pondered" in str(faults[0])
