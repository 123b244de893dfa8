"""Bags against brute-force enumeration: sound, complete, and correctly weighted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN
from tests.support.games import (
    MODEST_GAMES,
    machine_of_game,
    machine_of_rules,
    machine_of_shared,
)
from tests.support.paths import turns_of
from tests.support.plain.enumeration import (
    Fluents,
    Path,
    complete_paths,
    distance,
    posterior,
    random_paths,
)

Make = Callable[[str], Machine]

SHARED_GAMES = {
    "gdl2/montyhall.gdl": 3,
    "gdl2/kriegTTT_4x4.gdl": 2,
    "gdl2/transit.gdl": 4,
    "gdl2/mastermind.gdl": 3,
}
TURNS = {"krieg_tic_tac_toe": 4, "tic_tac_toe": 4}

UNEQUAL_PARENTS = """
(role random) (role seer)
(init (at 0))
(<= (legal random (side ?x)) (side ?x ?class) (true (at 0)))
(<= (legal random ?x) (number ?x) (not (true (at 0))))
(legal seer wait)
(number 1) (number 2) (number 3) (number 4)
(<= (next (at 1)) (true (at 0)))
(<= (next (at 2)) (true (at 1)))
(<= (next (at 3)) (true (at 2)))
(<= (next (side ?x ?class)) (side ?x ?class) (does random (side ?x)))
(<= (next (side ?x ?class)) (true (side ?x ?class)))
(<= (next (last ?x)) (does random ?x) (number ?x))
(<= (sees seer low) (true (side ?x left)) (does random 1))
(<= (sees seer low) (true (side ?x right)) (does random ?n) (number ?n) (distinct ?n 4))
(<= terminal (true (at 3)))
(goal seer 0) (goal random 0)
""" + "".join(f"(side {i} {'left' if i % 2 else 'right'})" for i in range(40))
"""Half of the parents have 1 of 4 completions that match `low`, half 3 of 4."""


LATE_LOW: Path = [("wait", ()), ("wait", ("low",))]


def chance_node(outcomes: int, seen: str) -> str:
    """Random picks one of many numbers; two turns later the seer learns something about it."""
    numbers = " ".join(f"(number {i})" for i in range(outcomes))
    succ = " ".join(f"(parity {i} {i % 3})" for i in range(outcomes))
    return f"""
    (role random) (role seer) {numbers} {succ}
    (init (at 0))
    (<= (next (at 1)) (true (at 0)))
    (<= (next (at 2)) (true (at 1)))
    (<= (next (at 3)) (true (at 2)))
    (<= (legal random (pick ?x)) (number ?x) (true (at 0)))
    (<= (legal random noop) (not (true (at 0))))
    (legal seer wait)
    (<= (next (picked ?x)) (does random (pick ?x)))
    (<= (next (picked ?x)) (true (picked ?x)))
    {seen}
    (<= terminal (true (at 3)))
    (goal seer 0) (goal random 0)
    """


def bag_of(
    machine: Machine, role: int, path: Path, *, capacity: int, exact: int, seed: int = 0
) -> Bags:
    """The bag of a path, advanced turn by turn as a player does."""
    tree = PathTree(machine)
    belief = HyperPlaySampler(machine, tree, capacity=capacity, exact=exact)
    rng = np.random.default_rng(seed)
    bag = belief.start(role)
    for move, percepts in path:
        bag = belief.advance(bag, move_array(machine, move), percept_array(machine, percepts), rng)
    return bag


def move_array(machine: Machine, move: str | None) -> np.ndarray:
    return np.array([UNKNOWN if move is None else machine.move_id(move)])


def percept_array(machine: Machine, percepts: tuple[str, ...] | None) -> np.ndarray:
    return np.array([UNKNOWN if percepts is None else machine.percept_id(percepts)])


def distribution(machine: Machine, bag: Bags) -> dict[Fluents, float]:
    weights: dict[Fluents, float] = {}
    states = machine.fluents(bag.states_of(0))
    for fluents, weight in zip(states, bag.weights_of(0).tolist(), strict=True):
        weights[fluents] = weights.get(fluents, 0.0) + weight
    return weights


def left_share(weights: dict[Fluents, float]) -> float:
    return sum(w for state, w in weights.items() if any(" left)" in f for f in state))


def cases() -> list[object]:
    our_cases = [pytest.param(machine_of_game, g, TURNS.get(g, 6), id=g) for g in MODEST_GAMES]
    shared_cases = [
        pytest.param(machine_of_shared, g, turns, id=g) for g, turns in SHARED_GAMES.items()
    ]
    return [*our_cases, *shared_cases]


@pytest.mark.parametrize(("make", "game", "turns"), cases())
class TestAgainstEnumeration:
    def test_exact_bag_is_the_posterior(self, make: Make, game: str, turns: int) -> None:
        machine = make(game)
        for seed in range(2):
            for role, path in random_paths(machine, turns, seed).items():
                if role == machine.random_role:
                    continue
                bag = bag_of(machine, role, path, capacity=1, exact=100_000)
                assert bag.exact[0]
                assert distribution(machine, bag) == pytest.approx(posterior(machine, role, path))

    def test_sampled_bag_is_sound(self, make: Make, game: str, turns: int) -> None:
        machine = make(game)
        for role, path in random_paths(machine, turns, seed=7).items():
            if role == machine.random_role:
                continue
            expected = posterior(machine, role, path)
            for seed in range(5):
                bag = bag_of(machine, role, path, capacity=4, exact=0, seed=seed)
                weights = distribution(machine, bag)
                assert weights
                assert set(weights) <= set(expected)
                assert len(bag.weights_of(0)) <= 4

    def test_every_state_can_be_drawn(self, make: Make, game: str, turns: int) -> None:
        machine = make(game)
        for role, path in random_paths(machine, min(turns, 2), seed=3).items():
            if role == machine.random_role:
                continue
            missing = set(posterior(machine, role, path))
            seed = 0
            while missing and seed < 400:
                bag = bag_of(machine, role, path, capacity=8, exact=0, seed=seed)
                missing -= set(distribution(machine, bag))
                seed += 1
            assert not missing


def mean_distance(
    machine: Machine, role: int, path: Path, capacity: int, trials: int
) -> tuple[float, float]:
    """Mean distance to the posterior of bags, and of as many independent draws."""
    exact = posterior(machine, role, path)
    states, weights = list(exact), np.array(list(exact.values()))
    rng = np.random.default_rng(1)
    bags, draws = 0.0, 0.0
    for seed in range(trials):
        bag = bag_of(machine, role, path, capacity=capacity, exact=0, seed=seed)
        bags += distance(distribution(machine, bag), exact)
        counts = rng.multinomial(capacity, weights)
        frequencies = {s: c / capacity for s, c in zip(states, counts.tolist(), strict=True) if c}
        draws += distance(frequencies, exact)
    return bags / trials, draws / trials


@pytest.mark.parametrize("capacity", [4, 16, 64])
@pytest.mark.parametrize(
    ("make", "game", "turns"),
    [
        pytest.param(machine_of_game, "krieg_tic_tac_toe", 4, id="krieg_tic_tac_toe"),
        pytest.param(machine_of_game, "kuhn_poker", 2, id="kuhn_poker"),
        pytest.param(machine_of_shared, "gdl2/kriegTTT_4x4.gdl", 2, id="kriegTTT_4x4"),
        pytest.param(machine_of_shared, "gdl2/mastermind.gdl", 3, id="mastermind"),
        pytest.param(machine_of_rules, UNEQUAL_PARENTS, 2, id="unequal_parents"),
    ],
)
def test_distance_to_posterior_is_at_most_twice_that_of_draws(
    make: Make, game: str, turns: int, capacity: int
) -> None:
    machine = make(game)
    role = next(r for r in range(len(machine.roles)) if r != machine.random_role)
    path = random_paths(machine, turns, seed=4)[role]
    bags, draws = mean_distance(machine, role, path, capacity, trials=12)
    assert bags <= 2 * draws + 1e-12


class TestWeights:
    def test_parents_with_unequal_numbers_of_matches_weigh_unequally(self) -> None:
        machine = machine_of_rules(UNEQUAL_PARENTS)
        exact = posterior(machine, 1, LATE_LOW)
        assert left_share(exact) == pytest.approx(1 / 4)
        bag = bag_of(machine, 1, LATE_LOW, capacity=1, exact=1000)
        assert distribution(machine, bag) == pytest.approx(exact)

    @pytest.mark.parametrize("capacity", [8, 16, 32])
    def test_sampled_bags_are_right_on_average(self, capacity: int) -> None:
        machine = machine_of_rules(UNEQUAL_PARENTS)
        trials = 100
        total = sum(
            left_share(
                distribution(
                    machine,
                    bag_of(machine, 1, LATE_LOW, capacity=capacity, exact=0, seed=seed),
                )
            )
            for seed in range(trials)
        )
        error = (0.25 * 0.75 / (trials * capacity)) ** 0.5
        assert total / trials == pytest.approx(1 / 4, abs=4 * error)

    @pytest.mark.verify
    def test_drawn_completions_are_weighted_without_bias(self) -> None:
        seen = """
        (<= (legal random (again ?x)) (true (at 1)) (number ?x))
        (<= (next (second ?x)) (true (at 1)) (does random (again ?x)))
        (<= (sees seer zero) (true (picked ?y)) (true (at 1)) (parity ?y 0)
            (does random (again ?x)) (parity ?x 0))
        (<= (sees seer zero) (true (picked ?y)) (true (at 1)) (not (parity ?y 0))
            (does random (again ?x)))
        """
        machine = machine_of_rules(chance_node(300, seen))
        path: Path = [("wait", ()), ("wait", ("zero",))]
        # A third of the first picks leads on with 1/3 (of 300 picks and noop: 100 / 301).
        share = (1 / 3) * (100 / 301) / ((1 / 3) * (100 / 301) + (2 / 3) * (300 / 301))
        trials, capacity, total = 60, 8, 0.0
        zero = {f"(picked {i})" for i in range(0, 300, 3)}
        for seed in range(trials):
            bag = bag_of(machine, 1, path, capacity=capacity, exact=0, seed=seed)
            total += sum(w for s, w in distribution(machine, bag).items() if zero & set(s))
        error = (share * (1 - share) / (trials * capacity)) ** 0.5
        assert total / trials == pytest.approx(share, abs=4 * error)


class TestBacktracking:
    def test_a_late_percept_makes_sampling_backtrack_far_enough(self) -> None:
        seen = "(<= (sees seer found) (true (at 2)) (true (picked 777)))"
        machine = machine_of_rules(
            chance_node(1000, seen).replace("(true (at 3))", "(true (at 4))")
            + "(<= (next (at 4)) (true (at 3)))"
        )
        path: Path = [("wait", ()), ("wait", ()), ("wait", ("found",))]
        bag = bag_of(machine, 1, path, capacity=4, exact=0, seed=2)
        assert {s for s in distribution(machine, bag) if "(picked 777)" in s}
        assert len(bag.weights_of(0)) == 1

    def test_large_chance_nodes_are_drawn_not_listed(self) -> None:
        seen = "(<= (sees seer even) (true (at 0)) (does random (pick ?x)) (parity ?x 0))"
        machine = machine_of_rules(chance_node(2304, seen))
        visited = machine.states_visited
        bag = bag_of(machine, 1, [("wait", ("even",))], capacity=8, exact=0)
        assert len(bag.weights_of(0)) == 8
        assert machine.states_visited - visited < 500

    def test_impossible_percepts_deplete_the_bag_and_prove_it(self) -> None:
        machine = machine_of_game("exploding_bomb")
        path: Path = [("noop", ("red",))]
        for exact in (0, 100):
            bag = bag_of(machine, 0, path, capacity=8, exact=exact)
            assert bag.depleted[0]
            assert bag.exact[0]


def paths_of_matches(
    machine: Machine, role: int, turns: int, count: int
) -> list[list[tuple[int, int]]]:
    """A role's turns in random matches that last long enough; the first three come twice."""
    paths: list[list[tuple[int, int]]] = []
    for seed in range(100):
        path = random_paths(machine, turns, seed)[role]
        if len(path) == turns and len(paths) < count:
            ids = [
                (machine.move_id(move or ""), machine.percept_id(percepts or ()))
                for move, percepts in path
            ]
            paths.append([(move or 0, percepts or 0) for move, percepts in ids])
    return paths + paths[:3]


def advanced(
    belief: HyperPlaySampler, role: int, paths: list[list[tuple[int, int]]], seed: int
) -> Bags:
    """The bags of some paths of equal length, side by side."""
    rng = np.random.default_rng(seed)
    bags = belief.start(role, len(paths))
    for turn in range(len(paths[0])):
        moves, percepts = np.array([path[turn] for path in paths]).T
        bags = belief.advance(bags, moves, percepts, rng)
    return bags


def distribution_of(machine: Machine, bags: Bags, bag: int) -> dict[Fluents, float]:
    return distribution(machine, bags.select(np.array([bag])))


def in_terms(machine: Machine, path: list[tuple[int, int]]) -> Path:
    return [(machine.move_text(move), machine.percept_texts(percepts)) for move, percepts in path]


def largest_set(machine: Machine, role: int, path: list[tuple[int, int]]) -> int:
    """How many states the information set had when it was largest."""
    turns = in_terms(machine, path)
    return max(len(posterior(machine, role, turns[:turn])) for turn in range(len(turns) + 1))


@pytest.mark.parametrize("game", MODEST_GAMES)
class TestManyBags:
    def test_exact_bags_are_the_posteriors_of_their_paths(self, game: str) -> None:
        machine = machine_of_game(game)
        role = next(r for r in range(len(machine.roles)) if r != machine.random_role)
        paths = paths_of_matches(machine, role, 3, 6)
        if not paths:
            pytest.skip("matches are too short")
        belief = HyperPlaySampler(machine, PathTree(machine), capacity=1, exact=100_000)
        bags = advanced(belief, role, paths, 0)
        reordered = belief.at(bags.paths[::-1], role, np.random.default_rng(0)).select(
            np.arange(len(bags))[::-1]
        )
        fresh = HyperPlaySampler(machine, belief.tree, capacity=1, exact=100_000)
        rebuilt = fresh.at(bags.paths, role, np.random.default_rng(0))
        for variant in (bags, reordered, rebuilt):
            assert variant.exact.all()
            for bag, path in enumerate(paths):
                expected = posterior(machine, role, in_terms(machine, path))
                assert distribution_of(machine, variant, bag) == pytest.approx(expected)
        assert bags.segment[-3:].tolist() == bags.segment[:3].tolist()

    @pytest.mark.parametrize("exact", [0, 5])
    def test_sampled_bags_are_sound_and_drawn_for_each(self, game: str, exact: int) -> None:
        machine = machine_of_game(game)
        role = next(r for r in range(len(machine.roles)) if r != machine.random_role)
        paths = paths_of_matches(machine, role, 3, 6)
        if not paths:
            pytest.skip("matches are too short")
        belief = HyperPlaySampler(machine, PathTree(machine), capacity=4, exact=exact)
        bags = advanced(belief, role, paths, 1)
        fresh = HyperPlaySampler(machine, belief.tree, capacity=4, exact=exact)
        for variant in (bags, fresh.at(bags.paths, role, np.random.default_rng(1))):
            for bag, path in enumerate(paths):
                weights = distribution_of(machine, variant, bag)
                expected = posterior(machine, role, in_terms(machine, path))
                assert weights
                assert set(weights) <= set(expected)
                assert len(weights) <= max(4, exact)
                if len(expected) <= exact and largest_set(machine, role, path) <= exact:
                    assert weights == pytest.approx(expected)
        assert len(set(bags.segment[~bags.exact].tolist())) == (~bags.exact).sum()


class TestManySearches:
    def test_rare_paths_are_found_among_others_and_impossible_ones_proved(self) -> None:
        seen = """
        (<= (sees seer found) (true (at 1)) (true (picked 77)))
        (<= (sees seer third) (true (at 1)) (true (picked ?x)) (parity ?x 0))
        """
        machine = machine_of_rules(chance_node(300, seen))
        texts = ((), ("found",), ("third",), ("found", "third"))
        nothing, picked_77, third, picked_77_third = map(machine.percept_id, texts)
        late = np.array([nothing, picked_77, third, picked_77_third, picked_77, third])
        wait = machine.move_id("wait")
        belief = HyperPlaySampler(machine, PathTree(machine), capacity=4, exact=0)
        rng = np.random.default_rng(0)
        bags = belief.start(1, 6)
        for percepts in (np.full(6, nothing), late):
            bags = belief.advance(bags, np.full(6, wait), percepts, rng)
        assert bags.depleted.tolist() == [False, False, False, True, False, False]
        assert bags.exact[3]
        for bag in (1, 4):
            (state,) = distribution_of(machine, bags, bag)
            assert "(picked 77)" in state
        for bag in (2, 5):
            assert 2 <= len(distribution_of(machine, bags, bag)) <= 4

    def test_a_stop_ends_all_searches(self) -> None:
        seen = "(<= (sees seer found) (true (at 1)) (true (picked 777)))"
        machine = machine_of_rules(chance_node(1000, seen))
        wait, found_id = machine.move_id("wait"), machine.percept_id(["found"])
        stopped = False
        belief = HyperPlaySampler(
            machine, PathTree(machine), capacity=2, exact=0, stop=lambda: stopped
        )
        rng = np.random.default_rng(0)
        bags = belief.start(1, 3)
        bags = belief.advance(bags, np.full(3, wait), np.zeros(3, dtype=np.int64), rng)
        stopped = True
        bags = belief.advance(bags, np.full(3, wait), np.full(3, found_id), rng)
        assert bags.depleted.all()
        assert not bags.exact.any()


class TestEvidence:
    def test_unknown_move_and_percepts_constrain_nothing(self) -> None:
        machine = machine_of_game("exploding_bomb")
        path: Path = [("noop", ()), (None, None)]
        bag = bag_of(machine, 0, path, capacity=8, exact=100)
        weights = distribution(machine, bag)
        assert weights == pytest.approx(posterior(machine, 0, path))
        assert len(weights) == 4

    def test_a_refused_move_removes_particles_in_which_it_was_legal(self) -> None:
        machine = machine_of_game("krieg_tic_tac_toe")
        tree = PathTree(machine)
        belief = HyperPlaySampler(machine, tree, capacity=8, exact=1000)
        rng = np.random.default_rng(0)
        mark, refused = machine.move_id("(mark 1 1)"), machine.move_id("(mark 2 2)")
        nothing = np.array([0])
        bag = belief.advance(belief.start(0), np.array([mark]), nothing, rng, np.array([refused]))
        assert bag.depleted[0]
        noop = np.array([machine.move_id("noop")])
        bag = belief.advance(belief.start(0), np.array([mark]), nothing, rng, noop)
        assert not bag.depleted[0]


class TestViews:
    @pytest.mark.parametrize("game", MODEST_GAMES)
    @pytest.mark.parametrize("exact", [0, 1000])
    def test_views_replay_to_every_roles_own_incomplete_path(self, game: str, exact: int) -> None:
        machine = machine_of_game(game)
        role = next(r for r in range(len(machine.roles)) if r != machine.random_role)
        path = random_paths(machine, 3, seed=11)[role]
        tree = PathTree(machine)
        belief = HyperPlaySampler(machine, tree, capacity=6, exact=exact, keep_views=True)
        rng = np.random.default_rng(0)
        bag = belief.start(role)
        for move, percepts in path:
            bag = belief.advance(
                bag, move_array(machine, move), percept_array(machine, percepts), rng
            )
        views = bag.sets.views
        assert views is not None
        possible: set[tuple[object, ...]] = set()
        for state, _, turns in complete_paths(machine, role, path):
            seen = tuple(
                tuple((row[j], seen_ids[j]) for row, seen_ids in turns)
                for j in range(len(machine.roles))
                if j != machine.random_role
            )
            possible.add((machine.fluents(state)[0], seen))
        for lane, fluents in enumerate(machine.fluents(bag.states_of(0))):
            seen = tuple(
                tuple((t.move, t.percepts) for t in turns_of(tree, int(views[lane, j])))
                for j in range(len(machine.roles))
                if j != machine.random_role
            )
            assert (fluents, seen) in possible

    def test_some_particles_of_a_simulated_role_lie_outside_our_information_set(self) -> None:
        machine = machine_of_game("spy_vs_spy")
        tree = PathTree(machine)
        belief = HyperPlaySampler(machine, tree, capacity=8, exact=100, keep_views=True)
        rng = np.random.default_rng(0)
        hide = machine.move_id("(arm red hide)")
        ours = belief.advance(belief.start(0), np.array([hide]), np.array([0]), rng)
        assert ours.sets.views is not None
        theirs = belief.at(ours.sets.views[:, 1], 1, rng)
        our_states = set(machine.fluents(ours.states_of(0)))
        their_states = set(machine.fluents(theirs.states_of(0)))
        assert our_states < their_states
