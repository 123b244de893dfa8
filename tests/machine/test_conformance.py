"""What every machine must do, whatever is below it: one suite for all backends and games."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ggp.errors import (
    BackendUnavailableError,
    ConfigError,
    GoalError,
    MachineError,
    NoLegalMoveError,
)
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import BACKENDS as ALL_BACKENDS
from ggp.machine import Machine, States, build_machine, role_index
from ggp.machine.abilities import GoalTexts
from ggp.machine.base import NO_PERCEPTS, UNKNOWN, IntArray
from ggp.machine.games import load_program
from ggp.run.clocks import TellsTime, cpu_seconds
from tests.support.comparing.batches import live, mixed_states, random_joint_moves
from tests.support.effort import LIKE_OTHERS
from tests.support.games import (
    BACKENDS,
    GAMBIT_GAMES,
    MODEST_GAMES,
    SPIEL_GAMES,
    machine_of_game,
    machine_of_rules,
)
from tests.support.process_tree import resident_kb

RULES = """
(role first) (role second)
(init (at 1)) (init dealt)
(succ 1 2) (succ 2 3)
(legal first (go ?x ?x)) (legal first stay) (legal second wait)
(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(<= terminal (true (at 3)))
(<= (goal ?r 50) (role ?r))
""".replace("(legal first (go ?x ?x))", "(<= (legal first (go ?x ?x)) (succ ?x ?y))")
"""Plain GDL, three states."""

COUNTER = """
(role player) (role random)
(digit 0) (digit 1) (digit 2) (digit 3) (digit 4) (digit 5) (digit 6) (digit 7)
(place a) (place b) (place c) (place d) (place e) (place f) (place g) (place h)
(<= (init (shows ?p 0)) (place ?p))
(<= (legal player (set ?p ?d)) (place ?p) (digit ?d))
(legal random (spin 1)) (legal random (spin 2))
(<= (next (shows ?p ?d)) (does player (set ?p ?d)))
(<= (next (shows ?p ?d)) (true (shows ?p ?d)) (not (turned ?p)))
(<= (turned ?p) (does player (set ?p ?d)))
(<= (sees player (spun ?n)) (does random (spin ?n)))
(<= terminal (true (shows a 7)) (true (shows b 7)) (true (shows c 7)))
(goal player 50)
"""
"""Millions of states, none of which ends soon."""

STUCK = """
(role first) (role second)
(init one) (init (two b))
(<= (next one) (true (two b)))
(legal first go)
(<= (legal second go) (true (two b)))
(<= terminal (true over))
(goal first 0) (goal second 0)
"""
"""After one step `second` has no legal move, and the game is not over."""


SHORT_GAMES = [game for game in MODEST_GAMES if game != "othello"]
"""Games of which random matches end within the depth of `states`."""


MACHINES = [
    *((game, backend) for backend in BACKENDS for game in SHORT_GAMES),
    *((game, "openspiel") for game in SPIEL_GAMES),
    *((game, "tree") for game in GAMBIT_GAMES),
]

LONG = {case for case in MACHINES if case[0] in LIKE_OTHERS} | {("breakthrough", "prolog")}
"""Left to `make verify`."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(case, marks=pytest.mark.verify if case in LONG else ()) for case in MACHINES
    ],
    ids=lambda case: f"{Path(case[0]).name}-{case[1]}",
)
def machine(request: pytest.FixtureRequest) -> Machine:
    name, backend = request.param
    return machine_of_game(name, backend)


@pytest.fixture(scope="module")
def states(machine: Machine) -> States:
    return mixed_states(machine, seed=2, depth=30)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def lane(states: States, number: int) -> States:
    return states.take(np.array([number]))


def moves_as_text(machine: Machine, states: States, role: int) -> list[list[str]]:
    legal = machine.legal(states, role)
    return [list(map(machine.move_text, legal[i].tolist())) for i in range(len(states))]


# -------------------------------------------------------------------- shapes


def test_arrays_have_the_shapes_and_types_that_were_promised(
    machine: Machine, states: States
) -> None:
    num_lanes, num_roles = len(states), len(machine.roles)
    assert machine.terminal(states).shape == (num_lanes,)
    assert machine.terminal(states).dtype == np.bool_
    assert machine.goals(states).shape == (num_lanes, num_roles)
    assert machine.goals(states).dtype == np.float64
    assert machine.groups(states).shape == (num_lanes,)
    assert len(machine.fluents(states)) == num_lanes
    for role in range(num_roles):
        legal = machine.legal(states, role)
        assert legal.offsets.shape == (num_lanes + 1,)
        assert legal.offsets[0] == 0
        assert legal.offsets[-1] == len(legal.values)
        assert legal.values.dtype == legal.offsets.dtype == np.int64
        assert legal.counts.tolist() == [len(legal[i]) for i in range(num_lanes)]
    running = live(machine, states)
    rng = np.random.default_rng(0)
    stepped = machine.step(running, random_joint_moves(machine, running, rng))
    assert len(stepped.states) == len(running)
    assert stepped.percepts.shape == (len(running), num_roles)
    assert stepped.percepts.dtype == np.int64
    playouts = machine.playout(states, rng)
    assert playouts.goals.shape == (num_lanes, num_roles)
    assert playouts.goals.dtype == np.float64
    assert playouts.steps.shape == playouts.finished.shape == (num_lanes,)
    assert playouts.steps.dtype == np.int64
    assert playouts.finished.dtype == np.bool_


def test_batch_without_lanes_is_a_batch(machine: Machine) -> None:
    num_roles = len(machine.roles)
    for none in (machine.initial(0), machine.concatenate([]), machine.initial(3).take(_ids())):
        assert len(none) == 0
        assert machine.terminal(none).shape == (0,)
        assert machine.goals(none).shape == (0, num_roles)
        assert machine.legal(none, 0).offsets.tolist() == [0]
        assert machine.chance(none).offsets.tolist() == [0]
        assert machine.fluents(none) == []
        assert machine.groups(none).shape == (0,)
        stepped = machine.step(none, np.zeros((0, num_roles), dtype=np.int64))
        assert len(stepped.states) == 0
        assert stepped.percepts.shape == (0, num_roles)
        playouts = machine.playout(none, np.random.default_rng(0))
        assert playouts.goals.shape == (0, num_roles)
        assert playouts.steps.shape == (0,)


def test_roles_are_those_of_the_rulesheet(machine: Machine) -> None:
    assert len(set(machine.roles)) == len(machine.roles)
    for i, name in enumerate(machine.roles):
        assert role_index(machine, name.upper()) == i
    assert (machine.random_role is None) == ("random" not in machine.roles)
    if machine.random_role is not None:
        assert machine.roles[machine.random_role] == "random"
    with pytest.raises(ConfigError, match=f"unknown role 'nobody'.*{machine.roles[0]}"):
        role_index(machine, "nobody")


def test_backend_is_named_as_on_the_command_line(machine: Machine) -> None:
    assert machine.backend in ALL_BACKENDS


# -------------------------------------------------------------------- semantics


def test_ended_lanes_have_no_moves(machine: Machine, states: States) -> None:
    over = machine.terminal(states)
    assert over.any()
    assert not over.all()
    for role in range(len(machine.roles)):
        counts = machine.legal(states, role).counts
        assert not counts[over].any()
        assert counts[~over].all()
    assert not np.diff(machine.chance(states).offsets)[over].any()


def test_legal_moves_are_different_and_depend_on_the_state_only(
    machine: Machine, states: States
) -> None:
    for role in range(len(machine.roles)):
        together = machine.legal(states, role)
        for i in range(len(states)):
            moves = together[i].tolist()
            assert len(set(moves)) == len(moves)
            assert machine.legal(lane(states, i), role).values.tolist() == moves


def test_chance_sums_to_one_and_is_uniform_in_gdl(machine: Machine, states: States) -> None:
    offsets, moves, probabilities = machine.chance(states)
    assert moves.shape == probabilities.shape
    if machine.random_role is None:
        assert not len(moves)
        return
    legal = machine.legal(states, machine.random_role)
    assert offsets.tolist() == legal.offsets.tolist()
    assert moves.tolist() == legal.values.tolist()
    for i, over in enumerate(machine.terminal(states)):
        part = probabilities[offsets[i] : offsets[i + 1]]
        assert over or part.sum() == pytest.approx(1.0)
        is_gdl = machine.backend not in ("openspiel", "tree")
        assert not is_gdl or len(set(part.tolist())) <= 1


def test_goals_are_in_range(machine: Machine, states: States) -> None:
    low, high = machine.goal_range
    assert low < high
    for goals in (
        machine.goals(states),
        machine.playout(states, np.random.default_rng(0)).goals,
    ):
        assert (goals >= low).all()
        assert (goals <= high).all()


def test_step_gives_the_same_again_and_leaves_its_argument_alone(
    machine: Machine, states: States
) -> None:
    running = live(machine, states)
    texts_before = machine.fluents(running)
    moves = random_joint_moves(machine, running, np.random.default_rng(3))
    first, second = machine.step(running, moves), machine.step(running, moves)
    assert machine.fluents(first.states) == machine.fluents(second.states)
    assert first.percepts.tolist() == second.percepts.tolist()
    machine.playout(running, np.random.default_rng(4))
    assert machine.fluents(running) == texts_before


def test_result_of_a_lane_depends_on_no_other_lane(machine: Machine, states: States) -> None:
    rng = np.random.default_rng(5)
    running = live(machine, states)
    moves = random_joint_moves(machine, running, rng)
    order = rng.integers(0, len(running), 3 * len(running))
    shuffled = machine.step(running.take(order), moves[order])
    texts = machine.fluents(shuffled.states)
    goals, over = machine.goals(shuffled.states), machine.terminal(shuffled.states)
    for place, i in enumerate(order.tolist()):
        single = machine.step(lane(running, i), moves[i : i + 1])
        assert machine.fluents(single.states) == [texts[place]]
        assert single.percepts[0].tolist() == shuffled.percepts[place].tolist()
        assert machine.goals(single.states)[0].tolist() == goals[place].tolist()
        assert machine.terminal(single.states)[0] == over[place]


# -------------------------------------------------------------------- lanes


def test_take_and_concatenate_move_lanes_about(machine: Machine, states: States) -> None:
    texts = machine.fluents(states)
    order = np.array([len(states) - 1, 0, 0, 2], dtype=np.int64)
    reordered = states.take(order)
    assert machine.fluents(reordered) == [texts[i] for i in order]
    joined = machine.concatenate([reordered, states, machine.initial(2), reordered.take(order[:0])])
    start = machine.fluents(machine.initial(1))
    assert machine.fluents(joined) == [*(texts[i] for i in order), *texts, *start, *start]
    assert machine.fluents(states) == texts


def test_groups_tell_states_apart(machine: Machine, states: States) -> None:
    texts = machine.fluents(states)
    groups = machine.groups(states).tolist()
    assert list(dict.fromkeys(groups)) == list(range(len(set(texts))))
    assert len(set(zip(texts, groups, strict=True))) == len(set(texts))


def test_states_of_another_machine_are_refused(machine: Machine) -> None:
    if machine.backend == "openspiel":
        stranger = build_machine(load_program("openspiel:matrix_rps"))
    elif machine.backend == "tree":
        stranger = build_machine(load_program(GAMBIT_GAMES[0]))
    else:
        stranger = machine_of_rules(RULES, machine.backend)
    with pytest.raises(MachineError, match="another"):
        machine.terminal(stranger.initial(1))
    with pytest.raises(MachineError, match="another"):
        machine.concatenate([machine.initial(1), stranger.initial(1)])


# -------------------------------------------------------------------- playouts


def test_playouts_with_one_seed_are_one_result(machine: Machine, states: States) -> None:
    first, second, third = (
        machine.playout(states, np.random.default_rng(seed)) for seed in (7, 7, 8)
    )
    assert first.goals.tolist() == second.goals.tolist()
    assert first.steps.tolist() == second.steps.tolist()
    start = machine.initial(60)
    reseeded = [
        machine.playout(start, np.random.default_rng(seed)).goals.tolist() for seed in (7, 8)
    ]
    assert reseeded[0] != reseeded[1]
    assert third.finished.all()


@pytest.mark.parametrize("clock", [time.monotonic, cpu_seconds])
def test_playouts_end_by_the_clock_that_they_are_given(
    machine: Machine, states: States, clock: TellsTime
) -> None:
    rng, over = np.random.default_rng(0), machine.terminal(states)
    ended = machine.playout(states, rng, max_seconds=0.0, clock=clock)
    assert not ended.finished[~over].any()
    ended = machine.playout(states, rng, max_seconds=1e6, clock=clock)
    assert ended.finished.all()


def test_playouts_end_with_the_goals_of_an_ended_state(machine: Machine, states: States) -> None:
    over = machine.terminal(states)
    playouts = machine.playout(states, np.random.default_rng(0))
    assert playouts.finished.all()
    assert not playouts.steps[over].any()
    assert playouts.steps[~over].all()
    assert playouts.goals[over].tolist() == machine.goals(states)[over].tolist()


def test_playouts_that_are_cut_off_are_flagged(machine: Machine, states: States) -> None:
    over = machine.terminal(states)
    none = machine.playout(states, np.random.default_rng(0), 0)
    assert none.finished.tolist() == over.tolist()
    assert not none.steps.any()
    assert not none.goals[~over].any()
    playouts = machine.playout(states, np.random.default_rng(0), 2)
    assert (playouts.steps <= 2).all()
    assert (playouts.steps[~playouts.finished] == 2).all()
    assert not playouts.goals[~playouts.finished].any()
    assert (playouts.steps[over] == 0).all()


def test_every_lane_stepped_is_a_state_visited(machine: Machine) -> None:
    visited = machine.states_visited
    start = machine.initial(5)
    machine.legal(start, 0)
    machine.terminal(start)
    assert machine.states_visited == visited
    machine.step(start, random_joint_moves(machine, start, np.random.default_rng(0)))
    assert machine.states_visited == visited + 5
    steps = machine.playout(start, np.random.default_rng(0)).steps
    assert machine.states_visited == visited + 5 + steps.sum()


@pytest.mark.parametrize("backend", BACKENDS)
def test_playouts_choose_uniformly(backend: str) -> None:
    machine = machine_of_game("monty_hall", backend)
    goals = machine.playout(machine.initial(4000), np.random.default_rng(11)).goals
    assert goals[:, machine.roles.index("candidate")].mean() == pytest.approx(50, abs=3)
    machine = machine_of_rules(
        "(role a) (init s) (<= (next (did ?x)) (does a ?x))"
        + "".join(f"(<= (goal a {i}) (true (did (m {i})))) (legal a (m {i}))" for i in range(1, 6))
        + "(goal a 0) (<= terminal (not (true s)))",
        backend,
    )
    values = machine.playout(machine.initial(5000), np.random.default_rng(12)).goals[:, 0]
    counts = np.bincount(values.astype(int), minlength=6)
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 1000) < 120).all()


# -------------------------------------------------------------------- names


def test_moves_and_percepts_are_named_by_canonical_kif(machine: Machine, states: States) -> None:
    running = live(machine, states)
    stepped = machine.step(running, random_joint_moves(machine, running, np.random.default_rng(2)))
    for role in range(len(machine.roles)):
        for move in set(machine.legal(states, role).values.tolist()):
            text = machine.move_text(move)
            assert text == text.lower()
            assert machine.move_id(text) == move
            assert machine.move_id(text.upper().replace("(", " ( ")) == move
    for percept in set(stepped.percepts.ravel().tolist()):
        texts = machine.percept_texts(percept)
        assert list(texts) == sorted(set(texts))
        assert machine.percept_id(texts) == percept
        assert machine.percept_id([*reversed(texts), *texts]) == percept
        assert (percept == NO_PERCEPTS) == (texts == ())


def test_names_no_rule_can_make_are_unknown(machine: Machine) -> None:
    assert machine.percept_id([]) == NO_PERCEPTS
    assert machine.percept_texts(NO_PERCEPTS) == ()
    for text in ("nosuchmove", "(nosuchmove 1)", "", "(", ")", "a b", "()", "?x", "\0"):
        assert machine.move_id(text) is None, text
        assert machine.percept_id([text]) is None, text


def test_number_that_names_no_move_or_percept_is_an_error(machine: Machine) -> None:
    for number in (UNKNOWN, 10**9):
        with pytest.raises(MachineError):
            machine.move_text(number)
        with pytest.raises(MachineError):
            machine.percept_texts(number)
        moves = np.full((1, len(machine.roles)), number, dtype=np.int64)
        with pytest.raises(MachineError):
            machine.step(machine.initial(1), moves)
    assert len(machine.legal(machine.initial(1), 0).values)


def test_fluents_are_sorted_canonical_kif(machine: Machine, states: States) -> None:
    for fluents in machine.fluents(states):
        assert list(fluents) == sorted(set(fluents))
        assert all(f == f.lower() and not f.startswith("(true ") for f in fluents)


# -------------------------------------------------------------------- plain GDL


def test_in_plain_gdl_every_role_sees_the_joint_move(backend: str) -> None:
    machine = machine_of_rules(RULES, backend)
    go, wait = machine.move_id("(go 2 2)"), machine.move_id("wait")
    assert go is not None
    assert wait is not None
    stepped = machine.step(machine.initial(2), np.array([[go, wait], [go, wait]]))
    assert stepped.percepts.shape == (2, 2)
    assert len(set(stepped.percepts.ravel().tolist())) == 1
    seen = machine.percept_texts(int(stepped.percepts[0, 0]))
    assert seen == ("(did first (go 2 2))", "(did second wait)")
    assert machine.percept_id(["(did second wait)", "(did first (go 2 2))"]) is not None


# -------------------------------------------------------------------- errors


def test_role_without_a_legal_move_is_named_with_the_state(backend: str) -> None:
    machine = machine_of_rules(STUCK, backend)
    go = machine.move_id("go")
    assert go is not None
    successor = machine.step(machine.initial(1), np.array([[go, go]])).states
    both_states = machine.concatenate([machine.initial(1), successor])
    assert machine.legal(both_states, 0).counts.tolist() == [1, 1]
    with pytest.raises(NoLegalMoveError) as caught:
        machine.legal(both_states, 1)
    assert caught.value.role == "second"
    assert caught.value.state == ("one",)
    assert "second has no legal move in a state that is not terminal: one" in str(caught.value)
    assert machine.legal(both_states, 1, allow_stuck=True).counts.tolist() == [1, 0]
    playouts = machine.playout(both_states, np.random.default_rng(0))
    assert playouts.finished.tolist() == [False, False]
    assert playouts.steps.tolist() == [1, 0]


@pytest.mark.parametrize("value", ["high", "(plus 1 2)", "nan", "inf", "1e999", "?x"])
def test_goal_value_that_is_no_number_is_an_error(value: str, backend: str) -> None:
    text = f"(role a) (init {value.replace('?x', 'x')}) (legal a go) (<= terminal (true ended))"
    machine = machine_of_rules(text + f"(<= (goal a {value}) (true {value}))", backend)
    with pytest.raises(GoalError, match="is not a number"):
        machine.goals(machine.initial(1))
    assert machine.legal(machine.initial(1), 0).counts.tolist() == [1]


ODD_GOALS = """
(role word) (role both) (role low) (role high) (role fair) (init s)
(legal word go) (legal both go) (legal low go) (legal high go) (legal fair go)
(<= (next t) (true s)) (<= terminal (true t))
(<= (goal word win) (true t)) (<= (goal word 7) (true s))
(goal both win) (goal both 50) (goal low -5) (goal high 1e26) (goal fair 12.5)
"""


@pytest.mark.usefixtures("compiled")
def test_playouts_count_goal_values_that_are_no_numbers_as_zero(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    machine = machine_of_rules(ODD_GOALS, backend)
    for seed in range(2):
        playouts = machine.playout(machine.initial(70), np.random.default_rng(seed))
        assert playouts.finished.all()
        assert playouts.goals.tolist() == [[0, 0, -5, 1e26, 12.5]] * 70
    messages = {record.getMessage() for record in caplog.records}
    assert len(caplog.records) == len(messages)
    assert sorted(text for text in messages if "several" not in text) == [
        "both has a goal value that is not a number: playouts count it as 0",
        "high has the goal value 1e+26 outside 0..100: it is kept",
        "low has the goal value -5 outside 0..100: it is kept",
        "word has a goal value that is not a number: playouts count it as 0",
    ]


def test_goals_are_not_guessed_where_one_is_no_number(backend: str) -> None:
    machine = machine_of_rules(ODD_GOALS, backend)
    with pytest.raises(GoalError, match="both: the goal value win is not a number; goal values go"):
        machine.goals(machine.initial(1))


@pytest.mark.usefixtures("compiled")
def test_goal_values_out_of_range_are_kept_with_one_warning(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    rules = "(role low) (role high) (legal low go) (legal high go) (<= terminal (role low))"
    machine = machine_of_rules(f"{rules} (goal low -5) (goal high 101)", backend)
    for lanes in (1, 3):
        assert machine.goals(machine.initial(lanes)).tolist() == [[-5, 101]] * lanes
    assert [record.getMessage() for record in caplog.records] == [
        "low has the goal value -5 outside 0..100: it is kept",
        "high has the goal value 101 outside 0..100: it is kept",
    ]


def test_several_goal_values_of_one_rule_count_as_the_highest_and_none_as_zero(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = """
    (role many) (role none) (role random) (init s)
    (legal many go) (legal none go) (legal random go) (<= (next t) (true s))
    (<= terminal (true t))
    (<= (goal many ?v) (value ?v)) (value 10) (value 7) (value 075) (<= (goal none 5) (true u))
    """
    machine = machine_of_rules(text, backend)
    caplog.set_level("WARNING")
    for _ in range(3):
        assert machine.goals(machine.initial(2)).tolist() == [[75, 0, 0], [75, 0, 0]]
        assert machine.playout(machine.initial(1), np.random.default_rng(0)).goals[0, 0] == 75
    assert isinstance(machine, GoalTexts)
    assert machine.goal_texts(machine.initial(2)) == [(("075", "10", "7"), (), ())] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "many has several goal values (075, 10, 7): the first rule's counts",
        "none has no goal value: it counts as 0",
    ]


def test_of_several_goal_values_that_of_the_first_rule_counts(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    rules = """
    (role low) (role high) (role apart) (role same) (role word) (role later) (init s)
    (<= (legal ?r go) (role ?r)) (<= (next t) (true s)) (<= terminal (true t))
    (<= (goal low ?v) (value ?v) (true u)) (<= (goal high 100) (true s)) (goal high 100)
    (goal low 0) (<= (goal low 50) (true t)) (<= (goal low 100) (true s))
    (<= (goal high 0) (true t)) (goal high 50)
    (<= (goal apart 50) (true u)) (<= (goal apart ?v) (value ?v)) (goal apart 70)
    (<= (goal same 100) (true s)) (<= (goal same 0) (true u)) (goal same 100)
    (goal word 5) (goal word win)
    (<= (goal later 30) (or (true u) (true t))) (goal later 10)
    (value 10) (value 20) (value 7)
    """
    machine = machine_of_rules(rules, backend)
    caplog.set_level("WARNING")
    start = machine.initial(2)
    assert machine.goals(start).tolist() == [[0, 100, 20, 100, 5, 10]] * 2
    playouts = machine.playout(start, np.random.default_rng(0))
    assert playouts.goals.tolist() == [[0, 100, 20, 100, 5, 30]] * 2
    messages = {record.getMessage() for record in caplog.records}
    assert isinstance(machine, GoalTexts)
    texts = [tuple(dict.fromkeys(goals)) for goals in machine.goal_texts(start)[0]]
    assert texts[:3] == [("0", "100"), ("100", "50"), ("20", "10", "7", "70")]
    assert "low has several goal values (0, 100): the first rule's counts" in messages
    assert not any(text.startswith("same") for text in messages)


def test_alternatives_of_one_rule_for_goals_give_the_highest(backend: str) -> None:
    rules = """
    (role a) (init s) (legal a go) (<= (next t) (true s)) (<= terminal (true t))
    (value 10) (value 90) (odd 30)
    (<= (goal a ?v) (or (odd ?v) (and (value ?v) (true s)))) (goal a 100)
    """
    machine = machine_of_rules(rules, backend)
    assert machine.goals(machine.initial(1)).tolist() == [[90]]
    assert machine.playout(machine.initial(1), np.random.default_rng(0)).goals.tolist() == [[30]]


def test_unknown_backend_is_an_error_that_lists_the_backends() -> None:
    with pytest.raises(ConfigError, match=r"unknown backend 'java'; backends: .*prolog"):
        build_machine(normalize(parse(RULES)), "java")


def test_missing_tool_is_named_with_what_to_install() -> None:
    error = BackendUnavailableError("SWI-Prolog", "install it")
    assert str(error) == "SWI-Prolog is not usable: install it"


# -------------------------------------------------------------------- soak


@pytest.mark.verify
def test_thousands_of_small_calls_leave_nothing_behind(backend: str) -> None:
    machine = build_machine(normalize(parse(COUNTER)), backend)
    rng = np.random.default_rng(0)
    for _ in _rounds(warm_up=300, measured=1500, most_kb=5_000):
        start = machine.initial(1)
        machine.legal(start, 0)
        stepped = machine.step(start, random_joint_moves(machine, start, rng))
        machine.terminal(stepped.states)
        machine.percept_texts(int(stepped.percepts[0, 0]))
        machine.fluents(stepped.states)
        machine.playout(start, rng, 1)


def test_states_are_given_back_with_their_batches(backend: str) -> None:
    machine = build_machine(normalize(parse(COUNTER)), backend)
    rng = np.random.default_rng(0)
    first_states = machine.initial(3)
    for _ in _rounds(warm_up=10, measured=30, most_kb=15_000):
        states = machine.initial(500)
        for _ in range(3):
            states = live(machine, states)
            states = machine.step(states, random_joint_moves(machine, states, rng)).states
    assert len(machine.fluents(first_states)[0]) == 8
    assert machine.legal(first_states, 0).counts.tolist() == [64] * 3


def _rounds(warm_up: int, measured: int, most_kb: int) -> Iterator[int]:
    """Numbers of rounds; asserts that the later ones made the process no bigger."""
    for i in range(warm_up):
        yield i
    gc.collect()
    memory_before = resident_kb(os.getpid())
    for i in range(measured):
        yield warm_up + i
    gc.collect()
    if memory_before is not None:
        memory_after = resident_kb(os.getpid())
        assert memory_after is not None
        assert memory_after - memory_before < most_kb


def _ids() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@pytest.mark.parametrize("backend", BACKENDS)
def test_states_show_what_holds_in_the_first(backend: str) -> None:
    machine = machine_of_rules(RULES, backend)
    assert repr(machine.initial()) == "<state: (at 1) dealt>"
    assert str(machine.initial(3)) == "<3 states, the first: (at 1) dealt>"
    assert str(machine.initial(0)) == "<no states>"


@pytest.mark.parametrize("game", [*SPIEL_GAMES[:1], *GAMBIT_GAMES[:1]])
def test_states_of_other_games_show_where_they_are(game: str) -> None:
    machine = machine_of_game(game, "auto")
    assert str(machine.initial(2)).startswith("<2 states, the first: ")
