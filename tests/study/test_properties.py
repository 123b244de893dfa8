"""Properties of games: walks, information sets and clairvoyant values against plain twins."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import PathTree
from ggp.machine import Machine
from ggp.study.matches import (
    Decisions,
    KnownSets,
    decisions_of,
    is_equal,
    pre_terminal_nodes,
    random_matches,
)
from ggp.study.properties import (
    Properties,
    gap_of,
    measure_gaps,
    measure_properties,
    shares_left,
    views_of,
)
from tests.support.games import machine_of_game, machine_of_rules
from tests.support.plain.clairvoyant import TWO_AT_ONCE
from tests.support.plain.enumeration import Path, complete_paths

MOVER_WINS = """
(role x) (role y)
(init (control x 1))
(init (control y 0))
(<= (legal x a) (true (control x 1)))
(<= (legal x b) (true (control x 1)))
(<= (legal x noop) (true (control x 0)))
(<= (legal y a) (true (control y 1)))
(<= (legal y b) (true (control y 1)))
(<= (legal y noop) (true (control y 0)))
(<= (next (control x 0)) (true (control x 1)))
(<= (next (control y 1)) (true (control x 1)))
(<= (next (control x 0)) (true (control y 1)))
(<= (next over) (true (control y 1)))
(<= terminal (true over))
(goal x 0)
(goal y 100)
"""
"""x moves, then y, who wins whatever it does."""


MOST = 100_000
"""Joint moves that are enough to solve the games here."""


def fast(name: str) -> Machine:
    return machine_of_game(name, "propnet")


# ---------------------------------------------------------------- walks


def test_walks_stop_where_every_move_ends_the_game() -> None:
    nodes = pre_terminal_nodes(fast("kuhn_poker"), 600, np.random.default_rng(0))
    assert len(nodes) == nodes.walks == 600
    assert (np.diff(nodes.offsets) == 2).all()
    assert not nodes.by_chance.any()
    assert not nodes.cut.any()
    assert (nodes.decides.sum(axis=1) == 1).all()
    goals = nodes.goals.reshape(600, 2, 3)
    # Half of the walks begin with a bet, that player 2 faces; the others check and bet.
    assert nodes.decides[:, 1].mean() == pytest.approx(0.5, abs=0.1)
    facing = goals[np.arange(600), :, nodes.decides.argmax(axis=1)]
    assert {tuple(sorted(pair)) for pair in facing.tolist()} == {(0.0, 25.0), (25.0, 100.0)}


def test_forced_turns_are_no_nodes_and_choices_at_once_are_one() -> None:
    machine = machine_of_rules(TWO_AT_ONCE)
    nodes = pre_terminal_nodes(machine, 5, np.random.default_rng(0))
    assert (np.diff(nodes.offsets) == 4).all()
    assert nodes.decides.all()
    for children in nodes.goals[:, 0].reshape(5, 4):
        assert sorted(children) == [0, 0, 100, 100]
    assert not is_equal(nodes, nodes.goals[:, 0]).any()
    assert is_equal(nodes, nodes.goals[:, 1]).all()


def test_chance_after_the_last_move_is_noted() -> None:
    properties = measure_properties(fast("meier"), 50, 0)
    assert any("chance has a say after the last move" in note for note in properties.notes)


def test_correlation_where_the_mover_always_wins_means_nothing() -> None:
    properties = measure_properties(machine_of_rules(MOVER_WINS), 20, 0)
    assert properties.roles["x"].leaf_correlation == 1
    assert (properties.roles["x"].bias, properties.roles["y"].bias) == (0, 1)
    assert any("it ends with the mover's win" in note for note in properties.notes)


# ---------------------------------------------------------------- gaps


def test_a_role_that_must_match_the_world_gains_from_knowing_it() -> None:
    table = np.array([[100.0, 0.0], [0.0, 100.0]])
    assert gap_of([table, table], np.array([0.5, 0.5])) == 50


def test_noise_opens_no_gap() -> None:
    rng = np.random.default_rng(0)
    weights = np.full(8, 1 / 8)
    gaps = [gap_of(list(rng.normal(size=(2, 8, 5))), weights) for _ in range(500)]
    assert np.mean(gaps) == pytest.approx(0, abs=0.1)  # the best of 5 is 1.16 above the mean


def test_gap_of_kuhn_poker_is_that_of_a_queen_that_faces_a_bet() -> None:
    machine = fast("kuhn_poker")
    tree = PathTree(machine)
    turns = random_matches(machine, tree, 300, np.random.default_rng(1))
    sets = KnownSets(machine, tree, 100)
    for role in range(2):
        decisions = decisions_of(role, turns)
        views = views_of(sets, role, decisions, np.random.default_rng(2), MOST)
        texts = [" ".join(tree.texts(path)) for path in decisions.paths.tolist()]
        faces = np.array(["queen" in text and " (bet)" in text.split("/")[-1] for text in texts])
        # Folded 25; called 100 against the jack, 0 against the king: 62.5 for who knows, else 50.
        assert views.gaps == pytest.approx(np.where(faces, 12.5, 0.0))
        assert (views.sizes == 2).all()
        assert views.solved


# ---------------------------------------------------------------- information sets


def share_by_enumeration(
    machine: Machine, tree: PathTree, role: int, node: int, earlier_turn: int
) -> tuple[float, int]:
    """The remaining share of the set at turn `earlier_turn`, by listing complete paths."""
    path: Path = []
    for (turn_node,) in tree.beginnings(np.array([node]))[1:]:
        move, percepts, _ = tree.last_turns(np.array([turn_node]))[0].tolist()
        path.append((machine.move_text(move), machine.percept_texts(percepts)))

    def states(length: int) -> set[tuple[str, ...]]:
        """States at turn `before` of all complete paths that agree with so many turns."""
        fluents = set()
        for _, _, turns in complete_paths(machine, role, path[:length]):
            state = machine.initial(1)
            for row, _ in turns[:earlier_turn]:
                state = machine.step(state, np.array([row])).states
            fluents.add(machine.fluents(state)[0])
        return fluents

    return len(states(len(path))) / len(states(earlier_turn)), len(states(earlier_turn))


@pytest.mark.parametrize(
    ("game", "role", "last"),
    [
        ("exploding_bomb", "agent", 9),
        ("monty_hall", "candidate", 9),
        ("krieg_tic_tac_toe", "xplayer", 4),
        ("krieg_tic_tac_toe", "oplayer", 5),
    ],
)
def test_the_remaining_share_of_a_set_agrees_with_enumeration(
    game: str, role: str, last: int
) -> None:
    machine = fast(game)
    number = machine.roles.index(role)
    tree = PathTree(machine)
    turns = random_matches(machine, tree, 40, np.random.default_rng(3))
    sets = KnownSets(machine, tree, 1000)
    decisions = decisions_of(number, turns)
    pairs = decisions.take(np.flatnonzero((decisions.before >= 0) & (decisions.turns <= last)))
    pairs = pairs.sample(5, np.random.default_rng(0))
    assert len(pairs)
    shares, sizes = shares_left(sets, number, pairs)
    for row in range(len(pairs)):
        node, earlier_turn = int(pairs.paths[row]), int(pairs.before[row])
        expected = share_by_enumeration(machine, tree, number, node, earlier_turn)
        assert (shares[row], sizes[row]) == pytest.approx(expected)


def test_sets_that_are_too_large_are_left_out() -> None:
    machine = fast("krieg_tic_tac_toe")
    tree = PathTree(machine)
    turns = random_matches(machine, tree, 10, np.random.default_rng(3))
    sets = KnownSets(machine, tree, 2)
    decisions = decisions_of(0, turns)
    pairs = decisions.take(np.flatnonzero(decisions.before >= 4))
    shares, sizes = shares_left(sets, 0, pairs)
    assert np.isnan(shares[sizes == 0]).all()
    assert (sizes == 0).any()
    assert not np.isnan(shares[sizes > 0]).any()


def test_a_decision_knows_the_one_before_it() -> None:
    machine = fast("tic_tac_toe")
    turns = random_matches(machine, PathTree(machine), 3, np.random.default_rng(0))
    decisions: Decisions = decisions_of(0, turns)
    first = decisions.turns == 0
    assert (decisions.before[first] == -1).all()
    assert (decisions.before[~first] == decisions.turns[~first] - 2).all()


# ---------------------------------------------------------------- all together


@pytest.mark.parametrize("seed", range(3))
def test_properties_of_kuhn_poker(seed: int) -> None:
    properties = measure_properties(fast("kuhn_poker"), 2000, seed)
    for role in ("player1", "player2"):
        figures = properties.roles[role]
        assert figures.leaf_correlation == pytest.approx(0.5, abs=0.05)
        assert figures.bias == pytest.approx(0.5, abs=0.05)
        assert figures.disambiguation == 0
        assert figures.leaf_correlation_goals == 0
        assert figures.information_sets.mean == 2
    assert set(properties.roles) == {"player1", "player2"}


def test_a_seed_measures_the_same() -> None:
    def measure(seed: int) -> Properties:
        return measure_properties(fast("number_guessing"), 20, seed)

    assert measure(1) == measure(1)
    assert measure(1) != measure(2)


def test_sets_that_cannot_shrink_are_noted() -> None:
    properties = measure_properties(fast("tic_tac_toe"), 50, 0)
    assert properties.roles["xplayer"].clairvoyance_gap == 0
    assert properties.roles["xplayer"].information_sets.singletons == 1
    text = "disambiguation of xplayer means nothing: it always knows the state"
    assert any(note.startswith(text) for note in properties.notes)


def test_asking_disambiguates_the_bomb_and_waiting_does_not() -> None:
    properties = measure_properties(fast("exploding_bomb"), 500, 0)
    # Half of the time it asks, and then one of two states is left.
    assert properties.roles["agent"].disambiguation == pytest.approx(0.25, abs=0.05)


def test_a_role_without_a_choice_has_no_figures() -> None:
    rules = MOVER_WINS.replace("(<= (legal x b) (true (control x 1)))", "")
    properties = measure_properties(machine_of_rules(rules), 20, 0)
    x = properties.roles["x"]
    assert (x.disambiguation, x.clairvoyance_gap, x.ties) == (None, None, None)
    assert any(note.startswith("x never has a choice") for note in properties.notes)


@pytest.mark.parametrize(("game", "role"), [("exploding_bomb", "agent"), ("kuhn_poker", "player1")])
def test_gaps_alone_are_those_of_the_properties(game: str, role: str) -> None:
    gap = measure_gaps(fast(game), 500, 500, 1000, seed=0)[role]
    expected = measure_properties(fast(game), 500, 0).roles[role].clairvoyance_gap
    assert gap == pytest.approx(expected, abs=2)
