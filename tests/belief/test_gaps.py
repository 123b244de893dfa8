"""Particles go on through gaps: turns of which neither our move nor our percepts are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler, PathTree
from ggp.belief.finding.earlier import Forward
from ggp.belief.solving import finder
from ggp.machine import Machine
from tests.belief.solving.test_solving import turns_of, window_of
from tests.belief.test_bags import distribution, move_array, percept_array
from tests.support.games import machine_of_rules
from tests.support.plain.enumeration import Fluents, Path

KNOWN = 2
"""Turns before the gap."""

LONG = 10
"""Turns of a gap that is too long for a bag of 16: of 2^10 states one agrees in the end."""


def locks(number: int) -> str:
    """`number` locks, one a turn: a lock opens if exactly one of two roles pushes, unseen.

    Then percepts reveal one lock a turn, if it is open.
    """
    return (
        "(role smith) (role ghost) (init (at 0)) "
        + "".join(f"(after {k} {k + 1}) " for i in range(2) for k in range(i, 2 * number + 1, 2))
        + "".join(f"(early {k}) (reveals {number + k} {k}) " for k in range(number))
        + f"""
        (<= pushing (true (at ?n)) (early ?n))
        (<= (legal smith push) pushing) (<= (legal smith rest) pushing)
        (<= (legal ghost push) pushing) (<= (legal ghost rest) pushing)
        (<= (legal ghost hide) pushing)
        (<= (legal ?r wait) (role ?r) (not pushing))
        (<= (next (at ?n)) (true (at ?m)) (after ?m ?n))
        (<= (next (open ?n)) (true (at ?n)) (does smith push) (not (does ghost push)))
        (<= (next (open ?n)) (true (at ?n)) (does smith rest) (does ghost push))
        (<= (next (open ?n)) (true (open ?n)))
        (<= (sees smith open) (true (at ?m)) (reveals ?m ?n) (true (open ?n)))
        (<= terminal (true (at {2 * number + 1}))) (<= (goal ?r 50) (role ?r))
        """
    )


def path_of(number: int, seed: int) -> tuple[Path, list[bool]]:
    """The smith's path with a gap, and which locks are open."""
    rng = np.random.default_rng(seed)
    pushes, opens = rng.random(number) < 0.5, rng.random(number) < 1 / 3
    known_turns: Path = [("push" if push else "rest", ()) for push in pushes[:KNOWN]]
    is_open = (pushes ^ opens).tolist()
    seen: Path = [("wait", ("open",) if opened else ()) for opened in is_open]
    return [*known_turns, *[(None, None)] * (number - KNOWN), *seen], is_open


def chances(path: Path, number: int, num_revealed: int, is_open: list[bool]) -> list[float]:
    """The probability that each lock is open, after some of them were revealed."""
    by_move = {"push": 2 / 3, "rest": 1 / 3, None: 1 / 2}
    return [float(is_open[k]) if k < num_revealed else by_move[path[k][0]] for k in range(number)]


def every_state(at: int, chances: list[float]) -> dict[Fluents, float]:
    """All states and their probabilities, by enumeration."""
    weights: dict[Fluents, float] = {}
    for bits in product([False, True], repeat=len(chances)):
        weight = float(np.prod([p if bit else 1 - p for p, bit in zip(chances, bits, strict=True)]))
        if weight:
            fluents = [f"(at {at})", *(f"(open {k})" for k, bit in enumerate(bits) if bit)]
            weights[tuple(sorted(fluents))] = weight
    return weights


def followed(machine: Machine, path: Path, *, exact: int, capacity: int = 16) -> list[Bags]:
    """The bags of a path, turn by turn, as of a player without a clock."""
    belief = HyperPlaySampler(
        machine, PathTree(machine), capacity=capacity, exact=exact, follows=True, solves=True
    )
    rng, bags = np.random.default_rng(0), [belief.start(0)]
    for turn in path:
        move, percepts = move_array(machine, turn[0]), percept_array(machine, turn[1])
        bags.append(belief.advance(bags[-1], move, percepts, rng))
    return bags


@pytest.mark.parametrize("gap", [1, 3, 8])
def test_small_sets_are_enumerated_through_a_gap(gap: int) -> None:
    number = KNOWN + gap
    machine, (path, is_open) = machine_of_rules(locks(number), "propnet"), path_of(number, gap)
    for turn, bag in enumerate(followed(machine, path, exact=2_000)[number:], start=number):
        assert bag.exact[0]
        truth = every_state(turn, chances(path, number, turn - number, is_open))
        weights = {tuple(sorted(state)): p for state, p in distribution(machine, bag).items()}
        assert weights == pytest.approx(truth)


@pytest.mark.parametrize("solves", [True, False])
def test_large_sets_are_sampled_and_corrected_by_later_percepts(
    solves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "is_solvable", lambda machine: solves)
    number = KNOWN + LONG
    machine, (path, is_open) = machine_of_rules(locks(number), "propnet"), path_of(number, LONG)
    for turn, bag in enumerate(followed(machine, path, exact=0)[number:], start=number):
        truth = chances(path, number, turn - number, is_open)
        states = machine.fluents(bag.states_of(0))
        assert states, turn
        for state in states:
            for k, chance in enumerate(truth):
                assert chance not in (0.0, 1.0) or (f"(open {k})" in state) == bool(chance)


def test_what_died_is_solved_for_before_anything_is_drawn_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Under a clock, drawing from the last exact set took all of it, turn after turn.
    monkeypatch.setattr(Forward, "sample_paths", lambda *_: pytest.fail("it draws"))
    number = KNOWN + LONG
    machine, (path, _) = machine_of_rules(locks(number), "propnet"), path_of(number, LONG)
    tree, node = PathTree(machine), np.array([0])
    belief = HyperPlaySampler(machine, tree, capacity=16, exact=0, follows=True, solves=True)
    for turn in path[: -LONG // 2]:
        node = tree.extend(node, move_array(machine, turn[0]), percept_array(machine, turn[1]))
    belief.timed = True
    assert not belief.at(node, 0, np.random.default_rng(0)).depleted[0]


def test_solutions_begin_like_paths_of_earlier_turns() -> None:
    number = KNOWN + 10
    machine, (path, _) = machine_of_rules(locks(number), "propnet"), path_of(number, 10)
    turns, rng = turns_of(machine, path), np.random.default_rng(0)
    window, budget = window_of(machine, 0, turns[: number + 7])
    near = window.witnesses(4, budget, rng)
    assert near is not None
    assert window.open(turns[: number + 8], budget)
    paths = window.witnesses(8, budget, rng, near)
    assert paths is not None
    revealed = slice(KNOWN, 7)  # locks that the near paths have seen
    repeats = [
        (moves[revealed] == near.moves[:, revealed]).all(axis=(1, 2)).any() for moves in paths.moves
    ]
    assert sum(repeats) >= len(repeats) / 4
    window.close()
