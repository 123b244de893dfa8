"""Trees of games, compared with brute force; games that are refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from ggp.errors import SolvingError
from ggp.solve import GameTree, TreeBounds, build_tree, history_of, tree_builder
from ggp.solve.forest import evaluate
from tests.solve.brute_force import Known
from tests.solve.games import (
    BLIND_PILE,
    TINY,
    as_rules_say,
    brute_force,
    plain_tree,
    random_strategies,
    uniform_strategy,
)
from tests.support.games import BACKENDS, machine_of_game, machine_of_rules

Choices = tuple[tuple[tuple[Known, str], ...], ...]


def choices_of(tree: GameTree, sequences: list[int]) -> Choices:
    """What players chose, out of the numbers of their sequences."""
    choices = []
    for player, (sets, last) in enumerate(zip(tree.sets, sequences, strict=True)):
        own_choices: list[tuple[Known, str]] = []
        while last >= tree.num_subgames:
            number = int(np.searchsorted(sets.offsets, last, side="right")) - 1
            move = int(sets.moves[last - sets.offsets[0]])
            history = tuple(history_of(tree, player, number))
            own_choices.insert(0, (history, tree.machine.move_text(move)))
            last = int(sets.parents[number])
        choices.append(tuple(own_choices))
    return tuple(choices)


@pytest.mark.parametrize("name", TINY)
def test_leaves_are_the_histories_with_exact_probabilities(name: str) -> None:
    tree, reference = plain_tree(name), brute_force(name)
    expected: Counter[tuple[Choices, tuple[Fraction, ...]]] = Counter()
    for history in reference.histories:
        choices = tuple(history.choices[role] for role in tree.players)
        goals = tuple(history.goals[role] for role in tree.players)
        expected[choices, goals] += history.chance  # type: ignore[assignment]
    probability_of: Counter[tuple[Choices, tuple[Fraction, ...]]] = Counter()
    for leaf in range(len(tree.leaves)):
        choices = choices_of(tree, tree.leaves.sequences[leaf].tolist())
        goals = tuple(map(Fraction, tree.leaves.goals[leaf].tolist()))
        probability_of[choices, goals] += tree.leaves.weight(leaf)  # type: ignore[assignment]
    assert probability_of == expected


@pytest.mark.parametrize("name", TINY)
def test_information_sets_are_those_with_a_choice(name: str) -> None:
    tree, reference = plain_tree(name), brute_force(name)
    for player, role in enumerate(tree.players):
        legal_moves = {
            tuple(history_of(tree, player, number)): [
                tree.machine.move_text(move) for move in tree.sets[player].moves_of(number).tolist()
            ]
            for number in range(len(tree.sets[player]))
        }
        assert legal_moves == reference.moves[role]


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("split", [False, True], ids=["whole", "split"])
def test_values_and_best_responses_are_those_of_brute_force(name: str, split: bool) -> None:
    if split:
        tree = build_tree(machine_of_game(name), split=True)
        if not all(len(a) == len(b) for a, b in zip(tree.sets, plain_tree(name).sets, strict=True)):
            pytest.skip("information sets were put together")
    else:
        tree = plain_tree(name)
    reference = brute_force(name)
    for seed in range(3):
        strategies = random_strategies(tree, seed)
        exact = as_rules_say(tree, strategies)
        walked = evaluate(tree, strategies)
        for player, role in enumerate(tree.players):
            value, best = reference.value(role, exact), reference.best(role, exact)
            assert walked.values[player] == pytest.approx(float(value), abs=1e-9)
            assert walked.best[player] == pytest.approx(float(best), abs=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_have_the_same_tree(backend: str) -> None:
    tree = build_tree(machine_of_game("kuhn_poker", backend))
    model = plain_tree("kuhn_poker")
    assert tree.num_states == model.num_states == 55
    for sets, expected in zip(tree.sets, model.sets, strict=True):
        assert sets.parents.tolist() == expected.parents.tolist()
    assert tree.leaves.goals.tolist() == model.leaves.goals.tolist()


def test_positions_of_tic_tac_toe_are_subgames() -> None:
    tree = build_tree(machine_of_game("tic_tac_toe", "propnet"), split=True)
    assert tree.num_states == 5478


@pytest.mark.parametrize("name", ["tic_tac_toe", "meier"])
def test_forgetting_paths_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game(name, "propnet")
    expected = build_tree(machine, split=True)
    monkeypatch.setattr(tree_builder, "PRUNE_AT", 100)
    split_tree = build_tree(machine, split=True)
    assert len(split_tree.paths) < len(expected.paths) / 2
    assert split_tree.num_states == expected.num_states
    assert split_tree.leaves.sequences.tolist() == expected.leaves.sequences.tolist()
    for sets, expected_sets in zip(split_tree.sets, expected.sets, strict=True):
        for place in (0, len(sets) // 2, len(sets) - 1):
            path, expected_path = int(sets.paths[place]), int(expected_sets.paths[place])
            assert split_tree.paths.texts(path) == expected.paths.texts(expected_path)


def test_too_many_paths_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_builder, "MAX_PATHS", 100)
    with pytest.raises(SolvingError, match="more than 100 incomplete paths"):
        build_tree(machine_of_game("tic_tac_toe", "propnet"), split=True)


def test_probabilities_stay_exact_beyond_64_bits() -> None:
    digits = " ".join(f"(succ {n} {n + 1})" for n in range(24))
    faces = " ".join(f"(face {n})" for n in range(13))
    rules = f"""
    (role agent) (role random) {digits} {faces}
    (init (turn 0))
    (<= (legal random (roll ?f)) (face ?f))
    (<= (legal agent noop) (not (true (turn 23))))
    (<= (legal agent (bet ?x)) (true (turn 23)) (or (face ?x) (face ?x)))
    (<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
    (<= (next six) (does random (roll 6)))
    (<= (next six) (true six))
    (<= terminal (true (turn 24)))
    (<= (goal agent 100) (true six))
    (<= (goal agent 0) (not (true six)))
    (goal random 0)
    """
    machine = machine_of_rules(rules)
    tree = build_tree(machine)
    chances: Counter[float] = Counter()
    for leaf in range(len(tree.leaves)):
        chances[tree.leaves.goals[leaf, 0]] += tree.leaves.weight(leaf)  # type: ignore[assignment]
    none = Fraction(12, 13) ** 24
    # Each of the 13 bets leads to both ends.
    assert chances == {0.0: 13 * none, 100.0: 13 * (1 - none)}
    split = build_tree(machine, split=True)
    assert split.num_subgames > 24
    for one_tree in (tree, split):
        walked = evaluate(one_tree, [uniform_strategy(one_tree, 0)])
        assert walked.values == pytest.approx([100 * float(1 - none)])


def test_too_large_a_tree_is_refused() -> None:
    with pytest.raises(SolvingError) as caught:
        build_tree(machine_of_game("krieg_tic_tac_toe", "propnet"), TreeBounds(10_000))
    assert str(caught.value) == (
        "the tree of the game is too large: it has more than 10,000 states with the players' "
        "incomplete paths after 5 turns"
    )


def test_too_many_joint_moves_are_refused_before_they_are_made() -> None:
    numbers = " ".join(f"(number {n})" for n in range(30))
    rules = f"""
    (role left) (role right) {numbers}
    (<= (legal left (set ?a ?b)) (number ?a) (number ?b))
    (legal right wait) (init start) (<= terminal (not (true start)))
    (goal left 50) (goal right 50)
    """
    with pytest.raises(SolvingError, match=r"there are 900 joint moves to follow after 0 turns"):
        build_tree(machine_of_rules(rules), TreeBounds(10))


def test_moves_are_counted_before_all_of_them_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = " ".join(f"(number {n})" for n in range(30))
    rules = f"""
    (role left) (role random) {numbers} (init start) (number a)
    (<= (legal left (set ?a ?b)) (true (drawn ?n)) (number ?a) (number ?b))
    (<= (legal left wait) (true start)) (<= (legal random (draw ?n)) (true start) (number ?n))
    (<= (legal random wait) (true (drawn ?n)))
    (<= (next (drawn ?n)) (does random (draw ?n))) (<= (next over) (true (drawn ?n)))
    (<= terminal (true over)) (goal left 50)
    """
    monkeypatch.setattr("ggp.solve.tree_builder.LISTED_AT_ONCE", 8)
    with pytest.raises(SolvingError, match=r"there are more than 7,688 joint moves to follow"):
        build_tree(machine_of_rules(rules), TreeBounds(100))


@pytest.mark.verify
def test_games_that_may_go_on_for_ever_are_refused() -> None:
    rules = """
    (role agent) (init waiting) (legal agent wait) (legal agent stop)
    (<= (next waiting) (does agent wait)) (<= terminal (not (true waiting))) (goal agent 100)
    """
    with pytest.raises(SolvingError, match="the game may not be over after 1,000 turns"):
        build_tree(machine_of_rules(rules, "propnet"), split=True)


def test_moves_that_a_player_cannot_tell_are_refused() -> None:
    with pytest.raises(SolvingError) as caught:
        build_tree(machine_of_rules(BLIND_PILE))
    assert str(caught.value) == (
        "digger cannot tell its legal moves: after one incomplete path (noop / ()) (dig a) is "
        "legal in one state and not in another; only games in which players know their moves can "
        "be solved"
    )
