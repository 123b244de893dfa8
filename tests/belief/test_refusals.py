"""Beliefs after moves that a role did not choose: what a refusal says about the state."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from ggp.belief import DRAWN, Bags, HyperPlaySampler, PathTree
from ggp.belief.samplers.last_observation import LastObservation
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, IntArray
from ggp.players import BeliefPlayer, make_player, parse_spec
from ggp.search.simulations import Simulator
from tests.support.games import machine_of_rules
from tests.support.plain.enumeration import Fluents, distance, joint_moves

SEER = 1


def doors(numbers: int, turns: int = 4) -> str:
    """Random picks a door that the seer does not see; a narrower one leaves it fewer moves.

    In every turn but the last the other role picks one of many numbers; the seer then learns
    whether that was a low one. Half of the numbers are low where the door is narrow, all are
    where it is not. They are forgotten at once, so that many completions lead to one state.
    """
    width = {"narrow": 1, "wide": 4, "open": 5}
    legal = "".join(f"(way {d} {w}) " for d, n in width.items() for w in range(1, n + 1))
    low = "".join(f"(low narrow {i}) " for i in range(0, numbers, 2))
    low += "".join(f"(low {d} {i}) " for d in ("wide", "open") for i in range(numbers))
    succ = "".join(f"(succ {i} {i + 1}) " for i in range(turns))
    return f"""
    (role random) (role seer) (role other) (init (at 0)) {legal} {low} {succ}
    (door narrow) (door wide) (door open) {"".join(f"(number {i}) " for i in range(numbers))}
    (<= (legal random (pick ?d)) (door ?d) (true (at 0)))
    (<= (legal random noop) (not (true (at 0))))
    (<= (legal seer wait) (true (at 0)))
    (<= (legal seer (go ?w)) (true (door ?d)) (way ?d ?w))
    (<= (legal other (choose ?n)) (number ?n))
    (<= (sees seer low) (does other (choose ?n)) (true (door ?d)) (low ?d ?n))
    (<= (next (door ?d)) (does random (pick ?d)))
    (<= (next (door ?d)) (true (door ?d)))
    (<= (next (went ?w)) (does seer (go ?w)))
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= terminal (true (at {turns})))
    (<= (goal seer 100) (true (went 5))) (<= (goal seer 0) (not (true (went 5))))
    (goal random 0) (goal other 0)
    """


class Turn(NamedTuple):
    """The seer's part of a turn; `refused` is "drawn" if the move was drawn for another reason, and
    without a move it is the one that was submitted."""

    move: str | None
    percepts: tuple[str, ...] | None = ()
    refused: str | None = None


WAIT = Turn("wait")
REFUSED = Turn("(go 1)", ("low",), "(go 5)")
DRAWN_ONE = Turn("(go 1)", ("low",), "drawn")
CHOSEN = Turn("(go 1)", ("low",))
MATCHES: list[list[Turn]] = [
    [WAIT, CHOSEN],
    [WAIT, REFUSED],
    [WAIT, DRAWN_ONE],
    [WAIT, REFUSED, CHOSEN],
    [WAIT, DRAWN_ONE, REFUSED],
    [WAIT, Turn("(go 1)", None, "(go 5)"), DRAWN_ONE],
    [WAIT, Turn(None, ("low",), "(go 5)")],
    [WAIT, Turn(None, None, "(go 3)"), REFUSED],
]


def posterior(machine: Machine, turns: Sequence[Turn]) -> dict[Fluents, float]:
    """The definition, one state at a time; equal states are merged after each turn."""
    layer = {machine.fluents(machine.initial(1))[0]: (machine.initial(1), Fraction(1))}
    for turn in turns:
        old_layer, layer = layer, {}
        for state, weight in old_layer.values():
            our_moves = [machine.move_text(m) for m in machine.legal(state, SEER).values.tolist()]
            move, is_chosen = turn.move, turn.refused is None
            if turn.refused in our_moves:
                if move is not None:
                    continue
                move, is_chosen = turn.refused, True
            for row, prior in joint_moves(machine, state):  # each of ours is as likely as any
                if move not in (None, machine.move_text(row[SEER])):
                    continue
                stepped = machine.step(state, np.array([row]))
                seen = machine.percept_texts(int(stepped.percepts[0, SEER]))
                if turn.percepts not in (None, seen) or machine.terminal(stepped.states)[0]:
                    continue
                mass = weight * prior * (len(our_moves) if is_chosen else 1)
                fluents = machine.fluents(stepped.states)[0]
                _, old_mass = layer.get(fluents, (state, Fraction(0)))
                layer[fluents] = stepped.states, old_mass + mass
    total = sum(weight for _, weight in layer.values())
    return {fluents: float(weight / total) for fluents, (_, weight) in layer.items()}


def arrays(machine: Machine, turn: Turn) -> tuple[IntArray, IntArray, IntArray]:
    """Moves, percepts and refused of one bag."""
    percepts = UNKNOWN if turn.percepts is None else machine.percept_id(turn.percepts)
    refused: int | None = UNKNOWN
    if turn.refused is not None:
        refused = DRAWN if turn.refused == "drawn" else machine.move_id(turn.refused)
    move = UNKNOWN if turn.move is None else machine.move_id(turn.move)
    return np.array([move]), np.array([percepts]), np.array([refused])


def bag_of(
    machine: Machine, turns: Sequence[Turn], *, capacity: int, exact: int, seed: int
) -> tuple[HyperPlaySampler, Bags]:
    belief = HyperPlaySampler(machine, PathTree(machine), capacity=capacity, exact=exact)
    rng = np.random.default_rng(seed)
    bag = belief.start(SEER)
    for turn in turns:
        move, percepts, refused = arrays(machine, turn)
        bag = belief.advance(bag, move, percepts, rng, refused)
    return belief, bag


def distribution(machine: Machine, bag: Bags) -> dict[Fluents, float]:
    states = machine.fluents(bag.states_of(0))
    return dict(zip(states, bag.weights_of(0).tolist(), strict=True))


def test_the_definition_matches_values_worked_out_by_hand() -> None:
    machine = machine_of_rules(doors(4))
    weights = posterior(machine, [WAIT, Turn("(go 1)", None, "(go 5)")])
    assert sorted(weights.values()) == pytest.approx([1 / 5, 4 / 5])
    weights = posterior(machine, [WAIT, Turn("(go 1)", None, "drawn")])
    total = 1 + 1 / 4 + 1 / 5
    assert sorted(weights.values()) == pytest.approx([0.2 / total, 0.25 / total, 1 / total])
    weights = posterior(machine, [WAIT, Turn(None, None, "(go 5)")])
    assert sorted(weights.values()) == pytest.approx([1 / 12] * 4 + [1 / 3] * 2)


@pytest.mark.parametrize("turns", MATCHES)
class TestBags:
    def test_exact_bag_is_the_posterior(self, turns: list[Turn]) -> None:
        machine = machine_of_rules(doors(4))
        belief, bag = bag_of(machine, turns, capacity=1, exact=100, seed=0)
        fresh = HyperPlaySampler(machine, belief.tree, capacity=1, exact=100)
        rebuilt = fresh.at(bag.paths, SEER, np.random.default_rng(0))
        for variant in (bag, rebuilt):
            assert variant.exact[0]
            assert distribution(machine, variant) == pytest.approx(posterior(machine, turns))

    @pytest.mark.parametrize("numbers", [4, 300])  # 300 completions are drawn, not listed
    def test_sampled_bag_that_holds_all_states_is_nearly_the_posterior(
        self, turns: list[Turn], numbers: int
    ) -> None:
        machine = machine_of_rules(doors(numbers), "propnet")
        expected = posterior(machine, turns)
        mean = dict.fromkeys(expected, 0.0)
        trials = 20
        for seed in range(trials):
            belief, bag = bag_of(machine, turns, capacity=64, exact=0, seed=seed)
            if seed % 2:  # drawn again from the start
                bag = belief.at(bag.paths, SEER, np.random.default_rng(seed))
            for state, weight in distribution(machine, bag).items():
                mean[state] += weight / trials
        assert distance(mean, expected) < (1e-9 if numbers == 4 else 0.08)


@pytest.mark.parametrize("turns", [turns for turns in MATCHES if all(turn.move for turn in turns)])
def test_states_that_thinning_leaves_keep_their_odds(turns: list[Turn]) -> None:
    machine = machine_of_rules(doors(4))
    expected = posterior(machine, turns)
    for seed in range(10):
        # Three doors, as likely as each other, in a bag of two: one is dropped at once.
        _, bag = bag_of(machine, turns, capacity=2, exact=0, seed=seed)
        weights = distribution(machine, bag)
        total = sum(expected[state] for state in weights)
        odds = {state: expected[state] / total for state in weights}
        assert weights == pytest.approx(odds)


def test_last_observations_hold_what_was_submitted_in_earlier_turns() -> None:
    machine = machine_of_rules(
        """
        (role other) (role seer) (init (at 0)) (way 1) (way 2) (way 3) (succ 0 1) (succ 1 2)
        (succ 2 3) (<= (legal seer (go ?w)) (way ?w)) (legal other a) (legal other b)
        (<= (next (went ?n ?w)) (does seer (go ?w)) (true (at ?n)))
        (<= (next (went ?n ?w)) (true (went ?n ?w)))
        (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n)) (<= terminal (true (at 3)))
        (<= (sees seer ?x) (does other ?x)) (goal seer 50) (goal other 50)
        """,
        "propnet",
    )
    belief = LastObservation(machine, PathTree(machine), capacity=16, max_attempts=1_000)
    bag, rng = belief.start(SEER), np.random.default_rng(0)
    for _ in range(2):
        move, percepts, submitted = arrays(machine, Turn(None, ("a",), "(go 1)"))
        bag = belief.advance(bag, move, percepts, rng, submitted)
    boards = machine.fluents(bag.states_of(0))
    assert boards
    assert all({"(went 0 1)", "(went 1 1)"} <= set(board) for board in boards)


def test_paths_that_differ_in_how_the_move_came_about_are_distinct() -> None:
    machine = machine_of_rules(doors(4))
    belief, bag = bag_of(machine, [WAIT], capacity=1, exact=100, seed=0)
    rng = np.random.default_rng(0)
    bags = belief.at(np.repeat(bag.paths, 3), SEER, rng)
    columns = [arrays(machine, turn) for turn in (CHOSEN, REFUSED, DRAWN_ONE)]
    moves, percepts, refused = (np.concatenate(column) for column in zip(*columns, strict=True))
    bags = belief.advance(bags, moves, percepts, rng, refused)
    for number, turn in enumerate((CHOSEN, REFUSED, DRAWN_ONE)):
        single = bags.select(np.array([number]))
        assert distribution(machine, single) == pytest.approx(posterior(machine, [WAIT, turn]))
    last_turns = [belief.tree.texts(int(path))[-1] for path in bags.paths]
    assert last_turns == ["(go 1) / (low)", "(go 1) / (low) / not (go 5)", "(go 1) / (low) / drawn"]


@pytest.mark.parametrize("choice", ["(go 5)", None])
def test_a_simulated_role_learns_from_the_move_it_got_instead_of_its_own(
    choice: str | None,
) -> None:
    """A role that chooses nothing, such as one without particles, has a move drawn for it."""
    machine = machine_of_rules(doors(4))
    tree = PathTree(machine)
    belief = HyperPlaySampler(machine, tree, capacity=1, exact=100)
    calls: list[tuple[int, list[str], dict[Fluents, float]]] = []

    def policy(bags: Bags, rng: np.random.Generator) -> IntArray:
        for bag in range(len(bags)):
            single = bags.select(np.array([bag]))
            weights = distribution(machine, single)
            calls.append((bags.role, tree.texts(int(single.paths[0])), weights))
        if bags.role != SEER:
            return np.full(len(bags), machine.move_id("(choose 0)"))
        move = UNKNOWN if choice is None else machine.move_id(choice)
        return np.full(len(bags), move)

    lanes = 60
    wait = np.full(lanes, machine.move_id("wait"))
    views = np.tile(np.arange(3), (lanes, 1))
    simulator = Simulator(machine, belief, policy)
    simulator.run(machine.initial(lanes), views, SEER, wait, np.random.default_rng(0))
    end = "drawn" if choice is None else "not (go 5)"
    seer_path = ["wait / ()", f"(go 1) / (low) / {end}"]
    distributions = [weights for role, path, weights in calls if role == SEER and path == seer_path]
    assert len(distributions) > 5
    turn = Turn("(go 1)", ("low",), "drawn" if choice is None else choice)
    for weights in distributions:
        assert weights == pytest.approx(posterior(machine, [WAIT, turn]))


@pytest.mark.parametrize(
    ("submitted", "in_time", "turn"),
    [
        ("(go 1)", True, CHOSEN),
        ("(go 1)", False, CHOSEN),  # the server took it, late or not
        (None, True, CHOSEN),  # nobody said that it was not ours
        ("(go 5)", True, REFUSED),
        ("(GO 5)", True, REFUSED),
        ("(go 5)", False, DRAWN_ONE),  # it may have been legal, but late
        ("(jump 1)", True, DRAWN_ONE),  # legal nowhere, so that it tells nothing
        (None, False, DRAWN_ONE),  # we did not answer
        ("(go 5)", True, Turn(None, ("low",), "(go 5)")),  # executed if it was legal
    ],
)
@pytest.mark.parametrize("spec", ["hyperplay:n=2", "hyperplay2:n=2"])
def test_a_player_tells_its_own_moves_from_those_drawn_for_it(
    spec: str, submitted: str | None, in_time: bool, turn: Turn
) -> None:
    machine = machine_of_rules(doors(4))
    player = make_player(parse_spec(spec), machine, SEER, np.random.default_rng(0))
    assert isinstance(player, BeliefPlayer)
    player.observe("wait", [], submitted="wait")
    player.observe(turn.move, turn.percepts, submitted=submitted, in_time=in_time)
    weights: dict[Fluents, float] = {}
    bag = player.tracker.bag
    for state, weight in zip(
        machine.fluents(bag.states_of(0)), bag.weights_of(0).tolist(), strict=True
    ):
        weights[state] = weights.get(state, 0.0) + weight
    assert weights == pytest.approx(posterior(machine, [WAIT, turn]))
