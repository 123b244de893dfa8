"""Synthetic trees: how they are drawn, and that their players play as plain twins do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.labs.papers.reproduce.paper_003.trees import (
    EXPECTED,
    TOLERANCE,
    SyntheticTree,
    TreeCell,
    TreeModel,
    best_response,
    draw_tree,
    equilibrium,
    pimc,
    score,
    scores,
    uniform,
)
from ggp.machine.base import FloatArray
from tests.labs.papers import naive_trees as naive

SMALL = TreeModel(0.4, 0.7, 0.4, depth=4, worlds=2)
TINY = TreeModel(0.3, 0.6, 0.3, depth=3, worlds=2)


def trees(model: TreeModel, count: int) -> list[SyntheticTree]:
    return [draw_tree(model, np.random.default_rng([5, k])) for k in range(count)]


def random_profile(tree: SyntheticTree, seed: int) -> FloatArray:
    strategy = np.random.default_rng(seed).random(tree.set_of.shape)
    return np.take_along_axis(strategy, tree.set_of, axis=1)


def combined(tree: SyntheticTree, first: FloatArray, second: FloatArray) -> FloatArray:
    """The profile in which each player follows its part of one of two profiles."""
    nodes = np.arange(len(tree.set_of))
    depths = np.frexp(np.maximum(nodes, 1))[1] - 1
    return np.where(depths[:, None] % 2, second, first)


# ---------------------------------------------------------------- drawing


def test_siblings_are_as_correlated_and_biased_as_the_model_says() -> None:
    tree = draw_tree(TreeModel(0.3, 0.8, 0.5, depth=10), np.random.default_rng(1))
    left_payoffs, right = tree.payoffs[0::2], tree.payoffs[1::2]
    equal = left_payoffs == right
    assert set(np.unique(tree.payoffs)) == {-1.0, 1.0}
    assert equal.mean() == pytest.approx(0.3, abs=0.01)  # of 32,768 pairs
    assert (left_payoffs[equal] == 1).mean() == pytest.approx(0.8, abs=0.02)
    assert (left_payoffs[~equal] == 1).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("model", [TreeModel(0, 0, 0.3), TreeModel(0, 0, 0.7, worlds=4)])
def test_information_sets_break_as_often_as_a_plain_twin_breaks_them(model: TreeModel) -> None:
    tree = draw_tree(model, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    for depth in range(model.depth):
        nodes = tree.set_of[1 << depth : 2 << depth]
        ours = np.mean([len(set(row.tolist())) for row in nodes]) / model.worlds
        twins = [len(naive.drawn_partition(model, rng, depth // 2 + 1)) for _ in range(1500)]
        # A node has the sets of as many own worlds; those of one beginning are correlated.
        error = np.std(twins) * (1 / (8 * (1 << depth // 2)) + 1 / len(twins)) ** 0.5
        assert ours == pytest.approx(np.mean(twins), abs=4 * error + 1e-9), depth


@pytest.mark.parametrize(("df", "size"), [(0.0, 8), (1.0, 1)])
def test_disambiguation_at_its_ends(df: float, size: int) -> None:
    tree = draw_tree(TreeModel(0.5, 0.5, df), np.random.default_rng(0))
    for player in range(2):
        assert {len(worlds) for worlds in naive.sets_of(tree, player).values()} == {size}


def test_a_player_knows_its_own_world_and_forgets_nothing() -> None:
    for tree in trees(TreeModel(0.5, 0.5, 0.3, depth=6, worlds=4), 5):
        for player in range(2):
            for (node, first), worlds in naive.sets_of(tree, player).items():
                own_worlds = {(w // 4, w % 4)[player] for w in worlds}
                assert len(own_worlds) == 1
                assert first == worlds[0]
                assert len(worlds) in (1, 2, 4)
                if node >= 4:
                    parents = {int(tree.set_of[node // 4, w]) for w in worlds}
                    assert len(parents) == 1


def test_a_seed_draws_the_same_tree() -> None:
    first, two = (draw_tree(SMALL, np.random.default_rng(4)) for _ in range(2))
    assert (first.payoffs == two.payoffs).all()
    assert (first.set_of == two.set_of).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TreeModel(1.2, 0, 0), "leaf_correlation is 1.2; it must be from 0 to 1"),
        (lambda: TreeModel(0, float("nan"), 0), "bias is nan"),
        (lambda: TreeModel(0, 0, 0, worlds=6), "worlds is 6; it must be a power of 2"),
        (lambda: TreeModel(0, 0, 0, depth=0), "depth is 0"),
    ],
)
def test_a_model_that_cannot_be_is_refused(make: Callable[[], TreeModel], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


# ---------------------------------------------------------------- players


@pytest.mark.parametrize("seed", range(3))
def test_score_is_that_of_a_plain_twin(seed: int) -> None:
    tree = trees(SMALL, 3)[seed]
    first, two = random_profile(tree, seed), random_profile(tree, seed + 10)
    mixed = combined(tree, first, two)
    assert (mixed[1] == first[1]).all()
    assert (mixed[2:4] == two[2:4]).all()
    assert (mixed[4:8] == first[4:8]).all()
    assert score(tree, first, two) == pytest.approx(naive.score(tree, mixed))


@pytest.mark.parametrize("player", range(2))
def test_best_response_is_the_best_of_all_pure_strategies(player: int) -> None:
    model = TreeModel(0.3, 0.6, 0.3, depth=3 - player, worlds=2)
    for seed, tree in enumerate(trees(model, 3)):
        profile = random_profile(tree, seed)
        sign = -1 if player else 1
        best = max(
            sign * naive.score(tree, pure) for pure in naive.pure_profiles(tree, profile, player)
        )
        assert best_response(tree, profile, player) == pytest.approx(best)


@pytest.mark.parametrize("alternating", [True, False])
def test_equilibrium_is_worth_what_a_linear_program_says(alternating: bool) -> None:
    for tree in trees(SMALL, 3):
        value = naive.value_by_linear_program(tree)
        solved = equilibrium(tree, 1e-4, alternating=alternating)
        assert solved.nash_conv <= 1e-4
        assert score(tree, solved.profile, solved.profile) == pytest.approx(value, abs=1e-4)
        assert best_response(tree, solved.profile, 0) == pytest.approx(value, abs=1e-4)
        assert best_response(tree, solved.profile, 1) == pytest.approx(-value, abs=1e-4)


def test_pimc_makes_the_move_with_the_better_mean_of_clairvoyant_values() -> None:
    for tree in trees(SMALL, 3):
        choices = pimc(tree)
        for player in range(2):
            for (node, _), worlds in naive.sets_of(tree, player).items():
                first, two = (
                    sum(naive.clairvoyant(tree, child, w) for w in worlds)
                    for child in (2 * node, 2 * node + 1)
                )
                better = first - two if player == 0 else two - first
                expected = 0.5 if better == 0 else float(better > 0)
                assert (choices[node, worlds] == expected).all()


# ---------------------------------------------------------------- what the paper says


def means(model: TreeModel, count: int, *, alternating: bool = True) -> tuple[float, float]:
    """The scores of PIMC and of random play against an equilibrium."""
    score_pairs = []
    for tree in trees(model, count):
        best = equilibrium(tree, alternating=alternating)
        assert best.nash_conv <= 0.01
        score_pairs.append(
            [scores(tree, profile, best.profile)[0] for profile in (pimc(tree), uniform(tree))]
        )
    mean = np.mean(score_pairs, axis=0)
    return float(mean[0]), float(mean[1])


@pytest.mark.parametrize(("cell", "expected"), EXPECTED.items(), ids=str)
@pytest.mark.verify
def test_pimc_loses_as_much_as_it_should(cell: TreeCell, expected: float) -> None:
    loss, _ = means(TreeModel(*cell), 64)
    assert loss == pytest.approx(expected, abs=TOLERANCE)  # 3 to 4 standard errors


def test_pimc_loses_nothing_where_everybody_knows_the_world() -> None:
    assert means(TreeModel(0.5, 0.5, 1.0), 4)[0] == pytest.approx(0, abs=0.003)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_no_player_loses_where_one_side_wins_all_leaves(bias: float) -> None:
    assert means(TreeModel(1.0, bias, 0.3), 2) == (0, 0)


@pytest.mark.verify
def test_random_play_loses_more_against_simultaneous_updates_and_pimc_does_not() -> None:
    model = TreeModel(0.8, 0.75, 0.6)
    simultaneous, two = means(model, 8), means(model, 8, alternating=False)
    assert simultaneous[1] == pytest.approx(-0.42, abs=0.05)
    assert two[1] == pytest.approx(-0.62, abs=0.05)
    assert simultaneous[0] == pytest.approx(two[0], abs=0.02)


def test_an_equilibrium_says_nothing_about_answers_to_moves_that_it_never_makes() -> None:
    """One world: the first player wins by going left; right, the second player decides."""
    payoffs = np.array([[1.0], [1.0], [1.0], [-1.0]])
    tree = SyntheticTree(2, payoffs, np.zeros((4, 1), dtype=np.int64))
    for answer, random_score in ((1.0, 1.0), (0.0, 0.0)):
        profile = np.array([[0.5], [1.0], [0.5], [answer]])  # probabilities of going left
        assert [best_response(tree, profile, player) for player in range(2)] == [1, -1]
        assert score(tree, uniform(tree), profile) == random_score


def test_mixed_equilibria_are_equilibria_with_all_scores_in_between() -> None:
    (tree,) = trees(TreeModel(0.9, 0.75, 0.6), 1)
    form = tree.form
    ends = [equilibrium(tree, alternating=flag).profile for flag in (True, False)]
    plans = [form.forest.plans(form.strategies(end, end)) for end in ends]
    lot = form.forest.plans(form.strategies(uniform(tree), uniform(tree)))

    def random_score(mixed: list[FloatArray]) -> float:
        first = form.forest.values([lot[0], mixed[1]])[0, 0]
        second = form.forest.values([mixed[0], lot[1]])[0, 1]
        return float(first + second) / 2

    def gains(mixed: list[FloatArray]) -> float:
        return float(form.forest.best_values(mixed)[0].sum())

    low, high = sorted(random_score(plan) for plan in plans)
    assert high - low > 0.1
    for share in (0.35, 0.65):
        mixed = [share * a + (1 - share) * b for a, b in zip(*plans, strict=True)]
        assert gains(mixed) <= share * gains(plans[0]) + (1 - share) * gains(plans[1]) + 1e-9
        expected = share * random_score(plans[0]) + (1 - share) * random_score(plans[1])
        assert random_score(mixed) == pytest.approx(expected)
        assert low < random_score(mixed) < high
