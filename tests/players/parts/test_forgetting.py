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
    """Paths before and after the first turn, in which the move was made that was tried as often as
    `rank` says, 0 for most often; and the player."""
    machine = machine_of_game(GAME, "propnet")
    player = make_player(parse_spec("mcts:trials=3000"), machine, role, np.random.default_rng(1))
    assert isinstance(player, TreePlayer)
    values = player.choose(value_forced=True).values
    tree = player._tree
    states = machine.initial(1)
    firsts = [int(machine.legal(states, each).values[0]) for each in (0, 1)]
    if role == 0:
        ranked = sorted(values, key=lambda each: -each.visits)
        firsts[0] = machine.move_id(ranked[rank].move) or 0
    percepts_id = machine.step(states, np.array([firsts])).percepts[0, role]
    old_size = len(tree.paths)
    move = machine.move_text(firsts[role])
    player.observe(move, machine.percept_texts(int(percepts_id)), submitted=move, deadline=deadline)
    return old_size, len(tree.paths), player


def until(seconds: float) -> Deadline:
    return Ticking(1e-6).deadline(seconds)


def test_it_waits_until_there_is_time() -> None:
    """A player that has only one move answers late otherwise."""
    old_size, new_size, player = after_a_turn(0, -1, until(1.0))
    assert old_size > 1000  # it would take more than a second
    assert new_size >= old_size
    old_size, new_size, player = after_a_turn(0, -1, until(60.0))
    assert new_size < old_size / 2
    assert player.choose(until(1.0)).fault is None


def test_it_waits_until_many_can_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the best move most paths may still recur."""
    monkeypatch.setattr(tracker, "FORGETS", 3.0)
    old_size, new_size, player = after_a_turn(0, 0, until(60.0))
    assert new_size >= old_size
    assert player.choose(until(1.0)).fault is None


def test_what_it_takes_is_learnt() -> None:
    _, _, player = after_a_turn(0, -1, until(60.0))
    assert player.tracker._path_s < 1e-3


@pytest.mark.parametrize("looks", range(1, 5))
def test_a_clock_that_jumps_says_nothing_of_what_it_takes(
    looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker, "FORGETS", 0.0)
    _, _, player = after_a_turn(0, -1, None)
    player.tracker._prune_at = 0
    ticks = iter([*[0.0] * looks, *[1e15] * 99])
    player.tracker.prune(*player.simulated(), deadline=Deadline(60.0, ticks.__next__))
    assert player.tracker._path_s <= 2e-3


def test_it_does_not_wait_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "MAX_PATHS", 1000)
    old_size, new_size, _ = after_a_turn(0, -1, until(1.0))
    assert new_size < old_size / 2


def test_it_does_not_wait_without_a_clock() -> None:
    old_size, new_size, _ = after_a_turn(0, -1, None)
    assert new_size < old_size / 2
