"""What players think of the moves of random games, against values that are enumerated."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from fractions import Fraction

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.labs.kriegspiel.set_search import InformationSetSearch
from ggp.labs.kriegspiel.set_tree import LookAhead
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, States
from ggp.players import Decision, make_player, parse_spec
from ggp.search.estimates import Estimates, Policy
from ggp.search.playouts import HyperPlayPolicy
from ggp.search.simulations import SimulationSearch, Simulator
from tests.random_games.cases import Case, exact_bag, odd_case, role_of, some_games
from tests.random_games.open_worlds import pimc_values
from tests.random_games.plies import Plies
from tests.random_games.reference import Path, Turn, hyperplay_values, playout_value, posterior
from tests.random_games.simulations import Simulations, spread

SIMULATIONS = 400
"""Of each candidate."""

POLICY_PLAYOUTS = 2_500
"""Of each candidate of a simulated role, where decisions are made by playouts."""

ERRORS = 5
"""Values that differ by so many errors are distinguished by playouts."""

WHOLE = 10
"""Plies, or turns: more than these games have."""

Values = Mapping[str, Fraction]


Told = tuple[float, float]
"""The value of a move, and its error."""


def no_leaf(state: int) -> Fraction:
    raise AssertionError("looked through to the end, and yet there is a leaf")


def as_floats(values: Values) -> dict[str, float]:
    return {move: float(value) for move, value in values.items()}


def states_of(at: Case) -> dict[int, Fraction]:
    return posterior(at.game, at.role, at.path)


def by_move(at: Case, estimates: Estimates) -> dict[str, Told]:
    """Value and error of each move."""
    texts = map(at.machine.move_text, estimates.moves.values.tolist())
    return dict(zip(texts, zip(estimates.values, estimates.stderrs, strict=True), strict=True))


def plain_path(at: Case, tree: PathTree, node: int) -> Path:
    """A path of the tree as the reference has it."""
    turns = list[Turn]()
    for (turn_node,) in tree.beginnings(np.array([node]))[1:]:
        move, percepts, refused = tree.last_turns(np.array([turn_node]))[0].tolist()
        turns.append(
            Turn(
                None if move == UNKNOWN else at.machine.move_text(move),
                None if percepts == UNKNOWN else tuple(at.machine.percept_texts(percepts)),
                None if refused == UNKNOWN else at.machine.move_text(refused),
            )
        )
    return tuple(turns)


def decided(at: Case, spec: str, seed: int = 0) -> Decision:
    """The decision of a player with the same path."""
    rng = np.random.default_rng(seed)
    player = make_player(parse_spec(spec), at.machine, role_of(at), rng)
    for move, percepts, refused in at.path:
        player.observe(move, percepts, submitted=refused)
    decision = player.choose(value_forced=True)
    assert decision.fault is None
    assert decision.exact
    return decision


def values_and_errors(decision: Decision) -> dict[str, Told]:
    return {value.move: (value.value or 0.0, value.stderr or 0.0) for value in decision.values}


def values_of(decision: Decision) -> dict[str, float]:
    return {value.move: value.value for value in decision.values if value.value is not None}


def played_alike(at: Case, expected: Values) -> set[str]:
    """Moves after which all playouts of a state come to the same goal."""
    return {
        move
        for move in expected
        if all(len(spread(at.game, at.role, state, move)) == 1 for state in states_of(at))
    }


def scores_of(
    estimates: Mapping[str, Told], expected: Values, constant: Container[str] = ()
) -> Iterable[float]:
    """How many errors estimates are off, each of those that vary; the others must be right.

    Args:
        alike: moves that do not vary, even if an error is told.
    """
    assert estimates.keys() == expected.keys()
    for move, (value, error) in estimates.items():
        if error > 0 and move not in constant:
            yield (value - float(expected[move])) / error
        else:
            assert value == pytest.approx(float(expected[move])), move


def assert_standard(scores: list[float], minimum: int) -> None:
    """They have mean 0 and deviation 1, as far as so many can tell."""
    count = len(scores)
    assert count >= minimum
    assert abs(np.mean(scores)) < 3.5 / np.sqrt(count)
    assert np.std(scores) == pytest.approx(1, abs=3.5 / np.sqrt(2 * count))


def assert_best(decision: Decision, expected: Values) -> None:
    """The move chosen is one of the best, unless the errors explain that another one is."""
    errors = {value.move: value.stderr or 0.0 for value in decision.values}
    best = max(expected, key=lambda move: expected[move])
    short = float(expected[best] - expected[decision.move])
    assert short <= 4.5 * np.hypot(errors[best], errors[decision.move]) + 1e-9


class Enumerated:
    """A policy: the best HyperPlay move by values that are enumerated, equal ones by lot."""

    def __init__(self, at: Case, tree: PathTree, reference: Simulations) -> None:
        self._at, self._tree, self._reference = at, tree, reference
        self._moves: dict[int, IntArray] = {}

    def __call__(self, bags: Bags, rng: np.random.Generator) -> IntArray:
        player = self._at.game.roles.index(self._at.machine.roles[bags.role])
        return np.array([rng.choice(self._best(player, node)) for node in bags.paths.tolist()])

    def _best(self, player: int, node: int) -> IntArray:
        if node not in self._moves:
            path = plain_path(self._at, self._tree, node)
            lot = self._reference.choice(player, path).lot
            self._moves[node] = np.array([self._at.machine.move_id(move) for move in lot])
        return self._moves[node]


class Played:
    """An evaluation that knows the mean of all playouts."""

    certain = True

    def __init__(self, at: Case) -> None:
        numbers = {fluents: state for state, fluents in at.game.fluents.items()}
        value_of: dict[int, Fraction] = {}

        def value(fluents: tuple[str, ...]) -> float:
            return float(playout_value(at.game, numbers[fluents], at.role, value_of))

        self._machine, self._value = at.machine, value

    def values(
        self, states: States, role: int, rng: object, deadline: object = None
    ) -> tuple[FloatArray, IntArray]:
        worths = [self._value(fluents) for fluents in self._machine.fluents(states)]
        return np.array(worths), np.ones(len(states), dtype=np.int64)


def simulated(at: Case, tree: PathTree, policy: Policy, seed: int) -> dict[str, Told]:
    """HyperPlay-II values of the moves, with whole information sets for everybody."""
    nested = HyperPlaySampler(at.machine, tree, capacity=1, exact=10_000)
    bag = exact_bag(at, tree, keep_views=True)
    rng = np.random.default_rng(seed)
    search = SimulationSearch(Simulator(at.machine, nested, policy), bag, rng)
    search.round(SIMULATIONS)
    return by_move(at, search.estimates())


# ---------------------------------------------------------------- HyperPlay and HyperPlay-II


@some_games
def test_hyperplay_chooses_a_best_move(seeds: range) -> None:
    scores = list[float]()
    for seed in seeds:
        at = odd_case(seed)
        decision = decided(at, "hyperplay:particles=1,playouts=2000,risk=play", seed)
        expected = hyperplay_values(at.game, at.role, states_of(at))
        assert_best(decision, expected)
        scores += scores_of(values_and_errors(decision), expected, played_alike(at, expected))
    assert_standard(scores, len(seeds))


@pytest.mark.verify
@some_games
def test_simulations_are_right_on_average(seeds: range) -> None:
    """Simulated roles choose by exact values, so that only random draws vary."""
    scores = list[float]()
    for seed in seeds:
        at = odd_case(seed)
        tree, reference = PathTree(at.machine), Simulations(at.game, at.role)
        estimates = simulated(at, tree, Enumerated(at, tree, reference), seed)
        scores += scores_of(estimates, reference.values(at.path))
    assert_standard(scores, len(seeds))


@pytest.mark.verify
@some_games
def test_simulations_by_playouts_are_right_where_choices_are_clear(seeds: range) -> None:
    """With playouts close choices fall as they like, so only games without any are compared."""
    scores, clear = list[float](), 0
    for seed in seeds:
        at = odd_case(seed)
        reference = Simulations(at.game, at.role)
        expected = reference.values(at.path)
        if not is_clear(reference, POLICY_PLAYOUTS):
            continue
        clear += 1
        policy = HyperPlayPolicy(at.machine, POLICY_PLAYOUTS)
        scores += scores_of(simulated(at, PathTree(at.machine), policy, seed), expected)
    assert clear >= len(seeds) // 8
    assert_standard(scores, len(seeds) // 4)


@pytest.mark.verify
@some_games
def test_hyperplay2_chooses_a_best_move(seeds: range) -> None:
    """By its own counts, which with n=30 are 900 simulations, and 900 playouts in each."""
    num_best = 0
    for seed in seeds:
        at = odd_case(seed)
        reference = Simulations(at.game, at.role)
        expected = reference.values(at.path)
        if len(expected) > 1 and is_clear(reference, 900):
            assert_best(decided(at, "hyperplay2:n=30,exact=10000,risk=play", seed), expected)
            num_best += 1
    assert num_best >= len(seeds) // 8


def is_clear(reference: Simulations, playouts: int) -> bool:
    """Whether so many playouts tell apart all moves that simulated roles have to choose from.

    Moves that are alike in every state are each found the best as often as the others.
    """
    margin = ERRORS * np.sqrt(2) * 50 / np.sqrt(playouts)
    return all(
        choice.is_even and (choice.margin is None or choice.margin > margin)
        for choice in reference.choices
    )


# ---------------------------------------------------------------- worlds that everybody sees


@some_games
def test_pimc_knows_what_open_worlds_are_worth(seeds: range) -> None:
    for seed in seeds:
        at = odd_case(seed)
        decision = decided(at, "pimc:exact=10000,risk=play")
        expected = pimc_values(at.game, at.role, states_of(at))
        assert values_of(decision) == pytest.approx(as_floats(expected)), seed
        assert_best(decision, expected)


# ---------------------------------------------------------------- information sets


@pytest.mark.parametrize("player", ["over", "para"])
@some_games
def test_games_looked_through_to_their_ends_are_worth_what_may_follow(
    seeds: range, player: str
) -> None:
    for seed in seeds:
        at = odd_case(seed)
        spec = f"{player}:depth={WHOLE},tries=0,histories=10000,exact=10000,risk=play"
        decision = decided(at, spec)
        plies = Plies(at.game, at.role, no_leaf, is_paranoid=player == "para")
        expected = plies.moves(states_of(at), WHOLE)
        assert values_of(decision) == pytest.approx(as_floats(expected)), seed
        assert_best(decision, expected)


@pytest.mark.parametrize("paranoid", [False, True], ids=["over", "para"])
@pytest.mark.parametrize("depth", [1, 2])
@some_games
def test_information_sets_are_worth_what_is_seen_some_plies_ahead(
    seeds: range, depth: int, paranoid: bool
) -> None:
    """With exact values of states: with random ones, the best of several is too good."""
    for seed in seeds:
        at = odd_case(seed)
        bag, evaluation = exact_bag(at, PathTree(at.machine)), Played(at)
        rng = np.random.default_rng(seed)
        look_ahead = LookAhead(depth, paranoid)
        search = InformationSetSearch(at.machine, bag, rng, look_ahead, evaluation=evaluation)
        search.round(10_000)
        value_of: dict[int, Fraction] = {}

        def leaf(state: int, at: Case = at, value_of: dict[int, Fraction] = value_of) -> Fraction:
            return playout_value(at.game, state, at.role, value_of)

        plies = Plies(at.game, at.role, leaf, is_paranoid=paranoid)
        expected = plies.moves(states_of(at), depth)
        estimates = {move: value for move, (value, _) in by_move(at, search.estimates()).items()}
        assert estimates == pytest.approx(as_floats(expected)), seed


@some_games
def test_overconfident_values_a_ply_ahead_are_right_on_average(seeds: range) -> None:
    """A ply ahead nothing is the best of several; states are played out."""
    scores = list[float]()
    for seed in seeds:
        at = odd_case(seed)
        decision = decided(at, "over:depth=1,tries=0,histories=2000,exact=10000,risk=play", seed)
        value_of: dict[int, Fraction] = {}

        def leaf(state: int, at: Case = at, value_of: dict[int, Fraction] = value_of) -> Fraction:
            return playout_value(at.game, state, at.role, value_of)

        expected = Plies(at.game, at.role, leaf, is_paranoid=False).moves(states_of(at), 1)
        scores += scores_of(values_and_errors(decision), expected, played_alike(at, expected))
        assert_best(decision, expected)
    assert_standard(scores, len(seeds) // 2)
