"""The referee: the percepts that it passes on, and its treatment of bad answers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ggp.gdl.normalize import load
from ggp.players import Decision
from ggp.run.clocks import Clock as ClockKind
from ggp.run.clocks import cpu_seconds
from ggp.search.anytime import Deadline
from match_runner.match import conditions
from match_runner.match.conditions import Conditions, stream
from match_runner.match.records import Fault, MatchRecord
from match_runner.match.referee import play_match
from match_runner.match.seats import Arena, Seat
from tests.match_runner.support import Clock, Script, arena_of, script_arena, scripted_arena
from tests.support.games import machine_of_game, machine_of_rules

STUCK = """
(role white) (role black)
(init (step 0)) (succ 0 1) (succ 1 2)
(<= (legal white go) (true (step ?n)))
(<= (legal black go) (true (step 0)))
(<= (next (step ?m)) (true (step ?n)) (succ ?n ?m))
(<= terminal (true (step 2)))
(<= (goal white 70) (true (step 1)))
(<= (goal black 30) (true (step 1)))
"""

ENDLESS = """
(role white)
(init (step 0))
(legal white go)
(<= (next (step 0)) (true (step 0)))
(<= terminal (true (step 1)))
(goal white 40)
"""


def texts(faults: list[Fault]) -> list[str]:
    return [str(fault) for fault in faults]


def all_faults(record: Any) -> list[Fault]:
    return [fault for turn in record.turns for fault in turn.faults]


# ---------------------------------------------------------------- what players are told


def test_each_player_gets_only_its_own_moves_and_percepts() -> None:
    first = Script(["noop", "bet", "noop"])
    two = Script(["noop", "noop", "call"])
    record = play_match(script_arena("kuhn_poker", player1=first, player2=two), seed=4)
    assert [turn.joint_move["player1"] for turn in record.turns] == ["noop", "bet", "noop"]
    for role, player in (("player1", first), ("player2", two)):
        opponent = "player2" if role == "player1" else "player1"
        assert player.told == [
            {
                "move": turn.joint_move[role],
                "percepts": turn.percepts[role],
                "submitted": turn.joint_move[role],
                "in_time": True,
            }
            for turn in record.turns[:-1]
        ]
        dealt = record.turns[0].percepts
        assert dealt[role] != dealt[opponent]
        assert dealt[opponent][0] not in str(player.told)


def test_players_are_not_asked_to_observe_the_last_turn() -> None:
    player = Script(["noop", "ask", "(cut red)"])
    record = play_match(script_arena("exploding_bomb", agent=player), seed=0)
    assert len(record.turns) == 3
    assert len(player.told) == 2


@pytest.mark.verify
def test_random_is_played_by_chance() -> None:
    hidden = []
    for seed in range(150):
        arena = script_arena("monty_hall", candidate=Script(["(choose 1)", "noop", "switch"]))
        record = play_match(arena, seed)
        hidden.append(record.turns[0].joint_move["random"])
        assert record.states_visited["random"] == 0
        assert "random" not in record.turns[0].submitted
    counts = [hidden.count(f"(hide {door})") for door in (1, 2, 3)]
    assert sum(counts) == 150
    assert min(counts) > 30


def test_roles_get_their_own_generator_whoever_the_others_are() -> None:
    machine = machine_of_game("kuhn_poker")
    draws: dict[int, list[int]] = {0: [], 1: []}

    def arena(*roles: int) -> Arena:
        def seat(role: int) -> Seat:
            def make(rng: np.random.Generator) -> Script:
                draws[role].append(int(rng.integers(1 << 62)))
                return Script(["noop", "check", "check"] if role == 0 else ["noop"] * 9)

            return Seat("script", make)

        return Arena(
            "kuhn_poker", load("kuhn_poker"), machine, {role: seat(role) for role in roles}, Clock()
        )

    play_match(arena(0, 1), seed=7)
    play_match(arena(1, 0), seed=7)
    assert draws[0][0] == draws[0][1]
    assert draws[1][0] == draws[1][1]
    assert draws[0][0] != draws[1][0]
    assert stream(7, 0).integers(1 << 62) not in (draws[0][0], draws[1][0])


# ---------------------------------------------------------------- bad answers


@pytest.mark.parametrize("answer", ["(cut red)", "(launch missiles)", "((", "", "?x"])
def test_an_illegal_move_is_replaced_and_recorded(answer: str) -> None:
    player = Script(["noop", answer, "(cut red)"])
    record = play_match(script_arena("exploding_bomb", agent=player), seed=0)
    turn = record.turns[1]
    assert turn.submitted == {"agent": answer}
    assert turn.joint_move["agent"] in ("ask", "wait")
    assert texts(list(turn.faults)) == [f"turn 2, agent: submitted {answer}, which is not legal"]
    assert turn.faults[0].kind == "illegal"
    assert record.errors == (str(turn.faults[0]),)
    assert player.told[1] == {
        "move": turn.joint_move["agent"],
        "percepts": turn.percepts["agent"],
        "submitted": answer,
        "in_time": True,
    }


def test_replacements_are_random_legal_moves() -> None:
    replacements = set()
    for seed in range(20):
        arena = script_arena("exploding_bomb", agent=Script(["noop", "sing", "(cut red)"]))
        replacements.add(play_match(arena, seed).turns[1].joint_move["agent"])
    assert replacements == {"ask", "wait"}


def test_moves_are_understood_in_any_spelling() -> None:
    player = Script(["NOOP", " ASK ", "( cut\n Red )"])
    record = play_match(script_arena("exploding_bomb", agent=player), seed=0)
    assert [turn.joint_move["agent"] for turn in record.turns] == ["noop", "ask", "(cut red)"]
    assert not all_faults(record)
    assert [news["submitted"] for news in player.told] == ["noop", "ask"]


def test_a_late_move_is_replaced_and_recorded() -> None:
    clock = Clock()
    seen = set()
    for seed in range(10):
        player = Script(["noop", "ask", "(cut red)"], clock, takes_s=[0.0, 1.01, 1.0])
        arena = script_arena("exploding_bomb", clock, agent=player)
        record = play_match(arena, seed, Conditions(play_clock_s=1.0))
        assert texts(all_faults(record)) == [
            "turn 2, agent: answered ask after 1.01 s, later than the play clock of 1 s"
        ]
        assert record.turns[1].faults[0].kind == "late"
        assert record.turns[1].submitted == {"agent": "ask"}
        assert [news["in_time"] for news in player.told] == [True, False]
        seen.add(record.turns[1].joint_move["agent"])
    assert seen == {"ask", "wait"}


def test_a_play_clock_gives_each_decision_a_deadline_before_the_referees() -> None:
    clock = Clock()
    player = Script(["noop", "ask", "(cut red)"], clock, takes_s=[3.0, 2.0, 0.0])
    play_match(script_arena("exploding_bomb", clock, agent=player), 0, Conditions(play_clock_s=4.0))
    deadlines = [deadline.at_s for deadline in player.deadlines if deadline is not None]
    assert deadlines == [103.5, 106.5, 108.5]


def test_without_a_play_clock_there_is_no_deadline_and_nothing_is_late() -> None:
    clock = Clock()
    player = Script(["noop", "ask", "(cut red)"], clock, takes_s=[1e6, 1e6, 1e6])
    record = play_match(script_arena("exploding_bomb", clock, agent=player), 0)
    assert player.deadlines == [None, None, None]
    assert not all_faults(record)


def test_a_player_that_raises_loses_the_move_and_plays_on() -> None:
    player = Script(["noop", ZeroDivisionError("by\nzero"), "(cut red)"])
    record = play_match(script_arena("exploding_bomb", agent=player), 0)
    turn = record.turns[1]
    assert turn.joint_move["agent"] in ("ask", "wait")
    assert turn.submitted == {"agent": None}
    assert turn.decisions == {}
    assert texts(list(turn.faults)) == [
        "turn 2, agent: raised ZeroDivisionError: by zero when asked to move"
    ]
    assert record.turns[2].joint_move["agent"] == "(cut red)"
    assert player.told[1]["submitted"] is None


def test_a_player_that_raises_on_observing_is_still_asked() -> None:
    player = Script(["noop", "ask", "(cut red)"], fails_to_observe=OSError("gone"))
    record = play_match(script_arena("exploding_bomb", agent=player), 0)
    assert [turn.joint_move["agent"] for turn in record.turns] == ["noop", "ask", "(cut red)"]
    assert texts(all_faults(record)) == [
        f"turn {turn}, agent: raised OSError: gone when told of the last turn" for turn in (2, 3)
    ]


def test_a_fallback_is_recorded_as_a_fault() -> None:
    arena = arena_of("exploding_bomb", "agent=legal")
    real = arena.seats[0].make(stream(0, 1))

    class Lost(Script):
        def choose(self, deadline: Any = None, *, value_forced: bool = False) -> Any:
            real.observe("(cut red)", ["red"])  # impossible in the first turn
            return real.choose()

    record = play_match(script_arena("exploding_bomb", agent=Lost([])), 0)
    fault = all_faults(record)[0]
    assert fault.kind == "fallback"
    assert "no complete path agrees" in fault.text


# ---------------------------------------------------------------- bad games


def test_a_stuck_role_ends_the_match_with_an_error() -> None:
    arena = scripted_arena(
        machine_of_rules(STUCK), {"white": Script(["go"] * 3), "black": Script(["go"] * 3)}
    )
    record = play_match(arena, seed=0)
    assert len(record.turns) == 1
    assert record.error is not None
    assert "black has no legal move" in record.error
    assert record.goals == {"white": 70, "black": 30}
    assert record.errors == (f"after turn 1: {record.error}",)


def test_an_endless_game_is_cut_off() -> None:
    arena = scripted_arena(machine_of_rules(ENDLESS), {"white": Script(["go"] * 9)})
    record = play_match(arena, 0, Conditions(max_turns=5))
    assert len(record.turns) == 5
    assert record.error == "the game did not end within 5 turns"
    assert record.goals == {"white": 40}


def test_a_game_of_more_than_a_thousand_turns_is_played_to_its_end() -> None:
    """As games of kriegspiel may be, where each refused try is a turn."""
    digits = " ".join(f"(succ {n} {n + 1})" for n in range(33))
    rules = f"""{digits} (role white) (legal white go) (goal white 40)
        (init (ones 0)) (init (tens 0)) (<= terminal (true (tens 33)))
        (<= (next (ones ?n)) (true (ones ?m)) (succ ?m ?n))
        (<= (next (tens ?n)) (true (tens ?n)) (not (true (ones 33))))
        (<= (next (tens ?n)) (true (tens ?m)) (true (ones 33)) (succ ?m ?n))
        (<= (next (ones 0)) (true (ones 33)))"""
    arena = scripted_arena(machine_of_rules(rules), {"white": Script(["go"] * 1200)})
    record = play_match(arena, 0)
    assert (record.error, record.goals) == (None, {"white": 40})
    assert len(record.turns) == 33 * 34


def test_goals_that_are_no_numbers_are_an_error_of_the_match() -> None:
    rules = ENDLESS.replace("(goal white 40)", "(goal white many)")
    arena = scripted_arena(machine_of_rules(rules), {"white": Script(["go"] * 9)})
    record = play_match(arena, 0, Conditions(max_turns=1))
    assert record.goals == {"white": None}
    assert record.error == "the game did not end within 1 turns"


# ---------------------------------------------------------------- CPU time


class Worker(Script):
    """Uses CPU time before it answers."""

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        began_s = time.process_time()
        while time.process_time() < began_s + 0.03:
            pass
        return super().choose(deadline, value_forced=value_forced)


def cpu_match(player: Script, play_clock_s: float) -> MatchRecord:
    arena = scripted_arena(machine_of_game("exploding_bomb"), {"agent": player}, cpu_seconds)
    return play_match(arena, 0, Conditions(play_clock_s, clock=ClockKind.CPU))


def test_on_cpu_time_a_player_is_told_it_and_judged_by_what_it_used() -> None:
    player = Worker(["noop", "ask", "(cut red)"])
    record = cpu_match(player, 0.02)
    assert record.clock is ClockKind.CPU
    assert [fault.kind for fault in record.faults] == ["late"] * 3
    assert " s of CPU time, later than the play clock of 0.02 s" in record.faults[0].text
    for deadline in player.deadlines:
        assert deadline is not None
        assert deadline.clock is cpu_seconds
    assert not cpu_match(Worker(["noop", "ask", "(cut red)"]), 60.0).faults


def test_on_cpu_time_an_answer_may_exceed_the_wall_clock_within_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Sleeper(Script):
        def choose(self, *args: Any, **kwargs: Any) -> Decision:
            time.sleep(0.03)
            return super().choose(*args, **kwargs)

    # Of CPU time it has far more than it can use.
    assert not cpu_match(Sleeper(["noop", "ask", "(cut red)"]), 20.0).faults
    monkeypatch.setattr(conditions, "backstop_s", lambda seconds: 0.01)
    first, *_ = cpu_match(Sleeper(["noop", "ask", "(cut red)"]), 20.0).faults
    assert first.kind == "late"
    assert "s on the wall, which is too long even for a play clock of 20 s of CPU time" in str(
        first
    )
