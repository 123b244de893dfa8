"""Random games against a reference that shares nothing with the package."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from ggp.belief import UNIFORM, Bags, HyperPlaySampler, PathTree, never
from ggp.belief.bags import initial_segments
from ggp.belief.finding.earlier import PathStart
from ggp.belief.solving.finder import MAX_CONFLICTS, SolvedFinder
from ggp.belief.solving.unrolling import Spent, is_solvable
from ggp.search.playouts import PlayoutSearch
from tests.random_games.cases import Case, case, changed, exact_bag, node_of, role_of, some_games
from tests.random_games.generator import random_game
from tests.random_games.reference import Path, hyperplay_values, posterior
from tests.support.games import machine_of_rules


def probabilities_of(at: Case, bag: Bags) -> dict[tuple[str, ...], float]:
    weights: dict[tuple[str, ...], float] = {}
    for fluents, weight in zip(
        at.machine.fluents(bag.states_of(0)), bag.weights_of(0).tolist(), strict=True
    ):
        weights[fluents] = weights.get(fluents, 0.0) + weight
    return weights


def truth(at: Case, path: Path) -> dict[tuple[str, ...], float]:
    return {
        at.game.fluents[state]: float(share)
        for state, share in posterior(at.game, at.role, path).items()
    }


def distance(first: dict[tuple[str, ...], float], right: dict[tuple[str, ...], float]) -> float:
    return sum(abs(first.get(k, 0.0) - right.get(k, 0.0)) for k in {*first, *right}) / 2


# ---------------------------------------------------------------- beliefs


@pytest.mark.verify
@some_games
def test_exact_beliefs_are_the_posterior(seeds: range) -> None:
    for seed in seeds:
        at = case(seed)
        rng = random.Random(f"changes {seed}")
        tree = PathTree(at.machine)
        sampler = HyperPlaySampler(at.machine, tree, capacity=1, exact=10_000)
        for path in (at.path, changed(at.path, rng, at) if at.path else at.path):
            bag = sampler.at(node_of(at, tree, path), role_of(at), np.random.default_rng(0))
            assert bag.exact[0], seed
            assert probabilities_of(at, bag) == pytest.approx(truth(at, path)), seed


@pytest.mark.verify
@some_games
def test_hyperplay_values_are_right_on_average(seeds: range) -> None:
    scores = []
    for seed in seeds:
        at = case(seed)
        bag = exact_bag(at, PathTree(at.machine))
        search = PlayoutSearch(at.machine, bag, np.random.default_rng(seed))
        search.round(2_000)
        estimates = search.estimates()
        states = posterior(at.game, at.role, at.path)
        values = hyperplay_values(at.game, at.role, states)
        texts = [at.machine.move_text(move) for move in estimates.moves.values.tolist()]
        assert sorted(texts) == sorted(values), seed
        for text, value, error in zip(texts, estimates.values, estimates.stderrs, strict=True):
            if error > 0:
                scores.append((value - float(values[text])) / error)
            else:
                assert value == pytest.approx(float(values[text])), (seed, text)
    count = len(scores)
    assert count > 40
    assert abs(np.mean(scores)) < 3.5 / np.sqrt(count)
    assert np.std(scores) == pytest.approx(1, abs=3.5 / np.sqrt(2 * count))


# ---------------------------------------------------------------- solving alone


@pytest.mark.verify
@some_games
def test_solving_alone_finds_what_there_is_and_proves_what_is_not(seeds: range) -> None:
    ratios, empty = [], 0
    for seed in seeds:
        at = case(seed)
        if not at.path or not is_solvable(at.machine):
            continue
        rng = random.Random(f"solving {seed}")
        for path in (at.path, changed(at.path, rng, at)):
            expected = truth(at, path)
            tree = PathTree(at.machine)
            node = int(node_of(at, tree, path)[0])
            start = PathStart(len(path), initial_segments(at.machine, 1, keep_views=False))
            solved_bag = SolvedFinder(at.machine, tree, UNIFORM).find(
                role_of(at),
                node,
                [start],
                100,
                np.random.default_rng(seed),
                Spent(MAX_CONFLICTS, never),
            )
            assert solved_bag is not None, seed
            bag = Bags(role_of(at), np.array([node]), np.zeros(1, dtype=np.int64), solved_bag)
            assert bag.exact[0] == (not expected), seed
            if not expected:
                empty += 1
                continue
            probabilities = probabilities_of(at, bag)
            assert probabilities.keys() <= expected.keys(), seed
            independent = _independent(expected, 100)
            if independent > 0:
                ratios.append(distance(probabilities, expected) / independent)
    assert len(ratios) > 20
    assert empty > 3
    assert np.mean(ratios) < 2
    assert np.quantile(ratios, 0.95) < 3


def _independent(shares: dict[tuple[str, ...], float], number: int) -> float:
    """The mean total variation distance of so many independent draws."""
    rng = np.random.default_rng(0)
    expected = np.array(list(shares.values()))
    counts = rng.multinomial(number, expected / expected.sum(), size=200) / number
    return float(np.abs(counts - expected).sum(axis=1).mean() / 2)


def test_plain_tables_and_rules_say_the_same() -> None:
    """The two forms of a game are compared on Prolog, state by state."""
    for seed in range(6):
        game = random_game(seed)
        machine = machine_of_rules(game.rules, "prolog")
        order = [game.roles.index(role) for role in machine.roles]
        states, seen = {game.initial: machine.initial(1)}, set[int]()
        while states.keys() - seen:
            state = min(states.keys() - seen)
            seen.add(state)
            lane = states[state]
            assert machine.fluents(lane)[0] == game.fluents[state]
            assert bool(machine.terminal(lane)[0]) == (state in game.goals)
            if state in game.goals:
                goals = machine.goals(lane)[0].tolist()
                for player in game.players:
                    assert (
                        goals[machine.roles.index(game.roles[player])] == game.goals[state][player]
                    )
                continue
            for role, moves in enumerate(game.legal[state]):
                index = machine.roles.index(game.roles[role])
                legal = machine.legal(lane, index).values.tolist()
                assert sorted(map(machine.move_text, legal)) == sorted(moves)
            for joint in game.joint_moves(state):
                row = [machine.move_id(joint[role]) for role in order]
                stepped = machine.step(lane, np.array([row]))
                target, percepts = game.after[state, joint]
                assert machine.fluents(stepped.states)[0] == game.fluents[target]
                for player in game.players:
                    index = machine.roles.index(game.roles[player])
                    texts = machine.percept_texts(int(stepped.percepts[0, index]))
                    assert tuple(texts) == percepts[player]
                states.setdefault(target, stepped.states)


def test_fractions_sum_to_one() -> None:
    game = random_game(0)
    assert sum(posterior(game, 0, ()).values()) == Fraction(1)
