"""Features that only machines of OpenSpiel's games have."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import IllegalMoveError
from ggp.machine.abilities import Matcher, utility_of
from ggp.machine.base import UNKNOWN, Machine, is_open
from tests.support.comparing.batches import live, mixed_states, random_joint_moves
from tests.support.games import machine_of_game


def percepts_of(machine: Machine, *rows: tuple[str, ...]) -> list[list[tuple[str, ...]]]:
    """What every role sees in each turn of a match."""
    state = machine.initial()
    seen = []
    for row in rows:
        ids = [[machine.move_id(text) for text in row]]
        state, percepts = machine.step(state, np.array(ids, dtype=np.int64))
        seen.append([machine.percept_texts(percept) for percept in percepts[0].tolist()])
    return seen


def test_one_node_is_one_turn_and_the_others_do_nothing() -> None:
    machine = machine_of_game("openspiel:kuhn_poker", "openspiel")
    seen = percepts_of(
        machine,
        ("noop", "noop", "(act 2)"),
        ("noop", "noop", "(act 1)"),
        ("(act 1)", "noop", "noop"),
    )
    (first, nothing, of_chance), (moves, second, _), (bet, answer, _) = seen
    assert [len(first), len(second)] == [1, 1]
    assert first != second
    assert nothing == of_chance == ()
    assert moves == ("your_move",)  # its card is no news
    assert len(bet) == 1
    assert answer[1] == "your_move"
    offsets, moves_of_chance, shares = machine.chance(machine.initial())
    assert offsets.tolist() == [0, 3]
    assert [machine.move_text(m) for m in moves_of_chance] == ["(act 0)", "(act 1)", "(act 2)"]
    assert shares == pytest.approx(np.full(3, 1 / 3))


def test_chance_has_the_probabilities_of_openspiel() -> None:
    machine = machine_of_game("openspiel:2048", "openspiel")
    shares = machine.chance(machine.initial()).probabilities
    assert set(np.round(16 * shares, 9).tolist()) == {0.1, 0.9}  # a 4 or a 2 on one of 16 squares
    assert shares.sum() == pytest.approx(1)


def test_players_move_at_the_same_time_where_openspiel_says_so() -> None:
    machine = machine_of_game("openspiel:matrix_rps", "openspiel")
    for role in (0, 1):
        assert machine.legal(machine.initial(), role).counts.tolist() == [3]
    rock, paper = machine.move_id("(act 0)"), machine.move_id("(act 1)")
    successor = machine.step(machine.initial(), np.array([[rock, paper]])).states
    assert machine.goals(successor).tolist() == [[0, 100]]


def test_everybody_sees_every_move_where_the_game_is_open() -> None:
    machine = machine_of_game("openspiel:tic_tac_toe", "openspiel")
    assert is_open(machine)
    assert not is_open(machine_of_game("openspiel:kuhn_poker", "openspiel"))
    ((first, second),) = percepts_of(machine, ("(act 4)", "noop"))
    assert first == second == ("(did p0 (act 4))", "(did p1 noop)")


def test_positions_are_equal_however_they_came_about() -> None:
    machine = machine_of_game("openspiel:tic_tac_toe", "openspiel")
    orders = [("(act 0)", "(act 1)", "(act 2)"), ("(act 2)", "(act 1)", "(act 0)")]
    ends = []
    for x1, o, x2 in orders:
        state = machine.initial()
        for row in ((x1, "noop"), ("noop", o), (x2, "noop")):
            ids = np.array([[machine.move_id(text) for text in row]], dtype=np.int64)
            state = machine.step(state, ids).states
        ends.append(state)
    assert machine.groups(machine.concatenate(ends)).tolist() == [0, 0]


def test_goals_stand_for_utilities() -> None:
    machine = machine_of_game("openspiel:kuhn_poker", "openspiel")
    assert [utility_of(machine, goal) for goal in (0.0, 25.0, 100.0)] == [-2, -1, 2]
    assert utility_of(machine_of_game("monty_hall"), 50.0) is None


def test_action_that_does_not_exist_never_reaches_openspiel() -> None:
    machine = machine_of_game("openspiel:kuhn_poker", "openspiel")
    for row in ([0, 0, 0], [0, 0, 4], [1, 0, 1], [0, 0, -7], [0, 0, 1 << 62]):
        with pytest.raises(IllegalMoveError):
            machine.step(machine.initial(), np.array([row]))


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel(num_cards=4,imp_info=True)"])
def test_random_matches_in_the_library_score_like_ours(name: str) -> None:
    machine = machine_of_game(f"openspiel:{name}", "openspiel")
    start = machine.initial(600)
    fast = machine.playout(start, np.random.default_rng(1))
    slow = machine.playout(start, np.random.default_rng(1), 999)
    assert fast.goals[:, 0].mean() == pytest.approx(slow.goals[:, 0].mean(), abs=8)
    assert fast.steps.mean() == pytest.approx(slow.steps.mean(), abs=0.3)
    assert set(fast.steps.tolist()) == set(slow.steps.tolist())


@pytest.mark.parametrize("name", ["kuhn_poker", "phantom_ttt", "tic_tac_toe"])
def test_only_what_matches_is_kept_without_telling_the_others(name: str) -> None:
    machine = machine_of_game(f"openspiel:{name}", "openspiel")
    assert isinstance(machine, Matcher)
    states = live(machine, mixed_states(machine, seed=2))
    rng = np.random.default_rng(0)
    lanes = np.sort(rng.integers(0, len(states), 60))
    moves = random_joint_moves(machine, states.take(lanes), rng)
    stepped = machine.step(states.take(lanes), moves)
    for role in range(len(machine.roles)):
        # What the first of each lane sees; nobody knows what they saw in every third lane.
        expected = np.full(len(states), UNKNOWN)
        expected[lanes[::-1]] = stepped.percepts[::-1, role]
        expected[::3] = UNKNOWN
        matching = machine.step_matching(states, lanes, moves, role, expected)
        assert matching is not None
        match = (expected[lanes] == stepped.percepts[:, role]) | (expected[lanes] == UNKNOWN)
        assert matching[0].tolist() == np.flatnonzero(match).tolist()
        survivors = stepped.states.take(matching[0])
        assert machine.fluents(matching[1]) == machine.fluents(survivors)
