"""Boards searched by turns that a circuit makes at once, against those made move list by move list.

The slow way is what machines without such turns do; values must be equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ggp.machine import Machine
from ggp.machine.propnet.play.turns import CircuitTurns
from ggp.search.boards.board_search import BoardSearch
from ggp.search.boards.board_values import BoardValues
from ggp.search.boards.captures import NOWHERE, CaptureFinder, Position
from ggp.search.information_sets.set_search import InformationSetSearch
from ggp.search.parts import Search
from tests.search.test_quiescence import KS, bag_of, quiescence, tried_positions
from tests.support.games import machine_of_game

STEPS = 1 << 20


def board_search(machine: Machine, count: int) -> Search:
    bag = bag_of(machine, tried_positions(machine).take(np.arange(count)), 0)
    rng = np.random.default_rng(0)
    return BoardSearch(
        machine, bag, rng, depth=2, steps=STEPS, evaluation=quiescence(machine, 0, 4)
    )


def over(machine: Machine, count: int) -> Search:
    bag = bag_of(machine, tried_positions(machine).take(np.arange(count)), 0)
    values, rng = BoardValues(machine, KS), np.random.default_rng(0)
    return InformationSetSearch(
        machine, bag, rng, depth=1, paranoid=False, tries=1, evaluation=values
    )


@pytest.mark.parametrize("make", [board_search, over])
def test_values_are_those_of_the_slow_way(
    make: Callable[[Machine, int], Search], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    found = make(machine, 6)
    found.round(6)
    monkeypatch.setattr(CircuitTurns, "turned", lambda *_, **__: None)
    monkeypatch.setattr(CircuitTurns, "tested", lambda *_, **__: None)
    slow = make(machine, 6)
    slow.round(6)
    fast_values, slow_values = found.estimates(), slow.estimates()
    assert len(set(slow_values.values.tolist())) > 3
    for name in ("values", "stderrs", "visits", "promptness"):
        assert getattr(fast_values, name).tobytes() == getattr(slow_values, name).tobytes()


@pytest.mark.parametrize("square", [NOWHERE, 12])
def test_captures_by_attacks_are_those_among_legal_moves(square: int) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    states, values = tried_positions(machine), BoardValues(machine, KS)
    squares, every = np.full(len(states), square), np.ones(len(states), dtype=np.bool_)
    wanted = {0: every, 1: every}
    finder = CaptureFinder(machine, values)
    position = Position(states, values.boards(states), squares, wanted)
    tested, listed = finder.tested(position), finder.listed(position)
    assert tested is not None
    assert sum(len(each.lanes) for each in listed.values())
    for role in (0, 1):
        for fast, slow in zip(tested[role], listed[role], strict=True):
            assert (fast == slow).all()
    assert (np.minimum(finder.choices(states), 2) == finder.choices(states)).all()
