"""The size of a bag under a clock: it doubles while advancing it is cheap.

Players choose the share of the time that counts as cheap.
"""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief import Bags
from ggp.belief.bags import one_set
from ggp.players.parts.tracker import FIRST_ROOM, ROOM_SHARE, BagGrowth
from tests.support.games import machine_of_game

MOST = 4 * FIRST_ROOM


@pytest.fixture(scope="module")
def bag() -> Bags:
    """A sampled bag of `FIRST_ROOM` entries."""
    machine = machine_of_game("krieg_tic_tac_toe")
    start = machine.initial().take(np.zeros(FIRST_ROOM, dtype=np.int64))
    number = np.zeros(1, dtype=np.int64)
    return Bags(0, number, number, one_set(start))


@pytest.mark.parametrize("share", [ROOM_SHARE, 0.6])
def test_a_bag_doubles_while_following_it_takes_less_than_half_of_its_share(
    bag: Bags, share: float
) -> None:
    growth = BagGrowth(MOST, share)
    growth.learn(bag, bag, 0.49 * share, 1.0, 1)
    assert growth.room == 2 * FIRST_ROOM
    growth.learn(bag, bag, 0.9 * share, 1.0, 1)
    assert growth.room == 2 * FIRST_ROOM
    growth.learn(bag, bag, 1.1 * share, 1.0, 1)
    assert growth.room == FIRST_ROOM


def test_a_bag_has_a_greatest_size(bag: Bags) -> None:
    growth = BagGrowth(MOST, 0.6)
    for _ in range(5):
        growth.learn(bag, bag, 0.0, 1.0, 1)
        assert growth.room <= MOST
