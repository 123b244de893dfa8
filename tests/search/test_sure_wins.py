"""Sure wins: against an exhaustive search of information sets, state by state."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.machine.base import IntArray, States
from ggp.players import BeliefPlayer, make_player, parse_spec
from ggp.search import sure_wins
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.sure_wins import Room, SureWins, turn_graph, worth_at_once
from tests.support.games import machine_of_game, machine_of_rules

DOORS = """
(role us) (role them) (role random)
(door 1) (door 2) (door 3) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (legal random (hide ?d)) (door ?d) (true (at 0)))
(<= (legal random wait) (not (true (at 0))))
(<= (legal us wait) (true (at 0)))
(<= (legal us (ask ?d)) (door ?d) (not (true (at 0))) (not (true (at 2))))
(<= (legal us (open ?d)) (door ?d) (true (at 2)))
(<= (legal them wait) (not (true (at 1))))
(<= (legal them ?m) ({theirs} ?m) (true (at 1)))
(lazy wait) (busy move) (free wait) (free move)
(<= (next (prize ?d)) (does random (hide ?d)))
(<= (next (prize ?d)) (true (prize ?d)) (not (does them move)))
(<= (next (prize 1)) (does them move))
(<= (sees us (it is ?d)) {told} (true (prize ?d)))
(<= (next won) (does us (open ?d)) (true (prize ?d)))
(<= terminal (true (at 3)))
(<= (goal us 100) (true won)) (<= (goal us 0) (not (true won))) (goal them 0) (goal random 0)
"""
"""We ask for a door, and open one: then they may `move` the prize, without a percept for us."""

ASKED = "(does us (ask ?d))"
"""A percept says whether the prize is behind the door we asked for."""


def joint_moves(machine: Machine, state: States) -> list[tuple[int, ...]]:
    legal = [machine.legal(state, role)[0].tolist() for role in range(len(machine.roles))]
    return list(product(*legal))


def surely_won(machine: Machine, states: list[States], role: int) -> bool:
    """Whether a strategy wins in all states, which are alike to the role: every move is tried."""
    legal = [set(machine.legal(state, role)[0].tolist()) for state in states]
    return any(leads_to_wins(machine, states, role, move) for move in set.intersection(*legal))


def leads_to_wins(machine: Machine, states: list[States], role: int, move: int) -> bool:
    successors_of: dict[int, dict[tuple[str, ...], States]] = {}
    for state in states:
        for joint in joint_moves(machine, state):
            if joint[role] != move:
                continue
            successor, percepts = machine.step(state, np.array([joint]))
            if not machine.terminal(successor)[0]:
                (fluents,) = machine.fluents(successor)
                successors_of.setdefault(int(percepts[0, role]), {})[fluents] = successor
            elif machine.goals(successor)[0, role] < 100:
                return False
    return all(surely_won(machine, list(group.values()), role) for group in successors_of.values())


def late_set(machine: Machine, role: int, turns: int, seed: int) -> States | None:
    """The exact set of a role after some random turns; None if it has nothing to decide then."""
    rng = np.random.default_rng(seed)
    player = make_player(parse_spec("random"), machine, role, rng)
    state = machine.initial(1)
    for _ in range(turns):
        joint = rng.choice(joint_moves(machine, state))
        successor, percepts = machine.step(state, joint[None])
        if machine.terminal(successor)[0]:
            return None
        texts = machine.percept_texts(int(percepts[0, role]))
        player.observe(machine.move_text(int(joint[role])), texts)
        state = successor
    assert isinstance(player, BeliefPlayer)
    bag = player.tracker.bag
    if not bag.exact[0] or len(machine.legal(state, role)[0]) == 1:
        return None
    states = bag.states_of(0)
    return states.take(np.flatnonzero(~machine.terminal(states)))


def distinct(machine: Machine, states: States) -> list[States]:
    _, first = np.unique(machine.groups(states), return_index=True)
    return [states.take(np.array([k])) for k in first]


@pytest.mark.parametrize(
    ("name", "turns"), [("dark_hex", (8, 9, 10)), ("krieg_tic_tac_toe", (7, 8, 9))]
)
def test_a_sure_win_is_found_exactly_where_exhaustive_search_finds_one(
    name: str, turns: tuple[int, ...]
) -> None:
    machine = machine_of_game(name, "propnet")
    verdicts = set()
    for seed in range(24):
        role, number = seed % 2, turns[seed % len(turns)]
        states = late_set(machine, role, number, seed)
        if states is None:
            continue
        sets = distinct(machine, states)
        move = SureWins(machine, role).move(states, number, 1_000_000)
        assert (move is not None) == surely_won(machine, sets, role)
        if move is not None:
            assert leads_to_wins(machine, sets, role, move)
        verdicts.add(move is not None)
    assert verdicts == {True, False}


def test_the_first_to_move_wins_dark_hex_for_sure_whatever_the_other_does() -> None:
    """Known of the board of nine cells; the other is followed along random matches."""
    machine = machine_of_game("dark_hex", "propnet")
    red = SureWins(machine, 0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        state = red_state = machine.initial(1)
        turn = 0
        while not machine.terminal(state)[0]:
            legal = [machine.legal(state, role)[0] for role in (0, 1)]
            if len(legal[0]) > 1:
                move = red.move(red_state, turn, 2_000_000)
                assert move is not None
            else:
                move = int(legal[0][0])
            joint = np.array([[move, rng.choice(legal[1])]])
            state, percepts = machine.step(state, joint)
            red_state = states_after(machine, red_state, move, int(percepts[0, 0]))
            turn += 1
        assert machine.goals(state)[0, 0] == 100


def states_after(machine: Machine, states: States, move: int, percepts: int) -> States:
    """The states of the first role after a move and its percepts."""
    parts = []
    for state in distinct(machine, states):
        joint: IntArray = np.array([j for j in joint_moves(machine, state) if j[0] == move])
        stepped, percepts_of = machine.step(state.take(np.zeros(len(joint), np.int64)), joint)
        parts.append(stepped.take(np.flatnonzero(percepts_of[:, 0] == percepts)))
    joined = machine.concatenate(parts)
    return joined.take(np.flatnonzero(~machine.terminal(joined)))


@pytest.mark.parametrize(
    ("theirs", "percept", "is_sure"),
    [
        ("lazy", ASKED, False),  # two doors are left if we asked for a wrong one
        ("lazy", "(does us (ask ?e))", True),
        ("busy", ASKED, True),  # it is moved for certain
        ("free", "(does us (ask ?e))", False),
    ],
)
def test_a_win_is_sure_or_not_by_the_percepts_and_the_others_moves(
    theirs: str, percept: str, *, is_sure: bool
) -> None:
    machine = machine_of_rules(DOORS.format(theirs=theirs, told=percept), "propnet")
    assert surely_won(machine, [machine.initial(1)], 0) == is_sure
    player = make_player(parse_spec("ismcts:trials=10"), machine, 0, np.random.default_rng(0))
    assert isinstance(player, BeliefPlayer)
    decision = player.choose(value_forced=True)
    assert (decision.values[0].stderr == 0.0) == is_sure


def test_a_graph_is_cut_where_there_is_no_room_and_claims_nothing_beyond() -> None:
    machine = machine_of_game("dark_hex", "propnet")
    graph = turn_graph(machine, machine.initial(1), 0, Room(1_000, None, 1.0))
    assert not graph.is_whole
    assert len(graph.move) == 9 + 81 + 648
    assert not (graph.child < 0).any()
    assert SureWins(machine, 0).move(machine.initial(1), 0, 1_000) is None


def test_a_graph_that_seems_too_large_for_the_time_is_not_begun() -> None:
    machine = machine_of_game("dark_hex", "propnet")
    deadline = Deadline(1.0, lambda: 0.0)
    graph = turn_graph(machine, machine.initial(1), 0, Room(10**9, deadline, 100_000.0))
    assert not graph.is_whole
    assert len(graph.move) < 20_000
    assert turn_graph(machine, machine.initial(1), 0, Room(10**9, deadline, 1e9)).is_whole


def test_kernels_decide_as_they_were_written() -> None:
    machine = machine_of_game("dark_hex", "propnet")
    states = late_set(machine, 0, 8, 0)
    assert states is not None
    moves = []
    for plain in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if plain:
                for name in ("find_winning", "decide_sets", "add_set"):
                    written = getattr(sure_wins, name).py_func
                    patch.setattr(f"ggp.search.sure_wins.{name}", written)
            with np.errstate(over="ignore"):
                moves.append(SureWins(machine, 0).move(states, 8, 100_000))
    assert moves[0] == moves[1]


@pytest.mark.parametrize("name", ["dark_hex", "krieg_tic_tac_toe"])
def test_values_of_moves_that_may_end_the_match_are_counted_by_joint_moves(name: str) -> None:
    machine = machine_of_game(name, "propnet")
    seen = 0
    for seed in range(12):
        role = 0
        states = late_set(machine, role, 9, seed)
        if states is None:
            continue
        weights = np.random.default_rng(seed).dirichlet(np.ones(len(states)))
        moves = np.unique(machine.legal(states, role).values)
        expected = np.zeros((2, len(moves)))
        for k in range(len(states)):
            state = states.take(np.array([k]))
            goals: dict[int, list[tuple[float, float]]] = {}
            for joint in joint_moves(machine, state):
                ended = machine.step(state, np.array([joint])).states
                goal = (machine.goals(ended)[0, role],) * 2
                values = goal if machine.terminal(ended)[0] else (0.0, 100.0)
                goals.setdefault(joint[role], []).append(values)
            for at, move in enumerate(moves.tolist()):
                worst, best = zip(*goals.get(move, [(0.0, 100.0)]), strict=True)
                expected[:, at] += weights[k] * np.array([min(worst), max(best)])
        assert np.stack(worth_at_once(machine, states, weights, role, moves)) == pytest.approx(
            expected
        )
        seen += bool(expected[0].any())
    assert seen


NEARLY = """
(role us) (role random) (init (at 0)) (side 1) (side 2) (side 3) (side 4) (side 5)
(succ 0 1) (succ 1 2)
(<= (legal random (roll ?s)) (side ?s) (true (at 0)))
(<= (legal random wait) (true (at 1)))
(<= (legal us wait) (true (at 0)))
(<= (legal us ?m) (offer ?m) (true (at 1))) (offer often) (offer seldom)
(<= (next (rolled ?s)) (does random (roll ?s)))
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (next won) (does us often) (true (rolled ?s)) (distinct ?s 1))
(<= (next won) (does us seldom) (true (rolled 1)))
(<= (sees us hint) (true never))
(<= terminal (true (at 2)))
(<= (goal us 100) (true won)) (<= (goal us 0) (not (true won))) (goal random 0)
"""
"""`often` wins in four of five worlds."""


@pytest.mark.parametrize("seed", range(8))
def test_a_move_that_wins_at_once_in_most_worlds_is_not_left_for_its_first_results(
    seed: int,
) -> None:
    machine = machine_of_rules(NEARLY, "propnet")
    for spec in ("ismcts:trials=3,guided=0", "mcts:trials=3"):
        player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(seed))
        player.observe("wait", [])
        decision = player.choose()
        assert decision.move == "often"
        (often,) = (value.value for value in decision.values if value.move == "often")
        assert often == pytest.approx(80)


def test_values_of_moves_that_may_end_the_match_are_complete_or_absent() -> None:
    machine = machine_of_game("tic_tac_toe")
    states, moves = machine.initial(), machine.legal(machine.initial(), 0)[0]
    passed = Deadline(0.0, lambda: 1.0)
    with pytest.raises(OutOfTime):
        worth_at_once(machine, states, np.ones(1), 0, moves, passed)
