"""Strategy fusion and non-locality: the two errors of clairvoyant search (paper 003, Figure 1)."""

from __future__ import annotations

from itertools import product

import pytest

from ggp.solve import build_tree, history_of, solve_tree
from tests.support.games import machine_of_game
from tests.support.matches import Match
from tests.support.plain.enumeration import Path, posterior

SIDES = ("left", "right")


def strategy(game: str) -> dict[tuple[str, tuple[str, ...]], dict[str, float]]:
    """What roles do in equilibrium, by role and by all that they saw."""
    tree = build_tree(machine_of_game(game, "propnet"))
    profile = solve_tree(tree, seed=0).profile
    policy = {}
    for player, sets in enumerate(tree.sets):
        for number in range(len(sets)):
            seen = tuple(p for _, percepts in history_of(tree, player, number) for p in percepts)
            moves = [tree.machine.move_text(move) for move in sets.moves_of(number).tolist()]
            start = int(sets.offsets[number])
            shares = profile.strategies[player][start : start + len(moves)].tolist()
            policy[tree.machine.roles[tree.players[player]], seen] = dict(
                zip(moves, shares, strict=True)
            )
    return policy


def values(game: str) -> dict[str, float]:
    return dict(solve_tree(build_tree(machine_of_game(game, "propnet")), seed=0).profile.values)


class TestStrategyFusion:
    @pytest.mark.parametrize(("world", "side", "answer"), list(product((1, 2), SIDES, "ab")))
    def test_only_the_answer_of_the_world_wins(self, world: int, side: str, answer: str) -> None:
        match = Match("strategy_fusion")
        assert match.legal("random") == {"(world 1)", "(world 2)"}
        assert match.play(random=f"(world {world})") == {}
        assert match.legal("max") == {"(go left)", "(go right)"}
        assert match.legal("min") == {"noop"}
        assert match.play(max="(go left)") == {"min": ("(max left)",)}
        assert match.legal("min") == {"(go left)", "(go right)"}
        assert match.legal("max") == {"noop"}
        assert match.play(min=f"(go {side})") == {"max": (f"(min {side})",)}
        assert match.legal("max") == {"a", "b"}
        assert match.play(max=answer) == {"min": (f"(max {answer})",)}
        assert match.terminal
        won = 100 if (world, answer) in ((1, "a"), (2, "b")) else 0
        assert match.goals == {"max": won, "min": 100 - won}

    @pytest.mark.parametrize("world", [1, 2])
    def test_going_right_wins_at_once_in_both_worlds(self, world: int) -> None:
        match = Match("strategy_fusion")
        match.play(random=f"(world {world})")
        assert not match.terminal
        match.play(max="(go right)")
        assert match.terminal
        assert match.goals == {"max": 100, "min": 0}

    def test_max_never_learns_the_world(self) -> None:
        machine = machine_of_game("strategy_fusion", "propnet")
        path: Path = [("noop", ()), ("(go left)", ()), ("noop", ("(min left)",))]
        assert list(posterior(machine, 0, path).values()) == [0.5, 0.5]

    def test_optimal_play_stops(self) -> None:
        assert values("strategy_fusion") == pytest.approx({"max": 100, "min": 0})
        first = strategy("strategy_fusion")["max", ()]
        assert first == pytest.approx({"(go left)": 0, "(go right)": 1})


class TestNonLocality:
    @pytest.mark.parametrize(("world", "side"), list(product((1, 2), SIDES)))
    def test_min_wins_on_one_side_of_each_world(self, world: int, side: str) -> None:
        match = Match("non_locality")
        assert match.legal("random") == {"(world 1)", "(world 2)"}
        assert match.play(random=f"(world {world})") == {"max": (f"(world {world})",)}
        assert match.legal("max") == {"(go left)", "(go right)"}
        assert match.legal("min") == {"noop"}
        assert match.play(max="(go left)") == {"min": ("(max left)",)}
        assert match.legal("min") == {"(go left)", "(go right)"}
        assert match.legal("max") == {"noop"}
        match.play(min=f"(go {side})")
        assert match.terminal
        won = 100 if (world, side) in ((1, "right"), (2, "left")) else 0
        assert match.goals == {"max": 100 - won, "min": won}

    @pytest.mark.parametrize(("world", "goal"), [(1, 100), (2, 0)])
    def test_going_right_ends_the_game_as_the_world_has_it(self, world: int, goal: int) -> None:
        match = Match("non_locality")
        match.play(random=f"(world {world})")
        assert match.play(max="(go right)") == {"min": ("(max right)",)}
        assert match.terminal
        assert match.goals == {"max": goal, "min": 100 - goal}

    def test_min_cannot_tell_the_worlds_if_max_moves_by_lot(self) -> None:
        machine = machine_of_game("non_locality", "propnet")
        path: Path = [("noop", ()), ("noop", ("(max left)",))]
        assert list(posterior(machine, 1, path).values()) == [0.5, 0.5]

    def test_in_equilibrium_min_knows_the_world_by_being_asked(self) -> None:
        assert values("non_locality") == pytest.approx({"max": 50, "min": 50})
        policy = strategy("non_locality")
        assert policy["min", ("(max left)",)] == pytest.approx({"(go left)": 1, "(go right)": 0})
        assert policy["max", ("(world 1)",)] == pytest.approx({"(go left)": 0, "(go right)": 1})
