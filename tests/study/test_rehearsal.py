"""Random matches that reveal the faults of a game."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import find_game
from ggp.machine import Machine
from ggp.study.rehearsal import Rehearsal, RehearsalLimits, Trouble, matches_in, rehearse
from tests.support.games import BACKENDS, machine_of_game, machine_of_rules

BASE = """
(role left) (role right) (role random)
(init (turn 1)) (succ 1 2) (succ 2 3) (succ 3 4)
(legal left noop) (legal random heads) (legal random tails)
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= (next (coin ?c)) (does random ?c))
"""
END = "(<= terminal (true (turn 4)))"
GOALS = "(goal left 50) (goal right 50)"
RIGHT = "(legal right noop)"


def rehearsed(rules: str, backend: str = "prolog", **options: object) -> Rehearsal:
    return rehearse(machine_of_rules(BASE + rules, backend), 40, 1, **options)  # type: ignore[arg-type]


def only(rehearsal: Rehearsal) -> Trouble:
    (trouble,) = rehearsal.troubles
    return trouble


@pytest.mark.parametrize("backend", BACKENDS)
def test_game_in_order_has_no_troubles_but_figures(backend: str) -> None:
    seen = rehearsed(RIGHT + END + GOALS, backend)
    assert seen.troubles == ()
    assert (seen.matches, seen.ended, seen.shortest, seen.longest) == (40, 40, 3, 3)
    assert (seen.mean_turns, seen.chance_moves) == (3.0, 3.0)
    assert list(seen.roles) == ["left", "right"]
    assert seen.roles["left"].most_moves == 1
    assert (seen.roles["right"].mean, seen.roles["right"].highest) == (50.0, 50.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_role_that_gets_stuck_is_shown_with_its_state(backend: str) -> None:
    seen = rehearsed("(<= (legal right noop) (not (true (coin tails))))" + END + GOALS, backend)
    trouble = only(seen)
    assert (trouble.kind, trouble.role) == ("stuck", "right")
    assert trouble.matches == 40 - seen.ended
    assert 0 < seen.ended < 40
    (history,) = trouble.histories
    assert history.joint_moves[-1]["random"] == "tails"
    assert trouble.message.endswith(
        f"in the state (coin tails) (turn {1 + len(history.joint_moves)})"
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_matches_that_do_not_end_are_given_up(backend: str) -> None:
    rules = RIGHT + GOALS + "(<= terminal (true (coin tails)) (true (turn 2)))"
    limits = RehearsalLimits(max_turns=30)
    seen = rehearsed(rules + "(<= (next again) (true (turn 1)))", backend, limits=limits)
    trouble = only(seen)
    assert (trouble.kind, trouble.role) == ("endless", None)
    assert trouble.message == "the match is not over after 30 turns"
    assert trouble.matches + seen.ended == seen.matches
    assert len(trouble.histories[0].joint_moves) == 30


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("goals", "kind", "message"),
    [
        ("(<= (goal left 9) (true (coin tails)))", "no-goal", "without a goal value: it counts"),
        (
            "(goal left 9) (<= (goal left 8) (true (coin tails)))",
            "several-goals",
            "with the goal values 8, 9: the first rule counts",
        ),
        ("(<= (goal left ?c) (true (coin ?c)))", "goal-value", "is not a number"),
        ("(goal left 5) (<= (goal left 5) (true (coin tails)))", None, ""),
    ],
)
def test_missing_several_and_wrong_goals_are_told(
    goals: str, kind: str | None, message: str, backend: str
) -> None:
    seen = rehearsed(RIGHT + END + "(goal right 50)" + goals, backend)
    assert seen.ended == 40
    if kind is None:
        assert seen.troubles == ()
        return
    trouble = only(seen)
    assert (trouble.kind, trouble.role) == (kind, "left")
    assert message in trouble.message
    assert len(trouble.histories[0].joint_moves) == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_histories_show_that_a_role_cannot_know_its_moves(backend: str) -> None:
    moves = "(<= (legal right bold) (true (coin tails))) (legal right noop)"
    trouble = only(rehearsed(moves + END + GOALS, backend))
    assert (trouble.kind, trouble.role) == ("unknowable", "right")
    first, second = trouble.histories
    assert trouble.knows == ("noop / ()",) * len(first.joint_moves)
    assert {first.legal, second.legal} == {("noop",), ("bold", "noop")}
    for history in trouble.histories:
        tails = history.joint_moves[-1]["random"] == "tails"
        assert history.legal == (("bold", "noop") if tails else ("noop",))


def test_role_that_is_told_knows_its_moves() -> None:
    moves = "(<= (legal right bold) (true (coin tails))) (legal right noop)"
    percept_rule = "(<= (sees right ?c) (does random ?c))"
    assert rehearsed(moves + percept_rule + END + GOALS).troubles == ()


def test_histories_agree_in_what_the_role_saw_and_differ_in_its_moves() -> None:
    lines = find_game("krieg_tic_tac_toe").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("(<= (sees ?r refused)"))
    machine = machine_of_rules(text, "propnet")
    troubles = rehearse(machine, 100, 0).troubles
    assert [(t.kind, t.role) for t in troubles] == [
        ("unknowable", "xplayer"),
        ("unknowable", "oplayer"),
    ]
    for trouble in troubles:
        assert trouble.role is not None
        for history in trouble.histories:
            knows, legal = _replayed(machine, trouble.role, history.joint_moves)
            assert knows == trouble.knows
            assert legal == history.legal
        assert trouble.histories[0].legal != trouble.histories[1].legal


def _replayed(
    machine: Machine, role: str, joint_moves: tuple[object, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    number = machine.roles.index(role)
    state, knows = machine.initial(1), []
    for moves in joint_moves:
        row = [machine.move_id(moves[name]) for name in machine.roles]  # type: ignore[index]
        state, percepts = machine.step(state, np.array([row], dtype=np.int64))
        seen = " ".join(machine.percept_texts(int(percepts[0, number])))
        knows.append(f"{moves[role]} / ({seen})")  # type: ignore[index]
    return tuple(knows), tuple(sorted(map(machine.move_text, machine.legal(state, number)[0])))


@pytest.mark.parametrize("game", ["exploding_bomb", "meier", "tic_tac_toe", "kuhn_poker"])
def test_our_games_have_no_troubles(game: str) -> None:
    assert rehearse(machine_of_game(game, "propnet"), 100, 0).troubles == ()


def test_seed_decides_everything_but_the_time() -> None:
    machine = machine_of_game("meier", "propnet")
    results = [rehearse(machine, 300, seed).to_json() | {"seconds": 0} for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]
    assert results[0]["matches"] == 300


def test_matches_are_told_while_they_are_played() -> None:
    machine = machine_of_game("exploding_bomb", "prolog")
    counts: list[int] = []
    rehearse(machine, 20, 0, count_matches=counts.append)
    assert counts == [16, 16, 4, 4]
    assert sum(counts) == matches_in(machine, 20)
    assert matches_in(machine_of_game("tic_tac_toe"), 20) == 20


def test_time_is_bounded_also_within_matches() -> None:
    machine = machine_of_game("exploding_bomb", "prolog")
    now = iter(range(1000))
    # Each match has three turns: 32 are over when the clock strikes, and others are on the way.
    seen = rehearse(
        machine, 1000, 0, limits=RehearsalLimits(max_seconds=14.5, clock=lambda: float(next(now)))
    )
    assert seen.matches == seen.ended == 32
    assert seen.troubles == ()
