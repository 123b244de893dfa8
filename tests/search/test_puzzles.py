"""Lines of moves in puzzles: counters, the three searches, and the player that plays lines."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief.solving.unrolling import can_unroll
from ggp.errors import ConfigError
from ggp.machine.base import UNKNOWN, Machine
from ggp.machine.on_circuit import on_circuit
from ggp.players import make_player, parse_spec
from ggp.players.auto import Auto
from ggp.players.puzzle import Puzzle
from ggp.search.puzzles import (
    Adaptation,
    BreadthFirst,
    LineSearch,
    Planner,
    is_puzzle,
    replayed,
    step_counter,
)
from tests.support.games import machine_of_game, machine_of_rules

RULES = """
(role robot)
(init (lamp 1)) (init (step 1))
(succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(<= (legal robot (press ?x)) (true (lamp ?y)) (succ ?x ?z))
(<= (legal robot wait) (true (lamp ?y)))
(<= (next (lamp ?y)) (does robot (press ?x)) (true (lamp ?x)) (succ ?x ?y))
(<= (next (lamp ?y)) (does robot (press ?x)) (true (lamp ?y)) (distinct ?x ?y))
(<= (next (lamp ?y)) (does robot wait) (true (lamp ?y)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (lamp 4)))
(<= terminal (true (step 6)))
(<= (goal robot 100) (true (lamp 4)))
(<= (goal robot 20) (not (true (lamp 4))))
"""
"""A lamp is moved on where it is pressed: three presses in the right places win."""

LIGHTS = RULES.replace(
    "(<= (legal robot wait) (true (lamp ?y)))", "(<= (legal robot wait) (true (step 2)))"
)
"""The same, but the step decides which moves are legal."""

LATE = RULES.replace("(<= terminal (true (lamp 4)))", "").replace(
    "(goal robot 100) (true (lamp 4))", "(goal robot 100) (true (lamp 4)) (true (step 6))"
)
"""The same, but the game always takes five steps."""

HOPELESS = RULES.replace("(init (step 1))", "(init (step 4))")
"""Two steps do not suffice for three presses."""


def puzzle(rules: str, backend: str = "propnet") -> Machine:
    return machine_of_rules(rules, backend)


def search_of(kind: str, machine: Machine) -> LineSearch:
    state = machine.initial(1)
    if kind == "breadth":
        return BreadthFirst(machine, state)
    if kind == "adaptation":
        return Adaptation(machine, state, np.random.default_rng(1))
    return Planner(machine, state)


def finished(search: LineSearch, pieces: int = 300) -> LineSearch:
    for _ in range(pieces):
        if search.is_done:
            break
        search.advance(None)
    return search


@pytest.mark.parametrize("rules", [RULES, LIGHTS, LATE], ids=["plain", "lights", "late"])
@pytest.mark.parametrize("kind", ["breadth", "adaptation", "planner"])
def test_each_search_finds_a_line_that_prolog_agrees_with(kind: str, rules: str) -> None:
    machine, reference = puzzle(rules), puzzle(rules, "prolog")
    line = finished(search_of(kind, machine)).line
    assert line is not None
    assert line.goal == 100
    texts = [machine.move_text(move) for move in line.moves]
    moves = np.array([reference.move_id(text) for text in texts], dtype=np.int64)
    end = replayed(reference, reference.initial(1), moves)
    assert end is not None
    assert end == (tuple(moves.tolist()), 100.0)


@pytest.mark.parametrize("kind", ["breadth", "adaptation", "planner"])
def test_the_best_goal_need_not_be_a_whole_number(kind: str) -> None:
    search = finished(search_of(kind, puzzle(LATE.replace("robot 100", "robot 99.5"))))
    assert search.line is not None
    assert search.line.goal == 99.5


def test_all_states_prove_that_there_is_no_better_line() -> None:
    search = finished(search_of("breadth", puzzle(HOPELESS)))
    assert search.is_proved
    assert search.line is not None
    assert search.line.goal == 20


def test_a_solver_that_refutes_all_lengths_is_done_without_a_line() -> None:
    search = finished(search_of("planner", puzzle(HOPELESS)))
    assert search.is_done
    assert search.line is None


@pytest.mark.parametrize("backend", ["propnet", "relational", "prolog"])
def test_breadth_first_search_finds_the_shortest_line_on_any_machine(backend: str) -> None:
    line = finished(search_of("breadth", puzzle(RULES, backend))).line
    assert line is not None
    assert len(line.moves) == 3


def test_states_that_differ_in_a_counter_are_one() -> None:
    machine = puzzle(HOPELESS.replace("(init (step 4))", "(init (step 1))").replace("4)", "5)"))
    search = BreadthFirst(machine, machine.initial(1))
    while not search.is_done:
        search.advance(None)
    assert search.num_states <= 5  # places of the lamp


def test_a_counter_is_what_changes_by_itself_and_decides_nothing() -> None:
    for rules, expected in ((RULES, "(step"), (LIGHTS, None)):
        machine = puzzle(rules)
        assert on_circuit(machine)
        counts = step_counter(machine.circuit)
        names = [machine.circuit.fluents[f] for f in np.flatnonzero(counts)]
        if expected is None:
            assert "(step 1)" not in names
        else:
            assert names
            assert all(name.startswith(expected) for name in names)


@pytest.mark.parametrize("backend", ["propnet", "prolog"])
def test_a_game_in_which_nothing_ever_holds_is_searched_like_others(backend: str) -> None:
    rules = "(role robot) (legal robot stop) (legal robot wait) (goal robot 40)"
    machine = puzzle(
        rules + "(<= terminal (true (lamp 1))) (<= (next (lamp 1)) (true (lamp 1)))", backend
    )
    if on_circuit(machine):
        assert not len(machine.circuit.fluents)
        assert not len(step_counter(machine.circuit))
    player = make_player(parse_spec("puzzle:rounds=20"), machine, 0, np.random.default_rng(0))
    decision = player.choose()
    assert decision.move in ("stop", "wait")
    assert decision.fault is None
    assert decision.states_visited > 0


def test_a_search_that_may_take_little_memory_gives_up_without_a_proof() -> None:
    machine = puzzle(HOPELESS)
    search = finished(BreadthFirst(machine, machine.initial(1), most_bytes=1))
    assert search.is_done
    assert not search.is_proved


def test_moves_that_are_not_legal_are_no_line() -> None:
    machine = puzzle(LIGHTS)
    wait = machine.move_id("wait")
    assert wait is not None
    assert replayed(machine, machine.initial(1), np.array([wait])) is None
    assert replayed(machine, machine.initial(1), np.array([UNKNOWN])) is None  # not the end


@pytest.mark.parametrize("backend", ["propnet", "prolog"])
def test_auto_plays_a_line_to_the_end_without_more_search(backend: str) -> None:
    machine = puzzle(LATE, backend)
    player = make_player(parse_spec("auto"), machine, 0, np.random.default_rng(0))
    assert isinstance(player, Auto)
    assert isinstance(player.player, Puzzle)
    state, visited = machine.initial(1), []
    while not machine.terminal(state)[0]:
        decision = player.choose()
        visited.append(decision.states_visited)
        assert decision.fault is None
        move = machine.move_id(decision.move)
        stepped = machine.step(state, np.array([[move]]))
        state = stepped.states
        player.observe(decision.move, machine.percept_texts(int(stepped.percepts[0, 0])))
    assert machine.goals(state)[0, 0] == 100
    assert max(visited[1:]) < 20


def test_the_same_seed_gives_the_same_line() -> None:
    lines = [finished(search_of("adaptation", puzzle(RULES))).line for _ in range(2)]
    assert lines[0] == lines[1]


def test_the_player_refuses_other_games() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    assert not is_puzzle(machine)
    with pytest.raises(ConfigError, match="one role"):
        make_player(parse_spec("puzzle"), machine, 0, np.random.default_rng(0))


def test_only_circuits_are_unrolled() -> None:
    assert can_unroll(puzzle(RULES))
    assert not can_unroll(puzzle(RULES, "prolog"))
