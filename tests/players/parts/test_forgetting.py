"""Paths that cannot recur are forgotten where that is worth its time, and where there is time."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.players import make_player, parse_spec
from ggp.players.parts import tracker
from ggp.players.parts.tree_player import TreePlayer
from ggp.search.anytime import Deadline
from tests.labs.kriegspiel.test_choose_move import Ticking
from tests.support.games import machine_of_game

GAME = "connect_four"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "MIN_NODES", 100)
    monkeypatch.setattr(tracker, "FIRST_PATH_S", 1e-3)


def after_a_turn(role: int, rank: int, deadline: Deadline | None) -> tuple[int, int, TreePlayer]:
    """Numbers of paths before and after the first turn, and the player.

    Its role 0 plays the move with this rank by visits, 0 for the most visited.
    """
    machine = machine_of_game(GAME, "propnet")
    player = make_player(parse_spec("mcts:trials=3000"), machine, role, np.random.default_rng(1))
    assert isinstance(player, TreePlayer)
    values = player.choose(value_forced=True).values
    tree = player.tracker.tree
    states = machine.initial(1)
    firsts = [int(machine.legal(states, mover).values[0]) for mover in (0, 1)]
    if role == 0:
        ranked = sorted(values, key=lambda estimate: -estimate.visits)
        firsts[0] = machine.move_id(ranked[rank].move) or 0
    percepts_id = machine.step(states, np.array([firsts])).percepts[0, role]
    old_size = len(tree)
    move = machine.move_text(firsts[role])
    player.observe(move, machine.percept_texts(int(percepts_id)), submitted=move, deadline=deadline)
    return old_size, len(tree), player


def after_second_turn(player: TreePlayer, deadline: Deadline) -> tuple[int, int]:
    """Numbers of paths before and after the second turn, which follows a search."""
    player.choose(value_forced=True)
    old_size = len(player.tracker.tree)
    percepts = ["(did first noop)", "(did second (drop 1))"]
    player.observe("noop", percepts, submitted="noop", deadline=deadline)
    return old_size, len(player.tracker.tree)


def until(seconds: float) -> Deadline:
    return Ticking(1e-6).deadline(seconds)


def test_pruning_waits_for_enough_time() -> None:
    """A player that has only one move answers late otherwise."""
    old_size, new_size, player = after_a_turn(0, -1, until(1.0))
    assert old_size > 1000  # it would take more than a second
    assert new_size >= old_size
    old_size, new_size, player = after_a_turn(0, -1, until(60.0))
    assert new_size < old_size / 2
    assert player.choose(until(1.0)).fault is None


def test_pruning_waits_until_many_paths_can_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the best move most paths may still recur."""
    monkeypatch.setattr(tracker, "FORGETS", 3.0)
    old_size, new_size, player = after_a_turn(0, 0, until(60.0))
    assert new_size >= old_size
    assert player.choose(until(1.0)).fault is None


def test_the_time_of_pruning_is_learned() -> None:
    _, _, player = after_a_turn(0, -1, until(60.0))
    old_size, new_size = after_second_turn(player, until(1.0))
    assert old_size > 1000  # at first this was predicted to take more than a second
    assert new_size < old_size / 2


@pytest.mark.parametrize("looks", range(1, 5))
def test_a_jump_of_the_clock_is_not_taken_for_the_time_of_pruning(
    looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker, "FORGETS", 0.0)
    monkeypatch.setattr(tracker, "MIN_NODES", -1_000_000)  # paths are always enough to prune
    _, _, player = after_a_turn(0, -1, None)
    ticks = iter([*[0.0] * looks, *[1e15] * 99])
    player.tracker.prune(*player.simulated(), deadline=Deadline(60.0, ticks.__next__))
    old_size, new_size = after_second_turn(player, until(60.0))
    assert new_size < old_size / 2


def test_pruning_does_not_wait_with_too_many_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "MAX_PATHS", 1000)
    old_size, new_size, _ = after_a_turn(0, -1, until(1.0))
    assert new_size < old_size / 2


def test_pruning_does_not_wait_without_a_clock() -> None:
    old_size, new_size, _ = after_a_turn(0, -1, None)
    assert new_size < old_size / 2
