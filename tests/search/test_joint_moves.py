"""Joint moves are numbers in mixed radix, one digit for each role."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine.arrays import offsets_of
from ggp.machine.base import Ragged
from ggp.search.joint_moves import JointMoves


def options(states: int, seed: int) -> JointMoves:
    """Joint moves of three roles, of which some have no move in some states."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, (3, states))
    lists = tuple(Ragged(offsets_of(each), np.arange(each.sum())) for each in counts)
    return JointMoves((1, 0, 2), lists, np.zeros(0), (counts == 0).any(axis=0))


@pytest.mark.parametrize("states", [3, 900])
def test_any_part_of_the_joint_moves_is_listed_in_order(states: int) -> None:
    moves = options(states, states)
    total = int(moves.offsets[-1])
    assert total > states
    for start, end in ((0, total), (1, total - 1), (total // 2, total // 2 + 1)):
        state, places = moves.places(start, end)
        owner = np.searchsorted(moves.offsets, np.arange(start, end), side="right") - 1
        assert state.tolist() == owner.tolist()
        number = np.arange(start, end) - moves.offsets[state]
        for role in (2, 0, 1):
            number, digit = np.divmod(number, moves.counts[state, role])
            assert (places[:, role] == moves.lists[role].offsets[state] + digit).all()
