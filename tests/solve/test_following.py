"""A role's part in a solved game, looked up by its path."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ggp.gdl.games import find_game
from ggp.gdl.random_rules import small
from ggp.machine import Machine
from ggp.solve import build_tree, sample_policy, solve, solve_tree
from ggp.solve.forest import evaluate
from ggp.solve.solver import Part
from tests.solve.games import (
    ROCK_PAPER_SCISSORS,
    short_guessing,
    small_meier,
)
from tests.solve.test_exploit import Choice
from tests.support.games import machine_of_game, machine_of_rules


class Playing:
    """Plays a part; fails where it does not know its information set."""

    def __init__(self, part: Part, machine: Machine) -> None:
        self._part, self._machine, self._path = part, machine, part.role

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None:
        assert move is not None
        move_id = self._machine.move_id(move)
        percept_id = self._machine.percept_id(percepts or ())
        assert move_id is not None
        assert percept_id is not None
        self._path = self._part.after(self._path, move_id, percept_id)

    def choose(self) -> Choice:
        choices = self._part.choices(self._path)
        assert choices is not None
        texts = [self._machine.move_text(move) for move in choices[0].tolist()]
        return Choice(texts[0], dict(zip(texts, choices[1].tolist(), strict=True)))


RULES: dict[str, Callable[[], str]] = {
    "kuhn": lambda: find_game("kuhn_poker").read_text(),
    "hands": lambda: ROCK_PAPER_SCISSORS,
    "meier": small_meier,
    "guessing": short_guessing,
    "chance": lambda: small(3).text(),
}


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("name", RULES)
def test_parts_found_by_path_are_worth_what_the_solution_says(name: str, split: bool) -> None:
    machine = machine_of_rules(RULES[name]())
    solution = solve_tree(build_tree(machine, split=split, keep_stands=True))
    parts = {role: Part(solution, role) for role in solution.tree.players}
    tree = build_tree(machine)
    policy = [
        sample_policy(tree, player, lambda role, _: Playing(parts[role], machine), 1, 0).strategy()
        for player in range(len(tree.players))
    ]
    walked = evaluate(tree, policy)
    assert walked.values == pytest.approx(list(solution.profile.values.values()), abs=1e-6)
    spread = tree.goal_spread
    assert walked.nash_conv <= solution.profile.nash_conv + 1e-4 * spread


def test_paths_lead_through_subgames_after_others_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ggp.solve.tree_builder.PRUNE_AT", 0)
    test_parts_found_by_path_are_worth_what_the_solution_says("meier", split=True)


def test_unknown_turns_lead_nowhere() -> None:
    machine = machine_of_game("kuhn_poker")
    solution = solve(machine)
    part = Part(solution, solution.tree.players[0])
    move, seen = machine.move_id("noop"), machine.percept_id(["(dealt queen)"])
    assert move is not None
    assert seen is not None
    path = part.after(part.role, move, seen)
    choices = part.choices(path)
    assert choices is not None
    assert set(map(machine.move_text, choices[0].tolist())) == {"bet", "check"}
    assert choices[1].sum() == pytest.approx(1)
    assert part.choices(part.after(path, move, seen)) is None
    assert np.all(choices[1] >= 0)
