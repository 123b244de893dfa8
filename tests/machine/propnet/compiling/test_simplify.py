"""Ground rules keep their meaning without the atoms that are decided before play."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from ggp.machine.propnet.compile.ground_rules.simplify import (
    ALWAYS,
    NEVER,
    GroundRules,
    Simplified,
    simplify,
)

Rule = tuple[int, list[int]]


def simplified(rules: Sequence[Rule], inputs: Sequence[int] = ()) -> Simplified:
    return simplify(
        GroundRules(
            np.array([head for head, _ in rules], dtype=np.int32),
            np.array([len(body) for _, body in rules], dtype=np.int32),
            np.array([x for _, body in rules for x in body], dtype=np.int32),
        ),
        np.array(inputs, dtype=np.int32),
    )


def listed(rules: GroundRules) -> list[Rule]:
    ends = np.cumsum(rules.sizes).tolist()
    bodies = [
        rules.conditions[end - size : end].tolist()
        for end, size in zip(ends, rules.sizes.tolist(), strict=True)
    ]
    return list(zip(rules.heads.tolist(), bodies, strict=True))


def model(
    rules: Sequence[Rule], true_inputs: set[int], groups: Sequence[Sequence[int]]
) -> set[int]:
    """The atoms that hold, evaluated group after group."""
    true_atoms = set(true_inputs)
    for group in groups:
        for _ in group:
            for head, body in rules:
                if head in group and all((abs(x) in true_atoms) == (x > 0) for x in body):
                    true_atoms.add(head)
    return true_atoms


@pytest.mark.parametrize(
    ("rules", "inputs", "atoms"),
    [
        ([(1, [])], [], {1: ALWAYS}),
        ([(2, [1]), (1, [])], [], {1: ALWAYS, 2: ALWAYS}),
        ([(2, [1])], [], {1: NEVER, 2: NEVER}),
        ([(2, [-1])], [], {1: NEVER, 2: ALWAYS}),
        ([(1, []), (2, [-1]), (3, [-2])], [], {1: ALWAYS, 2: NEVER, 3: ALWAYS}),
        ([(2, [1]), (2, [])], [1], {1: 1, 2: ALWAYS}),
        ([(2, [1, -1]), (3, [-2])], [1], {1: 1, 2: NEVER, 3: ALWAYS}),
        ([(2, [2, 1]), (3, [2, 1])], [1], {1: 1, 2: NEVER, 3: NEVER}),
        ([], [1, 3], {1: 1, 2: NEVER, 3: 2}),
    ],
)
def test_decided_atoms_have_no_number(
    rules: list[Rule], inputs: list[int], atoms: dict[int, int]
) -> None:
    numbers = simplified(rules, inputs).atoms.tolist()
    assert {atom: numbers[atom] for atom in atoms} == atoms
    assert numbers[ALWAYS] == ALWAYS


@pytest.mark.parametrize(
    ("rules", "remaining"),
    [
        ([(3, [1, 2]), (3, [2, 1])], [(3, [1, 2])]),
        ([(3, [1, 2]), (4, [2, 1])], [(3, [1, 2]), (4, [1, 2])]),
        ([(3, [1, 1]), (3, [1])], [(3, [1])]),
        ([(3, [1]), (3, [-1])], [(3, [1]), (3, [-1])]),
        ([(3, [1, -1]), (3, [2])], [(3, [2])]),
        ([(3, [1, 3]), (3, [2])], [(3, [2])]),
        ([(3, [1, 4]), (3, [1, 5]), (4, []), (5, [])], [(3, [1])]),
        ([(3, [1, 4]), (3, [2, -4]), (4, [5, -5])], [(3, [2])]),
    ],
)
def test_repeated_and_useless_rules_go(rules: list[Rule], remaining: list[Rule]) -> None:
    assert listed(simplified(rules, [1, 2])) == remaining


@pytest.mark.parametrize("seed", range(100))
def test_random_rules_mean_the_same(seed: int) -> None:
    rng = random.Random(seed)
    inputs = [1, 2, 3]
    groups = [list(range(start, start + rng.randint(1, 3))) for start in range(4, 19, 3)]
    rules: list[Rule] = []
    for group in groups:
        for _ in range(rng.randint(0, 5)):
            below = [
                rng.choice((1, -1)) * rng.randrange(1, group[0]) for _ in range(rng.randint(0, 3))
            ]
            together = rng.sample(group, rng.randint(0, 1))
            rules.append((rng.choice(group), below + together))
    rng.shuffle(rules)
    smaller = simplified(rules, inputs)
    numbers = smaller.atoms.tolist()
    assert {abs(x) for x in smaller.conditions.tolist()} <= set(numbers) - {ALWAYS, NEVER}
    moved = [[numbers[atom] for atom in group if atom < len(numbers)] for group in groups]
    for true_inputs in ({1}, {2, 3}, {1, 2, 3}, set[int]()):
        atoms_before = model(rules, true_inputs, groups)
        atoms_after = model(listed(smaller), {numbers[atom] for atom in true_inputs}, moved) | {
            ALWAYS
        }
        for atom in range(1, len(numbers)):
            assert (atom in atoms_before) == (numbers[atom] in atoms_after), atom
