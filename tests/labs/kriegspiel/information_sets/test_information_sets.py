"""Information-set search: the formulas of paper 000, histories that are drawn, refused tries."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.labs.kriegspiel import set_search as information_sets
from ggp.labs.kriegspiel.set_search import InformationSetSearch, TooLarge
from ggp.labs.kriegspiel.set_tree import Leaf, LookAhead
from ggp.machine import Machine, role_index
from ggp.machine.base import BoolArray, FloatArray, IntArray, States
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.moves import joint_moves, random_moves, refused_tries, turned
from ggp.search.parts import Evaluation
from ggp.search.playouts import PlayoutSearch
from tests.labs.kriegspiel.information_sets.set_reference import Kind, Reference, Rules
from tests.support.games import machine_of_game, machine_of_rules
from tests.support.plain.enumeration import Path, lane_of, random_paths


def worth(fluents: tuple[str, ...]) -> float:
    """Some value of a state, always the same."""
    return float(crc32(" ".join(fluents).encode()) % 101)


class Known:
    """An evaluation that always says the same of a state."""

    def __init__(self, machine: Machine, *, certain: bool = False) -> None:
        self._machine, self.certain, self.asked = machine, certain, 0

    def values(
        self, states: States, role: int, rng: object, deadline: object = None
    ) -> tuple[FloatArray, IntArray]:
        self.asked += len(states)
        worths = [worth(fluents) for fluents in self._machine.fluents(states)]
        return np.array(worths), np.ones(len(states), dtype=np.int64)


def bag_of(machine: Machine, role: int, path: Path, capacity: int = 200, exact: int = 300) -> Bags:
    """The bag of an incomplete path."""
    tree = PathTree(machine)
    sampler = HyperPlaySampler(machine, tree, capacity=capacity, exact=exact)
    bags = sampler.start(role)
    rng = np.random.default_rng(0)
    for move, percepts in path:
        moves = np.array([machine.move_id(move or "")], dtype=np.int64)
        seen = np.array([machine.percept_id(percepts or ())], dtype=np.int64)
        bags = sampler.advance(bags, moves, seen, rng)
    assert not bags.depleted[0]
    return bags


def searched(
    machine: Machine,
    bags: Bags,
    trials: int = 10,
    seed: int = 0,
    *,
    evaluation: Evaluation | None = None,
    **options: Any,
) -> InformationSetSearch:
    rng = np.random.default_rng(seed)
    search = InformationSetSearch(machine, bags, rng, LookAhead(**options), evaluation=evaluation)
    search.round(trials)
    return search


def values_of(machine: Machine, search: InformationSetSearch) -> dict[str, float]:
    estimates = search.estimates()
    return dict(
        zip(
            map(machine.move_text, estimates.moves.values.tolist()),
            estimates.values.tolist(),
            strict=True,
        )
    )


CASES = [
    ("krieg_tic_tac_toe", "xplayer", 6, 2),
    ("krieg_tic_tac_toe", "oplayer", 7, 3),
    ("krieg_tic_tac_toe", "xplayer", 9, 3),
    ("phantom_connect_four", "second", 20, 2),
    ("exploding_bomb", "agent", 0, 3),
    ("monty_hall", "candidate", 0, 2),
    ("monty_hall", "candidate", 1, 2),
    ("spy_vs_spy", "spy1", 0, 2),
    ("kuhn_poker", "player1", 1, 2),
    ("kuhn_poker", "player2", 0, 2),
    ("meier", "player1", 1, 2),
    ("battleships_in_fog", "admiral", 0, 1),
    ("banker_and_thief", "thief", 2, 1),
]


@cache
def sets_of(game: str, role: str, turns: int) -> tuple[Rules, list[Bags]]:
    """The rules of a game, and some small information sets of it."""
    machine = machine_of_game(game, "propnet")
    index = role_index(machine, role)
    estimates = []
    for seed in range(50):
        path = random_paths(machine, turns, seed)[index]
        bags = bag_of(machine, index, path)
        if len(path) == turns and len(bags.sets.states) <= 10:
            estimates.append(bags)
        if len(estimates) == 2:
            break
    assert estimates
    return Rules(machine), estimates


@pytest.mark.parametrize("paranoid", [False, True], ids=["over", "para"])
@pytest.mark.parametrize("leaf", list(Leaf))
@pytest.mark.parametrize(("game", "role", "turns", "depth"), CASES)
def test_values_are_those_of_the_formulas(
    game: str, role: str, turns: int, depth: int, leaf: Leaf, paranoid: bool
) -> None:
    rules, sets = sets_of(game, role, turns)
    machine = rules.machine
    for tries, bags in enumerate(sets):
        search = searched(
            machine,
            bags,
            depth=depth,
            tries=2 * tries,
            paranoid=paranoid,
            leaf=leaf,
            evaluation=Known(machine),
        )
        histories = [
            (rules.named(lane_of(machine, bags.sets.states, int(lane))), float(weight))
            for lane, weight in zip(bags.lanes_of(0), bags.weights_of(0), strict=True)
        ]
        kind = Kind(paranoid, leaf is Leaf.MIN, 2 * tries)
        expected = Reference(rules, bags.role, kind, worth).moves(histories, depth, 2 * tries)
        assert values_of(machine, search) == pytest.approx(expected, abs=1e-9)


REFUSALS = {
    "blind_breakthrough": 8,
    "krieg_tic_tac_toe": 6,
    "phantom_connect_four": 24,
}
"""Games where tries are refused, and turns after which many are."""


def tries_of(machine: Machine, states: States) -> tuple[BoolArray, IntArray, list[list[str]]]:
    """All joint moves of states: where they lead to no end, and whether the tries were refused."""
    options = joint_moves(machine, states, 0)
    lanes, moves = options.between(0, int(options.offsets[-1]))
    turns = turned(machine, states, lanes, moves, percepts=True, before=options.lists)
    on = np.flatnonzero(~turns.over)
    assert turns.move_facts is not None
    refused = refused_tries(machine, options, lanes, turns.over, turns.move_facts)[on]
    seen = [
        [text for percept in row for text in machine.percept_texts(int(percept))]
        for row in turns.percepts[on]
    ]
    return refused, lanes[on], seen


@pytest.mark.parametrize("game", [*REFUSALS, "battleships_in_fog", "kuhn_poker", "exploding_bomb"])
def test_refused_tries_are_told_from_other_moves(game: str) -> None:
    machine = machine_of_game(game, "propnet")
    rng = np.random.default_rng(1)
    states = machine.initial(3)
    num_refused = 0
    for _ in range(REFUSALS.get(game, 4)):
        if not len(states):
            break
        refused, lanes, seen = tries_of(machine, states)
        expected = np.array(["refused" in texts for texts in seen], dtype=np.bool_)
        # Where all that is not refused ends the game, nothing tells a refusal.
        refused_rows = np.zeros(len(states), dtype=np.bool_)
        refused_rows[lanes[~expected]] = True
        assert (refused == (expected & refused_rows[lanes])).all()
        num_refused += int(refused.sum())
        joint = np.column_stack(
            [random_moves(machine, states, r, rng) for r in range(len(machine.roles))]
        )
        states = machine.step(states, joint).states
        states = states.take(np.flatnonzero(~machine.terminal(states)))
    assert (num_refused > 0) == (game in REFUSALS)


CROSSED_OFF = """
(role seeker) (role random) (role watcher) (cell 1) (cell 2) (cell 3) (cell 4)
(<= (legal seeker (look ?c)) (cell ?c) (not (true (seen ?c))))
(legal random noop) (legal watcher noop)
(<= (next (seen ?c)) (does seeker (look ?c))) (<= (next (seen ?c)) (true (seen ?c)))
(<= (next over) (does seeker (look 4)))
(<= (sees seeker found) (does seeker (look 4)))
(<= terminal (true over)) (goal seeker 50) (goal watcher 50) (goal random 0)
"""


def test_cells_that_are_crossed_off_are_no_refused_tries() -> None:
    machine = machine_of_rules(CROSSED_OFF, "propnet")
    refused, lanes, _ = tries_of(machine, machine.initial(1))
    assert len(lanes) == 3
    assert not refused.any()


def test_a_free_try_looks_a_move_further() -> None:
    """X learns of an O on the only cell it tried; its next try is searched too."""
    rules, (bags, *_) = sets_of("krieg_tic_tac_toe", "xplayer", 6)
    texts = {
        tries: values_of(
            rules.machine,
            searched(
                rules.machine,
                bags,
                depth=1,
                tries=tries,
                paranoid=False,
                evaluation=Known(rules.machine),
            ),
        )
        for tries in (0, 1, 9)
    }
    assert texts[0] != texts[1]
    assert texts[1].keys() == texts[9].keys()


# ---------------------------------------------------------------- histories


@pytest.mark.parametrize(
    ("game", "role", "turns"),
    [
        ("exploding_bomb", "agent", 1),
        ("kuhn_poker", "player1", 1),
        ("krieg_tic_tac_toe", "oplayer", 3),
        ("phantom_connect_four", "first", 4),
        ("spy_vs_spy", "spy1", 0),
    ],
)
def test_a_ply_of_overconfidence_is_hyperplay(game: str, role: str, turns: int) -> None:
    machine = machine_of_game(game, "propnet")
    index = role_index(machine, role)
    bags = bag_of(machine, index, random_paths(machine, turns, 3)[index])
    ours = searched(machine, bags, 5000, depth=1, paranoid=False).estimates()
    search = PlayoutSearch(machine, bags, np.random.default_rng(1))
    search.round(5000)
    theirs = search.estimates()
    assert (ours.moves.values == theirs.moves.values).all()
    error = np.hypot(ours.stderrs, theirs.stderrs)
    assert (np.abs(ours.values - theirs.values) <= 4 * error + 1e-9).all()
    assert (ours.visits == 5000).all()
    # The errors are of the right size, too.
    assert ours.stderrs.max() < 1.5


def test_histories_are_drawn_by_weight_and_the_rest_is_left_out_without_bias() -> None:
    rules, _ = sets_of("krieg_tic_tac_toe", "xplayer", 6)
    machine = rules.machine
    bags = bag_of(machine, 0, random_paths(machine, 6, 1)[0])
    count = len(bags.sets.states)
    assert count > 8

    def values(trials: int, seed: int) -> FloatArray:
        options: dict[str, Any] = {"depth": 1, "paranoid": False, "evaluation": Known(machine)}
        return searched(machine, bags, trials, seed, **options).estimates().values

    exact = values(count, 0)
    samples = np.array([values(3, seed) for seed in range(100)])
    assert samples.std(axis=0).max() > 1
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert (np.abs(samples.mean(axis=0) - exact) <= 4 * error + 1e-9).all()


def test_rounds_add_up() -> None:
    rules, (bags, *_) = sets_of("krieg_tic_tac_toe", "oplayer", 7)
    machine = rules.machine
    for paranoid in (False, True):
        options: dict[str, Any] = {"depth": 2, "paranoid": paranoid, "evaluation": Known(machine)}
        once = searched(machine, bags, 10, **options)
        repeated = searched(machine, bags, 10, **options)
        repeated.round(20)
        assert repeated.estimates().values == pytest.approx(once.estimates().values, abs=1e-9)
        assert (repeated.estimates().visits == 30).all()


def test_an_exhausted_search_is_not_repeated() -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    bags = bag_of(machine, 0, [("noop", ())])
    search = searched(machine, bags, 1, depth=2, paranoid=False)
    assert not search.exhausted  # half of the set was left out
    search.round(2)
    assert search.exhausted
    assert (search.estimates().stderrs == 0).all()
    visited = machine.states_visited
    search.round(100)
    assert machine.states_visited == visited


def test_a_move_that_may_be_illegal_counts_as_a_random_one_where_it_is() -> None:
    """Of three sides two allow `safe`; each side has its own call, which wins."""
    machine = machine_of_rules(
        """
        (role a) (role random) (init start) (side 1) (side 2) (side 3)
        (<= (legal random (toss ?s)) (true start) (side ?s))
        (<= (legal random wait) (not (true start)))
        (<= (legal a wait) (true start))
        (<= (legal a (call ?s)) (true (up ?s)))
        (<= (legal a safe) (true (up ?s)) (distinct ?s 1))
        (<= (sees a nothing) (true never))
        (<= (next (up ?s)) (does random (toss ?s)))
        (<= (next over) (not (true start)))
        (<= (next won) (does a (call ?s)))
        (<= terminal (true over))
        (<= (goal a 100) (true won)) (<= (goal a 40) (not (true won))) (goal random 0)
        """,
        "propnet",
    )
    bags = bag_of(machine, 0, [("wait", ())])
    by_model = {
        paranoid: values_of(machine, searched(machine, bags, depth=1, paranoid=paranoid))
        for paranoid in (False, True)
    }
    # The mean of the four actions is 85.
    assert by_model[False] == pytest.approx(
        {"(call 1)": 90, "(call 2)": 90, "(call 3)": 90, "safe": 2 / 3 * 40 + 1 / 3 * 85}
    )
    assert by_model[True] == pytest.approx(
        {"(call 1)": 85, "(call 2)": 85, "(call 3)": 85, "safe": 40}
    )


def test_too_much_for_one_history_is_said() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    bags = bag_of(machine, 0, [])
    with pytest.raises(TooLarge):
        searched(machine, bags, 1, depth=3, paranoid=False, max_joint=100)
    assert values_of(machine, searched(machine, bags, 1, depth=1, paranoid=False, max_joint=9))


def test_a_history_that_does_not_fit_into_the_time_is_left_out() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    bags = bag_of(machine, 0, [])
    looks = count()
    deadline = Deadline(8.0, lambda: float(next(looks)))
    settings, rng = LookAhead(6, paranoid=True), np.random.default_rng(0)
    search = InformationSetSearch(machine, bags, rng, settings, deadline=deadline)
    with pytest.raises(OutOfTime):
        search.round(10)
    assert not search.estimates().visits.any()


def test_a_sample_gains_nothing_from_more_rounds_of_certain_values() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    bags = bag_of(machine, 1, [("noop", ("your_move",))], capacity=3, exact=1)
    assert not bags.exact[0]
    evaluation = Known(machine, certain=True)
    search = searched(machine, bags, 50, depth=1, paranoid=False, evaluation=evaluation)
    assert search.exhausted
    once = evaluation.asked
    search.round(50)
    assert evaluation.asked == once
    assert not searched(machine, bags, 50, depth=1, paranoid=False).exhausted  # playouts


def test_states_are_not_valued_oftener_than_tells_anything_or_than_there_is_memory_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    bags = bag_of(machine, role_index(machine, "agent"), [("noop", ())])
    evaluation = Known(machine, certain=True)
    search = searched(machine, bags, 10**9, depth=1, paranoid=False, evaluation=evaluation)
    assert search.exhausted
    once = evaluation.asked
    search.round(10**9)
    assert evaluation.asked == once < 10
    monkeypatch.setattr(information_sets, "MAX_VALUED", 1000)
    noisy = Known(machine)
    search = searched(machine, bags, 10**6, depth=1, paranoid=False, evaluation=noisy)
    assert not search.exhausted
    assert 500 < noisy.asked <= 2000  # a thousand for each history that is folded in alone
    assert search.estimates().visits.min() == 10**6
