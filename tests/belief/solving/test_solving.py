"""Complete paths found by solving: they are sound and weighted, or proved not to exist."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.belief import Bags, HyperPlaySampler, PathTree, never
from ggp.belief.bags import initial_segments
from ggp.belief.finding.earlier import PathStart
from ggp.belief.move_models import UNIFORM
from ggp.belief.solving import finder, sat, unrolling
from ggp.belief.solving.finder import MAX_CONFLICTS, SolvedFinder, sampled
from ggp.belief.solving.sat import Clasp, ClauseSolver, PySat
from ggp.belief.solving.unrolling import Spent, Window, is_solvable
from ggp.errors import BeliefDepletedError
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Ragged, States
from ggp.search.moves import is_legal, random_moves
from tests.belief.test_bags import LATE_LOW, UNEQUAL_PARENTS, move_array, percept_array
from tests.support.games import machine_of_game, machine_of_rules
from tests.support.plain.enumeration import Path, posterior


def coins(number: int) -> str:
    """`number` coins are thrown; the last percept says whether all of them showed heads."""
    return (
        "(role seer) (role random) (init (at 0)) "
        + "".join(f"(succ {i} {i + 1}) " for i in range(number + 2))
        + f"""
        (legal random heads) (legal random tails) (legal seer wait)
        (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
        (<= (next (tails ?n)) (does random tails) (true (at ?n)) (not (true (at {number}))))
        (<= (next (tails ?n)) (true (tails ?n)))
        (<= some_tails (true (tails ?n)))
        (<= (sees seer all_heads) (true (at {number})) (not some_tails))
        (<= terminal (true (at {number + 2}))) (goal seer 50) (goal random 0)
        """
    )


def turns_of(machine: Machine, path: Path) -> IntArray:
    return np.array(
        [[move_array(machine, m)[0], percept_array(machine, p)[0], UNKNOWN] for m, p in path]
    )


def window_of(machine: Machine, role: int, turns: IntArray) -> tuple[Window, Spent]:
    window, budget = Window(machine, role, machine.initial(1)), Spent(100_000, never)
    assert window.open(turns, budget)
    return window, budget


def heads(number: int) -> Path:
    return [*[("wait", ())] * number, ("wait", ("all_heads",))]


@pytest.mark.parametrize("number", [18, 24, 60])
def test_solving_finds_the_only_possible_path(number: int) -> None:
    game = ggp.load(coins(number))
    belief = game.belief("seer", heads(number), particles=20)
    assert [state.fluents for state in belief.particles] == [(f"(at {number + 1})",)]


def test_one_path_is_enough_when_time_is_short() -> None:
    machine = machine_of_rules(coins(18), "propnet")
    window, budget = window_of(machine, 0, turns_of(machine, heads(18)))
    for is_short, number in ((False, 4), (True, 1)):
        budget.suffices = (lambda: True) if is_short else never
        paths = window.witnesses(4, budget, np.random.default_rng(0))
        assert paths is not None
        assert len(paths) == number
    window.close()


def test_solving_proves_that_no_path_agrees() -> None:
    machine = machine_of_rules(coins(60), "propnet")
    turns = turns_of(machine, heads(60))
    turns[3, 1] = turns[-1, 1]
    window = Window(machine, 0, machine.initial(1))
    assert window.open(turns, Spent(1000, never))
    assert window.witnesses(1, Spent(1000, never), np.random.default_rng(0)) is None
    assert window.is_empty


def test_a_history_that_contradicts_the_rules_is_reported_as_such() -> None:
    game = ggp.load(coins(60))
    history = [*heads(30)[:-1], ("wait", ("all_heads",))]
    with pytest.raises(BeliefDepletedError, match="contradicts the rules") as caught:
        game.belief("seer", history, particles=20, exact=0)
    assert caught.value.exhausted


@pytest.mark.verify
def test_chains_converge_to_the_posterior() -> None:
    machine = machine_of_rules(UNEQUAL_PARENTS, "propnet")
    truth, turns = posterior(machine, 1, LATE_LOW), turns_of(machine, LATE_LOW)
    rng, counts = np.random.default_rng(0), Counter[tuple[str, ...]]()
    for _ in range(40):
        window, budget = window_of(machine, 1, turns)
        witnesses = window.witnesses(5, budget, rng)
        assert witnesses is not None
        start = initial_segments(machine, 1, keep_views=False)
        paths = sampled(window.path, witnesses, start, 100, rng, never)
        counts.update(machine.fluents(paths.ends))
        window.close()
    assert counts.keys() <= truth.keys()
    total = counts.total()
    distance = sum(abs(counts[state] / total - share) for state, share in truth.items()) / 2
    independent = sum((share * (1 - share) / total) ** 0.5 for share in truth.values()) * 0.4
    assert distance < 3 * independent


@pytest.mark.parametrize("make", [PySat, Clasp])
@pytest.mark.parametrize("role", [0, 1])
def test_witnesses_replay_to_the_percepts(
    make: Callable[[], ClauseSolver], role: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unrolling, "clause_solver", make)
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    assert is_solvable(machine)
    rng = np.random.default_rng(role)
    state, turns = machine.initial(1), []
    for _ in range(5):
        row = [random_moves(machine, state, mover, rng)[0] for mover in range(2)]
        state, percepts = machine.step(state, np.array([row]))
        assert not machine.terminal(state)[0]
        turns.append([row[role], int(percepts[0, role]), UNKNOWN])
    window, budget = window_of(machine, role, np.array(turns))
    paths = window.witnesses(8, budget, rng)
    assert paths is not None
    assert len(paths) == 8
    states = machine.initial(8)
    for turn, (move, seen, _) in enumerate(turns):
        assert (paths.moves[:, turn, role] == move).all()
        stepped = machine.step(states, paths.moves[:, turn])
        assert (stepped.percepts[:, role] == seen).all()
        states = stepped.states
    assert machine.fluents(states) == machine.fluents(paths.ends)
    assert not machine.terminal(states).any()
    assert len(set(machine.fluents(states))) > 1
    window.close()


def match_of(machine: Machine, role: int, seed: int, length: int) -> IntArray:
    """`[T, 3]` a role's move, percepts and refused move in each turn of a random match."""
    rng = np.random.default_rng(seed)
    state, turns = machine.initial(1), []
    for _ in range(length):
        row = [random_moves(machine, state, mover, rng)[0] for mover in range(len(machine.roles))]
        state, percepts = machine.step(state, np.array([row]))
        turns.append([row[role], int(percepts[0, role]), UNKNOWN])
    return np.array(turns)


@pytest.mark.parametrize("make", [PySat, Clasp])
def test_turns_can_be_added_to_a_solved_window(
    make: Callable[[], ClauseSolver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unrolling, "clause_solver", make)
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    turns = match_of(machine, 0, 3, 6)
    window, rng = Window(machine, 0, machine.initial(1)), np.random.default_rng(0)
    for length in range(1, 7):
        budget = Spent(100_000, never)
        assert window.open(turns[:length], budget)
        paths = window.witnesses(4, budget, rng)
        assert paths is not None
        assert paths.moves.shape[1] == length
    # We see our own marks, so this turn cannot follow.
    wrong = np.concatenate([turns, turns[:1]])
    assert window.open(wrong, Spent(100_000, never))
    assert window.witnesses(1, Spent(100_000, never), rng) is None
    assert window.is_empty


def test_a_stopped_window_can_be_continued() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    turns = match_of(machine, 0, 3, 6)
    looks = 0

    def every_other() -> bool:
        nonlocal looks
        looks += 1
        return looks % 2 == 0

    interrupted, opened = Window(machine, 0, machine.initial(1)), 0
    while not interrupted.open(turns, Spent(100_000, every_other)):
        opened += 1
    assert opened > 2
    whole = window_of(machine, 0, turns)[0]
    end_states: list[set[str]] = []
    for window in (interrupted, whole):
        paths = window.witnesses(60, Spent(100_000, never), np.random.default_rng(0))
        assert paths is not None
        end_states.append({" ".join(fluents) for fluents in machine.fluents(paths.ends)})
    assert end_states[0] & end_states[1]


def test_a_window_stays_open_from_turn_to_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    num_windows = 0

    class Counted(Window):
        def __init__(self, *args: Any) -> None:
            nonlocal num_windows
            num_windows += 1
            super().__init__(*args)

    monkeypatch.setattr(finder, "Window", Counted)
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    tree, node = PathTree(machine), np.zeros(1, dtype=np.int64)
    solved, rng = SolvedFinder(machine, tree, UNIFORM), np.random.default_rng(0)
    truth = HyperPlaySampler(machine, tree, capacity=1, exact=1_000_000)
    turns = match_of(machine, 0, 3, 6)
    initial_sets = initial_segments(machine, 1, keep_views=False)
    for length, turn in enumerate(turns, start=1):
        node = tree.extend(node, *(np.array([x]) for x in turn))
        starts = [PathStart(length, initial_sets)]
        sets_found = solved.find(0, int(node[0]), starts, 8, rng, Spent(MAX_CONFLICTS, never))
        assert sets_found is not None
        exact = truth.at(node, 0, rng)
        assert set(machine.fluents(sets_found.states)) <= set(machine.fluents(exact.states_of(0)))
    assert num_windows == 1
    # Another path of as many turns has a window of its own.
    other_turns = match_of(machine, 0, 4, 6)
    node = np.zeros(1, dtype=np.int64)
    for turn in other_turns:
        node = tree.extend(node, *(np.array([x]) for x in turn))
    sets_found = solved.find(
        0, int(node[0]), [PathStart(6, initial_sets)], 8, rng, Spent(MAX_CONFLICTS, never)
    )
    assert sets_found is not None
    assert num_windows == 2


def test_old_windows_are_also_forgotten_in_turns_with_an_exact_bag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    depths: list[int] = []
    monkeypatch.setattr(SolvedFinder, "forget", lambda _, depth: depths.append(depth))
    machine = machine_of_rules(coins(3), "propnet")
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=4, solves=True)
    bag, rng = sampler.start(0), np.random.default_rng(0)
    for move, percepts in heads(3)[:2]:
        turn = move_array(machine, move), percept_array(machine, percepts)
        bag = sampler.advance(bag, *turn, rng)
        assert bag.exact[0]
        assert not len(sampler.views)  # makes the finders
    assert depths == [2]


@pytest.mark.parametrize(
    "rows",
    [
        # The percepts of two turns are missing; a move is drawn after (mark 2 2) was refused.
        [(None, None, None), ("noop", None, None), ("(mark 1 1)", (), "(mark 2 2)")],
        # What was submitted is executed where it is legal: not if it was our turn, or theirs.
        [(None, None, None), (None, None, "noop"), (None, (), "(mark 1 1)"), (None, (), "noop")],
        [("(mark 2 2)", None, None), (None, None, "(mark 1 1)"), (None, (), "(mark 2 2)")],
    ],
)
def test_unknown_turns_and_refused_moves_are_accounted_for(
    rows: list[tuple[str | None, tuple[str, ...] | None, str | None]],
) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    tree = PathTree(machine)
    exact = HyperPlaySampler(machine, tree, capacity=1, exact=100_000)
    turns = np.array(
        [
            [move_array(machine, m)[0], percept_array(machine, p)[0], move_array(machine, r)[0]]
            for m, p, r in rows
        ]
    )
    nodes = np.zeros(1, dtype=np.int64)
    for turn in turns:
        nodes = tree.extend(nodes, *(np.array([x]) for x in turn))
    bag = exact.at(nodes, 0, np.random.default_rng(0))
    truth = set(machine.fluents(bag.states_of(0)))
    window, budget = window_of(machine, 0, turns)
    paths = window.witnesses(40, budget, np.random.default_rng(0))
    if not truth:
        assert paths is None
        return
    assert paths is not None
    assert set(machine.fluents(paths.ends)) <= truth
    states = machine.initial(len(paths))
    for turn, (move, _, submitted) in enumerate(turns):
        if move == UNKNOWN != submitted:
            legal = is_legal(machine, states, 0, np.full(len(paths), submitted))
            assert ((paths.moves[:, turn, 0] == submitted) == legal).all()
        states = machine.step(states, paths.moves[:, turn]).states
    window.close()


def test_without_a_clock_the_same_seed_gives_the_same_bag() -> None:
    machine = machine_of_rules(coins(30), "propnet")
    bags = []
    for _ in range(2):
        tree = PathTree(machine)
        sampler = HyperPlaySampler(machine, tree, capacity=8, exact=0, solves=True, follows=True)
        bag, rng = sampler.start(0), np.random.default_rng(5)
        for move, percepts in heads(30):
            bag = sampler.advance(
                bag, move_array(machine, move), percept_array(machine, percepts), rng
            )
        bags.append(machine.fluents(bag.states_of(0)))
    assert bags[0] == bags[1]
    assert len(bags[0]) == 1


@pytest.mark.parametrize("make", [PySat, Clasp])
def test_a_limit_of_conflicts_holds_in_every_call(make: Callable[[], ClauseSolver]) -> None:
    """Seven pigeons have no place in six holes, which takes hundreds of conflicts to see."""
    pigeons, holes, limit = 7, 6, 20
    solver = make()
    solver.add([[holes * pigeon + hole + 1 for hole in range(holes)] for pigeon in range(pigeons)])
    for hole in range(holes):
        pairs = itertools.combinations(range(hole + 1, holes * pigeons + 1, holes), 2)
        solver.add([[-one, -other] for one, other in pairs])
    for call in range(1, 4):
        assert solver.solve(limit) is None
        assert limit * (call - 1) < solver.conflicts <= limit * call + call
        solver.add([[holes * pigeons + call]])
    assert solver.solve(100_000) is False
    solver.close()


def test_python_sat_is_used_where_it_is_installed() -> None:
    assert isinstance(sat.clause_solver(), PySat)


class LikesLow:
    """A model in which each move is twice as likely as the next one in the order of texts."""

    def log_likelihoods(
        self, machine: Machine, states: States, role: int, moves: Ragged
    ) -> FloatArray:
        shares = []
        for lane in range(len(moves.counts)):
            texts = [machine.move_text(move) for move in moves[lane].tolist()]
            ranks = np.argsort(np.argsort(texts))
            weights = 0.5**ranks
            shares.append(np.log(weights / weights.sum()))
        return np.concatenate([np.zeros(0), *shares])


@pytest.mark.verify
def test_solved_paths_are_weighted_by_the_move_model() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    tree, role, model = PathTree(machine), 0, LikesLow()
    mark, noop = machine.move_id("(mark 2 2)"), machine.move_id("noop")
    assert mark is not None
    assert noop is not None
    turns = np.array([[mark, UNKNOWN, UNKNOWN], [noop, UNKNOWN, UNKNOWN]])
    node = np.zeros(1, dtype=np.int64)
    for turn in turns:
        node = tree.extend(node, *(np.array([x]) for x in turn))
    exact = HyperPlaySampler(machine, tree, capacity=1, exact=1000, model=model)
    bag = exact.at(node, role, np.random.default_rng(0))
    truth = dict(zip(machine.fluents(bag.states_of(0)), bag.weights_of(0).tolist(), strict=True))
    assert max(truth.values()) > 1.5 * sorted(truth.values())[-2]
    start = PathStart(2, initial_segments(machine, 1, keep_views=False))
    sets_found = SolvedFinder(machine, tree, model).find(
        role, int(node[0]), [start], 2_000, np.random.default_rng(0), Spent(MAX_CONFLICTS, never)
    )
    assert sets_found is not None
    solved = Bags(role, node, np.zeros(1, dtype=np.int64), sets_found)
    shares = dict(
        zip(machine.fluents(solved.states_of(0)), solved.weights_of(0).tolist(), strict=True)
    )
    assert shares.keys() <= truth.keys()
    assert sum(abs(shares.get(s, 0.0) - p) for s, p in truth.items()) / 2 < 0.05
