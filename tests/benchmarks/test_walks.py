"""Clocked and counted walks are compared in pairs of matches with the roles swapped."""

from __future__ import annotations

import click
import pytest

from benchmarks.walks import counted_walks, measure_walks
from ggp.search.trees.tree_search import TreeSearch


@pytest.mark.verify
def test_the_clocked_player_walks_and_its_points_are_those_of_its_role() -> None:
    rows = list(measure_walks("tic_tac_toe", 0.01, pairs=1, seed=0))
    assert [row["match"] for row in rows] == [0, 1]
    assert all(row["points"] in (0.0, 50.0, 100.0) and row["walks"] > 0 for row in rows)


def test_games_of_one_role_are_refused() -> None:
    with pytest.raises(click.ClickException, match="exploding_bomb is not played by two roles"):
        next(measure_walks("exploding_bomb", 0.01, pairs=1, seed=0))


def test_counting_ends_when_a_match_fails() -> None:
    method = TreeSearch._wave
    with pytest.raises(ZeroDivisionError), counted_walks():
        1 / 0  # noqa: B018
    assert TreeSearch._wave is method
